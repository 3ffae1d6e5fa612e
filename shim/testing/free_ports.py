"""Ports of this machine that nobody listens on, for servers that start a moment later."""

import socket
from contextlib import suppress
from random import SystemRandom

from shim.errors import HeddleError

__all__ = ["free_addresses", "free_port"]

_PORTS = range(11_000, 19_000)
"""The system gives those above 32,768 to whoever asks for any, and labs begin at 20,000."""


def free_addresses(count: int, host: str = "127.0.0.1") -> list[str]:
    """Addresses of this machine, at one of its hosts, that nobody listens on now, all different.

    Raises:
        HeddleError: If there are not so many.
    """
    return [f"{host}:{port}" for port in _free(count, host)]


def free_port(host: str = "127.0.0.1") -> int:
    """One of them."""
    return _free(1, host)[0]


def _free(count: int, host: str) -> list[int]:
    found: list[int] = []
    for port in SystemRandom().sample(_PORTS, len(_PORTS)):
        with suppress(OSError), socket.create_server((host, port)):
            found.append(port)
        if len(found) == count:
            return found
    raise HeddleError(f"of the ports {_PORTS.start} to {_PORTS.stop - 1} of {host} no {count} are free")
