"""Medea: services that run long are placed together, in rounds, by what they want near and not near; tasks at once.

Services that came within a round are one mixed-integer program over tags; two heuristics place
them meanwhile, and the best of the three by one objective stands. A service is placed whole or waits for the next
round. Tasks are granted in every cycle and wait for no solver.

Source: Garefalakis et al., EuroSys 2018.

Placement of services one container at a time: by the popularity of their tags, or by how few nodes would do.

Source: Garefalakis et al., EuroSys 2018, section 5.3.

A round of services as a mixed-integer program, on the nodes that are worth looking at.

    x[g,n]  containers of group g on node n, whole          S[j]  service j is placed whole
    u[g,s,k]  at least k containers of g are in set s        z[n]  node n keeps room for tasks
    v  extent of a violation, at least 0                     d[g,c]  g is held to conjunction c

Containers of a group in one set break a constraint equally far, so the k-th pays what the first does. Of large groups
over many sets only the first pays: the program is then too cheerful, and its answer is weighed again.

Source: Garefalakis et al., EuroSys 2018, section 5.2, with containers that are alike counted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shim.scheduling.durations import FloatArray
from shim.scheduling.free_capacity import FreeCapacity
from shim.scheduling.parameters import parameter
from shim.scheduling.plan import MadeBy, Plan, Reason, ReasonCode
from shim.scheduling.policy import CellChoice, Fact, Ordering, Placement, Policy, Problem, fewest_running
from shim.scheduling.service_round import PlacementWeights, ServiceRound, fit_in_caps, without_cap_room
from shim.scheduling.snapshot import IntArray, RequestTime, Snapshot
from shim.scheduling.tag_constraints import TagConstraint, TagCount, without_cardinality

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
        self._spread()
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

    def _spread(self) -> None:
        """Nodes that get a first service, and the largest part that one gives of its free room."""
        rounds, weights = self.rounds, self.rounds.weights
        largest = self.rows.variable(1.0, -weights.balanced, is_whole=False) if weights.balanced else None
        for at, node in enumerate(self.nodes.tolist()):
            every = [self.x[row][at] for row in range(len(rounds.groups))]
            if weights.fewer and not rounds.has_service[node]:
                begun = self.rows.variable(1, -weights.fewer / rounds.n_nodes)
                self.rows.row([*((each, 1.0) for each in every), (begun, -self.big)], high=0.0)
            if largest is None:
                continue
            for kind, amount in enumerate(rounds.free[node].tolist()):
                parts = [
                    (x, group.demand[kind] / max(amount, 1)) for x, group in zip(every, rounds.groups, strict=True)
                ]
                self.rows.row([*parts, (largest, -1.0)], high=0.0)

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
                        self._bound(self.rounds.price(constraint), count, number, inside, held, itself)

    def _running_subjects(self, constraint: TagConstraint) -> None:
        for count in constraint.any_of[0]:
            for each in self.rounds.running:
                itself = 1 if count.tags <= each.tags else 0
                for number in self._sets_with(count.group, each.node) if constraint.subject <= each.tags else ():
                    inside = self._inside(count.group, number)
                    self._bound(self.rounds.price(constraint) * each.count, count, number, inside, [], itself)

    def _bound(
        self, cost: float, count: TagCount, number: int, inside: list[int], held: list[_Term], itself: int
    ) -> None:
        """Keep a set's count within its bounds, or pay; only while all of `held` are 1."""
        terms, here = self._counted(count, number, inside)
        others, slack = here - itself, sum(big for _, big in held)
        if count.least > 0:
            short = self.rows.variable(float(count.least), -cost / count.least, is_whole=False)
            kept = [(column, -big) for column, big in held]
            self.rows.row([*terms, (short, 1.0), *kept], low=count.least - others - slack)
        if count.most < self.big:
            above = self.rows.variable(self.big, -cost / max(count.most, 1), is_whole=False)
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


_ROOM = Reason(ReasonCode.ROOM)
_PLACED = Reason(ReasonCode.POLICY, (("text", "{place} breaks least of what services want of their places"),))
_NEXT_ROUND = Reason(ReasonCode.POLICY, (("text", "services are placed together, in the next round"),))
_NOT_WHOLE = Reason(ReasonCode.POLICY, (("text", "no place for all containers of this service together"),))
_BREAKS = Reason(ReasonCode.POLICY, (("text", "no places for this service that keep all constraints"),))
_ROUND = "last round"


