"""Store of the state of delegation tokens: all that a token itself cannot tell."""

from dataclasses import dataclass
from typing import Protocol

__all__ = ["StoredToken", "TokenStore", "TooManyTokensError"]

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
