"""Placements of one queue's cycle by row, in the words of its attempts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from shim.domain.ids import SubClusterId
from shim.domain.requests import PendingRequest
from shim.scheduling.plan import MadeBy, Plan
from shim.scheduling.snapshot import Scope, Snapshot

__all__ = ["QueuePlacements"]


@dataclass(slots=True)
class QueuePlacements:
    """Placements of a cycle, by row.

    Attributes:
        starts: Containers by sub-cluster.
        hosts: Those of them at hosts that the asks name.
        capacities: Containers that there is capacity for, by sub-cluster.
        reasons: Why the rest of a request waits on purpose.
        made_by: What the plan of the row is worth.
    """

    starts: dict[int, dict[SubClusterId, int]] = field(default_factory=dict)
    hosts: dict[int, dict[SubClusterId, dict[str, int]]] = field(default_factory=dict)
    capacities: Mapping[int, Mapping[SubClusterId, int]] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    made_by: dict[int, MadeBy] = field(default_factory=dict)

    def read(
        self,
        plan: Plan,
        snapshot: Snapshot,
        names: Sequence[SubClusterId],
        host_of: Callable[[int], str],
        request_of: Callable[[int], PendingRequest],
    ) -> None:
        """Take in a plan.

        Args:
            plan: Of a cycle.
            snapshot: What the cycle started from.
            names: Of the sub-clusters, in the order of their rows.
            host_of: The host of a node, by the node's row.
            request_of: What a row stands for.
        """
        cells = snapshot.nodes.cells
        for grant in plan.grants:
            at_node = grant.scope is Scope.NODE
            name = names[cells[snapshot.nodes.cell_of(grant.place)].cluster if at_node else grant.place]
            _count(self.starts.setdefault(grant.request, {}), name, grant.count)
            if at_node and (host := host_of(grant.place)) in request_of(grant.request).named:
                _count(self.hosts.setdefault(grant.request, {}).setdefault(name, {}), host, grant.count)
        self.reasons |= {hold.request: hold.reason.text for hold in plan.holds}
        self.made_by |= dict.fromkeys(snapshot.requests.live.tolist(), plan.made_by)


_KeyT = TypeVar("_KeyT")


def _count(counts: dict[_KeyT, int], key: _KeyT, count: int) -> None:
    counts[key] = counts.get(key, 0) + count
