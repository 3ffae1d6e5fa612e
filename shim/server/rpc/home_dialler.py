"""Connections to the schedulers of the sub-clusters' ResourceManagers, wherever the active one is."""

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeVar

from shim.domain.ids import SubClusterId
from shim.errors import NeverReachedError

__all__ = ["Address", "HomeDialler"]

Address = tuple[str, int]
P = TypeVar("P", bound=asyncio.Protocol)

_PAUSE_S = 0.25


class HomeDialler:
    """Opens connections; of several ResourceManagers only the active one listens for ApplicationMasters.

    Args:
        addresses: Where they listen, for each sub-cluster whose scheduler address is known.
        connect_timeout_s: For one address.
        patience_s: For a home that starts or fails over. An ApplicationMaster that is sent away sleeps 30 s
            (`yarn.resourcemanager.connect.retry-interval.ms`); one that waits goes on at once.
    """

    def __init__(
        self,
        addresses: Mapping[SubClusterId, tuple[Address, ...]],
        *,
        connect_timeout_s: float = 1.0,
        patience_s: float = 15.0,
    ) -> None:
        self._addresses = addresses
        self._connect_timeout_s = connect_timeout_s
        self._patience_s = patience_s
        self._first = dict.fromkeys(addresses, 0)

    @property
    def patience_s(self) -> float:
        """Seconds that a home may take to answer at all."""
        return self._patience_s

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
        """Until the next try."""
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
