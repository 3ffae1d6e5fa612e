"""Store of what must survive: ids, homes, intents, and operators' words. Everything else is rebuilt."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import Admission, AdmissionWord
from shim.domain.submissions import DeliveryFailure, Submission, SubmissionProgress, SubmissionRecord, SubmissionState


class StateStore(Protocol):
    """Durable state of a federation, shared by every Heddle in front of it.

    Every method raises `StoreUnavailableError` when the store is locked, full or away. A method that returns has
    committed. One that raises has written nothing, or, where the answer to a commit was lost, all of it: so each may
    be repeated, and repeating a change that was made changes nothing.
    """

    async def federation_timestamp_ms(self) -> int:
        """Founding time of this federation, in milliseconds since the epoch; fixed at the first call ever."""
        ...

    async def begin_epoch(self, listed: Collection[ApplicationId]) -> int:
        """Begin an epoch of ids: return a cluster time stamp under which nobody has issued any.

        Args:
            listed: Applications that ResourceManagers know now; sequence numbers go on above those of earlier epochs.
        """
        ...

    async def reserve_sequences(self, count: int) -> range:
        """Take the next `count` sequence numbers; no two callers on any machine ever get the same one."""
        ...

    async def insert_intent(self, record: SubmissionRecord) -> SubmissionRecord:
        """Insert unless the id is known; return the record that is in the store afterwards.

        A REJECTED record runs nowhere, so it does not stand in the way: the new intent takes its place, as a
        ResourceManager takes a corrected context under the id whose first one it refused.
        """
        ...

    async def settle(self, application_id: ApplicationId, state: SubmissionState, *, rejection: str = "") -> None:
        """Move an INTENDED record on; settling again to the same state changes nothing.

        Raises:
            VersionConflictError: If the record is unknown or settled otherwise.
        """
        ...

    async def note_taken(self, application_ids: Collection[ApplicationId]) -> None:
        """Move those of these that are INTENDED on to SUBMITTED: their homes have them; others are left alone."""
        ...

    async def rehome(self, record: SubmissionRecord, *, was: SubmissionProgress) -> None:
        """Put a new intent in the place of a record, if that still stands as it `was`.

        Raises:
            VersionConflictError: If somebody else settled or re-homed it first.
        """
        ...

    async def reject(self, was: SubmissionProgress, *, reason: str) -> None:
        """End a record that is INTENDED or WAITING, if it still stands as it `was`: REJECTED, with the reason.

        Raises:
            VersionConflictError: If somebody else settled or re-homed it first.
        """
        ...

    async def confirm(
        self, application_ids: Collection[ApplicationId], subcluster: SubClusterId, started_on_ms: int
    ) -> None:
        """Remember that this life of the home knows these SUBMITTED applications; others are left alone."""
        ...

    async def find(self, application_id: ApplicationId) -> SubmissionRecord | None:
        """The record of an application, if the federation took it."""
        ...

    async def described(self, application_ids: Collection[ApplicationId]) -> Mapping[ApplicationId, Submission]:
        """Submissions under these ids, without the bodies; unknown ids are left out."""
        ...

    async def intended(self) -> Sequence[SubmissionRecord]:
        """Records that are INTENDED, without their bodies, as those may be thousands of a mebibyte; oldest first."""
        ...

    async def waiting(self) -> Sequence[SubmissionProgress]:
        """Submissions that wait for their queue's turn; oldest first."""
        ...

    async def waited(self) -> dict[ApplicationId, int]:
        """Submit times, in milliseconds, of the newest 20,000 that waited and have started; oldest first."""
        ...

    async def withdraw(self, application_id: ApplicationId, *, reason: str) -> None:
        """End a WAITING submission; doing so again changes nothing.

        Raises:
            VersionConflictError: If it waits no more.
        """
        ...

    async def give_up(self, progress: SubmissionProgress, *, reason: str) -> None:
        """End a SUBMITTED one as LOST, if it still stands so and was not seen final; its context is dropped.

        Raises:
            VersionConflictError: If it stands otherwise; doing so again changes nothing.
        """
        ...

    async def unfinished(self, subcluster: SubClusterId) -> Sequence[SubmissionProgress]:
        """INTENDED submissions of this home, and SUBMITTED ones never seen final; oldest first."""
        ...

    async def mark_final(self, application_ids: Collection[ApplicationId]) -> None:
        """Remember that these SUBMITTED ones were seen in a final state; their contexts are dropped."""
        ...

    async def note_delivery_failure(self, failure: DeliveryFailure) -> None:
        """Keep how an application fails, in the place of what was kept of it before."""
        ...

    async def delivery_failures(self, application_ids: Collection[ApplicationId]) -> Sequence[DeliveryFailure]:
        """Failures of these applications, as far as any are kept."""
        ...

    async def forget_delivery_failures(self, application_ids: Collection[ApplicationId]) -> None:
        """Forget how these failed: they are settled."""
        ...

    async def purge(self, *, final_before_ms: int, keep: int) -> int:
        """Forget final and REJECTED records that became so before a moment, and all but the newest `keep` of them.

        Returns:
            How many were forgotten.
        """
        ...

    async def set_admission(self, subcluster: SubClusterId, admission: Admission, *, by: str, reason: str = "") -> None:
        """Keep an operator's word on a sub-cluster."""
        ...

    async def admissions(self) -> dict[SubClusterId, Admission]:
        """Every sub-cluster that is not OPEN."""
        ...

    async def admission_words(self) -> dict[SubClusterId, AdmissionWord]:
        """The same, with who said it, when and why."""
        ...

    async def close(self) -> None:
        """Give up the connections."""
        ...
