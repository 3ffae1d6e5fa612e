"""Heddle as its users start it: the program, in a process of its own, with its files and its environment.

Nothing is put together here: what a test assembles runs on another loop, with other signals, and has its ports before
it needs them. Each sub-cluster of these is one that nobody answers for: what is tried is Heddle's own doors.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.doubles.postgresql import free_addresses
from tests.support.heddle_process import until

_REPOSITORY = Path(__file__).resolve().parents[2]
_START_S = 180.0
_END_S = 60.0
_TROUBLE = ("Traceback", "Exception in callback", "never retrieved", "was never awaited", "AssertionError")
"""Words of a log that no connection, and no signal, may cause."""


class Started:
    """A process of the command line; a context manager that waits until it serves, and ends it.

    Args:
        folder: For its configuration, store and log; also where it runs.
        text: Its configuration.
        verb: `serve`, `gm` or `lm`, with its arguments.
        listens: What its log says once it can be used.
        environment: Further variables; one that is empty is taken away.
        python: Options of the interpreter.
        wrapper: A command that becomes the process.
        before: Called in the process before it becomes Heddle.

    Attributes:
        process: What runs; `log` what it says.
    """

    def __init__(
        self,
        folder: Path,
        text: str,
        *,
        verb: Sequence[str] = ("serve",),
        listens: str = " serves ",
        environment: Mapping[str, str] | None = None,
        python: Sequence[str] = (),
        wrapper: Sequence[str] = (),
        before: Callable[[], object] | None = None,
    ) -> None:
        self.folder = folder
        self.log = folder / f"{verb[0]}.log"
        self.config = folder / f"{verb[0]}.toml"
        self.config.write_text(text, "utf-8")
        given = {**os.environ, "PYTHONPATH": str(_REPOSITORY), "HEDDLE_LOG_FORMAT": "json", **(environment or {})}
        self._environment = {name: value for name, value in given.items() if value}
        self._command = [*wrapper, sys.executable, *python, "-m", "shim", *verb, "-c", str(self.config)]
        self._listens = listens
        self._before = before

    def __enter__(self) -> Self:
        self.begin()
        until(self._is_there, f"it serves; see {self.log}", within_s=_START_S)
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(_END_S)

    def begin(self) -> None:
        """Start it, and wait for nothing."""
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self._command,
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                preexec_fn=self._before,  # noqa: PLW1509 - of a process of tests, without threads at work
            )

    def told(self) -> str:
        """What it has said."""
        return self.log.read_text("utf-8", "replace")

    def troubles(self) -> list[str]:
        """Lines of a bug."""
        return [line for line in self.told().splitlines() if any(word in line for word in _TROUBLE)]

    def ended(self, by: signal.Signals | None = None) -> int:
        """Send a signal, if one is given, and wait for the end; returns the code, negative for a signal's."""
        if by is not None:
            self.process.send_signal(by)
        return self.process.wait(_END_S)

    def _is_there(self) -> bool:
        assert self.process.poll() is None, self.told()
        return self._listens in self.told()


def configuration(folder: Path, *, more: str = "", server: str = "") -> tuple[str, dict[str, str]]:
    """A whole configuration with ports of its own; returns it and the address of each door.

    Args:
        folder: For the store.
        more: Further sections.
        server: Further keys of `[server]`.
    """
    doors = dict(zip(("rest", "client_rpc", "scheduler_rpc", "admin_rpc"), free_addresses(4), strict=True))
    lines = "".join(f'{key} = "{address}"\n' for key, address in doors.items())
    text = (
        f"[server]\n{lines}{server}\n"
        f'[store]\nurl = "sqlite:///{folder}/heddle.db"\n{more}\n'
        '[[subcluster]]\nid = "east"\nweb = "http://127.0.0.1:9"\n'
        'client_rpc = "127.0.0.1:9"\nscheduler_rpc = "127.0.0.1:9"\nadmin_rpc = "127.0.0.1:9"\n'
    )
    return text, doors
