"""Repair: bringing what is INTENDED to its home, however often it takes.

A home that is ACTIVE and knows the application has it: SUBMITTED. If it does not know it, a new intent is written and
the application is sent again: to the same home, which takes a known id as done; or to another one, if the home started
so long after the last send that it cannot have the request.

Nothing is sent unless the home said a moment ago that it is ACTIVE. Everything may run twice, also in two Heddles at
once: who writes the new intent first sends.
"""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import structlog

from shim.domain.applications import FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import ApplicationDocument
from shim.domain.submissions import SubmissionRecord, SubmissionStanding, SubmissionState
from shim.errors import StoreError, VersionConflictError
from shim.services.claims import Claims
from shim.services.crash_points import CrashPoint
from shim.services.delivery import HomeKnows, Life, Refused, Taken, ask_home, deliver
from shim.services.life import LifeEvent, scores_of, tell
from shim.services.submission import SubmissionService, SubmissionTools, new_intent_id

__all__ = ["Repair", "RepairSettings", "as_failed"]

_log = structlog.get_logger("heddle.repair")


@dataclass(frozen=True, slots=True)
class RepairSettings:
    """Limits of the repair.

    Attributes:
        grace_s: A record that was written less long ago may be on its way in another Heddle.
        answer_within_s: For one exchange with a home.
        proof_s: A home that started at least so long after an intent was written cannot have what was sent for it:
            longer than any send takes, and than clocks are apart after their skew has been taken off.
    """

    grace_s: float = 3.0
    answer_within_s: float = 2.0
    proof_s: float = 10.0


