"""Callers of whom an identity provider tells: browsers with a session, programs with a token of the provider.

Who shows neither comes in as others do, by ticket for instance, or not at all: names are not believed beside a
provider. The provider's tokens go no further than here.
"""

from urllib.parse import quote

from shim.errors import HeddleError, UserError
from shim.identity.provider_claims import ClaimedUser, ClaimRules
from shim.identity.service import Caller, IdentityService, ImpersonationError
from shim.identity.sessions import BrowserSession, Sessions
from shim.ports.identity_provider import BadTokenError, Claims, IdentityProvider
from shim.protocol.rest.queries import Query
from shim.server.rest.bearer_tokens import shown_jwt
from shim.server.rest.callers import OPEN_PATHS, Callers, TicketDemandedError, WebLogin, cookie_of
from shim.server.rest.messages import Request

LOGIN_PATH = "/oidc/login"
_PATHS = frozenset({LOGIN_PATH, "/oidc/callback"})
SESSION_COOKIE, ATTEMPT_COOKIE = "heddle.session", "heddle.login"


class LoginDemandedError(UserError):
    """A request of nobody who is logged in.

    Attributes:
        location: Where a browser goes to log in; empty for a program.
    """

    http_status = 401
    java_class = "org.apache.hadoop.security.authentication.client.AuthenticationException"

    def __init__(self, message: str, location: str = "") -> None:
        super().__init__(message)
        self.location = location


class _NotKnownError(HeddleError):
    """A token for which the provider has to be asked."""


class NamelessCallers:
    """Believes nobody; implements `Callers`. For what probes ask, everybody is nobody."""

    may_wait = False

    def __init__(self, identity: IdentityService) -> None:
        self._identity = identity

    def at_once(self, request: Request, query: Query) -> Caller:
        """The nameless caller, at open paths.

        Raises:
            LoginDemandedError: Elsewhere.
        """
        del query
        if request.raw_path in OPEN_PATHS:
            return self._identity.anonymous
        raise LoginDemandedError("Authentication required: log in, or show a token")

    async def log_in(self, request: Request, query: Query) -> WebLogin:
        return WebLogin(self.at_once(request, query))

    async def again(self, request: Request, query: Query) -> Caller | None:
        return self.at_once(request, query)


class ProviderCallers:
    """See the module; implements `Callers`.

    Args:
        provider: Verifies tokens.
        sessions: Reads the cookies of browsers.
        others: For requests with neither token nor session.
        url: Address by which browsers reach the web services.
    """

    may_wait = True

    def __init__(
        self,
        provider: IdentityProvider,
        claims: ClaimRules,
        sessions: Sessions,
        identity: IdentityService,
        others: Callers,
        url: str,
    ) -> None:
        self._provider = provider
        self._claims = claims
        self._sessions = sessions
        self._identity = identity
        self._others = others
        self._url = url.rstrip("/")

    def at_once(self, request: Request, query: Query) -> Caller:
        """The caller by a token whose key is known, or by a session, or as the others tell.

        Raises:
            BadTokenError: The token is not good.
            UnusableClaimsError: It names nobody who can be a user here.
            ImpersonationError: It is shown by who acts for somebody.
        """
        token = shown_jwt(request)
        if token is not None:
            known = self._provider.known(token)
            if known is None:
                raise _NotKnownError("the provider has to be asked")
            return self._bearer(known, query)
        session = self._session(request)
        if session is not None:
            return _caller(ClaimedUser(session.user, session.groups), query)
        return self._others.at_once(request, query)

    async def log_in(self, request: Request, query: Query) -> WebLogin:
        """The caller by a token, or by a session, or as the others tell; browsers are sent to log in.

        Raises:
            BadTokenError: The token is not good.
            ProviderUnavailableError: Nobody can tell whether it is.
            UnusableClaimsError: It names nobody who can be a user here.
            ImpersonationError: It is shown by who acts for somebody.
            LoginDemandedError: Nobody is logged in, and it is a browser.
        """
        if request.raw_path in _PATHS:
            return WebLogin(self._identity.anonymous)
        token = None if request.raw_path in OPEN_PATHS else shown_jwt(request)
        if token is not None:
            return WebLogin(self._bearer(await self._provider.verify(token), query))
        session = self._session(request)
        if session is not None:
            return WebLogin(_caller(ClaimedUser(session.user, session.groups), query))
        try:
            return await self._others.log_in(request, query)
        except (TicketDemandedError, LoginDemandedError) as exc:
            if not _is_browser(request):
                raise
            raise LoginDemandedError(str(exc), self._login_location(request)) from exc

    async def again(self, request: Request, query: Query) -> Caller | None:
        """The caller by a token or a session that is good yet, or as the others tell.

        Raises:
            BadTokenError: The token is over.
            LoginDemandedError: The session is, or was ended.
        """
        token = shown_jwt(request)
        if token is not None:
            return self._bearer(await self._provider.verify(token), query)
        session = self._session(request)
        if session is not None:
            return _caller(ClaimedUser(session.user, session.groups), query)
        if cookie_of(request, SESSION_COOKIE) is not None:
            raise LoginDemandedError("the session is over")
        return await self._others.again(request, query)

    def _session(self, request: Request) -> BrowserSession | None:
        text = cookie_of(request, SESSION_COOKIE)
        return None if text is None else self._sessions.find(text)

    def _bearer(self, claims: Claims, query: Query) -> Caller:
        caller = _caller(self._claims.user_of(claims), query)
        if query.claims.user_name not in (None, caller.user):
            raise BadTokenError(f"the token is {caller.user}'s, and user.name says another user: leave it out")
        return caller

    def _login_location(self, request: Request) -> str:
        wanted = f"{request.raw_path}?{request.query}" if request.query else request.raw_path
        return f"{self._url}{LOGIN_PATH}?next={quote(wanted, safe='/')}"


def _caller(user: ClaimedUser, query: Query) -> Caller:
    if query.claims.do_as is not None:
        raise ImpersonationError(f"User: {user.user} is not allowed to impersonate anybody after a login of his own")
    return Caller(user.user, user.user, groups=user.groups, has_login=True)


def _is_browser(request: Request) -> bool:
    return request.method == "GET" and "text/html" in request.joined("accept").lower()
