"""State stores that fail in named ways: locked, away, slow, or with a lost answer."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import Admission
from shim.domain.submissions import DeliveryFailure, Submission, SubmissionProgress, SubmissionRecord, SubmissionState
from shim.errors import StoreUnavailableError
from shim.simulation.state_stores import InMemoryStateStore


@dataclass(slots=True)
class SwitchableStore(InMemoryStateStore):
    """Works until a test says otherwise.

    Attributes:
        writes_fail: Whether every change is refused, as by a lock or a full disk; reads go on.
        reads_fail: Whether every read is refused too.
    """

    writes_fail: bool = False
    reads_fail: bool = False

    async def federation_timestamp_ms(self) -> int:
        """Refused while writes fail: the first call writes."""
        self._check(is_write=True)
        return await InMemoryStateStore.federation_timestamp_ms(self)

    async def begin_epoch(self, listed: Collection[ApplicationId]) -> int:
        """Refused while writes fail."""
        self._check(is_write=True)
        return await InMemoryStateStore.begin_epoch(self, listed)

    async def reserve_sequences(self, count: int) -> range:
        """Refused while writes fail."""
        self._check(is_write=True)
        return await InMemoryStateStore.reserve_sequences(self, count)

    async def insert_intent(self, record: SubmissionRecord) -> SubmissionRecord:
        """Refused while writes fail."""
        self._check(is_write=True)
        return await InMemoryStateStore.insert_intent(self, record)

    async def settle(self, application_id: ApplicationId, state: SubmissionState, *, rejection: str = "") -> None:
        """Refused while writes fail."""
        self._check(is_write=True)
        await InMemoryStateStore.settle(self, application_id, state, rejection=rejection)

    async def note_taken(self, application_ids: Collection[ApplicationId]) -> None:
        """Refused while writes fail."""
        self._check(is_write=True)
        await InMemoryStateStore.note_taken(self, application_ids)

    async def rehome(self, record: SubmissionRecord, *, was: SubmissionProgress) -> None:
        """Refused while writes fail."""
        self._check(is_write=True)
        await InMemoryStateStore.rehome(self, record, was=was)

    async def confirm(
        self, application_ids: Collection[ApplicationId], subcluster: SubClusterId, started_on_ms: int
    ) -> None:
        """Refused while writes fail."""
        self._check(is_write=True)
        await InMemoryStateStore.confirm(self, application_ids, subcluster, started_on_ms)

    async def find(self, application_id: ApplicationId) -> SubmissionRecord | None:
        """Refused while reads fail."""
        self._check(is_write=False)
        return await InMemoryStateStore.find(self, application_id)

    async def described(self, application_ids: Collection[ApplicationId]) -> Mapping[ApplicationId, Submission]:
        """Refused while reads fail."""
        self._check(is_write=False)
        return await InMemoryStateStore.described(self, application_ids)

    async def intended(self) -> Sequence[SubmissionRecord]:
        """Refused while reads fail."""
        self._check(is_write=False)
        return await InMemoryStateStore.intended(self)

    async def unfinished(self, subcluster: SubClusterId) -> Sequence[SubmissionProgress]:
        """Refused while reads fail."""
        self._check(is_write=False)
        return await InMemoryStateStore.unfinished(self, subcluster)

    async def waiting(self) -> Sequence[SubmissionProgress]:
        """Refused while reads fail."""
        self._check(is_write=False)
        return await InMemoryStateStore.waiting(self)

    async def waited(self) -> dict[ApplicationId, int]:
        """Refused while reads fail."""
        self._check(is_write=False)
        return await InMemoryStateStore.waited(self)

    async def withdraw(self, application_id: ApplicationId, *, reason: str) -> None:
        """Refused while writes fail."""
        self._check(is_write=True)
        await InMemoryStateStore.withdraw(self, application_id, reason=reason)

    async def reject(self, was: SubmissionProgress, *, reason: str) -> None:
        """Refused while writes fail."""
        self._check(is_write=True)
        await InMemoryStateStore.reject(self, was, reason=reason)

    async def give_up(self, progress: SubmissionProgress, *, reason: str) -> None:
        """Refused while writes fail."""
        self._check(is_write=True)
        await InMemoryStateStore.give_up(self, progress, reason=reason)

    async def mark_final(self, application_ids: Collection[ApplicationId]) -> None:
        """Refused while writes fail."""
        self._check(is_write=True)
        await InMemoryStateStore.mark_final(self, application_ids)

    async def note_delivery_failure(self, failure: DeliveryFailure) -> None:
        """Refused while writes fail."""
        self._check(is_write=True)
        await InMemoryStateStore.note_delivery_failure(self, failure)

    async def delivery_failures(self, application_ids: Collection[ApplicationId]) -> Sequence[DeliveryFailure]:
        """Refused while reads fail."""
        self._check(is_write=False)
        return await InMemoryStateStore.delivery_failures(self, application_ids)

    async def forget_delivery_failures(self, application_ids: Collection[ApplicationId]) -> None:
        """Refused while writes fail."""
        self._check(is_write=True)
        await InMemoryStateStore.forget_delivery_failures(self, application_ids)

    async def purge(self, *, final_before_ms: int, keep: int) -> int:
        """Refused while writes fail."""
        self._check(is_write=True)
        return await InMemoryStateStore.purge(self, final_before_ms=final_before_ms, keep=keep)

    async def set_admission(self, subcluster: SubClusterId, admission: Admission, *, by: str, reason: str = "") -> None:
        """Refused while writes fail."""
        self._check(is_write=True)
        await InMemoryStateStore.set_admission(self, subcluster, admission, by=by, reason=reason)

    async def admissions(self) -> dict[SubClusterId, Admission]:
        """Refused while reads fail."""
        self._check(is_write=False)
        return await InMemoryStateStore.admissions(self)

    def _check(self, *, is_write: bool) -> None:
        if self.reads_fail or (is_write and self.writes_fail):
            raise StoreUnavailableError("the state store does not take it: a test says so")


@dataclass(slots=True)
class LockedStore(SwitchableStore):
    """A store whose lock another holds, or whose disk is full: nothing is written, everything can be read."""

    writes_fail: bool = True


@dataclass(slots=True)
class AwayStore(SwitchableStore):
    """The database does not answer at all."""

    writes_fail: bool = True
    reads_fail: bool = True


@dataclass(slots=True)
class LosesTheAnswerToCommits(InMemoryStateStore):
    """Commits an intent, then fails as if the connection broke before the answer came: `losses` times."""

    losses: int = 1

    async def insert_intent(self, record: SubmissionRecord) -> SubmissionRecord:
        """Written, but the caller hears that the store is away."""
        stands = await InMemoryStateStore.insert_intent(self, record)
        if self.losses > 0:
            self.losses -= 1
            raise StoreUnavailableError("the connection broke while the commit was under way: a test says so")
        return stands


@dataclass(slots=True)
class TakesItsTime(SwitchableStore):
    """A store that takes its time: each operation that has a hook awaits it first.

    Attributes:
        before: What is awaited, by the operation's name; each once.
    """

    before: dict[str, Callable[[], Awaitable[object]]] = field(default_factory=dict)

    async def _wait(self, operation: str) -> None:
        hook = self.before.pop(operation, None)
        if hook is not None:
            await hook()

    async def rehome(self, record: SubmissionRecord, *, was: SubmissionProgress) -> None:
        """Once its hook is done."""
        await self._wait("rehome")
        await SwitchableStore.rehome(self, record, was=was)

    async def find(self, application_id: ApplicationId) -> SubmissionRecord | None:
        """Once its hook is done."""
        await self._wait("find")
        return await SwitchableStore.find(self, application_id)

    async def note_taken(self, application_ids: Collection[ApplicationId]) -> None:
        """Done, and then its hook: what is noted meanwhile is not in it."""
        await SwitchableStore.note_taken(self, application_ids)
        await self._wait("note_taken")
