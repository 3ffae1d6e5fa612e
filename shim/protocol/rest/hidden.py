"""Applications as they are shown to whoever may not view them.

A ResourceManager with `yarn.acl.enable` shows the row and empties most of it. So does this, with two differences: what
is not listed here is left out, so that a member of a later Hadoop is hidden until somebody lists it; and diagnostics
and the tracking URL, which its web services show to everybody and its RPC to nobody, are shown to nobody.

Source: `AppInfo`, recorded answers of 2.10.2 and 3.4.2.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

__all__ = ["hidden_application"]

_SHOWN = frozenset(
    {
        *("id", "user", "name", "queue", "state", "finalStatus", "progress", "trackingUI", "clusterId"),
        *("applicationType", "applicationTags", "priority", "unmanagedApplication"),
    }
)
_EMPTIED: Mapping[str, Any] = {
    **dict.fromkeys(("diagnostics",), "N/A"),
    **dict.fromkeys(("masterNodeId", "appNodeLabelExpression", "amNodeLabelExpression"), ""),
    **dict.fromkeys(("startedTime", "launchTime", "finishedTime", "elapsedTime"), 0),
    **dict.fromkeys(("allocatedMB", "allocatedVCores", "reservedMB", "reservedVCores", "runningContainers"), 0),
    **dict.fromkeys(("memorySeconds", "vcoreSeconds", "preemptedMemorySeconds", "preemptedVcoreSeconds"), 0),
    **dict.fromkeys(("queueUsagePercentage", "clusterUsagePercentage"), 0.0),
    **dict.fromkeys(("preemptedResourceMB", "preemptedResourceVCores"), 0),
    **dict.fromkeys(("numNonAMContainerPreempted", "numAMContainerPreempted"), 0),
}


def hidden_application(raw: bytes) -> bytes:
    """The JSON object of an application without what only its viewers may know; members keep their order."""
    members = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    shown = {name: _EMPTIED.get(name, value) for name, value in members.items() if name in _SHOWN or name in _EMPTIED}
    return msgspec.json.encode(shown)
