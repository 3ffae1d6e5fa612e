"""Processes that are stopped where they are."""

import signal

from shim.lab.processes import ProcessState, identity_of, send, state_of, wait_until

_STOPS_WITHIN_S = 120.0


def freeze(pid: int) -> None:
    """Stop a process (SIGSTOP) and wait until it has stopped: until then its other threads answer."""
    process = identity_of(pid)
    assert send(process, signal.SIGSTOP)
    assert wait_until(lambda: state_of(process) == ProcessState.STOPPED, timeout_s=_STOPS_WITHIN_S, poll_s=0.001)
