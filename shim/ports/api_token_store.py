"""The store of API tokens: all but the secret, of which there is a digest alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shim.domain.token_scopes import TokenScope

__all__ = ["APIToken", "APITokenStore"]


@dataclass(frozen=True, slots=True)
class APIToken:
    """A token that was created and not revoked.

    Attributes:
        id: Public; part of the token's text.
        digest: SHA-256 of the whole text, in hexadecimal.
        name: What its owner calls it.
        owner: The user that it stands for.
        scopes: What it lets its holder do.
        created_by: The owner, or an administrator.
        is_proven: Whether who created it had a Kerberos ticket.
        created_at_ms: In milliseconds since the epoch.
        good_until_ms: Likewise.
    """

    id: str
    digest: str
    name: str
    owner: str
    scopes: frozenset[TokenScope]
    created_by: str
    is_proven: bool
    created_at_ms: int
    good_until_ms: int


class APITokenStore(Protocol):
    """Tokens that are good, shared by every Heddle of a store. All methods raise `StoreUnavailableError`."""

    async def insert(self, token: APIToken, *, most_of_owner: int, most: int) -> None:
        """Keep a new token; the same again changes nothing. Those that were over when it was created are forgotten.

        Args:
            token: What was created.
            most_of_owner: Tokens that one owner may have.
            most: Tokens that all may have.

        Raises:
            TooManyTokensError: If there are as many.
        """
        ...

    async def find(self, token_id: str) -> APIToken | None:
        """The token of an id; None if there is none, or not any more."""
        ...

    async def of(self, owner: str | None) -> Sequence[APIToken]:
        """Tokens of an owner, or of all for None; the newest first."""
        ...

    async def remove(self, token_id: str, owner: str | None) -> bool:
        """Forget a token; False if there was none, or it is another owner's. None for whoever owns it."""
        ...