@dataclass(frozen=True, slots=True)
class MedeaRules:
    """Rounds and what is tried in them.

    Attributes:
        orders: Heuristics, by their names in `ORDERS`.
        search_nodes: Nodes of the search tree that the solver may look at.
        is_hard: Whether a service rather waits than breaks a constraint, as at a ResourceManager, which would not grant
            it.
    """

    every_s: float = parameter(10.0, unit="s", meaning="From one round to the next.")
    orders: tuple[str, ...] = ("tag-popularity", "node-candidates")
    solves: bool = parameter(default=True, meaning="Whether the program is solved beside the two heuristics.")
    most_nodes: int = parameter(
        40,
        unit="nodes",
        least=1,
        most=100_000,
        meaning="Nodes in the program: those that the heuristics chose, and the roomiest.",
    )
    gap: float = parameter(1e-4, most=1.0, meaning="Part of the objective that the solver may leave.")
    search_nodes: int = 200
    weights: PlacementWeights = field(default_factory=lambda: PlacementWeights(violated=8.0))
    knows_cardinality: bool = parameter(
        default=True, meaning="Whether more is looked at than affinity and anti-affinity."
    )
    is_hard: bool = False


@dataclass(frozen=True, slots=True)
class _Notes:
    rounds: ServiceRound
    program: ServiceProgram
    greedy: IntArray


@dataclass(frozen=True, slots=True)
class _Services:
    """Kernel and solver of the policy."""

    rules: MedeaRules

    def __call__(self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[int]) -> Plan:
        """Place services by the better heuristic if a round is due, then grant tasks."""
        services = self._services(snapshot, turns)
        last_s = memory.get(_ROUND)
        begun_s = [float(snapshot.requests.times[RequestTime.SINCE_S, row]) for row in services]
        due_s = max(last_s if isinstance(last_s, float) else -np.inf, min(begun_s, default=0.0)) + self.rules.every_s
        if services and snapshot.now_s >= due_s:
            memory[_ROUND] = snapshot.now_s
            rounds = self._round(snapshot, services)
            placements = (place_by(order, rounds) for order in self.rules.orders)
            return self._plan(snapshot, turns, rounds, max(placements, key=rounds.objective))
        room = FreeCapacity(snapshot)
        for row in services:
            room.hold(row, _NEXT_ROUND, due_s)
        return self._tasks(snapshot, turns, room)

    def prepare(self, snapshot: Snapshot, greedy: Plan) -> Problem | None:
        """State the program of a round; None between rounds."""
        services = self._services(snapshot, greedy.turns.rows)
        if not services or not self.rules.solves or any(hold.reason is _NEXT_ROUND for hold in greedy.holds):
            return None
        rounds = self._round(snapshot, services)
        placement = rounds.placement_in(greedy)
        program = compile_services(rounds, placement, self.rules.most_nodes)
        arrays = {**program.arrays, "gap": self.rules.gap, "nodes": self.rules.search_nodes}
        return Problem("mixed-integer", greedy, arrays, _Notes(rounds, program, placement))

    def finish(self, now: Snapshot, problem: Problem, answer: object | None) -> Plan:
        """Take the answer if it is worth more than the heuristics' placement; tasks get the rest.

        The world may have moved on: what is granted of the answer is weighed once more, beside the greedy plan of now.
        """
        notes = problem.notes
        if not isinstance(notes, _Notes):
            return problem.greedy
        placement = placement_of(notes.program, notes.rounds, answer)
        if placement is None or self._worth(notes.rounds, placement) <= self._worth(notes.rounds, notes.greedy):
            return problem.greedy
        plan = self._plan(now, problem.greedy.turns.rows, notes.rounds, placement)
        rounds = self._round(now, self._services(now, problem.greedy.turns.rows))
        worth, greedy = (self._worth(rounds, rounds.placement_in(each)) for each in (plan, problem.greedy))
        return replace(plan, made_by=MadeBy.BOUNDED, objective=worth[1]) if worth > greedy else problem.greedy

    def _worth(self, rounds: ServiceRound, placement: IntArray) -> tuple[int, float]:
        """Worth of a placement: where constraints are hard, no soft one is worth a service that waits."""
        placed = {group.service for row, group in enumerate(rounds.groups) if placement[row].any()}
        return len(placed) if self.rules.is_hard else 0, rounds.objective(placement)

    def _round(self, snapshot: Snapshot, services: Sequence[int]) -> ServiceRound:
        rounds = ServiceRound(snapshot, services, self.rules.weights)
        if not self.rules.knows_cardinality:
            told = (without_cardinality(each) for each in rounds.constraints)
            rounds.constraints = [each for each in told if each is not None]
        return rounds

    def _services(self, snapshot: Snapshot, turns: Sequence[int]) -> list[int]:
        tags = snapshot.knowledge.services.tags
        return [row for row in turns if row in tags]

    def _plan(self, snapshot: Snapshot, turns: Sequence[int], rounds: ServiceRound, placement: IntArray) -> Plan:
        room = FreeCapacity(snapshot)
        broken = self._breaking(rounds, placement) if self.rules.is_hard else frozenset[int]()
        for service in rounds.services:
            rows = [row for row, group in enumerate(rounds.groups) if group.service == service]
            mark = len(room.grants)
            for row in rows if service not in broken else ():
                _grant(room, rounds.groups[row].requests, placement[row])
            if any(room.left(request) for row in rows for request in rounds.groups[row].requests):
                room.undo(mark)
        planned = {request: group.service for group in rounds.groups for request in group.requests}
        for row in self._services(snapshot, turns):
            room.hold(row, _BREAKS if planned.get(row) in broken else _NOT_WHOLE)
        return self._tasks(snapshot, turns, room)

    @staticmethod
    def _breaking(rounds: ServiceRound, placement: IntArray) -> frozenset[int]:
        left, broken = placement.copy(), set[int]()
        while True:
            found = {group.service for row, group in enumerate(rounds.groups) if rounds.breaks(row, left)}
            if not found:
                return frozenset(broken)
            broken |= found
            left[[row for row, group in enumerate(rounds.groups) if group.service in found]] = 0

    def _tasks(self, snapshot: Snapshot, turns: Sequence[int], room: FreeCapacity) -> Plan:
        for row in turns:
            if row not in snapshot.knowledge.services.tags and room.has_room(row):
                nodes = np.flatnonzero(room.slots(row))
                room.fill(row, nodes, room.left(row), _ROOM)
        return room.plan()


