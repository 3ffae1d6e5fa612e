"""The answer of `/scheduler`, read as queues: capacity, fair and fifo schedulers.

Sources: `org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.{CapacitySchedulerInfo,CapacitySchedulerQueueInfo,
FairSchedulerInfo,FairSchedulerQueueInfo,FifoSchedulerInfo}`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import msgspec

from shim.domain.queues import PartitionReport, QueueReport, QueueState, QueueUser, SchedulerType
from shim.domain.resources import ResourceVector
from shim.errors import RemoteProtocolError
from shim.protocol.wire_values import (
    WireNumber,
    WireResource,
    decode,
    number,
    several,
    vector,
    whole,
    without_nulls,
)

_UNLIMITED = 2**31 - 1
_PERCENT = 100.0
_MOST_LEVELS = 32
_FAIR_ORDER = "fair"
"""In `orderingPolicyInfo`, which is the name of the policy (`fair`) or of its class (`FairOrderingPolicy`)."""
_FIFO_POLICY = "fifo"
"""The one `schedulingPolicy` of a FairScheduler that orders by arrival (`FifoPolicy.NAME`)."""
_Q = TypeVar("_Q")
_Told = TypeVar("_Told", bound="_CapacityQueue | _FairQueue")


@dataclass(frozen=True, slots=True)
class SchedulerDocument:
    """Content of `/scheduler`.

    Attributes:
        kind: `capacityScheduler`, `fairScheduler` or `fifoScheduler`.
        queues: Every queue, parents before children.
        maximum_allocation: Largest container by configuration; empty where the version does not tell.
    """

    kind: str
    queues: tuple[QueueReport, ...]
    maximum_allocation: ResourceVector


class _Usage(msgspec.Struct):
    partitionName: str = ""  # noqa: N815 - Hadoop's name
    used: WireResource | None = None
    pending: WireResource | None = None
    amUsed: WireResource | None = None  # noqa: N815 - Hadoop's name
    amLimit: WireResource | None = None  # noqa: N815 - Hadoop's name


class _Usages(msgspec.Struct):
    resourceUsagesByPartition: list[_Usage] | _Usage | None = None  # noqa: N815 - Hadoop's name


class _Partition(msgspec.Struct):
    partitionName: str = ""  # noqa: N815 - Hadoop's name
    absoluteMaxCapacity: float | str | None = None  # noqa: N815 - Hadoop's name
    maxAMLimitPercentage: float | str | None = None  # noqa: N815 - Hadoop's name
    effectiveMaxResource: WireResource | None = None  # noqa: N815 - Hadoop's name


class _Partitions(msgspec.Struct):
    queueCapacitiesByPartition: list[_Partition] | _Partition | None = None  # noqa: N815 - Hadoop's name


class _User(msgspec.Struct):
    username: str = ""
    numActiveApplications: WireNumber = 0  # noqa: N815 - Hadoop's name
    numPendingApplications: WireNumber = 0  # noqa: N815 - Hadoop's name
    resourcesUsed: WireResource | None = None  # noqa: N815 - Hadoop's name
    userResourceLimit: WireResource | None = None  # noqa: N815 - Hadoop's name
    AMResourceUsed: WireResource | None = None


class _Users(msgspec.Struct):
    user: list[_User] | _User | None = None


class _CapacityQueues(msgspec.Struct):
    queue: "list[_CapacityQueue] | _CapacityQueue | None" = None


class _CapacityQueue(msgspec.Struct):
    queueName: str = ""  # noqa: N815 - Hadoop's name
    type: str = ""
    queueType: str = ""  # noqa: N815 - Hadoop's name
    state: str = "RUNNING"
    absoluteCapacity: WireNumber = 0.0  # noqa: N815 - Hadoop's name
    absoluteMaxCapacity: WireNumber = 100.0  # noqa: N815 - Hadoop's name
    numApplications: WireNumber = 0  # noqa: N815 - Hadoop's name
    numPendingApplications: WireNumber = 0  # noqa: N815 - Hadoop's name
    maxApplications: WireNumber = 0  # noqa: N815 - Hadoop's name
    pendingContainers: WireNumber = 0  # noqa: N815 - Hadoop's name
    resourcesUsed: WireResource | None = None  # noqa: N815 - Hadoop's name
    resources: _Usages | None = None
    minEffectiveCapacity: WireResource | None = None  # noqa: N815 - Hadoop's name
    maxEffectiveCapacity: WireResource | None = None  # noqa: N815 - Hadoop's name
    maximumAllocation: WireResource | None = None  # noqa: N815 - Hadoop's name
    nodeLabels: list[str] | str | None = None  # noqa: N815 - Hadoop's name
    defaultNodeLabelExpression: str | None = None  # noqa: N815 - Hadoop's name
    capacities: _Partitions | Literal[""] | None = None
    maxParallelApps: WireNumber = None  # noqa: N815 - Hadoop's name
    maxApplicationsPerUser: WireNumber = 0  # noqa: N815 - Hadoop's name
    users: _Users | Literal[""] | None = None
    AMResourceLimit: WireResource | None = None
    usedAMResource: WireResource | None = None  # noqa: N815 - Hadoop's name
    userAMResourceLimit: WireResource | None = None  # noqa: N815 - Hadoop's name
    orderingPolicyInfo: str = ""  # noqa: N815 - Hadoop's name
    autoCreateChildQueueEnabled: bool = False  # noqa: N815 - Hadoop's name
    autoCreationEligibility: str = "off"  # noqa: N815 - Hadoop's name
    queues: _CapacityQueues | Literal[""] | None = None


class _FairQueues(msgspec.Struct):
    queue: "list[_FairQueue] | _FairQueue | None" = None


class _FairQueue(msgspec.Struct):
    queueName: str = ""  # noqa: N815 - Hadoop's name
    type: str = ""
    maxApps: WireNumber = None  # noqa: N815 - Hadoop's name
    numPendingApps: WireNumber = 0  # noqa: N815 - Hadoop's name
    numActiveApps: WireNumber = 0  # noqa: N815 - Hadoop's name
    pendingContainers: WireNumber = 0  # noqa: N815 - Hadoop's name
    schedulingPolicy: str = ""  # noqa: N815 - Hadoop's name
    maxResources: WireResource | None = None  # noqa: N815 - Hadoop's name
    usedResources: WireResource | None = None  # noqa: N815 - Hadoop's name
    demandResources: WireResource | None = None  # noqa: N815 - Hadoop's name
    steadyFairResources: WireResource | None = None  # noqa: N815 - Hadoop's name
    fairResources: WireResource | None = None  # noqa: N815 - Hadoop's name
    maxContainerAllocation: WireResource | None = None  # noqa: N815 - Hadoop's name
    amMaxResources: WireResource | None = None  # noqa: N815 - Hadoop's name
    amUsedResources: WireResource | None = None  # noqa: N815 - Hadoop's name
    childQueues: "_FairQueues | list[_FairQueue] | Literal[''] | None" = None  # noqa: N815 - Hadoop's name


class _Fair(msgspec.Struct):
    rootQueue: _FairQueue  # noqa: N815 - Hadoop's name


class _Fifo(msgspec.Struct):
    qstate: str = "RUNNING"
    usedNodeCapacity: WireNumber = 0  # noqa: N815 - Hadoop's name
    totalNodeCapacity: WireNumber = 0  # noqa: N815 - Hadoop's name
    maxQueueMemoryCapacity: WireNumber = 0  # noqa: N815 - Hadoop's name


class _Kind(msgspec.Struct):
    type: str = ""


class _SchedulerInfo(msgspec.Struct):
    schedulerInfo: msgspec.Raw  # noqa: N815 - Hadoop's name


class _SchedulerAnswer(msgspec.Struct):
    scheduler: _SchedulerInfo


_ANSWER = msgspec.json.Decoder(_SchedulerAnswer)
_ANY = msgspec.json.Decoder()
_MOST_ODD = 512 * 1024
"""Bytes of a tree of which some queue cannot be read, so that each is looked at by itself: that takes its time."""
_KIND = msgspec.json.Decoder(_Kind)
_CAPACITY = msgspec.json.Decoder(_CapacityQueue, strict=False)
_FAIR = msgspec.json.Decoder(_Fair, strict=False)
_FIFO = msgspec.json.Decoder(_Fifo, strict=False)


def read_scheduler(raw: bytes, total: ResourceVector) -> SchedulerDocument:
    """Read the answer of `/scheduler`; raises as `open_scheduler`."""
    kind, (_, queues), maximum_allocation = open_scheduler(raw, total)
    return SchedulerDocument(kind, tuple(queues), maximum_allocation)


def open_scheduler(raw: bytes, total: ResourceVector) -> tuple[str, tuple[int, Iterator[QueueReport]], ResourceVector]:
    """What a `SchedulerDocument` has; of the queues their number, and each is read when it is asked for.

    Args:
        total: Resources of the whole sub-cluster: what percentages are of, where a version tells nothing else.

    Raises:
        RemoteProtocolError: If it has another form, is of a scheduler that has no web document, or has queues below
            more than 32 others.
    """
    info = decode(_ANSWER, raw, "scheduler").scheduler.schedulerInfo
    kind = decode(_KIND, info, "scheduler").type
    read = _READERS.get(kind)
    if read is None:
        raise RemoteProtocolError(f"the scheduler document is of an unknown kind {kind[:60]!r}")
    queues, maximum_allocation = read(info, total)
    return kind, queues, maximum_allocation


_Read = tuple[tuple[int, Iterator[QueueReport]], ResourceVector]


def _tree(
    decoder: "msgspec.json.Decoder[_Q]", raw: msgspec.Raw, form: type[Any], below: str, *, within: str = ""
) -> tuple[_Q, int]:
    """The root of a tree of queues, and how many queues of it cannot be read: each costs itself and those below it.

    Raises:
        RemoteProtocolError: If the root cannot be read, the tree is too deep, or it is large and some queue is odd.
    """
    try:
        return decoder.decode(raw), 0
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        if memoryview(raw).nbytes > _MOST_ODD:
            raise RemoteProtocolError(f"the scheduler document is large, and not readable: {exc}") from exc
        whole_tree = decode(_ANY, raw, "scheduler")
    told = without_nulls(whole_tree)
    root, lost = _pruned(told.get(within) if within and isinstance(told, dict) else told, form, below, _MOST_LEVELS)
    if root is None:
        raise RemoteProtocolError("the scheduler document has a root that is not readable")
    return msgspec.convert({within: root} if within else root, decoder.type, strict=False), lost


def _pruned(queue: Any, form: type[Any], below: str, levels: int) -> tuple[dict[str, Any] | None, int]:
    """A queue without what is below it that cannot be read, and how many queues that are; None if it cannot itself."""
    if not levels:
        raise RemoteProtocolError(f"the scheduler document has more than {_MOST_LEVELS} levels of queues")
    if not isinstance(queue, dict):
        return None, 1
    holder = queue.get(below)
    listed = holder.get("queue") if isinstance(holder, dict) else holder
    children = several(listed) if isinstance(listed, list | dict) else []
    alone = {name: value for name, value in queue.items() if name != below}
    try:
        msgspec.convert(alone, form, strict=False)
    except msgspec.ValidationError:
        return None, 1 + len(children)
    found = [_pruned(child, form, below, levels - 1) for child in children]
    kept = [child for child, _ in found if child is not None]
    return alone | ({below: {"queue": kept}} if children else {}), sum(lost for _, lost in found)


def _read_capacity(info: msgspec.Raw, total: ResourceVector) -> _Read:
    root, lost = _tree(_CAPACITY, info, _CapacityQueue, "queues")
    count = lost + _count(root, _below_capacity)
    own = vector(root.maximumAllocation)
    return (
        count,
        _walk_capacity(root, "", total, counts_all=_counts_all(root)),
    ), own if own.memory_mib > 0 else _largest_allocation(root)


def _below_capacity(queue: _CapacityQueue) -> list[_CapacityQueue]:
    return several(queue.queues.queue) if isinstance(queue.queues, _CapacityQueues) else []


def _named(queues: list[_Told]) -> Iterator[_Told]:
    return (queue for queue in queues if queue.queueName)


def _count(root: _Q, below: Callable[[_Q], list[_Q]]) -> int:
    """Queues of a tree, level by level: a walk goes as deep into the stack as the tree is."""
    level, count = [root], 0
    for _ in range(_MOST_LEVELS):
        count += len(level)
        level = [child for queue in level for child in below(queue)]
        if not level:
            return count
    raise RemoteProtocolError(f"the scheduler document has more than {_MOST_LEVELS} levels of queues")


def _walk_capacity(
    queue: _CapacityQueue, parent: str, total: ResourceVector, *, counts_all: bool | None
) -> Iterator[QueueReport]:
    name = queue.queueName.rpartition(".")[2] or "root"
    path = f"{parent}.{name}" if parent else name
    children = _below_capacity(queue)
    usages = several(queue.resources.resourceUsagesByPartition) if queue.resources else []
    used = _sum(usage.used for usage in usages) if usages else vector(queue.resourcesUsed)
    yield QueueReport(
        path=path,
        state=_queue_state(queue.state),
        is_leaf=_is_capacity_leaf(queue, children),
        capacity=_effective(queue.minEffectiveCapacity, queue.absoluteCapacity, total) if parent else total,
        maximum=_effective(queue.maxEffectiveCapacity, queue.absoluteMaxCapacity, total) if parent else total,
        used=used,
        pending=_sum(usage.pending for usage in usages),
        pending_containers=whole(queue.pendingContainers),
        labels=tuple(several(queue.nodeLabels)),
        applications=whole(queue.numApplications),
        waiting_applications=whole(queue.numPendingApplications),
        maximum_applications=whole(queue.maxApplications),
        creates_children=queue.autoCreateChildQueueEnabled or queue.autoCreationEligibility not in ("off", ""),
        maximum_allocation=vector(queue.maximumAllocation),
        partitions=tuple(_partitions(queue, usages, total)) if parent else (),
        default_label=queue.defaultNodeLabelExpression or "",
        most_running=_limit(queue.maxParallelApps),
        users=tuple(_users(queue)),
        maximum_applications_of_user=whole(queue.maxApplicationsPerUser),
        masters_of_user=vector(queue.userAMResourceLimit),
        counts_all=counts_all,
        is_fair=_FAIR_ORDER in queue.orderingPolicyInfo.lower(),
    )
    for child in _named(children):
        yield from _walk_capacity(child, path, total, counts_all=counts_all)


def _partitions(queue: _CapacityQueue, usages: list[_Usage], total: ResourceVector) -> Iterator[PartitionReport]:
    """Its parts of the node partitions; Hadoop 2 tells only percentages, of which 0 says something of any partition."""
    limits = queue.capacities if isinstance(queue.capacities, _Partitions) else _Partitions()
    told = {limit.partitionName: limit for limit in several(limits.queueCapacitiesByPartition)}
    uses = {usage.partitionName: usage for usage in usages}
    for label in dict.fromkeys(("", *told, *uses)):
        limit, usage = told.get(label, _Partition()), uses.get(label, _Usage())
        if label:
            percent, effective, all_of_it = limit.absoluteMaxCapacity, limit.effectiveMaxResource, ResourceVector()
        else:
            percent, effective, all_of_it = queue.absoluteMaxCapacity, queue.maxEffectiveCapacity, total
        share = number(percent, default=-1.0)
        is_told = effective is not None or share == 0 or (not label and share > 0)
        maximum = _effective(effective, percent or 0.0, all_of_it) if is_told else None
        masters, masters_used = usage.amLimit, usage.amUsed
        if not label:
            masters, masters_used = masters or queue.AMResourceLimit, masters_used or queue.usedAMResource
        used = vector(usage.used if usages else queue.resourcesUsed)
        yield PartitionReport(label, maximum, used, vector(masters), vector(masters_used))


def _users(queue: _CapacityQueue) -> Iterator[QueueUser]:
    for user in several(queue.users.user) if isinstance(queue.users, _Users) else []:
        yield QueueUser(
            user.username,
            whole(user.numActiveApplications) + whole(user.numPendingApplications),
            vector(user.resourcesUsed),
            vector(user.userResourceLimit),
            vector(user.AMResourceUsed),
        )


def _counts_all(root: _CapacityQueue) -> bool | None:
    """Whether limits are of every resource type: no version tells its resource calculator.

    By the default one what ApplicationMasters may hold has always 1 virtual core; by the other its part of the queue's.
    """
    found: bool | None = None
    for leaf in _below(root):
        masters, limits = vector(leaf.AMResourceLimit), leaf.capacities
        if masters.memory_mib <= 0:
            continue
        if masters.vcores != 1:
            return True
        shares = several(limits.queueCapacitiesByPartition) if isinstance(limits, _Partitions) else []
        share = next((number(each.maxAMLimitPercentage) for each in shares if not each.partitionName), 0.0)
        if vector(leaf.minEffectiveCapacity).vcores * share / _PERCENT > 1:
            found = False
    return found


def _below(queue: _CapacityQueue) -> Iterator[_CapacityQueue]:
    yield queue
    for child in several(queue.queues.queue) if isinstance(queue.queues, _CapacityQueues) else []:
        yield from _below(child)


def _limit(told: WireNumber) -> int | None:
    if told is None or isinstance(told, bool) or str(told).lstrip().startswith("-"):
        return None
    limit = number(told, default=float(_UNLIMITED))
    return int(limit) if limit < _UNLIMITED else None


def _is_capacity_leaf(queue: _CapacityQueue, children: list[_CapacityQueue]) -> bool:
    """A plan queue has children of its own making, and takes applications into the one called `<name>-default`."""
    if queue.type or queue.queueType:
        is_leaf = queue.type == "capacitySchedulerLeafQueueInfo" or queue.queueType == "leaf"
    else:
        is_leaf = not children
    return is_leaf or any(child.queueName.endswith(f"{queue.queueName}-default") for child in children)


def _largest_allocation(queue: _CapacityQueue) -> ResourceVector:
    found = [vector(each.maximumAllocation) for each in _below(queue)]
    return max(found, key=lambda allocation: (allocation.memory_mib, allocation.vcores))


def _effective(effective: WireResource | None, percent: WireNumber, total: ResourceVector) -> ResourceVector:
    """The amount that the scheduler computed; Hadoop 2 tells only the percentage."""
    if effective is not None:
        return vector(effective)
    share = number(percent, most=_PERCENT) / _PERCENT
    others = {name: int(amount * share) for name, amount in total.others.items()}
    return ResourceVector(int(total.memory_mib * share), int(total.vcores * share), others)


def _read_fair(info: msgspec.Raw, total: ResourceVector) -> _Read:
    del total
    fair, lost = _tree(_FAIR, info, _FairQueue, "childQueues", within="rootQueue")
    root = fair.rootQueue
    return (lost + _count(root, _below_fair), _walk_fair(root)), vector(root.maxContainerAllocation)


def _below_fair(queue: _FairQueue) -> list[_FairQueue]:
    below = queue.childQueues
    return several(below.queue) if isinstance(below, _FairQueues) else below if isinstance(below, list) else []


def _walk_fair(queue: _FairQueue) -> Iterator[QueueReport]:
    children = _below_fair(queue)
    used = vector(queue.usedResources)
    steady = vector(queue.steadyFairResources)
    wanting = vector(queue.demandResources) - used
    running, waiting = whole(queue.numActiveApps), whole(queue.numPendingApps)
    yield QueueReport(
        path=queue.queueName,
        state=QueueState.RUNNING,
        is_leaf=queue.type == "fairSchedulerLeafQueueInfo" if queue.type else not children,
        capacity=steady if steady.memory_mib > 0 else vector(queue.fairResources),
        maximum=vector(queue.maxResources),
        used=used,
        pending=ResourceVector(max(0, wanting.memory_mib), max(0, wanting.vcores)),
        pending_containers=whole(queue.pendingContainers),
        labels=("*",),
        applications=running + waiting,
        waiting_applications=waiting,
        maximum_applications=_limit(queue.maxApps) or 0,
        maximum_allocation=vector(queue.maxContainerAllocation),
        partitions=(
            PartitionReport(
                "",
                vector(queue.maxResources) if queue.maxResources else None,
                used,
                vector(queue.amMaxResources),
                vector(queue.amUsedResources),
            ),
        ),
        most_running=_limit(queue.maxApps),
        counts_all=True,
        is_fair=queue.schedulingPolicy.lower() != _FIFO_POLICY,
    )
    for child in _named(children):
        yield from _walk_fair(child)


def _read_fifo(info: msgspec.Raw, total: ResourceVector) -> _Read:
    fifo = decode(_FIFO, info, "scheduler")
    queue = QueueReport(
        path="default",
        state=_queue_state(fifo.qstate),
        is_leaf=True,
        capacity=total,
        maximum=total,
        used=ResourceVector(whole(fifo.usedNodeCapacity), 0),
        labels=("*",),
        counts_all=False,
    )
    largest_mib = whole(fifo.maxQueueMemoryCapacity)
    return (1, iter((queue,))), ResourceVector(largest_mib, 0) if largest_mib else total


def _queue_state(name: str) -> QueueState:
    """The state of a queue; in one of a newer Hadoop it is sent nothing."""
    try:
        return QueueState(name.upper())
    except ValueError:
        return QueueState.STOPPED


def _sum(resources: "Iterator[WireResource | None]") -> ResourceVector:
    total = ResourceVector()
    for resource in resources:
        total += vector(resource)
    return total


_READERS: dict[str, Callable[[msgspec.Raw, ResourceVector], _Read]] = {
    SchedulerType.CAPACITY: _read_capacity,
    SchedulerType.FAIR: _read_fair,
    "fifoScheduler": _read_fifo,
}
