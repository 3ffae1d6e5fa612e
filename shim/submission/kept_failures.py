"""Failures of applications, kept in the store: a process that starts goes on where the last one stopped."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from shim.domain.ids import ApplicationId
from shim.domain.submissions import SubmissionRecord
from shim.errors import StoreError
from shim.ports.clock import Clock
from shim.ports.state_store import StateStore
from shim.submission.delivery_attempts import DeliveryAttempts

__all__ = ["KeptFailures"]


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
