"""Heddle's own web services for API tokens, below `/heddle/v1/`.

    GET     tokens[?user=NAME|?all=true]    the caller's; administrators may ask for another user's, or for all
    POST    tokens                          {"name", "user", "scopes": ["submit", ...], "lifetime_s"}: a new one
    DELETE  tokens/{id}                     end one, everywhere

The answer to POST has the token's text, `token`: the only time that anybody is told it.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Path, Query, Response
from fastapi import Request as HTTPRequest

from heddle import models
from shim.domain.roles import TokenScope
from shim.errors import MalformedBodyError, StoreUnavailableError, UnavailableError
from shim.identity.api_tokens import APITokens
from shim.ports.token_store import APIToken
from shim.server.rest.own_endpoints import OPERATE, READ, Asker, OwnEndpoint, as_json, sent_as


@dataclass(frozen=True, slots=True)
class TokensAPI:
    """Answers the endpoints of API tokens; raises what the server makes error bodies of."""

    tokens: APITokens

    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        """Method, path and operation of each. None can be changed by a token: the use cases refuse that."""
        return (
            OwnEndpoint("GET", "tokens", READ, self.list, models.Tokens),
            OwnEndpoint(
                "POST", "tokens", OPERATE, self.create, models.NewToken, "token.create", takes=models.WantedToken
            ),
            OwnEndpoint("DELETE", "tokens/{token}", OPERATE, self.revoke, models.Revoked, "token.revoke"),
        )

    async def list(
        self,
        asker: Asker,
        user: Annotated[str, Query(max_length=256)] = "",
        is_all: Annotated[bool, Query(alias="all")] = False,  # noqa: FBT002 - by name, from the query
    ) -> Response:
        found = await self.tokens.of(asker, None if is_all else user or asker.user)
        return as_json(models.Tokens([models.Token(**_shown(each)) for each in found]))

    async def create(self, request: HTTPRequest, asker: Asker) -> Response:
        wanted = await sent_as(models.WantedToken, request, "token")
        try:
            scopes = tuple(map(TokenScope, wanted.scopes))
        except ValueError as exc:
            raise MalformedBodyError(f"not a token as it is asked for: {exc}") from exc
        try:
            made = await self.tokens.create(
                asker, name=wanted.name, owner=wanted.user, scopes=scopes, lifetime_s=wanted.lifetime_s
            )
        except StoreUnavailableError as exc:
            raise UnavailableError(f"no token was made: {exc}") from exc
        return as_json(models.NewToken(**_shown(made.token), token=made.text))

    async def revoke(self, asker: Asker, token: Annotated[str, Path(max_length=64)]) -> Response:
        try:
            await self.tokens.revoke(asker, token)
        except StoreUnavailableError as exc:
            raise UnavailableError(f"the token is still good: {exc}") from exc
        return as_json(models.Revoked(token, revoked=True))


def _shown(token: APIToken) -> dict[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "user": token.owner,
        "scopes": sorted(token.scopes),
        "created_by": token.created_by,
        "created_at_ms": token.created_at_ms,
        "good_until_ms": token.good_until_ms,
    }
