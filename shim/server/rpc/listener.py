"""The listening socket of a server for Hadoop RPC."""

import asyncio
from collections.abc import Callable

from shim.domain.addresses import join_address

__all__ = ["Listener"]

_BACKLOG = 1024


class Listener:
    """Takes connections on one address, until it is closed.

    Args:
        connect: Makes the protocol of each connection.
        host: Address to bind.
        port: 0 takes a free one.
    """

    def __init__(self, connect: Callable[[], asyncio.BaseProtocol], host: str, port: int) -> None:
        self._connect = connect
        self._host = host
        self.port = port
        self._server: asyncio.Server | None = None

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
        self._server = await loop.create_server(self._connect, self._host, self.port, backlog=_BACKLOG)
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> bool:
        """Take no new connections; tell whether any were taken before."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        return server is not None
