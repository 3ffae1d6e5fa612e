"""The listening socket of the REST server: uvicorn inside a running event loop."""

import asyncio
import contextlib
import math
import socket
from collections.abc import Iterator
from functools import partial
from typing import Any, cast

import structlog
import uvicorn

from shim.concurrency.keep_going import aside
from shim.concurrency.listening_sockets import listening_socket
from shim.domain.addresses import join_address
from shim.server.rest.asgi import RequestHandler, application
from shim.server.rest.connection import ConnectionLimits, GuardedProtocol, Reception
from shim.server.rest.host_names import HostNames
from shim.server.rest.tls_greeting import TLSGreeting, TLSOffer

_BACKLOG = 1024
_log = structlog.get_logger("heddle")


class _EmbeddedServer(uvicorn.Server):
    """uvicorn that leaves signals to the process it runs in, and says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listens.set()


class RestServer:
    """Serves a server on one address.

    Args:
        host: Address to bind.
        port: 0 takes a free one.
        names: Under which names it may be asked for; any, if not given.
        tls: How clients come in by TLS; plain HTTP, if not given.
        beside: A further address with the same port, as far as it can be had; empty for none.
    """

    def __init__(
        self,
        handler: RequestHandler,
        *,
        host: str,
        port: int,
        limits: ConnectionLimits,
        names: HostNames | None = None,
        tls: TLSOffer | None = None,
        beside: str = "",
    ) -> None:
        self._handler = handler
        self._tls = tls
        self._host, self._port, self._beside = host, port, beside
        self._had: tuple[str, ...] = ()
        self._limits = limits
        self._reception = Reception(self._limits, handler.answer_at_once, names or HostNames("*"))
        self._ending = asyncio.Event()
        self._server: _EmbeddedServer | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """The port that is listened on; known after `start`."""
        return self._port

    @property
    def connections(self) -> int:
        return len(self._reception.connections)

    @property
    def url(self) -> str:
        return self._url_at(self._host)

    @property
    def urls(self) -> tuple[str, ...]:
        """URLs for clients, the further address first if it was to be had; known after `start`."""
        return (*map(self._url_at, self._had), self.url)

    def _url_at(self, host: str) -> str:
        return f"{'https' if self._tls else 'http'}://{join_address(host, self._port)}"

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: If the address cannot be bound.
        """
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        listening = listening_socket(self._host, self._port, family=family, backlog=_BACKLOG)
        self._port = listening.getsockname()[1]
        further = tuple(self._further_sockets())
        self._had = (self._beside,) if further else ()
        self._ending.clear()
        self._server = _EmbeddedServer(self._config())
        self._serving = aside("rest-server", self._server.serve([listening, *further]))
        await self._server.listens.wait()

    def _further_sockets(self) -> Iterator[socket.socket]:
        if self._beside:
            try:
                yield listening_socket(self._beside, self._port, family=socket.AF_INET, backlog=_BACKLOG)
            except OSError as exc:
                address = join_address(self._beside, self._port)
                _log.warning("the web services are not at this address, too", address=address, reason=exc.strerror)

    def _config(self) -> uvicorn.Config:
        hsts_s = self._tls.hsts_s if self._tls is not None else 0
        return uvicorn.Config(
            application(self._handler, self._ending),
            http=cast("Any", self._protocol),  # called as a class is
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            headers=[("Strict-Transport-Security", f"max-age={hsts_s}")] if hsts_s else [],
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_keep_alive=cast("int", self._limits.keep_alive_s),  # handed to call_later, which takes parts too
        )

    def _protocol(self, **uvicorn_untyped: Any) -> asyncio.Protocol:
        make = partial(GuardedProtocol, reception=self._reception, **uvicorn_untyped)
        if self._tls is None:
            return make()
        within_s = self._limits.request_timeout_s
        return TLSGreeting(make, self._tls.context(), self._reception.connections, within_s=within_s)

    def linger(self, for_s: float) -> None:
        """Have clients without a request under way be heard for so long when it stops; otherwise they are cut."""
        self._reception.linger_s = for_s

    async def stop(self, *, grace_s: float = 5.0) -> None:
        """Take no new connections, let requests under way end within `grace_s`, then cut."""
        if self._server is None or self._serving is None:
            return
        self._server.config.timeout_graceful_shutdown = math.ceil(grace_s)
        self._ending.set()
        self._server.should_exit = True
        await self._serving
        self._server = self._serving = None
