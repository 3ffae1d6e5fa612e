"""Login and logout of browsers at an identity provider.

    GET   /oidc/login?next=PATH      begins a login: off to the provider
    GET   /oidc/callback?code=...    the way back: a session begins
    POST  /oidc/logout               ends it; answers where the browser may end its login at the provider, too

Source: OpenID Connect Core 1.0, section 3.1; RFC 9207; RFC 9700, section 4.
"""

import hmac
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from html import escape

from shim.errors import HeddleError, UnavailableError
from shim.identity.provider_claims import ClaimRules
from shim.identity.service import Caller, network_of
from shim.identity.sessions import Sessions
from shim.ports.identity_provider import IdentityProvider, LoginAttempt
from shim.protocol.rest.queries import parse_query
from shim.server.rest.answers import AnswerWriter
from shim.server.rest.callers import cookie_of, is_forwarded
from shim.server.rest.messages import Answer, Headers, Request, SessionChange
from shim.server.rest.provider_callers import ATTEMPT_COOKIE, LOGIN_PATH, SESSION_COOKIE

_HOME = "/console/"
_LOCAL = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,2000}")
"""A path here, with its query: neither another host's (`//host`, `/\\host`), nor anything that is not plain."""
_LONGEST_CODE = 4096
_LOGIN, _LOGOUT = "session.begin", "session.end"


def browser_alone(request: Request) -> str:
    return "\n".join(request.joined(name) for name in ("user-agent", "accept-language"))


def browser_at_address(request: Request) -> str:
    """The same with the network that it is in; where a gateway stands before Heddle that is the gateway's to know."""
    return f"{browser_alone(request)}\n{'forwarded' if is_forwarded(request) else network_of(request.peer)}"


class ProviderPages:
    """Answers those addresses.

    Args:
        provider: Logs browsers in.
        is_encrypted: Whether browsers reach Heddle by TLS alone.
        browser_of: What tells the browser that sent a request from others: a login ends in the one that began it.
    """

    def __init__(
        self,
        provider: IdentityProvider,
        claims: ClaimRules,
        sessions: Sessions,
        issuer: str,
        writer: AnswerWriter,
        *,
        is_encrypted: bool,
        browser_of: Callable[[Request], str] | None = None,
    ) -> None:
        self._provider = provider
        self._claims = claims
        self._sessions = sessions
        self._issuer = issuer
        self._writer = writer
        self._browser = browser_at_address if browser_of is None else browser_of
        self._attributes = "HttpOnly; SameSite=Lax" + ("; Secure" if is_encrypted else "")

    async def log_in(self, request: Request, _: Caller, extra: Headers) -> Answer:
        """Send a browser to the provider."""
        wanted = parse_query(request.query).first("next") or ""
        back_to = wanted if _LOCAL.fullmatch(wanted) else _HOME
        attempt, text = self._sessions.attempt(back_to, browser=self._browser(request))
        try:
            location = await self._provider.login_address(attempt)
        except UnavailableError as exc:
            return self._refused(str(exc), extra, status=503)
        cookie = self._cookie(ATTEMPT_COOKIE, text, path="/oidc", lasts_s=600)
        return self._writer.redirect(location, extra=(*extra, cookie))

    async def come_back(self, request: Request, _: Caller, extra: Headers) -> Answer:
        """Begin a session for a browser that the provider sends back."""
        told = parse_query(request.query)
        values = {name: told.first(name) for name in ("state", "code", "iss", "error")}
        text = cookie_of(request, ATTEMPT_COOKIE)
        attempt = None if text is None else self._sessions.find_attempt(text, browser=self._browser(request))
        extra = (*extra, self._cookie(ATTEMPT_COOKIE, "", path="/oidc", lasts_s=0))
        problem = self._problem(values, attempt)
        if problem or attempt is None:
            return self._not_begun(problem, extra)
        if not self._sessions.use(attempt):  # before anything is waited for: one cookie is good for one code
            return self._not_begun("this login has ended already", extra)
        try:
            claimed = self._claims.user_of(await self._provider.redeem(values["code"] or "", attempt))
        except HeddleError as exc:
            return self._not_begun(str(exc), extra, status=503 if isinstance(exc, UnavailableError) else 403)
        session = self._cookie(SESSION_COOKIE, self._sessions.begin(claimed.user, claimed.groups))
        answer = self._writer.redirect(attempt.back_to, extra=(*extra, session))
        return replace(answer, session=SessionChange(_LOGIN, claimed.user, self._issuer))

    async def log_out(self, request: Request, extra: Headers) -> Answer:
        """End the session of a browser."""
        text = cookie_of(request, SESSION_COOKIE)
        session = None if text is None else self._sessions.find(text)
        location = ""
        if session is not None:
            self._sessions.end(session)
            try:
                location = await self._provider.logout_address()
            except UnavailableError:  # then only Heddle's session ends
                location = ""
        body = json.dumps({"location": location}).encode()
        cookie = self._cookie(SESSION_COOKIE, "", lasts_s=0)
        answer = self._writer.raw(body, "application/json", extra=(*extra, cookie, ("Cache-Control", "no-store")))
        ended = None if session is None else SessionChange(_LOGOUT, session.user, self._issuer)
        return replace(answer, session=ended)

    def _problem(self, told: Mapping[str, str | None], attempt: LoginAttempt | None) -> str:
        """Reason why a browser that comes back is not logged in; empty if the provider is to be asked."""
        if attempt is None:
            return "this browser has begun no login here, or too long ago, or at another address"
        if not hmac.compare_digest((told["state"] or "").encode(), attempt.state.encode()):
            return "the answer is of another login: its state differs"
        if told["iss"] not in (None, self._issuer):
            return "the answer is of another identity provider"
        if told["error"] is not None:
            return "the identity provider did not log you in"
        if not told["code"] or len(told["code"]) > _LONGEST_CODE:
            return "the identity provider sent no code"
        return ""

    def _not_begun(self, reason: str, extra: Headers, *, status: int = 403) -> Answer:
        change = SessionChange(_LOGIN, "", self._issuer, reason)
        return replace(self._refused(reason, extra, status=status), session=change)

    def _refused(self, reason: str, extra: Headers, *, status: int = 403) -> Answer:
        body = (
            f"<!DOCTYPE html>\n<title>Not logged in</title>\n<h1>Not logged in</h1>\n<p>{escape(reason)}</p>\n"
            f'<p><a href="{LOGIN_PATH}">Log in again</a></p>\n'
        )
        return self._writer.page(body, status=status, extra=(*extra, ("Cache-Control", "no-store")))

    def _cookie(self, name: str, text: str, *, path: str = "/", lasts_s: int | None = None) -> tuple[str, str]:
        age = "" if lasts_s is None else f"; Max-Age={lasts_s}"
        return "Set-Cookie", f"{name}={text}; Path={path}{age}; {self._attributes}"
