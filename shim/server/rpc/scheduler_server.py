"""The scheduler server: ApplicationMasters connect here as to a ResourceManager's scheduler."""

from collections.abc import Callable

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
from shim.server.rpc.server import Listener


class SchedulerServer:
    """Listens for ApplicationMasters.

    Keeps nothing of them: killed and started again, it is found again by ApplicationMasters that connect again.

    Args:
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
        self._context = RelayContext(
            attempts, dialler, observer, AMConnectionRegistry(limits.connections), limits, service, owner_address
        )
        self._listener = Listener(lambda: AMConnection(self._context), host, port)

    @property
    def address(self) -> str:
        """`host:port` for ApplicationMasters; the port is known after `start`."""
        return self._listener.address

    @property
    def connections(self) -> AMConnectionRegistry:
        """Connections of ApplicationMasters, those that have not logged in among them."""
        return self._context.connections

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: If the address cannot be bound.
        """
        await self._listener.start()

    async def stop(self) -> None:
        """End every connection: a call that was not answered is made again."""
        if not self._listener.close():
            return
        for connection in self.connections.connections:
            connection.turn_out()
