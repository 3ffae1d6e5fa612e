"""Sending again: a new intent, which only one Heddle can write, and the application to the home that it names.

By the repair, by a sweep of what was acknowledged and lost, and from a home that was retired.
"""

import json
from contextlib import suppress
from dataclasses import replace

import structlog

from shim.domain.applications import FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationId
from shim.domain.subclusters import ApplicationDocument
from shim.domain.submissions import Refusal, SubmissionProgress, SubmissionRecord, SubmissionState
from shim.errors import StoreError, VersionConflictError
from shim.federation.core.federation_view import FederationView
from shim.federation.home_questions import Life
from shim.submission.claims import Claims
from shim.submission.core.home_refusals import refused_for_size, was_refused_for_size
from shim.submission.crash_points import CrashPoint
from shim.submission.delivery import Refused, Taken, deliver
from shim.submission.delivery_attempts import DeliveryAttempts
from shim.submission.reservations import reservation_of
from shim.submission.tools import SubmissionTools, find_standing
from shim.telemetry.application_life import LifeEvent, scores_of, tell

_log = structlog.get_logger("heddle.repair")


class Resending:
    """Sends applications of which there is a record."""

    def __init__(
        self, tools: SubmissionTools, attempts: DeliveryAttempts, *, answer_within_s: float, proof_s: float
    ) -> None:
        """Take what it works with; the limits are those of `RepairSettings`."""
        self._homes = tools.homes
        self._view = tools.view
        self._managers = tools.managers
        self._store = tools.store
        self._listing = tools.listing
        self._clock = tools.clock
        self._new_intent_id = tools.new_intent_id
        self._reached = tools.crash_points
        self._past = tools.past
        self._claims = Claims(tools.store, tools.view, tools.clock)
        self._attempts = attempts
        self._answer_within_s = answer_within_s
        self._proof_s = proof_s

    async def send_again(self, progress: SubmissionProgress, life: Life) -> str:
        """Write a new intent, which only one Heddle can do, and send for it.

        Args:
            progress: Of its record, as it stands: INTENDED, or SUBMITTED and lost.
            life: Of its home, which said in it that it does not know the application.

        Returns:
            Why it is not delivered; empty if the home, or another Heddle, has dealt with it.
        """
        begun_s = self._clock.monotonic_s()
        record = await find_standing(self._store, progress)
        if record is None:
            return ""  # another Heddle was first
        intent = await self._next_intent(record, life)
        has_moved = intent.home_subcluster != record.home_subcluster
        why = "its home restarted without it" if has_moved else "its home does not know it"
        return await self.send(intent, was=progress, since_s=begun_s, why=why)

    async def _may_be_sent(self, record: SubmissionRecord) -> bool:
        """True if a record from before a restore surely was not sent in the lost time; if it was, it is settled there.

        Everything that is sent again passes here: by the repair, by a sweep, or from a retired home.
        """
        application_id = record.submission.application_id
        sightings = await self._past.look_for([application_id])
        sighting = sightings.found.get(application_id)
        if sighting is not None:
            await self._claims.take_over(record, sighting)
            self._listing.mark_written(application_id)
        elif sightings.silent:
            names = ", ".join(sightings.silent)
            _log.info("from before a restore: may be at another cluster", application=str(application_id), silent=names)
        return sighting is None and not sightings.silent

    async def send(self, intent: SubmissionRecord, *, was: SubmissionProgress, since_s: float, why: str) -> str:
        """Write an intent over what stands, and send for it; returns as `send_again`.

        Args:
            since_s: When its home last reported; by the monotonic clock.
        """
        if self._past.concerns(was):
            if not await self._may_be_sent(_as_it_stood(intent, was)):
                return ""  # it is there, or waits; others may be sent
            since_s = self._clock.monotonic_s()  # its home was among those that were asked
        try:
            await self._store.rehome(intent, was=was)
        except VersionConflictError:
            return ""  # another Heddle was first, and sends
        tell(
            LifeEvent.REPAIRED,
            intent.submission.application_id,
            home=intent.home_subcluster,
            was=was.home_subcluster,
            state=was.state.value,
            reason=why,
            scores=scores_of(intent.decision) if intent.home_subcluster != was.home_subcluster else {},
        )
        self._attempts.follow(intent, was)
        home, application_id = intent.home_subcluster, intent.submission.application_id
        self._listing.mark_submitted(intent.submission, home)
        self._reached(CrashPoint.REHOMED, application_id)
        within_s = self._answer_within_s
        if self._clock.monotonic_s() - since_s > within_s:
            return "the store took too long to rely on what the home said"
        self._reached(CrashPoint.SENDING, application_id)
        sent = self._homes.as_sent_to(home, intent.submission)
        is_alone = self._attempts.has_none_on_its_way(intent.progress)
        delivery = await self._attempts.watch(
            application_id, deliver(self._managers[home], sent, timeout_s=within_s), at_ms=self._now_ms()
        )
        self._reached(CrashPoint.ANSWERED, application_id)
        match delivery:
            case Taken():
                await self.settle_taken(intent)
            case Refused(refusal):
                moved = await self._elsewhere(intent, refusal) if is_alone else None
                if moved is not None:
                    began_s = self._clock.monotonic_s()
                    return await self.send(moved, was=intent.progress, since_s=began_s, why="its home refused its size")
                await self._settle_refused(intent, refusal.text)
            case _:
                _log.info("not delivered yet", application=str(application_id), home=home, reason=delivery.reason)
                return delivery.reason
        return ""

    async def _elsewhere(self, intent: SubmissionRecord, refusal: Refusal) -> SubmissionRecord | None:
        """An intent for another home of what was refused for its size, once; nothing else of it was on its way."""
        has_moved = any(was_refused_for_size(candidate) for candidate in intent.decision.candidates)
        if not refusal.is_of_size or has_moved:
            return None
        self._attempts.note_refused(intent.progress)
        excluded = {intent.home_subcluster: refused_for_size(refusal)}
        decision = await self._homes.agree(intent.submission, excluded=excluded)
        home = decision.home_subcluster
        if home is None or decision.is_lasting:
            return None
        return replace(
            intent,
            home_subcluster=home,
            home_started_on_ms=self._homes.started_on_ms(home),
            intended_at_ms=self._now_ms(),
            decision=decision,
            intent_id=self._new_intent_id(),
        )

    async def _next_intent(self, record: SubmissionRecord, life: Life) -> SubmissionRecord:
        """The same home in its present life; another only if this one provably does not have the application."""
        intent = replace(
            record,
            state=SubmissionState.INTENDED,
            home_started_on_ms=life.started_on_ms,
            intended_at_ms=self._now_ms(),
            intent_id=self._new_intent_id(),
        )
        is_bound = bool(reservation_of(record.submission))  # no other home has its reservation
        if record.state is not SubmissionState.INTENDED or is_bound or not self.is_gone(record, life):
            return intent
        decision = await self._homes.agree(record.submission)
        home = decision.home_subcluster
        if home is None or home == record.home_subcluster or decision.refusal is not None:
            return intent
        return replace(
            intent, home_subcluster=home, home_started_on_ms=self._homes.started_on_ms(home), decision=decision
        )

    def is_gone(self, record: SubmissionRecord, life: Life) -> bool:
        """True if the home started so long after the last send that the request died with its old life."""
        if life.started_on_ms == record.home_started_on_ms:
            return False
        skew_ms = self._view.look(record.home_subcluster, self._clock.now_s()).clock_skew_s * 1000
        return life.started_on_ms - skew_ms - record.intended_at_ms > self._proof_s * 1000

    async def settle_taken(self, record: SubmissionRecord) -> None:
        application_id = record.submission.application_id
        with suppress(StoreError):  # the intent stands; the next pass finds the same
            await self._store.settle(application_id, SubmissionState.SUBMITTED)
        self._attempts.forget(application_id)
        self._reached(CrashPoint.SETTLED, application_id)
        self._listing.mark_written(application_id)

    async def _settle_refused(self, record: SubmissionRecord, rejection: str) -> None:
        """A refusal after the client heard 202 is shown as an application that failed."""
        application_id = record.submission.application_id
        with suppress(StoreError):  # the intent stands; the next pass is refused again
            await self._store.settle(application_id, SubmissionState.REJECTED, rejection=rejection)
        self._attempts.forget(application_id)
        show_as_failed(self._view, application_id, rejection, self._clock.now_s())

    def _now_ms(self) -> int:
        return int(self._clock.now_s() * 1000)


