"""API tokens: a program shows one instead of a ticket or a name, and is the user that it was created for.

A token is a text, `heddle_ID_SECRET`: 16 hexadecimal digits that are public, and 32 random bytes in base64 (RFC 4648,
section 5). The store has a digest of it. As the secret is random, a plain SHA-256 cannot be turned round, and needs
neither salt nor stretching. What was read of a token counts for seconds, then the store is asked again: a token that
one Heddle revokes ends at all that share its store.

Tokens are made by users themselves, who have shown who they are, and by administrators: not by whoever acts for
another user, and not by tokens.
"""

import asyncio
import base64
import hashlib
import hmac
import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from shim.concurrency.single_flight import SingleFlight
from shim.domain.roles import RIGHT_OF_SCOPE, Right, TokenScope
from shim.domain.users import MalformedUserNameError, canonical_user
from shim.errors import BadRequestError, ForbiddenError, NotFoundError, UnavailableError, UserError
from shim.identity.service import Caller, IdentityService, require_scope
from shim.ports.clock import Clock
from shim.ports.token_store import APIToken, APITokenStore

API_TOKEN_MARK = "heddle_"  # noqa: S105 - what each begins with
_SECRET_BYTES = 32
_ID_BYTES = 8
_TEXT = re.compile(rf"{API_TOKEN_MARK}([0-9a-f]{{16}})_[A-Za-z0-9_-]{{43}}", re.ASCII)
_LONGEST_TEXT = len(API_TOKEN_MARK) + 16 + 1 + 43
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._/-]{0,99}")
_ID = re.compile(r"[0-9a-f]{16}")


class BadAPITokenError(UserError):
    """A token that is none of ours, has expired, or was revoked."""

    http_status = 401
    java_class = "org.apache.hadoop.security.authentication.client.AuthenticationException"


@dataclass(frozen=True, slots=True)
class APITokenLimits:
    """Lives and numbers of tokens.

    Attributes:
        seen_within_s: How old what was read of one may be: a revoked one is refused by every Heddle after this time.
        remembered: Tokens that are kept in memory; as many ids that are none, apart from them.
        unknown_at_once: Unknown ids that the store is asked for at one time.
        unknown_waiting: Such that wait for their turn; more are refused.
    """

    longest_s: float = 366 * 86_400.0
    seen_within_s: float = 2.0
    of_owner: int = 100
    in_all: int = 10_000
    remembered: int = 10_000
    unknown_at_once: int = 4
    unknown_waiting: int = 256


@dataclass(frozen=True, slots=True)
class NewAPIToken:
    """A token and its text, which is told once."""

    text: str
    token: APIToken


@dataclass(frozen=True, slots=True)
class _Seen:
    """The store's word on an id, and when it was heard by the monotonic clock."""

    token: APIToken | None
    at_s: float


