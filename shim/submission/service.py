"""Submissions, exactly once.

The intent is in the store before a byte is sent, and every send is preceded by a write that only one Heddle can win.
From then on the same home may be asked and sent to as often as it takes: it takes a known id as done. Another home is
chosen only when the first one provably does not have the request and will not get it.

    received ─ home chosen ─ intent written ─ sent ─ answered ─ 202 ─ settled
                                  │             ├─ refused: settled REJECTED, the home's own answer
                                  │             ├─ refused for its size: once another home, a new intent, sent there
                                  │             ├─ never reached: another home, a new intent, sent there
                                  │             └─ silent: 202; `repair` goes on asking
             └─ not its turn: WAITING written ─ 202 ─ (later) home chosen, intent written over it, sent as above
                                  └─ whoever dies here or later: `repair`, on any Heddle
"""

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import (
    NOWHERE,
    HomeDecision,
    Refusal,
    Submission,
    SubmissionRecord,
    SubmissionState,
    Waited,
)
from shim.errors import (
    StoreError,
    UnavailableError,
)
from shim.federation.home_questions import Life, Uncertain, ask_life
from shim.submission.claims import Claims
from shim.submission.core.home_refusals import INVALID_RESOURCE, refused_for_size
from shim.submission.core.own_tags import check_tags
from shim.submission.crash_points import CrashPoint
from shim.submission.delivery import Delivery, NotSent, Refused, Taken, deliver
from shim.submission.delivery_attempts import DeliveryAttempts, Settling
from shim.submission.entrance import Accepted, Rejected
from shim.submission.gate import Gate, OpenGate
from shim.submission.known_applications import KnownApplications, content_hash
from shim.submission.tools import SubmissionTools
from shim.telemetry.application_life import LifeEvent, scores_of, tell


@dataclass(frozen=True, slots=True)
class SubmissionSettings:
    """Limits of submissions.

    Attributes:
        answer_within_s: A client is not kept waiting longer than this by a home that is silent.
        fresh_s: A home whose last report is older is asked whether it is ACTIVE before anything is sent to it.
    """

    answer_within_s: float
    fresh_s: float = 3.0


