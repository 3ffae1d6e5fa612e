"""The answer of `/scheduler`, read as queues: capacity, fair and fifo schedulers.

Sources: `org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.{CapacitySchedulerInfo,CapacitySchedulerQueueInfo,
FairSchedulerInfo,FairSchedulerQueueInfo,FifoSchedulerInfo}`.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeVar

import msgspec

from shim.domain.queues import PartitionReport, QueueReport, QueueState, QueueUser, SchedulerType
from shim.domain.resources import ResourceVector
from shim.domain.steps import at_once
from shim.domain.told_bounds import LONGEST_NAME, MOST_LABELS, MOST_USERS
from shim.errors import RemoteProtocolError
from shim.protocol.odd_rows import Mender
from shim.protocol.wire_values import (
    UNREADABLE,
    WireNumber,
    WireResource,
    decode,
    number,
    several,
    vector,
    whole,
)

_UNLIMITED = 2**31 - 1
_PERCENT = 100.0
_MOST_LEVELS = 32
_MOST_OBJECTS = 2 * _MOST_LEVELS + 8
"""Objects within each other: a queue and the list of those below it for each level, and what a queue tells."""
_FAIR_ORDER = "fair"
"""In `orderingPolicyInfo`, which is the name of the policy (`fair`) or of its class (`FairOrderingPolicy`)."""
_FIFO_POLICY = "fifo"
"""The one `schedulingPolicy` of a FairScheduler that orders by arrival (`FifoPolicy.NAME`)."""
_FIFO_KIND = "fifoScheduler"
_Q = TypeVar("_Q", bound=msgspec.Struct)
_Told = TypeVar("_Told", bound="_CapacityQueue | _FairQueue")
_Named = TypeVar("_Named", bound="_Usage | _Partition | _User")
_OfPartition = TypeVar("_OfPartition", bound="_Usage | _Partition")


@dataclass(frozen=True, slots=True)
class SchedulerDocument:
    """Content of `/scheduler`.

    Attributes:
        kind: `capacityScheduler`, `fairScheduler` or `fifoScheduler`.
        queues: Every queue, parents before children.
        maximum_allocation: Largest container by configuration; empty where the version does not tell.
        left_out: Rows that cannot be read, by what they are; queues that have no name, or another's, are none of them.
    """

    kind: str
    queues: tuple[QueueReport, ...]
    maximum_allocation: ResourceVector
    left_out: Counter[str]


@dataclass(frozen=True, slots=True)
class OpenTree:
    """Content of `/scheduler`, of which each queue is read when it is asked for.

    Attributes:
        count: How many queues there are.
        left_out: Rows that cannot be read, by what they are; those of a queue count once it is read.
    """

    kind: str
    count: int
    queues: Iterator[QueueReport]
    maximum_allocation: ResourceVector
    left_out: Counter[str] = field(default_factory=Counter)


class _Usage(msgspec.Struct):
    NOUN: ClassVar[str] = "partitions"
    partitionName: str | None = None  # noqa: N815 - Hadoop's name
    used: WireResource | None = None
    pending: WireResource | None = None
    amUsed: WireResource | None = None  # noqa: N815 - Hadoop's name
    amLimit: WireResource | None = None  # noqa: N815 - Hadoop's name


class _Usages(msgspec.Struct):
    resourceUsagesByPartition: list[_Usage] | _Usage | None = None  # noqa: N815 - Hadoop's name


class _Partition(msgspec.Struct):
    NOUN: ClassVar[str] = "partitions"
    partitionName: str | None = None  # noqa: N815 - Hadoop's name
    absoluteMaxCapacity: float | str | None = None  # noqa: N815 - Hadoop's name
    maxAMLimitPercentage: float | str | None = None  # noqa: N815 - Hadoop's name
    effectiveMaxResource: WireResource | None = None  # noqa: N815 - Hadoop's name


class _Partitions(msgspec.Struct):
    queueCapacitiesByPartition: list[_Partition] | _Partition | None = None  # noqa: N815 - Hadoop's name


class _User(msgspec.Struct):
    NOUN: ClassVar[str] = "users"
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
    NOUN: ClassVar[str] = "queues"
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
    NOUN: ClassVar[str] = "queues"
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
_MOST_ODD = 2 * 1024 * 1024
"""Bytes of a tree of which some row cannot be read, so that each is looked at by itself: that takes its time."""
_KIND = msgspec.json.Decoder(_Kind)
_CAPACITY = msgspec.json.Decoder(_CapacityQueue, strict=False)
_FAIR = msgspec.json.Decoder(_Fair, strict=False)
_FIFO = msgspec.json.Decoder(_Fifo, strict=False)


def read_scheduler(raw: bytes, total: ResourceVector) -> SchedulerDocument:
    """Read the answer of `/scheduler`; raises as `open_scheduler`."""
    tree = at_once(open_scheduler(raw, total))
    return SchedulerDocument(tree.kind, tuple(tree.queues), tree.maximum_allocation, tree.left_out)


def open_scheduler(raw: bytes, total: ResourceVector) -> Generator[None, None, OpenTree]:
    """Read the answer of `/scheduler` as far as its queues; pauses now and then where some row of it is odd.

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
    return (yield from read(info, total))


