"""Nearness of containers to their data, and how long to wait for it.

Source: Zaharia et al., "Delay Scheduling", EuroSys 2010, section 3.5.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shim.scheduling.snapshot import IntArray, Preferred, Scope, Snapshot


class Nearness:
    """Levels of nearness: the lower the nearer."""

    NODE = 0
    RACK = 1
    ANY = 2


@dataclass(frozen=True, slots=True)
class Places:
    """Places where a request's containers are wanted.

    Attributes:
        nodes: int64 array of shape (n,): rows of nodes that hold data, with `counts`, how many are wanted at each.
        near: int64 array of shape (m,): rows of nodes of the racks and clusters that were named.
    """

    nodes: IntArray
    counts: IntArray
    near: IntArray

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was named, so that nothing is worth waiting for."""
        return not self.nodes.size and not self.near.size


def places_of(snapshot: Snapshot, preferred: Sequence[Preferred]) -> Places:
    """The places of one request; what is named as a cluster counts as near."""
    at = [(each.place, each.count) for each in preferred if each.scope is Scope.NODE and each.count > 0]
    rows, counts = np.array(at, dtype=np.int64).reshape(-1, 2).T
    racks = [each.place for each in preferred if each.scope is Scope.RACK and each.count > 0]
    is_near = np.isin(snapshot.nodes.racks, racks) if racks and len(snapshot.nodes.racks) else None
    if is_near is None:
        is_near = np.zeros(len(snapshot.nodes), dtype=np.bool_)
    clusters = {each.place for each in preferred if each.scope is Scope.CLUSTER and each.count > 0}
    for cell in snapshot.nodes.cells:
        if cell.cluster in clusters:
            is_near[cell.rows] = True
    return Places(rows, counts, np.flatnonzero(is_near).astype(np.int64))


def longest_wait_s(skips: float, task_s: float, n_slots: int) -> float:
    """Seconds in which so many offers come when every slot is busy and tasks run so long: D T / S."""
    return skips * task_s / n_slots
