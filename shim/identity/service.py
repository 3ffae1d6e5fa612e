"""Identity of callers: the one place that decides it, for every server.

Every name (parameter, cookie, connection context, configured rule) is reduced to one canonical short name here; limits,
access lists, audit and ResourceManagers see no other form of it.

Without Kerberos a ResourceManager believes `user.name`, and hands out a signed cookie so that it need not be repeated.
Heddle does the same with a secret of its own, so that clients that log in once (`SimpleAuth`) work. Whom a service
user may act for (`doAs`) is configured, as Hadoop's `hadoop.proxyuser` is. Headers that claim an identity are never
looked at.

Source: `PseudoAuthenticationHandler`, `AuthenticationFilter`, `Signer`, `DelegationTokenAuthenticationFilter`,
`DefaultImpersonationProvider` of Hadoop 3.4.2, and recorded answers.
"""

import ipaddress
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

from shim.domain.roles import NEEDED, NEEDED_WITHOUT_ROLES, Right, Role, TokenScope
from shim.domain.users import MalformedUserNameError, canonical_user
from shim.errors import BadRequestError, ForbiddenError, GroupsUnknownError, NotAuthenticatedError, UserError
from shim.identity.cookies import BY_NAME, BY_TICKET, COOKIE_NAME, Cookies
from shim.identity.roles import RoleRules
from shim.ports.clock import Clock

__all__ = [
    "COOKIE_NAME",
    "Caller",
    "ForeignTokenError",
    "IdentityRules",
    "IdentityService",
    "ImpersonationError",
    "ProxyRule",
    "TokenScopeError",
    "in_time",
    "is_from",
    "is_loopback",
    "network_of",
    "require_scope",
    "with_groups",
]

_ANY = "*"
_USERS_OF_A_REQUEST = 2
"""Whose groups one request may turn on: who sent it, and whom it acts for."""
_T = TypeVar("_T")


class ForeignTokenError(UserError):
    """A delegation token that this federation has not issued."""

    http_status = 403
    java_class = "org.apache.hadoop.security.authentication.client.AuthenticationException"


class ImpersonationError(UserError):
    """A user who may not act for the one that he names."""

    http_status = 403
    java_class = "org.apache.hadoop.security.authorize.AuthorizationException"


@dataclass(frozen=True, slots=True)
class ProxyRule:
    """Rule of one service user; `*` allows all, an empty set allows none.

    Attributes:
        hosts: Addresses or networks that it must call from.
    """

    hosts: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IdentityRules:
    """Settings that say which identities are believed.

    Attributes:
        admins: Administrators, whatever roles say; `*` for all.
        local_admin: Whom this process runs as: an administrator, too, of what is asked on this machine under that name.
            Who is called so elsewhere, or by an identity provider, is somebody else. Empty for nobody.
        own_users: Users that Heddle itself is at ResourceManagers, where they may have rights that callers have not.
        is_encrypted: Whether the web services are reached by TLS alone.
        asks_for_tickets: Whether they believe no names: cookies are of those who had a Kerberos ticket.
    """

    static_user: str
    cookie_validity_s: float
    allow_anonymous: bool = False
    admins: tuple[str, ...] = ()
    local_admin: str = ""
    roles: RoleRules = field(default_factory=RoleRules)
    own_users: frozenset[str] = frozenset()
    proxy_users: Mapping[str, ProxyRule] = field(default_factory=lambda: MappingProxyType({}))
    is_encrypted: bool = False
    asks_for_tickets: bool = False


@dataclass(frozen=True, slots=True)
class Caller:
    """Caller of a request.

    Attributes:
        user: As whom it acts: the user that a ResourceManager is told.
        real_user: Who sent it; differs from `user` with `doAs`.
        is_anonymous: Nobody was named: `user` is the static user.
        new_cookie: Value of a `Set-Cookie` header to answer with; None if the caller has a cookie or no name.
        has_ticket: Who sent it proved that by Kerberos.
        scopes: What its API token lets it do; None for whoever shows none, and may do all that the user may.
        token_id: Of that token; empty for none.
        has_login: An identity provider says who sent it.
        groups: Groups that an identity provider says the user is in, beside those of this machine.
        is_local: Who sent it is on this machine, and acts as nobody else.
    """

    user: str
    real_user: str
    is_anonymous: bool = False
    new_cookie: str | None = None
    has_ticket: bool = False
    scopes: frozenset[TokenScope] | None = None
    token_id: str = ""
    has_login: bool = False
    groups: frozenset[str] = frozenset()
    is_local: bool = False


