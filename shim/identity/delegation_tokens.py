"""Delegation tokens of Heddle itself, as stock clients ask a ResourceManager for them.

A token proves to any Heddle with the same secret that it was issued for its owner. Whether it is still good (renewed in
time, not cancelled) is in the store, where every Heddle looks. The sub-clusters never see it: towards them Heddle acts
as the owner.

Source: `RMDelegationTokenSecretManager`, `AbstractDelegationTokenSecretManager`, `YARNDelegationTokenIdentifier`,
`ClientRMService.getDelegationToken`.
"""

import hashlib
import hmac
import itertools
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from google.protobuf.message import DecodeError

from shim.concurrency.single_flight import SingleFlight
from shim.domain.users import MalformedUserNameError, canonical_user
from shim.errors import BadRequestError, ForbiddenError
from shim.ports.clock import Clock
from shim.ports.token_store import StoredToken, TokenStore
from shim.protocol.proto.messages import TokenProto, YARNDelegationTokenIdentifierProto
from shim.protocol.wire_values import text_of

_KIND = "RM_DELEGATION_TOKEN"
_KEY_LABEL = b"heddle delegation token"
_LONGEST_IDENTIFIER = 4096
"""Bytes: three names and some numbers. A login by token takes no more either."""
_UNKNOWN = "the delegation token is not known: it was cancelled, or has expired"


class DelegationTokenError(ForbiddenError):
    """A token that is forged, cancelled, expired, or was issued without a ticket where one is needed."""

    java_class = "org.apache.hadoop.security.token.SecretManager$InvalidToken"


class TokenAccessError(ForbiddenError):
    """A token that is not the caller's to renew or cancel."""

    java_class = "org.apache.hadoop.security.AccessControlException"


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """Life times of tokens, as `yarn.resourcemanager.delegation.token.*` has it, and their number.

    Attributes:
        lifetime_s: From issue; no renewal goes beyond.
        renewal_s: How long it is good from issue, and from each renewal.
        seen_within_s: How old what was read of a token's state may be: a cancelled one is refused by every Heddle
            after this time.
        remembered: Tokens whose state is kept in memory.
    """

    lifetime_s: float
    renewal_s: float
    seen_within_s: float = 2.0
    of_owner: int = 5_000
    in_all: int = 200_000
    remembered: int = 10_000


@dataclass(frozen=True, slots=True)
class TokenOwner:
    """For whom a token speaks.

    Attributes:
        real_user: Who asked for it; the owner, unless a proxy user did.
    """

    user: str
    real_user: str


@dataclass(frozen=True, slots=True)
class _Seen:
    """State of a token in the store, and the time by the monotonic clock when it was read."""

    token: StoredToken | None
    at_s: float


