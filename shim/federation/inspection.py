"""Operators' questions: the state of sub-clusters, the queues over all of them, and the doctor's findings."""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import structlog

from shim.domain.ids import SubClusterId
from shim.domain.queues import FederatedQueue, QueueReport
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, AdmissionWord, ApplicationDocument, NodeReport, SubClusterState
from shim.errors import HeddleError, StoreError
from shim.federation.core.federation_view import FederationView, Part, SubClusterView, find_queue
from shim.federation.core.grants import grant_of
from shim.federation.doctor import KerberosFacts, examine
from shim.federation.doctor_facts import FederationFacts, HadoopSetting, SubClusterFacts, decode_settings
from shim.federation.findings import Finding, Level
from shim.federation.freshness import instant
from shim.federation.queue_findings import EndedApplication, QueueFacts
from shim.federation.rm_questions import PROBE_USER, ask_part, ask_right_to_act
from shim.federation.tls_findings import CertificateFacts, ClusterTLSFacts, MasterTLSFacts, TLSFacts
from shim.ports.clock import Clock
from shim.ports.node_managers import AskNode
from shim.ports.resource_manager import ResourceManager, RestRequest
from shim.ports.resource_manager_rpc import ResourceManagerRPC
from shim.ports.state_store import StateStore
from shim.protocol.wire_values import UNREADABLE, WireNumber, whole

_WHO = "/ws/v1/cluster/userinfo"
_CONF = RestRequest("GET", "/conf", headers=(("Accept", "application/json"),))
_LONGEST_NAME = 256  # characters of a user name that are told
_OK = 200
_MOST_ENDED = 2000  # applications of a sub-cluster whose times are looked at
_WORDS = {Admission.CORDONED: "CORDONED", Admission.DRAINING: "DRAINING"}


@dataclass(frozen=True, slots=True)
class SubClusterDescription:
    """Configuration of a sub-cluster, for checks.

    Attributes:
        web: Addresses of its ResourceManagers, with scheme.
        client_rpc: Where they serve clients; empty if unknown.
        scheduler_rpc: Where they serve ApplicationMasters; empty if unknown.
        admin_rpc: Where they serve operators; empty if unknown.
        proxy_user: Heddle's own user there, if it sends `doAs`; else empty.
    """

    web: tuple[str, ...]
    client_rpc: tuple[str, ...] = ()
    scheduler_rpc: tuple[str, ...] = ()
    admin_rpc: tuple[str, ...] = ()
    proxy_user: str = ""


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """A sub-cluster was in another state from a moment on, or did not answer at its first poll."""

    at_ms: int
    was: str
    state: str
    reason: str


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """One sub-cluster as operators see it.

    Attributes:
        state: One word: RUNNING, CORDONED, DRAINING, RECOVERING, LOST, RETIRED or NEW.
        age_s: Of the newest heartbeat; if there was none, since this process began.
        running: Applications that are not final.
        failure: Why the newest poll failed; empty if it did not.
        word: Who said, when and why, that it takes no applications; None if it is open.
        changes: Of its state, the newest last, since this process began.
    """

    id: SubClusterId
    description: SubClusterDescription
    state: str
    admission: Admission
    age_s: float
    version: str
    scheduler: str
    running: int
    nodes: int
    failure: str
    is_heard: bool = True
    word: AdmissionWord | None = None
    changes: tuple[ClusterChange, ...] = ()


@dataclass(frozen=True, slots=True)
class QueuePart:
    """A queue on one sub-cluster."""

    subcluster: SubClusterId
    state: str
    capacity: ResourceVector
    used: ResourceVector
    pending: ResourceVector
    applications: int


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """A leaf queue over all sub-clusters that have it."""

    path: str
    parts: tuple[QueuePart, ...]

    def total(self, amount: Callable[[QueuePart], ResourceVector]) -> ResourceVector:
        return sum((amount(part) for part in self.parts), start=ResourceVector())


async def _nothing() -> None:
    """Return no facts, as there is no such server."""


