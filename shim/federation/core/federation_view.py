"""The view of all sub-clusters by their polls: the state that answers reads, and on which homes are chosen.

Reports may be lost, repeated or late: one is applied only if it is newer than what is known of its sub-cluster. Beside
reports, single documents come in (`applications.note`), fetched by id between two polls.

Three things are never done. An application is not ended because it is absent: only its own document, or its active home
that says it does not know the id, ends it. A state is not put together from two documents. And what was last known of a
sub-cluster that is away stays, with its age.

Nodes that a ResourceManager which has restarted does not know yet.

They register again one by one, up to `yarn.resourcemanager.connect.retry-interval.ms` (30 s) after it is there. Until
then it tells less capacity and less use than there is, and none of it is a reason to take anything from anybody.

One sub-cluster as the federation view knows it: the values that it hands out.
"""

from collections import Counter
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.packed_texts import Text, plain
from shim.domain.queues import QueueReport, SchedulerType, parent_of
from shim.domain.resources import ResourceVector
from shim.domain.steps import at_once
from shim.domain.subclusters import (
    ApplicationDocument,
    HaState,
    NodeReport,
    SubClusterReport,
    SubClusterState,
    version_numbers,
)
from shim.federation.core.account_book import AccountBook, NoUsage
from shim.federation.core.application_index import ApplicationIndex


class Part(Enum):
    """Part of a sub-cluster that is polled; the value is the name in `SubClusterReport.documents`."""

    INFO = "info"
    METRICS = "metrics"
    NODES = "nodes"
    SCHEDULER = "scheduler"
    APPLICATIONS = "apps"


@dataclass(frozen=True, slots=True)
class PartDocument:
    """A sub-cluster's own answer for one part, maybe packed.

    Attributes:
        as_of_s: When it was asked for; seconds since the epoch.
    """

    told: Text
    as_of_s: float

    @property
    def raw(self) -> bytes:
        """The answer as it was written."""
        return plain(self.told)


PlacementKind = tuple[str, int, int]
"""Queue as submitted, memory in MiB and virtual cores: thousands of placements between two polls are of a few kinds."""


@dataclass(frozen=True, slots=True)
class PendingPlacement:
    """An application that was sent to a sub-cluster and that no report of it can show yet.

    Attributes:
        queue: As submitted; empty for the default queue.
        resource: Of the ApplicationMaster's container.
        at_s: When it was placed; seconds since the epoch.
    """

    queue: str
    resource: ResourceVector
    at_s: float

    @property
    def kind(self) -> PlacementKind:
        """The properties that the placement's weight depends on."""
        return self.queue, self.resource.memory_mib, self.resource.vcores


@dataclass(frozen=True, slots=True)
class PartitionNodes:
    """RUNNING nodes of one node partition.

    Attributes:
        freest: The most that some node has free, type by type: what is more fits on none.
    """

    nodes: tuple[NodeReport, ...]
    freest: ResourceVector


