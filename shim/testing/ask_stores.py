"""`AskStore` in memory. Limits: forgets with the process."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shim.domain.ids import ApplicationId
from shim.errors import StoreUnavailableError
from shim.ports.ask_store import ShownAsks

__all__ = ["InMemoryAskStore"]


@dataclass(slots=True)
class InMemoryAskStore:
    """Implements `AskStore`.

    Attributes:
        is_away: Whether it answers nothing.
        writes: How often something was kept.
    """

    is_away: bool = False
    writes: int = 0
    _asks: dict[ApplicationId, ShownAsks] = field(default_factory=dict)

    async def keep(self, asks: Mapping[ApplicationId, ShownAsks]) -> None:
        """See `AskStore`."""
        self._check()
        self.writes += 1
        self._asks.update(asks)

    async def of(self, application: ApplicationId) -> ShownAsks:
        """See `AskStore`."""
        self._check()
        return self._asks.get(application, ())

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailableError("the store is away")
