"""Node labels and their mappings of several sub-clusters.

These are "mapped" objects of Jersey 1: numbers are strings, a list of one is the bare item, an empty map is null.
Source: `NodeLabelsInfo`, `NodeToLabelsInfo`, `LabelsToNodesInfo`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shim.protocol.rest.merges.fields import (
    PartialDocument,
    Rule,
    all_true,
    decode,
    encode,
    keyed,
    merge_objects,
    nested,
    resource_total,
    total,
    union,
)

__all__ = ["merge_labels_to_nodes", "merge_node_labels", "merge_nodes_to_labels"]

_PARTITION: Mapping[str, Rule] = {"resourceAvailable": resource_total}
_LABEL: Mapping[str, Rule] = {"exclusivity": all_true, "activeNMs": total, "partitionInfo": nested(_PARTITION)}
_NODES: Mapping[str, Rule] = {"nodes": union, "partitionInfo": nested(_PARTITION)}


def merge_node_labels(parts: Sequence[PartialDocument]) -> bytes:
    """`/get-node-labels`, `/get-rm-node-labels`: each label once, its resources and nodes summed."""
    if len(parts) == 1:
        return parts[0].document
    lists = [_items(decode(part.document).get("nodeLabelInfo")) for part in parts]
    labels = keyed("name", _LABEL)([(items, 1.0) for items in lists])
    return encode({"nodeLabelInfo": _collapsed(labels)} if labels else {})


def merge_nodes_to_labels(parts: Sequence[PartialDocument]) -> bytes:
    """`/get-node-to-labels`: each node with the labels of every sub-cluster that has it."""
    if len(parts) == 1:
        return parts[0].document
    labels: dict[str, dict[str, Any]] = {}
    for entry in _entries(parts, "nodeToLabels"):
        known = labels.setdefault(entry["key"], {})
        for label in _items((entry.get("value") or {}).get("nodeLabelInfo")):
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
        groups.setdefault(entry["key"]["name"], []).append(entry)
    entries = []
    for group in groups.values():
        key = merge_objects([(entry["key"], 1.0) for entry in group], _LABEL)
        value = merge_objects([(entry.get("value"), 1.0) for entry in group], _NODES)
        if "nodes" in value:
            value["nodes"] = _collapsed(value["nodes"])
        entries.append({"key": key, "value": value})
    return encode({"labelsToNodes": {"entry": _collapsed(entries)} if entries else None})


def _entries(parts: Sequence[PartialDocument], root: str) -> Iterable[dict[str, Any]]:
    for part in parts:
        yield from _items((decode(part.document).get(root) or {}).get("entry"))


def _items(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _collapsed(items: list[Any]) -> Any:
    return items[0] if len(items) == 1 else items
