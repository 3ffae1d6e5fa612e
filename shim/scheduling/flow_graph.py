"""The graph of Quincy: each task's flow goes over a computer, a rack or the whole pool, or it waits.

Tasks with equal wishes are one node with their number as supply. Costs are whole numbers; what a cost means is the
policy's (`quincy.py`).

Source: Isard et al., "Quincy", SOSP 2009, section 4 and appendix.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from shim.scheduling.job_table import FloatArray
from shim.scheduling.snapshot import IntArray

__all__ = ["FlowGraph", "FlowRoutes", "FlowTasks", "cost_of", "quincy_graph"]

_BROKEN_BOUND = 10**9


@dataclass(frozen=True, slots=True)
class FlowTasks:
    """Tasks of one job with equal wishes.

    Attributes:
        computers: Cost of one task by computer, and how many may go there; `racks` likewise, without a number.
        anywhere: Cost anywhere else; None if nothing else will do.
        waiting: Cost of waiting.
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
        """The graph for a solver."""
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
        groups: The tasks.
        slots: Places of each computer.
        racks: Rack of each computer.
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
    """Cost of a flow."""
    return int(np.dot(flow, [cost for _, _, _, cost in graph.arcs]))
