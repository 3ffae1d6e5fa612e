"""Lets applications that wait start when their turn has come, as long as there is somebody to start them at."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import structlog

from shim.domain.ids import ApplicationId
from shim.domain.submissions import HomeDecision, SubmissionRecord, SubmissionState
from shim.errors import HeddleError, StoreError, VersionConflictError
from shim.federation.core.federation_view import FederationView
from shim.federation.polling import in_turns
from shim.ports.clock import Clock
from shim.ports.state_store import StateStore
from shim.queues.admission import AdmissionQueue
from shim.submission.delivery_attempts import DeliveryAttempts
from shim.submission.entrance import Rejected
from shim.submission.resending import as_failed, show_as_failed
from shim.submission.service import SubmissionService
from shim.telemetry.application_life import LifeEvent, tell

_log = structlog.get_logger("heddle.shares")
_AT_ONCE = 16
_NO_LIFE = 0  # what waits has no home yet
_LONGEST_REASON = 1000  # characters


class Starting:
    """Looks at who waits, for ever.

    Args:
        clock: The machine's.
        is_mine: Whether this Heddle decides who starts in a queue: of several one does.
    """

    def __init__(
        self,
        *,
        room: AdmissionQueue,
        submissions: SubmissionService,
        store: StateStore,
        view: FederationView,
        clock: Clock,
        interval_s: float,
        is_mine: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._room = room
        self._submissions = submissions
        self._store = store
        self._view = view
        self._clock = clock
        self._interval_s = interval_s
        self._is_mine = is_mine
        self._attempts = DeliveryAttempts()

    async def run(self) -> None:
        while True:
            try:
                await self.round()
            except HeddleError as exc:
                _log.warning("nobody could be let start", reason=str(exc))
            await self._clock.sleep(self._interval_s)

    async def round(self) -> None:
        """Look once.

        Raises:
            StoreUnavailableError: Nobody starts; those that wait, wait.
        """
        await self._room.sync()
        await in_turns(self._room.meter.live.renew_steps())
        due = [an_id for an_id in self._room.look() if self._is_mine(self._room.queue_name(an_id))]
        gate = asyncio.Semaphore(_AT_ONCE)

        async def start(application_id: ApplicationId) -> None:
            async with gate:
                await self._start(application_id)

        await asyncio.gather(*(start(application_id) for application_id in due))

    async def _start(self, application_id: ApplicationId) -> None:
        record = await self._store.find(application_id)
        if record is None or record.state is not SubmissionState.WAITING:
            return  # the next look sees what became of it
        now_s = self._clock.monotonic_s()
        if not self._attempts.is_due(application_id, started_on_ms=_NO_LIFE, now_s=now_s):
            return
        try:
            outcome = await self._submissions.start(record)
        except StoreError as exc:
            _log.info("not started", application=str(application_id), reason=str(exc))
            return
        except Exception as exc:  # noqa: BLE001 - the application's boundary: one that fails must not stop the others
            await self._note_failure(record, f"{type(exc).__name__}: {exc}")
            return
        if isinstance(outcome, HomeDecision):
            _log.info("its turn, but no home", application=str(application_id), reason=outcome.reason)
            return
        self._attempts.forget(application_id)
        self._room.note_start(record.submission)
        self._room.forget(application_id)
        if isinstance(outcome, Rejected):
            show_as_failed(self._view, application_id, outcome.refusal.text, self._clock.now_s())

    async def _note_failure(self, record: SubmissionRecord, reason: str) -> None:
        """Note a failure: the start is tried again after a pause that doubles, or given up if it was sent nowhere."""
        application_id = record.submission.application_id
        if self._attempts.find(application_id) is None:
            self._attempts.begin(record)  # what waits was sent nowhere
        known = self._attempts.failed(record.progress, reason, started_on_ms=_NO_LIFE, now_s=self._clock.monotonic_s())
        _log.warning("could not be started", application=str(application_id), failures=known.failures, reason=reason)
        if not self._attempts.is_hopeless(record.progress, self._clock.monotonic_s()):
            return
        told = f"given up after {known.failures} attempts to start it: {reason}"[:_LONGEST_REASON]
        document = self._view.applications.find(application_id)
        with suppress(VersionConflictError):  # it was killed, or another Heddle has started it
            await self._store.reject(record.progress, reason=told)
            self._attempts.note_given_up(application_id)
            self._room.forget(application_id)
            _log.error("given up", application=str(application_id), reason=told)
            tell(LifeEvent.ENDED, application_id, cluster="", state="REJECTED", reason=told[:500])
            if document is not None:
                self._view.applications.note(as_failed(document, told, self._clock.now_s()))
