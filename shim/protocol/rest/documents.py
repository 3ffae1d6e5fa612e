"""A ResourceManager's JSON documents, read as far as Heddle decides on them.

Objects that travel on to clients stay the bytes that the ResourceManager wrote: maps that repeat a key
(`resourceSecondsMap`) and fields of a newer Hadoop survive. The scheduler's tree is read by `queue_trees`.

Sources: `org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.{AppInfo,ClusterInfo,ClusterMetricsInfo,NodeInfo}`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeVar

import msgspec

from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationId, MalformedIdError, NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import ApplicationAmounts, ApplicationDocument, HaState, NodeReport
from shim.errors import RemoteProtocolError
from shim.protocol.odd_rows import mended
from shim.protocol.wire_values import (
    UNREADABLE,
    WireNumber,
    WireResource,
    decode,
    rows_of,
    several,
    text,
    vector,
    whole,
)

_STATES: dict[WireNumber, YarnApplicationState] = {
    name: state for state in YarnApplicationState for name in (state.value, state.value.lower())
}
_FINAL_STATUSES: dict[WireNumber, FinalStatus] = {
    name: status for status in FinalStatus for name in (status.value, status.value.lower())
}
_Empty = Literal[""]
_T = TypeVar("_T", bound=msgspec.Struct)
_NO_AMOUNTS = ApplicationAmounts(0, 0, 0, is_beginning=True)
_BEGINS_FOR_MS = 60_000
_MOST_AMOUNTS = 4096
_LONGEST_AMOUNT = 2048  # bytes; a usual one has 380
_AMOUNTS = (
    *("allocatedMB", "allocatedVCores", "reservedMB", "reservedVCores", "runningContainers"),
    *("memorySeconds", "vcoreSeconds"),
)


@dataclass(frozen=True, slots=True)
class InfoDocument:
    """Content of `/info`.

    Attributes:
        started_on_ms: When this ResourceManager started or became active.
        version: Hadoop's.
    """

    ha_state: HaState
    started_on_ms: int
    version: str


@dataclass(frozen=True, slots=True)
class MetricsDocument:
    """Content of `/metrics` for the whole cluster, all node labels together."""

    capacity: ResourceVector
    used: ResourceVector


class _Info(msgspec.Struct):
    startedOn: WireNumber = 0  # noqa: N815 - Hadoop's name
    haState: str = "ACTIVE"  # noqa: N815 - Hadoop's name
    resourceManagerVersion: Any = ""  # noqa: N815 - Hadoop's name
    hadoopVersion: Any = ""  # noqa: N815 - Hadoop's name


class _InfoAnswer(msgspec.Struct):
    clusterInfo: _Info  # noqa: N815 - Hadoop's name


class _Metrics(msgspec.Struct):
    totalMB: WireNumber = 0  # noqa: N815 - Hadoop's name
    allocatedMB: WireNumber = 0  # noqa: N815 - Hadoop's name
    totalVirtualCores: WireNumber = 0  # noqa: N815 - Hadoop's name
    allocatedVirtualCores: WireNumber = 0  # noqa: N815 - Hadoop's name
    totalClusterResourcesAcrossPartition: Any = None  # noqa: N815 - Hadoop's name
    totalUsedResourcesAcrossPartition: Any = None  # noqa: N815 - Hadoop's name


class _MetricsAnswer(msgspec.Struct):
    clusterMetrics: _Metrics  # noqa: N815 - Hadoop's name


class _NodeState(msgspec.Struct):
    id: str
    rack: str = ""
    state: str = ""
    usedMemoryMB: WireNumber = 0  # noqa: N815 - Hadoop's name
    availMemoryMB: WireNumber = 0  # noqa: N815 - Hadoop's name
    usedVirtualCores: WireNumber = 0  # noqa: N815 - Hadoop's name
    availableVirtualCores: WireNumber = 0  # noqa: N815 - Hadoop's name
    nodeLabels: list[str] | str | None = None  # noqa: N815 - Hadoop's name


class _Node(_NodeState):
    usedResource: msgspec.Raw = msgspec.Raw(b"null")  # noqa: N815 - Hadoop's name
    totalResource: msgspec.Raw = msgspec.Raw(b"null")  # noqa: N815 - Hadoop's name


class _ReadNode(_NodeState):
    """A node with amounts that are looked into."""

    usedResource: WireResource | None = None  # noqa: N815 - Hadoop's name
    totalResource: WireResource | None = None  # noqa: N815 - Hadoop's name


class _Nodes(msgspec.Struct):
    node: msgspec.Raw = msgspec.Raw(b"null")


class _NodesAnswer(msgspec.Struct):
    nodes: _Nodes | _Empty | None = None


class _App(msgspec.Struct):
    id: str
    state: WireNumber = ""
    finalStatus: WireNumber = ""  # noqa: N815 - Hadoop's name
    user: WireNumber = ""
    name: WireNumber = ""
    queue: WireNumber = ""
    applicationType: WireNumber = ""  # noqa: N815 - Hadoop's name
    applicationTags: WireNumber = ""  # noqa: N815 - Hadoop's name
    startedTime: WireNumber = 0  # noqa: N815 - Hadoop's name
    finishedTime: WireNumber = 0  # noqa: N815 - Hadoop's name
    allocatedMB: WireNumber = 0  # noqa: N815 - Hadoop's name
    allocatedVCores: WireNumber = 0  # noqa: N815 - Hadoop's name
    memorySeconds: WireNumber = 0  # noqa: N815 - Hadoop's name
    runningContainers: WireNumber = 0  # noqa: N815 - Hadoop's name
    launchTime: WireNumber = 0  # noqa: N815 - Hadoop's name
    elapsedTime: WireNumber = 0  # noqa: N815 - Hadoop's name


class _Apps(msgspec.Struct):
    app: list[msgspec.Raw] | None = None


class _AppsAnswer(msgspec.Struct):
    apps: _Apps | None = None


class _LooseApps(msgspec.Struct):
    app: msgspec.Raw = msgspec.Raw(b"null")


class _LooseAppsAnswer(msgspec.Struct):
    apps: _LooseApps | _Empty | None = None


class _AppAnswer(msgspec.Struct):
    app: msgspec.Raw


_ANY = msgspec.json.Decoder()
_INFO = msgspec.json.Decoder(_InfoAnswer, strict=False)
_METRICS = msgspec.json.Decoder(_MetricsAnswer, strict=False)
_NODES = msgspec.json.Decoder(_NodesAnswer)
_NODE = msgspec.json.Decoder(_Node, strict=False)
_APPS = msgspec.json.Decoder(_AppsAnswer)
_LOOSE_APPS = msgspec.json.Decoder(_LooseAppsAnswer)
_APP = msgspec.json.Decoder(_App, strict=False)
_APP_ANSWER = msgspec.json.Decoder(_AppAnswer)
_AMOUNT = msgspec.json.Decoder(WireResource | None, strict=False)


def read_info(raw: bytes) -> InfoDocument:
    """Read the answer of `/info`.

    Raises:
        RemoteProtocolError: If it has another form.
    """
    info = _read_mended(_INFO, raw, "info").clusterInfo
    try:
        ha_state = HaState(info.haState.upper())
    except ValueError:
        raise RemoteProtocolError(f"the info document has an unknown haState {info.haState[:40]!r}") from None
    return InfoDocument(ha_state, whole(info.startedOn), text(info.hadoopVersion) or text(info.resourceManagerVersion))


def _read_mended(decoder: "msgspec.json.Decoder[_T]", raw: bytes, what: str) -> _T:
    """A small document, of which members that are null are as if they were not told, and odd rows are left out."""
    try:
        return decoder.decode(raw)
    except UNREADABLE:
        told = decode(_ANY, raw, what)
    return decode(decoder, msgspec.json.encode(mended(told, decoder.type, Counter())), what)


def read_metrics(raw: bytes) -> MetricsDocument:
    """Read the answer of `/metrics`.

    Raises:
        RemoteProtocolError: If it has another form.
    """
    metrics = _read_mended(_METRICS, raw, "metrics").clusterMetrics
    total, used = map(
        _readable, (metrics.totalClusterResourcesAcrossPartition, metrics.totalUsedResourcesAcrossPartition)
    )
    of_default = ResourceVector(whole(metrics.allocatedMB), whole(metrics.allocatedVirtualCores))
    if total is None or total.memory_mib <= 0:
        return MetricsDocument(ResourceVector(whole(metrics.totalMB), whole(metrics.totalVirtualCores)), of_default)
    return MetricsDocument(total, of_default if used is None else used)


def _readable(told: Any) -> ResourceVector | None:
    try:
        return vector(msgspec.convert(mended(told, WireResource, Counter()), WireResource, strict=False))
    except RemoteProtocolError:
        return None


def read_nodes(raw: bytes) -> tuple[NodeReport, ...]:
    """Read the answer of `/nodes`; raises as `node_objects`."""
    read = NodeReader()
    return tuple(node for each in node_objects(raw) if (node := read(each)) is not None)


def node_objects(raw: bytes) -> list[msgspec.Raw]:
    """The nodes of the answer of `/nodes`, unread.

    Raises:
        RemoteProtocolError: If it has another form.
    """
    nodes = decode(_NODES, raw, "nodes").nodes
    return rows_of(nodes.node) if isinstance(nodes, _Nodes) else []


_MOST_ODD = 16 * 1024
"""Bytes of a node that cannot be read as it stands, so that it is looked through: that takes its time."""


class NodeReader:
    """Reads the nodes of one sub-cluster; what a node tells as it did last is not made anew.

    Attributes:
        left_out: Labels and resource types of nodes that cannot be read, by what they are.
    """

    def __init__(self) -> None:
        self._told: dict[str, NodeReport] = {}
        self.left_out: Counter[str] = Counter()

    def __call__(self, raw: msgspec.Raw) -> NodeReport | None:
        """A node; None if it cannot be read, which costs it alone."""
        try:
            return self._read(_NODE.decode(raw))
        except (RemoteProtocolError, *UNREADABLE):
            if memoryview(raw).nbytes > _MOST_ODD:
                return None
        try:
            told = msgspec.json.decode(raw)
            found = mended(told, _ReadNode, self.left_out)
            if told.get("nodeLabels") and not found.get("nodeLabels"):
                return None  # whose partition is not known is in none
            return self._read(_NODE.decode(msgspec.json.encode(found)))
        except (RemoteProtocolError, *UNREADABLE):
            return None

    def forget_others(self, nodes: Sequence[NodeReport]) -> None:
        """Remember these alone, which were read last."""
        if len(self._told) > len(nodes):
            self._told = {str(node.node): node for node in nodes}

    def _read(self, told: _Node) -> NodeReport | None:
        used, total, labels = _amount(told.usedResource), _amount(told.totalResource), tuple(several(told.nodeLabels))
        if used is None:
            used = ResourceVector(whole(told.usedMemoryMB), whole(told.usedVirtualCores))
        if total is None:
            total = used + ResourceVector(whole(told.availMemoryMB), whole(told.availableVirtualCores))
        known = self._told.get(told.id)
        if known is None:
            try:
                node_id = NodeId.printed(told.id)
            except MalformedIdError:
                return None
        elif (
            (known.used is used or known.used == used)
            and (known.total is total or known.total == total)
            and known.state == told.state
            and known.rack == told.rack
            and known.labels == labels
        ):
            return known
        else:
            node_id = known.node
        report = self._told[told.id] = NodeReport(node_id, told.rack, told.state, total, used, labels)
        return report


def _amount(raw: msgspec.Raw) -> ResourceVector | None:
    return _read_amount(bytes(raw)) if len(raw) < _LONGEST_AMOUNT else _read_amount.__wrapped__(bytes(raw))


@lru_cache(maxsize=_MOST_AMOUNTS)
def _read_amount(raw: bytes) -> ResourceVector | None:
    """Most nodes of a federation have, and give, one of a few amounts."""
    told = decode(_AMOUNT, raw, "amount")
    return None if told is None else vector(told)


class ApplicationReader:
    """Reads the applications of one sub-cluster; of one in which only its use has changed, the rest stands."""

    def __init__(self, subcluster: SubClusterId) -> None:
        self._subcluster = subcluster
        self._told: dict[str, ApplicationSummary] = {}

    def __call__(self, raw: msgspec.Raw, as_of_s: float) -> ApplicationDocument | None:
        """An application as it was told when it was asked for; None for one without an id of an application."""
        try:
            told = decode(_APP, raw, "app")
            known = self._told.get(told.id)
            if known is None or not _is_told_again(told, known):
                known = self._told[told.id] = _summary_of(told, self._subcluster)
        except RemoteProtocolError:
            return None
        return ApplicationDocument(known, bytes(raw), as_of_s, _amounts_of(told))

    def forget_others(self, live: Mapping[ApplicationId, ApplicationDocument]) -> None:
        """Remember these alone."""
        if len(self._told) > 2 * len(live):  # what has ended is told a few times more
            self._told = {str(name): document.summary for name, document in live.items()}


def read_amounts(raw: bytes) -> ApplicationAmounts:
    """What an application's document tells of its amounts; nothing of one that cannot be read."""
    try:
        return _amounts_of(decode(_APP, raw, "app"))
    except RemoteProtocolError:
        return _NO_AMOUNTS


