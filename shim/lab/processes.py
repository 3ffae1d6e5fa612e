"""Processes of a lab: detached, known by pid *and* start time, so that a pid that was reused is never touched."""

import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shim.errors import LabError

MARKER = "HEDDLE_LAB"
"""Environment variable that every process of a lab has, containers included; its value is the lab's folder."""

_POLL_S = 0.05
_SHOWN_S = 2.0


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process, this one and no later one with the same pid.

    Attributes:
        started: Its start, in clock ticks since the machine booted (field 22 of /proc/PID/stat).
    """

    pid: int
    started: int


class ProcessState:
    """Letters of /proc/PID/stat that matter here."""

    STOPPED = "T"
    DEAD = frozenset("ZX")


def spawn(command: Sequence[str], *, environment: Mapping[str, str], log: Path) -> ProcessIdentity:
    """Start `command` detached, in a session of its own, its output appended to `log`.

    Raises:
        LabError: If the program cannot be started.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    try:
        pid = os.posix_spawn(
            command[0],
            list(command),
            dict(environment),
            setsid=True,
            # a shell that ignores some signal must not teach that to the JVM
            setsigdef=(signal.SIGTERM, signal.SIGINT, signal.SIGPIPE),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
        )
    except OSError as exc:
        raise LabError(f"cannot start {command[0]}: {exc.strerror}") from exc
    wait_until(lambda: _shows_environment(pid), timeout_s=_SHOWN_S if environment else 0.0, poll_s=0.001)
    return identity_of(pid)


def _shows_environment(pid: int) -> bool:
    """False while a new program is being loaded: its environment is empty then, and nobody sees whose lab's it is."""
    try:
        return _stat(pid)[0] in ProcessState.DEAD or bool(Path(f"/proc/{pid}/environ").read_bytes())
    except OSError:
        return True


def identity_of(pid: int) -> ProcessIdentity:
    return ProcessIdentity(pid, _stat(pid)[1])


def _stat(pid: int) -> tuple[str, int]:
    """State letter and start time of `pid`; a process that is gone is dead since 0."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return "X", 0
    # the name, in brackets, may hold blanks and brackets itself
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[19])


def state_of(identity: ProcessIdentity) -> str | None:
    """The state letter of a process, `None` if it has ended."""
    with contextlib.suppress(ChildProcessError):
        # reaps it if it was our child and has ended
        os.waitpid(identity.pid, os.WNOHANG)
    state, started = _stat(identity.pid)
    if started != identity.started:
        return None
    return None if state in ProcessState.DEAD and not _has_threads(identity.pid) else state


def _has_threads(pid: int) -> bool:
    """True while threads outlive the main one: a killed JVM holds its ports until the last of them has ended."""
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1  # noqa: PTH208 - only counted
    except OSError:
        return False


def send(identity: ProcessIdentity, signal_: signal.Signals) -> bool:
    """Send a signal if the process still is the one that we mean; whether it was."""
    if state_of(identity) is None:
        return False
    try:
        os.kill(identity.pid, signal_)
    except ProcessLookupError:
        return False
    return True


def resident_mib(identity: ProcessIdentity) -> int:
    """Memory that the process holds, in MiB; its share of pages that it shares with others. 0 if it has ended."""
    try:
        text = Path(f"/proc/{identity.pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    return next((int(line.split()[1]) // 1024 for line in text.splitlines() if line.startswith("Pss:")), 0)


def marked_processes(folder: Path) -> Iterator[ProcessIdentity]:
    """Every living process whose environment names `folder` as its lab: daemons and their containers."""
    wanted = f"{MARKER}={folder}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # ended meanwhile, or somebody else's
        if wanted in variables:
            identity = identity_of(int(entry.name))
            if state_of(identity) is not None:
                yield identity


def terminate_all(folder: Path, *, timeout_s: float) -> int:
    """Kill every process of the lab in `folder` until none is left; how many there were.

    SIGKILL at once: nothing in a lab is worth a slow farewell. Repeated, since a dying node may just have started
    one more.

    Raises:
        LabError: If some are left after `timeout_s`.
    """
    killed: set[ProcessIdentity] = set()

    def none_left() -> bool:
        remaining = list(marked_processes(folder))
        for identity in remaining:
            send(identity, signal.SIGKILL)
        killed.update(remaining)
        return not remaining and all(state_of(identity) is None for identity in killed)

    if not wait_until(none_left, timeout_s=timeout_s):
        pids = ", ".join(str(identity.pid) for identity in marked_processes(folder))
        raise LabError(f"processes of the lab in {folder} do not end: {pids}")
    return len(killed)


def wait_until(condition: Callable[[], bool], *, timeout_s: float, poll_s: float = _POLL_S) -> bool:
    """Ask until `condition` holds; whether it did in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(poll_s)
    return True


def tail(log: Path, lines: int) -> str:
    """The last lines of a log; empty if there is none."""
    try:
        with log.open(encoding="utf-8", errors="replace") as file:
            return "".join(deque(file, maxlen=lines)).rstrip()
    except OSError:
        return ""