@dataclass(frozen=True, slots=True)
class InspectionSettings:
    """Values of Heddle's own configuration that the checks need.

    Attributes:
        servers: Which of `client_rpc`, `scheduler_rpc` and `admin_rpc` Heddle has.
        kerberos: Asks the KDC, for which it may wait.
        directory: Asks the directory of groups; says why that cannot be asked, empty if it can.
        overtaken: Applications that others of their queue have overtaken elsewhere.
        stopped: Ways between sub-clusters that applications do not take by themselves any more.
        with_logs: Sub-clusters whose logs of ended containers can be read.
    """

    wildcard_proxy_users: tuple[str, ...] = ()
    allow_anonymous: bool = False
    application_acls: bool = False
    scheduler_rpc: str = ""
    servers: tuple[str, ...] = ()
    spanning: Callable[[], tuple[str, ...]] = tuple
    policy: Callable[[], Sequence[FederatedQueue]] = tuple
    kerberos: Callable[[], Awaitable[KerberosFacts | None]] = _nothing
    directory: Callable[[], Awaitable[str | None]] = _nothing
    ticket_user: str = ""
    tls: Callable[[], TLSFacts] = TLSFacts
    cluster_tls: Callable[[], Sequence[ClusterTLSFacts]] = tuple
    master_tls: Callable[[], MasterTLSFacts | None] = lambda: None
    policy_trouble: Callable[[], str] = str
    list_trouble: Callable[[], str] = str
    file_has_policy: bool = False
    unverified_store: str = ""
    overtaken: Callable[[], Sequence[tuple[str, str, str]]] = tuple
    stopped: Callable[[], Sequence[tuple[str, str]]] = tuple
    with_logs: frozenset[SubClusterId] = frozenset()
    answer_within_s: float = 2.0


