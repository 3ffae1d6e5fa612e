"""`GET /scheduler-overview` of several sub-clusters. Source: `SchedulerOverviewInfo`; a "mapped" object."""

from collections.abc import Mapping, Sequence

from shim.protocol.rest.merges.fields import (
    PartialDocument,
    Rule,
    decode,
    encode,
    largest,
    merge_objects,
    nested,
    resource_smallest,
    smallest,
)

__all__ = ["merge_overview"]

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
