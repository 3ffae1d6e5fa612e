"""Heddle's own logins at web services of ResourceManagers that ask for Kerberos tickets (SPNEGO).

A ticket is shown when it is asked for; the signed cookie of the answer does for the requests after it. Whoever asked
once is never told a name again in place of proof: who a request is for is then `doAs` of Heddle's principal.

Source: RFC 4559; `org.apache.hadoop.security.authentication.server.AuthenticationFilter`.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Protocol
from urllib.parse import urlsplit

from shim.errors import MalformedAnswerError, NeverReachedError
from shim.ports.resource_manager import Parameters
from shim.ports.web_tickets import TicketProof
from shim.protocol.hrpc.sasl import SASLError

__all__ = ["TicketSource", "WebTicketLogin"]

_UNAUTHORIZED = 401
_NEGOTIATE = "negotiate"
_COOKIE = "hadoop.auth="
_LONGEST_COOKIE = 4096


class TicketSource(Protocol):
    """A source of tickets; `adapters.kerberos.KerberosLogin` is one."""

    async def at_web(self, host: str) -> TicketProof:
        """A login at `HTTP@host`; raises `SASLError` if there is no ticket to be had."""
        ...


class WebTicketLogin:
    """The logins of one sub-cluster, by address.

    Args:
        subcluster: Whose ResourceManager it is.
        source: Of tickets.
    """

    def __init__(self, subcluster: str, source: TicketSource) -> None:
        self._subcluster = subcluster
        self._source = source
        self._cookies: dict[str, str] = {}
        self._asking: set[str] = set()

    def identity(self, address: str, user: str | None, own_user: str) -> Parameters | None:
        """Name the user of a request, where a ticket tells its sender; None where names are believed so far."""
        if address not in self._asking:
            return None
        return () if user is None or user == own_user else (("doAs", user),)

    def shown(self, address: str) -> tuple[tuple[str, str], ...]:
        """The cookie of the last login."""
        cookie = self._cookies.get(address)
        return (("Cookie", cookie),) if cookie is not None else ()

    def is_asked(self, address: str, status: int, headers: Mapping[str, str]) -> bool:
        """True for an answer that asks for a ticket."""
        asked = headers.get("WWW-Authenticate", "").strip().lower()
        is_asked = status == _UNAUTHORIZED and asked.partition(" ")[0] == _NEGOTIATE
        if is_asked:
            self._asking.add(address)
            self._cookies.pop(address, None)
        return is_asked

    async def begin(self, address: str) -> TicketProof:
        """A login at an address.

        Raises:
            NeverReachedError: There is no ticket to be had: nothing was sent that counts.
        """
        try:
            return await self._source.at_web(urlsplit(address).hostname or "")
        except SASLError as exc:
            raise NeverReachedError(self._subcluster, f"{address} asks for a Kerberos ticket: {exc}") from exc

    def end(self, address: str, proof: TicketProof, headers: Mapping[str, str], cookies: Iterable[str]) -> None:
        """Take the answer to a login: the server's proof, and the cookie.

        Raises:
            MalformedAnswerError: The server does not prove who it is.
        """
        text = headers.get("WWW-Authenticate", "").strip().partition(" ")[2]
        try:
            proof.check(base64.b64decode(text.strip(), validate=True))
        except (SASLError, binascii.Error, ValueError) as exc:
            message = f"{address} took a Kerberos ticket and does not prove who it is ({exc})"
            raise MalformedAnswerError(self._subcluster, message) from exc
        for line in cookies:
            cookie = line.partition(";")[0].strip()
            if cookie.startswith(_COOKIE) and len(_COOKIE) < len(cookie) <= _LONGEST_COOKIE:
                self._cookies[address] = cookie