@dataclass(frozen=True, slots=True)
class SubClusterView:
    """One sub-cluster as it is known now; what `home.choose_home` looks at.

    Attributes:
        age_s: Since its newest report began; infinite if there is none.
        failure: Why the polls since that report failed; empty if none did.
        running: How many live applications it holds.
        placements: How many of each kind were sent there since the last report that could show them.
        version: Hadoop's version.
        pending: What leaf queues wait for, together; memory and virtual cores alone.
        waiting_applications: Those of leaf queues whose ApplicationMasters have not started.
        partitions: RUNNING nodes by the label of their partition; None to look at each node.
        awaits_nodes: Whether its ResourceManager has restarted, and many of its nodes are not back yet.
        left_out: Rows that it told and that are more than is taken in of one sub-cluster, by what they are of.
        short_names: The queues that share the last part of their path, by that part; None to look at each queue.
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
    placements: Mapping[PlacementKind, int] = field(default_factory=dict)
    pending: ResourceVector = field(default_factory=ResourceVector)
    waiting_applications: int = 0
    short_names: Mapping[str, Sequence[QueueReport]] | None = None
    awaits_nodes: bool = False
    left_out: Mapping[str, int] = field(default_factory=dict)
    partitions: Mapping[str, PartitionNodes] | None = None


def by_short_name(queues: Mapping[str, QueueReport]) -> dict[str, list[QueueReport]]:
    """Queues by the last part of their path, in the order in which they were told."""
    names: dict[str, list[QueueReport]] = {}
    for path, queue in queues.items():
        names.setdefault(path.rpartition(".")[2], []).append(queue)
    return names


def find_queue(subcluster: SubClusterView, name: str) -> QueueReport | None:
    """The queue that a submission's queue name means there, by the rules of that scheduler.

    A capacity scheduler takes a full path or the name of a leaf; a fair scheduler reads `x` as `root.x` and makes the
    queues that it lacks; a fifo scheduler has one queue for everything. A queue that would be made is reported as its
    nearest existing parent.
    """
    if subcluster.scheduler == "fifoScheduler":
        return next(iter(subcluster.queues.values()), None)
    exact = subcluster.queues.get(name)
    if exact is not None:
        return exact
    if subcluster.scheduler == SchedulerType.FAIR:
        full = name if name.startswith("root.") else f"root.{name}"
        return subcluster.queues.get(full) or subcluster.queues.get(parent_of(full, subcluster.queues))
    names = by_short_name(subcluster.queues) if subcluster.short_names is None else subcluster.short_names
    short = names.get(name)
    if short:
        return next((queue for queue in short if queue.is_leaf), short[0])
    parent = subcluster.queues.get(name.rpartition(".")[0])
    return parent if parent is not None and parent.creates_children else None


_PATHS_SINCE = (3, 3)
"""CapacityScheduler of an older Hadoop knows a leaf by its last name alone (`CSQueueStore` came with 3.3)."""


def submitted_name(subcluster: SubClusterView, name: str) -> str:
    """How a request there names the queue that a path names: as told, unless its scheduler reads no paths."""
    if "." not in name or subcluster.scheduler != SchedulerType.CAPACITY or not subcluster.version:
        return name
    queue = find_queue(subcluster, name) if version_numbers(subcluster.version) < _PATHS_SINCE else None
    return name if queue is None or queue.path != name else _last_name(subcluster, queue)


def reserved_name(subcluster: SubClusterView, name: str) -> str:
    """How a reservation there names a plan: a CapacityScheduler of any version by its last name, others as told."""
    queue = find_queue(subcluster, name) if "." in name and subcluster.scheduler == SchedulerType.CAPACITY else None
    return name if queue is None or queue.path != name else _last_name(subcluster, queue)


def _last_name(subcluster: SubClusterView, queue: QueueReport) -> str:
    """The last part of a queue's path; the path, if another that the scheduler may take for it has the same."""
    last = queue.path.rpartition(".")[2]
    alike = [each for each in by_short_name(subcluster.queues)[last] if each.is_leaf or not queue.is_leaf]
    return last if len(alike) == 1 else queue.path


__all__ = [
    "Applied",
    "AwaitedNodes",
    "FederationView",
    "Part",
    "PartDocument",
    "PendingPlacement",
    "SubClusterView",
    "ViewSettings",
]

_AT_MOST_S = 60.0
_NEARLY_ALL = 0.95


@dataclass(slots=True)
class AwaitedNodes:
    """The capacity that a sub-cluster had before its ResourceManager restarted; none if it has not lately."""

    _before: ResourceVector = field(default_factory=ResourceVector)
    _until_s: float = float("-inf")

    def restarted(self, before: ResourceVector, at_s: float) -> None:
        """Await what there was; if it restarts before all is back, that of before the first time."""
        if at_s >= self._until_s or before.memory_mib > self._before.memory_mib:
            self._before = before
        self._until_s = at_s + _AT_MOST_S

    def not_there_yet(self, at_s: float) -> None:
        """Note that it is not active as yet: no node can register before."""
        if at_s < self._until_s:
            self._until_s = at_s + _AT_MOST_S

    def are_missing(self, capacity: ResourceVector, now_s: float) -> bool:
        """Return whether much is missing still: with what never comes back it is so for a minute."""
        return now_s < self._until_s and capacity.memory_mib < _NEARLY_ALL * self._before.memory_mib


@dataclass(frozen=True, slots=True)
class ViewSettings:
    """Limits of a view.

    Attributes:
        late_after_s: A sub-cluster whose newest report began longer ago is LOST; one that is watched and whose last
            poll did not fail only after four times that (see `FederationView.watch`).
        final_documents: How many documents of ended applications are kept; beyond that the one that came first is
            dropped, and is fetched by id if somebody asks.
    """

    late_after_s: float
    final_documents: int


