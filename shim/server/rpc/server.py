"""A server for Hadoop RPC on one address."""

import asyncio
import socket
from collections.abc import Callable

from shim.concurrency.listening_sockets import listening_socket
from shim.domain.addresses import join_address
from shim.protocol.hrpc import HadoopCall
from shim.server.rpc.connection import LoginJudge, RPCConnection, RPCLimits, RPCReception, RPCService


class RPCServer:
    """Serves a server on one address.

    Args:
        host: Address to bind.
        port: 0 takes a free one.
        judge: Says of clients whether what they logged in with is still good; needed where an offer needs a verdict.
        may_be_dropped: Whether a call whose client has gone may end.
    """

    def __init__(
        self,
        service: RPCService,
        *,
        host: str,
        port: int,
        limits: RPCLimits | None = None,
        judge: LoginJudge | None = None,
        may_be_dropped: Callable[[HadoopCall], bool] = lambda _: False,
    ) -> None:
        self._reception = RPCReception(service, limits or RPCLimits(), judge, may_be_dropped)
        self.connections = self._reception.connections
        self._listener = Listener(lambda: RPCConnection(self._reception), host, port)

    @property
    def port(self) -> int:
        """The port that is listened on; known after `start`."""
        return self._listener.port

    @property
    def address(self) -> str:
        """`host:port` for clients."""
        return self._listener.address

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: If the address cannot be bound.
        """
        await self._listener.start()

    async def stop(self, *, grace_s: float = 5.0) -> None:
        """Take no new connections and calls, let those under way end within `grace_s`, then cut."""
        if not self._listener.close():
            return
        for connection in self.connections:
            connection.end()
        busy = [task for connection in self.connections for task in connection.tasks]
        if busy:
            await asyncio.wait(busy, timeout=grace_s)
        for connection in self.connections:
            connection.abort()


# The listening socket of a server for Hadoop RPC.

_BACKLOG = 1024


class Listener:
    """Takes connections on one address, until it is closed.

    Args:
        host: Address to bind.
        port: 0 takes a free one.
    """

    def __init__(self, connect: Callable[[], asyncio.BaseProtocol], host: str, port: int) -> None:
        self._connect = connect
        self._host = host
        self.port = port
        self._servers: list[asyncio.Server] = []

    @property
    def address(self) -> str:
        """`host:port` for clients; the port is known after `start`."""
        return join_address(self._host, self.port)

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: If the address cannot be bound.
        """
        loop = asyncio.get_running_loop()
        named = await loop.getaddrinfo(self._host or None, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        try:
            for family, *_, where in dict.fromkeys(named):
                listening = listening_socket(str(where[0]), self.port, family=family, backlog=_BACKLOG)
                self.port = listening.getsockname()[1]
                self._servers.append(await loop.create_server(self._connect, sock=listening))
        except OSError:
            self.close()
            raise

    def close(self) -> bool:
        """Take no new connections; tell whether any were taken before."""
        servers, self._servers = self._servers, []
        for server in servers:
            server.close()
        return bool(servers)
