"""Documents of an identity provider over HTTP: small, in time, in JSON, and from where they were asked for alone.

No redirect is followed, no proxy of the environment is taken, and nothing is unpacked.
"""

import asyncio
import base64
import re
import ssl
from collections.abc import Mapping
from typing import Any

import httpx
import msgspec

from shim.ports.identity_provider import BadTokenError, ProviderUnavailableError
from shim.protocol.wire_values import UNREADABLE

_WITHIN_S = 5.0
_MOST_BYTES = 256 * 1024
_ERROR = re.compile(r"[a-z_]{1,64}")
_OK, _BAD_REQUEST, _UNAUTHORIZED = 200, 400, 401


class Documents:
    """Reads them.

    Args:
        tls: By which the provider is verified.
    """

    def __init__(
        self, tls: ssl.SSLContext | None = None, *, within_s: float = _WITHIN_S, most_bytes: int = _MOST_BYTES
    ) -> None:
        self._client = httpx.AsyncClient(
            verify=tls or ssl.create_default_context(),
            follow_redirects=False,
            trust_env=False,
            timeout=within_s,
            headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "heddle"},
        )
        self._within_s = within_s
        self._most_bytes = most_bytes

    async def close(self) -> None:
        await self._client.aclose()

    async def get(self, url: str) -> Mapping[str, Any]:
        """The object at an address.

        Raises:
            ProviderUnavailableError: If none comes in time, it is too large, or it is none.
        """
        status, body = await self._read(self._client.build_request("GET", url))
        if status != _OK:
            raise ProviderUnavailableError(f"the identity provider answers {status} at {url}")
        return _object(body)

    async def post(self, url: str, form: Mapping[str, str], login: tuple[str, str] | None) -> Mapping[str, Any]:
        """The object that answers a form.

        Args:
            login: Name and password of the client.

        Raises:
            BadTokenError: If the provider refuses what the form says.
            ProviderUnavailableError: As `get`.
        """
        shown = {} if login is None else {"Authorization": _basic(*login)}
        request = self._client.build_request("POST", url, data=dict(form), headers=shown)
        status, body = await self._read(request)
        if status in (_BAD_REQUEST, _UNAUTHORIZED):
            raise BadTokenError(f"the identity provider refuses the login: {_error_of(body)}")
        if status != _OK:
            raise ProviderUnavailableError(f"the identity provider answers {status} at {url}")
        return _object(body)

    async def _read(self, request: httpx.Request) -> tuple[int, bytes]:
        body = bytearray()
        try:
            async with asyncio.timeout(self._within_s):
                answer = await self._client.send(request, stream=True)
                try:
                    if answer.headers.get("content-encoding", "identity") != "identity":
                        raise ProviderUnavailableError("the identity provider packs its answer, unasked")
                    async for part in answer.aiter_raw():
                        body += part
                        if len(body) > self._most_bytes:
                            raise ProviderUnavailableError(
                                f"the identity provider tells more than {self._most_bytes} bytes"
                            )
                finally:
                    await answer.aclose()
        except TimeoutError as exc:
            raise ProviderUnavailableError(f"the identity provider does not answer in {self._within_s:g} s") from exc
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as exc:
            raise ProviderUnavailableError(
                f"the identity provider is not reached: {type(exc).__name__}: {exc}"
            ) from exc
        return answer.status_code, bytes(body)


def _basic(name: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"


def _object(body_untrusted: bytes) -> Mapping[str, Any]:
    try:
        found: dict[str, Any] = msgspec.json.decode(body_untrusted, type=dict[str, Any])
    except UNREADABLE as exc:
        raise ProviderUnavailableError(f"the identity provider's answer is no JSON object: {exc}") from exc
    return found


def _error_of(body_untrusted: bytes) -> str:
    """The code of an OAuth 2.0 error (RFC 6749, section 5.2), if there is one: nothing else is told on."""
    try:
        told = str(_object(body_untrusted).get("error"))
    except ProviderUnavailableError:
        told = ""
    return told if _ERROR.fullmatch(told) else "without a reason"