class APITokens:
    """Creates, lists, revokes and recognizes.

    Args:
        random_bytes: So many bytes that nobody can guess.
        needs_proof: Whether only tokens count whose creator had a Kerberos ticket, or a login at an identity provider.
    """

    def __init__(
        self,
        identity: IdentityService,
        clock: Clock,
        store: APITokenStore,
        random_bytes: Callable[[int], bytes],
        limits: APITokenLimits | None = None,
        *,
        needs_proof: bool = False,
    ) -> None:
        self._identity = identity
        self._clock = clock
        self._store = store
        self._random_bytes = random_bytes
        self._limits = limits or APITokenLimits()
        self._needs_proof = needs_proof
        self._known: OrderedDict[str, _Seen] = OrderedDict()
        self._unknown: OrderedDict[str, _Seen] = OrderedDict()
        self._looking: SingleFlight[str, APIToken | None] = SingleFlight()
        self._turns = asyncio.Semaphore(self._limits.unknown_at_once)
        self._waiting = 0

    # -- what users and administrators ask for -----------------------------------------------------------------------

    async def create(
        self, caller: Caller, *, name: str, owner: str, scopes: Collection[TokenScope], lifetime_s: float
    ) -> NewAPIToken:
        """A new token, and its text.

        Args:
            name: What it is for: letters, digits, blanks and `._/-`.
            owner: The user that it stands for; empty for the caller.
            scopes: What it lets its holder do; it reads in any case.

        Raises:
            BadRequestError: If a value is none.
            ForbiddenError: If the caller may not.
            TooManyTokensError: If there are as many as may be.
            StoreUnavailableError: If it cannot be kept.
        """
        owner = self._owner(caller, owner)
        self._check_scopes(caller, owner, scopes)
        if not _NAME.fullmatch(name):
            raise BadRequestError("the name of a token has 1 to 100 letters, digits, blanks, and ._/-")
        if not 0 < lifetime_s <= self._limits.longest_s:
            raise BadRequestError(f"a token is good for more than 0 and at most {self._limits.longest_s:g} seconds")
        id_ = self._random_bytes(_ID_BYTES).hex()
        secret = base64.urlsafe_b64encode(self._random_bytes(_SECRET_BYTES)).rstrip(b"=").decode()
        text, now_ms = f"{API_TOKEN_MARK}{id_}_{secret}", self._now_ms()
        token = APIToken(
            id=id_,
            digest=_digest(text),
            name=name,
            owner=owner,
            scopes=frozenset({TokenScope.READ, *scopes}),
            created_by=caller.user,
            is_proven=caller.has_ticket or caller.has_login,
            created_at_ms=now_ms,
            good_until_ms=now_ms + int(lifetime_s * 1000),
        )
        await self._store.insert(token, most_of_owner=self._limits.of_owner, most=self._limits.in_all)
        self._remember(id_, token)
        return NewAPIToken(text, token)

    async def of(self, caller: Caller, owner: str | None) -> Sequence[APIToken]:
        """Tokens of a user, or of all for None; the newest first.

        Raises:
            ForbiddenError: If they are not the caller's to see.
        """
        self._identity.require_user(caller)
        if owner is None:
            self._identity.require(caller, Right.ADMINISTER)
        elif owner != caller.user and not self._identity.may(caller, Right.ADMINISTER):
            raise ForbiddenError(f"{caller.user} may not list API tokens of others")
        return await self._store.of(owner)

    async def revoke(self, caller: Caller, token_id: str) -> None:
        """End a token, everywhere.

        Raises:
            NotFoundError: If there is none of that id, or none of the caller's.
            ForbiddenError: If the caller is somebody's token.
        """
        require_scope(self._identity.require_user(caller), None)
        owner = None if self._identity.may(caller, Right.ADMINISTER) else caller.user
        if not _ID.fullmatch(token_id) or not await self._store.remove(token_id, owner):
            raise NotFoundError(f"there is no API token of that id, or it is not {caller.user}'s")
        self._remember(token_id, None)

    # -- logins ------------------------------------------------------------------------------------------------------

    def known(self, text_untrusted: str) -> APIToken | None:
        """The token of a text, as far as is remembered; None if the store has to be asked.

        Raises:
            BadAPITokenError: If it is none, or not any more.
        """
        seen = self._remembered(_id_of(text_untrusted))
        return None if seen is None else self._good(seen.token, text_untrusted)

    async def check(self, text_untrusted: str, *, within_s: float | None = None) -> APIToken:
        """The token of a text.

        Args:
            within_s: How old the store's word may be; None for what the limits say.

        Raises:
            BadAPITokenError: If it is none, or not any more.
            StoreUnavailableError: If nobody can tell.
            UnavailableError: If too many ask for unknown tokens.
        """
        id_ = _id_of(text_untrusted)
        seen = self._remembered(id_, within_s)
        if seen is not None:
            return self._good(seen.token, text_untrusted)
        return self._good(await self._looking.do(id_, lambda: self._look(id_)), text_untrusted)

    # -- parts -------------------------------------------------------------------------------------------------------

    def _owner(self, caller: Caller, named: str) -> str:
        """For whom a caller may create a token; see `create`."""
        require_scope(self._identity.require_user(caller), None)
        if caller.is_anonymous:
            raise ForbiddenError("nobody has no API tokens: say who you are")
        if caller.user != caller.real_user:
            raise ForbiddenError(f"{caller.real_user} may act for {caller.user}, but not create API tokens that do")
        try:
            owner = canonical_user(named) if named else caller.user
        except MalformedUserNameError as exc:
            raise BadRequestError(f"the user of the token: {exc}") from exc
        if owner != caller.user and not self._identity.is_named_admin(caller):
            raise ForbiddenError(
                f"{caller.user} may not create API tokens of {owner}: list {caller.user} in security.admins by name"
            )
        return owner

    def _check_scopes(self, caller: Caller, owner: str, scopes: Collection[TokenScope]) -> None:
        """Refuse a token that promises more than its owner's role has: it would never be good for that.

        A role that the caller has by running Heddle on this machine, or by a group that an identity provider tells
        with a login, does not go with a token.
        """
        shown = self._identity.role_of_user(owner)
        mine = self._identity.role_of(caller) if owner == caller.user else shown
        for scope in sorted(scopes):
            needed = self._identity.needed(RIGHT_OF_SCOPE[scope])
            if scope is TokenScope.OPERATE and mine >= (whole := self._identity.needed(Right.OPERATE)):
                needed = whole  # else it would let them do less than they may without it
            if min(mine, shown) >= needed:
                continue
            told = f"the scope {scope} takes the role {needed.told}, and {owner} is {min(mine, shown).told}"
            if mine >= needed:
                told += f" by a token: {mine.told} on this machine alone, or by a group that comes with a login; "
                told += "name the user in security.admins or security.roles"
            raise ForbiddenError(told)

    def _remembered(self, id_: str, within_s: float | None = None) -> _Seen | None:
        """The store's last word on an id, if it is young enough."""
        seen = self._known.get(id_) or self._unknown.get(id_)
        most_s = self._limits.seen_within_s if within_s is None else within_s
        is_fresh = seen is not None and self._clock.monotonic_s() - seen.at_s < most_s
        return seen if is_fresh else None

    async def _look(self, id_: str) -> APIToken | None:
        """Ask the store; unknown ids take turns, so that made-up ones do not keep it busy."""
        if id_ in self._known:
            found = await self._store.find(id_)
        else:
            if self._waiting >= self._limits.unknown_waiting:
                raise UnavailableError("too many tokens are looked for that nobody knows")
            self._waiting += 1
            try:
                async with self._turns:
                    found = await self._store.find(id_)
            finally:
                self._waiting -= 1
        self._remember(id_, found)
        return found

    def _remember(self, id_: str, token: APIToken | None) -> None:
        kept, other = (self._unknown, self._known) if token is None else (self._known, self._unknown)
        other.pop(id_, None)
        kept[id_] = _Seen(token, self._clock.monotonic_s())
        kept.move_to_end(id_)
        if len(kept) > self._limits.remembered:
            kept.popitem(last=False)

    def _good(self, token: APIToken | None, text: str) -> APIToken:
        if token is None or not hmac.compare_digest(token.digest, _digest(text)):
            raise BadAPITokenError("the API token is not known: it was revoked, has expired long ago, or never was one")
        if token.good_until_ms <= self._now_ms():
            raise BadAPITokenError(f"the API token {token.id} has expired: create a new one")
        if self._needs_proof and not token.is_proven:
            raise BadAPITokenError(
                f"the API token {token.id} was created by a name that was only believed: create a new one"
            )
        return token

    def _now_ms(self) -> int:
        return int(self._clock.now_s() * 1000)


def _id_of(text_untrusted: str) -> str:
    found = _TEXT.fullmatch(text_untrusted) if len(text_untrusted) == _LONGEST_TEXT else None
    if found is None:
        raise BadAPITokenError("what Authorization: Bearer shows is no API token of Heddle")
    return found[1]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
