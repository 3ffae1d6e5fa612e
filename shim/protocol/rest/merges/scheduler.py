"""`GET /scheduler` of several sub-clusters: one tree of queues.

A queue of the merged tree has what the queues of the same path have together. Amounts are sums. Percentages of the
whole cluster (`absolute...`) are averages by the size of the sub-clusters, a queue that one of them lacks counting as 0
there; percentages of the parent are then computed anew from those. A queue that is a leaf everywhere keeps the form of
a leaf: it has no member `queues`.

Source: `CapacitySchedulerInfo`, `CapacitySchedulerQueueInfo`, `CapacitySchedulerLeafQueueInfo`,
`FairSchedulerQueueInfo`, `FifoSchedulerInfo`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from shim.domain.queues import SchedulerType
from shim.protocol.rest.merges.fields import (
    PartialDocument,
    Rule,
    Weighted,
    all_true,
    amount,
    any_true,
    average,
    decode,
    encode,
    first,
    keyed,
    largest,
    merge_objects,
    nested,
    resource_smallest,
    saturating_total,
    smallest,
    total,
    union,
)

_COUNTS = (
    "numApplications",
    "numActiveApplications",
    "numPendingApplications",
    "numContainers",
    "allocatedContainers",
    "reservedContainers",
    "pendingContainers",
    "numActiveApps",
    "numPendingApps",
    "count",
)
_LIMITS = ("maxApplications", "maxApplicationsPerUser", "maxParallelApps", "maxApps")
_SHARES = (
    "absoluteCapacity",
    "absoluteMaxCapacity",
    "absoluteUsedCapacity",
    "maxAMLimitPercentage",
    "normalizedWeight",
    "userLimit",
    "userLimitFactor",
    "configuredMaxAMResourceLimit",
)


def _state(values: Weighted) -> Any:
    """RUNNING if the queue takes applications anywhere."""
    states = [value for value, _ in values]
    return "RUNNING" if "RUNNING" in states else states[0]


_USAGES: Rule = nested({"resourceUsagesByPartition": keyed("partitionName", {})})
_COMMON: Mapping[str, Rule] = {
    **dict.fromkeys(_COUNTS, total),
    **dict.fromkeys(_LIMITS, saturating_total),
    **dict.fromkeys(_SHARES, average),
    "state": _state,
    "nodeLabels": union,
    "queuePriority": largest,
    "maximumAllocation": resource_smallest,
    "maxContainerAllocation": resource_smallest,
    "hideReservationQueues": all_true,
    "autoCreateChildQueueEnabled": any_true,
    "preemptionDisabled": all_true,
    "intraQueuePreemptionDisabled": all_true,
    "isActive": any_true,
    "resources": _USAGES,
}
_RULES: Mapping[str, Rule] = {
    **_COMMON,
    "capacities": nested({"queueCapacitiesByPartition": keyed("partitionName", _COMMON)}),
    "users": nested({"user": keyed("username", _COMMON)}),
    "health": nested(
        {
            "lastrun": largest,
            "operationsInfo": keyed("operation", {}),
            "lastRunDetails": keyed("operation", _COMMON),
        }
    ),
}
_FIFO: Mapping[str, Rule] = {
    "usedCapacity": average,
    "qstate": _state,
    "minQueueMemoryCapacity": smallest,
    "maxQueueMemoryCapacity": smallest,
    **dict.fromkeys(("numNodes", "usedNodeCapacity", "availNodeCapacity", "totalNodeCapacity", "numContainers"), total),
}

_Queue = dict[str, Any]
_CHILDREN = {"queues", "childQueues"}
_LEAF_TYPES = {"capacitySchedulerLeafQueueInfo", "fairSchedulerLeafQueueInfo"}


def scheduler_type(document: bytes) -> str:
    """`capacityScheduler`, `fairScheduler` or `fifoScheduler`; empty if the document does not say."""
    info = (decode(document).get("scheduler") or {}).get("schedulerInfo") or {}
    return str(info.get("type", ""))


def merge_schedulers(parts: Sequence[PartialDocument]) -> bytes:
    """One tree from those of sub-clusters with the same type of scheduler; the first part decides which.

    Parts of another type are left out: a client reads them with `?cluster=ID`.
    """
    if len(parts) == 1:
        return parts[0].document
    kind = scheduler_type(parts[0].document)
    infos = [
        (decode(part.document)["scheduler"]["schedulerInfo"], part.weight)
        for part in parts
        if scheduler_type(part.document) == kind
    ]
    match kind:
        case SchedulerType.CAPACITY:
            merged = _merge_capacity(infos)
        case SchedulerType.FAIR:
            roots = [(info.get("rootQueue"), weight) for info, weight in infos]
            merged = {"type": kind, "rootQueue": _merge_fair(roots)}
        case _:
            merged = merge_objects(infos, _FIFO)
    return encode({"scheduler": {"schedulerInfo": merged}})


def _merge_capacity(infos: Weighted) -> _Queue:
    whole = sum(weight for _, weight in infos) or 1.0
    root = {"absoluteCapacity": 100.0, "absoluteMaxCapacity": 100.0}
    merged = _merge_queues(infos, root, whole)
    used = [(info["usedCapacity"], weight) for info, weight in infos if "usedCapacity" in info]
    if used:
        merged["usedCapacity"] = average(used)
    return merged


def _merge_queues(values: Weighted, parent: Mapping[str, Any], whole: float) -> _Queue:
    """Merge the queues of one path.

    Args:
        values: The queue in each sub-cluster that has it, with that one's size.
        whole: Size of all sub-clusters together.
    """
    bare = [
        ({name: field for name, field in queue.items() if name not in _CHILDREN}, weight) for queue, weight in values
    ]
    merged = merge_objects(bare, _RULES)
    if "absoluteCapacity" in merged:
        _reweigh(merged, [queue for queue, _ in values], [weight for _, weight in values], parent, whole)
    children = _children(values, "queues")
    if children:
        if merged.get("type") in _LEAF_TYPES:
            merged.pop("type")
        merged = _placed(
            merged, "queues", values, [_merge_queues(group, _as_parent(merged), whole) for group in children]
        )
    return merged


def _as_parent(merged: Mapping[str, Any]) -> Mapping[str, Any]:
    return merged if "absoluteCapacity" in merged else {"absoluteCapacity": 100.0, "absoluteMaxCapacity": 100.0}


def _reweigh(
    merged: _Queue, queues: Sequence[_Queue], weights: Sequence[float], parent: Mapping[str, Any], whole: float
) -> None:
    """Set the percentages of a queue: of the cluster by size, then of the parent from those."""
    for name in ("absoluteCapacity", "absoluteMaxCapacity", "absoluteUsedCapacity"):
        held = sum(amount(queue.get(name, 0.0)) * weight for queue, weight in zip(queues, weights, strict=True))
        merged[name] = _rounded(held / whole)
    merged["capacity"] = _percent(merged["absoluteCapacity"], parent["absoluteCapacity"])
    merged["maxCapacity"] = _percent(merged["absoluteMaxCapacity"], parent["absoluteMaxCapacity"])
    guaranteed = [
        amount(queue.get("absoluteCapacity", 0.0)) * weight for queue, weight in zip(queues, weights, strict=True)
    ]
    used = [queue.get("usedCapacity", 0.0) for queue in queues]
    merged["usedCapacity"] = average(list(zip(used, guaranteed, strict=True)))
    for partition in (merged.get("capacities") or {}).get("queueCapacitiesByPartition") or []:
        if partition.get("partitionName") == "":
            copied = ("absoluteCapacity", "absoluteMaxCapacity", "absoluteUsedCapacity")
            partition.update({name: merged[name] for name in (*copied, "capacity", "maxCapacity", "usedCapacity")})


def _merge_fair(values: Weighted) -> _Queue:
    bare = [
        ({name: field for name, field in queue.items() if name not in _CHILDREN}, weight) for queue, weight in values
    ]
    merged = merge_objects(bare, {**_COMMON, "preemptable": any_true, "schedulingPolicy": first})
    children = _children(values, "childQueues")
    if children:
        merged.pop("type", None)
        merged = _placed(merged, "childQueues", values, [_merge_fair(group) for group in children])
    return merged


def _children(values: Weighted, member: str) -> list[list[tuple[Any, float]]]:
    """The children of all, grouped by name; an old Hadoop's bare list and a list of one are read too.

    What is no queue, or has no name, costs itself and what is below it.
    """
    groups: dict[str, list[tuple[Any, float]]] = {}
    for queue, weight in values:
        held = queue.get(member) or {}
        found = held.get("queue", []) if isinstance(held, dict) else held
        for child in found if isinstance(found, list) else [found]:
            told = child.get("queueName") if isinstance(child, dict) else None
            # siblings differ in their own names: Hadoop 2 tells no path, and the fair scheduler none but the name
            name = told.rpartition(".")[2] if isinstance(told, str) else ""
            if not name:
                continue
            groups.setdefault(name, []).append((child, weight))
    return list(groups.values())


def _placed(merged: _Queue, member: str, values: Weighted, children: list[_Queue]) -> _Queue:
    """Put the children where the ResourceManager has them: behind the same field as in the first parent."""
    parent = next(queue for queue, _ in values if queue.get(member))
    names = list(parent)
    before = set(names[: names.index(member)])
    head = {name: value for name, value in merged.items() if name in before}
    tail = {name: value for name, value in merged.items() if name not in before}
    return {**head, member: {"queue": children}, **tail}


def _percent(part: float, whole: float) -> float:
    return _rounded(100.0 * amount(part) / amount(whole)) if amount(whole) else 0.0


def _rounded(value: float) -> float:
    return round(value, 4)