def _grant(room: FreeCapacity, requests: Sequence[int], counts: IntArray) -> None:
    """Grant what a group has on each node to its requests, in their order."""
    for node in np.flatnonzero(counts).tolist():
        left = int(counts[node])
        for request in requests:
            if left and room.left(request):
                left -= room.grant(request, node, left, _PLACED)


def medea(rules: MedeaRules, name: str = "medea") -> Policy:
    both = _Services(rules)
    return Policy(
        name,
        Ordering(fewest_running),
        Placement(CellChoice.BY_ROOM, kernel=both),
        summary="services placed together by what they want near and not near; tasks wait for no solver",
        source="Garefalakis et al., EuroSys 2018",
        needs=frozenset({Fact.LONG_RUNNING, Fact.CONSTRAINTS}),
        solver=both,
        rules=rules,
        remake=lambda others: medea(others, name),
    )


def _medea_in_queues(rules: MedeaRules) -> Policy:
    return replace(medea(rules), is_solved_apart=True, remake=_medea_in_queues)


MEDEA = medea(MedeaRules())
MEDEA_IN_QUEUES = _medea_in_queues(MedeaRules(is_hard=True, weights=PlacementWeights(violated=100.0)))
"""On real clusters, where constraints are hard, and tasks are asked for while services are planned."""


_FREE_OF_COST = 1e-9
_SOFTLY = 1e-6
_JOINT = frozenset({"tag-popularity", "node-candidates"})
"""Orders in which a group looks for a set with room for all of it; in the others each container looks for itself."""


def _step(constraint: TagConstraint) -> float:
    """What a unit of a constraint's extent weighs from one container to the next: soft ones decide among equals."""
    return constraint.weight * (_SOFTLY if constraint.is_soft else 1.0)


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
            cost += _step(constraint) * np.min(own, axis=0)
        if len(constraint.any_of) == 1:
            for count in constraint.any_of[0]:
                if count.tags <= tags:
                    cost += _step(constraint) * rounds.harm_to_others(constraint, count, placed)
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


def _fit(rounds: ServiceRound, placement: IntArray, left: IntArray, after: IntArray) -> tuple[NDArray[Any], ...]:
    """Order of nodes that break equally much, the last key first: best fit, unless an aim says otherwise.

    Args:
        rounds: With the weights of the aims.
        left: Room on each node.
        after: What one more container leaves of it.
    """
    is_short = np.asarray((left >= rounds.kept).all(axis=1) & ~(after >= rounds.kept).all(axis=1))
    best: NDArray[Any] = after.sum(axis=1)
    if rounds.weights.balanced:
        best = -(after / np.maximum(rounds.free, 1)).min(axis=1)
    if not rounds.weights.fewer:
        return best, is_short
    return best, is_short, ~(rounds.has_service | (placement.sum(axis=0) > 0))


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
        broken = np.zeros(rounds.n_nodes) if order == "no-constraints" else _added_cost(rounds, row, placement)
        if order in _JOINT and not placement[row].any():
            homes[row] = _home(rounds, row, left, broken)
        cost = broken + np.where(fits, 0.0, np.inf)
        is_away = ~homes[row] if row in homes else np.zeros(rounds.n_nodes, dtype=np.bool_)
        keys = (np.arange(rounds.n_nodes), *_fit(rounds, placement, left, after), np.round(cost, 9), is_away | ~fits)
        placement[row, int(np.lexsort(keys)[0])] += 1
        if placement[row].sum() == group.count:
            open_rows.remove(row)
    return placement
