"""Placements of the cycles of a queue, read off their plans in the words of its attempts.

Gangs among the attempts of a queue on real clusters, where a plan is made of several parts.

Room that comes free bit by bit would always be taken by smaller requests. So a gang that was overtaken for too long has
the room of its queue kept free for as long as it was overtaken; then others have as long, and so on.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from shim.domain.ids import SubClusterId
from shim.domain.requests import PendingRequest
from shim.domain.resources import ResourceVector
from shim.scheduling.plan import MadeBy, Plan
from shim.scheduling.snapshot import Scope, Snapshot


@dataclass(slots=True)
class PlacedRows:
    """Placements of a cycle, by row.

    Attributes:
        starts: Containers by sub-cluster.
        hosts: Those of them at hosts that the asks name.
        capacities: Containers that there is capacity for, by sub-cluster.
        reasons: Why the rest of a request waits on purpose.
        made_by: What the plan of the row is worth.
        on_purpose: Rows that wait for a time, or for a solver, and not for room.
    """

    starts: dict[int, dict[SubClusterId, int]] = field(default_factory=dict)
    hosts: dict[int, dict[SubClusterId, dict[str, int]]] = field(default_factory=dict)
    capacities: Mapping[int, Mapping[SubClusterId, int]] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    made_by: dict[int, MadeBy] = field(default_factory=dict)
    on_purpose: set[int] = field(default_factory=set)

    def read(
        self,
        plan: Plan,
        snapshot: Snapshot,
        names: Sequence[SubClusterId],
        named: Mapping[int, Mapping[str, int]],
        host_of: Callable[[int], str],
    ) -> None:
        """Take in a plan.

        Args:
            plan: Of a cycle.
            snapshot: What it started from.
            names: Of the sub-clusters, by their rows.
            named: The places that each row names.
            host_of: The host of a node, by its row.
        """
        cells = snapshot.nodes.cells
        for grant in plan.grants:
            at_node = grant.scope is Scope.NODE
            name = names[cells[snapshot.nodes.cell_of(grant.place)].cluster if at_node else grant.place]
            _count(self.starts.setdefault(grant.request, {}), name, grant.count)
            if at_node and (host := host_of(grant.place)) in named[grant.request]:
                _count(self.hosts.setdefault(grant.request, {}).setdefault(name, {}), host, grant.count)
        self.reasons |= {hold.request: hold.reason.text for hold in plan.holds}
        self.on_purpose |= {hold.request for hold in plan.holds if hold.until_s is not None}
        self.made_by |= dict.fromkeys(snapshot.requests.live.tolist(), plan.made_by)


_KeyT = TypeVar("_KeyT")


def _count(counts: dict[_KeyT, int], key: _KeyT, count: int) -> None:
    counts[key] = counts.get(key, 0) + count


def could_ever_start(requests: Iterable[PendingRequest], total: ResourceVector) -> bool:
    """Return whether an attempt waits for a gang that all nodes together, if they were empty, could hold."""
    parts = [request for request in requests if request.gang and request.unallocated]
    wanted = sum((request.key.resource.times(request.unallocated) for request in parts), ResourceVector())
    return bool(parts) and wanted.fits_in(total)


def partial_rows(
    rows: Iterable[tuple[PendingRequest, int]], starts: Mapping[int, Mapping[SubClusterId, int]]
) -> Sequence[int]:
    """Rows of an attempt's gang if only a part of it would start: by a solver, or on nodes of one label alone.

    Args:
        rows: Of the attempt.
        starts: Containers by row and sub-cluster, of all cycles of the queue together.
    """
    gang = [(request, row) for request, row in rows if request.gang]
    found = sum(sum(starts.get(row, {}).values()) for _, row in gang)
    return [row for _, row in gang] if 0 < found < sum(request.unallocated for request, _ in gang) else ()
