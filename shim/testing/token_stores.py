"""A token store for tests, in memory, that keeps the contract."""

from dataclasses import dataclass, field, replace

from shim.errors import StoreUnavailableError
from shim.ports.token_store import StoredToken, TooManyTokensError

__all__ = ["InMemoryTokenStore"]


@dataclass(slots=True)
class InMemoryTokenStore:
    """Keeps tokens in this process.

    Attributes:
        tokens: By key.
        reads: How often `find` was asked.
        is_away: Whether every method fails.
    """

    tokens: dict[str, StoredToken] = field(default_factory=dict)
    reads: int = 0
    is_away: bool = False

    async def insert(self, token: StoredToken, *, now_ms: int, most_of_owner: int, most: int) -> None:
        """Keep a new token."""
        self._check()
        if token.key in self.tokens:
            return
        live = {key: each for key, each in self.tokens.items() if each.good_until_ms > now_ms}
        if sum(each.owner == token.owner for each in live.values()) >= most_of_owner or len(live) >= most:
            raise TooManyTokensError("there are as many delegation tokens as may be")
        self.tokens = live | {token.key: token}

    async def find(self, key: str) -> StoredToken | None:
        """The token."""
        self._check()
        self.reads += 1
        return self.tokens.get(key)

    async def renew(self, key: str, *, good_until_ms: int) -> bool:
        """Let it be good for longer."""
        self._check()
        if key in self.tokens:
            self.tokens[key] = replace(self.tokens[key], good_until_ms=good_until_ms)
        return key in self.tokens

    async def remove(self, key: str) -> bool:
        """Forget it."""
        self._check()
        return self.tokens.pop(key, None) is not None

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailableError("the store is away, as a test wants it")
