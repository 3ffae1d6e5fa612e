"""Writes down that homes have taken their submissions: behind the answers, and many at once.

The intent is on the disk and the home has acknowledged: nothing can be lost any more, so the client need not wait for a
second flush of the disk. Who dies before the note is written leaves an intent, and `repair` asks the home about it.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from shim.concurrency.keep_going import aside
from shim.domain.ids import ApplicationId
from shim.errors import StoreError
from shim.ports.clock import Clock
from shim.ports.state_store import StateStore
from shim.submission.crash_points import CrashPoint, CrashPoints, nothing_happens

__all__ = ["Settling"]

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
        """Applications whose note is not written yet."""
        return frozenset(self._waiting)

    def note(self, application_id: ApplicationId) -> None:
        """Note soon that the application's home has acknowledged it."""
        self._waiting.add(application_id)
        if self._writer is None:
            self._writer = aside("notes of what homes have taken", self._write_until_none_waits())

    async def finish(self) -> None:
        """Return when nothing waits any more."""
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
