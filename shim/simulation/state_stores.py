"""State stores in memory that keep the contract; those that fail in named ways are in `failing_stores`."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

from shim.domain.ids import ApplicationId, SubClusterId, sequence_above, timestamp_of_epoch
from shim.domain.subclusters import Admission, AdmissionWord
from shim.domain.submissions import (
    DISPUTED,
    DeliveryFailure,
    Submission,
    SubmissionProgress,
    SubmissionRecord,
    SubmissionState,
)
from shim.errors import VersionConflictError
from shim.ports.history_store import StoreHistory

_CONTENTS = (
    "_timestamp_ms",
    "_next_sequence",
    "_epochs",
    "_kept",
    "_admissions",
    "_restored_at_ms",
    "_failures",
    "_words",
)


@dataclass(slots=True)
class _Kept:
    record: SubmissionRecord
    finished_at_ms: int | None = None


@dataclass(slots=True)
class InMemoryStateStore:
    """Keeps everything in this process. Two Heddles of a test may share one; nothing survives the process."""

    now_s: Callable[[], float] = time.time
    _timestamp_ms: int | None = None
    _next_sequence: int = 1
    _epochs: list[int] = field(default_factory=list)
    _kept: dict[ApplicationId, _Kept] = field(default_factory=dict)
    _admissions: dict[SubClusterId, Admission] = field(default_factory=dict)
    _restored_at_ms: int = 0
    _failures: dict[ApplicationId, DeliveryFailure] = field(default_factory=dict)
    _words: dict[SubClusterId, AdmissionWord] = field(default_factory=dict)

    async def federation_timestamp_ms(self) -> int:
        if self._timestamp_ms is None:
            self._timestamp_ms = self._now_ms()
        return self._timestamp_ms

    async def begin_epoch(self, listed: Collection[ApplicationId]) -> int:
        is_first = self._timestamp_ms is None
        known = {await InMemoryStateStore.federation_timestamp_ms(self), *self._epochs}
        now_ms = self._now_ms()
        stamp = now_ms if is_first else timestamp_of_epoch(now_ms, known=known, listed=listed)
        self._epochs.append(stamp)
        self._next_sequence = sequence_above(self._next_sequence, known=known, listed=listed)
        return stamp

    async def reserve_sequences(self, count: int) -> range:
        await self.federation_timestamp_ms()
        start = self._next_sequence
        self._next_sequence += count
        return range(start, self._next_sequence)

    async def insert_intent(self, record: SubmissionRecord) -> SubmissionRecord:
        application_id = record.submission.application_id
        kept = self._kept.get(application_id)
        if kept is None or kept.record.state is SubmissionState.REJECTED:
            kept = self._kept[application_id] = _Kept(record)
        return kept.record

    async def settle(self, application_id: ApplicationId, state: SubmissionState, *, rejection: str = "") -> None:
        kept = self._kept.get(application_id)
        if kept is not None and kept.record.state is SubmissionState.INTENDED:
            is_final = state is SubmissionState.REJECTED
            submission = replace(kept.record.submission, body=b"") if is_final else kept.record.submission
            kept.record = replace(kept.record, submission=submission, state=state, rejection=rejection)
            kept.finished_at_ms = self._now_ms() if is_final else None
        elif kept is None or kept.record.state is not state:
            raise VersionConflictError(f"{application_id} cannot become {state.value}")

    async def note_taken(self, application_ids: Collection[ApplicationId]) -> None:
        for application_id in application_ids:
            kept = self._kept.get(application_id)
            if kept is not None and kept.record.state is SubmissionState.INTENDED:
                kept.record = replace(kept.record, state=SubmissionState.SUBMITTED)

    async def rehome(self, record: SubmissionRecord, *, was: SubmissionProgress) -> None:
        kept = self._kept.get(was.application_id)
        if kept is not None and kept.finished_at_ms is None and kept.record.progress == was:
            kept.record = replace(
                kept.record,
                state=SubmissionState.INTENDED,
                home_subcluster=record.home_subcluster,
                home_started_on_ms=record.home_started_on_ms,
                intended_at_ms=record.intended_at_ms,
                intent_id=record.intent_id,
                decision=record.decision,
                waited=record.waited,
            )
        elif kept is None or kept.record.progress != record.progress:
            raise VersionConflictError(f"{was.application_id} was settled or re-homed by another writer first")

    async def confirm(
        self, application_ids: Collection[ApplicationId], subcluster: SubClusterId, started_on_ms: int
    ) -> None:
        for kept in self._submitted(application_ids):
            if kept.record.home_subcluster == subcluster:
                kept.record = replace(kept.record, home_started_on_ms=started_on_ms)

    async def find(self, application_id: ApplicationId) -> SubmissionRecord | None:
        kept = self._kept.get(application_id)
        return None if kept is None else kept.record

    async def described(self, application_ids: Collection[ApplicationId]) -> Mapping[ApplicationId, Submission]:
        found = {each: self._kept[each].record.submission for each in application_ids if each in self._kept}
        return {each: replace(submission, body=b"") for each, submission in found.items()}

    async def intended(self) -> Sequence[SubmissionRecord]:
        progress = (kept.record for kept in self._unfinished() if kept.record.state is SubmissionState.INTENDED)
        return [replace(record, submission=replace(record.submission, body=b"")) for record in progress]

    async def unfinished(self, subcluster: SubClusterId) -> Sequence[SubmissionProgress]:
        return [kept.record.progress for kept in self._unfinished() if kept.record.home_subcluster == subcluster]

    async def waiting(self) -> Sequence[SubmissionProgress]:
        return [kept.record.progress for kept in self._unfinished() if kept.record.state is SubmissionState.WAITING]

    async def waited(self) -> dict[ApplicationId, int]:
        records = sorted((kept.record for kept in self._kept.values()), key=lambda record: record.intended_at_ms)
        return {each.submission.application_id: each.waited.since_ms for each in records if each.waited is not None}

    async def withdraw(self, application_id: ApplicationId, *, reason: str) -> None:
        kept = self._kept.get(application_id)
        if kept is not None and kept.record.state is SubmissionState.WAITING:
            submission = replace(kept.record.submission, body=b"")
            kept.record = replace(kept.record, submission=submission, state=SubmissionState.KILLED, rejection=reason)
            kept.finished_at_ms = self._now_ms()
        elif kept is None or kept.record.state is not SubmissionState.KILLED:
            raise VersionConflictError(f"{application_id} waits no more")

    async def reject(self, was: SubmissionProgress, *, reason: str) -> None:
        """End one that runs nowhere."""
        kept = self._kept.get(was.application_id)
        open_states = (SubmissionState.INTENDED, SubmissionState.WAITING)
        if kept is not None and kept.record.progress == was and was.state in open_states:
            submission = replace(kept.record.submission, body=b"")
            kept.record = replace(kept.record, submission=submission, state=SubmissionState.REJECTED, rejection=reason)
            kept.finished_at_ms = self._now_ms()
        elif kept is None or (kept.record.state, kept.record.rejection) != (SubmissionState.REJECTED, reason):
            raise VersionConflictError(f"{was.application_id} was settled or re-homed by another writer first")

    async def give_up(self, progress: SubmissionProgress, *, reason: str) -> None:
        kept = self._kept.get(progress.application_id)
        stands = None if kept is None else kept.record
        is_mine = stands is not None and stands.home_subcluster == progress.home_subcluster
        if kept is not None and is_mine and self._submitted([progress.application_id]):
            submission = replace(kept.record.submission, body=b"")
            kept.record = replace(kept.record, submission=submission, state=SubmissionState.LOST, rejection=reason)
            kept.finished_at_ms = self._now_ms()
        elif stands is None or stands.state is not SubmissionState.LOST:
            raise VersionConflictError(f"{progress.application_id} cannot be given up")

    async def mark_final(self, application_ids: Collection[ApplicationId]) -> None:
        """Close records and drop their contexts."""
        for kept in self._submitted(application_ids):
            kept.finished_at_ms = self._now_ms()
            kept.record = replace(kept.record, submission=replace(kept.record.submission, body=b""))

    async def note_delivery_failure(self, failure: DeliveryFailure) -> None:
        self._failures[failure.application_id] = failure

    async def delivery_failures(self, application_ids: Collection[ApplicationId]) -> Sequence[DeliveryFailure]:
        return [self._failures[each] for each in application_ids if each in self._failures]

    async def forget_delivery_failures(self, application_ids: Collection[ApplicationId]) -> None:
        for application_id in application_ids:
            self._failures.pop(application_id, None)

    async def purge(self, *, final_before_ms: int, keep: int) -> int:
        moments = {an_id: kept.finished_at_ms for an_id, kept in self._kept.items() if kept.finished_at_ms is not None}
        newest_first = sorted(moments.values(), reverse=True)
        limit_ms = newest_first[keep] if len(newest_first) > keep else -1
        gone = [an_id for an_id, at_ms in moments.items() if at_ms < final_before_ms or at_ms <= limit_ms]
        for application_id in gone:
            del self._kept[application_id]
        return len(gone)

    async def set_admission(self, subcluster: SubClusterId, admission: Admission, *, by: str, reason: str = "") -> None:
        self._admissions.pop(subcluster, None)
        if admission is not Admission.OPEN:
            self._admissions[subcluster] = admission
            self._words[subcluster] = AdmissionWord(admission, by, self._now_ms(), reason)

    async def admissions(self) -> dict[SubClusterId, Admission]:
        return dict(self._admissions)

    async def admission_words(self) -> dict[SubClusterId, AdmissionWord]:
        return {subcluster: self._words[subcluster] for subcluster in self._admissions}

    async def close(self) -> None:
        """Close nothing, as nothing is open."""

    def history(self) -> StoreHistory:
        ends = (kept.finished_at_ms for kept in self._kept.values() if kept.finished_at_ms is not None)
        founded = () if self._timestamp_ms is None else (self._timestamp_ms,)
        epochs = frozenset([*founded, *self._epochs])
        return StoreHistory(epochs, self._restored_at_ms, min(ends, default=0))

    def records(self) -> Mapping[ApplicationId, SubmissionRecord]:
        return {application_id: kept.record for application_id, kept in self._kept.items()}

    def note_restored(self) -> None:
        self._restored_at_ms = self._now_ms()
        self._failures.clear()

    def backup(self) -> "InMemoryStateStore":
        copied = (deepcopy(getattr(self, name)) for name in _CONTENTS)
        return InMemoryStateStore(self.now_s, *copied)

    def restore(self, backup: "InMemoryStateStore") -> None:
        """Have in it what was there when the copy was made; nobody who uses it is told."""
        for name in _CONTENTS:
            setattr(self, name, deepcopy(getattr(backup, name)))

    def _now_ms(self) -> int:
        return int(self.now_s() * 1000)

    def _submitted(self, application_ids: Collection[ApplicationId]) -> list[_Kept]:
        found = (self._kept.get(application_id) for application_id in application_ids)
        return [
            kept
            for kept in found
            if kept is not None and kept.finished_at_ms is None and kept.record.state is SubmissionState.SUBMITTED
        ]

    def _unfinished(self) -> list[_Kept]:
        alive = (kept for kept in self._kept.values() if kept.finished_at_ms is None)
        return sorted(alive, key=lambda kept: (kept.record.intended_at_ms, kept.record.submission.application_id))


@dataclass(slots=True)
class InMemoryHistoryStore:
    """The past of an in-memory store; a restore is noticed only by what clusters list."""

    store: InMemoryStateStore

    async def history(self) -> StoreHistory:
        return self.store.history()

    async def lost(
        self, application_ids: Collection[ApplicationId], subcluster: SubClusterId
    ) -> frozenset[ApplicationId]:
        not_sent = (SubmissionState.WAITING, SubmissionState.INTENDED)
        known = {
            application_id
            for application_id, record in self.store.records().items()
            if record.home_subcluster == subcluster or record.state not in not_sent
        }
        return frozenset(application_ids) - known

    async def disputed(self) -> Sequence[SubmissionRecord]:
        return [record for record in self.store.records().values() if record.rejection.startswith(DISPUTED)]

    async def note_restored(self) -> None:
        self.store.note_restored()

    async def note_lineage(self) -> bool:
        return False
