"""The beans of `/jmx` that monitors of a ResourceManager read, computed from merged documents.

Source: `org.apache.hadoop.jmx.JMXJsonServlet`, `RMInfo`, `RMNMInfo`, `ClusterMetrics`, `QueueMetrics`, `RpcMetrics` of
Hadoop 3.4.2, and the JVM's `OperatingSystemMXBean`.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from shim.domain.queues import QueueReport
from shim.domain.resources import ResourceVector
from shim.protocol.rest.merges import raw_items
from shim.protocol.wire_values import number

_SERVICE = "Hadoop:service=ResourceManager"
_HEAD = ("name", "modelerType")
_LONGEST_QUERY = 256
"""Characters; the longest name of a bean has half of them."""
_PROPERTY = re.compile(r'([^,=:*?\n]+)=("(?:[^"\\\n]|\\[*?"\\n])*+"|[^,=:"\n]*+)')
_Name = tuple[str, Mapping[str, str], bool]
"""Domain, properties, and whether there may be others."""

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
_INACTIVE = frozenset({"LOST", "DECOMMISSIONED", "REBOOTED", "SHUTDOWN"})
"""States of nodes that a ResourceManager has put aside (`getInactiveRMNodes`): all others are among the live ones."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine that Heddle runs on.

    Attributes:
        load: Processes that want a processor, in the mean of the last minute.
    """

    name: str
    architecture: str
    version: str
    processors: int
    load: float


def resource_manager_beans(
    metrics: bytes, nodes: bytes, *, address: str = "", is_secure: bool = False, machine: Machine | None = None
) -> list[dict[str, Any]]:
    """`RMInfo`, `RMNMInfo`, `ClusterMetrics`, `QueueMetrics,q0=root` and `OperatingSystem`.

    Args:
        metrics: A document of `/metrics`.
        nodes: A document of `/nodes`.
        address: `host:port` of the server for clients, or of the only one; without it there is no `RMInfo`.
        is_secure: Whether callers are asked for tickets.
        machine: The machine; without it there is no `OperatingSystem`.
    """
    known = msgspec.json.decode(metrics)["clusterMetrics"]
    listed = (msgspec.json.decode(raw) for raw in raw_items(nodes, "nodes", "node"))
    rows = [node for node in listed if isinstance(node, dict) and isinstance(node.get("id"), str)]
    live = [_picked(_NODE, node) for node in rows if str(node.get("state")) not in _INACTIVE]
    total = number(known.get("totalMB"))
    used = number(known.get("allocatedMB")) / total if total else 0.0
    return [
        *_rm_info(address, is_secure=is_secure),
        *_operating_system(machine),
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


def _rm_info(address: str, *, is_secure: bool) -> Iterable[dict[str, Any]]:
    if address:
        modelled = "org.apache.hadoop.yarn.server.resourcemanager.RMInfo"
        yield {
            "name": f"{_SERVICE},name=RMInfo",
            "modelerType": modelled,
            "State": "active",
            "SecurityEnabled": is_secure,
            "HostAndPort": address,
        }


def _operating_system(machine: Machine | None) -> Iterable[dict[str, Any]]:
    """The JVM tells the load of this moment; this is that of the last minute."""
    if machine is not None:
        yield {
            "name": "java.lang:type=OperatingSystem",
            "modelerType": "com.sun.management.internal.OperatingSystemImpl",
            "SystemCpuLoad": round(min(1.0, machine.load / max(1, machine.processors)), 4),
            "SystemLoadAverage": round(machine.load, 2),
            "AvailableProcessors": machine.processors,
            "Name": machine.name,
            "Arch": machine.architecture,
            "Version": machine.version,
            "ObjectName": "java.lang:type=OperatingSystem",
        }


def rpc_beans(address: str, calls: int, answered_s: float, waited_s: float) -> list[dict[str, Any]]:
    """`RpcActivityForPort8032` of the server for clients; none where there is no such server.

    Args:
        address: `host:port` of it.
    """
    port = address.rpartition(":")[2]
    if not port:
        return []
    name = f"RpcActivityForPort{port}"
    return [
        {
            "name": f"{_SERVICE},name={name}",
            "modelerType": name,
            "tag.port": port,
            "tag.Context": "rpc",
            "RpcQueueTimeNumOps": calls,
            "RpcQueueTimeAvgTime": round(waited_s * 1000, 3),
            "RpcProcessingTimeNumOps": calls,
            "RpcProcessingTimeAvgTime": round(answered_s * 1000, 3),
        }
    ]


def queue_beans(reports: Iterable[Mapping[str, QueueReport]]) -> list[dict[str, Any]]:
    """`QueueMetrics,q0=root,q1=...` of every queue below root, summed over the clusters that have it.

    Args:
        reports: Of each cluster, its queues by path.
    """
    found: dict[str, list[QueueReport]] = {}
    for queues in reports:
        for path, report in queues.items():
            found.setdefault(path, []).append(report)
    return [_queue_bean(path, each) for path, each in sorted(found.items()) if path != "root"]


def _queue_bean(path: str, reports: Sequence[QueueReport]) -> dict[str, Any]:
    parts = ",".join(f"q{level}={_quoted(name)}" for level, name in enumerate(path.split(".")))
    used = sum((each.used for each in reports), ResourceVector())
    pending = sum((each.pending for each in reports), ResourceVector())
    most = sum((each.maximum for each in reports), ResourceVector())
    waiting = sum(each.waiting_applications for each in reports)
    return {
        "name": f"{_SERVICE},name=QueueMetrics,{parts}",
        "modelerType": f"QueueMetrics,{parts}",
        "tag.Queue": path,
        "tag.Context": "yarn",
        "AllocatedMB": used.memory_mib,
        "AllocatedVCores": used.vcores,
        "AvailableMB": max(0, most.memory_mib - used.memory_mib),
        "AvailableVCores": max(0, most.vcores - used.vcores),
        "PendingMB": pending.memory_mib,
        "PendingVCores": pending.vcores,
        "PendingContainers": sum(each.pending_containers for each in reports),
        "AppsRunning": max(0, sum(each.applications for each in reports) - waiting),
        "AppsPending": waiting,
    }


def _quoted(name: str) -> str:
    """A value of a name: what separates its parts is put in quotes (`ObjectName.quote`)."""
    if not any(sign in name for sign in ',=:"*?'):
        return name
    return '"' + "".join(f"\\{sign}" if sign in '"*?\\' else sign for sign in name) + '"'


def _picked(names: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
    return {shown: values[name] for shown, name in names.items() if name in values}


def beans_document(beans: Sequence[Mapping[str, Any]], query: str | None, get: str | None = None) -> bytes:
    """The servlet's answer to `?qry=`, or to `?get=BEAN::ATTRIBUTE`, which goes before; all beans without either.

    A query names a domain and properties in any order; `*` stands for any characters, as a property for any others.
    The status is 200 whatever is wrong: a servlet has begun to answer when it sets another.
    """
    if get is None:
        wanted = _read_name(query or "")
        return _NOTHING if wanted is None else _beans([bean for bean in beans if _matches(wanted, str(bean["name"]))])
    name, _, attribute = get.partition("::")
    if not attribute or "::" in attribute:
        return _object({"result": "ERROR", "message": "query format is not as expected."}).encode()
    wanted = _read_name(name)
    if wanted is None:
        return _NOTHING
    found = list[Mapping[str, Any]]()
    for bean in beans:
        if _matches(wanted, str(bean["name"])):
            head = {key: bean[key] for key in _HEAD}
            if attribute not in bean:
                message = f"No attribute with name {attribute} was found."
                return _beans([*found, head | {"result": "ERROR", "message": message}])
            found.append(head | {attribute: bean[attribute]})
    return _beans(found)


_NOTHING = b"{ }"
"""What the servlet writes of a name that is none."""


def _beans(found: Sequence[Mapping[str, Any]]) -> bytes:
    """As Jackson's pretty printer has it."""
    return f'{{\n  "beans" : [ {", ".join(_object(bean, "  ") for bean in found)}{" " * bool(found)}]\n}}'.encode()