class SubmissionService:
    """Takes submissions; one flight for each application id at a time."""

    def __init__(self, tools: SubmissionTools, *, settings: SubmissionSettings, gate: Gate | None = None) -> None:
        self._homes = tools.homes
        self._view = tools.view
        self._managers = tools.managers
        self._store = tools.store
        self._listing = tools.listing
        self._clock = tools.clock
        self._settings = settings
        self._gate = gate or OpenGate()
        self._new_intent_id = tools.new_intent_id
        self._reached = tools.crash_points
        self._past = tools.past
        self._reservations = tools.reservations
        self._known = KnownApplications(
            view=tools.view, store=tools.store, past=tools.past, listing=tools.listing, is_taken=self.is_taken
        )
        self._claims = Claims(tools.store, tools.view, tools.clock)
        self._settling = Settling(tools.store, tools.clock, crash_points=tools.crash_points)
        self.attempts = DeliveryAttempts()
        self._flights: dict[ApplicationId, asyncio.Task[Accepted | Rejected]] = {}

    @property
    def in_flight(self) -> frozenset[ApplicationId]:
        """Applications that this process is submitting right now; nobody else here may touch them."""
        return self._settling.waiting.union(self._flights)

    def is_taken(self, application_id: ApplicationId) -> bool:
        """True if its home has acknowledged it to this process just now, though the store does not say so yet."""
        return application_id in self._settling.waiting

    async def finish(self) -> None:
        await self._settling.finish()

    async def submit(self, submission: Submission, *, accept: str = "application/json") -> Accepted | Rejected:
        """Take a submission, or hand on its home's refusal.

        A client that goes away does not stop it.

        Args:
            submission: What to run; its id need not be one that the federation issued.
            accept: In which representation the home should refuse.

        Raises:
            BadRequestError: It has a tag that is Heddle's own, or one that names a deadline and is none.
            ConflictError: The id is known with another content or user.
            ResourceRequestError: Its ApplicationMaster is larger than any sub-cluster can ever start in its queue.
            ForbiddenError: The policy does not let the user submit to that queue.
            NoUsableSubClusterError: No sub-cluster may take it now; says why for each.
            UnavailableError: The state store does not take it. The same submission may be repeated.
        """
        check_tags(submission.tags)
        application_id = submission.application_id
        flight = self._flights.get(application_id)
        if flight is not None:
            await asyncio.wait({flight})
            return await self.submit(submission, accept=accept)
        return await asyncio.shield(self._begin(application_id, self._submit(submission, accept)))

    async def start(self, record: SubmissionRecord) -> Accepted | Rejected | HomeDecision:
        """Bring an application that waited to a home: its turn has come.

        Returns:
            How that ended, or the decision without a home: then it waits on.

        Raises:
            StoreError: Nothing was sent: the store is away, or it has been killed or started by another Heddle.
        """
        application_id = record.submission.application_id
        flight = self._flights.get(application_id)
        if flight is not None:
            return await asyncio.shield(flight)
        if self._past.concerns(record.progress):
            found = await self._started_before(record)
            if found is not None:
                return found
        decision = await self._homes.agree(record.submission)
        if decision.home_subcluster is None:
            return decision
        if decision.refusal is not None and decision.refusal.java_class == INVALID_RESOURCE:
            return replace(decision, home_subcluster=None)  # it would be taken, and never start
        return await asyncio.shield(self._begin(application_id, self._submit_waiting(record, decision)))

    async def _started_before(self, record: SubmissionRecord) -> Accepted | HomeDecision | None:
        """Find a waiting record that was started in the lost time of a restored store; None if it surely was not."""
        application_id = record.submission.application_id
        sightings = await self._past.look_for([application_id])
        sighting = sightings.found.get(application_id)
        if sighting is not None:
            await self._claims.take_over(record, sighting)
            return Accepted(sighting.summary.home_subcluster, is_delivered=True)
        if sightings.silent:
            names = ", ".join(sightings.silent)
            return HomeDecision(None, f"it may have started before the store was restored: {names} cannot say now", ())
        return None

    def _begin(
        self, application_id: ApplicationId, work: Coroutine[Any, Any, Accepted | Rejected]
    ) -> "asyncio.Task[Accepted | Rejected]":
        flight = asyncio.create_task(work)
        self._flights[application_id] = flight
        flight.add_done_callback(lambda done: self._record_answer(application_id, done))
        return flight

    def _record_answer(self, application_id: ApplicationId, flight: "asyncio.Task[Accepted | Rejected]") -> None:
        self._flights.pop(application_id, None)
        if not flight.cancelled():
            flight.exception()  # whoever waited has heard it

    async def _submit(self, submission: Submission, accept: str) -> Accepted | Rejected:
        deadline_s = self._clock.monotonic_s() + self._settings.answer_within_s
        self._reached(CrashPoint.RECEIVED, submission.application_id)
        try:
            known = await self._known.find(submission)
            if known is not None:
                return known
            digest = content_hash(submission)
            submission = self._gate.enter(await self._reservations.with_deadline(submission, self._gate.queue_of))
            objection = self._gate.objection(submission)
            decision = self._homes.preview(submission) if objection else await self._homes.agree(submission)
            if objection and decision.refusal is None:
                decision = HomeDecision(None, objection, ())
            elif decision.home_subcluster is None or decision.refusal is not None:
                return await self._known.without_home(submission, digest, decision)
            record = self._intent(submission, digest, decision)
            stands = await self._store.insert_intent(record)
        except StoreError as exc:
            raise UnavailableError(f"the submission was not taken: {exc}") from exc
        if stands.progress != record.progress:
            return self._known.as_known(stands, submission, digest)
        self._reached(CrashPoint.INTENT_WRITTEN, submission.application_id)
        tell(
            LifeEvent.SUBMITTED,
            submission.application_id,
            user=submission.user,
            queue=submission.queue,
            type=submission.application_type,
        )
        if objection:
            tell(LifeEvent.WAITS, submission.application_id, queue=submission.queue, reason=objection)
            self._gate.note_waiting(record)
            return Accepted(NOWHERE, is_delivered=False)
        _tell_home(record)
        self.attempts.begin(record)
        return await self._deliver(record, deadline_s, accept)

    async def _submit_waiting(self, waited: SubmissionRecord, decision: HomeDecision) -> Accepted | Rejected:
        """Write the intent over what waited, which only one Heddle can do, and send."""
        deadline_s = self._clock.monotonic_s() + self._settings.answer_within_s
        intent = self._intent(waited.submission, waited.content_hash, decision)
        told = Waited(waited.intended_at_ms, intent.intended_at_ms, waited.decision.reason)
        record = replace(intent, waited=told)
        await self._store.rehome(record, was=waited.progress)
        self._reached(CrashPoint.REHOMED, record.submission.application_id)
        _tell_home(record, waited_s=(record.intended_at_ms - waited.intended_at_ms) / 1000)
        self.attempts.begin(record)  # what waited was sent nowhere
        self._view.applications.submit_times.note(record.submission.application_id, told.since_ms)
        self._listing.mark_submitted(record.submission, record.home_subcluster)
        return await self._deliver(record, deadline_s, "application/json")

    def _intent(self, submission: Submission, digest: bytes, decision: HomeDecision) -> SubmissionRecord:
        """Record that is written before anything is sent; a decision without a home is to wait."""
        home = decision.home_subcluster
        return SubmissionRecord(
            submission=submission,
            content_hash=digest,
            home_subcluster=NOWHERE if home is None else home,
            home_started_on_ms=0 if home is None else self._homes.started_on_ms(home),
            state=SubmissionState.WAITING if home is None else SubmissionState.INTENDED,
            intended_at_ms=int(self._clock.now_s() * 1000),
            decision=decision,
            intent_id=self._new_intent_id(),
        )

    async def _deliver(self, record: SubmissionRecord, deadline_s: float, accept: str) -> Accepted | Rejected:
        """Send to the home; while that is provably not reached, to another; to one more if it refuses for the size."""
        tried: dict[SubClusterId, str] = {}
        first: _RefusedForSize | None = None
        while True:
            is_alone = self.attempts.has_none_on_its_way(record.progress)
            delivery = await self._send(record, deadline_s, accept)
            match delivery:
                case Taken():
                    return self._taken(record)
                case Refused(refusal):
                    moved = None
                    if refusal.is_of_size and first is None and is_alone:
                        self.attempts.note_refused(record.progress)
                        first = _RefusedForSize(record.home_subcluster, refusal)
                        tried[record.home_subcluster] = refused_for_size(refusal)
                        moved = await self._move(record, tried, is_answered=True)
                    if moved is None:
                        return await self._settle_refused(record, self._of_the_larger(record, refusal, first))
                    record = moved
                case NotSent(reason):
                    tried[record.home_subcluster] = reason
                    moved = await self._move(record, tried)
                    if moved is None:
                        break
                    record = moved
                case Uncertain():
                    break
        self._listing.mark_submitted(record.submission, record.home_subcluster)
        return Accepted(record.home_subcluster, is_delivered=False)

    async def _send(self, record: SubmissionRecord, deadline_s: float, accept: str) -> Delivery:
        """Send within what is left of the time; nothing is begun when it is over."""
        manager = self._managers[record.home_subcluster]
        if self._homes.age_s(record.home_subcluster) > self._settings.fresh_s:
            life = await ask_life(manager, timeout_s=max(0.1, deadline_s - self._clock.monotonic_s()))
            if not isinstance(life, Life):
                return NotSent(life.reason)
        left_s = deadline_s - self._clock.monotonic_s()
        if left_s <= 0:
            return Uncertain("no time left")  # by now the repair may have begun elsewhere
        self._reached(CrashPoint.SENDING, record.submission.application_id)
        sent = self._homes.as_sent_to(record.home_subcluster, record.submission)
        delivery = await self.attempts.watch(
            record.submission.application_id,
            deliver(manager, sent, timeout_s=left_s, accept=accept),
            at_ms=int(self._clock.now_s() * 1000),
        )
        self._reached(CrashPoint.ANSWERED, record.submission.application_id)
        return delivery

    async def _move(
        self, record: SubmissionRecord, tried: Mapping[SubClusterId, str], *, is_answered: bool = False
    ) -> SubmissionRecord | None:
        """Write an intent for another home; None if there is none, or another Heddle has taken the matter up.

        Args:
            tried: Homes that have nothing of it, and why.
            is_answered: Whether the last of them has refused it: what every other one would refuse, too, stays there.
        """
        decision = await self._homes.agree(record.submission, excluded=tried)
        if decision.home_subcluster is None or decision.refusal is not None:
            return None
        if is_answered and decision.is_lasting:
            return None
        moved = replace(self._intent(record.submission, record.content_hash, decision), waited=record.waited)
        try:
            await self._store.rehome(moved, was=record.progress)
        except StoreError:
            return None  # the record stands, and is repaired from there
        _tell_home(moved, instead_of=record.home_subcluster)
        self.attempts.follow(moved, record.progress)
        self._reached(CrashPoint.REHOMED, record.submission.application_id)
        return moved

    def _of_the_larger(self, record: SubmissionRecord, refusal: Refusal, first: "_RefusedForSize | None") -> Refusal:
        """Of two refusals for the size, that of the home which grants more."""
        if first is None or not refusal.is_of_size:
            return refusal
        now_s = self._clock.now_s()
        here, there = (
            self._view.look(home, now_s).maximum_allocation for home in (record.home_subcluster, first.subcluster)
        )
        return first.refusal if there.memory_mib > here.memory_mib else refusal

    def _taken(self, record: SubmissionRecord) -> Accepted:
        self.attempts.forget(record.submission.application_id)
        self._settling.note(record.submission.application_id)
        self._listing.mark_submitted(record.submission, record.home_subcluster)
        return Accepted(record.home_subcluster, is_delivered=True)

    async def _settle_refused(self, record: SubmissionRecord, refusal: Refusal) -> Rejected | Accepted:
        application_id = record.submission.application_id
        self.attempts.forget(application_id)
        rejection = refusal.text
        with suppress(StoreError):  # the intent stands: the repair sends it again and is refused again
            await self._store.settle(application_id, SubmissionState.REJECTED, rejection=rejection)
        tell(LifeEvent.ENDED, application_id, cluster=record.home_subcluster, state="REJECTED", reason=rejection[:500])
        self._reached(CrashPoint.SETTLED, application_id)
        return Rejected(record.home_subcluster, refusal)


@dataclass(frozen=True, slots=True)
class _RefusedForSize:
    """A home that refused an application for its size, in its own words."""

    subcluster: SubClusterId
    refusal: Refusal


def _tell_home(record: SubmissionRecord, **facts: float | str) -> None:
    tell(
        LifeEvent.HOME_CHOSEN,
        record.submission.application_id,
        home=record.home_subcluster,
        scores=scores_of(record.decision),
        reason=record.decision.reason,
        **facts,
    )
