"""Repair: bringing what is INTENDED to its home, however often it takes.

A home that is ACTIVE and knows the application has it: SUBMITTED. If it does not know it, a new intent is written and
the application is sent again: to the same home, which takes a known id as done; or to another one, if the home started
so long after the last send that it cannot have the request.

Nothing is sent unless the home said a moment ago that it is ACTIVE. Everything may run twice, also in two Heddles at
once: who writes the new intent first sends.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import structlog

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import SubmissionProgress, SubmissionRecord, SubmissionState
from shim.errors import StoreError, VersionConflictError
from shim.federation.home_questions import HomeKnows, Life, Uncertain, ask_home, ask_life
from shim.ports.clock import Clock
from shim.ports.state_store import StateStore
from shim.submission.claims import Claims
from shim.submission.delivery_attempts import DeliveryAttempts
from shim.submission.rehoming import Rehoming, RehomingSettings
from shim.submission.resending import Resending, show_as_failed
from shim.submission.service import SubmissionService
from shim.submission.tools import SubmissionTools
from shim.telemetry.application_life import LifeEvent, tell

_log = structlog.get_logger("heddle.repair")
_LONGEST_REASON = 1000  # characters of an error that are kept


@dataclass(frozen=True, slots=True)
class RepairSettings:
    """Limits of the repair.

    Attributes:
        grace_s: A record that was written less long ago may be on its way in another Heddle.
        answer_within_s: For one exchange with a home.
        proof_s: A home that started at least so long after an intent was written cannot have what was sent for it:
            longer than any send takes, and than clocks are apart after their skew has been taken off.
        at_once: Most sends to one home at a time, of applications that have not failed yet,
        most_begun: Most of each that one round begins with at a home.
    """

    grace_s: float = 3.0
    answer_within_s: float = 2.0
    proof_s: float = 10.0
    at_once: int = 16
    suspects_at_once: int = 8
    most_begun: int = 1000


@dataclass(slots=True)
class _Asked:
    """Answer of a home to one question about many applications.

    Attributes:
        at_s: When the question was begun, by the monotonic clock.
        is_silent: Whether it, or the store, has stopped answering since: nothing more is sent.
    """

    knows: HomeKnows
    at_s: float
    is_silent: bool = False


class Repair:
    """Brings INTENDED applications to their homes.

    Attributes:
        resending: Writes new intents and sends for them; also of what was acknowledged and lost, and of retired homes.
        rehoming: Moves applications on demand, and goes on with moves that were begun.
    """

    def __init__(
        self, tools: SubmissionTools, submissions: SubmissionService, settings: RepairSettings | None = None
    ) -> None:
        self._submissions = submissions
        self._view = tools.view
        self._managers = tools.managers
        self._store = tools.store
        self._listing = tools.listing
        self._clock = tools.clock
        self._settings = settings or RepairSettings()
        self._past = tools.past
        self._under_way: set[ApplicationId] = set()
        self._rounds: set[asyncio.Task[None]] = set()
        self._claims = Claims(tools.store, tools.view, tools.clock)
        self._kept = KeptFailures(tools.store, self.attempts, tools.clock)
        self.resending = Resending(
            tools, self.attempts, answer_within_s=self._settings.answer_within_s, proof_s=self._settings.proof_s
        )

        self.rehoming = Rehoming(
            tools, self.resending, RehomingSettings(answer_within_s=self._settings.answer_within_s)
        )

    @property
    def attempts(self) -> DeliveryAttempts:
        """Knowledge of attempts that failed."""
        return self._submissions.attempts

    async def repair_all(self) -> None:
        """List every INTENDED application, bring those that are due to their homes, and return when that is done."""
        await self.begin_round()
        while self._rounds:
            await asyncio.gather(*self._rounds)

    async def begin_round(self) -> None:
        """List every INTENDED application, and begin with those that are due and not under way.

        Raises:
            StoreUnavailableError: Nothing was begun.
        """
        records = await self._kept.recalled(self._store.intended)
        by_home: dict[SubClusterId, list[SubmissionRecord]] = {}
        for record in records:
            application_id = record.submission.application_id
            if record.home_subcluster not in self._managers:
                continue
            if record.decision.is_left:
                self.rehoming.show(record)
            elif application_id not in self._submissions.in_flight:
                self._listing.mark_submitted(record.submission, record.home_subcluster)
            if application_id not in self._under_way:
                by_home.setdefault(record.home_subcluster, []).append(record)
        for home in sorted(by_home):
            fresh, suspects = self._due(home, by_home[home])
            # those that have failed before are on their own: nothing waits for them
            self._start(home, fresh, self._settings.at_once)
            self._start(home, suspects, self._settings.suspects_at_once)

    async def stop(self) -> None:
        """End what is under way; the records stand, and are repaired by the next process."""
        rounds = list(self._rounds)
        for task in rounds:
            task.cancel()
        await asyncio.gather(*rounds, return_exceptions=True)

    async def repair_one(self, application_id: ApplicationId) -> SubmissionRecord | None:
        """Bring one application to its home now, if that answers; return the record as it stands afterwards."""
        record = await self._store.find(application_id)
        if record is None or record.state is not SubmissionState.INTENDED:
            return record
        if self._submissions.is_taken(application_id):
            return replace(record, state=SubmissionState.SUBMITTED)  # as the store will have it in a moment
        if application_id not in self._submissions.in_flight:
            await self._repair_records(record.home_subcluster, [record], 1)
        return await self._store.find(application_id)

    def _due(
        self, home: SubClusterId, records: Sequence[SubmissionRecord]
    ) -> tuple[list[SubmissionRecord], list[SubmissionRecord]]:
        """Records due at a home that is usable by the last poll: those that have not failed yet, and the others."""
        now_s = self._clock.now_s()
        if home in self._view.late(now_s):
            return [], []
        started_on_ms = self._view.look(home, now_s).started_on_ms
        monotonic_s, latest_ms = self._clock.monotonic_s(), self._now_ms() - self._settings.grace_s * 1000
        fresh: list[SubmissionRecord] = []
        suspects: list[SubmissionRecord] = []
        for record in records:
            application_id = record.submission.application_id
            if record.intended_at_ms > latest_ms:
                continue
            if not self.attempts.has_failed(application_id):
                fresh.append(record)
            elif self.attempts.is_due(application_id, started_on_ms=started_on_ms, now_s=monotonic_s):
                suspects.append(record)
        return fresh[: self._settings.most_begun], suspects[: self._settings.most_begun]

    def _start(self, home: SubClusterId, records: Sequence[SubmissionRecord], at_once: int) -> None:
        if not records:
            return
        ids = {record.submission.application_id for record in records}
        self._under_way |= ids
        task = asyncio.create_task(self._repair_records(home, records, at_once))
        self._rounds.add(task)

        def end(done: "asyncio.Task[None]") -> None:
            self._rounds.discard(done)
            self._under_way.difference_update(ids)
            error = None if done.cancelled() else done.exception()
            if isinstance(error, Exception):
                _log.error("repair was interrupted", home=home, reason=f"{type(error).__name__}: {error}")

        task.add_done_callback(end)

    async def _repair_records(self, home: SubClusterId, records: Sequence[SubmissionRecord], at_once: int) -> None:
        """Ask the home for all of them, and bring those that it does not know; stop when it is silent."""
        asked_at_s = self._clock.monotonic_s()
        ids = [record.submission.application_id for record in records]
        knows = await ask_home(self._managers[home], ids, timeout_s=self._settings.answer_within_s, partly=True)
        if not isinstance(knows, HomeKnows):
            if len(records) == 1:
                await self._note_failure(records[0], knows.reason)
            return
        asked = _Asked(knows, asked_at_s)
        gate = asyncio.Semaphore(at_once)

        async def bring(record: SubmissionRecord) -> None:
            async with gate:
                if not asked.is_silent:
                    await self._deliver(record, asked)

        await asyncio.gather(*(bring(record) for record in records))

    async def _deliver(self, record: SubmissionRecord, asked: "_Asked") -> None:
        """Bring one record on; what is wrong with it delays no other."""
        try:
            reason = await self._attempt(record, asked)
        except StoreError as exc:
            _log.warning("repair was interrupted", reason=str(exc))
            asked.is_silent = True  # nothing can be written now
            return
        except Exception as exc:  # noqa: BLE001 - the record's boundary: one that cannot be sent must not stop the others
            reason = f"{type(exc).__name__}: {exc}"
        if reason and not await self._note_failure(record, reason):
            asked.is_silent = True

    async def _attempt(self, record: SubmissionRecord, asked: "_Asked") -> str:
        """Bring one record on; return why it is not delivered yet, empty if it is settled or another Heddle's."""
        application_id = record.submission.application_id
        if application_id in self._submissions.in_flight:
            return ""
        if record.decision.is_left:
            return await self.rehoming.go_on(record)
        knows = await self._latest(record, asked)
        if not isinstance(knows, HomeKnows):
            return knows.reason
        if application_id in knows.unanswered:
            return knows.unanswered[application_id]
        seen = knows.applications.get(application_id)
        if seen is None:
            return await self._deliver_unknown(record, knows.life)
        if not await self._claims.is_disputed(record, seen):
            await self.resending.settle_taken(record)
        return ""

    async def _latest(self, record: SubmissionRecord, asked: "_Asked") -> HomeKnows | Uncertain:
        """The home's answer about a record; asked anew if the others before it took long."""
        within_s = self._settings.answer_within_s
        if self._clock.monotonic_s() - asked.at_s < within_s:
            return asked.knows
        manager = self._managers[record.home_subcluster]
        return await ask_home(manager, [record.submission.application_id], timeout_s=within_s)

    async def _deliver_unknown(self, record: SubmissionRecord, life: Life) -> str:
        """Send what the home does not know, or give it up; see `_attempt`."""
        if await self._is_given_up(record, life):
            return ""
        if record.submission.application_id in self._submissions.in_flight:
            return ""  # a client has submitted it again meanwhile
        return await self.resending.send_again(record.progress, life)

    async def _note_failure(self, record: SubmissionRecord, reason: str) -> bool:
        """Note a failure if its home is well; False if it is not: then the failure is not the record's own."""
        application_id, home = record.submission.application_id, record.home_subcluster
        life = await ask_life(self._managers[home], timeout_s=self._settings.answer_within_s)
        if not isinstance(life, Life):
            return False
        stands = await self._progress_of(record)
        if stands is None:
            return True
        known = self.attempts.failed(
            stands, reason[:_LONGEST_REASON], started_on_ms=life.started_on_ms, now_s=self._clock.monotonic_s()
        )
        await self._kept.keep(application_id)
        _log.warning(
            "not delivered, though its home is well: tried again later",
            application=str(application_id),
            home=home,
            failures=known.failures,
            again_in_s=self.attempts.back_off.pause_s(known.failures),
            reason=reason[:_LONGEST_REASON],
        )
        return True

    async def _progress_of(self, record: SubmissionRecord) -> SubmissionProgress | None:
        """Present progress of the record; None if it is not INTENDED any more, or nobody can tell."""
        try:
            stands = await self._store.find(record.submission.application_id)
        except StoreError:
            return None
        return stands.progress if stands is not None and stands.state is SubmissionState.INTENDED else None

    async def _is_given_up(self, record: SubmissionRecord, life: Life) -> bool:
        """End one that has failed long enough, and that provably no ResourceManager has or will get."""
        application_id, progress = record.submission.application_id, record.progress
        known = self.attempts.find(application_id)
        if known is None:
            return False
        skew_ms = self._view.look(record.home_subcluster, self._clock.now_s()).clock_skew_s * 1000
        self.attempts.close_before(progress, life.started_on_ms - skew_ms - self._settings.proof_s * 1000)
        if self._past.concerns(progress) or not self.attempts.is_hopeless(progress, self._clock.monotonic_s()):
            return False
        reason = f"given up after {known.failures} attempts, none of which reached a ResourceManager: {known.reason}"
        try:
            await self._store.reject(progress, reason=reason[:_LONGEST_REASON])
        except VersionConflictError:
            return True  # another writer was first
        self.attempts.note_given_up(application_id)
        _log.error("given up", application=str(application_id), home=record.home_subcluster, reason=reason)
        tell(LifeEvent.ENDED, application_id, cluster=record.home_subcluster, state="REJECTED", reason=reason[:500])
        show_as_failed(self._view, application_id, reason[:_LONGEST_REASON], self._clock.now_s())
        return True

    def _now_ms(self) -> int:
        return int(self._clock.now_s() * 1000)


