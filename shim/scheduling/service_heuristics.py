"""Placement of services one container at a time: by the popularity of their tags, or by how few nodes would do.

Source: Garefalakis et al., EuroSys 2018, section 5.3.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from shim.scheduling.job_table import FloatArray
from shim.scheduling.service_round import ServiceRound
from shim.scheduling.snapshot import IntArray

__all__ = ["ORDERS", "place_by"]

_FREE_OF_COST = 1e-9


def _added_cost(rounds: ServiceRound, row: int, placement: IntArray) -> FloatArray:
    """What one more container of a group costs on each node: its own violations, and those of others in its sets."""
    tags, placed = rounds.groups[row].tags, rounds.with_running(placement)
    cost = np.zeros(rounds.n_nodes)
    for constraint in rounds.constraints:
        if constraint.subject <= tags:
            own = [
                sum((rounds.added_extent(count, placed) for count in choice), np.zeros(rounds.n_nodes))
                for choice in constraint.any_of
            ]
            cost += constraint.weight * np.min(own, axis=0)
        if len(constraint.any_of) == 1:
            for count in constraint.any_of[0]:
                if count.tags <= tags:
                    cost += constraint.weight * rounds.harm_to_others(constraint, count, placed)
    return cost


def _popularity(rounds: ServiceRound, open_rows: Sequence[int], placement: IntArray) -> int:  # noqa: ARG001
    def popular(row: int) -> int:
        tags = rounds.groups[row].tags
        return sum(
            (each.subject <= tags) + sum(count.tags <= tags for choice in each.any_of for count in choice)
            for each in rounds.constraints
        )

    return max(open_rows, key=lambda row: (popular(row), -row))


def _candidates(rounds: ServiceRound, open_rows: Sequence[int], placement: IntArray) -> int:
    left = rounds.left(placement)

    def n_nodes(row: int) -> int:
        fits = (left >= np.array(rounds.groups[row].demand)).all(axis=1)
        return int((fits & (_added_cost(rounds, row, placement) < _FREE_OF_COST)).sum())

    return min(open_rows, key=lambda row: (n_nodes(row), row))


def _arrival(rounds: ServiceRound, open_rows: Sequence[int], placement: IntArray) -> int:  # noqa: ARG001
    return open_rows[0]


ORDERS: Mapping[str, Callable[[ServiceRound, Sequence[int], IntArray], int]] = MappingProxyType(
    {"tag-popularity": _popularity, "node-candidates": _candidates, "arrival": _arrival, "no-constraints": _arrival}
)
"""By name: which of the groups that have containers left is placed next. `no-constraints` then looks at room alone."""


def place_by(order: str, rounds: ServiceRound) -> IntArray:
    """Place all services that fit whole; each container where it breaks least, then where it fits best."""
    placement = np.zeros((len(rounds.groups), rounds.n_nodes), dtype=np.int64)
    open_rows = list(range(len(rounds.groups)))
    while open_rows:
        row = ORDERS[order](rounds, open_rows, placement)
        group, left = rounds.groups[row], rounds.left(placement)
        fits = (left >= np.array(group.demand)).all(axis=1)
        if not fits.any():
            failed = [each for each, other in enumerate(rounds.groups) if other.service == group.service]
            placement[failed] = 0
            open_rows = [each for each in open_rows if each not in failed]
            continue
        after = left - np.array(group.demand)
        is_short = (left >= rounds.kept).all(axis=1) & ~(after >= rounds.kept).all(axis=1)
        broken = 0.0 if order == "no-constraints" else _added_cost(rounds, row, placement)
        cost = broken + np.where(fits, 0.0, np.inf)
        keys = (np.arange(rounds.n_nodes), after.sum(axis=1), is_short, np.round(cost, 9))
        placement[row, int(np.lexsort(keys)[0])] += 1
        if placement[row].sum() == group.count:
            open_rows.remove(row)
    return placement