@dataclass(frozen=True, slots=True)
class Applied:
    """Changes that a report brought.

    Attributes:
        is_new: False for a report that is older than what was known; nothing changed then.
        forgotten: Acknowledged applications that their active home does not know: to be submitted to it again.
        has_restarted: Whether the ResourceManager is not the process that it was.
    """

    is_new: bool
    became_final: tuple[ApplicationId, ...] = ()
    forgotten: tuple[ApplicationId, ...] = ()
    has_restarted: bool = False


@dataclass(frozen=True, slots=True)
class _Late:
    """Sub-clusters that are late, from a moment until another, in seconds."""

    from_s: float
    until_s: float
    subclusters: tuple[SubClusterId, ...] = ()


_NOT_KNOWN = _Late(float("inf"), float("-inf"))
_ROUNDING_S = 0.001
"""What sums of large floating-point numbers may be wrong by, and more."""
_STALE = Applied(is_new=False)
_NOTHING = ResourceVector()
_NO_QUEUES: Mapping[str, QueueReport] = {}
_OWN_DELAYS = 4.0
"""Times `late_after_s` that reports of a watched sub-cluster may be away: whoever polls it may hang, after all."""
_SLICE = 100
"""Applications that are taken in at once: a few milliseconds of work."""


@dataclass(slots=True)
class _SubCluster:
    """State of one sub-cluster between reports; a report need not hold every part."""

    report: SubClusterReport | None = None
    heard_at_s: float = 0.0
    documents: dict[Part, PartDocument] = field(default_factory=dict)
    touched: dict[Part, float] = field(default_factory=dict)
    scheduler: str = ""
    capacity: ResourceVector = field(default_factory=ResourceVector)
    used: ResourceVector = field(default_factory=ResourceVector)
    maximum_allocation: ResourceVector = field(default_factory=ResourceVector)
    nodes: tuple[NodeReport, ...] = ()
    partitions: dict[str, PartitionNodes] = field(default_factory=dict)
    queues: dict[str, QueueReport] = field(default_factory=dict)
    short_names: dict[str, list[QueueReport]] = field(default_factory=dict)
    pending: ResourceVector = field(default_factory=ResourceVector)
    waiting_applications: int = 0
    labels: tuple[str, ...] = ()
    listed_at_s: float | None = None
    placements: list[PendingPlacement] = field(default_factory=list)
    placement_kinds: Counter[PlacementKind] = field(default_factory=Counter)
    failure: str = ""
    failed_at_s: float = 0.0
    is_watched: bool = False
    awaited: AwaitedNodes = field(default_factory=AwaitedNodes)
    lives: set[int] = field(default_factory=set)
    changes: int = 0

    def is_newer(self, report: SubClusterReport) -> bool:
        known = self.report
        return known is None or (report.incarnation, report.sequence) > (known.incarnation, known.sequence)

    def take_values(self, report: SubClusterReport) -> None:
        if Part.METRICS.value in report.documents:
            self.capacity, self.used = report.capacity, report.used
        if Part.NODES.value in report.documents:
            self.nodes, self.labels = report.nodes, report.labels
            self.partitions = partitions_of(report.nodes)
        if Part.SCHEDULER.value in report.documents:
            self.scheduler, self.maximum_allocation = report.scheduler, report.maximum_allocation
            self.queues = {queue.path: queue for queue in report.queues}
            self.short_names = by_short_name(self.queues)
            leaves = [queue for queue in report.queues if queue.is_leaf]
            self.pending = _amount(queue.pending for queue in leaves)
            self.waiting_applications = sum(queue.waiting_applications for queue in leaves)
            self.placements = [placed for placed in self.placements if placed.at_s > report.polled_at_s]
            self.placement_kinds = Counter(placed.kind for placed in self.placements)