class DelegationTokens:
    """Issues, renews, cancels and verifies.

    Args:
        secret: Key of the federation; tokens of another secret are refused.
        needs_ticket: Whether only tokens count that a caller with a Kerberos ticket asked for.
    """

    def __init__(
        self,
        secret: bytes,
        clock: Clock,
        store: TokenStore,
        limits: TokenLimits,
        *,
        needs_ticket: bool = False,
        other_secrets: Sequence[bytes] = (),
    ) -> None:
        self._keys = [hmac.digest(each, _KEY_LABEL, "sha256") for each in (secret, *other_secrets)]
        self._clock = clock
        self._store = store
        self._limits = limits
        self._needs_ticket = needs_ticket
        self._numbers = itertools.count(int(clock.now_s()))
        self._seen: OrderedDict[str, _Seen] = OrderedDict()
        self._looking: SingleFlight[str, StoredToken | None] = SingleFlight()

    # -- what callers ask for ----------------------------------------------------------------------------------------

    async def issue(self, owner: str, renewer: str, real_user: str, *, is_proven: bool) -> TokenProto:
        """A new token.

        Args:
            renewer: Who may renew it, in any form of the name; empty for nobody.
            real_user: Who asked for it on the owner's behalf, else empty.
            is_proven: Whether whoever asks has a Kerberos ticket.

        Raises:
            BadRequestError: If the renewer is no user's name.
            TooManyTokensError: If there are as many tokens as may be.
        """
        now_ms = self._now_ms()
        identifier = YARNDelegationTokenIdentifierProto(
            owner=owner,
            renewer=_renewer(renewer),
            realUser=real_user,
            issueDate=now_ms,
            maxDate=now_ms + int(self._limits.lifetime_s * 1000),
            sequenceNumber=next(self._numbers) % (1 << 31),
            masterKeyId=1,
        ).SerializeToString()
        good_until_ms = now_ms + int(min(self._limits.renewal_s, self._limits.lifetime_s) * 1000)
        token = StoredToken(_digest(identifier), owner, is_proven, good_until_ms)
        await self._store.insert(token, now_ms=now_ms, most_of_owner=self._limits.of_owner, most=self._limits.in_all)
        self._remember(token.key, token)
        return TokenProto(identifier=identifier, password=_password(self._keys[0], identifier), kind=_KIND, service="")

    async def renew(self, token_untrusted: TokenProto, *, caller: str) -> int:
        """Renew a token; the new time of its end, in milliseconds since the epoch.

        Raises:
            DelegationTokenError: If the token is not good.
            TokenAccessError: If another user is its renewer, or nobody.
        """
        identifier = self._verified(token_untrusted)
        renewer = text_of(identifier.renewer)
        if not renewer:
            raise TokenAccessError(f"{caller} tries to renew a token without a renewer")
        if caller != renewer:
            raise TokenAccessError(f"{caller} tries to renew a token with non-matching renewer {renewer}")
        key = _digest(token_untrusted.identifier)
        stands = self._good(await self._store.find(key))
        good_until_ms = min(identifier.maxDate, self._now_ms() + int(self._limits.renewal_s * 1000))
        if not await self._store.renew(key, good_until_ms=good_until_ms):
            raise DelegationTokenError(_UNKNOWN)  # cancelled since
        self._remember(key, replace(stands, good_until_ms=good_until_ms))
        return good_until_ms

    async def cancel(self, token_untrusted: TokenProto, *, caller: str) -> None:
        """Make a token useless, everywhere.

        Raises:
            DelegationTokenError: If the token is not known.
            TokenAccessError: If it is not the caller's to cancel.
        """
        identifier = self._verified(token_untrusted)
        if caller not in filter(None, (text_of(identifier.owner), text_of(identifier.renewer))):
            raise TokenAccessError(f"{caller} is not authorized to cancel the token")
        key = _digest(token_untrusted.identifier)
        was_there = await self._store.remove(key)
        self._remember(key, None)
        if not was_there:
            raise DelegationTokenError(_UNKNOWN)

    # -- logins ------------------------------------------------------------------------------------------------------

    def verify(self, token_untrusted: TokenProto) -> None:
        """See whether a whole token was issued here. Whether it is good, `check` says.

        Raises:
            DelegationTokenError: If it was not, or its time is over.
        """
        self._verified(token_untrusted)

    def password_of(self, identifier_untrusted: bytes) -> bytes:
        """Password of a token, known to a client that holds it. Whether the token is good, `check` says.

        Raises:
            DelegationTokenError: If its time is over, or it never was a token.
        """
        self._decoded(identifier_untrusted)
        return _password(self._keys[0], identifier_untrusted)

    def other_passwords_of(self, identifier_untrusted: bytes) -> Sequence[bytes]:
        self._decoded(identifier_untrusted)
        return [_password(key, identifier_untrusted) for key in self._keys[1:]]

    def is_known_good(self, identifier: bytes, *, within_s: float | None = None) -> bool | None:
        """True if a proven token is good, as far as is remembered; None if the store has to be asked."""
        seen = self._seen.get(_digest(identifier))
        most_s = self._limits.seen_within_s if within_s is None else within_s
        if seen is None or self._clock.monotonic_s() - seen.at_s >= most_s:
            return None
        try:
            self._good(seen.token)
        except DelegationTokenError:
            return False
        return True

    async def check(self, identifier: bytes, *, within_s: float | None = None) -> None:
        """See whether a proven token is good.

        Args:
            within_s: How old the store's word may be; None for what the limits say.

        Raises:
            DelegationTokenError: If it is not.
            StoreUnavailableError: If nobody can tell.
        """
        if self.is_known_good(identifier, within_s=within_s):
            return
        key = _digest(identifier)
        self._good(await self._looking.do(key, lambda: self._look(key)))

    def owner_of(self, identifier: bytes) -> TokenOwner:
        """User that a verified token speaks for."""
        decoded = self._decoded(identifier)
        owner = text_of(decoded.owner)
        return TokenOwner(owner, text_of(decoded.realUser) or owner)

    # -- parts -------------------------------------------------------------------------------------------------------

    async def _look(self, key: str) -> StoredToken | None:
        found = await self._store.find(key)
        self._remember(key, found)
        return found

    def _remember(self, key: str, token: StoredToken | None) -> None:
        self._seen[key] = _Seen(token, self._clock.monotonic_s())
        self._seen.move_to_end(key)
        if len(self._seen) > self._limits.remembered:
            self._seen.popitem(last=False)

    def _good(self, token: StoredToken | None) -> StoredToken:
        if token is None:
            raise DelegationTokenError(_UNKNOWN)
        if token.good_until_ms <= self._now_ms():
            raise DelegationTokenError("the delegation token has expired: it was not renewed in time")
        if self._needs_ticket and not token.is_proven:
            raise DelegationTokenError("the delegation token was issued without a Kerberos ticket")
        return token

    def _verified(self, token_untrusted: TokenProto) -> YARNDelegationTokenIdentifierProto:
        identifier = self._decoded(token_untrusted.identifier)
        expected = [_password(key, token_untrusted.identifier) for key in self._keys]
        if not any(hmac.compare_digest(token_untrusted.password, each) for each in expected):
            raise DelegationTokenError("the delegation token was not issued here")
        return identifier

    def _decoded(self, identifier_untrusted: bytes) -> YARNDelegationTokenIdentifierProto:
        if len(identifier_untrusted) > _LONGEST_IDENTIFIER:
            raise DelegationTokenError("the delegation token is too long to be one")
        try:
            identifier = YARNDelegationTokenIdentifierProto.FromString(identifier_untrusted)
        except DecodeError as exc:
            raise DelegationTokenError("the delegation token is not readable") from exc
        if identifier.maxDate <= self._now_ms():
            raise DelegationTokenError("the delegation token has expired")
        return identifier

    def _now_ms(self) -> int:
        return int(self._clock.now_s() * 1000)


def _password(key: bytes, identifier: bytes) -> bytes:
    return hmac.new(key, identifier, hashlib.sha1).digest()


def _renewer(name_untrusted: str) -> str:
    """The short name, as `AbstractDelegationTokenIdentifier.setRenewer` has it."""
    if not name_untrusted:
        return ""
    try:
        return canonical_user(name_untrusted)
    except MalformedUserNameError as exc:
        raise BadRequestError(f"the renewer: {exc}") from exc


def _digest(identifier: bytes) -> str:
    """Names the token in the store, where nobody can make the token of it."""
    return hashlib.sha256(identifier).hexdigest()
