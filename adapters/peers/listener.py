"""Listening for other masters."""

import asyncio
import os
import socket
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import cast

import structlog
from aiohttp import web

from adapters.peers.link import PATH, LinkSettings, LinkTLS, WebSocketLink
from shim.concurrency.listening_sockets import listening_socket
from shim.domain.addresses import join_address
from shim.errors import MasterLinkError, RemoteProtocolError
from shim.ports.master_links import AcceptLink
from shim.protocol.peers import (
    NONCE_BYTES,
    ChallengeFrame,
    Credentials,
    ProofFrame,
    check_proof,
    dialer_of,
    make_welcome,
)

_STOP_WITHIN_S = 1.0
_TIMES_HANDSHAKE = 2  # whoever is in the handshake is told first why it ends
_MOST_UNPROVEN = 16 * 1024
"""Bytes of a connection that has proved nothing: a head that asks for a WebSocket, and a proof of at most 4 KiB."""
_log = structlog.get_logger("heddle.masters")


class _Unproven(asyncio.Protocol):
    """Hands bytes on to aiohttp, of a peer that has proved nothing no more than a handshake has.

    A WebSocket gathers a message of the largest size, and a parser of HTTP a head of many lines, before anybody is
    asked whether they are wanted.
    """

    def __init__(self, served: web.RequestHandler, is_unproven: Callable[[], bool]) -> None:
        self._served = served
        self._is_unproven = is_unproven
        self._transport: asyncio.BaseTransport | None = None
        self._left = _MOST_UNPROVEN

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._served.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._left <= 0:
            return
        if self._is_unproven():
            self._left -= len(data)
            if self._left <= 0:
                _log.info("link refused", reason=f"more than {_MOST_UNPROVEN} bytes without a proof")
                cast("asyncio.Transport", self._transport).abort()
                return
        self._served.data_received(data)

    def eof_received(self) -> None:
        self._served.eof_received()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._served.connection_lost(exc)

    def pause_writing(self) -> None:
        self._served.pause_writing()

    def resume_writing(self) -> None:
        self._served.resume_writing()


