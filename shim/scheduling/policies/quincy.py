"""Quincy: all that waits is placed at once by a flow of least cost: data that has to move, against time that is waited.

A container's costs are those of reading its input: nothing at a named node, `rack_cost` for each GB in a named rack,
`far_cost` elsewhere; waiting costs `wait_cost` for each second so far. So a container takes a free place of cost c once
it has waited c / `wait_cost`. Running containers stay where they are.

Source: Isard et al., SOSP 2009; several shapes of containers are placed as Firmament's classes (Gog et al., OSDI 2016).

Costs of where a request's containers read their input, against those of waiting.

Source: Isard et al., "Quincy", SOSP 2009, section 4.2.

The graph of Quincy: each task's flow goes over a computer, a rack or the whole pool, or it waits.

Tasks with equal wishes are one node with their number as supply. Costs are whole numbers; what a cost means is the
policy's (`quincy.py`).

Source: Isard et al., "Quincy", SOSP 2009, section 4 and appendix.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from shim.scheduling.durations import FloatArray
from shim.scheduling.free_capacity import FreeCapacity
from shim.scheduling.locality import places_of
from shim.scheduling.parameters import parameter
from shim.scheduling.plan import MadeBy, Plan, Reason, ReasonCode
from shim.scheduling.policy import CellChoice, Fact, Ordering, Placement, Policy, Problem, first_come
from shim.scheduling.ranking import longest_waiting
from shim.scheduling.snapshot import IntArray, RequestColumn, RequestTime, Snapshot

_BROKEN_BOUND = 10**9


@dataclass(frozen=True, slots=True)
class FlowTasks:
    """Tasks of one job with equal wishes.

    Attributes:
        computers: Cost of one task by computer, and how many may go there; `racks` likewise, without a number.
        anywhere: Cost anywhere else; None if nothing else will do.
    """

    job: int
    count: int
    computers: Mapping[int, tuple[int, int]]
    racks: Mapping[int, int]
    anywhere: int | None
    waiting: int


@dataclass(slots=True)
class FlowGraph:
    """Arcs and supplies, as lists that become arrays."""

    supply: list[int] = field(default_factory=list)
    arcs: list[tuple[int, int, int, int]] = field(default_factory=list)

    def node(self, supply: int = 0) -> int:
        """Add a node; gives its number."""
        self.supply.append(supply)
        return len(self.supply) - 1

    def arc(self, tail: int, head: int, capacity: int, cost: int) -> int:
        """Add an arc; gives its number."""
        self.arcs.append((tail, head, capacity, cost))
        return len(self.arcs) - 1

    def arrays(self) -> dict[str, IntArray]:
        tail, head, capacity, cost = np.array(self.arcs, dtype=np.int64).reshape(-1, 4).T
        supply = np.array(self.supply, dtype=np.int64)
        return {"tail": tail, "head": head, "capacity": capacity, "cost": cost, "supply": supply}


@dataclass(frozen=True, slots=True)
class FlowRoutes:
    """Numbers of arcs, to read a flow by: of each group of tasks, and from racks to computers."""

    computers: list[dict[int, int]]
    racks: list[dict[int, int]]
    anywhere: list[int]
    waiting: list[int]
    down: dict[int, int]


def quincy_graph(
    groups: Sequence[FlowTasks],
    slots: IntArray,
    racks: IntArray,
    bounds: Mapping[int, tuple[int, int]] | None = None,
) -> tuple[FlowGraph, FlowRoutes]:
    """Build the graph, without the arcs that no cheapest flow needs: to what is full, or dearer than to wait.

    Args:
        slots: Places of each computer.
        bounds: Least and most running tasks of a job; none for 0 and all of them. A least that cannot be is paid for.
    """
    graph, bounds = FlowGraph(), bounds or {}
    counts: dict[int, int] = {}
    for group in groups:
        counts[group.job] = counts.get(group.job, 0) + group.count
    most = {job: min(counts[job], bounds.get(job, (0, counts[job]))[1]) for job in counts}
    sink = graph.node(-sum(most.values()))
    pool = _add_pool(graph, sink, slots, racks)
    waits = {job: graph.node(most[job] - counts[job]) for job in counts}
    for job, node in waits.items():
        _let_run(graph, node, sink, min(bounds.get(job, (0, 0))[0], most[job]), most[job])
    routes = FlowRoutes([], [], [], [], pool.down)
    for group in groups:
        most_cost = _BROKEN_BOUND if group.job in bounds else group.waiting  # a bound may make a job run nevertheless
        _add_group(graph, pool, routes, group, waits[group.job], most_cost)
    return graph, routes


@dataclass(frozen=True, slots=True)
class _Pool:
    """Nodes of the pool, its racks and computers, with the tasks that each rack and computer has room for.

    Attributes:
        down: Arcs from racks to computers, by computer.
    """

    node: int
    racks: Mapping[int, int]
    rack_room: Mapping[int, int]
    computers: Sequence[int]
    room: Sequence[int]
    down: dict[int, int]


def _add_pool(graph: FlowGraph, sink: int, slots: IntArray, racks: IntArray) -> _Pool:
    """Add what flows end in; a computer that is full has no node."""
    pool = graph.node()
    rack_nodes = {int(rack): graph.node() for rack in np.unique(racks)}
    down, computers = {}, []
    for number, (places, rack) in enumerate(zip(slots.tolist(), racks.tolist(), strict=True)):
        node = graph.node() if places else -1
        computers.append(node)
        if places:
            graph.arc(node, sink, places, 0)
            down[number] = graph.arc(rack_nodes[rack], node, places, 0)
    rack_room = {rack: int(slots[racks == rack].sum()) for rack in rack_nodes}
    for rack, node in rack_nodes.items():
        graph.arc(pool, node, rack_room[rack], 0)
    return _Pool(pool, rack_nodes, rack_room, computers, slots.tolist(), down)


def _let_run(graph: FlowGraph, waiting: int, sink: int, least: int, most: int) -> None:
    """Let tasks of a job wait, as far as at least so many of them run; beyond that it is paid for."""
    graph.arc(waiting, sink, most - least, 0)
    if least:
        graph.arc(waiting, sink, least, _BROKEN_BOUND)


def _add_group(
    graph: FlowGraph, pool: _Pool, routes: FlowRoutes, group: FlowTasks, waiting: int, most_cost: int
) -> None:
    """Add tasks with equal wishes, and the ways that they may go for a cost."""
    node = graph.node(group.count)
    routes.computers.append(
        {
            computer: graph.arc(node, pool.computers[computer], min(group.count, number, pool.room[computer]), cost)
            for computer, (cost, number) in group.computers.items()
            if pool.room[computer] and cost <= most_cost
        }
    )
    routes.racks.append(
        {
            rack: graph.arc(node, pool.racks[rack], group.count, cost)
            for rack, cost in group.racks.items()
            if pool.rack_room[rack] and cost <= most_cost
        }
    )
    is_open = group.anywhere is not None and group.anywhere <= most_cost
    routes.anywhere.append(graph.arc(node, pool.node, group.count, group.anywhere or 0) if is_open else -1)
    routes.waiting.append(graph.arc(node, waiting, group.count, group.waiting))


def cost_of(graph: FlowGraph, flow: FloatArray) -> int:
    return int(np.dot(flow, [cost for _, _, _, cost in graph.arcs]))


_UNITS = 1000


@dataclass(frozen=True, slots=True)
class DataCosts:
    """Costs."""

    rack_cost: float = parameter(
        10.0, unit="per GB", section="section 4.2 (psi)", meaning="Cost of data that comes over a switch of the rack."
    )
    far_cost: float = parameter(
        20.0, unit="per GB", section="section 4.2 (xi)", meaning="Cost of data that comes from another rack."
    )
    wait_cost: float = parameter(
        0.5, unit="per s", least=1e-6, section="section 4.2 (omega)", meaning="Cost of a second in which one waits."
    )
    input_gb: float = parameter(0.125, unit="GB", meaning="What one container reads: asks tell no sizes.")

    def group(self, snapshot: Snapshot, row: int) -> FlowTasks:
        """Costs of one request: a row of the flow's graph."""
        numbers = snapshot.requests.numbers
        places = places_of(snapshot, snapshot.requests.prefers(row))
        racks = snapshot.nodes.racks if len(snapshot.nodes.racks) else np.zeros(len(snapshot.nodes), dtype=np.int64)
        near = np.unique(racks[places.near]).tolist()
        is_free = places.is_empty
        unit = _UNITS * self.input_gb
        waited_s = max(0.0, snapshot.now_s - float(snapshot.requests.times[RequestTime.SINCE_S, row]))
        is_strict = bool(numbers[RequestColumn.STRICT, row])
        return FlowTasks(
            int(numbers[RequestColumn.JOB, row]),
            int(numbers[RequestColumn.COUNT, row]),
            {node: (0, count) for node, count in zip(places.nodes.tolist(), places.counts.tolist(), strict=True)},
            {rack: int(unit * self.rack_cost) for rack in near},
            None if is_strict and not is_free else 0 if is_free else int(unit * self.far_cost),
            int(_UNITS * self.wait_cost * waited_s) + 1,
        )

    def cost(self, snapshot: Snapshot, plan: Plan, rows: Sequence[int]) -> int:
        """Cost of a plan by what it grants, waiting included."""
        left = {row: int(snapshot.requests.numbers[RequestColumn.COUNT, row]) for row in rows}
        groups = {row: self.group(snapshot, row) for row in {*rows, *(grant.request for grant in plan.grants)}}
        total = 0
        for grant in plan.grants:
            group = groups[grant.request]
            rack = int(snapshot.nodes.racks[grant.place]) if len(snapshot.nodes.racks) else 0
            near = group.racks.get(rack, group.anywhere or 0)
            at_node = group.computers.get(grant.place, (near, 0))
            local = min(grant.count, at_node[1])
            total += local * at_node[0] + (grant.count - local) * near
            left[grant.request] = left.get(grant.request, 0) - grant.count
        return total + sum(count * groups[row].waiting for row, count in left.items())


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

    def __call__(self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[int]) -> Plan:  # noqa: ARG002
        """Place greedily: who has waited longest first, each at the cheapest place that costs less than to wait."""
        room = FreeCapacity(snapshot)
        waited = snapshot.requests.times[RequestTime.SINCE_S]
        for row in sorted(turns, key=lambda row: float(waited[row])):
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
        room = FreeCapacity(snapshot)
        rows = [row for row in greedy.turns.rows if room.has_room(row)]
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
        rows, room = notes.rows, FreeCapacity(now)
        self._follow(now, room, notes, np.rint(answer).astype(np.int64))
        found = room.plan()
        cost, greedy = self.rules.cost(now, found, rows), self.rules.cost(now, problem.greedy, rows)
        if cost > greedy:
            return problem.greedy
        return Plan(found.grants, found.holds, made_by=MadeBy.EXACT, objective=-float(cost), bound=-float(cost))

    def _follow(self, now: Snapshot, room: FreeCapacity, notes: _Notes, flow: IntArray) -> None:
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

    def _hold(self, snapshot: Snapshot, room: FreeCapacity, row: int) -> None:
        """Let the rest wait until the next dearer place is worth it."""
        if room.left(row) and room.has_room(row):
            rules = self.rules
            since_s = float(snapshot.requests.times[RequestTime.SINCE_S, row])
            worth = [since_s + cost * rules.input_gb / rules.wait_cost for cost in (rules.rack_cost, rules.far_cost)]
            room.hold(row, _WAITS, next((at_s for at_s in worth if at_s > snapshot.now_s), None))


def quincy(rules: DataCosts) -> Policy:
    both = Quincy(rules)
    placement = Placement(CellChoice.BY_ROOM, kernel=both, rank=longest_waiting)
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
