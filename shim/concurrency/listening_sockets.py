"""Listening sockets, which outlive the program that opened them: whoever begins anew in its place takes them up.

Connections that come meanwhile wait in the kernel, so nobody is refused. `hand_on` is called before servers are
stopped and `os.execv` runs the program again; `listening_socket` then finds what it opened before.
"""

import os
import socket
import stat
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

VARIABLE = "HEDDLE_LISTENING_SOCKETS"
"""Numbers of files that are listening sockets, by commas; of this process alone, never of one that it starts."""
_OPEN_FILES = ("/proc/self/fd", "/dev/fd")
_Address = tuple[int, str, int]


def listening_socket(host: str, port: int, *, family: socket.AddressFamily, backlog: int = 128) -> socket.socket:
    """Open a socket that listens, or take up the one of the program before.

    Args:
        port: 0 takes a free one.
        family: IPv4 or IPv6; an IPv6 socket takes no IPv4 connections.
        backlog: Connections that wait for being accepted.

    Raises:
        OSError: If the address cannot be bound.
    """
    where = socket.getaddrinfo(host or None, port, family, socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][4]
    known = _inherited().pop(_address(family, where), None)
    if known is None:
        return socket.create_server((host, port), family=family, backlog=backlog)
    known.listen(backlog)
    return known


def is_taken_up(family: socket.AddressFamily, where: tuple[object, ...]) -> bool:
    """Whether this process holds a listening socket for an address already, from the program before."""
    return _address(family, where) in _inherited()


def close_unused() -> None:
    """Close what the program before listened on and this one does not."""
    while _inherited():
        _inherited().popitem()[1].close()


def hand_on() -> None:
    """Have every socket that this process listens on stay open for the program that is run next in its place."""
    kept = copies()
    for number in kept:
        os.set_inheritable(number, True)  # noqa: FBT003 - it has no name
    os.environ.update(told(kept))


def copies() -> list[int]:
    """Numbers of further files for all sockets that this process listens on; the caller's to close."""
    folder = next(filter(os.path.isdir, _OPEN_FILES))
    kept: dict[_Address, int] = {}
    for number in sorted(int(file.name) for file in Path(folder).iterdir()):
        with suppress(OSError):
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            with socket.socket(fileno=os.dup(number)) as each:
                if _is_listening(each):
                    kept.setdefault(_address(each.family, each.getsockname()), number)
    return [os.dup(number) for number in kept.values()]


def told(files: Sequence[int]) -> dict[str, str]:
    """Variables that tell a program which files are listening sockets, if it is given them."""
    return {VARIABLE: ",".join(map(str, files))}


@cache
def _inherited() -> dict[_Address, socket.socket]:
    """By address, what the program before listened on; read once, and children of this process see nothing of it."""
    found: dict[_Address, socket.socket] = {}
    for text in os.environ.pop(VARIABLE, "").split(","):
        if not text.isdecimal():
            continue
        with suppress(OSError):
            os.set_inheritable(int(text), False)  # noqa: FBT003 - it has no name
            each = socket.socket(fileno=int(text))
            if _is_listening(each):
                found[_address(each.family, each.getsockname())] = each
            else:
                each.detach()
    return found


def _is_listening(each: socket.socket) -> bool:
    is_stream = each.family in {socket.AF_INET, socket.AF_INET6} and each.type == socket.SOCK_STREAM
    return is_stream and bool(each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def _address(family: int, where: tuple[object, ...]) -> _Address:
    return (int(family), str(where[0]), int(str(where[1])))
