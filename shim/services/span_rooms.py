"""The sub-clusters as the ledger of an application needs to know them: made of the view, for its queue."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from shim.domain.ids import SubClusterId
from shim.domain.queues import QueueReport, QueueState, is_same_queue
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, SubClusterState
from shim.global_master.federation_view import FederationView, Part
from shim.global_master.home import find_queue
from shim.global_master.subcluster_view import SubClusterView
from shim.ports.clock import Clock
from shim.relay import Room

__all__ = ["SpanQueue", "SpanRooms"]

_RUNNING = "RUNNING"


@dataclass(frozen=True, slots=True)
class SpanQueue:
    """A queue whose applications may span.

    Attributes:
        path: Its full path.
        weights: How much it prefers a sub-cluster; 1 for those that are not in here.
        names: What sub-clusters call it that call it otherwise.
    """

    path: str
    weights: Mapping[SubClusterId, float] = field(default_factory=lambda: MappingProxyType({}))
    names: Mapping[SubClusterId, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class _Nodes:
    """What a view's nodes amount to; made once for each view of them."""

    version: int
    racks: Mapping[str, str]
    rack_names: frozenset[str]
    largest: ResourceVector
    count: int


class SpanRooms:
    """Looks at the view.

    Args:
        view: What heartbeats told.
        admissions: Operators' words.
        clock: For ages.
        queues: Those that span.
        may_span: Whether a sub-cluster can hold containers of other homes' applications (its epoch is its own).
    """

    def __init__(
        self,
        view: FederationView,
        admissions: Mapping[SubClusterId, Admission],
        clock: Clock,
        queues: Sequence[SpanQueue],
        may_span: Callable[[SubClusterId], bool],
    ) -> None:
        self._view = view
        self._admissions = admissions
        self._clock = clock
        self._queues = tuple(queues)
        self._may_span = may_span
        self._nodes: dict[SubClusterId, _Nodes] = {}

    def queue_at(self, subcluster: SubClusterId, told: str) -> str | None:
        """The queue's own path in a sub-cluster; None if it is not there.

        Args:
            subcluster: Where.
            told: The queue as the application's home tells it.
        """
        seen = self._view.look(subcluster, self._clock.now_s())
        queue = self._find(seen, self._span_queue(told), told)
        return None if queue is None or not queue.is_leaf else queue.path

    def look(self, home: SubClusterId, told: str, closed: Collection[SubClusterId]) -> tuple[Room, ...]:
        """The sub-clusters for an application of a queue: its home alone, unless the queue spans.

        Args:
            home: Of the application.
            told: Its queue, as its home tells it.
            closed: Sub-clusters that its sessions cannot use now.
        """
        queue = self._span_queue(told)
        now_s = self._clock.now_s()
        return tuple(
            self._room(self._view.look(each, now_s), queue, told, is_home=each == home, is_closed=each in closed)
            for each in self._view.subclusters
            if each == home or queue in self._queues
        )

    def _span_queue(self, told: str) -> SpanQueue:
        return next((queue for queue in self._queues if is_same_queue(queue.path, told)), SpanQueue(told))

    def _find(self, seen: SubClusterView, queue: SpanQueue, told: str) -> QueueReport | None:
        name = queue.names.get(seen.subcluster, queue.path)
        return find_queue(seen, name) or find_queue(seen, told)

    def _room(self, seen: SubClusterView, queue: SpanQueue, told: str, *, is_home: bool, is_closed: bool) -> Room:
        there = self._find(seen, queue, told)
        nodes = self._nodes_of(seen)
        size = seen.capacity if there is None else _least(there.maximum, seen.capacity)
        used = ResourceVector() if there is None else there.used
        return Room(
            seen.subcluster,
            is_home=is_home,
            is_open=is_home or (not is_closed and self._is_open(seen, there)),
            free=_positive(_least(size - used, seen.capacity - seen.used)),
            size=size,
            largest=_largest(seen.maximum_allocation, nodes.largest),
            weight=queue.weights.get(seen.subcluster, 1.0),
            nodes=nodes.count,
            racks=nodes.racks,
            rack_names=nodes.rack_names,
            labels=frozenset() if there is None else frozenset(there.labels),
            age_s=seen.age_s,
        )

    def _is_open(self, seen: SubClusterView, there: QueueReport | None) -> bool:
        is_well = seen.state is SubClusterState.RUNNING and not seen.failure
        is_admitted = self._admissions.get(seen.subcluster, Admission.OPEN) is Admission.OPEN
        has_queue = there is not None and there.is_leaf and there.state is QueueState.RUNNING
        return is_well and is_admitted and has_queue and self._may_span(seen.subcluster)

    def _nodes_of(self, seen: SubClusterView) -> _Nodes:
        version = self._view.version(Part.NODES)
        known = self._nodes.get(seen.subcluster)
        if known is None or known.version != version:
            running = [node for node in seen.nodes if node.state == _RUNNING]
            known = _Nodes(
                version,
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
    """Whichever is smaller of what may be asked for and what a node has."""
    return _least(maximum, node) if maximum.memory_mib > 0 else node
