"""A model of YARN's CapacityScheduler: what each heartbeat of a node allocates.

Leaf queues below `root`, in the order of their use against their capacity; in a queue, attempts by its ordering policy:
in the order of their arrival, or whose application holds least memory; of an attempt, priorities from the smallest
number; for a priority, this node before its rack before any node.

Sources: `CapacityScheduler.allocateContainersToNode`, `AbstractLeafQueue.assignContainers`, `FifoOrderingPolicy`,
`FairOrderingPolicy`, `UsersManager` (`computeUserLimit`), `RegularContainerAllocator` (`assignContainersOnNode`,
`canAssign`).

Left out: reservations of nodes for containers that do not fit, hierarchies of queues, preemption inside a cluster,
opportunistic containers, placement constraints, and the fair ordering policy's `enable-size-based-weight`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from shim.domain.allocations import ANY, Ask, AskKey
from shim.domain.ids import ApplicationAttemptId, ApplicationId, NodeId
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.spec import ModelledClusterSpec, NodeManagerSpec, QueueSpec

_NOTHING = ResourceVector()


@dataclass(frozen=True, slots=True)
class Allocation:
    """One container that a heartbeat gave.

    Attributes:
        is_off_switch: Whether it is neither on an asked host nor on an asked rack.
    """

    attempt: ApplicationAttemptId
    key: AskKey
    node: NodeId
    is_off_switch: bool


@dataclass(slots=True)
class ModelledNode:
    """A node as the scheduler sees it."""

    spec: NodeManagerSpec
    used: ResourceVector = _NOTHING
    containers: int = 0

    @property
    def free(self) -> ResourceVector:
        """Room that is left."""
        return self.spec.size - self.used


@dataclass(slots=True)
class ModelledQueue:
    """A leaf queue with what it has; `users` has each user's part of `used`, `applications` each application's."""

    path: str
    spec: QueueSpec
    used: ResourceVector = _NOTHING
    masters: ResourceVector = _NOTHING
    users: dict[str, ResourceVector] = field(default_factory=dict)
    applications: dict[ApplicationId, ResourceVector] = field(default_factory=dict)


@dataclass(slots=True)
class _Wanted:
    """Demand of one ask key: counts by place, and whether other places may stand in for one."""

    counts: dict[str, int] = field(default_factory=dict)
    relaxes: dict[str, bool] = field(default_factory=dict)
    missed: int = 0

    @property
    def has_places(self) -> bool:
        return any(place != ANY for place in self.counts)


@dataclass(slots=True)
class _Attempt:
    id: ApplicationAttemptId
    queue: ModelledQueue
    user: str
    wanted: dict[AskKey, _Wanted] = field(default_factory=dict)
    blacklist: set[str] = field(default_factory=set)


class CapacityScheduler:
    """Queues, nodes and asks of one cluster. No clock: a heartbeat is a call."""

    def __init__(self, spec: ModelledClusterSpec) -> None:
        self._timing = spec.timing
        self._is_fair = spec.scheduler == "fair"
        self._attempts: dict[ApplicationAttemptId, _Attempt] = {}
        self.nodes: dict[NodeId, ModelledNode] = {}
        self.queues = {path: ModelledQueue(path, queue) for path, queue in spec.queues.items()}
        self._capacity = _NOTHING

    @property
    def capacity(self) -> ResourceVector:
        return self._capacity

    def add_node(self, spec: NodeManagerSpec) -> None:
        """A node has registered; nothing runs there as far as the scheduler knows."""
        self.nodes[spec.id] = ModelledNode(spec)
        self._capacity = sum((node.spec.size for node in self.nodes.values()), _NOTHING)

    def remove_node(self, node: NodeId) -> None:
        """A node is lost; what ran there must have been released."""
        self.nodes.pop(node, None)
        self._capacity = sum((each.spec.size for each in self.nodes.values()), _NOTHING)

    def share(self, percent: float) -> ResourceVector:
        """A percentage of the cluster, in whole units."""
        total = self._capacity
        return ResourceVector(int(total.memory_mib * percent / 100), int(total.vcores * percent / 100))

    # -- attempts ----------------------------------------------------------------------------------------------------

    def add(self, attempt: ApplicationAttemptId, queue: str, user: str) -> None:
        self._attempts[attempt] = _Attempt(attempt, self.queues[queue], user)

    def remove(self, attempt: ApplicationAttemptId) -> None:
        """An attempt wants nothing any more; what it has must be released one by one."""
        self._attempts.pop(attempt, None)

    def ask(self, attempt: ApplicationAttemptId, asks: Iterable[Ask]) -> None:
        """Rows of asks, each in the place of the last one for the same key and place; those at places come first."""
        known = self._attempts.get(attempt)
        if known is None:
            return
        told: set[AskKey] = set()
        for ask in asks:
            told.add(ask.key)
            wanted = known.wanted.setdefault(ask.key, _Wanted())
            if ask.count > 0:
                wanted.counts[ask.place] = ask.count
                wanted.relaxes[ask.place] = ask.relaxes
            else:
                wanted.counts.pop(ask.place, None)
                wanted.relaxes.pop(ask.place, None)
        for key in told:
            if not known.wanted[key].counts.get(ANY):
                del known.wanted[key]

    def blacklist(self, attempt: ApplicationAttemptId, added: Iterable[str], removed: Iterable[str]) -> None:
        """Hosts and racks on which an attempt wants nothing."""
        known = self._attempts.get(attempt)
        if known is not None:
            known.blacklist.update(added)
            known.blacklist.difference_update(removed)

    def pending(self, attempt: ApplicationAttemptId | None = None) -> Iterator[tuple[AskKey, int]]:
        for known in self._attempts.values():
            if attempt in (None, known.id):
                for key, wanted in known.wanted.items():
                    yield key, wanted.counts.get(ANY, 0)

    def pending_in(self, queue: str) -> list[tuple[AskKey, int]]:
        return [
            (key, wanted.counts.get(ANY, 0))
            for known in self._attempts.values()
            if known.queue.path == queue
            for key, wanted in known.wanted.items()
        ]

    # -- amounts -----------------------------------------------------------------------------------------------------

    def take(self, node: NodeId, queue: str, user: str, application: ApplicationId, amount: ResourceVector) -> None:
        state, held = self.queues[queue], self.nodes[node]
        held.used += amount
        held.containers += 1
        state.used += amount
        state.users[user] = state.users.get(user, _NOTHING) + amount
        state.applications[application] = state.applications.get(application, _NOTHING) + amount

    def release(self, node: NodeId, queue: str, user: str, application: ApplicationId, amount: ResourceVector) -> None:
        state, held = self.queues[queue], self.nodes.get(node)
        if held is not None:
            held.used -= amount
            held.containers -= 1
        state.used -= amount
        state.users[user] -= amount
        state.applications[application] -= amount
        if state.applications[application] == _NOTHING:
            del state.applications[application]

    def reserve_master(self, queue: str, amount: ResourceVector) -> None:
        """Count an ApplicationMaster that may start against its queue's part for them."""
        self.queues[queue].masters += amount

    def release_master(self, queue: str, amount: ResourceVector) -> None:
        self.queues[queue].masters -= amount

    def may_start_master(self, queue: str, amount: ResourceVector) -> bool:
        """True if one more ApplicationMaster is within the queue's part for them; the first always is."""
        state = self.queues[queue]
        if state.masters == _NOTHING:
            return True
        return (state.masters + amount).fits_in(self.room_for_masters(state))

    def room_for_masters(self, queue: ModelledQueue) -> ResourceVector:
        return self.share(max(queue.spec.percent, queue.spec.most_percent) * queue.spec.am_share)

    def headroom(self, attempt: ApplicationAttemptId) -> ResourceVector:
        """Amount that an attempt may still have, by its user's limit and its queue's maximum."""
        known = self._attempts.get(attempt)
        if known is None:
            return _NOTHING
        queue = known.queue
        active = {each.user for each in self._attempts.values() if each.queue is queue and each.wanted}
        by_user = _left(self._user_limit(queue, active), queue.users.get(known.user, _NOTHING))
        by_queue = _left(self.share(queue.spec.most_percent), queue.used)
        return ResourceVector(min(by_user.memory_mib, by_queue.memory_mib), min(by_user.vcores, by_queue.vcores))

    # -- a heartbeat -------------------------------------------------------------------------------------------------

    def heartbeat(self, node: NodeId) -> list[Allocation]:
        """Allocations of a node in one heartbeat; the amounts are counted already."""
        state = self.nodes[node]
        given: list[Allocation] = []
        off_switch = 0
        while len(given) < self._timing.most_each:
            found = self._next(state)
            if found is None:
                break
            given.append(found)
            off_switch += found.is_off_switch
            if off_switch >= self._timing.off_switch_each:
                break
        return given

    def _next(self, node: ModelledNode) -> Allocation | None:
        if node.free.memory_mib <= 0:
            return None
        for queue in sorted(self.queues.values(), key=self._use):
            wanting = self._in_order(queue)
            limit = self._user_limit(queue, {attempt.user for attempt in wanting})
            for attempt in wanting:
                if _may_have(attempt, limit):
                    found = self._of(attempt, node)
                    if found is not None:
                        return found
        return None

    def _in_order(self, queue: ModelledQueue) -> list[_Attempt]:
        """Attempts of a queue that want something, by their ids; among equals of the fair policy the first of them.

        Source: `SchedulerApplicationAttempt.compareInputOrderTo`; an application of another home came before one that
        has an id after it, whenever its session began.
        """
        wanting = [attempt for attempt in self._attempts.values() if attempt.queue is queue and attempt.wanted]
        wanting.sort(key=lambda attempt: attempt.id.application)
        if self._is_fair or queue.spec.ordering == "fair":
            held = queue.applications
            wanting.sort(key=lambda attempt: held.get(attempt.id.application, _NOTHING).memory_mib)
        return wanting

    def _use(self, queue: ModelledQueue) -> float:
        """Use against capacity: `PriorityUtilizationQueueOrderingPolicy` serves the smallest first."""
        return queue.used.dominant_share_of(self._capacity) / max(queue.spec.percent, 1e-9)

    def _user_limit(self, queue: ModelledQueue, active: set[str]) -> ResourceVector:
        """Source: `UsersManager.computeUserLimit`; `active` users want something."""
        spec, own = queue.spec, self.share(queue.spec.percent)
        current = own if queue.used.fits_in(own) else queue.used
        part = max(1.0 / max(1, len(active)), spec.user_limit_percent / 100.0)
        most = ResourceVector(int(own.memory_mib * spec.user_limit_factor), int(own.vcores * spec.user_limit_factor))
        return ResourceVector(
            min(int(current.memory_mib * part), most.memory_mib), min(int(current.vcores * part), most.vcores)
        )

    def _of(self, attempt: _Attempt, node: ModelledNode) -> Allocation | None:
        host, rack = node.spec.id.host, node.spec.rack
        if attempt.blacklist & {host, rack}:
            return None
        queue, free = attempt.queue, node.free
        room = _left(self.share(queue.spec.most_percent), queue.used)
        for key in sorted(attempt.wanted, key=_rank):
            if key.label != node.spec.label or not key.resource.fits_in(free) or not key.resource.fits_in(room):
                continue
            wanted = attempt.wanted[key]
            place = self._place(wanted, host, rack)
            if place is None:
                continue
            served = {host: (host, rack, ANY), rack: (rack, ANY), ANY: (ANY,)}[place]
            self._count(attempt, key, wanted, served)
            self.take(node.spec.id, queue.path, attempt.user, attempt.id.application, key.resource)
            return Allocation(attempt.id, key, node.spec.id, is_off_switch=place == ANY)
        return None

    def _place(self, wanted: _Wanted, host: str, rack: str) -> str | None:
        """Row of asks that a node serves; None for none, now."""
        if wanted.counts.get(host):
            return host
        if wanted.counts.get(rack) and wanted.relaxes.get(rack, True):
            return rack
        if not wanted.relaxes.get(ANY, True):
            return None
        if wanted.has_places and wanted.missed < self._timing.locality_delay:
            wanted.missed += 1
            return None
        return ANY

    @staticmethod
    def _count(attempt: _Attempt, key: AskKey, wanted: _Wanted, places: tuple[str, ...]) -> None:
        """One container less: at the host that gave it also at its rack, and in any case at `ANY`."""
        for place in places:
            _less(wanted, place)
        wanted.missed = 0
        if not wanted.counts.get(ANY):
            del attempt.wanted[key]


def _may_have(attempt: _Attempt, limit: ResourceVector) -> bool:
    """A user may be above the limit by the container that reached it (`canAssignToUser`)."""
    return attempt.queue.users.get(attempt.user, _NOTHING).fits_in(limit)


def _less(wanted: _Wanted, place: str) -> None:
    count = wanted.counts.get(place, 0)
    if count > 1:
        wanted.counts[place] = count - 1
    else:
        wanted.counts.pop(place, None)


def _rank(key: AskKey) -> tuple[int, int, int, int]:
    return key.priority, key.allocation_request_id, -key.resource.memory_mib, -key.resource.vcores


def _left(most: ResourceVector, used: ResourceVector) -> ResourceVector:
    return ResourceVector(max(0, most.memory_mib - used.memory_mib), max(0, most.vcores - used.vcores))
