"""Rules on the home of an application: a table, each with a reason against a sub-cluster or none.

Some reasons exclude it, for good or for a while. Others say that the ApplicationMaster would wait there, or perhaps for
ever: such a sub-cluster gets the application only where no better one is. Whoever tells people why an application is
where it is, or waits, says these sentences.

Sources: `LeafQueue.{validateSubmitApplication,activateApplications}`, `AbstractCSQueue.accept`,
`CSMaxRunningAppsEnforcer`, `UsersManager.computeUserLimit`, `FSLeafQueue.canRunAppAM`, `FSAppAttempt.assignContainer`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import cached_property

from shim.domain.ids import SubClusterId
from shim.domain.queues import PartitionReport, QueueReport, QueueState, QueueUser, SchedulerType
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, HaState, SubClusterState
from shim.domain.submissions import Submission
from shim.federation.core.federation_view import SubClusterView
from shim.federation.core.grants import (
    Bound,
    SizeLimit,
    amounts_of,
    freest_of,
    nodes_of,
    path_of,
    size_limits,
    told,
)

_MISSED = frozenset({"NEW", "UNHEALTHY", "LOST", "REBOOTED"})
"""States of nodes that may come back."""


class Effect(Enum):
    """Effect of a reason against a sub-cluster; the worse ones last."""

    WAITS = auto()
    """It is taken there, and waits until something else ends."""
    MAY_WAIT_FOR_EVER = auto()
    """It is taken there, and starts only if what is not told is favourable."""
    NOT_NOW = auto()
    """It cannot go there now."""
    NEVER = auto()
    """It can never go there as it is: the submission is to blame."""


class Voice(Enum):
    """Whoever refuses an application that can never go to a sub-cluster."""

    HOME = auto()
    """The ResourceManager, in better words than ours."""
    TOO_LARGE = auto()
    """Heddle: the ResourceManager would take it, and never start it."""
    NO_QUEUE = auto()
    """Heddle: the ResourceManager would take it, and let it fail."""


@dataclass(frozen=True, slots=True)
class HomeReason:
    """A reason against a sub-cluster: what for people, and who says so to the client where it is for good."""

    text: str
    effect: Effect
    voice: Voice | None = None
    until_one_ends: bool = False
    """Whether it stands until another application of its queue has ended."""

    @property
    def may_last(self) -> bool:
        """True if waiting there alone may not help."""
        return self.effect is not Effect.WAITS


@dataclass(frozen=True)
class Question:
    """One sub-cluster and one submission.

    Attributes:
        excluded: Why it is out of the question for this choice.
        out_of_reach: Why the submission cannot be sent to it in the form in which it came.
        reserved_at: Where its reservation is; None if it has none.
        on_way: How many applications were sent to its queue there that no report shows yet; `masters_on_way` is what
            their ApplicationMasters ask for, together.
        types_elsewhere: Resource types beside memory and virtual cores that some sub-cluster tells of.
        up_to: The largest containers that it says it will ask for; empty if it says nothing.
    """

    submission: Submission
    subcluster: SubClusterView
    admission: Admission
    queue_name: str
    queue: QueueReport | None
    excluded: str = ""
    out_of_reach: str = ""
    reserved_at: SubClusterId | None = None
    on_way: int = 0
    masters_on_way: ResourceVector = field(default_factory=ResourceVector)
    types_elsewhere: frozenset[str] = frozenset()
    up_to: ResourceVector = field(default_factory=ResourceVector)

    @property
    def label(self) -> str:
        """The node partition that its ApplicationMaster asks for: its own, else its queue's."""
        return self.submission.label or (self.queue.default_label if self.queue is not None else "")

    @cached_property
    def levels(self) -> Sequence[QueueReport]:
        """Its queue and those above it, as far as they are told."""
        return path_of(self.subcluster, self.queue)

    @cached_property
    def limits(self) -> Sequence[SizeLimit]:
        """The limits of the size of its ApplicationMaster."""
        return tuple(size_limits(self.subcluster, self.queue, self.label, self.levels))


@dataclass(frozen=True, slots=True)
class _Rule:
    """A reason against a sub-cluster.

    Attributes:
        objection: The reason for people, or None.
        has_master: Whether it is against ApplicationMasters that the sub-cluster has to start.
        keeps_waiting: Whether what is there already waits for it: an ApplicationMaster, and other containers too.
        until_one_ends: See `HomeReason`.
    """

    objection: Callable[[Question], str | None]
    effect: Effect = Effect.NOT_NOW
    has_master: bool = False
    keeps_waiting: bool = False
    other_containers: bool = False
    voice: Voice | None = None
    until_one_ends: bool = False


