"""The listening socket of an RPC server."""

import asyncio

from shim.domain.addresses import join_address
from shim.server.rpc.connection import LoginJudge, Reception, RPCConnection, RPCLimits, RPCService

__all__ = ["RPCServer"]

_BACKLOG = 1024


class RPCServer:
    """Serves a server on one address.

    Args:
        service: What answers.
        host: Address to bind.
        port: 0 takes a free one.
        limits: What one client may take.
        judge: Says of clients whether what they logged in with is still good; needed where an offer needs a verdict.
    """

    def __init__(
        self,
        service: RPCService,
        *,
        host: str,
        port: int,
        limits: RPCLimits | None = None,
        judge: LoginJudge | None = None,
    ) -> None:
        self._host, self._port = host, port
        self._reception = Reception(service, limits or RPCLimits(), judge)
        self._connections = self._reception.connections
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """The port that is listened on; known after `start`."""
        return self._port

    @property
    def address(self) -> str:
        """`host:port` for clients."""
        return join_address(self._host, self._port)

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: If the address cannot be bound.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: RPCConnection(self._reception), self._host, self._port, backlog=_BACKLOG
        )
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop(self, *, grace_s: float = 5.0) -> None:
        """Take no new connections and calls, let those under way end within `grace_s`, then cut."""
        if self._server is None:
            return
        self._server.close()
        for connection in self._connections:
            connection.end()
        busy = [task for connection in self._connections for task in connection.tasks]
        if busy:
            await asyncio.wait(busy, timeout=grace_s)
        for connection in self._connections:
            connection.abort()
        self._server = None
