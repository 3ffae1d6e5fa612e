"""Inspection of sub-clusters, queues and choices of homes, as documents of Heddle's own web services."""

from datetime import UTC, datetime

from msgspec import UNSET

from heddle import applications, models
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission
from shim.domain.submissions import HomeDecision, Waited
from shim.federation.administration import Drainage
from shim.federation.deadline_outlook import DeadlineOutlook
from shim.federation.inspection import ClusterStatus, QueuePart, QueueStatus
from shim.telemetry import SubClusterGauges


def shown_cluster(status: ClusterStatus) -> models.Cluster:
    """A row of `GET /heddle/v1/clusters`."""
    described, word = status.description, status.word
    return models.Cluster(
        id=status.id,
        web=",".join(described.web),
        client_rpc=",".join(described.client_rpc),
        scheduler_rpc=",".join(described.scheduler_rpc),
        version=status.version,
        state=status.state,
        age_s=_seconds(status.age_s),
        is_heard=status.is_heard,
        running=status.running,
        nodes=status.nodes,
        admission=status.admission.value,
        scheduler=status.scheduler,
        failure=status.failure,
        said_by=UNSET if word is None else word.by,
        said_at_ms=UNSET if word is None else word.at_ms,
        said_why=UNSET if word is None else word.reason,
        changes=[models.ClusterChange(each.at_ms, each.was, each.state, each.reason) for each in status.changes],
    )


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


def still_running(drainage: Drainage) -> tuple[list[str], dict[str, int]]:
    """Applications that still run, and the containers of those whose home is elsewhere."""
    spanning = {str(application): count for application, count in drainage.spanning.items()}
    return [*map(str, drainage.still_running)], spanning


def shown_queue(queue: QueueStatus) -> models.Queue:
    """A row of `GET /heddle/v1/queues`."""
    return models.Queue(
        queue=queue.path,
        **_shown_amounts(
            queue.total(lambda part: part.capacity),
            queue.total(lambda part: part.used),
            queue.total(lambda part: part.pending),
        ),
        applications=sum(part.applications for part in queue.parts),
        parts=[_shown_part(part) for part in queue.parts],
    )


def shown_candidates(decision: HomeDecision) -> list[applications.Candidate]:
    """Sub-clusters as they were weighed for a home."""
    return [
        applications.Candidate(each.subcluster, each.score, each.reason, _seconds(each.age_s))
        for each in decision.candidates
    ]


def shown_verdicts(decision: HomeDecision) -> list[applications.Verdict]:
    """Words of Local Masters on the choice of a home."""
    return [
        applications.Verdict(each.subcluster, each.verdict.value, each.score, each.reason, _seconds(each.age_s))
        for each in decision.verdicts
    ]


def shown_deadline(found: DeadlineOutlook) -> applications.Deadline:
    """Return whether a deadline will be met as far as is known, from what, and what it would take."""
    ends_s = found.expected_end_s
    return applications.Deadline(
        at_ms=int(found.deadline_s * 1000),
        left_s=round(found.left_s, 1),
        met=found.met,
        expected_end_ms=None if ends_s is None else int(ends_s * 1000),
        known_from=found.source,
        takes=found.takes,
        text=told_of_deadline(found),
    )


def told_of_deadline(found: DeadlineOutlook) -> str:
    """The same as one sentence, for people."""
    at = datetime.fromtimestamp(found.deadline_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    when = f"in {found.left_s:.0f} s" if found.left_s > 0 else f"{abs(found.left_s):.0f} s ago"
    ends = "" if found.expected_end_s is None else f", {_distance(found.expected_end_s - found.deadline_s)}"
    takes = f"; it takes {found.takes}" if found.takes else ""
    return f"{at} ({when}); met: {found.met}{ends} ({found.source}){takes}"


def _distance(late_s: float) -> str:
    return f"{late_s:.0f} s after it" if late_s > 0 else f"{abs(late_s):.0f} s before it"


def shown_waited(waited: Waited) -> applications.Waited:
    """Waiting of an application for its queue's turn, with the reason."""
    waited_s = round((waited.until_ms - waited.since_ms) / 1000, 3)
    return applications.Waited(waited.since_ms, waited.until_ms, waited_s, waited.reason)


def _seconds(age_s: float | None) -> float | None:
    """An age for people and JSON, which has no infinity."""
    return None if age_s is None or age_s == float("inf") else round(age_s, 3)


def _shown_part(part: QueuePart) -> models.QueuePart:
    amounts = _shown_amounts(part.capacity, part.used, part.pending)
    return models.QueuePart(cluster=part.subcluster, state=part.state, **amounts, applications=part.applications)


def _shown_amounts(capacity: ResourceVector, used: ResourceVector, pending: ResourceVector) -> dict[str, int]:
    amounts = (("capacity", capacity), ("used", used), ("pending", pending))
    return {
        f"{name}_{unit}": value
        for name, amount in amounts
        for unit, value in (("mib", amount.memory_mib), ("vcores", amount.vcores))
    }
