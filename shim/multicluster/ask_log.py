"""Decisions on the asks of spanning applications, kept so that `why` can tell them after a restart.

They are written behind, a few applications at a time: no call of an ApplicationMaster waits for the store.
"""

from collections.abc import Callable, Sequence

import structlog

from shim.domain.ids import ApplicationId
from shim.errors import StoreError
from shim.multicluster.core.splitter import AskDecision
from shim.multicluster.splitters import AttemptMatching
from shim.ports.clock import Clock
from shim.ports.multicluster_store import AskStore, ShownAsks

_log = structlog.get_logger("heddle.span")
_EVERY_S = 2.0
_AT_ONCE = 16
"""Applications in one write: to put their decisions into words takes about 20 ms at most."""


class AskLog:
    """Keeps what `AttemptMatching` decided.

    Args:
        matching: Knows the newest decisions of those that span here.
        shown: Decisions as plain JSON objects.
    """

    def __init__(
        self,
        matching: AttemptMatching,
        store: AskStore,
        clock: Clock,
        shown: Callable[[Sequence[AskDecision]], ShownAsks],
    ) -> None:
        self._matching = matching
        self._store = store
        self._clock = clock
        self._shown = shown
        self._written: dict[ApplicationId, int] = {}

    async def run(self) -> None:
        while True:
            await self.write()
            await self._clock.sleep(_EVERY_S)

    async def write(self) -> bool:
        """Write what is new of a few applications, the longest unwritten first; return whether more is left."""
        counts = self._matching.decided()
        due = [each for each, count in counts.items() if count != self._written.get(each, 0)]
        last = {each: place for place, each in enumerate(self._written)}
        chosen = sorted(due, key=lambda each: last.get(each, -1))[:_AT_ONCE]
        if not chosen:
            self._written = {each: count for each, count in self._written.items() if each in counts}
            return False
        try:
            await self._store.keep({each: self._shown(self._matching.decisions(each)) for each in chosen})
        except StoreError as exc:
            _log.warning("decisions on asks are not kept yet", applications=len(due), reason=str(exc))
            return False
        for each in chosen:
            self._written.pop(each, None)
            self._written[each] = counts[each]
        return len(due) > len(chosen)

    async def close(self) -> None:
        while await self.write():
            pass

    async def of(self, application: ApplicationId) -> ShownAsks:
        """The newest decisions on an application's asks: of this process, else as they were kept."""
        decisions = self._matching.decisions(application)
        if decisions:
            return self._shown(decisions)
        try:
            return await self._store.of(application)
        except StoreError as exc:
            _log.warning("what was decided before is not told", application_id=str(application), reason=str(exc))
            return ()