# Failures of applications, kept in the store: a process that starts goes on where the last one stopped.


class KeptFailures:
    """Writes failures down, recalls those of earlier processes once, and forgets those that are settled.

    Bounded by the INTENDED records: nothing is remembered of others.
    """

    def __init__(self, store: StateStore, attempts: DeliveryAttempts, clock: Clock) -> None:
        self._store = store
        self._attempts = attempts
        self._clock = clock
        self._asked: set[ApplicationId] = set()
        self._written: set[ApplicationId] = set()

    async def recalled(
        self, list_intended: Callable[[], Awaitable[Sequence[SubmissionRecord]]]
    ) -> Sequence[SubmissionRecord]:
        """List what is INTENDED, and recall what is kept of it.

        Raises:
            StoreUnavailableError: Nothing was recalled.
        """
        written = frozenset(self._written)  # what is written from here on is of a record that stands
        records = await list_intended()
        progress = {record.submission.application_id for record in records}
        settled = written - progress
        if settled:
            await self._store.forget_delivery_failures(settled)
            self._written -= settled
        self._asked &= progress
        unknown = progress - self._asked
        if unknown:
            await self._recall(unknown)
            self._asked |= unknown
        return records

    async def keep(self, application_id: ApplicationId) -> None:
        """Write down how an application fails; a store that does not take it is told of the next failure."""
        now_s, now_ms = self._clock.monotonic_s(), int(self._clock.now_s() * 1000)
        failure = self._attempts.kept(application_id, now_s=now_s, now_ms=now_ms)
        if failure is None:
            return
        with suppress(StoreError):
            await self._store.note_delivery_failure(failure)
            self._written.add(application_id)

    async def _recall(self, application_ids: set[ApplicationId]) -> None:
        found = await self._store.delivery_failures(sorted(application_ids))
        now_s, now_ms = self._clock.monotonic_s(), int(self._clock.now_s() * 1000)
        for failure in found:
            self._attempts.recall(failure, now_s=now_s, now_ms=now_ms)
            self._written.add(failure.application_id)
