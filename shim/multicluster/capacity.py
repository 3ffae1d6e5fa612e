"""The sub-clusters as the ledger of an application needs to know them: made of the view, for its queue.

Configuration of the sub-clusters that matters to applications in several: epochs, and who judges constraints.

A ResourceManager counts an application's containers from 1 and puts its epoch before the number. Two without epochs, or
with equal ones, give different containers of one application the same id. The epoch grows by one with each restart.

Who judges placement constraints decides what a count in a `SchedulingRequest` means; see `ConstraintHandling`.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from shim.domain.allocations import ConstraintHandling
from shim.domain.ids import SubClusterId
from shim.domain.queues import FederatedQueue, QueueReport, QueueState, SharePolicy, is_same_queue
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, NodeReport, SubClusterState
from shim.errors import HeddleError
from shim.federation.core.federation_view import FederationView, SubClusterView, find_queue, submitted_name
from shim.multicluster.core import ClusterCapacity
from shim.ports.clock import Clock
from shim.ports.resource_manager import ResourceManager
from shim.protocol.wire_values import UNREADABLE, whole

_RUNNING = "RUNNING"


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Sums over a sub-cluster's nodes; made once for each report of them."""

    nodes: tuple[NodeReport, ...]
    racks: Mapping[str, str]
    rack_names: frozenset[str]
    largest: ResourceVector
    count: int


class ClusterCapacities:
    """Looks at the view.

    Args:
        policy: Which queues span, as it is now.
        may_span: Whether a sub-cluster can hold containers of other homes' applications (its epoch is its own).
        reach: Sub-clusters to which applications of a home may cross by themselves, each with whether one container is
            to try first.
    """

    def __init__(
        self,
        view: FederationView,
        admissions: Mapping[SubClusterId, Admission],
        clock: Clock,
        policy: Callable[[], SharePolicy],
        may_span: Callable[[SubClusterId], bool],
        constraints: Callable[[SubClusterId], ConstraintHandling | None] = lambda _: None,
        reach: Callable[[SubClusterId], Mapping[SubClusterId, bool]] = lambda _: {},
    ) -> None:
        self._view = view
        self._admissions = admissions
        self._clock = clock
        self._policy = policy
        self._may_span = may_span
        self._constraints = constraints
        self._reach = reach
        self._nodes: dict[SubClusterId, _Nodes] = {}

    def queue_at(self, subcluster: SubClusterId, told: str) -> str | None:
        """The queue's own path in a sub-cluster; None if it is not there.

        Args:
            told: The queue as the application's home tells it.
        """
        seen = self._view.look(subcluster, self._clock.now_s())
        queue = self._find(seen, self._queue(told), told)
        return None if queue is None or not queue.is_leaf else queue.path

    def called_at(self, subcluster: SubClusterId, told: str) -> str:
        """The queue as a submission to a sub-cluster names it; as told, if it is not there."""
        path = self.queue_at(subcluster, told)
        return told if path is None else submitted_name(self._view.look(subcluster, self._clock.now_s()), path)

    def look(
        self, home: SubClusterId, told: str, sessions: Mapping[SubClusterId, bool], *, is_served: bool = False
    ) -> tuple[ClusterCapacity, ...]:
        """Sub-clusters that an application may span to, or has containers in: its home alone, unless its queue spans.

        Where it has a session it may hold containers, whatever the policy says by now; new ones it gets there only
        while its queue spans.

        Args:
            told: Its queue, as its home tells it.
            is_served: Whether its home gives it what it wants: it does not leave by itself then.
        """
        queue = self._queue(told)
        now_s = self._clock.now_s()
        reach = self._reach(home) if queue.spans_by_need and not is_served else {}

        def is_closed(subcluster: SubClusterId) -> bool:  # the application may not span to it, or not any more
            return not (queue.span or subcluster in reach) or not sessions.get(subcluster, True)

        return tuple(
            self._room(
                self._view.look(each, now_s),
                queue,
                told,
                is_home=each == home,
                is_closed=is_closed(each),
                is_trial=reach.get(each, False),
            )
            for each in self._view.subclusters
            if each == home or queue.span or each in reach or each in sessions
        )

    def _queue(self, told: str) -> FederatedQueue:
        """As the policy has it; one that it does not name spans nowhere."""
        found = self._policy().find(told)
        return found if found is not None and is_same_queue(found.path, told) else FederatedQueue(told)

    def _find(self, seen: SubClusterView, queue: FederatedQueue, told: str) -> QueueReport | None:
        return find_queue(seen, queue.name_at(seen.subcluster)) or find_queue(seen, told)

    def _room(
        self,
        seen: SubClusterView,
        queue: FederatedQueue,
        told: str,
        *,
        is_home: bool,
        is_closed: bool,
        is_trial: bool,
    ) -> ClusterCapacity:
        there = self._find(seen, queue, told)
        nodes = self._nodes_of(seen)
        size = seen.capacity if there is None else _least(there.maximum, seen.capacity)
        used = ResourceVector() if there is None else there.used
        return ClusterCapacity(
            seen.subcluster,
            is_home=is_home,
            is_open=is_home or (not is_closed and self._is_open(seen, there)),
            free=_positive(_least(size - used, seen.capacity - seen.used)),
            size=size,
            largest=_largest(seen.maximum_allocation, nodes.largest),
            weight=queue.prefers.get(seen.subcluster, 1.0),
            nodes=nodes.count,
            racks=nodes.racks,
            rack_names=nodes.rack_names,
            labels=frozenset() if there is None else frozenset(there.labels),
            age_s=seen.age_s,
            constraints=self._constraints(seen.subcluster),
            is_trial=is_trial and not is_home,
        )

    def _is_open(self, seen: SubClusterView, there: QueueReport | None) -> bool:
        is_well = seen.state is SubClusterState.RUNNING and not seen.failure
        is_admitted = self._admissions.get(seen.subcluster, Admission.OPEN) is Admission.OPEN
        has_queue = there is not None and there.is_leaf and there.state is QueueState.RUNNING
        return is_well and is_admitted and has_queue and self._may_span(seen.subcluster)

    def _nodes_of(self, seen: SubClusterView) -> _Nodes:
        known = self._nodes.get(seen.subcluster)
        if known is None or known.nodes is not seen.nodes:
            running = [node for node in seen.nodes if node.state == _RUNNING]
            known = _Nodes(
                seen.nodes,
                {node.node.host: node.rack for node in running},
                frozenset(node.rack for node in running),
                max((node.total for node in running), key=lambda total: total.memory_mib, default=ResourceVector()),
                len(running),
            )
            self._nodes[seen.subcluster] = known
        return known


