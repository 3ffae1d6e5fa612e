"""Callers of the web services: names are believed, or proven by a ticket or a token.

Where names are proven, a login answers with the signed cookie, so that a client shows its ticket once and not with
every request. A delegation token is shown each time and gets no cookie, as it may be cancelled.

Source: `KerberosAuthenticationHandler`, `DelegationTokenAuthenticationHandler`, `AuthenticationFilter` of Hadoop 3.4.2;
RFC 4559.
"""

import base64
import binascii
from dataclasses import dataclass, replace
from typing import Protocol

from shim.errors import BadRequestError, UserError
from shim.identity.delegation_tokens import DelegationTokenError, DelegationTokens
from shim.identity.principals import ForeignPrincipalError, PrincipalRules
from shim.identity.rates import CallRates
from shim.identity.service import COOKIE_NAME, Caller, IdentityService, in_time
from shim.protocol.hrpc.sasl import SASLError
from shim.protocol.rest.queries import Query
from shim.protocol.rest.token_strings import TokenStringError, decode_token
from shim.server.rest.messages import Headers, Request

_FORWARDED = frozenset(
    {"forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-server"}
    | {"x-forwarded-user", "x-real-ip", "x-envoy-external-address", "cf-connecting-ip", "true-client-ip"}
)
"""Headers by which a gateway tells that a request comes from elsewhere: it is believed as far as that goes."""
TOKEN_HEADER = "x-hadoop-delegation-token"  # noqa: S105 - the name of a header
_NEGOTIATE = "negotiate"
_AGAIN_S = 1.0
"""How old the store's word may be on a token by which an answer goes on: with the time between two looks it is 2 s."""
OPEN_PATHS = frozenset({"/healthz", "/ready"})
"""For balancers and supervisors, which have no tickets; neither tells anything of applications."""


class TicketDemandedError(UserError):
    """A request of which no one has proven who sent it."""

    http_status = 401
    java_class = "org.apache.hadoop.security.authentication.client.AuthenticationException"


class LoginRefusedError(UserError):
    """A ticket or a token that proves nothing here."""

    http_status = 403
    java_class = "org.apache.hadoop.security.authentication.client.AuthenticationException"


class CookieTwiceError(BadRequestError):
    """A cookie that stands twice: one of them may be planted, by a page of another port or path of this host."""


class TicketAcceptor(Protocol):
    """Takes tickets; `adapters.kerberos.WebTickets` does."""

    async def accept(self, token: bytes) -> tuple[str, bytes]:
        """The principal of whoever sent a token, and what to answer; raises `SASLError`."""
        ...


@dataclass(frozen=True, slots=True)
class WebLogin:
    """A caller, and what his answer says of the login."""

    caller: Caller
    headers: Headers = ()


class Callers(Protocol):
    """Names who sent a request."""

    @property
    def may_wait(self) -> bool: ...

    def at_once(self, request: Request, query: Query) -> Caller:
        """The caller as the request alone tells; a `UserError` where that does not suffice."""
        ...

    async def log_in(self, request: Request, query: Query) -> WebLogin:
        """The caller, by whatever the request shows; a `UserError` refuses it."""
        ...

    async def again(self, request: Request, query: Query) -> Caller | None:
        """The caller by what a request shows that is still being answered, verified within the last second.

        Returns:
            None where it can be shown only once, as a ticket.

        Raises:
            UserError: It is not good any more.
        """
        ...


class BelievedCallers:
    """Believes names, as a ResourceManager without Kerberos does; implements `Callers`."""

    may_wait = False

    def __init__(self, identity: IdentityService) -> None:
        self._identity = identity

    def at_once(self, request: Request, query: Query) -> Caller:
        claims = query.claims
        return self._identity.identify(
            user_name=claims.user_name,
            do_as=claims.do_as,
            cookie=cookie_of(request, COOKIE_NAME),
            address=request.peer,
            has_token=request.header(TOKEN_HEADER) is not None or claims.is_about_tokens,
            is_forwarded=is_forwarded(request),
        )

    async def log_in(self, request: Request, query: Query) -> WebLogin:
        """See `at_once`; groups that decide are awaited."""
        return WebLogin(await in_time(lambda: self.at_once(request, query)))

    async def again(self, request: Request, query: Query) -> Caller | None:
        return await in_time(lambda: self.at_once(request, query))