def _object(members: Mapping[str, Any], indent: str = "") -> str:
    rows = ",\n".join(f"{indent}  {json.dumps(name)} : {json.dumps(value)}" for name, value in members.items())
    return f"{{\n{rows}\n{indent}}}"


def _read_name(text: str) -> _Name | None:
    """Read a name as `javax.management.ObjectName` does; None for what it refuses. The empty one stands for all."""
    if not text:
        return "*", {}, True
    if len(text) > _LONGEST_QUERY:
        return "", {}, False
    domain, _, rest = text.partition(":")
    properties: dict[str, str] = {}
    is_open, at = False, 0
    while at < len(rest):
        if rest[at] == "*" and rest[at + 1 : at + 2] in ("", ","):
            if is_open:
                return None
            is_open, at = True, at + 2
            continue
        found = _PROPERTY.match(rest, at)
        if found is None or found[1] in properties or rest[found.end() : found.end() + 1] not in ("", ","):
            return None
        properties[found[1]], at = found[2], found.end() + 1
        if at == len(rest):  # it ended with a comma
            return None
    return (domain, properties, is_open) if "\n" not in domain and (properties or is_open) else None


def _matches(wanted: _Name, name: str) -> bool:
    told = _read_name(name)
    if told is None or not _fits(told[0], wanted[0]):
        return False
    (_, properties, _), (_, asked, is_open) = told, wanted
    if not is_open and len(asked) != len(properties):
        return False
    return all(key in properties and _fits(properties[key], value) for key, value in asked.items())


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
