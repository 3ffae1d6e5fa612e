"""Rules on the home of an application: a table, each with a reason against a sub-cluster or none."""

from collections.abc import Callable
from dataclasses import dataclass

from shim.domain.ids import SubClusterId
from shim.domain.queues import QueueReport, QueueState, SchedulerType
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, HaState, SubClusterState
from shim.domain.submissions import Submission
from shim.federation.core.subcluster_view import SubClusterView

__all__ = ["Question", "objection_to"]


@dataclass(frozen=True, slots=True)
class Question:
    """One sub-cluster and one submission.

    Attributes:
        excluded: Why it is out of the question for this choice.
        out_of_reach: Why the submission cannot be sent to it in the form in which it came.
        reserved_at: Where its reservation is; None if it has none.
    """

    submission: Submission
    subcluster: SubClusterView
    admission: Admission
    queue_name: str
    queue: QueueReport | None
    excluded: str = ""
    out_of_reach: str = ""
    reserved_at: SubClusterId | None = None


@dataclass(frozen=True, slots=True)
class _Rule:
    """A reason against a sub-cluster.

    Attributes:
        objection: The reason for people, or None.
        is_lasting: Whether the submission is to blame, so that waiting does not help.
    """

    objection: Callable[[Question], str | None]
    is_lasting: bool = False


def objection_to(question: Question) -> tuple[str, bool]:
    """The reason against a sub-cluster, if there is one, and whether it lasts: a lasting one goes before the others."""
    reasons = [(reason, rule.is_lasting) for rule in _RULES if (reason := rule.objection(question))]
    return max(reasons, key=lambda reason: reason[1], default=("", False))


def _never_told(question: Question) -> str | None:
    if question.subcluster.state is not SubClusterState.NEW:
        return None
    failure = question.subcluster.failure
    return f"has never answered ({failure})" if failure else "has not been heard of yet"


def _is_late(question: Question) -> str | None:
    if question.subcluster.state is not SubClusterState.LOST:
        return None
    return f"last seen {question.subcluster.age_s:.0f} s ago"


def _is_inactive(question: Question) -> str | None:
    if question.subcluster.state is not SubClusterState.RECOVERING:
        return None
    state = question.subcluster.ha_state or HaState.STOPPED
    return f"its ResourceManager is {state.value}"


def _fails(question: Question) -> str | None:
    return f"does not answer now ({question.subcluster.failure})" if question.subcluster.failure else None


def _is_closed(question: Question) -> str | None:
    return None if question.admission is Admission.OPEN else question.admission.value


def _is_excluded(question: Question) -> str | None:
    return question.excluded or None


def _is_out_of_reach(question: Question) -> str | None:
    return question.out_of_reach or None


def _is_reserved_elsewhere(question: Question) -> str | None:
    if question.reserved_at in (None, question.subcluster.subcluster):
        return None
    return f"its reservation is at {question.reserved_at}"


def _is_unread(question: Question) -> str | None:
    if question.subcluster.queues or question.subcluster.state is SubClusterState.NEW:
        return None
    return "its queues are not known yet"


def _lacks_queue(question: Question) -> str | None:
    if question.queue is not None or not question.subcluster.queues:
        return None
    return f"has no queue {question.queue_name}"


def _has_no_leaf(question: Question) -> str | None:
    queue = question.queue
    if queue is None or queue.is_leaf or queue.creates_children:
        return None
    if question.subcluster.scheduler == SchedulerType.FAIR and queue.path != _fair_path(question.queue_name):
        return None
    return f"queue {queue.path} is a parent"


def _fair_path(name: str) -> str:
    return name if name == "root" or name.startswith("root.") else f"root.{name}"


def _has_stopped_queue(question: Question) -> str | None:
    queue = question.queue
    return None if queue is None or queue.state is QueueState.RUNNING else f"queue {queue.state.value}"


def _has_full_queue(question: Question) -> str | None:
    queue = question.queue
    if queue is None or not 0 < queue.maximum_applications <= queue.applications:
        return None
    return f"queue {queue.path} holds its limit of {queue.maximum_applications} applications"


def _lacks_label(question: Question) -> str | None:
    label, queue = question.submission.label, question.queue
    if not label or queue is None:
        return None
    if label not in question.subcluster.labels:
        return f"has no node label {label}"
    allowed = queue.labels
    return None if label in allowed or "*" in allowed else f"queue {queue.path} may not use node label {label}"


def _exceeds_maximum(question: Question) -> str | None:
    most = question.subcluster.maximum_allocation
    if question.submission.is_unmanaged or most.memory_mib <= 0:
        return None
    needed = question.submission.resource
    return None if _fits(needed, most) else f"{_told(needed)} is above its maximum allocation of {_told(most)}"


def _exceeds_nodes(question: Question) -> str | None:
    label, needed = question.submission.label, question.submission.resource
    if question.submission.is_unmanaged:
        return None
    has_nodes = False
    for node in question.subcluster.nodes:
        if node.state == "RUNNING" and (not label or label in node.labels):
            has_nodes = True
            if _fits(needed, node.total):
                return None
    return f"no node has room for {_told(needed)}" if has_nodes else None


_RULES = (
    _Rule(_is_excluded),
    _Rule(_is_closed),
    _Rule(_never_told),
    _Rule(_is_late),
    _Rule(_is_inactive),
    _Rule(_fails),
    _Rule(_is_unread),
    _Rule(_lacks_queue, is_lasting=True),
    _Rule(_has_no_leaf, is_lasting=True),
    _Rule(_is_reserved_elsewhere, is_lasting=True),
    _Rule(_is_out_of_reach, is_lasting=True),
    _Rule(_has_stopped_queue),
    _Rule(_has_full_queue),
    _Rule(_lacks_label, is_lasting=True),
    _Rule(_exceeds_maximum, is_lasting=True),
    _Rule(_exceeds_nodes),
)


def _fits(needed: ResourceVector, room: ResourceVector) -> bool:
    """As `ResourceVector.fits_in`, but a type that the room does not tell of is not held against it."""
    known = {name: amount for name, amount in needed.others.items() if name in room.others}
    vcores = needed.vcores if room.vcores > 0 else 0
    return ResourceVector(needed.memory_mib, vcores, known).fits_in(room)


def _told(resource: ResourceVector) -> str:
    others = "".join(f", {amount} {name}" for name, amount in resource.others.items())
    return f"{resource.memory_mib} MiB and {resource.vcores} vcores{others}"
