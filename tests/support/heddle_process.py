"""A whole Heddle as a process of its own, that can be killed and started again at the same addresses."""

import getpass
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import httpx

from shim.lab import Lab
from tests.doubles.postgresql import free_addresses
from tests.support.nursery import is_running, shared_nursery

_START_S = 180.0
_CALLS = re.compile(r'heddle_am_calls_total\{method="(\w+)",subcluster="(\w+)"\} ([0-9.e+]+)')


def until(holds: Callable[[], bool], what: str, *, within_s: float = 300.0) -> None:
    """Wait for something that must come to hold; nothing is said about how soon."""
    deadline_s = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline_s, f"it did not come to hold within {within_s:g} s: {what}"
        time.sleep(0.1)


class HeddleProcess:
    """Serves in front of a lab's clusters.

    Args:
        lab: Whose clusters.
        folder: For its configuration, store and log.
        more: Further lines of the configuration.
        store_url: Of its store; a SQLite file in the folder if empty.
        clusters: Which of the lab's; all if none is named.
        environment: Further variables.
        of_each: Further lines of each sub-cluster.

    Attributes:
        store: Its SQLite database.
        config: Its configuration; `log` what it says.
    """

    def __init__(
        self,
        lab: Lab,
        folder: Path,
        *,
        more: str = "",
        store_url: str = "",
        clusters: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        of_each: str = "",
    ) -> None:
        self.rest, self.client_rpc, self.scheduler_rpc = free_addresses(3, lab.host)
        self.url = f"http://{self.rest}"
        self.store = folder / "heddle.db"
        self.config = folder / "heddle.toml"
        self.log = folder / "heddle.log"
        self._pid: int | None = None
        self._environment = dict(environment or {})
        behind = [each for id_, each in lab.clusters.items() if not clusters or id_ in clusters]
        sections = (
            f'[[subcluster]]\nid = "{each.id}"\nconf = "{each.conf_dir}"\nprincipal = "{each.principal}"\n{of_each}\n'
            for each in behind
        )
        url = store_url or f"sqlite:///{self.store}"
        self.config.write_text(
            f'[server]\nallow_remote = true\nrest = "{self.rest}"\nclient_rpc = "{self.client_rpc}"\nadmin_rpc = ""\n'
            f'scheduler_rpc = "{self.scheduler_rpc}"\n[store]\nurl = "{url}"\n'
            f"[security]\nallow_anonymous = true\nadmins = {[getpass.getuser()]}\n[poll]\ninterval_s = 0.5\n{more}\n"
            + "".join(sections),
            "utf-8",
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it and wait until it serves."""
        self._pid = shared_nursery().start(self.log, "serve", "-c", str(self.config), **self._environment)
        until(self._serves, f"Heddle serves; see {self.log}", within_s=_START_S)

    def kill(self) -> None:
        """SIGKILL."""
        if (pid := self._pid) is not None:
            with suppress(ProcessLookupError):  # it has ended by itself
                os.kill(pid, signal.SIGKILL)
            until(lambda: not is_running(pid), "it has ended")
            self._pid = None

    def ask(self, path: str) -> Any:
        """A document of its web services."""
        return httpx.get(f"{self.url}/ws/v1/cluster/{path}", trust_env=False, timeout=30).json()

    def calls(self) -> Counter[str]:
        """How often ApplicationMasters called each method since it started; a scrape may be a second old."""
        text = httpx.get(f"{self.url}/metrics", trust_env=False, timeout=30).text
        counted: Counter[str] = Counter()
        for method, _, count in _CALLS.findall(text):
            counted[method] += int(float(count))
        return counted

    def _serves(self) -> bool:
        assert self._pid is not None
        assert is_running(self._pid), self.log.read_text()
        try:
            return httpx.get(f"{self.url}/ws/v1/cluster/info", trust_env=False, timeout=5).status_code == 200
        except httpx.HTTPError:
            return False
