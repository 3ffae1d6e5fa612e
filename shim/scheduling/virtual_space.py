"""A plan of one job by itself, in virtual time on an empty pool: troublesome tasks first, the others around them.

Tasks are rectangles of a demand and a time. Those that are long or hard to pack are placed first, where nothing is in
their way; then the others, ancestors backwards from what they feed and descendants forwards, so that dead space falls
to those that can use it. Several choices of what is troublesome are tried, and several orders of the rest; the plan
that ends first gives the order in which the job's stages are preferred.

Source: Grandl et al., "Graphene: Packing and Dependency-aware Scheduling for Data-Parallel Clusters", OSDI 2016,
sections 4 and 5.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence

import numpy as np

from shim.scheduling.job_table import FloatArray
from shim.scheduling.knowledge import StageOutline

__all__ = ["VirtualSpace", "ancestors_of", "lower_bound_s", "plan_graph"]

_MOST_PIECES = 48
"""Tasks of a stage are placed in so many pieces at most."""
_SHORTEST_S = 1e-3
_ENOUGH = 1e-9
_Interval = tuple[float, float]


class VirtualSpace:
    """Room over virtual time, which may be negative.

    Args:
        capacity: Of the pool: float64 array of shape (R,).
    """

    def __init__(self, capacity: FloatArray) -> None:
        self._capacity = capacity
        self._times: list[float] = [0.0]
        self._used: list[FloatArray] = [np.zeros_like(capacity)]

    def put(self, demand: FloatArray, length_s: float, bound_s: float, *, forwards: bool) -> _Interval:
        """Place a rectangle at the earliest time from `bound_s` on, or at the latest that ends by it."""
        begin_s = self._forwards(demand, length_s, bound_s) if forwards else self._backwards(demand, length_s, bound_s)
        first, last = self._cut(begin_s), self._cut(begin_s + length_s)
        for index in range(first, last):
            self._used[index] = self._used[index] + demand
        return begin_s, begin_s + length_s

    def _fits(self, demand: FloatArray, begin_s: float, end_s: float) -> bool:
        index = max(0, bisect_right(self._times, begin_s) - 1)
        while index < len(self._times) and self._times[index] < end_s - _ENOUGH:
            ends_s = self._times[index + 1] if index + 1 < len(self._times) else np.inf
            if ends_s > begin_s + _ENOUGH and ((self._used[index] + demand) > self._capacity + _ENOUGH).any():
                return False
            index += 1
        return True

    def _forwards(self, demand: FloatArray, length_s: float, from_s: float) -> float:
        starts = [from_s, *(time for time in self._times if time > from_s)]
        return next(begin_s for begin_s in starts if self._fits(demand, begin_s, begin_s + length_s))

    def _backwards(self, demand: FloatArray, length_s: float, by_s: float) -> float:
        ends = [by_s, *(time for time in reversed(self._times) if time < by_s)]
        return next(end_s for end_s in ends if self._fits(demand, end_s - length_s, end_s)) - length_s

    def _cut(self, time_s: float) -> int:
        """Index of the segment that begins at a time; made if there is none."""
        index = bisect_right(self._times, time_s + _ENOUGH) - 1
        if index >= 0 and abs(self._times[index] - time_s) <= _ENOUGH:
            return index
        used = self._used[index].copy() if index >= 0 else np.zeros_like(self._capacity)
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

    def __init__(self, graph: Sequence[StageOutline], capacity: FloatArray) -> None:
        self._graph, self._capacity = graph, capacity
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
        bundle = max(1, min(at_once, -(-stage.n_tasks // _MOST_PIECES)))
        return max(stage.expected_s, _SHORTEST_S), demand * bundle, -(-stage.n_tasks // bundle)

    def length_s(self) -> float:
        """From the first begin to the last end."""
        return max(end for _, end in self.spans.values()) - min(begin for begin, _ in self.spans.values())


def plan_graph(graph: Sequence[StageOutline], capacity: FloatArray) -> tuple[dict[int, float], float]:
    """Plan one job: when each stage begins, from 0 on, and how long all of it takes.

    Parameters
    ----------
    graph : sequence of StageOutline
        Parents come before their children.
    capacity : float64 array of shape (R,)
        Of the pool.

    Returns:
    -------
    tuple of dict and float
        The shortest plan that was found; the first among equal ones.
    """
    above = ancestors_of(graph)
    everything = set(range(len(graph)))
    best: tuple[dict[int, float], float] = ({}, np.inf)
    for troublesome in _choices(graph, above, capacity):
        parents = set().union(*(above[each] for each in troublesome)) - troublesome
        children = {each for each in everything if above[each] & troublesome} - troublesome
        others = everything - troublesome - parents - children
        for order in ("OPC", "POC", "PCO", "COP"):
            plan = _Plan(graph, capacity)
            plan.place(troublesome, forwards=True)
            for group in order:
                chosen = {"O": others, "P": parents, "C": children}[group]
                backwards = group == "P" or (group == "O" and order == "COP")
                if not _may_place(chosen, above, plan.spans, backwards=backwards):
                    break
                plan.place(chosen, forwards=not backwards)
            if len(plan.spans) == len(graph) and plan.length_s() < best[1] - _ENOUGH:
                first_s = min(begin_s for begin_s, _ in plan.spans.values())
                best = ({each: span[0] - first_s for each, span in plan.spans.items()}, plan.length_s())
    return best


def _may_place(group: set[int], above: Sequence[set[int]], spans: dict[int, _Interval], *, backwards: bool) -> bool:
    """True if nothing that is placed already stands on the other side of what comes now."""
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
