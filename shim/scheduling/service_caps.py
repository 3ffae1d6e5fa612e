"""Caps on what services may have of the nodes of a cluster together, beside what each node has room for.

They come from the limits of a queue, and from placement constraints of which a part is promised already.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shim.scheduling.job_table import Column
from shim.scheduling.snapshot import IntArray, RequestColumn, Snapshot

__all__ = ["ServiceCap", "caps_of", "fit_in_caps", "without_cap_room"]


@dataclass(frozen=True, slots=True, eq=False)
class ServiceCap:
    """Amount of something that groups take of some nodes.

    Attributes:
        amounts: int64 array of shape (n_groups,): what one container of each takes; 0 for groups that it is not about.
        nodes: bool array of shape (N,).
        most: Of the sum.
    """

    amounts: IntArray
    nodes: NDArray[np.bool_]
    most: int

    def taken(self, placement: IntArray) -> int:
        """Amount that a placement takes; it is an int64 array of shape (n_groups, N)."""
        return int(self.amounts @ placement[:, self.nodes].sum(axis=1))


def caps_of(snapshot: Snapshot, requests: Sequence[int]) -> Sequence[ServiceCap]:
    """Caps of the requests that are groups, in their order; none where nothing but nodes bounds them."""
    cells = snapshot.nodes.cells
    clusters = np.repeat([cell.cluster for cell in cells], [cell.size for cell in cells])
    return [*_of_queues(snapshot, requests, clusters), *_of_tags(snapshot, requests, clusters)]


def _of_queues(snapshot: Snapshot, requests: Sequence[int], clusters: IntArray) -> Iterator[ServiceCap]:
    bounds = snapshot.queues.room_at
    if not bounds.size or not requests:
        return
    jobs = snapshot.requests.numbers[RequestColumn.JOB, list(requests)]
    queues = snapshot.jobs[Column.QUEUE, jobs].astype(np.int64)
    demands = np.array([snapshot.requests.needs[row].demand for row in requests], dtype=np.int64)
    for queue, cluster, kind in np.argwhere(bounds >= 0).tolist():
        amounts = np.where(queues == queue, demands[:, kind], 0)
        if amounts.any():
            yield ServiceCap(amounts, clusters == cluster, int(bounds[queue, cluster, kind]))


def _of_tags(snapshot: Snapshot, requests: Sequence[int], clusters: IntArray) -> Iterator[ServiceCap]:
    by_kin: dict[int, list[int]] = {}
    for group, row in enumerate(requests):
        if row in snapshot.requests.tag_bounds:
            by_kin.setdefault(snapshot.requests.tag_bounds[row].kin, []).append(group)
    for groups in by_kin.values():
        amounts = np.zeros(len(requests), dtype=np.int64)
        amounts[groups] = 1
        most = snapshot.requests.tag_bounds[requests[groups[0]]].at_cluster
        for cluster in np.unique(clusters).tolist():
            yield ServiceCap(amounts, clusters == cluster, int(most[cluster]))


def without_cap_room(caps: Sequence[ServiceCap], group: int, placement: IntArray) -> NDArray[np.bool_]:
    """Nodes where one more container of a group would be beyond a cap; shape (N,)."""
    found = np.zeros(placement.shape[1], dtype=np.bool_)
    for cap in caps:
        amount = int(cap.amounts[group])
        if amount and cap.taken(placement) + amount > cap.most:
            found |= cap.nodes
    return found


def fit_in_caps(caps: Sequence[ServiceCap], placement: IntArray) -> bool:
    """Tell whether a placement keeps to all caps."""
    return all(cap.taken(placement) <= cap.most for cap in caps)
