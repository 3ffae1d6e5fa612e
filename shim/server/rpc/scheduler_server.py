"""The scheduler server: ApplicationMasters connect here as to a ResourceManager's scheduler."""

import asyncio
from collections.abc import Callable

from shim.domain.addresses import join_address
from shim.ports.attempt_calls import AttemptService
from shim.server.rpc.am_connections import AMConnectionRegistry
from shim.server.rpc.home_dialler import Address, HomeDialler
from shim.server.rpc.scheduler_connection import (
    AMConnection,
    AttemptFinder,
    RelayContext,
    RelayObserver,
    SchedulerLimits,
)

__all__ = ["SchedulerServer"]

_BACKLOG = 1024


class SchedulerServer:
    """Listens for ApplicationMasters.

    Keeps nothing of them: killed and started again, it is found again by ApplicationMasters that connect again.

    Args:
        attempts: Finds their homes.
        dialler: Connects to the homes.
        observer: Counts.
        host: Address to bind.
        port: 0 takes a free one.
        limits: What ApplicationMasters may take.
        service: Who understands the calls of attempts that may span sub-clusters; None: all pass through.
        owner_address: Where the Heddle that owns a queue takes ApplicationMasters, if that is another one.
    """

    def __init__(
        self,
        attempts: AttemptFinder,
        dialler: HomeDialler,
        observer: RelayObserver,
        *,
        host: str,
        port: int,
        limits: SchedulerLimits | None = None,
        service: AttemptService | None = None,
        owner_address: Callable[[str], Address | None] = lambda _queue: None,
    ) -> None:
        limits = limits or SchedulerLimits()
        self._host, self._port = host, port
        self._context = RelayContext(
            attempts, dialler, observer, AMConnectionRegistry(limits.connections), limits, service, owner_address
        )
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> str:
        """`host:port` for ApplicationMasters; the port is known after `start`."""
        return join_address(self._host, self._port)

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: If the address cannot be bound.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: AMConnection(self._context), self._host, self._port, backlog=_BACKLOG
        )
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """End every connection: what an ApplicationMaster called and did not hear of it calls again."""
        if self._server is None:
            return
        self._server.close()
        for connection in self._context.connections.connections:
            connection.turn_out()
        self._server = None
