"""Submissions whose id a cluster knows already: it is that application, or its id belongs to another.

The first is settled there. The second was acknowledged and cannot run under its id any more: it ends as LOST, and its
client is told FAILED, why, and to submit it again under a new id. What belongs to another application is never shown
to it as its own.
"""

from contextlib import suppress
from dataclasses import replace

import structlog

from shim.domain.applications import ApplicationSummary
from shim.domain.submissions import SubmissionRecord, SubmissionState, differences, disputed_reason
from shim.errors import StoreError, VersionConflictError
from shim.federation.core.federation_view import FederationView
from shim.federation.unplaced import unplaced_document
from shim.ports.clock import Clock
from shim.ports.state_store import StateStore
from shim.submission.lost_time import Observation

_log = structlog.get_logger("heddle.claims")


class Claims:
    """Settles submissions by what clusters have under their ids."""

    def __init__(self, store: StateStore, view: FederationView, clock: Clock) -> None:
        self._store = store
        self._view = view
        self._clock = clock

    async def is_disputed(self, record: SubmissionRecord, seen: ApplicationSummary) -> bool:
        """Settle an INTENDED or SUBMITTED record whose id another application has; True if one has it.

        Raises:
            StoreUnavailableError: The next pass finds the same.
        """
        found = differences(record.submission, seen)
        if not found:
            return False
        application_id, reason = record.submission.application_id, disputed_reason(seen, found)
        with suppress(VersionConflictError):  # it is SUBMITTED already
            await self._store.settle(application_id, SubmissionState.SUBMITTED)
        submitted = replace(record, state=SubmissionState.SUBMITTED)
        with suppress(VersionConflictError):  # another Heddle was first
            await self._store.give_up(submitted.progress, reason=reason)
        lost = replace(record, state=SubmissionState.LOST, rejection=reason)
        self._view.applications.disown(unplaced_document(lost, reason, self._clock.now_s()))
        _log.error("an id belongs to another application", application=str(application_id), reason=reason)
        return True

    async def take_over(self, record: SubmissionRecord, sighting: Observation) -> None:
        """Settle a record from before a restore where a cluster has its application, or another under its id.

        Raises:
            StoreUnavailableError: The next pass finds the same.
        """
        home = sighting.summary.home_subcluster
        if record.home_subcluster != home or record.state is not SubmissionState.INTENDED:
            moved = replace(
                record,
                state=SubmissionState.INTENDED,
                home_subcluster=home,
                home_started_on_ms=sighting.life.started_on_ms,
                decision=replace(record.decision, home_subcluster=home, reason="it was there after a restore"),
            )
            try:
                await self._store.rehome(moved, was=record.progress)
            except VersionConflictError:
                return  # another Heddle was first
            record = moved
        if await self.is_disputed(record, sighting.summary):
            return
        application_id = record.submission.application_id
        with suppress(StoreError):  # the intent stands; the next pass finds the same
            await self._store.settle(application_id, SubmissionState.SUBMITTED)
        _log.info("found where it was sent before a restore", application=str(application_id), home=home)