class Repair:
    """Brings INTENDED applications to their homes."""

    def __init__(
        self, tools: SubmissionTools, submissions: SubmissionService, settings: RepairSettings | None = None
    ) -> None:
        self._submissions = submissions
        self._homes = tools.homes
        self._view = tools.view
        self._managers = tools.managers
        self._store = tools.store
        self._listing = tools.listing
        self._clock = tools.clock
        self._settings = settings or RepairSettings()
        self._reached = tools.crash_points
        self._past = tools.past
        self._claims = Claims(tools.store, tools.view, tools.clock)

    async def repair_all(self) -> None:
        """List every INTENDED application, and bring those that are due to their homes."""
        records = await self._store.intended()
        for record in records:
            is_in_flight = record.submission.application_id in self._submissions.in_flight
            if record.home_subcluster in self._managers and not is_in_flight:
                self._listing.mark_submitted(record.submission, record.home_subcluster)
        homes = {record.home_subcluster for record in records if record.home_subcluster in self._managers}
        await asyncio.gather(
            *(self._repair_home(home, [r for r in records if r.home_subcluster == home]) for home in sorted(homes))
        )

    async def repair_one(self, application_id: ApplicationId) -> SubmissionRecord | None:
        """Bring one application to its home now, if that answers; return the record as it stands afterwards."""
        record = await self._store.find(application_id)
        if record is None or record.state is not SubmissionState.INTENDED:
            return record
        if self._submissions.is_taken(application_id):
            return replace(record, state=SubmissionState.SUBMITTED)  # as the store will have it in a moment
        if application_id not in self._submissions.in_flight:
            await self._repair_records(record.home_subcluster, [record])
        return await self._store.find(application_id)

    async def _repair_home(self, home: SubClusterId, records: Sequence[SubmissionRecord]) -> None:
        """What is due at a home that is usable by the last poll; one that is not is left alone."""
        now_ms = self._now_ms()
        due = [r for r in records if now_ms - r.intended_at_ms >= self._settings.grace_s * 1000]
        if due and home not in self._view.late(self._clock.now_s()):
            await self._repair_records(home, due)

    async def _repair_records(self, home: SubClusterId, records: Sequence[SubmissionRecord]) -> None:
        ids = [record.submission.application_id for record in records]
        knows = await ask_home(self._managers[home], ids, timeout_s=self._settings.answer_within_s)
        if not isinstance(knows, HomeKnows):
            return
        for record in records:
            application_id = record.submission.application_id
            if application_id in self._submissions.in_flight:
                continue
            seen = knows.applications.get(application_id)
            if seen is not None:
                if not await self._claims.is_disputed(record, seen):
                    await self._settle_taken(record)
            elif not await self.send_again(record, knows.life):
                return  # it has stopped answering: what it said no longer counts

    async def send_again(self, record: SubmissionRecord, life: Life) -> bool:
        """Write a new intent, which only one Heddle can do, and send for it.

        Args:
            record: As it stands: INTENDED, or SUBMITTED and lost.
            life: Of its home, which said in it that it does not know the application.

        Returns:
            Whether the home, or another Heddle, has dealt with it: others may be sent after it.
        """
        begun_s = self._clock.monotonic_s()
        intent = await self._next_intent(record, life)
        has_moved = intent.home_subcluster != record.home_subcluster
        why = "its home restarted without it" if has_moved else "its home does not know it"
        return await self.send(intent, was=record.standing, since_s=begun_s, why=why)

    async def _may_be_sent(self, record: SubmissionRecord) -> bool:
        """Whether a record from before a restore surely was not sent in the lost time; if it was, it is settled there.

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

    async def send(self, intent: SubmissionRecord, *, was: SubmissionStanding, since_s: float, why: str) -> bool:
        """Write an intent over what stands, and send for it; see `send_again`.

        Args:
            intent: With a home that may have it now.
            was: What it is based on.
            since_s: When its home was last heard of; by the monotonic clock.
            why: For people.
        """
        if self._past.concerns(was):
            if not await self._may_be_sent(_as_it_stood(intent, was)):
                return True  # it is there, or waits; others may be sent
            since_s = self._clock.monotonic_s()  # its home was among those that were asked
        try:
            await self._store.rehome(intent, was=was)
        except VersionConflictError:
            return True  # somebody else was first, and sends
        tell(
            LifeEvent.REPAIRED,
            intent.submission.application_id,
            home=intent.home_subcluster,
            was=was.home_subcluster,
            state=was.state.value,
            reason=why,
            scores=scores_of(intent.decision) if intent.home_subcluster != was.home_subcluster else {},
        )
        home, application_id = intent.home_subcluster, intent.submission.application_id
        self._listing.mark_submitted(intent.submission, home)
        self._reached(CrashPoint.REHOMED, application_id)
        within_s = self._settings.answer_within_s
        if self._clock.monotonic_s() - since_s > within_s:
            return False  # too late to rely on what the home said
        self._reached(CrashPoint.SENDING, application_id)
        delivery = await deliver(
            self._managers[home], self._homes.as_sent_to(home, intent.submission), timeout_s=within_s
        )
        self._reached(CrashPoint.ANSWERED, application_id)
        match delivery:
            case Taken():
                await self._settle_taken(intent)
            case Refused(answer):
                await self._settle_refused(intent, answer.body.decode("utf-8", "replace"))
            case _:
                _log.info("not delivered yet", application=str(application_id), home=home, reason=delivery.reason)
                return False
        return True

    async def _next_intent(self, record: SubmissionRecord, life: Life) -> SubmissionRecord:
        """The same home in its present life; another only if this one provably does not have the application."""
        intent = replace(
            record,
            state=SubmissionState.INTENDED,
            home_started_on_ms=life.started_on_ms,
            intended_at_ms=self._now_ms(),
            intent_id=new_intent_id(),
        )
        if record.state is not SubmissionState.INTENDED or not self._is_gone(record, life):
            return intent
        decision = await self._homes.agree(record.submission)
        home = decision.home_subcluster
        if home is None or home == record.home_subcluster:
            return intent
        return replace(
            intent, home_subcluster=home, home_started_on_ms=self._homes.started_on_ms(home), decision=decision
        )

    def _is_gone(self, record: SubmissionRecord, life: Life) -> bool:
        """Whether the home started so long after the last send that the request died with its old life."""
        if life.started_on_ms == record.home_started_on_ms:
            return False
        skew_ms = self._view.look(record.home_subcluster, self._clock.now_s()).clock_skew_s * 1000
        return life.started_on_ms - skew_ms - record.intended_at_ms > self._settings.proof_s * 1000

    async def _settle_taken(self, record: SubmissionRecord) -> None:
        application_id = record.submission.application_id
        with suppress(StoreError):  # the intent stands; the next pass finds the same
            await self._store.settle(application_id, SubmissionState.SUBMITTED)
        self._reached(CrashPoint.SETTLED, application_id)
        self._listing.mark_written(application_id)

    async def _settle_refused(self, record: SubmissionRecord, rejection: str) -> None:
        """A refusal after the client heard 202 is shown as an application that failed."""
        application_id = record.submission.application_id
        with suppress(StoreError):  # the intent stands; the next pass is refused again
            await self._store.settle(application_id, SubmissionState.REJECTED, rejection=rejection)
        document = self._view.find(application_id)
        if document is not None:
            self._view.note(as_failed(document, rejection, self._clock.now_s()))

    def _now_ms(self) -> int:
        return int(self._clock.now_s() * 1000)


def _as_it_stood(intent: SubmissionRecord, was: SubmissionStanding) -> SubmissionRecord:
    """The record that a new intent is meant to replace."""
    return replace(
        intent,
        state=was.state,
        home_subcluster=was.home_subcluster,
        home_started_on_ms=was.home_started_on_ms,
        intended_at_ms=was.intended_at_ms,
        intent_id=was.intent_id,
    )


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
