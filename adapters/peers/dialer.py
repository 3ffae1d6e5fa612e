"""Dialling other masters."""

import asyncio
import os
from typing import TypeVar

import aiohttp

from adapters.peers.link import PATH, LinkSettings, LinkTLS, WebSocketLink
from shim.errors import MasterLinkError, RemoteProtocolError
from shim.protocol.peers import (
    NONCE_BYTES,
    ChallengeFrame,
    Credentials,
    Frame,
    WelcomeFrame,
    answer_challenge,
    check_listener,
    check_welcome,
)

__all__ = ["WebSocketDialer"]

T = TypeVar("T", bound=Frame)


class WebSocketDialer:
    """Implements `shim.ports.master_links.MasterDialer`.

    Args:
        credentials: Who dials.
        settings: Limits.
        tls: How both ends prove who they are; without it they do by the secret of the credentials.
    """

    def __init__(self, credentials: Credentials, settings: LinkSettings, *, tls: LinkTLS | None = None) -> None:
        self._tls = tls
        self._credentials = credentials
        self._settings = settings
        self._session: aiohttp.ClientSession | None = None

    async def dial(self, address: str, *, expected: str) -> WebSocketLink:
        """See `MasterDialer`."""
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
        """See `MasterDialer`."""
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
