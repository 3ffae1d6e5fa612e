"""Applications of the time between a copy of the store and its restore, which the store has forgotten.

Clusters remember that time. What they list and the store does not know is adopted: listed, routed and owned as before.
What the store still holds from before (INTENDED, WAITING) may have been sent since, and to another home: before any of
it is sent again, every cluster is asked for it by id, and all must answer. The same goes for an id from before the
restore under which a client submits now.

A store is a restored copy if `heddle store restore` made it one, if the database says so (`HistoryStore.note_lineage`),
or if a cluster lists an application under an id that Heddle issued, of which the store does not tell that it was sent
there: an intent is written before anything is sent, so that was lost.
"""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from shim.domain.applications import SPAN_TAG, ApplicationSummary
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import SubmissionProgress
from shim.errors import HeddleError
from shim.federation.core.federation_view import FederationView, Part
from shim.federation.home_questions import HomeKnows, Life, ask_home
from shim.federation.unplaced import unplaced_document
from shim.ports.clock import Clock
from shim.ports.history_store import HistoryStore, StoreHistory
from shim.ports.resource_manager import ResourceManager

_log = structlog.get_logger("heddle.restore")
_NAMED = 20


@dataclass(frozen=True, slots=True)
class RestoreGapSettings:
    """Settings of the look for applications of the lost time.

    Attributes:
        records_s: As in `ReconciliationSettings`: older final records are gone without any restore.
        interval_s: From one look at the store and at new lists to the next.
        answer_within_s: For one exchange with a cluster.
    """

    records_s: float
    interval_s: float = 2.0
    answer_within_s: float = 2.0


@dataclass(frozen=True, slots=True)
class Observation:
    """An application at a cluster: in which life of that, and what it tells."""

    life: Life
    summary: ApplicationSummary


@dataclass(frozen=True, slots=True)
class Observations:
    """Places where applications were seen.

    Attributes:
        silent: Clusters that did not say: what was not found may be there.
    """

    found: Mapping[ApplicationId, Observation]
    silent: tuple[SubClusterId, ...]
    told: frozenset[SubClusterId] = frozenset()


class EarlierRun(Protocol):
    """Events that may have happened without a trace in the store; implemented by `RestoreGap`."""

    def concerns(self, progress: SubmissionProgress) -> bool:
        """True if a record is from before a restore, so that more may have happened than it tells."""
        ...

    def is_lost_time(self, application_id: ApplicationId) -> bool:
        """True if an id may be from the lost time: its client may have submitted under it already."""
        ...

    def is_foreign(self, application_id: ApplicationId) -> bool:
        """True if Heddle has not issued an id, as far as the store remembers."""
        ...

    async def look_for(self, application_ids: Collection[ApplicationId]) -> Observations:
        """Ask every cluster that is not retired for applications by id."""
        ...


class NothingLost:
    """A past without a restore, in which every id is Heddle's own."""

    def concerns(self, progress: SubmissionProgress) -> bool:
        del progress
        return False

    def is_lost_time(self, application_id: ApplicationId) -> bool:
        del application_id
        return False

    def is_foreign(self, application_id: ApplicationId) -> bool:
        del application_id
        return False

    async def look_for(self, application_ids: Collection[ApplicationId]) -> Observations:
        del application_ids
        return Observations({}, ())


NOTHING_LOST = NothingLost()


