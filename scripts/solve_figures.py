"""Time that one cycle of `quincy` takes: its own plan, the problem, the solve, and the plan by its answer.

    python -m scripts.solve_figures [--machines 2500] [--jobs 100]

Machines of four slots in racks of 50; each job waits for 120 containers of three replicas each. Seconds of CPU of this
process, as a busy machine does not change them; the solve is a child's, the rest the event loop's.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import numpy as np

from shim.domain.resources import Need
from shim.scheduling.cycle import CycleState, run_cycle
from shim.scheduling.node_index import Cell, index_nodes
from shim.scheduling.policies.quincy import DataCosts, Quincy, quincy
from shim.scheduling.snapshot import JobTable, Preferred, RequestTable, Scope, Snapshot
from shim.scheduling.solvers import SOLVERS, load_libraries
from shim.scheduling.solving import improve

_RACK, _SLOTS, _CONTAINERS, _REPLICAS, _NOW_S = 50, 4, 120, 3, 12.0
_BUSY = (0.95, 0.8, 0.3, 0.0)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class SolveFigures:
    """One cycle.

    Attributes:
        arcs: Of the graph.
        seconds: Of CPU, by step.
        cost: Of the plan by the answer; `greedy_cost` of the policy's own.
    """

    arcs: int
    seconds: dict[str, float]
    cost: int
    greedy_cost: int


def a_pool(machines: int, jobs: int, busy: float, seed: int) -> tuple[Snapshot, list[int]]:
    """Draw a pool of which a part is busy; give it with the rows of the requests."""
    rng = Random(seed)  # noqa: S311 - a drawn pool
    free = [[sum(rng.random() >= busy for _ in range(_SLOTS))] for _ in range(machines)]
    nodes = index_nodes(np.array(free, dtype=np.int64), [Cell(0, 0, machines)])
    nodes.racks = np.arange(machines, dtype=np.int64) // _RACK
    table, requests, rows = JobTable(), RequestTable(), list[int]()
    for _ in range(jobs):
        hosts = [host for _ in range(_CONTAINERS) for host in rng.sample(range(machines), _REPLICAS)]
        at_hosts = {host: hosts.count(host) for host in hosts}
        at_racks = {host // _RACK: 1 for host in hosts}
        row = requests.add(table.add(), Need((1,)), _CONTAINERS, since_s=rng.uniform(0.0, _NOW_S))
        named = [(Scope.NODE, at_hosts), (Scope.RACK, at_racks)]
        requests.prefer(row, [Preferred(scope, *each) for scope, places in named for each in places.items()])
        rows.append(row)
    return Snapshot(_NOW_S, nodes, table.all_columns, requests.requests()), rows


def figures(machines: int, jobs: int, busy: float, seed: int = 1) -> SolveFigures:
    """Run one cycle and measure its steps."""
    snapshot, rows = a_pool(machines, jobs, busy, seed)
    rules, seconds = DataCosts(), dict[str, float]()
    kernel, policy = Quincy(rules), quincy(rules)

    def timed(step: str, work: Callable[[], _T]) -> _T:
        began_s = time.process_time()
        found = work()
        seconds[step] = time.process_time() - began_s
        return found

    greedy = timed("own plan", lambda: run_cycle(snapshot, policy, CycleState(Random(seed))))  # noqa: S311 - draws nothing
    problem = timed("problem", lambda: kernel.prepare(snapshot, greedy))
    if problem is None:
        raise SystemExit("nothing is free: no solver is asked")
    answer = timed("solve", lambda: SOLVERS[problem.solver](problem.arrays, 60.0))
    plan = timed("answer", lambda: improve(snapshot, kernel, problem, answer))
    arcs = len(np.asarray(problem.arrays["tail"]))
    return SolveFigures(arcs, seconds, rules.cost(snapshot, plan, rows), rules.cost(snapshot, greedy, rows))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, default=2500)
    parser.add_argument("--jobs", type=int, default=100)
    told = parser.parse_args()
    load_libraries()
    print("| busy | arcs | own plan s | problem s | solve s | answer s | cost | own cost |")
    for busy in _BUSY:
        found = figures(told.machines, told.jobs, busy)
        steps = " | ".join(f"{seconds:.2f}" for seconds in found.seconds.values())
        print(f"| {busy:.0%} | {found.arcs:,} | {steps} | {found.cost:,} | {found.greedy_cost:,} |")


if __name__ == "__main__":
    main()