def _least(one: ResourceVector, other: ResourceVector) -> ResourceVector:
    others = {name: min(amount, other.others.get(name, amount)) for name, amount in one.others.items()}
    return ResourceVector(min(one.memory_mib, other.memory_mib), min(one.vcores, other.vcores), others)


def _positive(amount: ResourceVector) -> ResourceVector:
    others = {name: max(0, value) for name, value in amount.others.items()}
    return ResourceVector(max(0, amount.memory_mib), max(0, amount.vcores), others)


def _largest(maximum: ResourceVector, node: ResourceVector) -> ResourceVector:
    return _least(maximum, node) if maximum.memory_mib > 0 else node


_OK = 200
_KEY = "yarn.resourcemanager.epoch"
_HANDLER = "yarn.resourcemanager.placement-constraints.handler"
_HANDLINGS = {handling.value: handling for handling in ConstraintHandling}


class Epochs:
    """Asks ResourceManagers for their configured epochs and handlers of constraints, each until it has told."""

    def __init__(self, managers: Mapping[SubClusterId, ResourceManager], answer_within_s: float = 2.0) -> None:
        self._managers = managers
        self._answer_within_s = answer_within_s
        self._known: dict[SubClusterId, int] = {}
        self._handlings: dict[SubClusterId, ConstraintHandling] = {}

    @property
    def is_complete(self) -> bool:
        """True if all sub-clusters have told their epochs."""
        return len(self._known) == len(self._managers)

    @property
    def clashes(self) -> Mapping[SubClusterId, int]:
        """Sub-clusters whose epoch another one has too; 0 is none and so clashes with nothing."""
        counts = Counter(self._known.values())
        return {name: epoch for name, epoch in self._known.items() if epoch and counts[epoch] > 1}

    @property
    def homes_only(self) -> tuple[SubClusterId, ...]:
        """Sub-clusters without an epoch: applications may have their home there, and nothing else."""
        return tuple(name for name, epoch in self._known.items() if not epoch)

    def may_span(self, subcluster: SubClusterId) -> bool:
        """True if containers of other homes' applications can be told apart there: its epoch is known and its own."""
        return self._known.get(subcluster, 0) > 0 and subcluster not in self.clashes

    def constraints(self, subcluster: SubClusterId) -> ConstraintHandling | None:
        """Return the way of a sub-cluster with asks that have a placement constraint; None until it has told."""
        return self._handlings.get(subcluster)

    async def ask(self) -> None:
        missing = [name for name in self._managers if name not in self._known]
        for name, epoch in zip(missing, await asyncio.gather(*map(self._ask, missing)), strict=True):
            if epoch is not None:
                self._known[name] = epoch

    async def _ask(self, subcluster: SubClusterId) -> int | None:
        try:
            answer = await self._managers[subcluster].query("/conf", timeout_s=self._answer_within_s)
            if answer.status != _OK:
                return None
            document = msgspec.json.decode(answer.body, type=_Document)
        except (HeddleError, *UNREADABLE):
            return None
        told = {each.key: each.value for each in document.properties if each.key in {_KEY, _HANDLER}}
        self._handlings[subcluster] = _HANDLINGS.get(told.get(_HANDLER) or "", ConstraintHandling.NONE)
        value = told.get(_KEY)
        return whole(value)


class _Property(msgspec.Struct):
    key: str = ""
    value: str | None = None


class _Document(msgspec.Struct):
    properties: list[_Property]