def reasons_against(question: Question) -> list[HomeReason]:
    """The reasons against a sub-cluster: those that last first, and of equals in the order of the rules."""
    is_managed = not question.submission.is_unmanaged
    reasons = [
        HomeReason(text, rule.effect, rule.voice, rule.until_one_ends)
        for rule in _RULES
        if (is_managed or not rule.has_master) and (text := rule.objection(question))
    ]
    return sorted(reasons, key=lambda reason: -reason.effect.value)


def reasons_to_wait(question: Question, *, is_master: bool) -> list[HomeReason]:
    """The reasons for which what a sub-cluster has taken waits there: those that last first.

    Args:
        question: Of the sub-cluster where it is.
        is_master: Whether its ApplicationMaster waits, or another container of it.
    """
    reasons = [
        HomeReason(text, rule.effect, rule.voice)
        for rule in _RULES
        if rule.keeps_waiting and (is_master or rule.other_containers) and (text := rule.objection(question))
    ]
    return sorted(reasons, key=lambda reason: -reason.effect.value)


def _never_told(question: Question) -> str | None:
    if question.subcluster.state is not SubClusterState.NEW:
        return None
    failure = question.subcluster.failure
    return f"has never answered ({failure})" if failure else "has not reported yet"


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
    stopped = next((level for level in question.levels if level.state is not QueueState.RUNNING), None)
    if stopped is None:
        return None
    return (
        f"queue {stopped.state.value}" if stopped is question.queue else f"queue {stopped.path} {stopped.state.value}"
    )


def _has_full_queue(question: Question) -> str | None:
    if question.subcluster.scheduler == SchedulerType.FAIR:
        return None  # what is over the limit waits there
    for queue in question.levels:
        if 0 < queue.maximum_applications <= queue.applications:
            return f"queue {queue.path} holds its limit of {queue.maximum_applications} applications"
    return None


def _has_full_user(question: Question) -> str | None:
    queue, user = question.queue, _user_of(question)
    if queue is None or user is None or not 0 < queue.maximum_applications_of_user <= user.applications:
        return None
    most = queue.maximum_applications_of_user
    return f"user {user.name} has the limit of {most} applications in queue {queue.path}"


def _runs_nothing(question: Question) -> str | None:
    closed = next((level for level in question.levels if level.most_running == 0), None)
    return None if closed is None else f"queue {closed.path} runs no application at all (its limit is 0)"


def _lacks_label(question: Question) -> str | None:
    label, queue = question.label, question.queue
    if not label or queue is None:
        return None
    if label not in question.subcluster.labels:
        return f"has no node label {label}"
    allowed = queue.labels
    return None if label in allowed or "*" in allowed else f"queue {queue.path} may not use node label {label}"


def _above(bound: Bound) -> Callable[[Question], str | None]:
    def objection(question: Question) -> str | None:
        needed = question.submission.resource
        limit = next((each for each in question.limits if each.bound is bound and each.is_above(needed)), None)
        return None if limit is None else f"{told(needed)} is above {limit.whose}"

    return objection


def _above_for_now(question: Question) -> str | None:
    """A queue's part of a cluster grows when nodes come back."""
    above = _above(Bound.NEVER)(question)
    return above if above and _misses_nodes(question.subcluster) else None


def _above_for_good(question: Question) -> str | None:
    above = _above(Bound.NEVER)(question)
    return None if above and _misses_nodes(question.subcluster) else above


def _misses_nodes(seen: SubClusterView) -> bool:
    return seen.awaits_nodes or seen.capacity.memory_mib <= 0 or any(node.state in _MISSED for node in seen.nodes)


def _grants_less_than_is_said(question: Question) -> str | None:
    if question.up_to == ResourceVector():
        return None
    wanted, lacked = as_called_there(question)
    if lacked:
        return f"it does not tell of resource type {lacked}, of which containers will have {wanted.others[lacked]}"
    limits = size_limits(question.subcluster, question.queue, "", question.levels)
    limit = next((each for each in limits if each.bound is Bound.REFUSED and each.is_above(wanted)), None)
    return None if limit is None else f"containers of up to {_said(wanted)} are above {limit.whose}"


def as_called_there(question: Question) -> tuple[ResourceVector, str]:
    """What containers will have, its types spelt as they are (clients write tags small), and one that is not there."""
    known = types_told(question.subcluster)
    spelling = {name.lower(): name for name in (*question.types_elsewhere, *known)}
    others = {spelling.get(name, name): amount for name, amount in question.up_to.others.items()}
    lacked = next((name for name, amount in others.items() if amount > 0 and name not in known), "")
    return replace(question.up_to, others=others), lacked


def _said(amount: ResourceVector) -> str:
    return f"{amount.memory_mib} MiB" if amount == ResourceVector(amount.memory_mib) else told(amount)


