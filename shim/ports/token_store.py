"""Store of the state of delegation tokens: all that a token itself cannot tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shim.domain.roles import TokenScope
from shim.errors import ForbiddenError


class TooManyTokensError(ForbiddenError):
    """As many tokens are good at this time as may be."""


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A token that was issued and not cancelled.

    Attributes:
        key: Digest of its identifier, in hexadecimal: the token cannot be made of it.
        owner: For whom it speaks.
        is_proven: Whether whoever asked for it had a Kerberos ticket.
        good_until_ms: Until when it is good without another renewal, in milliseconds since the epoch.
    """

    key: str
    owner: str
    is_proven: bool
    good_until_ms: int


class TokenStore(Protocol):
    """Tokens that are good, shared by every Heddle of a store. All methods raise `StoreUnavailableError`."""

    async def insert(self, token: StoredToken, *, now_ms: int, most_of_owner: int, most: int) -> None:
        """Keep a new token; the same again changes nothing.

        Args:
            token: What was issued.
            now_ms: Tokens that were good until before do not count, and are forgotten.
            most_of_owner: Tokens that one owner may have.
            most: Tokens that all may have.

        Raises:
            TooManyTokensError: If there are as many.
        """
        ...

    async def find(self, key: str) -> StoredToken | None:
        """The token; None if it was never issued, was cancelled, or is forgotten."""
        ...

    async def renew(self, key: str, *, good_until_ms: int) -> bool:
        """Let a token be good for longer; False if there is none."""
        ...

    async def remove(self, key: str) -> bool:
        """Forget a token that is cancelled; False if there was none."""
        ...


# The store of API tokens: all but the secret, of which there is a digest alone.


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