def _amounts_of(told: _App) -> ApplicationAmounts:
    waited_ms = max(0, whole(told.launchTime) - whole(told.startedTime))
    has_little = whole(told.runningContainers) <= 1 and whole(told.elapsedTime) - waited_ms <= _BEGINS_FOR_MS
    return ApplicationAmounts(
        whole(told.allocatedMB), whole(told.allocatedVCores), whole(told.memorySeconds), has_little
    )


def _is_told_again(told: _App, known: ApplicationSummary) -> bool:
    return (
        _STATES.get(told.state) is known.state
        and _FINAL_STATUSES.get(told.finalStatus) is known.final_status
        and told.user == known.user
        and told.queue == known.queue
        and told.name == known.name
        and told.startedTime == known.started_at_ms
        and told.finishedTime == known.finished_at_ms
        and told.applicationType == known.application_type
        and told.applicationTags == ",".join(known.tags)
    )


def application_document(raw: bytes, subcluster: SubClusterId, as_of_s: float) -> ApplicationDocument:
    """Read the answer of `/apps/{id}`.

    Raises:
        RemoteProtocolError: If it has another form.
    """
    app = decode(_APP_ANSWER, raw, "app").app
    told = decode(_APP, app, "app")
    return ApplicationDocument(_summary_of(told, subcluster), bytes(app), as_of_s, _amounts_of(told))


