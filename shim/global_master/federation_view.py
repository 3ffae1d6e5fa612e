"""What heartbeats told of whole sub-clusters: the state that reads are answered from and homes are chosen on.

Reports may be lost, repeated or late: one is applied only if it is newer than what is known of its sub-cluster. Beside
reports, single documents come in (`note`), fetched by id between two polls. Of two documents of one application the
later one stands, and one in a final state stands for ever: so the order of arrival does not matter.

Three things are never done. An application is not ended because it is absent: only its own document, or its active home
that says it does not know the id, ends it. A state is not put together from two documents. And what was last known of a
sub-cluster that is away stays, with its age.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from shim.domain.applications import ApplicationSummary
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import QueueReport
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import ApplicationDocument, HaState, NodeReport, SubClusterReport, SubClusterState

__all__ = ["Applied", "FederationView", "Part", "PartDocument", "Placement", "SubClusterView", "ViewSettings"]


class Part(Enum):
    """What of a sub-cluster is polled; the value is the name in `SubClusterReport.documents`."""

    INFO = "info"
    METRICS = "metrics"
    NODES = "nodes"
    SCHEDULER = "scheduler"
    APPLICATIONS = "apps"


@dataclass(frozen=True, slots=True)
class ViewSettings:
    """Limits of a view.

    Attributes:
        late_after_s: A sub-cluster whose newest report began longer ago is LOST.
        final_documents: How many documents of ended applications are kept; beyond that the one that came first is
            dropped, and is fetched by id if somebody asks.
    """

    late_after_s: float = 6.0
    final_documents: int = 20_000


@dataclass(frozen=True, slots=True)
class PartDocument:
    """A sub-cluster's own answer for one part.

    Attributes:
        raw: The whole JSON answer.
        as_of_s: When it was asked for; seconds since the epoch.
    """

    raw: bytes
    as_of_s: float


@dataclass(frozen=True, slots=True)
class Placement:
    """An application that was sent to a sub-cluster and that no report of it can show yet."""

    queue: str
    resource: ResourceVector
    at_s: float


@dataclass(frozen=True, slots=True)
class Applied:
    """What a report changed.

    Attributes:
        is_new: False for a report that is older than what was known; nothing changed then.
        became_final: Applications that were not final before.
        forgotten: Acknowledged applications that their active home does not know: to be submitted to it again.
        has_restarted: Whether the ResourceManager is not the process that it was.
    """

    is_new: bool
    became_final: tuple[ApplicationId, ...] = ()
    forgotten: tuple[ApplicationId, ...] = ()
    has_restarted: bool = False


_STALE = Applied(is_new=False)


@dataclass(frozen=True, slots=True)
class SubClusterView:
    """One sub-cluster as it is known now; what `home.choose_home` looks at.

    Attributes:
        age_s: Since its newest report began; infinite if there is none.
        failure: Why the polls since that report failed; empty if none did.
        running: How many live applications it holds.
        placements: What was sent there since the last report that could show it.
        version: Hadoop's version.
    """

    subcluster: SubClusterId
    state: SubClusterState
    age_s: float
    failure: str = ""
    ha_state: HaState | None = None
    started_on_ms: int = 0
    version: str = ""
    scheduler: str = ""
    clock_skew_s: float = 0.0
    capacity: ResourceVector = field(default_factory=ResourceVector)
    used: ResourceVector = field(default_factory=ResourceVector)
    maximum_allocation: ResourceVector = field(default_factory=ResourceVector)
    nodes: tuple[NodeReport, ...] = ()
    queues: Mapping[str, QueueReport] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    running: int = 0
    placements: tuple[Placement, ...] = ()


@dataclass(slots=True)
class _SubCluster:
    """What is kept of one sub-cluster between reports; a report need not hold every part."""

    report: SubClusterReport | None = None
    documents: dict[Part, PartDocument] = field(default_factory=dict)
    scheduler: str = ""
    capacity: ResourceVector = field(default_factory=ResourceVector)
    used: ResourceVector = field(default_factory=ResourceVector)
    maximum_allocation: ResourceVector = field(default_factory=ResourceVector)
    nodes: tuple[NodeReport, ...] = ()
    queues: dict[str, QueueReport] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    live: set[ApplicationId] = field(default_factory=set)
    listed_at_s: float | None = None
    placements: list[Placement] = field(default_factory=list)
    failure: str = ""
    failed_at_s: float = 0.0

    def is_newer(self, report: SubClusterReport) -> bool:
        known = self.report
        return known is None or (report.incarnation, report.sequence) > (known.incarnation, known.sequence)


class FederationView:
    """The cached state of every sub-cluster. Mutate through its methods only; it never reads a clock."""

    def __init__(self, subclusters: Sequence[SubClusterId], settings: ViewSettings | None = None) -> None:
        self._settings = settings or ViewSettings()
        self._subclusters = {subcluster: _SubCluster() for subcluster in subclusters}
        self._rank = {subcluster: rank for rank, subcluster in enumerate(subclusters)}
        self._documents: dict[ApplicationId, ApplicationDocument] = {}
        self._finals: deque[ApplicationId] = deque()
        self._homes: dict[ApplicationId, SubClusterId] = {}
        self._synthetic: set[ApplicationId] = set()
        self._forgotten: set[ApplicationId] = set()
        self._written: dict[ApplicationId, float] = {}
        self._touched: dict[tuple[SubClusterId, Part], float] = {}
        self._versions = dict.fromkeys(Part, 1)
        self._sorted: tuple[int, tuple[ApplicationDocument, ...]] = (0, ())

    @property
    def subclusters(self) -> tuple[SubClusterId, ...]:
        """Every configured sub-cluster, in the configured order."""
        return tuple(self._subclusters)

    # ------------------------------------------------------------------ what comes in

    def apply(self, report: SubClusterReport) -> Applied:
        """Take a report in, if it is newer than what is known of its sub-cluster.

        Raises:
            KeyError: If the sub-cluster is not configured.
        """
        known = self._subclusters[report.subcluster]
        if not known.is_newer(report):
            return _STALE
        before = known.report
        known.report = report
        if report.polled_at_s >= known.failed_at_s:
            known.failure = ""
        self._take_parts(known, report)
        became_final = tuple(
            application_id for application_id, document in report.applications.items() if self._take(document)
        )
        if report.is_complete and report.ha_state is HaState.ACTIVE:
            known.listed_at_s = report.polled_at_s
        self._drop_oldest_finals()
        return Applied(
            is_new=True,
            became_final=became_final,
            forgotten=tuple(self._forget(report)),
            has_restarted=before is not None and before.started_on_ms != report.started_on_ms,
        )

    def note(self, document: ApplicationDocument) -> bool:
        """Take in a document that was fetched by id; return whether the application became final by it."""
        became_final = self._take(document)
        self._drop_oldest_finals()
        return became_final

    def note_part(self, subcluster: SubClusterId, part: Part, document: PartDocument) -> None:
        """Take in a part's document that was fetched between two polls."""
        self._take_document(self._subclusters[subcluster], part, document)

    def note_unknown(self, application_id: ApplicationId, subcluster: SubClusterId, *, as_of_s: float) -> None:
        """Its active home, asked by id, does not know the application."""
        self._forget_one(application_id, subcluster, as_of_s)

    def note_failure(self, subcluster: SubClusterId, reason: str, *, at_s: float) -> None:
        """A poll failed: no new application goes there until one succeeds, however young the last report is."""
        known = self._subclusters[subcluster]
        known.failure, known.failed_at_s = reason, at_s

    def note_placed(self, subcluster: SubClusterId, placement: Placement) -> None:
        """An application is on its way there: the next choice counts it, though no report shows it yet."""
        self._subclusters[subcluster].placements.append(placement)

    def mark_submitted(self, document: ApplicationDocument) -> None:
        """The federation has taken an application: list `document` until its home tells of it.

        Args:
            document: In state SUBMITTED, as one reads between a submission and its first report.
        """
        application_id = document.summary.application_id
        self._homes[application_id] = document.summary.home_subcluster
        if application_id in self._documents and application_id not in self._synthetic:
            return
        self._documents[application_id] = document
        self._synthetic.add(application_id)
        self.mark_written(application_id, at_s=document.as_of_s)

    def unmark_submitted(self, application_id: ApplicationId) -> None:
        """The submission was rejected: it runs nowhere, and is no longer listed."""
        self._homes.pop(application_id, None)
        self._written.pop(application_id, None)
        if application_id in self._synthetic:
            self._remove(application_id)

    def mark_written(self, application_id: ApplicationId, *, at_s: float) -> None:
        """Something was changed about an application at `at_s`: documents from before then are out of date."""
        self._written[application_id] = max(at_s, self._written.get(application_id, 0.0))
        self._bump(Part.APPLICATIONS)

    def mark_touched(self, subcluster: SubClusterId, part: Part, *, at_s: float) -> None:
        """Something was changed about a part (nodes, scheduler): the next read of it fetches first."""
        self._touched[subcluster, part] = at_s
        self._bump(part)

    # ------------------------------------------------------------------ what is known

    def version(self, part: Part) -> int:
        """A number that changes whenever an answer made of this part of any sub-cluster could change."""
        return self._versions[part]

    def find(self, application_id: ApplicationId) -> ApplicationDocument | None:
        """The newest document of an application, or the one of its submission until its home told of it."""
        return self._documents.get(application_id)

    def is_synthetic(self, application_id: ApplicationId) -> bool:
        """Whether the document is that of `mark_submitted`: its home has not told of it yet."""
        return application_id in self._synthetic

    def home_of(self, application_id: ApplicationId) -> SubClusterId | None:
        """Where an application runs, as submitted through the federation or as seen."""
        home = self._homes.get(application_id)
        if home is not None:
            return home
        document = self._documents.get(application_id)
        return None if document is None else document.summary.home_subcluster

    def applications(self) -> tuple[ApplicationDocument, ...]:
        """Every application, that started last first; equal times by id."""
        version, documents = self._sorted
        if version != self._versions[Part.APPLICATIONS]:
            documents = tuple(sorted(self._documents.values(), key=_age_key, reverse=True))
            self._sorted = (self._versions[Part.APPLICATIONS], documents)
        return documents

    def live(self, subcluster: SubClusterId) -> frozenset[ApplicationId]:
        """Applications that were not final when this sub-cluster last told of them."""
        return frozenset(self._subclusters[subcluster].live)

    def outdated(self) -> tuple[ApplicationId, ...]:
        """Applications that were written after their document was asked for."""
        return tuple(self._written)

    def is_outdated(self, application_id: ApplicationId) -> bool:
        """Whether the application was written after its document was asked for."""
        return application_id in self._written

    def is_touched(self, subcluster: SubClusterId, part: Part) -> bool:
        """Whether a part was written after its document was asked for."""
        return (subcluster, part) in self._touched

    def forgotten(self) -> Mapping[ApplicationId, SubClusterId]:
        """Acknowledged applications, never seen final, that their active home does not know."""
        return {application_id: self._homes[application_id] for application_id in self._forgotten}

    def part(self, subcluster: SubClusterId, part: Part) -> PartDocument | None:
        """A sub-cluster's newest answer for a part; None before the first."""
        return self._subclusters[subcluster].documents.get(part)

    def as_of_s(self, subcluster: SubClusterId, part: Part) -> float | None:
        """When the sub-cluster was last asked for a part and told it; None before the first time."""
        known = self._subclusters[subcluster]
        if part is Part.APPLICATIONS:
            return known.listed_at_s
        document = known.documents.get(part)
        return None if document is None else document.as_of_s

    def state(self, subcluster: SubClusterId, now_s: float) -> SubClusterState:
        """Whether the sub-cluster is usable; by the age of its newest report and what its `/info` said."""
        report = self._subclusters[subcluster].report
        if report is None:
            return SubClusterState.NEW
        if now_s - report.polled_at_s > self._settings.late_after_s:
            return SubClusterState.LOST
        return SubClusterState.RUNNING if report.ha_state is HaState.ACTIVE else SubClusterState.RECOVERING

    def late(self, now_s: float) -> tuple[SubClusterId, ...]:
        """Sub-clusters whose part in an answer is old or absent: not RUNNING, or the last poll failed."""
        return tuple(
            subcluster
            for subcluster, known in self._subclusters.items()
            if known.failure or self.state(subcluster, now_s) is not SubClusterState.RUNNING
        )

    def look(self, subcluster: SubClusterId, now_s: float) -> SubClusterView:
        """Everything that is known of one sub-cluster."""
        known = self._subclusters[subcluster]
        report = known.report
        state = self.state(subcluster, now_s)
        if report is None:
            return SubClusterView(
                subcluster, state, float("inf"), failure=known.failure, placements=tuple(known.placements)
            )
        return SubClusterView(
            subcluster=subcluster,
            state=state,
            age_s=max(0.0, now_s - report.polled_at_s),
            failure=known.failure,
            ha_state=report.ha_state,
            started_on_ms=report.started_on_ms,
            version=report.version,
            scheduler=known.scheduler,
            clock_skew_s=report.clock_skew_s,
            capacity=known.capacity,
            used=known.used,
            maximum_allocation=known.maximum_allocation,
            nodes=known.nodes,
            queues=known.queues,
            labels=known.labels,
            running=len(known.live),
            placements=tuple(known.placements),
        )

    # ------------------------------------------------------------------ how it is kept

    def _take_parts(self, known: _SubCluster, report: SubClusterReport) -> None:
        for part in Part:
            raw = report.documents.get(part.value)
            if raw is not None:
                self._take_document(known, part, PartDocument(raw, report.polled_at_s))
        if Part.METRICS.value in report.documents:
            known.capacity, known.used = report.capacity, report.used
        if Part.NODES.value in report.documents:
            known.nodes, known.labels = report.nodes, report.labels
        if Part.SCHEDULER.value in report.documents:
            known.scheduler, known.maximum_allocation = report.scheduler, report.maximum_allocation
            known.queues = {queue.path: queue for queue in report.queues}
            known.placements = [placed for placed in known.placements if placed.at_s > report.polled_at_s]

    def _take_document(self, known: _SubCluster, part: Part, document: PartDocument) -> None:
        before = known.documents.get(part)
        if before is not None and before.as_of_s > document.as_of_s:
            return
        known.documents[part] = document
        for key in [key for key, at_s in self._touched.items() if key[1] is part and at_s <= document.as_of_s]:
            if self._subclusters[key[0]] is known:
                del self._touched[key]
        if before is None or before.raw != document.raw:
            self._bump(part)

    def _take(self, document: ApplicationDocument) -> bool:
        """Keep a document if it stands against the one that is known; return whether it is the first final one."""
        application_id = document.summary.application_id
        before = self._documents.get(application_id)
        if before is not None and not self._stands_against(document, before):
            return False
        is_final = document.summary.state.is_final
        was_final = before is not None and before.summary.state.is_final
        if before is not None and before.summary.home_subcluster != document.summary.home_subcluster:
            self._subclusters[before.summary.home_subcluster].live.discard(application_id)
        self._documents[application_id] = document
        self._synthetic.discard(application_id)
        self._forgotten.discard(application_id)
        if self._written.get(application_id, float("inf")) <= document.as_of_s or is_final:
            self._written.pop(application_id, None)
        live = self._subclusters[document.summary.home_subcluster].live
        if not is_final:
            live.add(application_id)
        elif not was_final:
            live.discard(application_id)
            self._homes.pop(application_id, None)
            self._finals.append(application_id)
        if before is None or before.raw != document.raw:
            self._bump(Part.APPLICATIONS)
        return is_final and not was_final

    def _stands_against(self, document: ApplicationDocument, before: ApplicationDocument) -> bool:
        application_id = document.summary.application_id
        new_home, old_home = document.summary.home_subcluster, before.summary.home_subcluster
        if new_home != old_home:
            return self._precedence(application_id, new_home) < self._precedence(application_id, old_home)
        if application_id in self._synthetic:
            return True
        new_key = (document.summary.state.is_final, document.as_of_s)
        old_key = (before.summary.state.is_final, before.as_of_s)
        return new_key >= old_key and not (before.summary.state.is_final and document.raw == before.raw)

    def _precedence(self, application_id: ApplicationId, subcluster: SubClusterId) -> tuple[bool, int]:
        """An id that two sub-clusters know is told by its home; without one, by the first in the configured order."""
        return self._homes.get(application_id) != subcluster, self._rank[subcluster]

    def _forget(self, report: SubClusterReport) -> Iterable[ApplicationId]:
        for application_id in report.forgotten:
            if self._forget_one(application_id, report.subcluster, report.polled_at_s):
                yield application_id

    def _forget_one(self, application_id: ApplicationId, subcluster: SubClusterId, as_of_s: float) -> bool:
        """Drop an application that its home does not know, unless the federation answers for it."""
        document = self._documents.get(application_id)
        home = self._homes.get(application_id)
        if document is not None and (
            document.summary.home_subcluster != subcluster
            or document.summary.state.is_final
            or document.as_of_s > as_of_s
        ):
            return False
        if home == subcluster:
            self._forgotten.add(application_id)
            return True
        if home is None and document is not None:
            self._remove(application_id)
        return False

    def _remove(self, application_id: ApplicationId) -> None:
        document = self._documents.pop(application_id, None)
        if document is not None:
            self._subclusters[document.summary.home_subcluster].live.discard(application_id)
        self._synthetic.discard(application_id)
        self._forgotten.discard(application_id)
        self._written.pop(application_id, None)
        self._bump(Part.APPLICATIONS)

    def _drop_oldest_finals(self) -> None:
        while len(self._finals) > self._settings.final_documents:
            self._remove(self._finals.popleft())

    def _bump(self, part: Part) -> None:
        self._versions[part] += 1


def _age_key(document: ApplicationDocument) -> tuple[int, int, int]:
    summary: ApplicationSummary = document.summary
    return summary.started_at_ms, summary.application_id.cluster_timestamp, summary.application_id.sequence
