"""Callers who show an API token, `Authorization: Bearer heddle_...`, beside those who come in otherwise.

What claims to be a token is one, or is refused: there is no way from a bad one to a name, a cookie or a ticket. A token
stands for its user alone: who shows one neither acts for others nor shows anything else of weight, and gets no cookie.

Source: RFC 6750; RFC 9110, section 11.
"""

import re

from shim.errors import HeddleError
from shim.identity.api_tokens import API_TOKEN_MARK, APITokens, BadAPITokenError
from shim.identity.service import Caller, ImpersonationError
from shim.ports.token_store import APIToken
from shim.protocol.rest.queries import Query
from shim.server.rest.callers import OPEN_PATHS, TOKEN_HEADER, Callers, WebLogin
from shim.server.rest.messages import Headers, Request

BEARER_CHALLENGE: Headers = (("WWW-Authenticate", 'Bearer realm="heddle", error="invalid_token"'),)
"""With each refusal of a token, so that no client shows a ticket instead."""

_BEARER = "bearer"
_AGAIN_S = 1.0
_JWT = re.compile(r"bearer +([A-Za-z0-9_-]*\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*)", re.IGNORECASE)
"""A token of another kind, RFC 7519: an API token has no dots."""


class _NotRememberedError(HeddleError):
    """A token for which the store has to be asked."""


class BearerCallers:
    """Believes API tokens, and where none is shown asks others; implements `Callers`.

    Args:
        others: For requests without one.
        others_take_jwts: Whether they know JSON Web Tokens.
    """

    def __init__(self, tokens: APITokens, others: Callers, *, others_take_jwts: bool = False) -> None:
        self._tokens = tokens
        self._others = others
        self._others_take_jwts = others_take_jwts

    @property
    def may_wait(self) -> bool:
        """As the others: a look for a token may be begun anew."""
        return self._others.may_wait

    def at_once(self, request: Request, query: Query) -> Caller:
        """The caller by a token that is remembered, or as the others tell.

        Raises:
            BadAPITokenError: The token is none.
            ImpersonationError: It is shown by who acts for somebody.
        """
        shown = self._shown(request)
        if shown is None:
            return self._others.at_once(request, query)
        token = self._tokens.known(shown)
        if token is None:
            raise _NotRememberedError("the store has to be asked")
        return _caller(token, request, query)

    async def log_in(self, request: Request, query: Query) -> WebLogin:
        """The caller by a token, or as the others tell.

        Raises:
            BadAPITokenError: The token is none.
            ImpersonationError: It is shown by who acts for somebody.
            StoreUnavailableError: If nobody can tell whether it is one.
        """
        shown = None if request.raw_path in OPEN_PATHS else self._shown(request)
        if shown is None:
            return await self._others.log_in(request, query)
        return WebLogin(_caller(await self._tokens.check(shown), request, query))

    async def again(self, request: Request, query: Query) -> Caller | None:
        """The caller by a token, as the store has it now, or as the others tell.

        Raises:
            BadAPITokenError: The token was revoked, or is over.
        """
        shown = self._shown(request)
        if shown is None:
            return await self._others.again(request, query)
        return _caller(await self._tokens.check(shown, within_s=_AGAIN_S), request, query)

    def _shown(self, request: Request) -> str | None:
        """The text of an API token; None for a request that shows none, or what others know."""
        if self._others_take_jwts and shown_jwt(request) is not None:
            return None
        return _shown(request)


def shown_jwt(request: Request) -> str | None:
    """Text that looks like a JSON Web Token after `Bearer`; None for a request that shows none.

    Raises:
        BadAPITokenError: If it stands beside another `Authorization`.
    """
    lines = [value.strip() for name, value in request.headers if name == "authorization"]
    found = [match[1] for line in lines if (match := _JWT.fullmatch(line)) is not None]
    if found and len(lines) > 1:
        raise BadAPITokenError("the header Authorization stands more than once, beside a token")
    return found[0] if found else None


def _shown(request: Request) -> str | None:
    """The text after `Bearer`; None for a request that shows no token.

    Raises:
        BadAPITokenError: If it cannot be told what is shown.
    """
    lines = [value.strip() for name, value in request.headers if name == "authorization"]
    if not any(_claims(line) for line in lines):
        return None
    if len(lines) > 1:
        raise BadAPITokenError("the header Authorization stands more than once, beside an API token")
    scheme, _, text = lines[0].partition(" ")
    if scheme.lower() != _BEARER:
        raise BadAPITokenError("an API token is shown as Authorization: Bearer TOKEN")
    return text.strip()


def _claims(line: str) -> bool:
    """True for a value of `Authorization` that is meant as a token, rightly written or not."""
    lowered = line.lower()
    return lowered.startswith(_BEARER) or API_TOKEN_MARK in lowered


def _caller(token: APIToken, request: Request, query: Query) -> Caller:
    claims = query.claims
    if request.header(TOKEN_HEADER) is not None or claims.is_about_tokens:
        raise BadAPITokenError("delegation tokens are neither shown nor asked for beside an API token")
    if claims.do_as is not None:
        raise ImpersonationError(f"User: {token.owner} is not allowed to impersonate anybody by an API token")
    if claims.user_name is not None and claims.user_name != token.owner:
        raise BadAPITokenError(f"the API token is {token.owner}'s, and user.name says another user: leave it out")
    return Caller(token.owner, token.owner, scopes=token.scopes, token_id=token.id)
