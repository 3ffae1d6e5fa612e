"""Placement of services one container at a time: by the popularity of their tags, or by how few nodes would do.

Source: Garefalakis et al., EuroSys 2018, section 5.3.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from shim.scheduling.job_table import FloatArray
from shim.scheduling.service_caps import without_cap_room
from shim.scheduling.service_round import ServiceRound
from shim.scheduling.snapshot import IntArray

__all__ = ["ORDERS", "place_by"]

_FREE_OF_COST = 1e-9
_JOINT = frozenset({"tag-popularity", "node-candidates"})
"""Orders in which a group looks for a set with room for all of it; in the others each container looks for itself."""


def _added_cost(rounds: ServiceRound, row: int, placement: IntArray) -> FloatArray:
    """Cost of one more container of a group on each node: its own violations, and those of others in its sets."""
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
        fits = (left >= np.array(rounds.groups[row].demand)).all(axis=1) & rounds.may_go[row]
        return int((fits & (_added_cost(rounds, row, placement) < _FREE_OF_COST)).sum())

    begun = [row for row in open_rows if placement[row].any()]  # its set has room for all of it: nobody else begins
    return begun[0] if begun else min(open_rows, key=lambda row: (n_nodes(row), row))


def _arrival(rounds: ServiceRound, open_rows: Sequence[int], placement: IntArray) -> int:  # noqa: ARG001
    return open_rows[0]


ORDERS: Mapping[str, Callable[[ServiceRound, Sequence[int], IntArray], int]] = MappingProxyType(
    {"tag-popularity": _popularity, "node-candidates": _candidates, "arrival": _arrival, "no-constraints": _arrival}
)
"""By name: which of the groups that have containers left is placed next. `no-constraints` then looks at room alone."""


def _home(rounds: ServiceRound, row: int, left: IntArray, cost: FloatArray) -> NDArray[np.bool_]:
    """Nodes of the set that a group with affinity to itself should go to whole; all nodes if there is no such set.

    One by one they would begin in a set that has no room for the last. Of the sets with room where nothing is broken
    yet but that affinity, the smallest.
    """
    group, everywhere = rounds.groups[row], np.ones(rounds.n_nodes, dtype=np.bool_)
    wanted = [
        count
        for constraint in rounds.constraints
        if constraint.subject <= group.tags and len(constraint.any_of) == 1
        for count in constraint.any_of[0]
        if count.tags <= group.tags and count.least > 0 and count.group != "node"
    ]
    if not wanted:
        return everywhere
    slots = rounds.slots_of(row, left) * (cost <= cost.min() + _FREE_OF_COST)
    sets = rounds.sets_of(wanted[0].group)
    room = sets @ slots
    if not (room >= group.count).any():
        room = sets @ rounds.slots_of(row, left)
    enough = np.flatnonzero(room >= group.count)
    return sets[enough[np.argmin(room[enough])]] > 0 if len(enough) else everywhere


def place_by(order: str, rounds: ServiceRound) -> IntArray:
    """Place all services that fit whole; each container where it breaks least, then where it fits best."""
    placement = np.zeros((len(rounds.groups), rounds.n_nodes), dtype=np.int64)
    open_rows, homes = list(range(len(rounds.groups))), dict[int, NDArray[np.bool_]]()
    while open_rows:
        row = ORDERS[order](rounds, open_rows, placement)
        group, left = rounds.groups[row], rounds.left(placement)
        fits = (left >= np.array(group.demand)).all(axis=1) & rounds.may_go[row]
        fits &= ~without_cap_room(rounds.caps, row, placement)
        if not fits.any():
            failed = [each for each, other in enumerate(rounds.groups) if other.service == group.service]
            placement[failed] = 0
            open_rows = [each for each in open_rows if each not in failed]
            continue
        after = left - np.array(group.demand)
        is_short = (left >= rounds.kept).all(axis=1) & ~(after >= rounds.kept).all(axis=1)
        broken = np.zeros(rounds.n_nodes) if order == "no-constraints" else _added_cost(rounds, row, placement)
        if order in _JOINT and not placement[row].any():
            homes[row] = _home(rounds, row, left, broken)
        cost = broken + np.where(fits, 0.0, np.inf)
        is_away = ~homes[row] if row in homes else np.zeros(rounds.n_nodes, dtype=np.bool_)
        keys = (np.arange(rounds.n_nodes), after.sum(axis=1), is_short, np.round(cost, 9), is_away | ~fits)
        placement[row, int(np.lexsort(keys)[0])] += 1
        if placement[row].sum() == group.count:
            open_rows.remove(row)
    return placement
