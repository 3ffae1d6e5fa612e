"""The signed cookie `hadoop.auth`, with which a client that named itself once need not do so again.

A client sends the same cookie with every request, and is given the same one all through a second: what was signed or
verified lately is remembered. Only good cookies are, so that nobody fills the memory with others.

Source: `Signer`, `AuthenticationToken` of Hadoop 3.4.2.
"""

import base64
import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeVar

from shim.ports.clock import Clock

K = TypeVar("K")
V = TypeVar("V")

COOKIE_NAME = "hadoop.auth"
BY_NAME, BY_TICKET = "simple-dt", "kerberos-dt"
"""How whom a cookie names was known, as Hadoop's authentication handlers call it."""

_LONGEST = 4096
_MOST_REMEMBERED = 1024
_NOT_IN_A_COOKIE = frozenset('";\\,&=')


class Cookies:
    """Issues cookies and reads them.

    Args:
        secret: Key of the signatures, 32 bytes or more.
        validity_s: How long a cookie is good.
        is_secure: Whether browsers are to send it over TLS only.
        kind: How the users that it names were known. Cookies of another kind are not good: names that were believed
            once are not after Kerberos is switched on.
    """

    def __init__(
        self,
        secret: bytes,
        clock: Clock,
        *,
        validity_s: float,
        is_secure: bool = False,
        kind: str = BY_NAME,
        other_secrets: Sequence[bytes] = (),
    ) -> None:
        self._secrets = (secret, *other_secrets)
        self._clock = clock
        self._validity_s = validity_s
        self._kind = kind
        self._attributes = "Path=/; HttpOnly; SameSite=Strict" + ("; Secure" if is_secure else "")
        self._issued: OrderedDict[tuple[str, int], str] = OrderedDict()
        self._verified: OrderedDict[str, tuple[str, int]] = OrderedDict()

    def issue(self, user: str) -> str | None:
        """A `Set-Cookie` value for a user; None for a name that a cookie cannot hold."""
        expires_ms = int(self._clock.now_s() + self._validity_s) * 1000
        cookie = self._issued.get((user, expires_ms))
        if cookie is None:
            if any(character in _NOT_IN_A_COOKIE or character.isspace() for character in user):
                return None
            claim = f"u={user}&p={user}&t={self._kind}&e={expires_ms}"
            cookie = f'{COOKIE_NAME}="{claim}&s={_signature(self._secrets[0], claim)}"; {self._attributes}'
            _remember(self._issued, (user, expires_ms), cookie)
        return cookie

    def verify(self, value: str) -> str | None:
        """The user that a cookie value names; None if it is forged, cut, expired or none of ours."""
        named = self._verified.get(value)
        if named is None:
            named = self._read(value)
            if named is None:
                return None
            _remember(self._verified, value, named)
        user, expires_ms = named
        return user if expires_ms > self._clock.now_s() * 1000 else None

    def _read(self, value: str) -> tuple[str, int] | None:
        """User and expiry of a cookie with a good signature."""
        claim, separator, signature = value.strip('"').rpartition("&s=")
        if not separator or len(value) > _LONGEST:
            return None
        if not any(hmac.compare_digest(signature.encode(), _signature(each, claim).encode()) for each in self._secrets):
            return None
        fields = {name: text for name, _, text in (part.partition("=") for part in claim.split("&"))}
        return (fields["u"], int(fields["e"])) if fields["t"] == self._kind else None


def _signature(secret: bytes, claim: str) -> str:
    digest = hmac.digest(secret, claim.encode("utf-8", "surrogateescape"), hashlib.sha256)
    return base64.b64encode(digest).decode()


def _remember(known: "OrderedDict[K, V]", key: K, value: V) -> None:
    known[key] = value
    while len(known) > _MOST_REMEMBERED:
        known.popitem(last=False)
