"""Small documents of several sub-clusters: labels and their mappings, metrics, nodes, activities, the overview.

Labels are "mapped" objects of Jersey 1: numbers are strings, a list of one is the bare item, an empty map is null.
Sources: `NodeLabelsInfo`, `NodeToLabelsInfo`, `LabelsToNodesInfo`, `ClusterMetricsInfo`, `SchedulerOverviewInfo`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from shim.protocol.rest.merges.fields import (
    PartialDocument,
    Rule,
    all_true,
    amount,
    average,
    decode,
    encode,
    keyed,
    largest,
    merge_objects,
    nested,
    resource_smallest,
    resource_total,
    smallest,
    total,
    union,
)
from shim.protocol.rest.merges.lists import join_list, raw_items
from shim.protocol.wire_values import UNREADABLE, WireNumber, several, whole

_PARTITION: Mapping[str, Rule] = {"resourceAvailable": resource_total}
_LABEL: Mapping[str, Rule] = {"exclusivity": all_true, "activeNMs": total, "partitionInfo": nested(_PARTITION)}
_NODES: Mapping[str, Rule] = {"nodes": union, "partitionInfo": nested(_PARTITION)}


def merge_node_labels(parts: Sequence[PartialDocument]) -> bytes:
    """`/get-node-labels`, `/get-rm-node-labels`: each label once, its resources and nodes summed."""
    if len(parts) == 1:
        return parts[0].document
    lists = [several(decode(part.document).get("nodeLabelInfo")) for part in parts]
    labels = keyed("name", _LABEL)([(items, 1.0) for items in lists])
    return encode({"nodeLabelInfo": _collapsed(labels)} if labels else {})


def merge_nodes_to_labels(parts: Sequence[PartialDocument]) -> bytes:
    """`/get-node-to-labels`: each node with the labels of every sub-cluster that has it."""
    if len(parts) == 1:
        return parts[0].document
    labels: dict[str, dict[str, Any]] = {}
    for entry in _entries(parts, "nodeToLabels"):
        if not isinstance(entry.get("key"), str):
            continue
        known = labels.setdefault(entry["key"], {})
        told = entry.get("value")
        for label in several(told.get("nodeLabelInfo")) if isinstance(told, dict) else ():
            if isinstance(label, dict) and isinstance(label.get("name"), str):
                known.setdefault(label["name"], label)
    entries = [
        {"key": node, "value": {"nodeLabelInfo": _collapsed(list(found.values()))} if found else {}}
        for node, found in labels.items()
    ]
    return encode({"nodeToLabels": {"entry": _collapsed(entries)} if entries else None})


def merge_labels_to_nodes(parts: Sequence[PartialDocument]) -> bytes:
    """`/label-mappings`: each label with the nodes of all sub-clusters."""
    if len(parts) == 1:
        return parts[0].document
    groups: dict[str, list[Any]] = {}
    for entry in _entries(parts, "labelsToNodes"):
        label = entry.get("key")
        if isinstance(label, dict) and isinstance(label.get("name"), str):
            groups.setdefault(label["name"], []).append(entry)
    entries = []
    for group in groups.values():
        key = merge_objects([(entry["key"], 1.0) for entry in group], _LABEL)
        value = merge_objects([(entry.get("value"), 1.0) for entry in group], _NODES)
        if value.get("nodes") is not None:
            value["nodes"] = _collapsed(value["nodes"])
        entries.append({"key": key, "value": value})
    return encode({"labelsToNodes": {"entry": _collapsed(entries)} if entries else None})


def _entries(parts: Sequence[PartialDocument], root: str) -> Iterable[dict[str, Any]]:
    """Entries of maps; what is none costs itself alone."""
    for part in parts:
        listed = several((decode(part.document).get(root) or {}).get("entry"))
        yield from (entry for entry in listed if isinstance(entry, dict))


def _collapsed(items: list[Any]) -> Any:
    return items[0] if len(items) == 1 else items


# `GET /nodes` of several sub-clusters.


class _Node(msgspec.Struct):
    id: str
    state: WireNumber = ""
    lastHealthUpdate: WireNumber = 0  # noqa: N815 - the wire's name


_NODE = msgspec.json.Decoder(_Node, strict=False)


def merge_nodes(parts: Sequence[PartialDocument], *, states: frozenset[str] | None) -> bytes:
    """Join the nodes that are in one of the states; None for all.

    A node that several sub-clusters list has moved: the one with the newest report of it is believed. A row that
    cannot be read costs itself alone; a poll has counted it.
    """
    if len(parts) == 1 and states is None:
        return parts[0].document
    newest: dict[str, tuple[int, bytes]] = {}
    for part in parts:
        for raw in raw_items(part.document, "nodes", "node"):
            try:
                node = _NODE.decode(raw)
            except UNREADABLE:
                continue
            if states is not None and node.state not in states:
                continue
            known, heard_at = newest.get(node.id), whole(node.lastHealthUpdate)
            if known is None or known[0] < heard_at:
                newest[node.id] = (heard_at, raw)
    return join_list("nodes", "node", (raw for _, raw in newest.values()))


# `GET /scheduler/bulk-activities` of several sub-clusters: the lists, one after the other.


def merge_bulk_activities(parts: Sequence[PartialDocument]) -> bytes:
    """Join the allocations of all nodes."""
    if len(parts) == 1:
        return parts[0].document
    items = (item for part in parts for item in raw_items(part.document, "bulkActivities", "activities"))
    return join_list("bulkActivities", "activities", items)


# `GET /scheduler-overview` of several sub-clusters. Source: `SchedulerOverviewInfo`; a "mapped" object.

_SMALLEST_RESOURCE: Rule = nested({"memory": smallest, "vCores": smallest})
_RULES: Mapping[str, Rule] = {
    "minimumAllocation": _SMALLEST_RESOURCE,
    "maximumAllocation": resource_smallest,
    "applicationPriority": largest,
    "schedulerBusy": largest,
    "rmDispatcherEventQueueSize": largest,
    "schedulerDispatcherEventQueueSize": largest,
}


def merge_overview(parts: Sequence[PartialDocument]) -> bytes:
    """The largest container that every sub-cluster grants, and the busiest scheduler."""
    if len(parts) == 1:
        return parts[0].document
    return encode(merge_objects([(decode(part.document), part.weight) for part in parts], _RULES))


_RULES_METRICS: Mapping[str, Rule] = {
    "rmSchedulerBusyPercent": largest,
    "rmEventQueueSize": largest,
    "schedulerEventQueueSize": largest,
    "crossPartitionMetricsAvailable": all_true,
    "totalUsedResourcesAcrossPartition": resource_total,
    "totalClusterResourcesAcrossPartition": resource_total,
    "totalReservedResourcesAcrossPartition": resource_total,
}
"""Fields that are not sums."""

_PERCENTAGES = {"utilizedMBPercent": "totalMB", "utilizedVirtualCoresPercent": "totalVirtualCores"}
"""Percentages of a total: averages by that total."""


def merge_metrics(parts: Sequence[PartialDocument]) -> bytes:
    """Sum the metrics; peaks where a sum is wrong, averages by size for percentages."""
    if len(parts) == 1:
        return parts[0].document
    documents = [decode(part.document)["clusterMetrics"] for part in parts]
    merged = merge_objects([(document, 1.0) for document in documents], _RULES_METRICS, default=total)
    for percentage, size in _PERCENTAGES.items():
        values = [(item[percentage], float(amount(item.get(size, 0)))) for item in documents if percentage in item]
        if values:
            merged[percentage] = average(values)
    return encode({"clusterMetrics": merged})
