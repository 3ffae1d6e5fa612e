"""The transport from the scheduler server to an attempt's home."""

import asyncio
import socket
from typing import Protocol, cast

__all__ = ["HomeLink", "LinkOwner", "kept_alive"]

_KEEP_ALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
)
"""A machine that dies tells nobody: after two minutes of silence its connections end, not after two hours."""


class LinkOwner(Protocol):
    """Owner of a link."""

    def from_home(self, link: "HomeLink", data: bytes) -> None:
        """The home sent something."""
        ...

    def home_lost(self, link: "HomeLink") -> None:
        """The connection has ended."""
        ...

    def pace(self, *, is_home_slow: bool) -> None:
        """The home takes nothing more at this moment, or takes again."""
        ...


class HomeLink(asyncio.Protocol):
    """The connection to the home: tells its owner everything."""

    def __init__(self, owner: LinkOwner) -> None:
        self._owner = owner
        self.transport: asyncio.Transport | None = None
        self.has_answered: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep it."""
        self.transport = kept_alive(transport)

    def data_received(self, data: bytes) -> None:
        """Pass it on."""
        self._owner.from_home(self, data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        """Tell the owner, unless it has gone over to another."""
        self.answer(has_answered=False)
        self._owner.home_lost(self)

    def pause_writing(self) -> None:
        """The home reads slower than the ApplicationMaster calls."""
        self._owner.pace(is_home_slow=True)

    def resume_writing(self) -> None:
        """Write again, as the home has caught up."""
        self._owner.pace(is_home_slow=False)

    def answer(self, *, has_answered: bool) -> None:
        """Let whoever waits for the first word of the home go on."""
        if not self.has_answered.done():
            self.has_answered.set_result(has_answered)


def kept_alive(transport: asyncio.BaseTransport) -> asyncio.Transport:
    """A transport's own, with the kernel watching whether its peer lives."""
    connected: socket.socket = transport.get_extra_info("socket")
    for option in _KEEP_ALIVE:
        connected.setsockopt(*option)
    return cast("asyncio.Transport", transport)  # uvloop has classes of its own