@dataclass(frozen=True, slots=True)
class Inspection:
    """Use cases of operators that change nothing.

    Attributes:
        admissions: Operators' words as last read from the store; a sub-cluster that is not in here is OPEN.
        unfenced: Reach what is retired, too: whether it is back.
        by_ticket: Client RPC of those where Heddle logs in by ticket.
        ask_node: Web services of each sub-cluster's NodeManagers.
        changes: Of each sub-cluster's state; `ClusterEvents` notes them.
    """

    view: FederationView
    managers: Mapping[SubClusterId, ResourceManager]
    descriptions: Mapping[SubClusterId, SubClusterDescription]
    admissions: Mapping[SubClusterId, Admission]
    store: StateStore
    clock: Clock
    ask_node: Mapping[SubClusterId, AskNode]
    settings: InspectionSettings = field(default_factory=InspectionSettings)
    words: Mapping[SubClusterId, AdmissionWord] = field(default_factory=dict)
    unfenced: Mapping[SubClusterId, ResourceManager] = field(default_factory=dict)
    by_ticket: Mapping[SubClusterId, ResourceManagerRPC] = field(default_factory=dict)
    changes: dict[SubClusterId, deque[ClusterChange]] = field(default_factory=dict)
    began_s: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "began_s", self.clock.monotonic_s())

    def clusters(self) -> list[ClusterStatus]:
        """Every configured sub-cluster, in the configured order."""
        now_s = self.clock.now_s()
        return [self._status(each, self.admissions.get(each, Admission.OPEN), now_s) for each in self.view.subclusters]

    def queues(self) -> list[QueueStatus]:
        """Leaf queues of all sub-clusters, by path."""
        parts: dict[str, list[QueuePart]] = defaultdict(list)
        for seen in self._seen():
            for queue in seen.queues.values():
                if queue.is_leaf:
                    amounts = queue.capacity, queue.used, queue.pending, queue.applications
                    parts[queue.path].append(QueuePart(seen.subcluster, queue.state.value, *amounts))
        return [QueueStatus(path, tuple(parts[path])) for path in sorted(parts)]

    async def doctor(self) -> list[Finding]:
        """Gather the facts, and examine them."""
        facts = await asyncio.gather(*(self._facts(seen) for seen in self._seen()))
        return examine(
            FederationFacts(
                facts,
                store_trouble=await self._store_trouble(),
                wildcard_proxy_users=self.settings.wildcard_proxy_users,
                allow_anonymous=self.settings.allow_anonymous,
                has_acls=self.settings.application_acls,
                scheduler_rpc=self.settings.scheduler_rpc,
                spanning=self.settings.spanning(),
                policy=self.settings.policy(),
                kerberos=await self.settings.kerberos(),
                directory_trouble=await self.settings.directory(),
                tls=self.settings.tls(),
                cluster_tls=self.settings.cluster_tls(),
                master_tls=self.settings.master_tls(),
                policy_trouble=self.settings.policy_trouble(),
                list_trouble=self.settings.list_trouble(),
                file_has_policy=self.settings.file_has_policy,
                unverified_store=self.settings.unverified_store,
                ticket_user=self.settings.ticket_user,
                overtaken=self.settings.overtaken(),
                stopped=self.settings.stopped(),
            )
        )

    def _seen(self) -> Sequence[SubClusterView]:
        return [self.view.look(subcluster, self.clock.now_s()) for subcluster in self.view.subclusters]

    def _status(self, subcluster: SubClusterId, admission: Admission, now_s: float) -> ClusterStatus:
        seen = self.view.look(subcluster, now_s)
        is_heard = seen.state is not SubClusterState.NEW
        return ClusterStatus(
            id=subcluster,
            description=self.descriptions[subcluster],
            state=word_for(seen.state, admission),
            admission=admission,
            age_s=seen.age_s if is_heard else self._running_s(),
            version=seen.version,
            scheduler=seen.scheduler,
            running=seen.running,
            nodes=len(seen.nodes),
            failure=seen.failure,
            is_heard=is_heard,
            word=self.words.get(subcluster),
            changes=tuple(self.changes.get(subcluster, ())),
        )

    def _running_s(self) -> float:
        """Since this process began: the least that a cluster has been silent that never reported."""
        return self.clock.monotonic_s() - self.began_s

    async def _store_trouble(self) -> str:
        try:
            await self.store.admissions()
        except StoreError as exc:
            return str(exc)
        return ""

    async def _facts(self, seen: SubClusterView) -> SubClusterFacts:
        is_reachable = seen.state.is_usable and not seen.failure
        description = self.descriptions[seen.subcluster]
        never = f"no report in the {self._running_s():.0f} s since Heddle began"
        age = f"last reported {seen.age_s:.0f} s ago" if seen.version else never
        manager, node, taken_as, acting = None, None, None, None
        if is_reachable:
            manager, node, taken_as, acting = await asyncio.gather(
                self._manager_settings(seen.subcluster),
                self._node_settings(seen.subcluster),
                self._taken_as(seen.subcluster),
                ask_right_to_act(self.by_ticket.get(seen.subcluster), timeout_s=self.settings.answer_within_s),
            )
        return SubClusterFacts(
            id=seen.subcluster,
            is_reachable=is_reachable,
            is_retired=(is_retired := self.view.is_retired(seen.subcluster)),
            closed=told_of_word(self.words.get(seen.subcluster)),
            is_back=is_retired and await self._is_back(seen.subcluster),
            life=(seen.started_on_ms, frozenset(str(node.node) for node in seen.nodes)) if seen.nodes else None,
            trouble=f"{age}; {seen.failure or f'its ResourceManager is {word_for(seen.state, Admission.OPEN)}'}",
            version=seen.version,
            clock_skew_s=seen.clock_skew_s,
            queues=frozenset(path for path, queue in seen.queues.items() if queue.is_leaf),
            lacking=tuple(server for server in self.settings.servers if not getattr(description, server)),
            proxy_user=description.proxy_user,
            taken_as=taken_as,
            # a large cluster's first poll may end before its list of nodes was told
            excess=capacity_excess(seen.capacity, seen.nodes) if self.view.part(seen.subcluster, Part.NODES) else (),
            left_out=seen.left_out,
            grants=_grants(seen),
            labels=frozenset(seen.labels),
            types=frozenset(seen.maximum_allocation.others) | frozenset(seen.capacity.others),
            manager_settings=manager,
            node_settings=node,
            acting=acting,
            has_logs=seen.subcluster in self.settings.with_logs,
            leaves=self._leaves(seen),
        )

    def _leaves(self, seen: SubClusterView) -> tuple[QueueFacts, ...]:
        """Leaf queues of a sub-cluster, with the newest of what ended in them."""
        ended: dict[str, list[EndedApplication]] = defaultdict(list)
        columns = self.view.applications.columns
        mask = columns.has_word("home", seen.subcluster) & (columns.time_ms("finished_ms") > 0)
        for document in columns.documents(columns.newest_first(mask, _MOST_ENDED)):
            queue, told = find_queue(seen, document.summary.queue), _ended(document)
            if queue is not None and told is not None:
                ended[queue.path].append(told)
        return tuple(_leaf(seen, queue, ended.get(path, [])) for path, queue in seen.queues.items() if queue.is_leaf)

    async def _is_back(self, subcluster: SubClusterId) -> bool:
        """Return whether a sub-cluster that was declared dead answers again."""
        manager = self.unfenced.get(subcluster)
        try:
            if manager is not None:
                await ask_part(manager, Part.INFO, timeout_s=self.settings.answer_within_s)
        except HeddleError:
            return False
        return manager is not None

    async def _manager_settings(self, subcluster: SubClusterId) -> Mapping[str, HadoopSetting] | None:
        try:
            answer = await self.managers[subcluster].query("/conf", timeout_s=self.settings.answer_within_s)
        except HeddleError:
            return None
        return decode_settings(answer.body) if answer.status == _OK else None

    async def _taken_as(self, subcluster: SubClusterId) -> str | None:
        """As whom its web services take a request in another's name; empty for a refusal, None if they do not tell."""
        manager = self.managers[subcluster]
        try:
            answer = await manager.query(_WHO, viewer=PROBE_USER, timeout_s=self.settings.answer_within_s)
        except HeddleError:
            return None
        if answer.status in (401, 403):
            return ""
        try:
            told = msgspec.json.decode(answer.body, type=_UserInfo) if answer.status == _OK else None
        except UNREADABLE:
            return None
        return told.requestedUser[:_LONGEST_NAME] or None if told is not None else None

    async def _node_settings(self, subcluster: SubClusterId) -> Mapping[str, HadoopSetting] | None:
        address = self._some_node(subcluster)
        if not address:
            return None
        try:
            return decode_settings((await self.ask_node[subcluster](address, _CONF)).body)
        except HeddleError:
            return None

    def _some_node(self, subcluster: SubClusterId) -> str:
        """Web address of the first running node."""
        document = self.view.part(subcluster, Part.NODES)
        if document is None:
            return ""
        try:
            listed = msgspec.json.decode(document.raw, type=_NodesDocument).nodes
        except UNREADABLE:
            return ""
        found = [] if listed is None else listed.node
        nodes = found if isinstance(found, list) else [found]  # Hadoop 2 writes a list of one as its element
        return next((node.nodeHTTPAddress for node in nodes if node.state == "RUNNING"), "")