def _exceeds_nodes(question: Question) -> str | None:
    needed, nodes = question.submission.resource, nodes_of(question.subcluster, question.label)
    if not nodes or any(_fits(needed, node.total) for node in nodes):
        return None
    return f"no node has room for {told(needed)}"


def _has_no_node(question: Question) -> str | None:
    label = question.label
    if nodes_of(question.subcluster, label) or not any(node.state == "RUNNING" for node in question.subcluster.nodes):
        return None  # without any node it is the last resort
    return f"no node of partition {label} is RUNNING" if label else "every RUNNING node belongs to a node label"


def _lacks_type(question: Question) -> str | None:
    """Against a type that it does not tell of where another does; a type that nobody tells of is nobody's."""
    known = types_told(question.subcluster)
    for name, amount in question.submission.resource.others.items():
        if amount > 0 and name not in known and name in question.types_elsewhere:
            return f"it does not tell of resource type {name}"
    return None


def types_told(seen: SubClusterView) -> frozenset[str]:
    """Resource types beside memory and virtual cores that a sub-cluster tells of."""
    nodes = (node.total.others for node in seen.nodes[:1])
    return frozenset(seen.maximum_allocation.others) | frozenset(seen.capacity.others).union(*nodes)


# ---------------------------------------------------------------------- what would wait


def _has_no_free_node(question: Question) -> str | None:
    needed, nodes, queue = question.submission.resource, nodes_of(question.subcluster, question.label), question.queue
    freest = freest_of(question.subcluster, question.label)
    counted = ResourceVector(needed.memory_mib) if queue is not None and queue.counts_all is False else needed
    is_full = freest is not None and not _fits(counted, freest)
    if not nodes or (not is_full and any(_fits(counted, node.total - node.used) for node in nodes)):
        return None
    return f"no node has {told(needed)} free"


def _fills_queue(question: Question) -> str | None:
    needed = question.submission.resource
    for level in question.levels:
        part = level.in_partition(question.label)
        if part.maximum is None or part.maximum.memory_mib <= 0:
            continue
        wanted = part.used + needed + question.masters_on_way
        if not _fits_counted(level, wanted, part.maximum):
            return f"queue {level.path} holds {told(part.used)} of the {told(part.maximum)} that it may hold"
    return None


def _fills_share_of_masters(question: Question) -> str | None:
    """In a capacity scheduler, where none runs, one starts however large it is; in a fair one it does not."""
    queue, part = question.queue, _part_of(question)
    if queue is None or part is None or part.masters.memory_mib <= 0:
        return None
    held = part.masters_used + question.masters_on_way
    is_first = held.memory_mib <= 0 and held.vcores <= 0
    if is_first and question.subcluster.scheduler != SchedulerType.FAIR:
        return None
    if _is_within_share(question, queue, held + question.submission.resource, part.masters):
        return None
    return f"ApplicationMasters hold {told(held)} of their share of queue {queue.path}, {told(part.masters)}"


def _fills_share_of_masters_alone(question: Question) -> str | None:
    queue, part = question.queue, _part_of(question)
    if queue is None or part is None or part.masters.memory_mib <= 0 or not _fills_share_of_masters(question):
        return None
    needed = question.submission.resource
    if _is_within_share(question, queue, needed, part.masters):
        return None
    return f"{told(needed)} is above the share of ApplicationMasters in queue {queue.path}, {told(part.masters)}"


def _fills_users_share_of_masters(question: Question) -> str | None:
    queue, part, user = question.queue, _part_of(question), _user_of(question)
    if queue is None or part is None or queue.masters_of_user.memory_mib <= 0 or user is None:
        return None
    if part.masters_used.memory_mib <= 0 or user.masters_used.memory_mib <= 0:
        return None
    if _is_within_share(question, queue, user.masters_used + question.submission.resource, queue.masters_of_user):
        return None
    share = f"one user's share of queue {queue.path}, {told(queue.masters_of_user)}"
    return f"ApplicationMasters of {user.name} hold {told(user.masters_used)} of {share}"


def _exceeds_users_limit(question: Question) -> str | None:
    """A user is given containers as long as no more than the limit is held, whatever the next one takes."""
    queue, user = question.queue, _user_of(question)
    if queue is None or user is None or user.most.memory_mib <= 0 or _fits_counted(queue, user.used, user.most):
        return None
    return f"user {user.name} holds {told(user.used)} in queue {queue.path}, above the limit of {told(user.most)}"


def _runs_its_most(question: Question) -> str | None:
    for level in question.levels:
        if level.most_running is None:
            continue
        count = level.applications if level.is_leaf else max(level.applications, _applications_below(question, level))
        if count + question.on_way >= level.most_running:
            return f"queue {level.path} runs {count} of {level.most_running} applications at most"
    return None


