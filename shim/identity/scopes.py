"""Limits of a caller who shows an API token; other callers may do all that their users may."""

from shim.domain.token_scopes import TokenScope
from shim.errors import ForbiddenError
from shim.identity.service import Caller

__all__ = ["TokenScopeError", "require_scope"]


class TokenScopeError(ForbiddenError):
    """A request that the caller's API token does not let it make, whatever its user may do."""


def require_scope(caller: Caller, scope: TokenScope | None) -> None:
    """See whether a caller's token lets it do what has a scope.

    Args:
        caller: With or without a token.
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