def submitted_document(
    summary: ApplicationSummary, as_of_s: float, *, is_unmanaged: bool, diagnostics: str = ""
) -> ApplicationDocument:
    """The document of an application that was taken and that its home has not told of yet.

    It has the fields, in the order, that a ResourceManager shows of an application in state SUBMITTED.
    """
    shown = _submitted(summary, is_unmanaged) | {"diagnostics": diagnostics}
    return ApplicationDocument(summary, msgspec.json.encode(shown), as_of_s, _NO_AMOUNTS)


def application_objects(raw: bytes) -> list[msgspec.Raw]:
    """The applications of the answer of `/apps`, unread.

    The form of Hadoop 3 takes one pass over the bytes, any other form two.

    Raises:
        RemoteProtocolError: If it has another form.
    """
    try:
        apps = _APPS.decode(raw).apps
    except msgspec.ValidationError:
        loose = decode(_LOOSE_APPS, raw, "apps").apps
        single = loose.app if isinstance(loose, _LooseApps) else msgspec.Raw(b"null")
        return [single] if bytes(single).lstrip()[:1] == b"{" else []
    except UNREADABLE as exc:
        raise RemoteProtocolError(f"the apps document is not readable: {exc}") from exc
    return several(apps.app) if apps is not None else []


def _summary_of(told: _App, subcluster: SubClusterId) -> ApplicationSummary:
    """A state of a newer Hadoop is one in which the application lives: only a final state that is known ends it."""
    try:
        application_id = ApplicationId.parse(told.id)
    except MalformedIdError as exc:
        raise RemoteProtocolError(f"an application is not readable: {exc}") from exc
    tags = text(told.applicationTags)
    return ApplicationSummary(
        application_id=application_id,
        home_subcluster=subcluster,
        user=text(told.user),
        name=text(told.name),
        queue=text(told.queue),
        state=_STATES.get(text(told.state), YarnApplicationState.RUNNING),
        final_status=_FINAL_STATUSES.get(text(told.finalStatus), FinalStatus.UNDEFINED),
        application_type=text(told.applicationType),
        tags=tuple(tags.split(",")) if tags else (),
        started_at_ms=whole(told.startedTime),
        finished_at_ms=whole(told.finishedTime),
    )


