"""Submissions, exactly once.

The intent is in the store before a byte is sent, and every send is preceded by a write that only one Heddle can win.
From then on the same home may be asked and sent to as often as it takes: it takes a known id as done. Another home is
chosen only when the first one provably does not have the request and will not get it.

    received ─ home chosen ─ intent written ─ sent ─ answered ─ 202 ─ settled
                                  │             ├─ refused: settled REJECTED, the home's own answer
                                  │             ├─ never reached: another home, a new intent, sent there
                                  │             └─ silent: 202; `repair` goes on asking
             └─ not its turn: WAITING written ─ 202 ─ (later) home chosen, intent written over it, sent as above
                                  └─ whoever dies here or later: `repair`, on any Heddle
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

from shim.domain.applications import ApplicationSummary
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.same_application import differences
from shim.domain.submissions import NOWHERE, HomeDecision, Submission, SubmissionRecord, SubmissionState, Waited
from shim.domain.submit_replies import Refusal
from shim.errors import (
    ConflictError,
    NoUsableSubClusterError,
    StoreError,
    UnavailableError,
)
from shim.federation.core.federation_view import FederationView
from shim.federation.home_questions import Life, Uncertain, ask_life
from shim.ports.clock import Clock
from shim.ports.resource_manager import ResourceManager
from shim.ports.state_store import StateStore
from shim.submission.claims import Claims
from shim.submission.core.own_tags import check_tags
from shim.submission.crash_points import CrashPoint, CrashPoints, nothing_happens
from shim.submission.delivery import Delivery, NotSent, Refused, Taken, deliver
from shim.submission.delivery_attempts import DeliveryAttempts
from shim.submission.gate import Gate, OpenGate
from shim.submission.homes import Homes
from shim.submission.lost_time import NOTHING_LOST, Past
from shim.submission.same_content import content_hash, is_same_content
from shim.submission.settling import Settling
from shim.telemetry.application_life import LifeEvent, scores_of, tell

__all__ = [
    "Accepted",
    "Listing",
    "Rejected",
    "SubmissionService",
    "SubmissionSettings",
    "SubmissionTools",
    "TakesSubmissions",
]


class Listing(Protocol):
    """Display of applications; implemented by `ApplicationReading`."""

    def mark_submitted(self, submission: Submission, home: SubClusterId) -> None:
        """List it as SUBMITTED until its home tells of it."""
        ...

    def mark_written(self, application_id: ApplicationId) -> None:
        """The next read of it fetches first."""
        ...


@dataclass(frozen=True, slots=True)
class SubmissionTools:
    """Collaborators that bring applications to their homes, at first and in repair.

    Attributes:
        homes: Chooses them.
        view: What is known of the sub-clusters.
        managers: The homes.
        store: Where intents are written.
        listing: Shows applications.
        clock: The machine's.
        new_intent_id: Names an intent as no other is named.
        crash_points: Called at each step of each submission.
        past: Whether the store was restored.
    """

    homes: Homes
    view: FederationView
    managers: Mapping[SubClusterId, ResourceManager]
    store: StateStore
    listing: Listing
    clock: Clock
    new_intent_id: Callable[[], str]
    crash_points: CrashPoints = nothing_happens
    past: Past = NOTHING_LOST


@dataclass(frozen=True, slots=True)
class SubmissionSettings:
    """Limits of submissions.

    Attributes:
        answer_within_s: A client is not kept waiting longer than this by a home that is silent.
        fresh_s: A home whose last report is older is asked whether it is ACTIVE before anything is sent to it.
    """

    answer_within_s: float
    fresh_s: float = 3.0


@dataclass(frozen=True, slots=True)
class Accepted:
    """The federation has the application and will run it: 202.

    Attributes:
        is_delivered: Whether its home has acknowledged it too.
    """

    home_subcluster: SubClusterId
    is_delivered: bool


@dataclass(frozen=True, slots=True)
class Rejected:
    """The home refused it; its own words are passed on."""

    home_subcluster: SubClusterId
    refusal: Refusal


class TakesSubmissions(Protocol):
    """Entrance of submissions that came by any server."""

    async def submit(self, submission: Submission, *, accept: str = "application/json") -> Accepted | Rejected:
        """Take a submission, or hand on its home's refusal; see `SubmissionService.submit`."""
        ...

    async def finish(self) -> None:
        """Return when what homes have taken is written down as taken."""
        ...


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
        """Return when what homes have taken is written down as taken."""
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
        return await asyncio.shield(self._take_off(application_id, self._fly(submission, accept)))

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
        return await asyncio.shield(self._take_off(application_id, self._fly_on(record, decision)))

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

    def _take_off(
        self, application_id: ApplicationId, work: Coroutine[Any, Any, Accepted | Rejected]
    ) -> "asyncio.Task[Accepted | Rejected]":
        flight = asyncio.create_task(work)
        self._flights[application_id] = flight
        flight.add_done_callback(lambda done: self._land(application_id, done))
        return flight

    def _land(self, application_id: ApplicationId, flight: "asyncio.Task[Accepted | Rejected]") -> None:
        self._flights.pop(application_id, None)
        if not flight.cancelled():
            flight.exception()  # whoever waited has heard it

    async def _fly(self, submission: Submission, accept: str) -> Accepted | Rejected:
        deadline_s = self._clock.monotonic_s() + self._settings.answer_within_s
        self._reached(CrashPoint.RECEIVED, submission.application_id)
        try:
            known = await self._known(submission)
            if known is not None:
                return known
            digest = content_hash(submission)
            submission = self._gate.enter(submission)
            objection = self._gate.objection(submission)
            decision = HomeDecision(None, objection, ()) if objection else await self._homes.agree(submission)
            if decision.home_subcluster is None and not objection:
                return await self._known_without_home(submission, digest, decision)
            record = self._intent(submission, digest, decision)
            stands = await self._store.insert_intent(record)
        except StoreError as exc:
            raise UnavailableError(f"the submission was not taken: {exc}") from exc
        if stands.progress != record.progress:
            return self._known_as(stands, submission, digest)
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
        return await self._bring(record, deadline_s, accept)

    async def _fly_on(self, waited: SubmissionRecord, decision: HomeDecision) -> Accepted | Rejected:
        """Write the intent over what waited, which only one Heddle can do, and send."""
        deadline_s = self._clock.monotonic_s() + self._settings.answer_within_s
        intent = self._intent(waited.submission, waited.content_hash, decision)
        told = Waited(waited.intended_at_ms, intent.intended_at_ms, waited.decision.reason)
        record = replace(intent, waited=told)
        await self._store.rehome(record, was=waited.progress)
        self._reached(CrashPoint.REHOMED, record.submission.application_id)
        _tell_home(record, waited_s=(record.intended_at_ms - waited.intended_at_ms) / 1000)
        self.attempts.begin(record)  # what waited was sent nowhere
        self._view.note_submitted_at(record.submission.application_id, told.since_ms)
        self._listing.mark_submitted(record.submission, record.home_subcluster)
        return await self._bring(record, deadline_s, "application/json")

    async def _known(self, submission: Submission) -> Accepted | None:
        """The answer to an application that the view lists already: usually the second try of a client."""
        document = self._view.find(submission.application_id)
        if document is None:
            return await self._known_at_a_cluster(submission)
        record = await self._store.find(submission.application_id)
        if record is None:  # submitted to its sub-cluster directly, or before a restore
            return await self._known_without_record(submission, document.summary)
        if record.state is SubmissionState.REJECTED:
            return None
        known = self._known_as(record, submission, content_hash(submission))
        if not self._view.is_synthetic(submission.application_id):
            # a record proves nothing where a restore brought it back and its id has gone to another application since
            _refuse_another(record.submission, document.summary)
        return known

    async def _known_without_record(self, submission: Submission, listed: ApplicationSummary) -> Accepted | None:
        """The answer to an application that a cluster was last seen to have, and the store has not.

        Nobody would bring it elsewhere if that cluster has lost it since: the cluster's word of now counts, not the
        view's of some seconds ago.

        Raises:
            UnavailableError: The cluster does not say, or has lost it and another one does not say.
        """
        if listed.state.is_final:
            return _repeated(submission, listed)
        application_id, home = submission.application_id, listed.home_subcluster
        sightings = await self._past.look_for([application_id])
        if application_id in sightings.found:
            return _repeated(submission, sightings.found[application_id].summary)
        if sightings.silent:
            raise UnavailableError(
                f"{application_id} was last seen at {home}, and {', '.join(sightings.silent)} does not say now who has"
                " it; repeat the submission"
            )
        return None if home in sightings.told else _repeated(submission, listed)

    async def _known_at_a_cluster(self, submission: Submission) -> Accepted | None:
        """The answer to a submission under an id that the store does not vouch for; clusters are asked by id.

        Raises:
            UnavailableError: The id is from before a restore, and a cluster that may know it does not say.
        """
        application_id = submission.application_id
        is_lost_time = self._past.is_lost_time(application_id)
        if not is_lost_time and not self._past.is_foreign(application_id):
            return None
        if await self._store.find(application_id) is not None:
            return None
        sightings = await self._past.look_for([application_id])
        if application_id in sightings.found:
            return _repeated(submission, sightings.found[application_id].summary)
        if is_lost_time and sightings.silent:
            raise UnavailableError(
                f"{application_id} is from before the state store was restored, and {', '.join(sightings.silent)} "
                "cannot say now whether it is there; repeat the call"
            )
        return None

    def _known_as(self, stands: SubmissionRecord, wanted: Submission, digest: bytes) -> Accepted:
        _refuse_other_user(stands.submission.user, wanted)
        if not is_same_content(stands, wanted, digest):
            message = f"{wanted.application_id} was submitted before with another content; ask for a new id"
            raise ConflictError(message)
        is_delivered = self.is_taken(wanted.application_id) or stands.state is SubmissionState.SUBMITTED
        if not is_delivered and stands.state is SubmissionState.INTENDED:
            self._listing.mark_submitted(stands.submission, stands.home_subcluster)
        return Accepted(stands.home_subcluster, is_delivered=is_delivered)

    async def _known_without_home(self, submission: Submission, digest: bytes, decision: HomeDecision) -> Accepted:
        """Answer for a submission that no sub-cluster may take now; it may have been taken before."""
        stands = await self._store.find(submission.application_id)
        if stands is not None and stands.state is not SubmissionState.REJECTED:
            return self._known_as(stands, submission, digest)
        reasons = "; ".join(f"{candidate.subcluster}: {candidate.reason}" for candidate in decision.candidates)
        raise NoUsableSubClusterError(f"{decision.reason} ({reasons})" if reasons else decision.reason)

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

    async def _bring(self, record: SubmissionRecord, deadline_s: float, accept: str) -> Accepted | Rejected:
        """Send to the home; while that is provably not reached, to another."""
        tried: dict[SubClusterId, str] = {}
        while True:
            delivery = await self._send(record, deadline_s, accept)
            match delivery:
                case Taken():
                    return self._taken(record)
                case Refused(refusal):
                    return await self._settle_refused(record, refusal)
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

    async def _move(self, record: SubmissionRecord, tried: Mapping[SubClusterId, str]) -> SubmissionRecord | None:
        """Write an intent for another home; None if there is none, or another Heddle has taken the matter up."""
        decision = await self._homes.agree(record.submission, excluded=tried)
        if decision.home_subcluster is None:
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


def _tell_home(record: SubmissionRecord, **facts: float | str) -> None:
    tell(
        LifeEvent.HOME_CHOSEN,
        record.submission.application_id,
        home=record.home_subcluster,
        scores=scores_of(record.decision),
        reason=record.decision.reason,
        **facts,
    )


def _repeated(submission: Submission, seen: ApplicationSummary) -> Accepted:
    """The answer to a submission whose id a cluster knows and the store does not.

    Raises:
        ConflictError: It is another application.
    """
    _refuse_another(submission, seen, with_queue=True)
    return Accepted(seen.home_subcluster, is_delivered=True)


def _refuse_another(submission: Submission, seen: ApplicationSummary, *, with_queue: bool = False) -> None:
    found = differences(submission, seen, with_queue=with_queue)
    if found:
        message = (
            f"{submission.application_id} is known at sub-cluster {seen.home_subcluster} as another application "
            f"({'; '.join(found)}); ask for a new id"
        )
        raise ConflictError(message)


def _refuse_other_user(owner: str, submission: Submission) -> None:
    if owner != submission.user:
        raise ConflictError(f"{submission.application_id} is known and belongs to another user; ask for a new id")
