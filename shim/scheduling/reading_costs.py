"""Costs of reading a request's data from each sub-cluster, in every placement.

Sub-clusters that hold data which a request names come first, then those that share a file system with one of them, then
the others, by what reading costs between the two. That is told in time: to each of these a request goes once it has
waited for as long as it would be worth to wait. A request that names nothing that is known costs the same everywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shim.domain.file_systems import NO_FILE_SYSTEMS, FileSystems
from shim.domain.ids import SubClusterId

IntArray = NDArray[np.int64]


_MS = 1000


class ReadingCost:
    """Costs of reading: the lower the better."""

    HERE = 0
    """The data is there, or nothing is named."""
    SHARED = 1
    """Its file system is that of a sub-cluster where the data is."""
    ACROSS = 2
    """It has to be read from another sub-cluster, and nothing is waited for; more than this is a time in ms."""


@dataclass(frozen=True, slots=True)
class DataRules:
    """Rules of operators on data.

    Attributes:
        file_systems: Sub-clusters' own.
        read_across_s: How long a request waits for room near its data before it reads across; 0 not to wait.
        reads_from_s: The same for single pairs: by the sub-cluster that reads, and the one that holds the data.
    """

    file_systems: FileSystems = NO_FILE_SYSTEMS
    read_across_s: float = 0.0
    reads_from_s: Mapping[SubClusterId, Mapping[SubClusterId, float]] = field(default_factory=dict)

    def costs_between(self, names: Sequence[SubClusterId]) -> IntArray:
        """Costs of reading data of a row's sub-cluster in a column's: int64 array of shape (n_clusters, n_clusters)."""
        return np.array([[self._cost(holder, reader) for reader in names] for holder in names], np.int64).reshape(
            len(names), len(names)
        )

    def _cost(self, holder: SubClusterId, reader: SubClusterId) -> int:
        if holder == reader:
            return ReadingCost.HERE
        if reader in self.file_systems.shared_with(holder):
            return ReadingCost.SHARED
        across_s = self.reads_from_s.get(reader, {}).get(holder, self.read_across_s)
        return max(ReadingCost.ACROSS, round(across_s * _MS))


NOTHING_SHARED = DataRules()


def reading_costs(holds: NDArray[np.bool_], between: IntArray) -> IntArray:
    """Cost matrix of requests and sub-clusters.

    Parameters
    ----------
    holds : bool array of shape (n_requests, n_clusters)
        Whether data that the request names is there.
    between : int64 array of shape (n_clusters, n_clusters)
        Costs of reading what a row's sub-cluster holds in a column's, see `DataRules.costs_between`.

    Returns:
    -------
    int64 array of shape (n_requests, n_clusters)
        Values of `ReadingCost`, from the nearest sub-cluster that holds any; zeros in the rows of requests that name
        nothing.
    """
    from_each = np.where(holds[:, :, np.newaxis], between, np.iinfo(np.int64).max)
    nearest: IntArray = from_each.min(axis=1, initial=np.iinfo(np.int64).max)
    return np.where(holds.any(axis=1, keepdims=True), nearest, ReadingCost.HERE).astype(np.int64)


def waits_s(costs: IntArray) -> NDArray[np.float64]:
    """Seconds that a request waits before it goes to a sub-cluster where reading costs so much: array of that shape."""
    return np.where(costs > ReadingCost.ACROSS, costs / _MS, 0.0)