def _submitted(summary: ApplicationSummary, is_unmanaged: bool) -> dict[str, Any]:  # noqa: FBT001 - private, named at the call
    return {
        "id": str(summary.application_id),
        "user": summary.user,
        "name": summary.name,
        "queue": summary.queue,
        "state": summary.state.value,
        "finalStatus": summary.final_status.value,
        "progress": 0.0,
        "trackingUI": "UNASSIGNED",
        "diagnostics": "",
        "clusterId": summary.application_id.cluster_timestamp,
        "applicationType": summary.application_type,
        "applicationTags": ",".join(summary.tags),
        "priority": 0,
        "startedTime": summary.started_at_ms,
        "launchTime": 0,
        "finishedTime": summary.finished_at_ms,
        "elapsedTime": 0,
        "masterNodeId": "",
        **dict.fromkeys(_AMOUNTS, 0),
        "queueUsagePercentage": 0.0,
        "clusterUsagePercentage": 0.0,
        "resourceSecondsMap": {},
        "preemptedResourceMB": 0,
        "preemptedResourceVCores": 0,
        "numNonAMContainerPreempted": 0,
        "numAMContainerPreempted": 0,
        "preemptedMemorySeconds": 0,
        "preemptedVcoreSeconds": 0,
        "preemptedResourceSecondsMap": {},
        "logAggregationStatus": "NOT_START",
        "unmanagedApplication": is_unmanaged,
        "appNodeLabelExpression": "",
        "amNodeLabelExpression": "",
        "timeouts": {"timeout": [{"type": "LIFETIME", "expiryTime": "UNLIMITED", "remainingTimeInSeconds": -1}]},
    }
