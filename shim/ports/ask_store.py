"""Store of the newest decisions on the asks of spanning applications, as `why` shows them."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from shim.domain.ids import ApplicationId

__all__ = ["MOST_KEPT", "AskStore", "ShownAsks"]

MOST_KEPT = 10_000
"""Applications whose decisions are kept; those that were written least lately go first."""

ShownAsks = Sequence[Mapping[str, Any]]
"""One plain JSON object for each ask."""


class AskStore(Protocol):
    """Both methods raise `StoreUnavailableError` when the store fails; each may be repeated."""

    async def keep(self, asks: Mapping[ApplicationId, ShownAsks]) -> None:
        """Keep the newest decisions of applications, in the place of those that were kept of them."""
        ...

    async def of(self, application: ApplicationId) -> ShownAsks:
        """The decisions that were kept last; none for an application that never spanned, or long ago."""
        ...
