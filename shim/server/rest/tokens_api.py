"""Heddle's own web services for API tokens, below `/heddle/v1/`.

    GET     tokens[?user=NAME|?all=true]    the caller's; administrators may ask for another user's, or for all
    POST    tokens                          {"name", "user", "scopes": ["submit", ...], "lifetime_s"}: a new one
    DELETE  tokens/{id}                     end one, everywhere

The answer to POST has the token's text, `token`: the only time that anybody is told it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from fastapi import Path, Query, Response
from fastapi import Request as HTTPRequest

from shim.domain.token_scopes import TokenScope
from shim.errors import MalformedBodyError, StoreUnavailableError, UnavailableError
from shim.identity.api_tokens import APITokens
from shim.ports.api_token_store import APIToken
from shim.server.rest.own_endpoints import Asker, OwnEndpoint, as_json

__all__ = ["TokensAPI"]

_DEFAULT_LIFETIME_S = 30 * 86_400.0


class _Wanted(msgspec.Struct, forbid_unknown_fields=True):
    """A new token, as it is asked for."""

    name: str
    scopes: tuple[TokenScope, ...] = ()
    user: str = ""
    lifetime_s: float = _DEFAULT_LIFETIME_S


@dataclass(frozen=True, slots=True)
class TokensAPI:
    """Answers the endpoints of API tokens; raises what the server makes error bodies of."""

    tokens: APITokens

    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        """Method, path and operation of each. None can be changed by a token: the use cases refuse that."""
        return (
            OwnEndpoint("GET", "tokens", self.list),
            OwnEndpoint("POST", "tokens", self.create, "token.create"),
            OwnEndpoint("DELETE", "tokens/{token}", self.revoke, "token.revoke"),
        )

    async def list(
        self,
        asker: Asker,
        user: Annotated[str, Query(max_length=256)] = "",
        is_all: Annotated[bool, Query(alias="all")] = False,  # noqa: FBT002 - by name, from the query
    ) -> Response:
        """API tokens, without their texts."""
        found = await self.tokens.of(asker, None if is_all else user or asker.user)
        return as_json({"tokens": [_shown(each) for each in found]})

    async def create(self, request: HTTPRequest, asker: Asker) -> Response:
        """Make an API token."""
        try:
            wanted = msgspec.json.decode(await request.body(), type=_Wanted)
        except (msgspec.MsgspecError, RecursionError) as exc:
            raise MalformedBodyError(f"not a token as it is asked for: {exc}") from exc
        try:
            made = await self.tokens.create(
                asker, name=wanted.name, owner=wanted.user, scopes=wanted.scopes, lifetime_s=wanted.lifetime_s
            )
        except StoreUnavailableError as exc:
            raise UnavailableError(f"no token was made: {exc}") from exc
        return as_json({**_shown(made.token), "token": made.text})

    async def revoke(self, asker: Asker, token: Annotated[str, Path(max_length=64)]) -> Response:
        """End an API token."""
        try:
            await self.tokens.revoke(asker, token)
        except StoreUnavailableError as exc:
            raise UnavailableError(f"the token is still good: {exc}") from exc
        return as_json({"id": token, "revoked": True})


def _shown(token: APIToken) -> Mapping[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "user": token.owner,
        "scopes": sorted(token.scopes),
        "created_by": token.created_by,
        "created_at_ms": token.created_at_ms,
        "good_until_ms": token.good_until_ms,
    }
