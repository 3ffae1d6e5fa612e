"""Inspection of sub-clusters, queues and choices of homes, as documents of Heddle's own web services."""

from datetime import UTC, datetime
from typing import Any

from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, AdmissionWord
from shim.domain.submissions import HomeDecision, Waited
from shim.federation.administration import Drainage
from shim.federation.deadline_outlook import DeadlineOutlook
from shim.federation.inspection import ClusterStatus, QueuePart, QueueStatus
from shim.telemetry import SubClusterGauges

__all__ = [
    "cluster_gauges",
    "shown_cluster",
    "shown_deadline",
    "shown_decision",
    "shown_drainage",
    "shown_queue",
    "shown_waited",
    "told_of_deadline",
]


def shown_cluster(status: ClusterStatus) -> dict[str, Any]:
    """A row of `GET /heddle/v1/clusters`."""
    described = status.description
    return {
        "id": status.id,
        "web": ",".join(described.web),
        "client_rpc": ",".join(described.client_rpc),
        "scheduler_rpc": ",".join(described.scheduler_rpc),
        "version": status.version,
        "state": status.state,
        "age_s": _seconds(status.age_s),
        "is_heard": status.is_heard,
        "running": status.running,
        "nodes": status.nodes,
        "admission": status.admission.value,
        "scheduler": status.scheduler,
        "failure": status.failure,
        **_shown_word(status.word),
    }


def _shown_word(word: AdmissionWord | None) -> dict[str, Any]:
    """Who said, when and why, that a cluster takes no applications."""
    return {} if word is None else {"said_by": word.by, "said_at_ms": word.at_ms, "said_why": word.reason}


def cluster_gauges(status: ClusterStatus) -> SubClusterGauges:
    """Metrics of a cluster; of one that is retired only that it is."""
    is_retired = status.admission is Admission.RETIRED
    return SubClusterGauges(
        subcluster=status.id,
        age_s=None if is_retired else status.age_s,
        state=status.state,
        admission=status.admission.value,
        nodes=None if is_retired else status.nodes,
        live_applications=None if is_retired else status.running,
    )


def shown_drainage(drainage: Drainage) -> dict[str, Any]:
    """Applications that still run, and the containers of those whose home is elsewhere."""
    return {
        "still_running": [*map(str, drainage.still_running)],
        "spanning": {str(application): count for application, count in drainage.spanning.items()},
    }


def shown_queue(queue: QueueStatus) -> dict[str, Any]:
    """A row of `GET /heddle/v1/queues`."""
    return {
        "queue": queue.path,
        **_shown_amounts(
            queue.total(lambda part: part.capacity),
            queue.total(lambda part: part.used),
            queue.total(lambda part: part.pending),
        ),
        "applications": sum(part.applications for part in queue.parts),
        "parts": [_shown_part(part) for part in queue.parts],
    }


def shown_decision(decision: HomeDecision) -> dict[str, Any]:
    """Reasons of the choice of a home: candidates, and what their Local Masters said."""
    return {
        "reason": decision.reason,
        "decided_by": decision.decided_by,
        "candidates": [
            {
                "cluster": candidate.subcluster,
                "score": candidate.score,
                "reason": candidate.reason,
                "age_s": _seconds(candidate.age_s),
            }
            for candidate in decision.candidates
        ],
        "verdicts": [
            {
                "cluster": verdict.subcluster,
                "verdict": verdict.verdict.value,
                "score": verdict.score,
                "reason": verdict.reason,
                "age_s": _seconds(verdict.age_s),
            }
            for verdict in decision.verdicts
        ],
    }


def shown_deadline(found: DeadlineOutlook) -> dict[str, Any]:
    """Tell whether a deadline will be met as far as is known, from what, and what it would take."""
    ends_s = found.expected_end_s
    return {
        "at_ms": int(found.deadline_s * 1000),
        "left_s": round(found.left_s, 1),
        "met": found.met,
        "expected_end_ms": None if ends_s is None else int(ends_s * 1000),
        "known_from": found.source,
        "takes": found.takes,
        "text": told_of_deadline(found),
    }


def told_of_deadline(found: DeadlineOutlook) -> str:
    """The same as one sentence, for people."""
    at = datetime.fromtimestamp(found.deadline_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    when = f"in {found.left_s:.0f} s" if found.left_s > 0 else f"{-found.left_s:.0f} s ago"
    ends = "" if found.expected_end_s is None else f", {_distance(found.expected_end_s - found.deadline_s)}"
    takes = f"; it takes {found.takes}" if found.takes else ""
    return f"{at} ({when}); met: {found.met}{ends} ({found.source}){takes}"


def _distance(late_s: float) -> str:
    return f"{late_s:.0f} s after it" if late_s > 0 else f"{-late_s:.0f} s before it"


def shown_waited(waited: Waited) -> dict[str, Any]:
    """Waiting of an application for its queue's turn, with the reason."""
    return {
        "submitted_at_ms": waited.since_ms,
        "started_at_ms": waited.until_ms,
        "waited_s": round((waited.until_ms - waited.since_ms) / 1000, 3),
        "reason": waited.reason,
    }


def _seconds(age_s: float | None) -> float | None:
    """An age for people and JSON, which has no infinity."""
    return None if age_s is None or age_s == float("inf") else round(age_s, 3)


def _shown_part(part: QueuePart) -> dict[str, Any]:
    amounts = _shown_amounts(part.capacity, part.used, part.pending)
    return {"cluster": part.subcluster, "state": part.state, **amounts, "applications": part.applications}


def _shown_amounts(capacity: ResourceVector, used: ResourceVector, pending: ResourceVector) -> dict[str, int]:
    amounts = (("capacity", capacity), ("used", used), ("pending", pending))
    return {
        f"{name}_{unit}": value
        for name, amount in amounts
        for unit, value in (("mib", amount.memory_mib), ("vcores", amount.vcores))
    }