def told_of_word(word: AdmissionWord | None) -> str:
    """Who closed a cluster, since when and why; empty if nobody did."""
    if word is None:
        return ""
    because = f": {word.reason}" if word.reason else ""
    return f"{word.admission.value} since {instant(word.at_ms / 1000)} by {word.by}{because}"


def word_for(state: SubClusterState, admission: Admission) -> str:
    """One word for how a sub-cluster is: what an operator said, if it could take applications otherwise."""
    if admission is Admission.RETIRED:
        return "RETIRED"
    if state.is_usable and admission in _WORDS:
        return _WORDS[admission]
    return state.name


class _Node(msgspec.Struct):
    state: str = ""
    nodeHTTPAddress: str = ""  # noqa: N815 - Hadoop's name


class _Nodes(msgspec.Struct):
    node: list[_Node] | _Node = []


class _NodesDocument(msgspec.Struct):
    nodes: _Nodes | None


class _UserInfo(msgspec.Struct):
    requestedUser: str = ""  # noqa: N815 - Hadoop's name


class _Times(msgspec.Struct):
    startedTime: WireNumber = 0  # noqa: N815 - Hadoop's name
    launchTime: WireNumber = 0  # noqa: N815 - Hadoop's name
    finishedTime: WireNumber = 0  # noqa: N815 - Hadoop's name
    memorySeconds: WireNumber = 0  # noqa: N815 - Hadoop's name


_TIMES = msgspec.json.Decoder(_Times, strict=False)


def _ended(document: ApplicationDocument) -> EndedApplication | None:
    """Times of an application that ended; None if its ResourceManager does not tell what it used."""
    try:
        told = _TIMES.decode(document.raw)
    except UNREADABLE:
        return None
    arrived_s, launched_s = whole(told.startedTime) / 1000, whole(told.launchTime) / 1000
    mib_s = whole(told.memorySeconds)
    if mib_s <= 0:
        return None
    return EndedApplication(arrived_s, max(arrived_s, launched_s), whole(told.finishedTime) / 1000, mib_s)


def _leaf(seen: SubClusterView, queue: QueueReport, ended: Sequence[EndedApplication]) -> QueueFacts:
    part, running = queue.in_partition(queue.default_label), queue.applications - queue.waiting_applications
    return QueueFacts(
        queue.path,
        seen.scheduler,
        queue.is_fair,
        queue.maximum.memory_mib or seen.capacity.memory_mib,
        part.masters,
        part.masters_used.memory_mib / running if running > 0 else 0.0,
        queue.most_running,
        ended,
    )