class FederationView:
    """The cached state of every sub-cluster. Mutate through its methods only; it never reads a clock.

    Attributes:
        applications: Every application that is known, by its documents and by what the federation did with it.
        changes: Counts the reports that were taken in, and retirements.
    """

    def __init__(
        self,
        subclusters: Sequence[SubClusterId],
        settings: ViewSettings,
        accounts: AccountBook | None = None,
    ) -> None:
        """Know nothing but the names of the sub-clusters, in the configured order, and what accounts tell."""
        self.accounts = accounts if accounts is not None else AccountBook(NoUsage())
        self._settings = settings
        self._subclusters = {subcluster: _SubCluster() for subcluster in subclusters}
        self.applications = ApplicationIndex(subclusters, self._settings.final_documents, self.accounts)
        self._versions = dict.fromkeys(Part, 1)
        self.changes = 0
        self._retired: frozenset[SubClusterId] = frozenset()
        self._late = _NOT_KNOWN

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
        return at_once(self.apply_steps(report))

    def apply_steps(self, report: SubClusterReport) -> Generator[None, None, Applied]:
        """As `apply`, pausing after some applications so that others may have their turn.

        In between the rest stands as it was known before, as if the first had been fetched one by one.
        """
        known = self._subclusters[report.subcluster]
        if report.subcluster in self._retired or not known.is_newer(report):
            return _STALE
        self.changes, self._late = self.changes + 1, _NOT_KNOWN
        known.changes += 1
        before, known.report = known.report, report
        known.lives.add(report.started_on_ms)
        known.heard_at_s = max(known.heard_at_s, report.polled_at_s)
        if report.polled_at_s >= known.failed_at_s:
            known.failure = ""
        for part in Part:
            told = report.documents.get(part.value)
            if told is not None:
                self.note_part(report.subcluster, part, PartDocument(told, report.polled_at_s))
        has_restarted = before is not None and before.started_on_ms != report.started_on_ms
        if has_restarted:
            known.awaited.restarted(known.capacity, report.polled_at_s)
        elif report.ha_state is not HaState.ACTIVE:
            known.awaited.not_there_yet(report.polled_at_s)
        known.take_values(report)
        self.applications.note_life(report.subcluster, report.started_on_ms)
        became_final = yield from self._take_steps(report.applications)
        forgotten = [
            name for name in report.forgotten if self.applications.forget(name, report.subcluster, report.polled_at_s)
        ]
        if report.is_complete and report.ha_state is HaState.ACTIVE:
            known.listed_at_s = report.polled_at_s
        return Applied(
            is_new=True,
            became_final=tuple(became_final),
            forgotten=tuple(forgotten),
            has_restarted=has_restarted,
        )

    def _take_steps(
        self, told: Mapping[ApplicationId, ApplicationDocument]
    ) -> Generator[None, None, list[ApplicationId]]:
        """Take documents in; return the applications that became final by them."""
        became_final: list[ApplicationId] = []
        try:
            for number, (name, document) in enumerate(told.items(), start=1):
                if self.applications.note(document, is_listed=True):
                    became_final.append(name)
                if number % _SLICE == 0:
                    yield
        finally:
            self.applications.end_list()
        return became_final

    def note_part(self, subcluster: SubClusterId, part: Part, document: PartDocument) -> None:
        """Take in a part's document, unless a later one is known."""
        known = self._subclusters[subcluster]
        before = known.documents.get(part)
        if before is not None and before.as_of_s > document.as_of_s:
            return
        known.documents[part] = document
        if known.touched.get(part, float("inf")) <= document.as_of_s:
            del known.touched[part]
        if before is None or before.told != document.told:
            self._versions[part] += 1

    def note_failure(self, subcluster: SubClusterId, reason: str, *, at_s: float) -> None:
        """A poll failed: no new application goes there until one succeeds, however young the last report is."""
        known = self._subclusters[subcluster]
        known.failure, known.failed_at_s = reason, at_s
        known.changes += 1
        self._late = _NOT_KNOWN

    def watch(self, subcluster: SubClusterId) -> None:
        """Whoever polls a sub-cluster lives, and would tell at once that a poll failed.

        While it tells of no failure, the sub-cluster has answered whenever it was asked: that reports are away is then
        the delay of Heddle's own turns, and no sign of the sub-cluster's.
        """
        self._watch(subcluster, is_watched=True)

    def unwatch(self, subcluster: SubClusterId) -> None:
        """Whoever polled a sub-cluster has ended: from now on its silence may be anybody's."""
        self._watch(subcluster, is_watched=False)

    def _watch(self, subcluster: SubClusterId, *, is_watched: bool) -> None:
        known = self._subclusters[subcluster]
        if known.is_watched is not is_watched:
            known.is_watched, self._late = is_watched, _NOT_KNOWN

    def retire(self, subclusters: Collection[SubClusterId]) -> None:
        """Exactly these are declared dead: they are LOST, and nothing that they tell is taken in.

        What they last told of themselves (capacity, nodes, queues, metrics) leaves every sum at once. What is known of
        their applications stays.
        """
        retired = frozenset(subclusters)
        if retired != self._retired:
            self.changes, self._late = self.changes + 1, _NOT_KNOWN
            for part in Part:
                self._versions[part] += 1
        self._retired = retired

    def note_placed(self, subcluster: SubClusterId, placement: PendingPlacement) -> None:
        """An application is on its way there: the next choice counts it, though no report shows it yet."""
        known = self._subclusters[subcluster]
        known.placements.append(placement)
        known.placement_kinds[placement.kind] += 1
        known.changes += 1

    def replace_placed(self, subcluster: SubClusterId, placements: Iterable[PendingPlacement]) -> None:
        """Replace the placements on their way to a sub-cluster by those that its Local Master tells."""
        known = self._subclusters[subcluster]
        known.placements = list(placements)
        known.placement_kinds = Counter(placed.kind for placed in known.placements)
        known.changes += 1

    def mark_touched(self, subcluster: SubClusterId, part: Part, *, at_s: float) -> None:
        """Note a change of a part (nodes, scheduler) at `at_s`: the next read of it fetches first."""
        self._subclusters[subcluster].touched[part] = at_s
        self._versions[part] += 1

    # ------------------------------------------------------------------ what is known

    def version(self, part: Part) -> int:
        """A number that changes whenever an answer made of this part of any sub-cluster could change."""
        return self.applications.version if part is Part.APPLICATIONS else self._versions[part]

    def is_touched(self, subcluster: SubClusterId, part: Part) -> bool:
        return subcluster not in self._retired and part in self._subclusters[subcluster].touched

    def is_retired(self, subcluster: SubClusterId) -> bool:
        """Return whether an operator has declared a sub-cluster dead."""
        return subcluster in self._retired

    def part(self, subcluster: SubClusterId, part: Part) -> PartDocument | None:
        """A sub-cluster's newest answer for a part; None before the first, and of one that is retired."""
        if subcluster in self._retired:
            return None
        return self._subclusters[subcluster].documents.get(part)

    def as_of_s(self, subcluster: SubClusterId, part: Part) -> float | None:
        """Return when the sub-cluster was last asked for a part and told it; None before the first time."""
        known = self._subclusters[subcluster]
        if part is Part.APPLICATIONS:
            return known.listed_at_s
        document = known.documents.get(part)
        return None if document is None else document.as_of_s

    def state(self, subcluster: SubClusterId, now_s: float) -> SubClusterState:
        """Return the state of the sub-cluster, by the age of its newest report and the content of its `/info`.

        It is LOST once its newest report is older than `late_after_s`: four times that while whoever polls it tells of
        no failure.
        """
        known = self._subclusters[subcluster]
        report = known.report
        if report is None:
            return SubClusterState.NEW
        if subcluster in self._retired or now_s - known.heard_at_s > self._patience_s(known):
            return SubClusterState.LOST
        return SubClusterState.RUNNING if report.ha_state is HaState.ACTIVE else SubClusterState.RECOVERING

    def _patience_s(self, known: _SubCluster) -> float:
        """How old its newest report may be."""
        is_prompt = known.is_watched and not known.failure
        return self._settings.late_after_s * (_OWN_DELAYS if is_prompt else 1.0)

    def scheduler(self, subcluster: SubClusterId) -> str:
        """Type of a sub-cluster's scheduler, as `capacityScheduler`; empty before it was told."""
        return self._subclusters[subcluster].scheduler

    def queues(self, subcluster: SubClusterId) -> Mapping[str, QueueReport]:
        """Queues of a sub-cluster by path; none of one that is retired."""
        return _NO_QUEUES if subcluster in self._retired else self._subclusters[subcluster].queues

    def clock_skew_s(self, subcluster: SubClusterId) -> float:
        """A ResourceManager's clock less ours."""
        report = self._subclusters[subcluster].report
        return 0.0 if report is None else report.clock_skew_s

    def started_on_ms(self, subcluster: SubClusterId) -> int:
        """The life of a ResourceManager as last reported; 0 before the first report."""
        report = self._subclusters[subcluster].report
        return 0 if report is None else report.started_on_ms

    def has_lived(self, subcluster: SubClusterId, started_on_ms: int) -> bool:
        """Return whether a ResourceManager was ever reported to have started then."""
        return started_on_ms in self._subclusters[subcluster].lives

    def age_s(self, subcluster: SubClusterId, now_s: float) -> float:
        """Since the newest report of a sub-cluster began; infinite if there is none."""
        known = self._subclusters[subcluster]
        return float("inf") if known.report is None else max(0.0, now_s - known.heard_at_s)

    def late(self, now_s: float) -> tuple[SubClusterId, ...]:
        """Sub-clusters whose part in an answer is old or absent: not RUNNING, or the last poll failed."""
        late = self._late
        if not late.from_s <= now_s < late.until_s:  # every answer that is kept asks for it
            late = self._late = self._find_late(now_s)
        return late.subclusters

    def _find_late(self, now_s: float) -> "_Late":
        """Sub-clusters that are late, and until when that holds while nothing comes in."""
        prompt = {
            subcluster: known.heard_at_s + self._patience_s(known)
            for subcluster, known in self._subclusters.items()
            if not known.failure and self.state(subcluster, now_s) is SubClusterState.RUNNING
        }
        until_s = min(prompt.values(), default=float("inf")) - _ROUNDING_S
        return _Late(now_s, until_s, tuple(each for each in self._subclusters if each not in prompt))

    def capacity(self, now_s: float) -> ResourceVector:
        """Return what all sub-clusters have in all, whoever holds it."""
        return sum((self.look(each, now_s).capacity for each in self.subclusters), start=ResourceVector())

    def standing(self, subcluster: SubClusterId, now_s: float) -> tuple[int, int] | None:
        """Numbers that change whenever `look` tells something new beside the age; None while time itself decides.

        It does of a sub-cluster that is not RUNNING, and of one whose nodes are awaited.
        """
        known = self._subclusters[subcluster]
        if self.state(subcluster, now_s) is not SubClusterState.RUNNING:
            return None
        if known.awaited.are_missing(known.capacity, now_s):
            return None
        return known.changes, self.applications.count_live(subcluster)

    def look(self, subcluster: SubClusterId, now_s: float) -> SubClusterView:
        """Return all knowledge of one sub-cluster; of one that is retired, neither amounts nor nodes nor queues."""
        known = self._subclusters[subcluster]
        report = known.report
        is_told = subcluster not in self._retired
        return SubClusterView(
            subcluster=subcluster,
            state=self.state(subcluster, now_s),
            age_s=self.age_s(subcluster, now_s),
            failure=known.failure,
            ha_state=None if report is None else report.ha_state,
            started_on_ms=0 if report is None else report.started_on_ms,
            version="" if report is None else report.version,
            scheduler=known.scheduler,
            clock_skew_s=0.0 if report is None else report.clock_skew_s,
            running=self.applications.count_live(subcluster),
            capacity=known.capacity if is_told else _NOTHING,
            used=known.used if is_told else _NOTHING,
            maximum_allocation=known.maximum_allocation if is_told else _NOTHING,
            nodes=known.nodes if is_told else (),
            queues=self.queues(subcluster),
            labels=known.labels if is_told else (),
            placements=dict(known.placement_kinds) if is_told else {},
            pending=known.pending if is_told else _NOTHING,
            waiting_applications=known.waiting_applications if is_told else 0,
            short_names=known.short_names if is_told else None,
            partitions=known.partitions if is_told else {},
            awaits_nodes=is_told and known.awaited.are_missing(known.capacity, now_s),
            left_out={} if report is None else report.left_out,
        )