class LinkListener:
    """Serves links on one address.

    Args:
        accept: What is done with each link that was authenticated.
        host: Address to bind.
        port: 0 takes a free one.
        tls: How both ends prove who they are; without it they do by the secret of the credentials.
    """

    def __init__(
        self,
        credentials: Credentials,
        accept: AcceptLink,
        *,
        host: str,
        port: int,
        settings: LinkSettings,
        tls: LinkTLS | None = None,
    ) -> None:
        self._tls = tls
        self._credentials = credentials
        self._accept = accept
        self._host, self._port = host, port
        self._settings = settings
        self._runner: web.AppRunner | None = None
        self._links: set[WebSocketLink] = set()
        self._entering: OrderedDict[asyncio.Timeout, None] = OrderedDict()
        self._server: asyncio.Server | None = None
        self._unproven: OrderedDict[web.RequestHandler, asyncio.TimerHandle] = OrderedDict()

    @property
    def address(self) -> str:
        """`host:port` that is listened on; the port is known after `start`."""
        return join_address(self._host, self._port)

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: If the address cannot be bound.
        """
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        listening = listening_socket(self._host, self._port, family=family)
        self._port = listening.getsockname()[1]
        application = web.Application()
        application.router.add_get(PATH, self._serve)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=_STOP_WITHIN_S)
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        if self._tls is None:
            self._server = await loop.create_server(self._connected, sock=listening)
        else:
            self._server = await loop.create_server(
                self._connected,
                sock=listening,
                ssl=self._tls.listening(),
                ssl_handshake_timeout=self._settings.handshake_s,
            )

    async def stop(self) -> None:
        if self._runner is None:
            return
        if self._server is not None:
            self._server.close()
        await asyncio.gather(*(link.close() for link in self._links))
        for connection in tuple(self._unproven):
            self._cut(connection)
        await self._runner.cleanup()
        self._runner = self._server = None

    # -- connections that have proved nothing ------------------------------------------------------------------------

    def _connected(self) -> asyncio.Protocol:
        """The protocol of a new connection, which has so long to prove who it is: aiohttp waits for ever.

        It may say nothing, half a head, or one request after another.
        """
        server = None if self._runner is None else self._runner.server
        if server is None:
            raise MasterLinkError("not listening")
        if self._tls is not None:
            self._tls.listening()  # TLS begins after this call: with the files of now
        connection = server()
        loop = asyncio.get_running_loop()
        self._unproven[connection] = loop.call_later(
            _TIMES_HANDSHAKE * self._settings.handshake_s, self._cut, connection
        )
        if len(self._unproven) > 2 * self._settings.max_links:
            self._cut(next(iter(self._unproven)))
        return _Unproven(connection, lambda: connection in self._unproven)

    def _cut(self, connection: web.RequestHandler) -> None:
        self._proven(connection)
        if connection.transport is not None:
            connection.transport.abort()

    def _proven(self, connection: web.RequestHandler) -> None:
        """Let a connection that has proved itself stay open, unless it is gone."""
        timer = self._unproven.pop(connection, None)
        if timer is not None:
            timer.cancel()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if len(self._links) >= self._settings.max_links:
            return web.Response(status=503, text="too many links")
        if self._tls is None:
            return await self._serve_link(request)
        try:
            dialer = dialer_of(None if request.transport is None else request.transport.get_extra_info("peercert"))
        except RemoteProtocolError as exc:
            _log.info("link refused", address=request.remote, reason=str(exc))
            return web.Response(status=403, text=str(exc))
        return await self._serve_link(request, dialer)

    async def _serve_link(self, request: web.Request, dialer: str = "") -> web.WebSocketResponse:
        """Serve one link; `dialer` is who its certificate names, empty where it has to be proved."""
        settings = self._settings
        upgraded = web.WebSocketResponse(
            max_msg_size=settings.max_frame_bytes, compress=False, heartbeat=settings.ping_s
        )
        await upgraded.prepare(request)
        link = WebSocketLink(upgraded, settings, address=request.remote or "")
        reason = ""
        try:
            if dialer:
                link.peer = dialer
            else:
                await self._shake_hands(link)
            self._proven(request.protocol)
            self._links.add(link)
            await self._accept(link)
        except TimeoutError:
            reason = "no handshake in time"
        except (MasterLinkError, RemoteProtocolError) as exc:
            reason = str(exc)
        finally:
            self._links.discard(link)
            with suppress(asyncio.CancelledError):
                await link.close(reason)
        _log.info("link ended", peer=link.peer or "unknown", address=request.remote, reason=reason)
        return upgraded

    async def _shake_hands(self, link: WebSocketLink) -> None:
        challenge = ChallengeFrame(self._credentials.speaker, os.urandom(NONCE_BYTES))
        async with asyncio.timeout(self._settings.handshake_s) as deadline:
            self._make_room_for(deadline)
            try:
                await link.send(challenge)
                proof = await link.receive()
                if not isinstance(proof, ProofFrame):
                    raise RemoteProtocolError(f"{type(proof).__name__} instead of a proof")
                check_proof(self._credentials, challenge, proof)
                await link.send(make_welcome(self._credentials, challenge, proof))
            finally:
                self._entering.pop(deadline, None)
        link.peer = proof.speaker

    def _make_room_for(self, newcomer: asyncio.Timeout) -> None:
        """Of too many that have not proved who they are the oldest goes: nobody unknown keeps a master out."""
        self._entering[newcomer] = None
        if len(self._entering) > self._settings.max_links:
            oldest, _ = self._entering.popitem(last=False)
            if not oldest.expired():
                oldest.reschedule(asyncio.get_running_loop().time())
