"""Connections to the schedulers of the sub-clusters' ResourceManagers, wherever the active one is."""

import asyncio
import socket
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar, cast

from shim.domain.ids import SubClusterId
from shim.errors import NeverReachedError

Address = tuple[str, int]
P = TypeVar("P", bound=asyncio.Protocol)

_PAUSE_S = 0.25


class HomeDialler:
    """Opens connections; of several ResourceManagers only the active one listens for ApplicationMasters.

    Args:
        addresses: Where they listen, for each sub-cluster whose scheduler address is known.
        timeout_s: For a home that starts or fails over. An ApplicationMaster that is sent away sleeps 30 s
            (`yarn.resourcemanager.connect.retry-interval.ms`); one that waits goes on at once.
    """

    def __init__(
        self,
        addresses: Mapping[SubClusterId, tuple[Address, ...]],
        *,
        connect_timeout_s: float = 1.0,
        timeout_s: float = 15.0,
    ) -> None:
        self._addresses = addresses
        self._connect_timeout_s = connect_timeout_s
        self._timeout_s = timeout_s
        self._first = dict.fromkeys(addresses, 0)

    @property
    def timeout_s(self) -> float:
        """Seconds that a home may take to answer at all."""
        return self._timeout_s

    async def dial(self, home: SubClusterId, factory: Callable[[], P]) -> P:
        """Connect to whoever listens, beginning with the one that did last; goes on until somebody does.

        Raises:
            NeverReachedError: The home's scheduler address is not known.
        """
        addresses = self._addresses.get(home)
        if not addresses:
            raise NeverReachedError(home, "its scheduler address is not known (subcluster.scheduler_rpc, or conf)")
        while True:
            for turn in range(len(addresses)):
                index = (self._first[home] + turn) % len(addresses)
                protocol = await self.try_at(addresses[index], factory)
                if protocol is not None:
                    self._first[home] = index
                    return protocol
            await self.pause()

    async def pause(self) -> None:
        await asyncio.sleep(_PAUSE_S)

    def distrust(self, home: SubClusterId) -> None:
        """The one that was dialled last says nothing: begin with the next one."""
        self._first[home] = (self._first[home] + 1) % len(self._addresses[home])

    async def try_at(self, address: Address, factory: Callable[[], P]) -> P | None:
        """Connect to one address; None if nobody takes the connection there in time."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                _, protocol = await loop.create_connection(factory, *address)
        except (OSError, TimeoutError):
            return None
        return protocol


# The transport from the scheduler server to an attempt's home.

_KEEP_ALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
)
"""A machine that dies tells nobody: after two minutes of silence its connections end, not after two hours."""


class LinkOwner(Protocol):
    """Owner of a link."""

    def from_home(self, link: "HomeLink", data: bytes) -> None: ...

    def home_lost(self, link: "HomeLink") -> None:
        """The connection has ended."""
        ...

    def pace(self, *, is_home_slow: bool) -> None: ...


class HomeLink(asyncio.Protocol):
    """The connection to the home: tells its owner everything."""

    def __init__(self, owner: LinkOwner) -> None:
        self._owner = owner
        self.transport: asyncio.Transport | None = None
        self.has_answered: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = kept_alive(transport)

    def data_received(self, data: bytes) -> None:
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
        if not self.has_answered.done():
            self.has_answered.set_result(has_answered)


def kept_alive(transport: asyncio.BaseTransport) -> asyncio.Transport:
    """A transport's own, with the kernel watching whether its peer lives."""
    connected: socket.socket = transport.get_extra_info("socket")
    for option in _KEEP_ALIVE:
        connected.setsockopt(*option)
    return cast("asyncio.Transport", transport)  # uvloop has classes of its own
