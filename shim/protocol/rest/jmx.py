"""The beans of `/jmx` that monitors of a ResourceManager read, computed from merged documents.

Source: `org.apache.hadoop.jmx.JMXJsonServlet`, `RMNMInfo`, `ClusterMetrics`, `QueueMetrics` of Hadoop 3.4.2.
"""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from shim.protocol.rest.merges import raw_items

__all__ = ["beans_document", "resource_manager_beans"]

_SERVICE = "Hadoop:service=ResourceManager"
_LONGEST_QUERY = 256
"""Characters; the longest name of a bean has half of them."""

_NODE = {
    "HostName": "nodeHostName",
    "Rack": "rack",
    "State": "state",
    "NodeId": "id",
    "NodeHTTPAddress": "nodeHTTPAddress",
    "LastHealthUpdate": "lastHealthUpdate",
    "HealthReport": "healthReport",
    "NodeManagerVersion": "version",
    "NumContainers": "numContainers",
    "UsedMemoryMB": "usedMemoryMB",
    "AvailableMemoryMB": "availMemoryMB",
}
_CLUSTER = {
    "CapabilityMB": "totalMB",
    "CapabilityVirtualCores": "totalVirtualCores",
    "ContainerAssignedPerSecond": "containerAssignedPerSecond",
    "NumActiveNMs": "activeNodes",
    "NumDecommissionedNMs": "decommissionedNodes",
    "NumDecommissioningNMs": "decommissioningNodes",
    "NumLostNMs": "lostNodes",
    "NumRebootedNMs": "rebootedNodes",
    "NumShutdownNMs": "shutdownNodes",
    "NumUnhealthyNMs": "unhealthyNodes",
    "RmDispatcherEventQueueSize": "rmEventQueueSize",
    "SchedulerDispatcherEventQueueSize": "schedulerEventQueueSize",
    "UtilizedMB": "utilizedMB",
    "UtilizedVirtualCores": "utilizedVirtualCores",
}
_ROOT_QUEUE = {
    "AllocatedContainers": "containersAllocated",
    "AllocatedMB": "allocatedMB",
    "AllocatedVCores": "allocatedVirtualCores",
    "AppsCompleted": "appsCompleted",
    "AppsFailed": "appsFailed",
    "AppsKilled": "appsKilled",
    "AppsPending": "appsPending",
    "AppsRunning": "appsRunning",
    "AppsSubmitted": "appsSubmitted",
    "AvailableMB": "availableMB",
    "AvailableVCores": "availableVirtualCores",
    "PendingContainers": "containersPending",
    "PendingMB": "pendingMB",
    "PendingVCores": "pendingVirtualCores",
    "ReservedContainers": "containersReserved",
    "ReservedMB": "reservedMB",
    "ReservedVCores": "reservedVirtualCores",
}


def resource_manager_beans(metrics: bytes, nodes: bytes) -> list[dict[str, Any]]:
    """`RMNMInfo`, `ClusterMetrics` and `QueueMetrics,q0=root`.

    Args:
        metrics: A document of `/metrics`.
        nodes: A document of `/nodes`.
    """
    known = msgspec.json.decode(metrics)["clusterMetrics"]
    listed = [msgspec.json.decode(raw) for raw in raw_items(nodes, "nodes", "node")]
    live = [_picked(_NODE, node) for node in listed if node.get("state") == "RUNNING"]
    used = known.get("allocatedMB", 0) / known["totalMB"] if known.get("totalMB") else 0.0
    return [
        {
            "name": f"{_SERVICE},name=RMNMInfo",
            "modelerType": "org.apache.hadoop.yarn.server.resourcemanager.RMNMInfo",
            "LiveNodeManagers": json.dumps(live, separators=(",", ":")),
        },
        {
            "name": f"{_SERVICE},name=ClusterMetrics",
            "modelerType": "ClusterMetrics",
            "tag.ClusterMetrics": "ResourceManager",
            "tag.Context": "yarn",
            **_picked(_CLUSTER, known),
        },
        {
            "name": f"{_SERVICE},name=QueueMetrics,q0=root",
            "modelerType": "QueueMetrics,q0=root",
            "tag.Queue": "root",
            "tag.Context": "yarn",
            "UsedCapacity": round(used, 6),
            "AbsoluteUsedCapacity": round(used, 6),
            **_picked(_ROOT_QUEUE, known),
        },
    ]


def _picked(names: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
    return {shown: values[name] for shown, name in names.items() if name in values}


def beans_document(beans: list[dict[str, Any]], query: str | None) -> bytes:
    """The servlet's answer to `?qry=`; all beans without it.

    A query names a domain and properties in any order; `*` stands for any characters, as a property for any others.
    """
    found = [bean for bean in beans if query is None or _matches(query, str(bean["name"]))]
    return json.dumps({"beans": found}, indent=2, separators=(",", " : ")).encode()


def _matches(pattern: str, name: str) -> bool:
    if len(pattern) > _LONGEST_QUERY:
        return False
    wanted_domain, _, wanted = pattern.partition(":")
    domain, _, given = name.partition(":")
    if not _fits(domain, wanted_domain):
        return False
    properties = {name: value for name, _, value in (part.partition("=") for part in given.split(","))}
    asked = [part for part in wanted.split(",") if part]
    is_open = "*" in asked
    pairs = [(name, value) for name, _, value in (part.partition("=") for part in asked if part != "*")]
    if not is_open and len(pairs) != len(properties):
        return False
    return all(key in properties and _fits(properties[key], value) for key, value in pairs)


def _fits(text: str, pattern: str) -> bool:
    """True if `*`, any characters, and `?`, one, make the pattern the text; no other character is special.

    Takes at most a step for each pair of their characters: `fnmatch` makes a regular expression of what a client wrote.
    """
    ends = {0}
    for sign in pattern:
        if sign == "*":
            ends = set(range(min(ends), len(text) + 1))
        else:
            ends = {end + 1 for end in ends if end < len(text) and sign in ("?", text[end])}
        if not ends:
            return False
    return len(text) in ends
