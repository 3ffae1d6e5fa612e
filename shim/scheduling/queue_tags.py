"""Placement constraints of a queue's requests on real clusters: what they leave to clusters and nodes in a cycle.

The ResourceManager of a cluster judges each container and has the last word. What is counted here is what it would take
as far as is known: where the attempt's containers are, and how many of its promises await a grant in each cluster.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from shim.domain.allocations import PlacementConstraint, TaggedSpot
from shim.domain.ids import ApplicationAttemptId, NodeId, SubClusterId
from shim.domain.messages import Need
from shim.domain.requests import PendingRequest
from shim.scheduling.node_index import SharedNodes, unpack_bits
from shim.scheduling.snapshot import NO_BOUND, IntArray
from shim.scheduling.tag_bounds import TagBounds

__all__ = ["TagBook", "promised_to_kin", "slots_on"]

_Kin = tuple[ApplicationAttemptId, frozenset[str]]


def slots_on(nodes: SharedNodes, need: Need) -> IntArray:
    """Containers that fit on each node that will do; int64 array of shape (N,)."""
    columns = [column for column, amount in enumerate(need.demand) if amount]
    if not columns:
        return np.zeros(len(nodes), dtype=np.int64)
    amounts = np.array([need.demand[column] for column in columns], dtype=np.int64)
    slots: IntArray = np.maximum(np.min(nodes.free[:, columns] // amounts, axis=1), 0)
    for number, cell in enumerate(nodes.cells):
        slots[cell.rows] *= unpack_bits(nodes.eligible(need, number), cell.size)
    return slots


def promised_to_kin(requests: Iterable[PendingRequest], request: PendingRequest) -> Mapping[SubClusterId, int]:
    """Count what is tentatively allocated to those of an attempt's requests that ask for the same tags."""
    counts: Counter[SubClusterId] = Counter()
    for each in requests:
        if _tags(each) == _tags(request):
            counts.update(each.tentative)
    return counts


def _placement(request: PendingRequest) -> PlacementConstraint:
    return request.key.placement or PlacementConstraint()


def _tags(request: PendingRequest) -> frozenset[str] | None:
    return None if request.key.placement is None else request.key.placement.tags


class TagBook:
    """Bounds of the requests of one cycle.

    Args:
        subclusters: In the order of their rows.
        nodes: What is free.
        names: Of the nodes, by their rows.
        tagged: Where each attempt has containers with tags.
    """

    def __init__(
        self,
        subclusters: Sequence[SubClusterId],
        nodes: SharedNodes,
        names: Sequence[NodeId],
        tagged: Mapping[ApplicationAttemptId, Sequence[TaggedSpot]],
    ) -> None:
        self._subclusters = subclusters
        self._nodes = nodes
        self._rows = {name: row for row, name in enumerate(names)}
        self._tagged = tagged
        self._kin: dict[_Kin, int] = {}
        self._slots: dict[Need, IntArray] = {}

    def bounds_of(
        self, attempt: ApplicationAttemptId, request: PendingRequest, need: Need, promised: Mapping[SubClusterId, int]
    ) -> TagBounds:
        """Bounds of a request whose constraint bounds it.

        Args:
            attempt: Whose it is.
            request: What it is.
            need: What its row needs.
            promised: What is allocated tentatively to its kin.
        """
        placement = _placement(request)
        kin = self._kin.setdefault((attempt, placement.tags), len(self._kin))
        at_node = self._left_on_nodes(attempt, placement)
        if need not in self._slots:
            self._slots[need] = slots_on(self._nodes, need)
        usable = np.minimum(self._slots[need], at_node)
        at_cluster = np.zeros(len(self._subclusters), dtype=np.int64)
        for cell in self._nodes.cells:
            name = self._subclusters[cell.cluster]
            most = request.most_at.get(name, NO_BOUND) - promised.get(name, 0)
            at_cluster[cell.cluster] = max(0, min(most, int(usable[cell.rows].sum())))
        return TagBounds(kin, at_cluster, at_node)

    def _left_on_nodes(self, attempt: ApplicationAttemptId, placement: PlacementConstraint) -> IntArray:
        most = NO_BOUND if placement.most_a_node is None else placement.most_a_node
        left = np.full(len(self._nodes), most, dtype=np.int64)
        for spot in self._tagged.get(attempt, ()):
            row = self._rows.get(spot.node)
            if row is not None and placement.tags <= spot.placement.tags:
                left[row] -= 1
        return np.maximum(left, 0)