def _as_it_stood(intent: SubmissionRecord, was: SubmissionProgress) -> SubmissionRecord:
    """The record that a new intent is meant to replace."""
    return replace(
        intent,
        state=was.state,
        home_subcluster=was.home_subcluster,
        home_started_on_ms=was.home_started_on_ms,
        intended_at_ms=was.intended_at_ms,
        intent_id=was.intent_id,
    )


def show_as_failed(view: FederationView, application_id: ApplicationId, rejection: str, at_s: float) -> None:
    """Show an application as failed from now on, if it is listed; see `as_failed`."""
    document = view.applications.find(application_id)
    if document is not None:
        view.applications.note(as_failed(document, rejection, at_s))


def as_failed(document: ApplicationDocument, rejection: str, at_s: float) -> ApplicationDocument:
    """The document of an application that was listed as SUBMITTED and then refused by its home."""
    finished_at_ms = int(at_s * 1000)
    raw = json.loads(document.raw)
    raw |= {"state": "FAILED", "finalStatus": "FAILED", "diagnostics": rejection, "finishedTime": finished_at_ms}
    summary = replace(
        document.summary,
        state=YarnApplicationState.FAILED,
        final_status=FinalStatus.FAILED,
        finished_at_ms=finished_at_ms,
    )
    return ApplicationDocument(summary, json.dumps(raw, separators=(",", ":")).encode(), at_s)
