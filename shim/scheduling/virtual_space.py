"""A plan of one job by itself, in virtual time on an empty pool: troublesome tasks first, the others around them.

Tasks are rectangles of a demand and a time. Those that are long or hard to pack are placed first, where nothing is in
their way; then the others, ancestors backwards from what they feed and descendants forwards, so that dead space falls
to those that can use it. Several choices of what is troublesome are tried, and several orders of the rest; the plan
that ends first gives the order in which the job's stages are preferred.

Source: Grandl et al., "Graphene: Packing and Dependency-aware Scheduling for Data-Parallel Clusters", OSDI 2016,
sections 4 and 5.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence

import numpy as np

from shim.scheduling.durations import FloatArray
from shim.scheduling.former_runs import paths_behind_s
from shim.scheduling.knowledge import StageOutline

_MOST_PIECES = 48
"""Tasks of a stage are placed in so many pieces at most."""
_MOST_STAGES = 60
_LEAST_WEIGHT = 0.05
_SHORTEST_S = 1e-3
_ENOUGH = 1e-9
_Interval = tuple[float, float]


class VirtualSpace:
    """Room over virtual time, which may be negative.

    Amounts are plain floats: there are two or three resource types, for which an array costs ten times as much.

    Args:
        capacity: Of the pool: float64 array of shape (R,).
    """

    def __init__(self, capacity: FloatArray) -> None:
        self._most = [amount + _ENOUGH for amount in capacity.tolist()]
        self._times: list[float] = [0.0]
        self._used: list[list[float]] = [[0.0] * len(self._most)]

    def put(self, demand: FloatArray, length_s: float, bound_s: float, *, forwards: bool) -> _Interval:
        """Place a rectangle at the earliest time from `bound_s` on, or at the latest that ends by it."""
        amounts: list[float] = demand.tolist()
        place = self._forwards if forwards else self._backwards
        begin_s = place(amounts, length_s, bound_s)
        first, last = self._cut(begin_s), self._cut(begin_s + length_s)
        for index in range(first, last):
            self._used[index] = [used + amount for used, amount in zip(self._used[index], amounts, strict=True)]
        return begin_s, begin_s + length_s

    def _is_full(self, index: int, amounts: list[float]) -> bool:
        return any(
            used + amount > most for used, amount, most in zip(self._used[index], amounts, self._most, strict=True)
        )

    def _full(self, amounts: list[float], begin_s: float, end_s: float, *, first: bool) -> int | None:
        """Index of the first or the last segment between two times that has no room; None if all have."""
        low = max(0, bisect_right(self._times, begin_s + _ENOUGH) - 1)
        indices = range(low, bisect_left(self._times, end_s - _ENOUGH))
        ordered = indices if first else reversed(indices)
        return next((index for index in ordered if self._is_full(index, amounts)), None)

    def _forwards(self, amounts: list[float], length_s: float, from_s: float) -> float:
        begin_s = from_s
        while (index := self._full(amounts, begin_s, begin_s + length_s, first=False)) is not None:
            begin_s = self._times[index + 1]  # the last segment is empty for ever
        return begin_s

    def _backwards(self, amounts: list[float], length_s: float, by_s: float) -> float:
        """End by a time; before the first one everything is empty."""
        end_s = by_s
        while (index := self._full(amounts, end_s - length_s, end_s, first=True)) is not None:
            end_s = self._times[index]
        return end_s - length_s

    def _cut(self, time_s: float) -> int:
        """Index of the segment that begins at a time; made if there is none."""
        index = bisect_right(self._times, time_s + _ENOUGH) - 1
        if index >= 0 and abs(self._times[index] - time_s) <= _ENOUGH:
            return index
        used = self._used[index] if index >= 0 else [0.0] * len(self._most)
        insort(self._times, time_s)
        self._used.insert(index + 1, used)
        return index + 1


def ancestors_of(graph: Sequence[StageOutline]) -> list[set[int]]:
    """All stages that have to end before each; parents come before children in the graph's order."""
    found: list[set[int]] = []
    for stage in graph:
        found.append(set(stage.parents).union(*(found[parent] for parent in stage.parents)))
    return found


def lower_bound_s(graph: Sequence[StageOutline], capacity: FloatArray) -> float:
    """No plan is shorter: the critical path, and the work over the capacity of each resource."""
    ends_s: list[float] = []
    work: FloatArray = np.zeros_like(capacity)
    for stage in graph:
        length_s = max(stage.expected_s, _SHORTEST_S)
        ends_s.append(length_s + max((ends_s[parent] for parent in stage.parents), default=0.0))
        work = work + np.array(stage.demand, dtype=np.float64) * stage.n_tasks * length_s
    return max(max(ends_s, default=0.0), float((work / capacity).max()))


