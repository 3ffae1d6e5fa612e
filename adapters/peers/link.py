"""One end of a WebSocket as a `MasterLink`."""

import asyncio
import os
import ssl
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

import aiohttp
from aiohttp import ClientError, ClientWebSocketResponse, WSMsgType, web

from shim.errors import MasterLinkError, RemoteProtocolError
from shim.protocol.peers import (
    MAX_FRAME_BYTES,
    MAX_HANDSHAKE_BYTES,
    NONCE_BYTES,
    ChallengeFrame,
    Credentials,
    Frame,
    WelcomeFrame,
    answer_challenge,
    check_listener,
    check_welcome,
    decode_frame_untrusted,
    encode_frame,
)

PATH: Final = "/masters/1"
_POLICY_VIOLATION = 1008
_LONGEST_REASON = 120  # a close frame has room for 123 bytes


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """Limits of links.

    Attributes:
        silent_after_s: A link whose other end answers no ping for so long is cut.
        handshake_s: One that is not authenticated by then is cut.
        send_within_s: So is one whose other end takes nothing for so long.
        max_frame_bytes: Largest frame that is read, from whichever end.
    """

    silent_after_s: float
    handshake_s: float = 3.0
    send_within_s: float = 5.0
    max_frame_bytes: int = MAX_FRAME_BYTES
    max_links: int = 256

    @property
    def ping_s(self) -> float:
        """From one ping to the next; a WebSocket of aiohttp waits half as long for the answer."""
        return self.silent_after_s / 1.5


class LinkTLS(Protocol):
    """Contexts of links, as the files of now make them; both verify the other end."""

    def listening(self) -> ssl.SSLContext:
        """For links that others make; the same object each time."""
        ...

    def dialling(self) -> ssl.SSLContext: ...


class WebSocketLink:
    """Frames over one WebSocket; either end."""

    def __init__(
        self, socket: ClientWebSocketResponse | web.WebSocketResponse, settings: LinkSettings, *, address: str
    ) -> None:
        self._socket = socket
        self.address = address
        self._settings = settings
        self.peer = ""
        """Who proved to be at the other end; empty during the handshake."""

    async def send(self, frame: Frame) -> None:
        await self.send_encoded(encode_frame(frame))

    async def send_encoded(self, data: bytes) -> None:
        try:
            async with asyncio.timeout(self._settings.send_within_s):
                await self._socket.send_bytes(data)
        except TimeoutError as exc:
            raise MasterLinkError(f"{self._named()} takes nothing for {self._settings.send_within_s:g} s") from exc
        except (ClientError, OSError, RuntimeError) as exc:  # a closing WebSocket raises RuntimeError, too
            raise MasterLinkError(f"the link to {self._named()} is broken: {exc}") from exc

    async def receive(self) -> Frame:
        try:
            message = await self._socket.receive()
        except (ClientError, OSError, RuntimeError) as exc:
            raise MasterLinkError(f"the link to {self._named()} is broken: {exc}") from exc
        match message.type:
            case WSMsgType.BINARY:
                most = self._settings.max_frame_bytes if self.peer else MAX_HANDSHAKE_BYTES
                return decode_frame_untrusted(message.data, most=most)
            case WSMsgType.TEXT:
                raise RemoteProtocolError("a text where a frame should be")
            case _:
                reason = message.extra if isinstance(message.extra, str) else ""
                raise MasterLinkError(f"{self._named()} ended the link{f': {reason}' if reason else ''}")

    async def close(self, reason: str = "") -> None:
        told = reason.encode()[:_LONGEST_REASON]
        code = _POLICY_VIOLATION if reason else 1000
        try:
            async with asyncio.timeout(1.0):
                await self._socket.close(code=code, message=told)
        except (TimeoutError, ClientError, OSError, RuntimeError):
            return  # it is closed as far as we are concerned

    def _named(self) -> str:
        return self.peer or "the other end"


# Dialling other masters.

T = TypeVar("T", bound=Frame)


class WebSocketDialer:
    """Implements `shim.ports.master_links.MasterDialer`.

    Args:
        tls: How both ends prove who they are; without it they do by the secret of the credentials.
    """

    def __init__(self, credentials: Credentials, settings: LinkSettings, *, tls: LinkTLS | None = None) -> None:
        self._tls = tls
        self._credentials = credentials
        self._settings = settings
        self._session: aiohttp.ClientSession | None = None

    async def dial(self, address: str, *, expected: str) -> WebSocketLink:
        try:
            async with asyncio.timeout(self._settings.handshake_s):
                return await self._dial(address, expected)
        except TimeoutError as exc:
            raise MasterLinkError(f"{expected} at {address} does not answer") from exc
        except (aiohttp.ClientError, OSError) as exc:
            raise MasterLinkError(f"{expected} at {address} cannot be reached: {exc}") from exc
        except RemoteProtocolError as exc:
            raise MasterLinkError(f"{expected} at {address}: {exc}") from exc

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _dial(self, address: str, expected: str) -> WebSocketLink:
        if self._session is None:
            # environment variables for proxies are for the web, not for masters
            self._session = aiohttp.ClientSession(trust_env=False)
        tls = self._tls
        socket = await self._session.ws_connect(
            f"{'http' if tls is None else 'https'}://{address}{PATH}",
            ssl=True if tls is None else tls.dialling(),
            max_msg_size=self._settings.max_frame_bytes,
            compress=0,
            heartbeat=self._settings.ping_s,
        )
        link = WebSocketLink(socket, self._settings, address=address)
        try:
            if tls is None:
                await self._shake_hands(link, expected)
            else:
                check_listener(socket.get_extra_info("peercert"), expected=expected)
                link.peer = expected
        except BaseException:
            await link.close("no handshake")
            raise
        return link

    async def _shake_hands(self, link: WebSocketLink, expected: str) -> None:
        challenge = _expect(await link.receive(), ChallengeFrame)
        proof = answer_challenge(self._credentials, challenge, os.urandom(NONCE_BYTES), expected=expected)
        await link.send(proof)
        check_welcome(self._credentials, challenge, proof, _expect(await link.receive(), WelcomeFrame))
        link.peer = challenge.speaker


def _expect(frame: Frame, kind: type[T]) -> T:
    if not isinstance(frame, kind):
        raise RemoteProtocolError(f"{type(frame).__name__} instead of {kind.__name__}")
    return frame