class ProvenCallers:
    """Believes tickets, delegation tokens of Heddle, and the cookies that it gave for tickets; implements `Callers`.

    Args:
        tokens: The same as over RPC.
    """

    may_wait = True

    def __init__(
        self,
        identity: IdentityService,
        tickets: TicketAcceptor,
        principals: PrincipalRules,
        tokens: DelegationTokens,
    ) -> None:
        self._identity = identity
        self._tickets = tickets
        self._principals = principals
        self._tokens = tokens

    def at_once(self, request: Request, query: Query) -> Caller:
        """The caller by his cookie.

        Raises:
            TicketDemandedError: He has none that is good.
            ImpersonationError: He may not act for the user that `doAs` names.
        """
        cookie = cookie_of(request, COOKIE_NAME)
        if cookie is None or self._identity.verify_cookie(cookie) is None:
            raise TicketDemandedError("Authentication required")
        caller = self._identity.identify(
            user_name=None,
            do_as=query.claims.do_as,
            cookie=cookie,
            address=request.peer,
            is_forwarded=is_forwarded(request),
        )
        return replace(caller, has_ticket=True)

    async def log_in(self, request: Request, query: Query) -> WebLogin:
        """The caller by his cookie, else by a delegation token, else by a ticket.

        Raises:
            TicketDemandedError: He shows none of them.
            LoginRefusedError: What he shows is not good.
            ImpersonationError: He may not act for the user that `doAs` names.
        """
        if request.raw_path in OPEN_PATHS:
            return WebLogin(self._identity.anonymous)
        try:
            return WebLogin(await in_time(lambda: self.at_once(request, query)))
        except TicketDemandedError:
            shown = _shown_token(request, query)
            if shown is not None:
                return WebLogin(await self._by_token(shown, request, query))
            return await self._by_ticket(request, query)

    async def again(self, request: Request, query: Query) -> Caller | None:
        """The caller by his cookie or his delegation token; a ticket is shown once.

        Raises:
            TicketDemandedError: His cookie is over.
            LoginRefusedError: His token is over, or was cancelled.
        """
        shown = _shown_token(request, query)
        cookie = cookie_of(request, COOKIE_NAME)
        if cookie is not None and (shown is None or self._identity.verify_cookie(cookie) is not None):
            return await in_time(lambda: self.at_once(request, query))
        return None if shown is None else await self._by_token(shown, request, query, within_s=_AGAIN_S)

    async def _by_token(
        self, shown_untrusted: str, request: Request, query: Query, within_s: float | None = None
    ) -> Caller:
        try:
            token = decode_token(shown_untrusted)
            self._tokens.verify(token)
            await self._tokens.check(token.identifier, within_s=within_s)
        except (TokenStringError, DelegationTokenError) as exc:
            raise LoginRefusedError(str(exc)) from exc
        owner = self._tokens.owner_of(token.identifier)
        identify, do_as = self._identity.identify, query.claims.do_as
        caller = await in_time(lambda: identify(user_name=owner.user, do_as=do_as, cookie=None, address=request.peer))
        if query.claims.do_as is None:
            caller = replace(caller, real_user=owner.real_user)  # whose leave to act for the owner was checked at issue
        return replace(caller, new_cookie=None, is_local=False)

    async def _by_ticket(self, request: Request, query: Query) -> WebLogin:
        ticket = _ticket_of(request.header("authorization"))
        try:
            principal, answer = await self._tickets.accept(ticket)
            user = self._principals.user_of(principal)
        except SASLError as exc:
            raise LoginRefusedError(exc.told) from exc
        except ForeignPrincipalError as exc:
            raise LoginRefusedError(str(exc)) from exc
        caller = await in_time(  # the ticket is not shown again
            lambda: self._identity.identify(
                user_name=user,
                do_as=query.claims.do_as,
                cookie=None,
                address=request.peer,
                is_forwarded=is_forwarded(request),
            )
        )
        cookie: Headers = () if caller.new_cookie is None else (("Set-Cookie", caller.new_cookie),)
        proof = ("WWW-Authenticate", f"Negotiate {base64.b64encode(answer).decode()}")
        return WebLogin(replace(caller, has_ticket=True, new_cookie=None), (proof, *cookie))


def cookie_of(request: Request, name: str) -> str | None:
    """The value of a cookie as it stands; None if there is none.

    Raises:
        CookieTwiceError: There are several of that name: browsers put the more specific path first, and a page that
            is not Heddle's can plant one.
    """
    found = None
    for header, line in request.headers:
        if header != "cookie" or name not in line:
            continue
        for part in line.split(";"):
            key, is_pair, value = part.partition("=")
            if is_pair and key.strip() == name:
                if found is not None:
                    raise CookieTwiceError(f"the cookie {name} stands twice: delete this host's cookies")
                found = value.strip()
    return found


def is_forwarded(request: Request) -> bool:
    """True if a gateway says that a request came from elsewhere before."""
    return any(name in _FORWARDED for name, _ in request.headers)


def _shown_token(request: Request, query: Query) -> str | None:
    shown = request.header(TOKEN_HEADER)
    return query.claims.delegation if shown is None else shown


def _ticket_of(authorization_untrusted: str | None) -> bytes:
    scheme, _, text = (authorization_untrusted or "").strip().partition(" ")
    if scheme.lower() != _NEGOTIATE:
        raise TicketDemandedError("Authentication required")
    try:
        return base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError) as exc:
        raise LoginRefusedError("the header Authorization: Negotiate has no token in base64") from exc


# Callers who may call only so fast: of each address before it is known who calls, then of each user.


class RatedCallers:
    """Counts calls, and names callers as others do; implements `Callers`.

    A login that waits for something, and is begun anew in a task, may count twice at its address.
    """

    def __init__(self, rates: CallRates, others: Callers) -> None:
        self._rates = rates
        self._others = others

    @property
    def may_wait(self) -> bool:
        return self._others.may_wait

    def at_once(self, request: Request, query: Query) -> Caller:
        """The caller as the others tell.

        Raises:
            TooManyCallsError: He, or his address, calls too fast.
        """
        caller = self._others.at_once(request, query)
        self._rates.at_once(request.peer, caller)
        return caller

    async def log_in(self, request: Request, query: Query) -> WebLogin:
        """The caller as the others tell; probes are not counted.

        Raises:
            TooManyCallsError: He, or his address, calls too fast.
        """
        if request.raw_path in OPEN_PATHS:
            return await self._others.log_in(request, query)
        self._rates.from_address(request.peer)
        login = await self._others.log_in(request, query)
        self._rates.by_user(login.caller)
        return login

    async def again(self, request: Request, query: Query) -> Caller | None:
        return await self._others.again(request, query)