class _Plan:
    """One attempt: what is troublesome, and the order of the rest."""

    def __init__(self, graph: Sequence[StageOutline], capacity: FloatArray, most_pieces: int) -> None:
        self._graph, self._capacity, self._most_pieces = graph, capacity, most_pieces
        self._space = VirtualSpace(capacity)
        self._children = [
            [child for child, stage in enumerate(graph) if number in stage.parents] for number in range(len(graph))
        ]
        self.spans: dict[int, _Interval] = {}

    def place(self, stages: Iterable[int], *, forwards: bool) -> None:
        """Place some stages, in an order that their edges allow."""
        for number in sorted(stages, reverse=not forwards):
            stage = self._graph[number]
            length_s, demand, pieces = self._pieces(stage)
            if forwards:
                bound_s = max((self.spans[each][1] for each in stage.parents if each in self.spans), default=0.0)
            else:
                after = [self.spans[each][0] for each in self._children[number] if each in self.spans]
                bound_s = min(after, default=max((end_s for _, end_s in self.spans.values()), default=0.0))
            placed = [self._space.put(demand, length_s, bound_s, forwards=forwards) for _ in range(pieces)]
            self.spans[number] = (min(begin for begin, _ in placed), max(end for _, end in placed))

    def _pieces(self, stage: StageOutline) -> tuple[float, FloatArray, int]:
        """Length and demand of one piece, and how many there are: tasks that are many are placed several at once."""
        demand = np.minimum(np.array(stage.demand, dtype=np.float64), self._capacity)
        asked = demand > 0
        at_once = int(np.min(self._capacity[asked] // demand[asked], initial=stage.n_tasks)) if asked.any() else 1
        bundle = max(1, min(at_once, -(-stage.n_tasks // self._most_pieces)))
        return max(stage.expected_s, _SHORTEST_S), demand * bundle, -(-stage.n_tasks // bundle)

    def length_s(self) -> float:
        """From the first begin to the last end."""
        return max(end for _, end in self.spans.values()) - min(begin for begin, _ in self.spans.values())


def plan_graph(
    graph: Sequence[StageOutline], capacity: FloatArray, most_pieces: int = _MOST_PIECES
) -> tuple[dict[int, float], float]:
    """Plan one job: when each stage begins, from 0 on, and how long all of it takes.

    Parameters
    ----------
    graph : sequence of StageOutline
        Parents come before their children.
    capacity : float64 array of shape (R,)
        Of the pool.
    most_pieces : int, optional
        Tasks of a stage are placed in so many pieces at most: fewer are less work, and less exact.

    Returns:
    -------
    tuple of dict and float
        The shortest plan that was found; the first among equal ones.
    """
    above, least_s = ancestors_of(graph), lower_bound_s(graph, capacity)
    everything = set(range(len(graph)))
    best: tuple[dict[int, float], float] = ({}, np.inf)
    for troublesome in _choices(graph, above, capacity):
        if best[1] <= least_s + _ENOUGH:
            break
        parents = set().union(*(above[each] for each in troublesome)) - troublesome
        children = {each for each in everything if above[each] & troublesome} - troublesome
        others = everything - troublesome - parents - children
        for order in ("OPC", "POC", "PCO", "COP"):
            plan = _Plan(graph, capacity, most_pieces)
            plan.place(troublesome, forwards=True)
            for group in order:
                chosen = {"O": others, "P": parents, "C": children}[group]
                backwards = group == "P" or (group == "O" and order == "COP")
                if plan.length_s() >= best[1] or not _may_place(chosen, above, plan.spans, backwards=backwards):
                    break
                plan.place(chosen, forwards=not backwards)
            if len(plan.spans) == len(graph) and plan.length_s() < best[1] - _ENOUGH:
                first_s = min(begin_s for begin_s, _ in plan.spans.values())
                best = ({each: span[0] - first_s for each, span in plan.spans.items()}, plan.length_s())
    return best


def stage_weights(
    graph: Sequence[StageOutline], capacity: FloatArray, most_pieces: int = _MOST_PIECES
) -> dict[int, float]:
    """Weigh each stage by its job's plan: 1 for the one that the plan begins with, falling with the order.

    Of stages that begin together the one with the longest path to the job's end is first: a plan says when the first
    task of a stage begins, and many begin at 0. Of a graph that is too large to be planned there are no weights.
    Arguments are those of `plan_graph`.
    """
    if len(graph) > _MOST_STAGES:
        return {}
    begins, _ = plan_graph(graph, np.maximum(capacity, 1.0), most_pieces)
    lengths_s = [stage.expected_s for stage in graph]
    behind_s = paths_behind_s([stage.parents for stage in graph], lengths_s)
    paths_s = [own + behind for own, behind in zip(lengths_s, behind_s, strict=True)]
    ordered = sorted(begins, key=lambda stage: (begins[stage], -paths_s[stage], stage))
    return {stage: max(_LEAST_WEIGHT, 1.0 - place / len(ordered)) for place, stage in enumerate(ordered)}


def _may_place(group: set[int], above: Sequence[set[int]], spans: dict[int, _Interval], *, backwards: bool) -> bool:
    if backwards:
        return not any(above[each] & set(spans) for each in group)
    return not any(above[each] & group for each in spans)


def _choices(graph: Sequence[StageOutline], above: Sequence[set[int]], capacity: FloatArray) -> list[set[int]]:
    """Choose what may be troublesome: the longest stages, those that pack worst, and what lies between them."""
    seconds = [max(stage.expected_s, _SHORTEST_S) for stage in graph]
    fragments = [_fragmentation(stage, capacity) for stage in graph]
    found: list[set[int]] = [set(range(len(graph)))]
    for scores in (seconds, fragments):
        for threshold in sorted(set(scores), reverse=True)[:8]:
            chosen = {number for number, score in enumerate(scores) if score >= threshold}
            between = {
                each for each in range(len(graph)) if above[each] & chosen and any(each in above[end] for end in chosen)
            }
            if chosen | between not in found:
                found.append(chosen | between)
    return found


def _fragmentation(stage: StageOutline, capacity: FloatArray) -> float:
    """Part of the scarcest resource that stays empty while the stage runs by itself."""
    demand = np.array(stage.demand, dtype=np.float64)
    asked = demand > 0
    if not asked.any():
        return 0.0
    at_once = max(1.0, float(np.min(capacity[asked] // demand[asked])))
    waves = np.ceil(stage.n_tasks / at_once)
    share = float((demand / capacity).max())
    return 1.0 - share * stage.n_tasks / float(waves)