def _grants(seen: SubClusterView) -> dict[str, ResourceVector]:
    """The largest container of each leaf queue, and that of the cluster."""
    leaves = {path: grant_of(seen, queue, "") for path, queue in seen.queues.items() if queue.is_leaf}
    return {"": grant_of(seen, None, ""), **leaves}


# Capacity that a ResourceManager tells, against what its nodes sum up to.


def capacity_excess(told: ResourceVector, nodes: Sequence[NodeReport]) -> tuple[str, ...]:
    """Compare a sub-cluster's metrics with its list of nodes, of whatever state: no node counts for less than nothing.

    Returns:
        Each amount of which more is told than there is, as `name: told, of nodes`; none where all is well.
    """
    memory_mib = sum(max(0, node.total.memory_mib) for node in nodes)
    vcores = sum(max(0, node.total.vcores) for node in nodes)
    pairs = (("memory MiB", told.memory_mib, memory_mib), ("vcores", told.vcores, vcores))
    return tuple(f"{name}: {claimed}, of nodes {there}" for name, claimed, there in pairs if claimed > there)


# The doctor's rounds: what it finds without being asked, for monitoring.

_EVERY_S = 300.0
"""A round asks every ResourceManager, as `heddle doctor` does."""


class DoctorRounds:
    """Examines the federation every five minutes.

    Args:
        inspection: Gathers the facts.

    Attributes:
        counts: How many findings there were in the newest round, by check and level: warnings and errors.
    """

    def __init__(self, inspection: Inspection, clock: Clock) -> None:
        self._inspection = inspection
        self._clock = clock
        self.counts: Mapping[tuple[str, str], int] = {}
        self._ends_at_s: Mapping[tuple[str, str], float] = {}

    async def run(self) -> None:
        while True:
            await self.round()
            await self._clock.sleep(_EVERY_S)

    async def round(self) -> None:
        """Examine once."""
        now_s = self._clock.now_s()
        self._ends_at_s = {(each.what, Path(each.file).name): now_s + each.ends_in_s for each in self._certificates()}
        found = await self._inspection.doctor()
        self.counts = Counter((each.check, each.level.value) for each in found if each.level is not Level.OK)

    def certificates(self) -> Mapping[tuple[str, str], float]:
        """Seconds until each certificate ends, by whose it is and the name of its file; negative if it has ended."""
        now_s = self._clock.now_s()
        return {key: ends_at_s - now_s for key, ends_at_s in self._ends_at_s.items()}

    def _certificates(self) -> Iterator[CertificateFacts]:
        settings = self._inspection.settings
        own = settings.tls()
        if own.file:
            yield CertificateFacts("the web services", own.file, own.ends_in_s)
        for facts in settings.cluster_tls():
            yield from facts.certificates
        masters = settings.master_tls()
        if masters is not None:
            yield from masters.certificates


_log = structlog.get_logger("heddle.clusters")
_LOOK_EVERY_S = 1.0
_TROUBLE = frozenset({"LOST", "RECOVERING"})
_MOST_CHANGES = 100
"""Of a cluster that are remembered; the log has them all."""


class ClusterEvents:
    """Compares how clusters are with how they were."""

    def __init__(
        self,
        statuses: Callable[[], Sequence[ClusterStatus]],
        clock: Clock,
        changes: dict[SubClusterId, deque[ClusterChange]],
    ) -> None:
        self._statuses = statuses
        self._clock = clock
        self._changes = changes
        self._known: dict[SubClusterId, str] = {}
        self._absent = set[SubClusterId]()  # told of already

    async def run(self) -> None:
        while True:
            self.look()
            await self._clock.sleep(_LOOK_EVERY_S)

    def look(self) -> None:
        """Tell what has changed since the last look; before the first, every cluster was NEW.

        Of one that has never answered it is told once, too: when the first poll of it has failed.
        """
        for status in self._statuses():
            was = self._known.get(status.id, "NEW")
            is_absent = not status.is_heard and bool(status.failure) and status.id not in self._absent
            if status.state == was and not is_absent:
                continue
            self._known[status.id] = status.state
            if is_absent:
                self._absent.add(status.id)
            change = ClusterChange(int(self._clock.now_s() * 1000), was, status.state, status.failure)
            self._changes.setdefault(status.id, deque(maxlen=_MOST_CHANGES)).append(change)
            write = _log.warning if is_absent or status.state in _TROUBLE else _log.info
            write(
                f"cluster is {status.state}",
                cluster=status.id,
                state=status.state,
                was=was,
                admission=status.admission.value,
                reason=status.failure,
            )