async def with_groups(work: Callable[[], Awaitable[_T]]) -> _T:
    """Do what may turn on groups that nobody has told yet: they are awaited, and it is done anew.

    Args:
        work: What a client may repeat after a 503: who may do something is asked before it is done.

    Raises:
        GroupsUnknownError: They were not told in time.
    """
    for _ in range(_USERS_OF_A_REQUEST):
        try:
            return await work()
        except GroupsUnknownError as exc:
            if not await exc.are_told():
                raise
    return await work()


async def in_time(work: Callable[[], _T]) -> _T:
    async def done() -> _T:
        return work()

    return await with_groups(done)


class IdentityService:
    """Names the caller of a request, and says what he may do with Heddle itself.

    Args:
        secret: Key of the cookies' signatures, 32 bytes or more.
        clock: For the cookies' expiry.
        groups_of: The groups of a user on this machine.
        other_secrets: Cookies that were signed with them are good, too.
    """

    def __init__(
        self,
        rules: IdentityRules,
        *,
        secret: bytes,
        clock: Clock,
        groups_of: Callable[[str], frozenset[str]] = lambda _: frozenset(),
        other_secrets: Sequence[bytes] = (),
    ) -> None:
        self._rules = rules
        self._cookies = Cookies(
            secret,
            clock,
            validity_s=rules.cookie_validity_s,
            is_secure=rules.is_encrypted,
            kind=BY_TICKET if rules.asks_for_tickets else BY_NAME,
            other_secrets=other_secrets,
        )
        self._groups_of = groups_of

    @property
    def anonymous(self) -> Caller:
        """The caller of a request that names nobody."""
        return Caller(self._rules.static_user, self._rules.static_user, is_anonymous=True)

    def identify(
        self,
        *,
        user_name: str | None,
        do_as: str | None,
        cookie: str | None,
        address: str,
        has_token: bool = False,
        is_forwarded: bool = False,
    ) -> Caller:
        """Name the caller.

        A good cookie goes before `user.name`; a bad one counts as none. `doAs` of somebody without a name is ignored.

        Args:
            user_name: Parameter `user.name`, None if absent.
            do_as: Parameter `doAs`, None if absent.
            cookie: Value of the cookie `hadoop.auth`, None if absent.
            is_forwarded: Whether a gateway says that it came from elsewhere before.

        Raises:
            ForeignTokenError: If `has_token`: none are issued for web services.
            BadRequestError: If a name is empty, or has no canonical form.
            ImpersonationError: If the caller may not act for the user that `doAs` names.
        """
        if has_token:
            raise ForeignTokenError("delegation tokens of web services are not issued here: name the user")
        from_cookie = self.verify_cookie(cookie) if cookie else None
        if from_cookie is None and user_name is None:
            return self.anonymous
        real_user = _canonical(from_cookie or user_name or "")
        new_cookie = None if from_cookie else self.issue_cookie(real_user)
        if do_as is None:
            is_local = not is_forwarded and is_loopback(address)
            return Caller(real_user, real_user, new_cookie=new_cookie, is_local=is_local)
        target = _canonical(do_as)
        self._check_impersonation(real_user, target, address)
        return Caller(target, real_user, new_cookie=new_cookie)

    def require_user(self, caller: Caller) -> Caller:
        """The caller of what takes a name, though its right may be everybody's; what changes takes such a right anyway.

        Raises:
            NotAuthenticatedError: If nobody was named and the rules do not let the static user change anything.
        """
        if caller.is_anonymous and not self._rules.allow_anonymous:
            raise NotAuthenticatedError("Unable to obtain user name, user not authenticated")
        return caller

    # -- roles -------------------------------------------------------------------------------------------------------

    def require(self, caller: Caller, right: Right) -> Caller:
        """The caller of a request that takes a right.

        Raises:
            NotAuthenticatedError: If nobody was named, and nobody may not do that.
            ForbiddenError: If the caller's role does not have it.
            UnavailableError: If the caller's groups decide, and cannot be told now.
        """
        if self.may(caller, right):
            return caller
        if caller.is_anonymous:
            raise NotAuthenticatedError("Unable to obtain user name, user not authenticated")
        if self._rules.roles.are_configured:
            told = f"that takes the role {self.needed(right).told}, see security.roles"
        else:
            told = "list the user in security.admins"
        raise ForbiddenError(f"{caller.user} may not {right.value}: {told}")

    def may(self, caller: Caller, right: Right) -> bool:
        """True if a caller's role has a right. The user that it acts as decides, not who sent it."""
        needed = self.needed(right)
        return needed is Role.NOBODY or self.role_of(caller) >= needed

    def needed(self, right: Right) -> Role:
        return (NEEDED if self._rules.roles.are_configured else NEEDED_WITHOUT_ROLES)[right]

    def role_of(self, caller: Caller) -> Role:
        """The role of the user that a caller acts as; nobody who is not named is more than a viewer unless allowed.

        Raises:
            UnavailableError: If the caller's groups decide, and cannot be told now.
        """
        if caller.is_anonymous and not self._rules.allow_anonymous:
            return min(self._role_of_everybody(), Role.VIEWER)
        everybody, own = self._role_of_everybody(), self._role_of_caller(caller)
        if everybody is Role.ADMINISTRATOR or own <= everybody:
            return everybody
        if own >= Role.OPERATOR and not self._acts_by_name(caller):
            return max(everybody, Role.USER)  # nobody gets an operator's rights by a rule that was written for all
        return own

    def role_of_user(self, user: str) -> Role:
        """The role that a user has who proves his name; raises as `role_of`."""
        return max(self._role_of_everybody(), self._own_role(user))

    def is_operator(self, caller: Caller) -> bool:
        """Return whether the caller may operate Heddle, and see and end others' applications."""
        return self.may(caller, Right.OPERATE)

    def _role_of_everybody(self) -> Role:
        if _ANY in self._rules.admins:
            return Role.ADMINISTRATOR
        roles = self._rules.roles
        return roles.of_everybody() if roles.are_configured else Role.USER

    def _own_role(self, user: str, groups: frozenset[str] = frozenset()) -> Role:
        """A role that a user has for himself, not as everybody."""
        if user in self._rules.admins:
            return Role.ADMINISTRATOR
        return self._rules.roles.of_user(user, lambda: groups | self._groups_of(user))

    def _role_of_caller(self, caller: Caller) -> Role:
        """A role that a caller has for himself: also by running this process, of which only this machine knows."""
        if caller.is_local and caller.user == caller.real_user == self._rules.local_admin:
            return Role.ADMINISTRATOR
        return self._own_role(caller.user, caller.groups)

    def groups_of(self, caller: Caller) -> frozenset[str]:
        """The groups of the user that a caller acts as; none of one that nobody named."""
        return frozenset() if caller.is_anonymous else self._groups_of(caller.user)

    def is_named_admin(self, caller: Caller) -> bool:
        """True if the caller, not as everybody, administers Heddle: to make one somebody else needs that."""
        if caller.is_anonymous or caller.user != caller.real_user:
            return False
        return self._role_of_caller(caller) is Role.ADMINISTRATOR

    def refuse_wildcard_operator(self, caller: Caller) -> Caller:
        """The caller of a request that operates a ResourceManager (labels, nodes, queues), which judges the user.

        Heddle does not know the administrators of ResourceManagers, so a rule for everybody may not reach them.

        Raises:
            ImpersonationError: If the user is acted for by a rule that does not name the user.
        """
        if not self._acts_by_name(caller):
            raise ImpersonationError(
                f"User: {caller.real_user} is not allowed to impersonate {caller.user} as an operator: "
                f"name the user in security.proxyuser.{caller.real_user}.users"
            )
        return caller

    def issue_cookie(self, user: str) -> str | None:
        """A signed `Set-Cookie` value for a user; None for a name that a cookie cannot hold."""
        return self._cookies.issue(user)

    def verify_cookie(self, value: str) -> str | None:
        """The user that a cookie value names; None if it is forged, cut, expired or none of ours."""
        return self._cookies.verify(value)

    def _check_impersonation(self, real_user: str, target: str, address: str) -> None:
        rule = self._rules.proxy_users.get(real_user)
        if rule is None or not self._may_act_for(rule, target, real_user):
            raise ImpersonationError(f"User: {real_user} is not allowed to impersonate {target}")
        if _ANY not in rule.hosts and not is_from(address, rule.hosts):
            raise ImpersonationError(f"Unauthorized connection for super-user: {real_user} from IP {address}")

    def _may_act_for(self, rule: ProxyRule, target: str, real_user: str) -> bool:
        if target in self._rules.proxy_users and target != real_user:
            return False  # a service user is nobody's target: its own rights would come with it
        if target in rule.users:
            return True
        if self._has_more_rights(target):
            return False  # neither `*` nor a group was written with an operator in mind: only the name was
        return _ANY in rule.users or _ANY in rule.groups or not self._groups_of(target).isdisjoint(rule.groups)

    def _acts_by_name(self, caller: Caller) -> bool:
        """Return whether the caller acts for itself, or by a rule that names the user."""
        if caller.user == caller.real_user:
            return True
        rule = self._rules.proxy_users.get(caller.real_user)
        return rule is not None and caller.user in rule.users

    def _has_more_rights(self, user: str) -> bool:
        """Return whether a user has rights that other users lack, at Heddle or as Heddle."""
        is_own = user in self._rules.own_users or user == self._rules.local_admin
        return is_own or self._own_role(user) >= Role.OPERATOR


