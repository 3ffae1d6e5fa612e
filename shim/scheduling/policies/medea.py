"""Medea: services that run long are placed together, in rounds, by what they want near and not near; tasks at once.

Services that came within a round are one mixed-integer program over tags (`service_program.py`); two heuristics place
them meanwhile, and the best of the three by one objective stands. A service is placed whole or waits for the next
round. Tasks are granted in every cycle and wait for no solver.

Source: Garefalakis et al., EuroSys 2018.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shim.scheduling.open_room import OpenRoom
from shim.scheduling.orderings import fewest_running
from shim.scheduling.parameters import parameter
from shim.scheduling.plan import MadeBy, Plan, Reason, ReasonCode, Turn
from shim.scheduling.policy import CellChoice, Fact, NodeChoice, Ordering, Placement, Policy, Problem
from shim.scheduling.service_heuristics import place_by
from shim.scheduling.service_program import ServiceProgram, compile_services, placement_of
from shim.scheduling.service_round import PlacementWeights, ServiceRound
from shim.scheduling.snapshot import IntArray, RequestTime, Snapshot
from shim.scheduling.tag_constraints import without_cardinality

__all__ = ["MEDEA", "MEDEA_IN_QUEUES", "MedeaRules", "medea"]

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
        weights: Of the objective.
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

    def __call__(self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[Turn]) -> Plan:
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
        room = OpenRoom(snapshot)
        for row in services:
            room.hold(row, _NEXT_ROUND, due_s)
        return self._tasks(snapshot, turns, room)

    def prepare(self, snapshot: Snapshot, greedy: Plan) -> Problem | None:
        """State the program of a round; None between rounds."""
        services = self._services(snapshot, greedy.turns)
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
        if placement is None or notes.rounds.objective(placement) <= notes.rounds.objective(notes.greedy):
            return problem.greedy
        plan = self._plan(now, problem.greedy.turns, notes.rounds, placement)
        rounds = self._round(now, self._services(now, problem.greedy.turns))
        worth, greedy = (rounds.objective(rounds.placement_in(each)) for each in (plan, problem.greedy))
        return replace(plan, made_by=MadeBy.BOUNDED, objective=worth) if worth > greedy else problem.greedy

    def _round(self, snapshot: Snapshot, services: Sequence[int]) -> ServiceRound:
        rounds = ServiceRound(snapshot, services, self.rules.weights)
        if not self.rules.knows_cardinality:
            told = (without_cardinality(each) for each in rounds.constraints)
            rounds.constraints = [each for each in told if each is not None]
        return rounds

    def _services(self, snapshot: Snapshot, turns: Sequence[Turn]) -> list[int]:
        tags = snapshot.knowledge.services.tags
        return [turn.request for turn in turns if turn.request in tags]

    def _plan(self, snapshot: Snapshot, turns: Sequence[Turn], rounds: ServiceRound, placement: IntArray) -> Plan:
        room = OpenRoom(snapshot)
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
        """Services that would break a constraint, also after others that would are gone."""
        left, broken = placement.copy(), set[int]()
        while True:
            found = {group.service for row, group in enumerate(rounds.groups) if rounds.breaks(row, left)}
            if not found:
                return frozenset(broken)
            broken |= found
            left[[row for row, group in enumerate(rounds.groups) if group.service in found]] = 0

    def _tasks(self, snapshot: Snapshot, turns: Sequence[Turn], room: OpenRoom) -> Plan:
        for turn in turns:
            if turn.request not in snapshot.knowledge.services.tags and room.has_room(turn.request):
                nodes = np.flatnonzero(room.slots(turn.request))
                room.fill(turn.request, nodes, room.left(turn.request), _ROOM)
        return room.plan()


def _grant(room: OpenRoom, requests: Sequence[int], counts: IntArray) -> None:
    """Grant what a group has on each node to its requests, in their order."""
    for node in np.flatnonzero(counts).tolist():
        left = int(counts[node])
        for request in requests:
            if left and room.left(request):
                left -= room.grant(request, node, left, _PLACED)


def medea(rules: MedeaRules, name: str = "medea") -> Policy:
    """Medea with other rules."""
    both = _Services(rules)
    return Policy(
        name,
        Ordering(fewest_running),
        Placement(CellChoice.BY_ROOM, NodeChoice.PACK, kernel=both),
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
