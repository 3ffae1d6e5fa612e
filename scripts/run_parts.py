"""Run parts of the suite one after the other, and end with one table: part, tests, seconds, what failed.

    python -m scripts.run_parts test            what needs no server, servers of this process, two real clusters
    python -m scripts.run_parts all             every slice as well, but for releases
    python -m scripts.run_parts NAME [NAME...]  slices of scripts/slices.py, or `static`: linters, types, layers

What a part prints is kept in `.heddle/logs/PART.log`.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from scripts.machine_waits import noted, told
from scripts.run_summary import Part, read_part, summary
from scripts.slices import OF_EACH_TEST, RELEASES, ROOT, SLICES, slice_named

LOGS = ROOT / ".heddle" / "logs"
STATIC = "static"
OF_TEST = (STATIC, *(each.name for each in OF_EACH_TEST))
"""The parts of `make test`."""
_LINTERS = ("make", "--no-print-directory", "--jobs", "2", "--output-sync=target", "pyright", "mypy", "lint", "layers")
_LOOK_EVERY_S = 0.2
_MOST_AGAIN = 3


class Parts:
    """Parts that have run, and their table.

    Args:
        profile: Hypothesis's: how many examples properties draw (tests/conftest.py).
        logs: What parts print; emptied first.
    """

    def __init__(self, *, profile: str, logs: Path = LOGS) -> None:
        self._profile = profile
        self._logs = logs
        self._began = noted()
        self.done: list[Part] = []
        logs.mkdir(parents=True, exist_ok=True)
        for old in (*logs.glob("*.log"), *logs.glob("*.failures")):
            old.unlink()

    @property
    def has_failed(self) -> bool:
        """Return whether a part is red."""
        return any(part.has_failed for part in self.done)

    def run(self, name: str) -> Part:
        """Run a part; what it prints is shown and kept.

        Raises:
            KeyError: There is no part of that name.
        """
        print(f"\n==== {name}", flush=True)
        began = time.monotonic()
        log = self._logs / f"{name}.log"
        if name == STATIC:
            code = _shown(_LINTERS, log)
        else:
            chosen = slice_named(name)
            _shown(chosen.before, log)
            try:
                code = _shown(chosen.pytest(self._logs / f"{name}.failures", self._profile), log)
            finally:
                _shown(chosen.after, log)
        part = read_part(name, self._logs, exited_badly=code != 0, took_s=time.monotonic() - began)
        self.done.append(part)
        return part

    def again(self, part: Part) -> Part:
        """Try the few failed tests of a part again, alone: it is green, and unsteady, if they pass.

        What has too many failures, or ended without a summary, stays as it is.
        """
        tests = list(dict.fromkeys(each.test for each in part.failures))
        if part.summary is None or not 0 < len(tests) <= _MOST_AGAIN:
            return part
        name = f"{part.name}-again"
        failures = self._logs / f"{name}.failures"
        log = self._logs / f"{name}.log"
        print(f"\n==== {name}", flush=True)
        began = time.monotonic()
        code = _shown(slice_named(part.name).alone(tests, failures, self._profile), log)
        took_s = part.took_s + time.monotonic() - began
        if code == 0:
            part = replace(part, took_s=took_s, exited_badly=False, failures=(), unsteady=part.failures)
            self.done[-1] = part
        return part

    def end(self, *remarks: str) -> int:
        """Print the table; the exit code is 1 if a part is red."""
        print(f"\n{'machine':<14} {told(self._began, noted())}")
        print(*summary(self.done), *remarks, sep="\n", flush=True)
        return 1 if self.has_failed else 0


def _shown(command: Sequence[str], log: Path) -> int:
    """Run a command, if there is one, to its end; what it prints is added to a file and shown. Return its exit code.

    It writes the file itself: a daemon that it leaves behind holds no pipe open that would be waited for.
    """
    if not command:
        return 0
    programs = {"PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ.get('PATH', '')}"}  # tests start some by their names
    with log.open("ab") as written, log.open("rb") as read:
        read.seek(0, os.SEEK_END)
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=written, stderr=subprocess.STDOUT, env=os.environ | programs
        )
        code = None
        while code is None:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(_LOOK_EVERY_S)
            sys.stdout.buffer.write(read.read())
            sys.stdout.buffer.flush()
    return code


def names_of(words: Sequence[str]) -> list[str]:
    """Return the parts that some words mean.

    Raises:
        KeyError: There is no part of that name.
    """
    names: list[str] = []
    for word in words:
        if word in ("test", "all"):
            names += OF_TEST
            names += [each.name for each in SLICES if each.name != RELEASES] if word == "all" else []
        else:
            names.append(word if word == STATIC else slice_named(word).name)
    return list(dict.fromkeys(names))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run parts and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="quick", help="of Hypothesis: quick, or heddle: all examples")
    parser.add_argument("parts", nargs="+")
    chosen = parser.parse_args(arguments)
    try:
        names = names_of(chosen.parts)
    except KeyError as unknown:
        parser.error(str(unknown.args[0]))
    parts = Parts(profile=chosen.profile)
    for name in names:
        parts.run(name)
    return parts.end()


if __name__ == "__main__":
    raise SystemExit(main())