def _canonical(name_untrusted: str) -> str:
    if not name_untrusted or "&" in name_untrusted:
        raise BadRequestError("userName is NULL, empty or contains a '&'")
    try:
        return canonical_user(name_untrusted)
    except MalformedUserNameError as exc:
        raise BadRequestError(str(exc)) from exc


# Addresses that callers come from.

_NETWORK_BITS = 64
"""Of an IPv6 address: what follows, hosts change by themselves."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_from(address: str, hosts: Collection[str]) -> bool:
    """True if an address is among addresses and networks, or stands there as it is written."""
    try:
        caller = ipaddress.ip_address(address)
        return any(caller in ipaddress.ip_network(host, strict=False) for host in hosts)
    except ValueError:
        return address in hosts


def is_loopback(address: str) -> bool:
    """True for an address of this machine alone."""
    found = _parsed(address)
    return found is not None and found.is_loopback


def network_of(address: str) -> str:
    """The network that a host keeps its address in: of IPv4 the address itself."""
    found = _parsed(address)
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, _NETWORK_BITS), strict=False))
    return address if found is None else str(found)


def _parsed(address: str) -> Address | None:
    """An address, without the form that IPv6 sockets give to IPv4."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return None
    return (isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped) or found


# Limits of a caller who shows an API token; other callers may do all that their users may.


class TokenScopeError(ForbiddenError):
    """A request that the caller's API token does not let it make, whatever its user may do."""


def require_scope(caller: Caller, scope: TokenScope | None) -> None:
    """See whether a caller's token lets it do what has a scope.

    Args:
        scope: None for what no token lets anybody do: to make tokens of whatever kind, which would live on.

    Raises:
        TokenScopeError: If the token does not.
    """
    if caller.scopes is None or scope in caller.scopes or scope is TokenScope.READ:
        return
    if scope is None:
        raise TokenScopeError("an API token does not make, renew or end tokens: log in as the user that you are")
    has = ", ".join(sorted(caller.scopes))
    raise TokenScopeError(f"the API token {caller.token_id} of {caller.user} lacks the scope {scope}: it has {has}")