_Read = Generator[None, None, OpenTree]


def _tree(
    decoder: "msgspec.json.Decoder[_Q]", raw: msgspec.Raw, root: type[msgspec.Struct], left_out: Counter[str]
) -> Generator[None, None, _Q]:
    """A tree as far as it can be read: a queue that cannot costs itself and those below it, any other row itself.

    Raises:
        RemoteProtocolError: If the root is no queue, the tree is too deep, or it is large and some row is odd.
    """
    try:
        return decoder.decode(raw)
    except UNREADABLE as exc:
        if memoryview(raw).nbytes > _MOST_ODD:
            raise RemoteProtocolError(f"the scheduler document is large, and not readable: {exc}") from exc
        told = decode(_ANY, raw, "scheduler")
    yield
    found = yield from Mender(_MOST_OBJECTS, left_out, root=root).steps(told, decoder.type)
    return msgspec.convert(found, decoder.type, strict=False)


def _read_capacity(info: msgspec.Raw, total: ResourceVector) -> _Read:
    left_out: Counter[str] = Counter()
    root = yield from _tree(_CAPACITY, info, _CapacityQueue, left_out)
    own = vector(root.maximumAllocation)
    return OpenTree(
        SchedulerType.CAPACITY,
        _count(root, _below_capacity),
        _walk_capacity(root, "", total, left_out, counts_all=_counts_all(root)),
        own if own.memory_mib > 0 else _largest_allocation(root),
        left_out,
    )


def _below_capacity(queue: _CapacityQueue) -> list[_CapacityQueue]:
    return several(queue.queues.queue) if isinstance(queue.queues, _CapacityQueues) else []


def _named(queues: list[_Told]) -> Iterator[_Told]:
    """Those that have a name; of several with one name the first. Siblings differ in the last part of their names."""
    known = set()
    for queue in queues:
        name = queue.queueName.rpartition(".")[2]
        if name and name not in known:
            known.add(name)
            yield queue


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
    queue: _CapacityQueue, parent: str, total: ResourceVector, left_out: Counter[str], *, counts_all: bool | None
) -> Iterator[QueueReport]:
    name = queue.queueName.rpartition(".")[2] or "root"
    path = f"{parent}.{name}" if parent else name
    children = _below_capacity(queue)
    told = several(queue.resources.resourceUsagesByPartition) if queue.resources else []
    usages = _by_partition(told, left_out)
    used = _sum(usage.used for usage in usages.values()) if usages else vector(queue.resourcesUsed)
    yield QueueReport(
        path=path,
        state=_queue_state(queue.state),
        is_leaf=_is_capacity_leaf(queue, children),
        capacity=_effective(queue.minEffectiveCapacity, queue.absoluteCapacity, total) if parent else total,
        maximum=_effective(queue.maxEffectiveCapacity, queue.absoluteMaxCapacity, total) if parent else total,
        used=used,
        pending=_sum(usage.pending for usage in usages.values()),
        pending_containers=whole(queue.pendingContainers),
        labels=_labels(several(queue.nodeLabels), left_out),
        applications=whole(queue.numApplications),
        waiting_applications=whole(queue.numPendingApplications),
        maximum_applications=whole(queue.maxApplications),
        creates_children=queue.autoCreateChildQueueEnabled or queue.autoCreationEligibility not in ("off", ""),
        maximum_allocation=vector(queue.maximumAllocation),
        partitions=tuple(_partitions(queue, usages, total, left_out)) if parent else (),
        default_label=queue.defaultNodeLabelExpression or "",
        most_running=_limit(queue.maxParallelApps),
        users=_users(queue, left_out),
        maximum_applications_of_user=whole(queue.maxApplicationsPerUser),
        masters_of_user=vector(queue.userAMResourceLimit),
        counts_all=counts_all,
        is_fair=_FAIR_ORDER in queue.orderingPolicyInfo.lower(),
    )
    for child in _named(children):
        yield from _walk_capacity(child, path, total, left_out, counts_all=counts_all)


