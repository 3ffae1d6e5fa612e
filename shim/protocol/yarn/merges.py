"""Answers of several clusters as one ResourceManager's answer: one row of `MERGES` for each method.

Lists are joined, what is listed by name is joined by name, amounts are added up to the largest that there is, shares of
capacity are averaged by the size of the clusters. Answers are what their methods answer: `wire.check_message`. A value
that cannot be two at once (the default label, the scheduler's type) is that of the first cluster.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from shim.domain.applications import SPAN_TAG
from shim.domain.ids import ApplicationId
from shim.protocol.proto.messages import (
    ApplicationReportProto,
    GetAllResourceTypeInfoResponseProto,
    GetApplicationsResponseProto,
    GetAttributesToNodesResponseProto,
    GetClusterMetricsResponseProto,
    GetClusterNodeAttributesResponseProto,
    GetClusterNodeLabelsResponseProto,
    GetClusterNodesResponseProto,
    GetLabelsToNodesResponseProto,
    GetNodesToAttributesResponseProto,
    GetNodesToLabelsResponseProto,
    GetQueueInfoResponseProto,
    GetQueueUserAclsInfoResponseProto,
    QueueACLProto,
    QueueInfoProto,
    QueueStateProto,
    QueueUserACLInfoProto,
    ReservationListResponseProto,
    YarnClusterMetricsProto,
)
from shim.protocol.wire_values import text_of
from shim.protocol.yarn.submit_times import written_report
from shim.protocol.yarn.wire import application_of, entries_in, held, pieces_of

_M = TypeVar("_M", bound=Message)


@dataclass(frozen=True, slots=True)
class ClusterAnswer:
    """The answer of one cluster.

    Attributes:
        weight: Size of the cluster, for averages of shares.
        is_elsewhere: Tells of a list of applications which of them have their home elsewhere; None if none can.
        is_closed: Tells of a queue, as the cluster names it, if Heddle's lists keep the caller out; None: of none.
    """

    payload: bytes
    weight: float = 1.0
    is_elsewhere: Callable[[ApplicationId], bool] | None = None
    is_closed: Callable[[str], bool] | None = None


Merge = Callable[[Sequence[ClusterAnswer]], Message]


def _add(whole: Message, name: str, amount: int) -> None:
    setattr(whole, name, held(whole, name, getattr(whole, name) + amount))


def _joined(kind: type[_M]) -> Callable[[Sequence[ClusterAnswer]], _M]:
    """Joins repeated fields in the clusters' order; protobuf's own merging does just that."""

    def merge(parts: Sequence[ClusterAnswer]) -> _M:
        whole = kind()
        for part in parts:
            for piece in pieces_of(part.payload):
                whole.MergeFromString(piece)
        return whole

    return merge


def _distinct(items: Iterable[_M], key: Callable[[_M], object]) -> list[_M]:
    kept: dict[object, _M] = {}
    for item in items:
        kept.setdefault(key(item), item)
    return list(kept.values())


def merge_applications(
    parts: Sequence[ClusterAnswer], own: Sequence[ApplicationReportProto] = (), *, limit: int | None = None
) -> bytes:
    """Applications of all clusters, newest first when they are cut at a limit; each report is decoded once.

    An application that was moved leaves a trace at its former home, one that spans has an ApplicationMaster of Heddle's
    wherever it is, and what a cluster says of the others' applications is not believed. So what has its home elsewhere
    is left out, and what stands for an application of another home (`SPAN_TAG`). A report that cannot be read costs
    itself alone.

    Args:
        limit: How many are wanted; None for all.
    """
    told: set[tuple[int, int]] = set()
    listed: list[tuple[tuple[int, int, int], bytes]] = []
    for part in parts:
        for entry, raw in entries_in(part.payload):
            try:
                report = ApplicationReportProto.FromString(raw)
            except DecodeError:
                continue
            if part.is_elsewhere is not None and part.is_elsewhere(application_of(report.applicationId)):
                continue
            told.add(_id_of(report))
            if SPAN_TAG not in report.applicationTags:
                listed.append((_submitted(report), entry))
    listed += [(_submitted(report), written_report(report)) for report in own if _id_of(report) not in told]
    if limit is not None and len(listed) > limit:
        listed = heapq.nlargest(max(0, limit), listed, key=itemgetter(0))
    return b"".join(entry for _, entry in listed)


def _id_of(report: ApplicationReportProto) -> tuple[int, int]:
    return report.applicationId.cluster_timestamp, report.applicationId.id


def _submitted(report: ApplicationReportProto) -> tuple[int, int, int]:
    """The order of lists, as `ApplicationColumns.newest_first` has it: by submission, whoever issued the id."""
    return report.startTime, report.applicationId.cluster_timestamp, report.applicationId.id


def join_applications(parts: Sequence[ClusterAnswer]) -> bytes | None:
    """The same without a look into thousands of reports: messages of repeated fields join as their bytes do.

    Returns:
        None if something may have to be left out.
    """
    if any(part.is_elsewhere is not None for part in parts):
        return None
    payloads = [part.payload for part in parts]
    return None if any(SPAN_TAG.encode() in payload for payload in payloads) else b"".join(payloads)


def _applications(parts: Sequence[ClusterAnswer]) -> GetApplicationsResponseProto:
    return GetApplicationsResponseProto.FromString(merge_applications(parts))


def _metrics(parts: Sequence[ClusterAnswer]) -> GetClusterMetricsResponseProto:
    total = YarnClusterMetricsProto()
    for part in parts:
        metrics = GetClusterMetricsResponseProto.FromString(part.payload).cluster_metrics
        for field, amount in metrics.ListFields():
            _add(total, field.name, amount)
    return GetClusterMetricsResponseProto(cluster_metrics=total)


def _cluster_node_labels(parts: Sequence[ClusterAnswer]) -> GetClusterNodeLabelsResponseProto:
    whole = _joined(GetClusterNodeLabelsResponseProto)(parts)
    return GetClusterNodeLabelsResponseProto(
        deprecatedNodeLabels=list(dict.fromkeys(map(text_of, whole.deprecatedNodeLabels))),
        nodeLabels=_distinct(whole.nodeLabels, lambda label: label.name),
    )


def _labels_to_nodes(parts: Sequence[ClusterAnswer]) -> GetLabelsToNodesResponseProto:
    merged = GetLabelsToNodesResponseProto()
    by_label: dict[str, int] = {}
    for entry in _joined(GetLabelsToNodesResponseProto)(parts).labelsToNodes:
        if entry.nodeLabels in by_label:
            merged.labelsToNodes[by_label[entry.nodeLabels]].nodeId.extend(entry.nodeId)
        else:
            by_label[entry.nodeLabels] = len(merged.labelsToNodes)
            merged.labelsToNodes.append(entry)
    return merged


def _cluster_node_attributes(parts: Sequence[ClusterAnswer]) -> GetClusterNodeAttributesResponseProto:
    whole = _joined(GetClusterNodeAttributesResponseProto)(parts)
    kept = _distinct(whole.nodeAttributes, lambda item: item.attributeKey.SerializeToString())
    return GetClusterNodeAttributesResponseProto(nodeAttributes=kept)


def _attributes_to_nodes(parts: Sequence[ClusterAnswer]) -> GetAttributesToNodesResponseProto:
    merged = GetAttributesToNodesResponseProto()
    by_key: dict[bytes, int] = {}
    for entry in _joined(GetAttributesToNodesResponseProto)(parts).attributesToNodes:
        key = entry.nodeAttribute.SerializeToString()
        if key in by_key:
            merged.attributesToNodes[by_key[key]].nodeValueMap.extend(entry.nodeValueMap)
        else:
            by_key[key] = len(merged.attributesToNodes)
            merged.attributesToNodes.append(entry)
    return merged


def _resource_types(parts: Sequence[ClusterAnswer]) -> GetAllResourceTypeInfoResponseProto:
    whole = _joined(GetAllResourceTypeInfoResponseProto)(parts)
    return GetAllResourceTypeInfoResponseProto(
        resource_type_info=_distinct(whole.resource_type_info, lambda info: info.name)
    )


def _queue_acls(parts: Sequence[ClusterAnswer]) -> GetQueueUserAclsInfoResponseProto:
    merged = GetQueueUserAclsInfoResponseProto()
    by_queue: dict[str, int] = {}
    for part in parts:
        for entry in GetQueueUserAclsInfoResponseProto.FromString(part.payload).queueUserAcls:
            queue = text_of(entry.queueName)
            is_closed = part.is_closed is not None and part.is_closed(queue)
            acls = [acl for acl in entry.userAcls if not (is_closed and acl == QueueACLProto.QACL_SUBMIT_APPLICATIONS)]
            name = queue.removeprefix("root.")  # which some schedulers tell, and others do not
            at = by_queue.get(name)
            if at is None:
                by_queue[name] = len(merged.queueUserAcls)
                merged.queueUserAcls.append(QueueUserACLInfoProto(queueName=queue, userAcls=acls))
            else:
                known = merged.queueUserAcls[at].userAcls
                told = set(known)
                known.extend(acl for acl in dict.fromkeys(acls) if acl not in told)
    return merged


def merge_queue_info(parts: Sequence[ClusterAnswer]) -> GetQueueInfoResponseProto:
    """One queue of all clusters that have it; empty if none has, which clients report as an unknown queue."""
    queues = [
        (answer.queueInfo, part.weight)
        for part in parts
        if (answer := GetQueueInfoResponseProto.FromString(part.payload)).HasField("queueInfo")
    ]
    return GetQueueInfoResponseProto(queueInfo=_queue(queues)) if queues else GetQueueInfoResponseProto()


def name_queue(answer: GetQueueInfoResponseProto, asked: str) -> None:
    """Give a queue that its clusters call otherwise the name that the client asked for."""
    queue, last = answer.queueInfo, asked.rpartition(".")[2]
    told = text_of(queue.queueName)
    if answer.HasField("queueInfo") and told.rpartition(".")[2] != last:
        queue.queueName = asked if "." in told else last
        if queue.queuePath:
            queue.queuePath = asked


_SHARES = ("capacity", "maximumCapacity", "currentCapacity")
_RUNNING_FIRST = (QueueStateProto.Q_RUNNING, QueueStateProto.Q_DRAINING, QueueStateProto.Q_STOPPED)
_ADDED = (
    "minResourceVCore",
    "minResourceMemory",
    "maxResourceVCore",
    "maxResourceMemory",
    "reservedResourceVCore",
    "reservedResourceMemory",
    "steadyFairShareVCore",
    "steadyFairShareMemory",
    "maxRunningApp",
)


def _queue(queues: Sequence[tuple[QueueInfoProto, float]]) -> QueueInfoProto:
    """A queue with its children, of the same queue in several clusters."""
    merged = QueueInfoProto()
    merged.CopyFrom(queues[0][0])
    if len(queues) == 1:
        return merged
    total = sum(weight for _, weight in queues)
    for name in _SHARES:
        shares = (getattr(queue, name) * (weight if total else 1.0) for queue, weight in queues)
        setattr(merged, name, sum(shares) / (total or len(queues)))
    states = {queue.state for queue, _ in queues}
    merged.state = next((state for state in _RUNNING_FIRST if state in states), merged.state)
    for name in _ADDED:
        if merged.HasField(name):  # type: ignore[arg-type]  # a field's name out of a table
            total_of = sum(getattr(queue, name) for queue, _ in queues)
            setattr(merged, name, max(-(2**31), min(2**31 - 1, total_of)))
    for queue, _ in queues[1:]:
        merged.applications.extend(queue.applications)
        known = set(map(text_of, merged.accessibleNodeLabels))
        merged.accessibleNodeLabels.extend(
            each for each in map(text_of, queue.accessibleNodeLabels) if each not in known
        )
        for field, amount in queue.queueStatistics.ListFields():
            _add(merged.queueStatistics, field.name, amount)
    _merge_children(merged, queues)
    return merged


def _merge_children(merged: QueueInfoProto, queues: Sequence[tuple[QueueInfoProto, float]]) -> None:
    """Siblings by the last part of their names: a fair scheduler tells its queues' paths."""
    by_name: dict[str, list[tuple[QueueInfoProto, float]]] = {}
    for queue, weight in queues:
        for child in queue.childQueues:
            by_name.setdefault(text_of(child.queueName).rpartition(".")[2], []).append((child, weight))
    merged.ClearField("childQueues")
    merged.childQueues.extend(_queue(children) for children in by_name.values())


MERGES: Mapping[str, Merge] = {
    "getApplications": _applications,
    "getClusterMetrics": _metrics,
    "getClusterNodes": _joined(GetClusterNodesResponseProto),
    "getQueueInfo": merge_queue_info,
    "getQueueUserAcls": _queue_acls,
    "getNodeToLabels": _joined(GetNodesToLabelsResponseProto),
    "getLabelsToNodes": _labels_to_nodes,
    "getClusterNodeLabels": _cluster_node_labels,
    "getResourceTypeInfo": _resource_types,
    "getClusterNodeAttributes": _cluster_node_attributes,
    "getAttributesToNodes": _attributes_to_nodes,
    "getNodesToAttributes": _joined(GetNodesToAttributesResponseProto),
    "listReservations": _joined(ReservationListResponseProto),
}
"""By the method's name. With the answer of one cluster alone every merge gives that answer's content."""
JOINS = frozenset({"getClusterNodes", "getNodeToLabels", "getNodesToAttributes", "listReservations"})
"""Methods of which one list comes behind the other: so do the bytes, and nothing has to be decoded."""
