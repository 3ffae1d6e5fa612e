"""Quincy: all that waits is placed at once by a flow of least cost: data that has to move, against time that is waited.

A container's costs are those of reading its input: nothing at a named node, `rack_cost` for each GB in a named rack,
`far_cost` elsewhere; waiting costs `wait_cost` for each second so far. So a container takes a free place of cost c once
it has waited c / `wait_cost`. Running containers stay where they are.

Source: Isard et al., SOSP 2009; several shapes of containers are placed as Firmament's classes (Gog et al., OSDI 2016).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shim.scheduling.data_costs import DataCosts
from shim.scheduling.flow_graph import FlowRoutes, quincy_graph
from shim.scheduling.locality import places_of
from shim.scheduling.open_room import OpenRoom
from shim.scheduling.orderings import first_come
from shim.scheduling.plan import MadeBy, Plan, Reason, ReasonCode, Turn
from shim.scheduling.policy import CellChoice, Fact, NodeChoice, Ordering, Placement, Policy, Problem
from shim.scheduling.ranking import longest_waiting
from shim.scheduling.snapshot import IntArray, RequestTime, Snapshot

__all__ = ["QUINCY", "DataCosts", "quincy"]

_FLOW = Reason(ReasonCode.POLICY, (("text", "a flow of least cost goes over {place}"),))
_WAITS = Reason(ReasonCode.POLICY, (("text", "waiting costs less by now than any place that is free"),))


@dataclass(frozen=True, slots=True)
class _Notes:
    """Rows of the groups, racks of the nodes, and numbers of arcs."""

    rows: list[int]
    racks: IntArray
    routes: FlowRoutes


@dataclass(frozen=True, slots=True)
class Quincy:
    """Kernel and solver of the policy."""

    rules: DataCosts

    def __call__(self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[Turn]) -> Plan:  # noqa: ARG002
        """Place greedily: who has waited longest first, each at the cheapest place that costs less than to wait."""
        room = OpenRoom(snapshot)
        waited = snapshot.requests.times[RequestTime.SINCE_S]
        for row in sorted((turn.request for turn in turns), key=lambda row: float(waited[row])):
            if room.has_room(row):
                group, places = self.rules.group(snapshot, row), places_of(snapshot, snapshot.requests.prefers(row))
                for node in group.computers:
                    room.grant(row, node, min(room.left(row), group.computers[node][1]), _FLOW)
                if min(group.racks.values(), default=group.waiting) < group.waiting:
                    room.fill(row, places.near, room.left(row), _FLOW)
                if group.anywhere is not None and group.anywhere < group.waiting:
                    room.fill(row, np.flatnonzero(room.slots(row)), room.left(row), _FLOW)
                self._hold(snapshot, room, row)
        return room.plan()

    def prepare(self, snapshot: Snapshot, greedy: Plan) -> Problem | None:
        """State the flow; None where nothing names a place, as nothing is to be gained then."""
        if not any(snapshot.requests.preferred):
            return None
        room = OpenRoom(snapshot)
        rows = [turn.request for turn in greedy.turns if room.has_room(turn.request)]
        slots = np.max([room.slots(row) for row in rows], axis=0) if rows else np.zeros(0, dtype=np.int64)
        if not slots.any():
            return None
        racks = snapshot.nodes.racks if len(snapshot.nodes.racks) else np.zeros(len(slots), dtype=np.int64)
        graph, routes = quincy_graph([self.rules.group(snapshot, row) for row in rows], slots, racks)
        return Problem("min-cost-flow", greedy, graph.arrays(), _Notes(rows, racks, routes))

    def finish(self, now: Snapshot, problem: Problem, answer: object | None) -> Plan:
        """Grant what flows over computers, then over racks, then over the pool; what flows to nobody waits."""
        notes, n_arcs = problem.notes, len(np.asarray(problem.arrays["tail"]))
        if not isinstance(notes, _Notes) or not isinstance(answer, np.ndarray) or answer.shape != (n_arcs,):
            return problem.greedy
        if not np.isfinite(answer).all() or (answer < 0).any():
            return problem.greedy
        rows, room = notes.rows, OpenRoom(now)
        self._follow(now, room, notes, np.rint(answer).astype(np.int64))
        found = room.plan()
        cost, greedy = self.rules.cost(now, found, rows), self.rules.cost(now, problem.greedy, rows)
        if cost > greedy:
            return problem.greedy
        return Plan(found.grants, found.holds, made_by=MadeBy.EXACT, objective=-float(cost), bound=-float(cost))

    def _follow(self, now: Snapshot, room: OpenRoom, notes: _Notes, flow: IntArray) -> None:
        """Grant what flows over named computers first, so that it is not taken by what may have others."""
        rows, racks, routes = notes.rows, notes.racks, notes.routes
        for at, row in enumerate(rows):
            for node, arc in routes.computers[at].items():
                if flow[arc]:
                    room.grant(row, node, int(flow[arc]), _FLOW)
        for at, row in enumerate(rows):
            for rack, arc in routes.racks[at].items():
                if flow[arc]:
                    room.fill(row, np.flatnonzero(racks == rack), int(flow[arc]), _FLOW)
            anywhere = routes.anywhere[at]
            if anywhere >= 0 and flow[anywhere]:
                room.fill(row, np.flatnonzero(room.slots(row)), int(flow[anywhere]), _FLOW)
            self._hold(now, room, row)

    def _hold(self, snapshot: Snapshot, room: OpenRoom, row: int) -> None:
        """Let the rest wait until the next dearer place is worth it."""
        if room.left(row) and room.has_room(row):
            rules = self.rules
            since_s = float(snapshot.requests.times[RequestTime.SINCE_S, row])
            worth = [since_s + cost * rules.input_gb / rules.wait_cost for cost in (rules.rack_cost, rules.far_cost)]
            room.hold(row, _WAITS, next((at_s for at_s in worth if at_s > snapshot.now_s), None))


def quincy(rules: DataCosts) -> Policy:
    """Quincy with other costs."""
    both = Quincy(rules)
    placement = Placement(CellChoice.BY_ROOM, NodeChoice.PACK, kernel=both, rank=longest_waiting)
    return Policy(
        "quincy",
        Ordering(first_come),
        placement,
        summary="a flow of least cost: data that has to move, against time that is waited",
        source="Isard et al., SOSP 2009; Gog et al., OSDI 2016",
        needs=frozenset({Fact.LOCALITY}),
        solver=both,
        rules=rules,
        remake=quincy,
    )


QUINCY = quincy(DataCosts())