def _by_name(rows: "list[_Named]", noun: str, most: int, left_out: Counter[str]) -> "dict[str, _Named]":
    """Rows by their names; one without a name, with a long one, that of another one, or beyond `most` costs itself."""
    found: dict[str, _Named] = {}
    for row in rows:
        name = row.username or None if isinstance(row, _User) else row.partitionName
        if name is None or len(name) > LONGEST_NAME or name in found or len(found) >= most:
            left_out[noun] += 1
        else:
            found[name] = row
    return found


def _by_partition(rows: "list[_OfPartition]", left_out: Counter[str]) -> "dict[str, _OfPartition]":
    """Rows by their partitions; one alone that tells amounts and no name is of the default one."""
    if len(rows) == 1 and rows[0].partitionName is None and rows[0] != type(rows[0])():
        rows = [msgspec.structs.replace(rows[0], partitionName="")]
    return _by_name(rows, "partitions", MOST_LABELS, left_out)


def _labels(told: list[str], left_out: Counter[str]) -> tuple[str, ...]:
    kept = [label for label in dict.fromkeys(told) if len(label) <= LONGEST_NAME][:MOST_LABELS]
    left_out["labels"] += len(set(told)) - len(kept)
    return tuple(kept)


def _partitions(
    queue: _CapacityQueue, uses: Mapping[str, _Usage], total: ResourceVector, left_out: Counter[str]
) -> Iterator[PartitionReport]:
    """Its parts of the node partitions; Hadoop 2 tells only percentages, of which 0 says something of any partition."""
    limits = queue.capacities if isinstance(queue.capacities, _Partitions) else _Partitions()
    told = _by_partition(several(limits.queueCapacitiesByPartition), left_out)
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
        used = vector(usage.used if uses else queue.resourcesUsed)
        yield PartitionReport(label, maximum, used, vector(masters), vector(masters_used))


def _users(queue: _CapacityQueue, left_out: Counter[str]) -> tuple[QueueUser, ...]:
    told = several(queue.users.user) if isinstance(queue.users, _Users) else []
    return tuple(
        QueueUser(
            name,
            whole(user.numActiveApplications) + whole(user.numPendingApplications),
            vector(user.resourcesUsed),
            vector(user.userResourceLimit),
            vector(user.AMResourceUsed),
        )
        for name, user in _by_name(told, "users", MOST_USERS, left_out).items()
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
        told = several(limits.queueCapacitiesByPartition) if isinstance(limits, _Partitions) else []
        default = _by_partition(told, Counter()).get("")  # what is left out counts where the queue is read
        share = number(default.maxAMLimitPercentage) if default is not None else 0.0
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
    left_out: Counter[str] = Counter()
    root = (yield from _tree(_FAIR, info, _FairQueue, left_out)).rootQueue
    largest = vector(root.maxContainerAllocation)
    return OpenTree(SchedulerType.FAIR, _count(root, _below_fair), _walk_fair(root), largest, left_out)


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
    fifo = yield from _tree(_FIFO, info, _Fifo, Counter())
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
    return OpenTree(_FIFO_KIND, 1, iter((queue,)), ResourceVector(largest_mib, 0) if largest_mib else total)


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
    _FIFO_KIND: _read_fifo,
}
