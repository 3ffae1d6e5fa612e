"""Lets applications that wait start when their turn has come, as long as there is somebody to start them at."""

import asyncio
from collections.abc import Callable

import structlog

from shim.domain.ids import ApplicationId
from shim.domain.submissions import HomeDecision, SubmissionState
from shim.errors import HeddleError, StoreError
from shim.global_master.federation_view import FederationView
from shim.ports.clock import Clock
from shim.ports.state_store import StateStore
from shim.services.repair import as_failed
from shim.services.submission import Rejected, SubmissionService
from shim.services.waiting_room import WaitingRoom

__all__ = ["Starting"]

_log = structlog.get_logger("heddle.shares")
_AT_ONCE = 16


class Starting:
    """Looks at who waits, for ever.

    Args:
        room: Who waits.
        submissions: Starts them.
        store: Where what waits is kept, with its body.
        view: Where refusals are shown.
        clock: The machine's.
        interval_s: From the end of one look to the next.
        is_mine: Whether this Heddle decides who starts in a queue: of several one does.
    """

    def __init__(
        self,
        *,
        room: WaitingRoom,
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

    async def run(self) -> None:
        """Look until cancelled."""
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
        try:
            outcome = await self._submissions.start(record)
        except StoreError as exc:
            _log.info("not started", application=str(application_id), reason=str(exc))
            return
        if isinstance(outcome, HomeDecision):
            _log.info("its turn, but no home", application=str(application_id), reason=outcome.reason)
            return
        self._room.note_start(record.submission)
        self._room.forget(application_id)
        document = self._view.find(application_id)
        if isinstance(outcome, Rejected) and document is not None:
            rejection = outcome.answer.body.decode("utf-8", "replace")
            self._view.note(as_failed(document, rejection, self._clock.now_s()))
