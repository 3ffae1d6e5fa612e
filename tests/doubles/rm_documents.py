"""Builders of the JSON documents of a ResourceManager, in the form of Hadoop 3.4."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from shim.domain.ids import ApplicationId
from shim.domain.resources import ResourceVector

_FINAL = {"FINISHED": "SUCCEEDED", "FAILED": "FAILED", "KILLED": "KILLED"}
_UNLIMITED = [{"type": "LIFETIME", "expiryTime": "UNLIMITED", "remainingTimeInSeconds": -1}]


def _resource(amount: ResourceVector) -> dict[str, Any]:
    rows = [("memory-mb", "Mi", amount.memory_mib), ("vcores", "", amount.vcores)]
    rows += [(name, "", value) for name, value in amount.others.items()]
    information = [
        {
            "attributes": {},
            "maximumAllocation": 9223372036854775807,
            "minimumAllocation": 0,
            "name": name,
            "resourceType": "COUNTABLE",
            "units": units,
            "value": value,
        }
        for name, units, value in rows
    ]
    return {
        "memory": amount.memory_mib,
        "vCores": amount.vcores,
        "resourceInformations": {"resourceInformation": information},
    }


def an_application(
    application_id: ApplicationId, state: str = "RUNNING", *, started_ms: int = 1_800_000_000_000, **fields: object
) -> dict[str, Any]:
    """An object of `apps`; `fields` replace or add members, by their names on the wire."""
    is_final = state in _FINAL
    application: dict[str, Any] = {
        "id": str(application_id),
        "user": "alice",
        "name": "job",
        "queue": "root.default",
        "state": state,
        "finalStatus": _FINAL.get(state, "UNDEFINED"),
        "progress": 100.0 if is_final else 0.0,
        "trackingUI": "History" if is_final else "ApplicationMaster",
        "diagnostics": "",
        "clusterId": application_id.cluster_timestamp,
        "applicationType": "YARN",
        "applicationTags": "",
        "priority": 0,
        "startedTime": started_ms,
        "launchTime": started_ms,
        "finishedTime": started_ms + 1000 if is_final else 0,
        "elapsedTime": 1000,
        "allocatedMB": -1 if is_final else 1024,
        "allocatedVCores": -1 if is_final else 1,
        "runningContainers": -1 if is_final else 1,
        "memorySeconds": 1024,
        "vcoreSeconds": 1,
        "logAggregationStatus": "DISABLED",
        "unmanagedApplication": False,
        "amNodeLabelExpression": "",
        "timeouts": {"timeout": _UNLIMITED},
    }
    return application | fields


def apps_document(applications: Sequence[Mapping[str, Any]]) -> bytes:
    """Answer of `GET /ws/v1/cluster/apps`."""
    return _encode({"apps": {"app": list(applications)} if applications else {}})


def info_document(*, started_on_ms: int = 1_799_999_000_000, ha_state: str = "ACTIVE", version: str = "3.4.2") -> bytes:
    """Answer of `GET /ws/v1/cluster/info`."""
    info = {
        "id": started_on_ms,
        "startedOn": started_on_ms,
        "state": "STARTED" if ha_state != "INITIALIZING" else "INITED",
        "haState": ha_state,
        "resourceManagerVersion": version,
        "hadoopVersion": version,
    }
    return _encode({"clusterInfo": info})


def metrics_document(total: ResourceVector, used: ResourceVector, *, nodes: int, running: int = 0) -> bytes:
    """Answer of `GET /ws/v1/cluster/metrics`."""
    free = total - used
    metrics = {
        "appsRunning": running,
        "availableMB": free.memory_mib,
        "allocatedMB": used.memory_mib,
        "availableVirtualCores": free.vcores,
        "allocatedVirtualCores": used.vcores,
        "totalMB": total.memory_mib,
        "totalVirtualCores": total.vcores,
        "totalNodes": nodes,
        "activeNodes": nodes,
        "totalUsedResourcesAcrossPartition": _resource(used),
        "totalClusterResourcesAcrossPartition": _resource(total),
    }
    return _encode({"clusterMetrics": metrics})


def a_node(
    name: str,
    total: ResourceVector,
    *,
    used: ResourceVector | None = None,
    labels: Sequence[str] = (),
    state: str = "RUNNING",
) -> dict[str, Any]:
    """An object of `nodes`; `name` is `host:port`."""
    taken = used or ResourceVector()
    free = total - taken
    host = name.partition(":")[0]
    node: dict[str, Any] = {
        "rack": "/default-rack",
        "state": state,
        "id": name,
        "nodeHostName": host,
        "nodeHTTPAddress": f"{host}:8042",
        "version": "3.4.2",
        "healthReport": "",
        "numContainers": 0,
        "usedMemoryMB": taken.memory_mib,
        "availMemoryMB": free.memory_mib,
        "usedVirtualCores": taken.vcores,
        "availableVirtualCores": free.vcores,
        "usedResource": _resource(taken),
        "availableResource": _resource(free),
        "totalResource": _resource(total),
    }
    return node | ({"nodeLabels": list(labels)} if labels else {})


def nodes_document(nodes: Sequence[Mapping[str, Any]]) -> bytes:
    """Answer of `GET /ws/v1/cluster/nodes`."""
    return _encode({"nodes": {"node": list(nodes)} if nodes else {}})


def a_queue(
    path: str,
    capacity: ResourceVector,
    *,
    maximum: ResourceVector,
    used: ResourceVector | None = None,
    state: str = "RUNNING",
    applications: int = 0,
    labels: Sequence[str] = ("*",),
) -> dict[str, Any]:
    """A leaf of a capacity scheduler's tree."""
    return {
        "type": "capacitySchedulerLeafQueueInfo",
        "queuePath": path,
        "queueName": path.rpartition(".")[2],
        "capacity": 50.0,
        "usedCapacity": 0.0,
        "maxCapacity": 100.0,
        "absoluteCapacity": 50.0,
        "absoluteMaxCapacity": 100.0,
        "absoluteUsedCapacity": 0.0,
        "numApplications": applications,
        "maxApplications": 4000,
        "state": state,
        "resourcesUsed": _resource(used or ResourceVector()),
        "nodeLabels": list(labels),
        "minEffectiveCapacity": _resource(capacity),
        "maxEffectiveCapacity": _resource(maximum),
        "maximumAllocation": _resource(maximum),
    }


def scheduler_document(queues: Sequence[Mapping[str, Any]], *, maximum_allocation: ResourceVector) -> bytes:
    """Answer of `GET /ws/v1/cluster/scheduler` of a capacity scheduler with these queues below root."""
    root = {
        "type": "capacityScheduler",
        "capacity": 100.0,
        "usedCapacity": 0.0,
        "maxCapacity": 100.0,
        "queueName": "root",
        "queuePath": "root",
        "queues": {"queue": list(queues)},
        "maximumAllocation": _resource(maximum_allocation),
    }
    return _encode({"scheduler": {"schedulerInfo": root}})


def _encode(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