def _applications_below(question: Question, level: QueueReport) -> int:
    below = f"{level.path}."
    queues = question.subcluster.queues.values()
    return sum(queue.applications for queue in queues if queue.is_leaf and queue.path.startswith(below))


def _part_of(question: Question) -> PartitionReport | None:
    return None if question.queue is None else question.queue.in_partition(question.label)


def _user_of(question: Question) -> QueueUser | None:
    users = () if question.queue is None else question.queue.users
    return next((user for user in users if user.name == question.submission.user), None)


def _is_within_share(question: Question, queue: QueueReport, wanted: ResourceVector, share: ResourceVector) -> bool:
    """By memory; where every type counts, by the largest part of the cluster, and in a fair scheduler by each."""
    if question.subcluster.scheduler == SchedulerType.FAIR:
        return _fits_counted(queue, wanted, share)
    whole = question.subcluster.capacity
    if not queue.counts_all or whole.memory_mib <= 0:
        return wanted.memory_mib <= share.memory_mib
    return wanted.dominant_share_of(whole) <= share.dominant_share_of(whole)


def _fits_counted(queue: QueueReport, wanted: ResourceVector, room: ResourceVector) -> bool:
    if queue.counts_all is False:
        return wanted.memory_mib <= room.memory_mib
    amounts = amounts_of(room)
    return all(amount <= amounts[name] for name, amount in amounts_of(wanted).items() if name in amounts)


_RULES = (
    _Rule(_is_excluded),
    _Rule(_is_closed),
    _Rule(_never_told),
    _Rule(_is_late),
    _Rule(_is_inactive),
    _Rule(_fails),
    _Rule(_is_unread),
    _Rule(_lacks_queue, Effect.NEVER, voice=Voice.NO_QUEUE),
    _Rule(_has_no_leaf, Effect.NEVER, voice=Voice.NO_QUEUE),
    _Rule(_is_reserved_elsewhere, Effect.NEVER),
    _Rule(_is_out_of_reach, Effect.NEVER),
    _Rule(_has_stopped_queue),
    _Rule(_has_full_queue),
    _Rule(_has_full_user),
    _Rule(_runs_nothing, Effect.NEVER, voice=Voice.NO_QUEUE, keeps_waiting=True),
    _Rule(_lacks_label, Effect.NEVER, voice=Voice.HOME),
    _Rule(_above(Bound.REFUSED), Effect.NEVER, has_master=True, voice=Voice.HOME),
    _Rule(_grants_less_than_is_said, Effect.NEVER, voice=Voice.TOO_LARGE),
    _Rule(
        _above_for_good, Effect.NEVER, has_master=True, voice=Voice.TOO_LARGE, keeps_waiting=True, other_containers=True
    ),
    _Rule(_above_for_now, has_master=True, keeps_waiting=True, other_containers=True),
    _Rule(_exceeds_nodes, has_master=True, keeps_waiting=True, other_containers=True),
    _Rule(_above(Bound.UNSURE), Effect.MAY_WAIT_FOR_EVER, has_master=True, keeps_waiting=True, other_containers=True),
    _Rule(_has_no_node, Effect.MAY_WAIT_FOR_EVER, has_master=True, keeps_waiting=True, other_containers=True),
    _Rule(_lacks_type, Effect.MAY_WAIT_FOR_EVER, has_master=True),
    _Rule(_fills_share_of_masters_alone, Effect.MAY_WAIT_FOR_EVER, has_master=True, keeps_waiting=True),
    _Rule(_fills_queue, Effect.WAITS, has_master=True, keeps_waiting=True, other_containers=True),
    _Rule(_fills_share_of_masters, Effect.WAITS, has_master=True, keeps_waiting=True, until_one_ends=True),
    _Rule(_fills_users_share_of_masters, Effect.WAITS, has_master=True, keeps_waiting=True, until_one_ends=True),
    _Rule(_exceeds_users_limit, Effect.WAITS, has_master=True, keeps_waiting=True, other_containers=True),
    _Rule(_runs_its_most, Effect.WAITS, keeps_waiting=True, until_one_ends=True),
    _Rule(_has_no_free_node, Effect.WAITS, has_master=True, keeps_waiting=True, other_containers=True),
)


def _fits(needed: ResourceVector, room: ResourceVector) -> bool:
    """As `ResourceVector.fits_in`, but a type that the room does not tell of is not held against it."""
    known = {name: amount for name, amount in needed.others.items() if name in room.others}
    return ResourceVector(needed.memory_mib, needed.vcores, known).fits_in(room)