def _amount(vectors: Iterable[ResourceVector]) -> ResourceVector:
    """Memory and virtual cores together."""
    memory = vcores = 0
    for vector in vectors:
        memory, vcores = memory + vector.memory_mib, vcores + vector.vcores
    return ResourceVector(memory, vcores)


def partitions_of(nodes: Iterable[NodeReport]) -> dict[str, PartitionNodes]:
    """RUNNING nodes by the label of their partition; empty for those without one."""
    found: dict[str, list[NodeReport]] = {}
    for node in nodes:
        if node.state == "RUNNING":
            for label in node.labels or ("",):
                found.setdefault(label, []).append(node)
    return {label: PartitionNodes(tuple(of_it), _freest(of_it)) for label, of_it in found.items()}


def _freest(nodes: Sequence[NodeReport]) -> ResourceVector:
    odd = [node.total - node.used for node in nodes if node.total.others or node.used.others]  # few: see `resources`
    rest = [0] if len(odd) < len(nodes) else []
    names = {name for each in odd for name in each.others}
    return ResourceVector(
        max(node.total.memory_mib - node.used.memory_mib for node in nodes),
        max(node.total.vcores - node.used.vcores for node in nodes),
        {name: max([*rest, *(each.others.get(name, 0) for each in odd)]) for name in sorted(names)},
    )