@dataclass(slots=True)
class RestoreGap:
    """Knows whether the store was restored, and asks clusters about what is doubtful since."""

    history: HistoryStore
    view: FederationView
    managers: Mapping[SubClusterId, ResourceManager]
    clock: Clock
    settings: RestoreGapSettings
    restored_at_ms: int = 0
    epochs: frozenset[int] = frozenset()
    adopted: dict[ApplicationId, SubClusterId] = field(default_factory=dict)
    _heard_without_end: set[SubClusterId] = field(default_factory=set)

    def concerns(self, progress: SubmissionProgress) -> bool:
        return progress.intended_at_ms <= self.restored_at_ms

    def is_lost_time(self, application_id: ApplicationId) -> bool:
        return 0 < application_id.cluster_timestamp <= self.restored_at_ms

    def is_foreign(self, application_id: ApplicationId) -> bool:
        return application_id.cluster_timestamp not in self.epochs

    async def look_for(self, application_ids: Collection[ApplicationId]) -> Observations:
        late = frozenset(self.view.late(self.clock.now_s()))
        there = [name for name in self.managers if not self.view.is_retired(name)]
        asked = [name for name in there if name not in late]
        within_s = self.settings.answer_within_s
        answers = await asyncio.gather(
            *(ask_home(self.managers[name], application_ids, timeout_s=within_s) for name in asked)
        )
        found: dict[ApplicationId, Observation] = {}
        for answer in answers:
            if isinstance(answer, HomeKnows):
                for application_id, summary in answer.applications.items():
                    if SPAN_TAG not in summary.tags:
                        found.setdefault(application_id, Observation(answer.life, summary))
        told = frozenset(name for name, answer in zip(asked, answers, strict=True) if isinstance(answer, HomeKnows))
        return Observations(found, tuple(name for name in there if name not in told), told)

    async def run(self) -> None:
        while True:
            try:
                await self.round()
            except HeddleError as exc:
                _log.warning("whether the store was restored is not known yet", reason=str(exc))
            await self.clock.sleep(self.settings.interval_s)

    async def begin(self) -> None:
        """The first look: also show again what was told of ids that belong to other applications.

        Raises:
            StoreUnavailableError: The store does not tell.
        """
        for record in await self.history.disputed():
            self.view.applications.disown(unplaced_document(record, record.rejection, self.clock.now_s()))
        await self.round()

    async def round(self) -> None:
        """Look at the store, and at what clusters list that were silent until now.

        Raises:
            StoreUnavailableError: The store does not tell.
        """
        if await self.history.note_lineage():
            _log.warning("the database is another copy than before: what it holds is compared with the clusters")
        history = await self.history.history()
        self.restored_at_ms, self.epochs = history.restored_at_ms, history.epochs
        late = set(self.view.late(self.clock.now_s()))
        listed = {name for name in self.view.subclusters if self.view.as_of_s(name, Part.APPLICATIONS) is not None}
        self._heard_without_end &= listed - late
        for name in sorted(listed - late - self._heard_without_end):
            await self._compare(name, history)
            self._heard_without_end.add(name)

    async def _compare(self, subcluster: SubClusterId, history: StoreHistory) -> None:
        """Adopt what a cluster lists under Heddle's ids and the store does not know."""
        listed = [
            document.summary.application_id
            for document in self.view.applications.at_home(subcluster)
            if self._must_have_record(document.summary, subcluster, history)
        ]
        lost = await self.history.lost(listed, subcluster)
        if not lost:
            return
        self.adopted |= dict.fromkeys(sorted(lost), subcluster)
        _log.warning(
            "adopted: applications that the store has lost",
            subcluster=subcluster,
            count=len(lost),
            applications=[str(each) for each in sorted(lost)[:_NAMED]],
        )
        if not self.restored_at_ms:
            await self.history.note_restored()
            self.restored_at_ms = (await self.history.history()).restored_at_ms

    def _must_have_record(self, seen: ApplicationSummary, subcluster: SubClusterId, history: StoreHistory) -> bool:
        """True if an application must have a record unless it was lost: final ones are purged, the oldest first."""
        is_listed = seen.home_subcluster == subcluster and not self.view.applications.is_synthetic(seen.application_id)
        if not is_listed or seen.application_id.cluster_timestamp not in history.epochs:
            return False
        horizon_ms = max(history.oldest_final_ms, int((self.clock.now_s() - self.settings.records_s) * 1000))
        return not seen.state.is_final or seen.finished_at_ms > horizon_ms
