"""Decision log of preemption: its acts, application by application.

The newest acts are in memory, all of a day in the store: so that people and the next Heddle find them.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence

import structlog

from shim.domain.ids import ApplicationId
from shim.domain.preemption import PreemptionAct, PreemptionStage
from shim.errors import StoreError
from shim.ports.act_store import ActStore
from shim.queues.core.preemption_memory import Memory, memory_of

_log = structlog.get_logger("heddle.preemption")
_MOST_APPLICATIONS = 4096
_MOST_ACTS = 64
_MOST_UNKEPT = 4096
_MINUTE_MS = 60_000


class PreemptionLog:
    """The newest acts of each application, and counts of all."""

    def __init__(self, store: ActStore) -> None:
        self._store = store
        self._acts: OrderedDict[ApplicationId, deque[PreemptionAct]] = OrderedDict()
        self._counts: Counter[tuple[str, PreemptionStage]] = Counter()
        self._unkept: deque[PreemptionAct] = deque(maxlen=_MOST_UNKEPT)
        self._has_begun = False

    @property
    def counts(self) -> Mapping[tuple[str, PreemptionStage], int]:
        """Acts by queue and stage, since there is a store."""
        return self._counts

    def preempted(self, queue: str) -> int:
        """Containers that were taken from a queue."""
        return self._counts[queue, PreemptionStage.RELEASED]

    async def begin(self) -> bool:
        """Count what was done before; return whether that is known."""
        if not self._has_begun:
            try:
                self._counts.update(await self._store.counts())
            except StoreError as exc:
                _log.warning("what was taken back before is not known", reason=str(exc))
                return False
            self._has_begun = True
        return True

    async def recall(self, applications: Iterable[ApplicationId], at_ms: int) -> Memory | None:
        """Earlier preemption of some applications, and all that was taken within the minute; None if nobody knows."""
        try:
            found = {name: await self._store.of(name) for name in applications}
            lately = await self._store.since(at_ms - _MINUTE_MS)
        except StoreError as exc:
            _log.warning("what was begun before is not known", reason=str(exc))
            return None
        for name, acts in found.items():
            if acts:
                self._acts[name] = deque(acts, maxlen=_MOST_ACTS)
        return memory_of([act for acts in found.values() for act in acts], lately)

    async def note(self, acts: Sequence[PreemptionAct]) -> None:
        """Write acts down; what the store does not take now is kept with the next ones."""
        for act in acts:
            self._note(act)
        self._unkept.extend(acts)
        if not self._unkept:
            return
        try:
            await self._store.add(tuple(self._unkept))
        except StoreError as exc:
            _log.warning("acts are not kept yet", acts=len(self._unkept), reason=str(exc))
            return
        self._unkept.clear()

    def _note(self, act: PreemptionAct) -> None:
        if act.stage is not None:
            self._counts[act.queue, act.stage] += 1
        self._acts.setdefault(act.application, deque(maxlen=_MOST_ACTS)).append(act)
        self._acts.move_to_end(act.application)
        if len(self._acts) > _MOST_APPLICATIONS:
            self._acts.popitem(last=False)

    async def of(self, application: ApplicationId) -> Sequence[PreemptionAct]:
        """Acts that concern an application, oldest first; the newest acts only."""
        known = self._acts.get(application)
        if known is not None:
            return tuple(known)
        try:
            return tuple(await self._store.of(application))[-_MOST_ACTS:]
        except StoreError as exc:
            _log.warning("what was done before is not told", application=str(application), reason=str(exc))
            return ()
