"""Gangs among the attempts of a queue on real clusters, where a plan is made of several parts.

Room that comes free bit by bit would always be taken by smaller requests. So a gang that was overtaken for too long has
the room of its queue kept free for as long as it was overtaken; then others have as long, and so on.
"""

from collections.abc import Iterable, Mapping, Sequence

from shim.domain.ids import SubClusterId
from shim.domain.requests import PendingRequest
from shim.domain.resources import ResourceVector

__all__ = ["could_ever_start", "partial_rows"]


def could_ever_start(requests: Iterable[PendingRequest], total: ResourceVector) -> bool:
    """Tell whether an attempt waits for a gang that all nodes together, if they were empty, could hold."""
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
