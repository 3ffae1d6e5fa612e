"""`GET /scheduler/bulk-activities` of several sub-clusters: the lists, one after the other."""

from collections.abc import Sequence

from shim.protocol.rest.merges.fields import PartialDocument
from shim.protocol.rest.merges.lists import join_list, raw_items

__all__ = ["merge_bulk_activities"]


def merge_bulk_activities(parts: Sequence[PartialDocument]) -> bytes:
    """Join the allocations of all nodes."""
    if len(parts) == 1:
        return parts[0].document
    items = (item for part in parts for item in raw_items(part.document, "bulkActivities", "activities"))
    return join_list("bulkActivities", "activities", items)
