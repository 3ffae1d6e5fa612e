"""Delegation tokens of Heddle itself, as stock clients ask a ResourceManager for them.

A token proves to any Heddle with the same secret that it was issued for its owner; nothing is stored. The sub-clusters
never see it: towards them Heddle acts as the owner. Cancelled tokens are remembered until they expire, by this process.

Source: `RMDelegationTokenSecretManager`, `YARNDelegationTokenIdentifier`, `ClientRMService.getDelegationToken`.
"""

import hashlib
import hmac
import itertools
from dataclasses import dataclass

from google.protobuf.message import DecodeError

from shim.errors import ForbiddenError
from shim.ports.clock import Clock
from shim.protocol.hrpc.envelopes import text_of
from shim.protocol.proto.messages import TokenProto, YARNDelegationTokenIdentifierProto

__all__ = ["DelegationTokenError", "DelegationTokens", "TokenLimits"]

_KIND = "RM_DELEGATION_TOKEN"
_KEY_LABEL = b"heddle delegation token"


class DelegationTokenError(ForbiddenError):
    """A token that is forged, cancelled, expired, or not the caller's to renew."""

    java_class = "org.apache.hadoop.security.token.SecretManager$InvalidToken"


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """How long tokens are good, as `yarn.resourcemanager.delegation.token.*` has it.

    Attributes:
        lifetime_s: From issue; no renewal goes beyond.
        renewal_s: How long a renewal says that it is good.
    """

    lifetime_s: float = 7 * 86400.0
    renewal_s: float = 86400.0


class DelegationTokens:
    """Issues, renews, cancels and verifies.

    Args:
        secret: Key of the federation; tokens of another secret are refused.
        clock: For expiry.
        limits: How long tokens are good.
    """

    def __init__(self, secret: bytes, clock: Clock, limits: TokenLimits | None = None) -> None:
        self._key = hmac.digest(secret, _KEY_LABEL, "sha256")
        self._clock = clock
        self._limits = limits or TokenLimits()
        self._numbers = itertools.count(int(clock.now_s()))
        self._cancelled: dict[bytes, int] = {}

    def issue(self, owner: str, renewer: str, real_user: str) -> TokenProto:
        """A new token; `real_user` is who asked for it on the owner's behalf, else empty."""
        now_ms = self._now_ms()
        identifier = YARNDelegationTokenIdentifierProto(
            owner=owner,
            renewer=renewer,
            realUser=real_user,
            issueDate=now_ms,
            maxDate=now_ms + int(self._limits.lifetime_s * 1000),
            sequenceNumber=next(self._numbers) % (1 << 31),
            masterKeyId=1,
        ).SerializeToString()
        return TokenProto(identifier=identifier, password=self._password(identifier), kind=_KIND, service="")

    def renew(self, token_untrusted: TokenProto, *, caller: str) -> int:
        """When the token expires now, in milliseconds since the epoch.

        Raises:
            DelegationTokenError: If the token is not good, or another user renews it.
        """
        identifier = self._verified(token_untrusted)
        if caller != text_of(identifier.renewer):
            raise DelegationTokenError(f"{caller} tries to renew a token with renewer {text_of(identifier.renewer)}")
        return min(identifier.maxDate, self._now_ms() + int(self._limits.renewal_s * 1000))

    def cancel(self, token_untrusted: TokenProto, *, caller: str) -> None:
        """Make a token useless.

        Raises:
            DelegationTokenError: If the token is not good, or not the caller's to cancel.
        """
        identifier = self._verified(token_untrusted)
        if caller not in (text_of(identifier.owner), text_of(identifier.renewer)):
            raise DelegationTokenError(f"{caller} is not authorized to cancel the token")
        now_ms = self._now_ms()
        self._cancelled = {key: until for key, until in self._cancelled.items() if until > now_ms}
        self._cancelled[token_untrusted.identifier] = identifier.maxDate

    def password_of(self, identifier_untrusted: bytes) -> bytes:
        """What a client that holds the token knows.

        Raises:
            DelegationTokenError: If the token has expired, was cancelled, or never was one.
        """
        self._owner(identifier_untrusted)
        return self._password(identifier_untrusted)

    def owner_of(self, identifier: bytes) -> str:
        """Whom a verified token speaks for."""
        return text_of(self._owner(identifier).owner)

    def _verified(self, token_untrusted: TokenProto) -> YARNDelegationTokenIdentifierProto:
        identifier = self._owner(token_untrusted.identifier)
        if not hmac.compare_digest(token_untrusted.password, self._password(token_untrusted.identifier)):
            raise DelegationTokenError("the delegation token was not issued here")
        return identifier

    def _owner(self, identifier_untrusted: bytes) -> YARNDelegationTokenIdentifierProto:
        try:
            identifier = YARNDelegationTokenIdentifierProto.FromString(identifier_untrusted)
        except DecodeError as exc:
            raise DelegationTokenError("the delegation token is not readable") from exc
        if identifier_untrusted in self._cancelled:
            raise DelegationTokenError("the delegation token was cancelled")
        if identifier.maxDate <= self._now_ms():
            raise DelegationTokenError("the delegation token has expired")
        return identifier

    def _password(self, identifier: bytes) -> bytes:
        return hmac.new(self._key, identifier, hashlib.sha1).digest()

    def _now_ms(self) -> int:
        return int(self._clock.now_s() * 1000)
