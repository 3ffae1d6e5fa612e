"""Documents of several sub-clusters as the one document of a ResourceManager that has all their nodes and applications.

One document alone is returned as it came, byte for byte: a federation of one cannot be told from its ResourceManager.
"""

from shim.protocol.rest.merges.documents import (
    merge_bulk_activities,
    merge_labels_to_nodes,
    merge_metrics,
    merge_node_labels,
    merge_nodes,
    merge_nodes_to_labels,
    merge_overview,
)
from shim.protocol.rest.merges.fields import Merge, PartialDocument, merge_readable
from shim.protocol.rest.merges.lists import join_list, merge_containers, merge_reservations, raw_items, without_members
from shim.protocol.rest.merges.scheduler import merge_schedulers, scheduler_type

__all__ = [
    "Merge",
    "PartialDocument",
    "join_list",
    "merge_bulk_activities",
    "merge_containers",
    "merge_labels_to_nodes",
    "merge_metrics",
    "merge_node_labels",
    "merge_nodes",
    "merge_nodes_to_labels",
    "merge_overview",
    "merge_readable",
    "merge_reservations",
    "merge_schedulers",
    "raw_items",
    "scheduler_type",
    "without_members",
]
