"""A round of services as a mixed-integer program, on the nodes that are worth looking at.

    x[g,n]  containers of group g on node n, whole          S[j]  service j is placed whole
    u[g,s,k]  at least k containers of g are in set s        z[n]  node n keeps room for tasks
    v  extent of a violation, at least 0                     d[g,c]  g is held to conjunction c

Containers of a group in one set break a constraint equally far, so the k-th pays what the first does. Of large groups
over many sets only the first pays: the program is then too cheerful, and its answer is weighed again.

Source: Garefalakis et al., EuroSys 2018, section 5.2, with containers that are alike counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from shim.scheduling.service_caps import fit_in_caps
from shim.scheduling.service_round import ServiceRound
from shim.scheduling.snapshot import IntArray
from shim.scheduling.tag_constraints import TagConstraint, TagCount

__all__ = ["ServiceProgram", "compile_services", "placement_of"]

_MOST_LEVELS = 400
"""Variables u of a group in a node group; with more, one for each set."""
_Term = tuple[int, float]


@dataclass(frozen=True, slots=True)
class ServiceProgram:
    """The arrays for a solver, and the nodes that its first variables are of, group by group."""

    arrays: dict[str, object]
    nodes: IntArray


class _Rows:
    """A program that grows."""

    def __init__(self) -> None:
        self.value: list[float] = []
        self.most: list[float] = []
        self.is_whole: list[int] = []
        self.entries: list[tuple[int, int, float]] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def variable(self, most: float, value: float = 0.0, *, is_whole: bool = True) -> int:
        self.value.append(value)
        self.most.append(most)
        self.is_whole.append(int(is_whole))
        return len(self.value) - 1

    def row(self, terms: Sequence[_Term], low: float = -np.inf, high: float = np.inf) -> None:
        self.entries += [(len(self.low), column, factor) for column, factor in terms]
        self.low.append(low)
        self.high.append(high)

    def arrays(self) -> dict[str, object]:
        rows, columns, entries = zip(*self.entries, strict=True)
        return {
            "value": np.array(self.value),
            "rows": np.array(rows),
            "columns": np.array(columns),
            "entries": np.array(entries),
            "low": np.array(self.low),
            "high": np.array(self.high),
            "least": np.zeros(len(self.value)),
            "most": np.array(self.most),
            "is_whole": np.array(self.is_whole),
        }


class _Compiler:
    def __init__(self, rounds: ServiceRound, nodes: IntArray) -> None:
        self.rounds, self.nodes, self.rows = rounds, nodes, _Rows()
        most = rounds.may_go[:, nodes] * np.array([[group.count] for group in rounds.groups])
        self.x = [[self.rows.variable(float(count)) for count in row] for row in most.tolist()]
        self.places = {node: at for at, node in enumerate(nodes.tolist())}
        self.levels: dict[tuple[int, str, int], list[int]] = {}
        self.running = rounds.with_running(np.zeros((len(rounds.groups), rounds.n_nodes), dtype=np.int64))
        self.big = float(sum(group.count for group in rounds.groups) + self.running.sum() + 1)

    def compile(self) -> dict[str, object]:
        self._all_or_none()
        self._room()
        self._caps()
        for constraint in self.rounds.constraints:
            for row, group in enumerate(self.rounds.groups):
                if constraint.subject <= group.tags:
                    self._subject(constraint, row)
            if len(constraint.any_of) == 1:
                self._running_subjects(constraint)
        return self.rows.arrays()

    def _all_or_none(self) -> None:
        rounds = self.rounds
        for service in rounds.services:
            whole = self.rows.variable(1, rounds.weights.placed / len(rounds.services))
            for row, group in enumerate(rounds.groups):
                if group.service == service:
                    self.rows.row([*((each, 1.0) for each in self.x[row]), (whole, -float(group.count))], 0.0, 0.0)

    def _room(self) -> None:
        rounds = self.rounds
        for at, node in enumerate(self.nodes.tolist()):
            free = rounds.free[node]
            is_roomy = bool((free >= rounds.kept).all())
            roomy = self.rows.variable(float(is_roomy), rounds.weights.roomy / rounds.n_nodes)
            for kind, amount in enumerate(free.tolist()):
                terms = [(self.x[row][at], float(group.demand[kind])) for row, group in enumerate(rounds.groups)]
                self.rows.row([*terms, (roomy, float(rounds.kept[kind]))], high=float(amount))

    def _caps(self) -> None:
        for cap in self.rounds.caps:
            inside, groups = np.flatnonzero(cap.nodes[self.nodes]).tolist(), np.flatnonzero(cap.amounts).tolist()
            terms = [(self.x[row][at], float(cap.amounts[row])) for row in groups for at in inside]
            if terms:
                self.rows.row(terms, high=float(cap.most))

    def _sets(self, group: str) -> Sequence[int]:
        """Numbers of the sets that matter; where each node is one, that is its row, and there may be thousands."""
        return self.nodes.tolist() if self.rounds.is_each_node(group) else range(self.rounds.n_sets(group))

    def _sets_with(self, group: str, node: int) -> Sequence[int]:
        """Numbers of the sets that a node is in, likewise."""
        if self.rounds.is_each_node(group):
            return [node] if node in self.places else []
        return np.flatnonzero(self.rounds.sets_of(group)[:, node]).tolist()

    def _inside(self, group: str, number: int) -> list[int]:
        """Places among the program's nodes of those that are in a set."""
        if self.rounds.is_each_node(group):
            return [self.places[number]]
        return np.flatnonzero(self.rounds.sets_of(group)[number][self.nodes]).tolist()

    def _levels(self, row: int, group: str, number: int, inside: list[int]) -> list[int]:
        key = (row, group, number)
        if key not in self.levels:
            count = self.rounds.groups[row].count
            n_levels = count if count * self.rounds.n_sets(group) <= _MOST_LEVELS else 1
            found = self.levels[key] = [self.rows.variable(1) for _ in range(n_levels)]
            terms = [(self.x[row][at], 1.0) for at in inside]
            if n_levels == count:
                self.rows.row([*terms, *((each, -1.0) for each in found)], 0.0, 0.0)
                for first, second in pairwise(found):
                    self.rows.row([(first, 1.0), (second, -1.0)], low=0.0)
            else:
                self.rows.row([*terms, (found[0], -float(count))], high=0.0)
        return self.levels[key]

    def _counted(self, count: TagCount, number: int, inside: list[int]) -> tuple[list[_Term], int]:
        """Containers that wait and count in a set, as terms, and those that run there and count."""
        groups = enumerate(self.rounds.groups)
        terms = [(self.x[row][at], 1.0) for row, group in groups if count.tags <= group.tags for at in inside]
        by_node = self.rounds.tagged(count.tags, self.running)
        if self.rounds.is_each_node(count.group):
            return terms, int(by_node[number])
        return terms, int(by_node @ self.rounds.sets_of(count.group)[number])

    def _subject(self, constraint: TagConstraint, row: int) -> None:
        choices = [self.rows.variable(1) for _ in constraint.any_of] if len(constraint.any_of) > 1 else []
        if choices:
            self.rows.row([(each, 1.0) for each in choices], 1.0, 1.0)
        for at, choice in enumerate(constraint.any_of):
            for count in choice:
                for number in self._sets(count.group):
                    inside = self._inside(count.group, number)
                    for level in self._levels(row, count.group, number, inside) if inside else ():
                        held = [(level, self.big), *([(choices[at], self.big)] if choices else [])]
                        itself = 1 if count.tags <= self.rounds.groups[row].tags else 0
                        self._bound(constraint.weight, count, number, inside, held, itself)

    def _running_subjects(self, constraint: TagConstraint) -> None:
        for count in constraint.any_of[0]:
            for each in self.rounds.running:
                itself = 1 if count.tags <= each.tags else 0
                for number in self._sets_with(count.group, each.node) if constraint.subject <= each.tags else ():
                    inside = self._inside(count.group, number)
                    self._bound(constraint.weight * each.count, count, number, inside, [], itself)

    def _bound(
        self, weight: float, count: TagCount, number: int, inside: list[int], held: list[_Term], itself: int
    ) -> None:
        """Keep a set's count within its bounds, or pay; only while all of `held` are 1."""
        terms, here = self._counted(count, number, inside)
        others, slack = here - itself, sum(big for _, big in held)
        price = -self.rounds.weights.violated * weight / len(self.rounds.constraints)
        if count.least > 0:
            short = self.rows.variable(float(count.least), price / count.least, is_whole=False)
            kept = [(column, -big) for column, big in held]
            self.rows.row([*terms, (short, 1.0), *kept], low=count.least - others - slack)
        if count.most < self.big:
            above = self.rows.variable(self.big, price / max(count.most, 1), is_whole=False)
            self.rows.row([*terms, (above, -1.0), *held], high=count.most - others + slack)


