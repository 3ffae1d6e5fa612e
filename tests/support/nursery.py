"""Processes of the command line that need not import Heddle: forked from one that has."""

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Self

_REPOSITORY = Path(__file__).resolve().parents[2]


class Nursery:
    """Starts processes of the command line in no time; a context manager.

    Args:
        tree: The source tree whose code they run.
    """

    def __init__(self, tree: Path = _REPOSITORY) -> None:
        self._tree = tree
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.master_nursery"],
            cwd=tree,
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Start no more; those that were started go on."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()

    def start(self, log: Path, *arguments: str, **environment: str) -> int:
        """Start a command; returns its process id.

        Args:
            log: To which its output is added.
            arguments: Of the command line.
            environment: Variables beside those that are set here now.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(
            json.dumps({"log": str(log), "arguments": arguments, "environment": self._environment() | environment})
            + "\n"
        )
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "HEDDLE_LOG_FORMAT": "json", "PYTHONPATH": str(self._tree)}


def is_running(pid: int) -> bool:
    """Whether a process that a nursery has started exists; nobody has to wait for it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@cache
def shared_nursery() -> Nursery:
    """The nursery of all tests of this process; it ends with it."""
    nursery = Nursery()
    atexit.register(nursery.close)
    return nursery
