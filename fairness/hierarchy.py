"""Entitlement in a tree of queues: what each queue should hold, given what everybody wants."""

from dataclasses import dataclass

import numpy as np

from fairness.arrays import FloatArray, IntArray, ShapeMismatchError, expect_shape
from fairness.max_min import weighted_max_min


@dataclass(frozen=True, slots=True)
class QueueTree:
    """Queues as rows; a parent stands before its children.

    Attributes
    ----------
    parent : int64 array of shape (n_queues,)
        Row of the parent, -1 for a root.
    weight : float64 array of shape (n_queues,)
        Among the children of one parent.
    guaranteed : float64 array of shape (n_queues, n_resources)
        Given first, as far as there is demand for it.
    maximum : float64 array of shape (n_queues, n_resources)
        Never exceeded; ``inf`` for no limit.

    Raises
    ------
    ShapeMismatchError
        If axes differ.
    ValueError
        If a parent does not stand before its child, or an amount is negative.
    """

    parent: IntArray
    weight: FloatArray
    guaranteed: FloatArray
    maximum: FloatArray

    def __post_init__(self) -> None:
        if self.guaranteed.ndim != 2:  # noqa: PLR2004 - queues by resources
            raise ShapeMismatchError(f"guaranteed has {self.guaranteed.ndim} dimensions, expected 2")
        n_queues = self.parent.shape[0]
        expect_shape("weight", self.weight, (n_queues,))
        expect_shape("guaranteed", self.guaranteed, (n_queues, self.guaranteed.shape[1]))
        expect_shape("maximum", self.maximum, self.guaranteed.shape)
        misplaced = np.flatnonzero((self.parent < -1) | (self.parent >= np.arange(n_queues)))
        if misplaced.size:
            raise ValueError(f"queue {misplaced[0]} does not stand after its parent {self.parent[misplaced[0]]}")
        for name, array in (("weight", self.weight), ("guaranteed", self.guaranteed), ("maximum", self.maximum)):
            if np.isnan(array).any() or (array < 0).any():
                raise ValueError(f"{name} holds a negative amount or NaN")

    def children(self) -> list[IntArray]:
        """Rows of the children of each queue, and of the roots as the last entry."""
        n_queues = self.parent.shape[0]
        by_parent = np.argsort(self.parent, kind="stable")
        bounds = np.searchsorted(self.parent[by_parent], np.arange(-1, n_queues + 1))
        groups = [by_parent[bounds[i + 1] : bounds[i + 2]] for i in range(n_queues)]
        return [*groups, by_parent[bounds[0] : bounds[1]]]


def hierarchical_entitlement(tree: QueueTree, demand: FloatArray, capacity: FloatArray) -> FloatArray:
    """Present entitlement of each queue of a tree.

    From the root down, each parent's entitlement is divided among its children by `weighted_max_min`, each resource by
    itself: guarantees first, then by weight, never more than is wanted below or allowed. What a queue does not want is
    its siblings', then its parent's siblings'.

    Parameters
    ----------
    tree : QueueTree
    demand : float64 array of shape (n_queues, n_resources)
        What each leaf holds and waits for. Entries of parents are ignored: a parent wants what its children may take.
    capacity : float64 array of shape (n_resources,)

    Returns
    -------
    float64 array of shape (n_queues, n_resources)

    Raises
    ------
    ShapeMismatchError
        If axes differ.

    Source: YARN's ComputeFairShares (fair scheduler) and PreemptableResourceCalculator (capacity scheduler), which are
    the cases of weights with minima, and of guarantees as weights.
    """
    expect_shape("demand", demand, tree.guaranteed.shape)
    expect_shape("capacity", capacity, (tree.guaranteed.shape[1],))
    groups = tree.children()
    wanted = _wanted(tree, demand, groups)
    entitled = np.zeros_like(wanted)
    for parent in (-1, *range(tree.parent.shape[0])):
        children = groups[parent]
        if children.size == 0:
            continue
        amount = capacity if parent == -1 else entitled[parent]
        for resource in range(capacity.shape[0]):
            entitled[children, resource] = weighted_max_min(
                wanted[children, resource],
                tree.weight[children],
                float(amount[resource]),
                guaranteed=tree.guaranteed[children, resource],
            )
    return entitled


def _wanted(tree: QueueTree, demand: FloatArray, groups: list[IntArray]) -> FloatArray:
    """Demand of each queue, limited by its maximum and, for parents, summed from below."""
    wanted = demand.astype(np.float64, copy=True)
    for queue in range(tree.parent.shape[0] - 1, -1, -1):
        if groups[queue].size:
            wanted[queue] = wanted[groups[queue]].sum(axis=0)
        wanted[queue] = np.minimum(wanted[queue], tree.maximum[queue])
    return wanted