def compile_services(rounds: ServiceRound, chosen: IntArray, most_nodes: int) -> ServiceProgram:
    """State the program of a round on some of its nodes: those of a placement at hand first, then the roomiest."""
    parts = rounds.free / np.maximum(rounds.free.max(axis=0), 1)
    keys = (np.arange(rounds.n_nodes), -parts.min(axis=1), chosen.sum(axis=0) == 0)
    nodes = np.sort(np.lexsort(keys)[:most_nodes]).astype(np.int64)
    return ServiceProgram(_Compiler(rounds, nodes).compile(), nodes)


def placement_of(program: ServiceProgram, rounds: ServiceRound, answer: object) -> IntArray | None:
    """Read a placement from a solver's answer; None if it is none."""
    size = len(np.asarray(program.arrays["value"])) + 1
    if not isinstance(answer, np.ndarray) or answer.shape != (size,) or not np.isfinite(answer[:-1]).all():
        return None
    n_groups = len(rounds.groups)
    placement = np.zeros((n_groups, rounds.n_nodes), dtype=np.int64)
    placement[:, program.nodes] = np.rint(answer[: n_groups * len(program.nodes)]).reshape(n_groups, -1)
    counts = np.array([group.count for group in rounds.groups])
    is_placed = placement.sum(axis=1) == counts
    if (placement < 0).any() or (rounds.left(placement) < 0).any() or (placement[~is_placed] != 0).any():
        return None
    return placement if fit_in_caps(rounds.caps, placement) else None
