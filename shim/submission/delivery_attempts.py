"""Deliveries by this process: its knowledge of its attempts to bring applications to their homes.

Two questions are answered from it. *When is the next attempt?* An application that fails while its home is well is
tried again after a pause that doubles; its failures delay no other. *May anything still be on its way?* A request that
was never answered may be carried out when its home wakes. Where every request was answered, or provably not sent, an
application that its home does not know runs nowhere, and may be given up.

Failures are kept in the store, and recalled by the next process. Each send has an intent of its own, written before it.
So what is kept of the intent that stands tells of all sends before. What else an earlier process or another Heddle sent
counts as on its way: until the home has started anew, which ends every request to its old life.

Writes down that homes have taken their submissions: behind the answers, and many at once.

The intent is on the disk and the home has acknowledged: nothing can be lost any more, so the client need not wait for a
second flush of the disk. Who dies before the note is written leaves an intent, and `repair` asks the home about it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from shim.concurrency.keep_going import aside
from shim.domain.ids import ApplicationId
from shim.domain.submissions import DeliveryFailure, SubmissionProgress, SubmissionRecord
from shim.errors import StoreError
from shim.federation.home_questions import Uncertain
from shim.ports.clock import Clock
from shim.ports.state_store import StateStore
from shim.submission.crash_points import CrashPoint, CrashPoints, nothing_happens
from shim.submission.delivery import Delivery, NotSent

_MOST_REMEMBERED = 100_000


@dataclass(frozen=True, slots=True)
class BackOff:
    """Limits of attempts.

    Attributes:
        first_pause_s: After the first failure; twice as long after each other one,
        longest_pause_s: and never longer than this.
        give_up_s: so long after the first one, an application that provably runs nowhere is given up.
    """

    first_pause_s: float = 2.0
    longest_pause_s: float = 300.0
    give_up_after: int = 10
    give_up_s: float = 900.0

    def pause_s(self, failures: int) -> float:
        """Seconds to wait after so many failures."""
        return min(self.longest_pause_s, self.first_pause_s * 2.0 ** min(failures - 1, 30))


@dataclass(slots=True)
class Attempts:
    """Attempts of one application.

    Attributes:
        open_ms: When something was sent that may still be on its way; None if nothing is.
        failures: While its home was well.
        failed_since_s: When the first of them was, by the monotonic clock; `next_s` likewise.
        reason: Of the last failure.
        home_started_on_ms: The life of the home that it failed in.
    """

    intent_id: str
    open_ms: int | None
    failures: int = 0
    failed_since_s: float = 0.0
    next_s: float = 0.0
    reason: str = ""
    home_started_on_ms: int = 0


class DeliveryAttempts:
    """Attempts by application; bounded, the oldest forgotten first. Who is forgotten counts as on its way."""

    def __init__(self, back_off: BackOff | None = None) -> None:
        self.back_off = back_off or BackOff()
        self.given_up = 0
        self._known: OrderedDict[ApplicationId, Attempts] = OrderedDict()

    @property
    def failing(self) -> Mapping[ApplicationId, Attempts]:
        """Applications that fail while their homes are well."""
        return {application_id: each for application_id, each in self._known.items() if each.failures}

    def find(self, application_id: ApplicationId) -> Attempts | None:
        """Attempts of an application; None if there were none."""
        return self._known.get(application_id)

    def begin(self, record: SubmissionRecord) -> None:
        """A first intent was written here: nothing was sent before it."""
        self._put(record.submission.application_id, Attempts(record.intent_id, None))

    def follow(self, intent: SubmissionRecord, was: SubmissionProgress) -> None:
        """An intent was written here over what stood: if that was written elsewhere, it may have been sent."""
        known = self._of(was)
        known.intent_id = intent.intent_id
        self._put(was.application_id, known)

    async def watch(self, application_id: ApplicationId, sending: Awaitable[Delivery], *, at_ms: int) -> Delivery:
        """Send, and remember whether what was sent may still be on its way."""
        known = self._known.get(application_id)
        if known is None:
            return await sending
        before, known.open_ms = known.open_ms, at_ms  # whoever is cancelled meanwhile leaves it open
        delivery = await sending
        if isinstance(delivery, NotSent) or (isinstance(delivery, Uncertain) and delivery.is_answered):
            known.open_ms = before
        return delivery

    def failed(self, progress: SubmissionProgress, reason: str, *, started_on_ms: int, now_s: float) -> Attempts:
        """Note a failure of an application whose home, in this life, is well."""
        known = self._of(progress)
        if known.home_started_on_ms != started_on_ms:
            known.failures, known.home_started_on_ms = 0, started_on_ms
        known.failures += 1
        known.failed_since_s = now_s if known.failures == 1 else known.failed_since_s
        known.next_s = now_s + self.back_off.pause_s(known.failures)
        known.reason = reason
        self._put(progress.application_id, known)
        return known

    def kept(self, application_id: ApplicationId, *, now_s: float, now_ms: int) -> DeliveryFailure | None:
        """A failure as the store keeps it; None if there is none.

        Args:
            now_s: The monotonic clock, by which times are known here.
            now_ms: The same moment, since the epoch.
        """
        known = self._known.get(application_id)
        if known is None or not known.failures:
            return None
        return DeliveryFailure(
            application_id,
            known.intent_id,
            known.open_ms,
            known.failures,
            now_ms - int((now_s - known.failed_since_s) * 1000),
            now_ms + int((known.next_s - now_s) * 1000),
            known.reason,
            known.home_started_on_ms,
        )

    def recall(self, failure: DeliveryFailure, *, now_s: float, now_ms: int) -> None:
        """Know what an earlier process has kept; nothing of what is known here is overwritten.

        The clock may have been set since: nothing failed later than now, and no pause is longer than the longest.
        """
        if failure.application_id in self._known:
            return
        pause_s = min((failure.next_at_ms - now_ms) / 1000, self.back_off.longest_pause_s)
        since_s = max(0.0, (now_ms - failure.failed_since_ms) / 1000)
        known = Attempts(
            failure.intent_id,
            failure.open_ms,
            failure.failures,
            now_s - since_s,
            now_s + pause_s,
            failure.reason,
            failure.home_started_on_ms,
        )
        self._put(failure.application_id, known)

    def is_due(self, application_id: ApplicationId, *, started_on_ms: int, now_s: float) -> bool:
        """True if the next attempt may begin: the pause is over, or its home has started anew."""
        known = self._known.get(application_id)
        return known is None or known.home_started_on_ms != started_on_ms or now_s >= known.next_s

    def has_failed(self, application_id: ApplicationId) -> bool:
        """True if it has failed while its home was well."""
        known = self._known.get(application_id)
        return known is not None and known.failures > 0

    def close_before(self, progress: SubmissionProgress, started_ms: float) -> None:
        """Note that all that was sent before this time has died with the old life of its home."""
        known = self._of(progress)
        if known.open_ms is not None and known.open_ms < started_ms:
            known.open_ms = None
        self._put(progress.application_id, known)

    def has_none_on_its_way(self, progress: SubmissionProgress) -> bool:
        """True if provably nothing that was sent of it, by anybody, may still be carried out."""
        known = self._known.get(progress.application_id)
        return known is not None and known.intent_id == progress.intent_id and known.open_ms is None

    def note_refused(self, progress: SubmissionProgress) -> None:
        """Note that its only request was refused: nothing is on its way any more."""
        known = self._of(progress)
        known.open_ms = None
        self._put(progress.application_id, known)

    def is_hopeless(self, progress: SubmissionProgress, now_s: float) -> bool:
        """True if it has failed long enough, and provably nothing of it is on its way."""
        known = self._known.get(progress.application_id)
        return (
            known is not None
            and self.has_none_on_its_way(progress)
            and known.failures >= self.back_off.give_up_after
            and now_s - known.failed_since_s >= self.back_off.give_up_s
        )

    def note_given_up(self, application_id: ApplicationId) -> None:
        self.given_up += 1
        self.forget(application_id)

    def forget(self, application_id: ApplicationId) -> None:
        self._known.pop(application_id, None)

    def _of(self, progress: SubmissionProgress) -> Attempts:
        known = self._known.get(progress.application_id)
        if known is None:
            return Attempts(progress.intent_id, progress.intended_at_ms)
        if known.intent_id != progress.intent_id:  # another Heddle has written it since, and may have sent
            known.intent_id = progress.intent_id
            known.open_ms = max(known.open_ms or 0, progress.intended_at_ms)
        return known

    def _put(self, application_id: ApplicationId, known: Attempts) -> None:
        self._known[application_id] = known
        self._known.move_to_end(application_id)
        while len(self._known) > _MOST_REMEMBERED:
            self._known.popitem(last=False)


_GATHER_S = 0.05  # as long as a person does not notice; a hundred submissions then share a flush


class Settling:
    """Submissions that their homes have taken, and that are not yet SUBMITTED in the store."""

    def __init__(self, store: StateStore, clock: Clock, *, crash_points: CrashPoints = nothing_happens) -> None:
        self._store = store
        self._clock = clock
        self._reached = crash_points
        self._waiting: set[ApplicationId] = set()
        self._writer: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> frozenset[ApplicationId]:
        return frozenset(self._waiting)

    def note(self, application_id: ApplicationId) -> None:
        """Note soon that the application's home has acknowledged it."""
        self._waiting.add(application_id)
        if self._writer is None:
            self._writer = aside("notes of what homes have taken", self._write_until_none_waits())

    async def finish(self) -> None:
        if self._writer is not None:
            await asyncio.shield(self._writer)

    async def _write_until_none_waits(self) -> None:
        try:
            while self._waiting:
                await self._clock.sleep(_GATHER_S)
                await self._write(tuple(self._waiting))
        finally:
            self._writer = None

    async def _write(self, application_ids: Sequence[ApplicationId]) -> None:
        try:
            with suppress(StoreError):  # their homes have them and the intents are safe: the repair settles them
                await self._store.note_taken(application_ids)
        finally:
            self._waiting.difference_update(application_ids)
        for application_id in application_ids:
            self._reached(CrashPoint.SETTLED, application_id)
