"""Processes that are stopped where they are."""

import os
import signal
from pathlib import Path

from shim.lab.processes import ProcessState, wait_until

__all__ = ["freeze"]

_STOPS_WITHIN_S = 20.0


def freeze(pid: int) -> None:
    """Stop a process (SIGSTOP) and wait until it has stopped: until then its other threads answer."""
    os.kill(pid, signal.SIGSTOP)
    assert wait_until(lambda: _state(pid) == ProcessState.STOPPED, timeout_s=_STOPS_WITHIN_S, poll_s=0.001)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
