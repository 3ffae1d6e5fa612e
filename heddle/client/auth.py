"""Ways to say, or to prove, who calls.

Source: RFC 6750 (bearer tokens), RFC 4559 (Kerberos by SPNEGO); `user.name` of Hadoop's pseudo-authentication.
"""

import asyncio
import base64
import stat
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx

from heddle.client.errors import CredentialsError

__all__ = ["Ticket", "Token", "User", "asks_for_ticket", "token_of"]

_LONGEST_FILE = 4096
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_UNAUTHORIZED = 401
_SPNEGO = "1.3.6.1.5.5.2"

Proof = Callable[[str], bytes]
"""Makes the token of SPNEGO for `HTTP@host`; it speaks with the KDC, which blocks."""


class User(httpx.Auth):
    """Names the caller by `user.name`, for a Heddle that believes names."""

    def __init__(self, name: str) -> None:
        self._name = name

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send the request with the name."""
        request.url = request.url.copy_merge_params({"user.name": self._name})
        yield request


class Token(httpx.Auth):
    """Shows an API token, or a token of the identity provider, with every request."""

    def __init__(self, text: str) -> None:
        if not text or not text.isascii() or not all(each.isprintable() and each != " " for each in text):
            raise CredentialsError("this is something else than one API token")
        self._header = f"Bearer {text}"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send the request with the token."""
        request.headers["Authorization"] = self._header
        yield request


class Ticket(httpx.Auth):
    """Shows a Kerberos ticket when the server asks for one; the cookie of the answer does after that.

    Args:
        user: Sent as `user.name`, for a server that asks for none.
        proof: Makes the proof; by default the library `gssapi` does, from the ticket cache of the process.
    """

    def __init__(self, user: str = "", proof: Proof | None = None) -> None:
        self._user = user
        self._proof = proof or _proof_of_gssapi

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send the request, and once more with a ticket if that is asked for."""
        answer = yield self._named(request)
        if asks_for_ticket(answer):
            answer.read()
            request.headers["Authorization"] = self._shown(request.url)
            yield request

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Do the same, and get the ticket in a thread."""
        answer = yield self._named(request)
        if asks_for_ticket(answer):
            await answer.aread()
            request.headers["Authorization"] = await asyncio.to_thread(self._shown, request.url)
            yield request

    def _named(self, request: httpx.Request) -> httpx.Request:
        if self._user:
            request.url = request.url.copy_merge_params({"user.name": self._user})
        return request

    def _shown(self, url: httpx.URL) -> str:
        server = f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"
        try:
            return f"Negotiate {base64.b64encode(self._proof(url.host)).decode()}"
        except CredentialsError as exc:
            raise CredentialsError(f"{server} asks for a Kerberos ticket: {exc.what}", next_=exc.next) from exc


def asks_for_ticket(answer: httpx.Response) -> bool:
    """True for an answer that asks for a ticket."""
    asked = answer.headers.get("WWW-Authenticate", "").lower()
    return answer.status_code == _UNAUTHORIZED and asked.startswith("negotiate")


def _proof_of_gssapi(host: str) -> bytes:
    try:
        gssapi: Any = import_module("gssapi")  # only who shows tickets needs it
    except ImportError as exc:
        raise CredentialsError("the library gssapi is not installed", next_="pip install gssapi") from exc
    try:
        name = gssapi.Name(f"HTTP@{host}", gssapi.NameType.hostbased_service)
        mechanism = gssapi.OID.from_int_seq(_SPNEGO)
        context = gssapi.SecurityContext(name=name, mech=mechanism, usage="initiate")
        return context.step(b"") or b""
    except gssapi.exceptions.GSSError as exc:
        told = str(exc).rstrip(".")
        raise CredentialsError(f"{told}", next_="Run kinit, and name the server by the host of its principal") from exc


def token_of(environment: Mapping[str, str]) -> str:
    """The token of `HEDDLE_TOKEN`, else of the file that `HEDDLE_TOKEN_FILE` names; empty for none.

    Raises:
        CredentialsError: If the file cannot be read, others can read it, or no token can be in it.
    """
    name = environment.get("HEDDLE_TOKEN_FILE", "")
    text = environment.get("HEDDLE_TOKEN", "").strip()
    if not text and name:
        text = _text_of(Path(name))
    if not text.isascii() or not all(character.isprintable() and character != " " for character in text):
        raise CredentialsError("HEDDLE_TOKEN or its file holds something else than one API token")
    return text


def _text_of(file: Path) -> str:
    try:
        if file.stat().st_mode & _OTHERS:
            raise CredentialsError(f"HEDDLE_TOKEN_FILE={file}: others can read it; chmod 600 {file}")
        with file.open("rb") as opened:
            text = opened.read(_LONGEST_FILE + 1).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise CredentialsError(f"HEDDLE_TOKEN_FILE={file} cannot be used: {exc}") from exc
    if not text or len(text) > _LONGEST_FILE:
        raise CredentialsError(f"HEDDLE_TOKEN_FILE={file} has no API token")
    return text
