"""What a process that serves does about signals and standard streams: neither ends it unseen, but those that shall."""

import asyncio
import atexit
import faulthandler
import os
import signal
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Protocol

import structlog

_ENDS = (signal.SIGTERM, signal.SIGINT)
_MEANS_NOTHING = (
    "it means nothing here; SIGTERM ends Heddle, SIGHUP has it read its configuration, SIGQUIT shows its threads"
)
_TOLD = {
    signal.SIGUSR1: _MEANS_NOTHING,
    signal.SIGUSR2: _MEANS_NOTHING,
    signal.SIGALRM: _MEANS_NOTHING,
    signal.SIGVTALRM: _MEANS_NOTHING,
    signal.SIGPROF: _MEANS_NOTHING,
}
"""Signals that would end a process without a word, and what is said of each instead."""
_log = structlog.get_logger("heddle")


def answer_signals(stop: Callable[[], None], read_anew: Callable[[], None]) -> None:
    """Have the running loop answer every signal that somebody may send.

    Args:
        stop: Called for SIGTERM and SIGINT, each time.
    """
    loop = asyncio.get_running_loop()
    for each in _ENDS:
        loop.add_signal_handler(each, stop)
    loop.add_signal_handler(signal.SIGHUP, read_anew)
    for each, said in _TOLD.items():
        loop.add_signal_handler(each, partial(_tell, each.name, said))
    # between two steps of the interpreter, so also while the loop hangs; `faulthandler.register` reads the frames of
    # other threads while they change, and ended the process in one of ten times
    signal.signal(signal.SIGQUIT, _show_threads)


def _show_threads(*_: object) -> None:
    with suppress(OSError, ValueError, RuntimeError):  # a standard error that is no file
        faulthandler.dump_traceback(all_threads=True)


def _tell(name: str, said: str) -> None:
    _log.warning("a signal changed nothing", signal=name, reason=said)


class Served(Protocol):
    """A process that serves until its end.

    Attributes:
        begins_anew: Set at the end of `run` where the program shall be run again.
    """

    begins_anew: bool

    async def run(self, *, announce: Callable[[str], None]) -> None:
        """Serve until a signal, or until the configuration is read anew."""
        ...


def run_served(served: Served) -> None:
    """Serve on the locked loop, and run the program again where that is wanted."""
    import uvloop  # noqa: PLC0415 - verbs that serve nothing shall not wait for it

    try:
        uvloop.run(served.run(announce=say))
    finally:  # what fails at the end of the one shall not be the end of the other
        if served.begins_anew:
            _run_again()


def _run_again() -> None:
    """Become the program that runs, as it was started, under the same number; never returns."""
    _ignore_signals()
    _settle()
    os.execv(sys.executable, program())  # noqa: S606 - it is this program


def _ignore_signals() -> None:
    """Let no signal that means no end be one while nobody answers it: what is ignored stays so until that begins."""
    for each in (signal.SIGHUP, signal.SIGQUIT, *_TOLD):
        signal.signal(each, signal.SIG_IGN)


def program() -> list[str]:
    """The command that runs, as it was started."""
    return [sys.executable, *sys.orig_argv[1:]]


def hold_streams() -> None:
    """Let neither standard streams nor signals that mean no end be the end of this process, from its start on.

    Those that were closed get a place where nothing is, before a file or a socket takes theirs. A pipe or a socket
    whose reader sleeps takes no more than it has room for: a write that waits would hold everybody's calls.
    """
    _ignore_signals()
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number: this one
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
        mode = os.fstat(number).st_mode
        if number and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            os.set_blocking(number, False)
    atexit.register(_settle)


def _settle() -> None:
    """Leave nothing in a buffer that would fail when the interpreter ends, and change its exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)


def say(line: str) -> None:
    with suppress(OSError, ValueError):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
