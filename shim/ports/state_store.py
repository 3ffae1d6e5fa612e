"""What must survive: ids, homes, intents, and operators' words. Everything else is rebuilt."""

from collections.abc import Sequence
from typing import Protocol

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import Admission
from shim.domain.submissions import SubmissionRecord, SubmissionState

__all__ = ["StateStore"]


class StateStore(Protocol):
    """Durable state of a federation. Every method raises `StoreUnavailableError` when the store is away.

    A method that returns has committed; one that raises has written nothing.
    """

    async def federation_timestamp_ms(self) -> int:
        """The cluster time stamp of every id that this federation issues; fixed at the first call ever."""
        ...

    async def reserve_sequences(self, count: int) -> range:
        """Take the next `count` sequence numbers; no two callers on any machine ever get the same one."""
        ...

    async def insert_intent(self, record: SubmissionRecord) -> SubmissionRecord:
        """Insert unless the application id is known; return the record that is in the store afterwards."""
        ...

    async def settle(self, application_id: ApplicationId, state: SubmissionState, *, rejection: str = "") -> None:
        """Move an INTENDED record on; settling again to the same state changes nothing.

        Raises:
            VersionConflictError: If the record is unknown or settled otherwise.
        """
        ...

    async def rehome(self, record: SubmissionRecord, *, was: SubClusterId) -> SubmissionRecord:
        """Give an INTENDED record another home, if its home still is `was`; return what is in the store.

        Raises:
            VersionConflictError: If somebody else settled or re-homed it first.
        """
        ...

    async def find(self, application_id: ApplicationId) -> SubmissionRecord | None:
        """The record of an application, if the federation took it."""
        ...

    async def unfinished(self) -> Sequence[SubmissionRecord]:
        """Records that are INTENDED, and SUBMITTED ones never seen final; oldest first."""
        ...

    async def mark_final(self, application_ids: Sequence[ApplicationId]) -> None:
        """Remember that these were seen in a final state: nobody needs to look after them any more."""
        ...

    async def set_admission(self, subcluster: SubClusterId, admission: Admission, *, by: str) -> None:
        """Keep an operator's word on a sub-cluster."""
        ...

    async def admissions(self) -> dict[SubClusterId, Admission]:
        """Every sub-cluster that is not OPEN."""
        ...

    async def close(self) -> None:
        """Give up the connections."""
        ...
