"""Costs of reading a request's data from each sub-cluster, in every placement.

Sub-clusters that hold data which a request names come first, then those that share a file system with one of them, then
the others. To these a request goes once it has waited for `read_across_s`: a bound, after which it goes anywhere.
A request that names nothing that is known costs the same everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shim.domain.file_systems import NO_FILE_SYSTEMS, FileSystems
from shim.domain.ids import SubClusterId

__all__ = ["NOTHING_SHARED", "DataRules", "ReadingCost", "reading_costs"]

IntArray = NDArray[np.int64]


class ReadingCost:
    """Costs of reading: the lower the better."""

    HERE = 0
    """The data is there, or nothing is named."""
    SHARED = 1
    """Its file system is that of a sub-cluster where the data is."""
    ACROSS = 2
    """It has to be read from another sub-cluster."""


@dataclass(frozen=True, slots=True)
class DataRules:
    """Rules of operators on data.

    Attributes:
        file_systems: Sub-clusters' own.
        read_across_s: How long a request waits for room near its data before it reads across; 0 not to wait.
    """

    file_systems: FileSystems = NO_FILE_SYSTEMS
    read_across_s: float = 0.0

    def sharing(self, names: Sequence[SubClusterId]) -> NDArray[np.bool_]:
        """Pairs of sub-clusters that share a file system: bool array of shape (n_clusters, n_clusters), symmetric."""
        shared = [self.file_systems.shared_with(name) for name in names]
        return np.array([[other in each for other in names] for each in shared], dtype=np.bool_).reshape(
            len(names), len(names)
        )


NOTHING_SHARED = DataRules()


def reading_costs(holds: NDArray[np.bool_], sharing: NDArray[np.bool_]) -> IntArray:
    """Cost matrix of requests and sub-clusters.

    Parameters
    ----------
    holds : bool array of shape (n_requests, n_clusters)
        Whether data that the request names is there.
    sharing : bool array of shape (n_clusters, n_clusters)
        Whether two sub-clusters share a file system.

    Returns:
    -------
    int64 array of shape (n_requests, n_clusters)
        Values of `ReadingCost`; zeros in the rows of requests that name nothing.
    """
    near = holds | (holds.astype(np.int64) @ sharing.astype(np.int64) > 0)
    costs: IntArray = np.where(near, ReadingCost.SHARED, ReadingCost.ACROSS).astype(np.int64)
    costs[holds | ~holds.any(axis=1, keepdims=True)] = ReadingCost.HERE
    return costs
