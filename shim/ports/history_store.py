"""A store's knowledge of its own past: which ids its processes issued, and whether it is a restored copy."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import SubmissionRecord


@dataclass(frozen=True, slots=True)
class StoreHistory:
    """The past of a store.

    Attributes:
        epochs: Cluster time stamps of all ids that were issued, as far as the store remembers.
        restored_at_ms: Records from before may be out of date; 0 if the store never was restored.
        oldest_final_ms: When the oldest record that is kept became final; 0 if there is none.
    """

    epochs: frozenset[int]
    restored_at_ms: int
    oldest_final_ms: int


class HistoryStore(Protocol):
    """Raises `StoreUnavailableError` as `StateStore` does; every change may be repeated."""

    async def history(self) -> StoreHistory:
        """The store's past, as far as it is known."""
        ...

    async def lost(
        self, application_ids: Collection[ApplicationId], subcluster: SubClusterId
    ) -> frozenset[ApplicationId]:
        """Return those of the ids that a sub-cluster has although the store does not tell that they were sent there."""
        ...

    async def disputed(self) -> Sequence[SubmissionRecord]:
        """Acknowledged submissions whose ids belong to other applications."""
        ...

    async def note_restored(self) -> None:
        """The store turned out to be a copy that lacks what came after it: from now, what it holds is doubtful."""
        ...

    async def note_lineage(self) -> bool:
        """Remember which copy of the database this is; return whether it is not the one that was remembered.

        If it is another, that is noted as by `note_restored`.
        """
        ...
