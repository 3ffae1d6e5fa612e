"""Builders of documents, nodes, queues and reports, with defaults for what a test does not care about."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationId, NodeId, SubClusterId
from shim.domain.queues import QueueReport, QueueState
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import ApplicationDocument, HaState, NodeReport, SubClusterReport

_FINAL_STATUS = {
    YarnApplicationState.FINISHED: FinalStatus.SUCCEEDED,
    YarnApplicationState.FAILED: FinalStatus.FAILED,
    YarnApplicationState.KILLED: FinalStatus.KILLED,
}
_SIZE = ResourceVector(8192, 8)


def a_document(
    sequence: int,
    subcluster: str,
    state: str = "RUNNING",
    *,
    as_of_s: float = 100.0,
    started_at_ms: int = 1000,
    timestamp: int = 1,
) -> ApplicationDocument:
    """The document of application `application_<timestamp>_<sequence>`."""
    application_id = ApplicationId(timestamp, sequence)
    yarn_state = YarnApplicationState(state)
    final_status = _FINAL_STATUS.get(yarn_state, FinalStatus.UNDEFINED)
    summary = ApplicationSummary(
        application_id=application_id,
        home_subcluster=SubClusterId(subcluster),
        user="alice",
        name="job",
        queue="root.default",
        state=yarn_state,
        final_status=final_status,
        application_type="YARN",
        started_at_ms=started_at_ms,
    )
    raw = {"id": str(application_id), "state": state, "finalStatus": final_status.value, "told": as_of_s}
    return ApplicationDocument(summary, json.dumps(raw).encode(), as_of_s)


def a_node_report(
    name: str = "n1:45454", total: ResourceVector = _SIZE, *, labels: Iterable[str] = (), state: str = "RUNNING"
) -> NodeReport:
    """A node of 8 GiB and 8 vcores."""
    return NodeReport(NodeId.parse(name), "/default-rack", state, total, ResourceVector(), tuple(labels))


def a_queue_report(path: str = "root.default", **fields: Any) -> QueueReport:
    """A running leaf with half of 8 GiB and 8 vcores."""
    defaults: dict[str, Any] = {
        "state": QueueState.RUNNING,
        "is_leaf": True,
        "capacity": ResourceVector(4096, 4),
        "maximum": _SIZE,
        "used": ResourceVector(),
        "labels": ("*",),
    }
    return QueueReport(path=path, **(defaults | fields))


def a_report(
    subcluster: str,
    sequence: int = 1,
    *,
    polled_at_s: float = 100.0,
    applications: Iterable[ApplicationDocument] = (),
    forgotten: Iterable[ApplicationId] = (),
    documents: Mapping[str, bytes] | None = None,
    **fields: Any,
) -> SubClusterReport:
    """A complete report of an active sub-cluster with one node and the queue `root.default`."""
    every_part: dict[str, bytes] = dict.fromkeys(("info", "metrics", "nodes", "scheduler"), b"{}")
    defaults: dict[str, Any] = {
        "ha_state": HaState.ACTIVE,
        "started_on_ms": 1,
        "version": "3.4.2",
        "capacity": _SIZE,
        "used": ResourceVector(),
        "maximum_allocation": _SIZE,
        "nodes": (a_node_report(),),
        "queues": (a_queue_report(),),
        "scheduler": "capacityScheduler",
    }
    return SubClusterReport(
        subcluster=SubClusterId(subcluster),
        sequence=sequence,
        polled_at_s=polled_at_s,
        documents=documents if documents is not None else every_part,
        applications={document.summary.application_id: document for document in applications},
        forgotten=tuple(forgotten),
        **(defaults | fields),
    )
