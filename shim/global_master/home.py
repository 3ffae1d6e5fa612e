"""The choice of the home sub-cluster of an application.

First who may have it at all: a table of rules, each of which gives a reason against a sub-cluster or none. Then who is
best: the mean of the free share of the queue and of the whole sub-cluster there, counting what waits there and what was
sent since the last report. Equal scores go to the sub-cluster that is configured first, so that the choice can be
repeated.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from shim.domain.ids import SubClusterId
from shim.domain.queues import QueueReport, QueueState
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, HaState, SubClusterState
from shim.domain.submissions import Candidate, HomeDecision, Submission
from shim.global_master.federation_view import FederationView
from shim.global_master.subcluster_view import SubClusterView

__all__ = ["HomeSettings", "choose_home", "find_queue", "next_best"]

_LAST_RESORT = -1000.0
"""Added to the score of a sub-cluster without a running node: it keeps an application waiting, as a ResourceManager
without nodes does, and gets one only if no other may have it."""


@dataclass(frozen=True, slots=True)
class HomeSettings:
    """How homes are chosen.

    Attributes:
        default_queue: For submissions that name none, as YARN's.
        queue_weight: How much the queue's free share counts against the sub-cluster's, from 0 to 1.
        name_at: What a sub-cluster calls a queue.
    """

    default_queue: str = "default"
    queue_weight: float = 0.5
    name_at: Callable[[SubClusterId, str], str] = lambda _, queue: queue


@dataclass(frozen=True, slots=True)
class _Question:
    """One sub-cluster and one submission."""

    submission: Submission
    subcluster: SubClusterView
    admission: Admission
    queue_name: str
    queue: QueueReport | None
    excluded: str


@dataclass(frozen=True, slots=True)
class _Rule:
    """A reason against a sub-cluster.

    Attributes:
        objection: The reason for people, or None.
        is_lasting: Whether the submission is to blame, so that waiting does not help.
    """

    objection: Callable[[_Question], str | None]
    is_lasting: bool = False


def choose_home(
    submission: Submission,
    view: FederationView,
    admissions: Mapping[SubClusterId, Admission],
    now_s: float,
    settings: HomeSettings | None = None,
    *,
    excluded: Mapping[SubClusterId, str] | None = None,
) -> HomeDecision:
    """Choose the sub-cluster that an application will run on, and say why.

    The caller tells the view at once (`FederationView.note_placed`), before it lets others run: so submissions between
    two polls spread.

    Args:
        submission: What was asked for.
        view: What is known of the sub-clusters.
        admissions: Operators' words; a sub-cluster that is not in here is OPEN.
        now_s: Seconds since the epoch.
        settings: How to choose.
        excluded: Sub-clusters that are out of the question, with the reason: those that rejected it before.
    """
    settings, excluded = settings or HomeSettings(), excluded or {}
    asked = submission.queue or settings.default_queue
    candidates: list[Candidate] = []
    is_lasting = True
    for subcluster in view.subclusters:
        seen = view.look(subcluster, now_s)
        admission = admissions.get(subcluster, Admission.OPEN)
        queue_name = settings.name_at(subcluster, asked)
        queue = find_queue(seen, queue_name)
        question = _Question(submission, seen, admission, queue_name, queue, excluded.get(subcluster, ""))
        objection, lasts = _objection(question)
        is_lasting = is_lasting and lasts
        candidates.append(_refused(seen, objection) if objection else _weighed(question, settings))
    return _decide(submission, asked, tuple(candidates), is_lasting=is_lasting)


def next_best(decision: HomeDecision) -> float | None:
    """The score that the home has to keep to stay the best: that of the second; None if it is the only one."""
    others = (each.score for each in decision.candidates if each.subcluster != decision.home_subcluster)
    return max((score for score in others if score is not None), default=None)


def find_queue(subcluster: SubClusterView, name: str) -> QueueReport | None:
    """The queue that a submission's queue name means there, by the rules of that scheduler.

    A capacity scheduler takes a full path or the name of a leaf; a fair scheduler reads `x` as `root.x` and makes the
    queues that it lacks; a fifo scheduler has one queue for everything. A queue that would be made is reported as its
    nearest existing parent.
    """
    if subcluster.scheduler == "fifoScheduler":
        return next(iter(subcluster.queues.values()), None)
    exact = subcluster.queues.get(name)
    if exact is not None:
        return exact
    short = [queue for path, queue in subcluster.queues.items() if path.rpartition(".")[2] == name]
    leaves = [queue for queue in short if queue.is_leaf]
    if subcluster.scheduler == "fairScheduler":
        full = name if name.startswith("root.") else f"root.{name}"
        return subcluster.queues.get(full) or _nearest_parent(subcluster, full)
    if short:
        return (leaves or short)[0]
    parent = subcluster.queues.get(name.rpartition(".")[0])
    return parent if parent is not None and parent.creates_children else None


def _nearest_parent(subcluster: SubClusterView, path: str) -> QueueReport | None:
    while path:
        path = path.rpartition(".")[0]
        if path in subcluster.queues:
            return subcluster.queues[path]
    return None


# ---------------------------------------------------------------------- who may have it


def _objection(question: _Question) -> tuple[str, bool]:
    """The reason against a sub-cluster, if there is one, and whether it lasts: a lasting one goes before the others."""
    reasons = [(reason, rule.is_lasting) for rule in _RULES if (reason := rule.objection(question))]
    return max(reasons, key=lambda reason: reason[1], default=("", False))


def _never_told(question: _Question) -> str | None:
    if question.subcluster.state is not SubClusterState.NEW:
        return None
    failure = question.subcluster.failure
    return f"has never answered ({failure})" if failure else "has not been heard of yet"


def _is_late(question: _Question) -> str | None:
    if question.subcluster.state is not SubClusterState.LOST:
        return None
    return f"last seen {question.subcluster.age_s:.0f} s ago"


def _is_inactive(question: _Question) -> str | None:
    if question.subcluster.state is not SubClusterState.RECOVERING:
        return None
    state = question.subcluster.ha_state or HaState.STOPPED
    return f"its ResourceManager is {state.value}"


def _fails(question: _Question) -> str | None:
    return f"does not answer now ({question.subcluster.failure})" if question.subcluster.failure else None


def _is_closed(question: _Question) -> str | None:
    return None if question.admission is Admission.OPEN else question.admission.value


def _is_excluded(question: _Question) -> str | None:
    return question.excluded or None


def _is_unread(question: _Question) -> str | None:
    if question.subcluster.queues or question.subcluster.state is SubClusterState.NEW:
        return None
    return "its queues are not known yet"


def _lacks_queue(question: _Question) -> str | None:
    if question.queue is not None or not question.subcluster.queues:
        return None
    return f"has no queue {question.queue_name}"


def _has_no_leaf(question: _Question) -> str | None:
    queue = question.queue
    if queue is None or queue.is_leaf or queue.creates_children:
        return None
    if question.subcluster.scheduler == "fairScheduler" and queue.path != _fair_path(question.queue_name):
        return None
    return f"queue {queue.path} is a parent"


def _fair_path(name: str) -> str:
    return name if name == "root" or name.startswith("root.") else f"root.{name}"


def _has_stopped_queue(question: _Question) -> str | None:
    queue = question.queue
    return None if queue is None or queue.state is QueueState.RUNNING else f"queue {queue.state.value}"


def _has_full_queue(question: _Question) -> str | None:
    queue = question.queue
    if queue is None or not 0 < queue.maximum_applications <= queue.applications:
        return None
    return f"queue {queue.path} holds its limit of {queue.maximum_applications} applications"


def _lacks_label(question: _Question) -> str | None:
    label, queue = question.submission.label, question.queue
    if not label or queue is None:
        return None
    if label not in question.subcluster.labels:
        return f"has no node label {label}"
    allowed = queue.labels
    return None if label in allowed or "*" in allowed else f"queue {queue.path} may not use node label {label}"


def _exceeds_maximum(question: _Question) -> str | None:
    most = question.subcluster.maximum_allocation
    if question.submission.is_unmanaged or most.memory_mib <= 0:
        return None
    needed = question.submission.resource
    return None if _fits(needed, most) else f"{_told(needed)} is above its maximum allocation of {_told(most)}"


def _exceeds_nodes(question: _Question) -> str | None:
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


# ---------------------------------------------------------------------- who is best


def _weighed(question: _Question, settings: HomeSettings) -> Candidate:
    seen, queue = question.subcluster, question.queue
    on_way = _on_way(seen, settings)
    waiting = _sum(report.pending for report in seen.queues.values() if report.is_leaf)
    cluster_free = _free_share(seen.used + waiting + on_way, seen.capacity)
    queue_free = cluster_free
    if queue is not None:
        guaranteed = queue.capacity if queue.capacity.memory_mib > 0 else queue.maximum
        queue_free = _free_share(queue.used + queue.pending + _on_way(seen, settings, queue), guaranteed)
    score = settings.queue_weight * queue_free + (1 - settings.queue_weight) * cluster_free
    reason = f"queue {queue_free:.0%} free, cluster {cluster_free:.0%} free"
    if seen.placements:
        reason += f", {sum(seen.placements.values())} on the way"
    if not any(node.state == "RUNNING" for node in seen.nodes):
        score, reason = _LAST_RESORT, "no node is RUNNING: it would wait there"
    return Candidate(seen.subcluster, score, reason, seen.age_s)


def _on_way(seen: SubClusterView, settings: HomeSettings, queue: QueueReport | None = None) -> ResourceVector:
    """What the placements that no report shows will take: as much as an application there takes on average."""
    meant = {
        name
        for name in {kind[0] for kind in seen.placements}
        if queue is None or find_queue(seen, name or settings.default_queue) == queue
    }
    share = 1 / seen.running if seen.running else 0.0
    mean = ResourceVector(int(seen.used.memory_mib * share), int(seen.used.vcores * share))
    return _sum(
        ResourceVector(max(memory_mib, mean.memory_mib) * count, max(vcores, mean.vcores) * count)
        for (name, memory_mib, vcores), count in seen.placements.items()
        if name in meant
    )


def _free_share(load: ResourceVector, capacity: ResourceVector) -> float:
    """1 for idle, 0 for full, below 0 by how many times over it is asked for; 0 where there is nothing."""
    return 1.0 - load.dominant_share_of(capacity) if capacity.memory_mib > 0 else 0.0


def _sum(vectors: Iterable[ResourceVector]) -> ResourceVector:
    memory = vcores = 0
    for vector in vectors:
        memory, vcores = memory + vector.memory_mib, vcores + vector.vcores
    return ResourceVector(memory, vcores)


# ---------------------------------------------------------------------- what is said


def _refused(seen: SubClusterView, reason: str) -> Candidate:
    return Candidate(seen.subcluster, None, reason, seen.age_s)


def _decide(
    submission: Submission, queue_name: str, candidates: tuple[Candidate, ...], *, is_lasting: bool
) -> HomeDecision:
    eligible = [candidate for candidate in candidates if candidate.score is not None]
    if not eligible:
        each = ", ".join(f"{candidate.subcluster} {candidate.reason}" for candidate in candidates)
        hint = "Correct the submission." if is_lasting else "Try again, or another queue."
        reason = f"No cluster can take {submission.application_id} in queue {queue_name}: {each}. {hint}"
        return HomeDecision(None, reason, candidates, is_lasting=is_lasting)
    best = max(eligible, key=lambda candidate: candidate.score or 0.0)
    praise = f"was the best of {len(eligible)}" if len(eligible) > 1 else "was the only one possible"
    return HomeDecision(best.subcluster, f"{best.subcluster} ({best.reason}) {praise}", candidates)


def _told(resource: ResourceVector) -> str:
    others = "".join(f", {amount} {name}" for name, amount in resource.others.items())
    return f"{resource.memory_mib} MiB and {resource.vcores} vcores{others}"
