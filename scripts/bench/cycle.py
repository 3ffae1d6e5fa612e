"""How long a scheduling cycle takes: `python -m scripts.bench.cycle`.

1,000 attempts that want 100 containers each, of 20 sizes, on 10,000 nodes of 10 clusters: where all of it fits, a
third, a tenth, and nothing. Processor time, the median of some runs: it does not count what else the machine does.
"""

import statistics
import sys
import time

import numpy as np

from shim.domain.messages import Need
from shim.scheduling.cycle import CycleState, run_cycle
from shim.scheduling.job_table import Column, JobTable
from shim.scheduling.node_index import Cell, index_nodes
from shim.scheduling.policies.fewest_tasks import FEWEST_TASKS
from shim.scheduling.request_table import RequestTable
from shim.scheduling.snapshot import Snapshot
from shim.simulation.engine import seeded

__all__ = ["a_large_snapshot", "main"]

_NODES, _CLUSTERS, _ATTEMPTS, _EACH, _SIZES = 10_000, 10, 1_000, 100, 20
_ROOM = {"all of it fits": 16, "a third fits": 4, "a tenth fits": 1, "nothing fits": 0}
_RUNS = 9


def a_large_snapshot(room: int = 16) -> Snapshot:
    """Attempts and nodes; a node has room for about so many small containers."""
    draw = seeded(1, "nodes")
    free = np.array([[room * 1024 * draw.randint(1, 3), room * draw.randint(1, 3)] for _ in range(_NODES)])
    each = _NODES // _CLUSTERS
    nodes = index_nodes(free, [Cell(cluster, cluster * each, each) for cluster in range(_CLUSTERS)])
    jobs, requests = JobTable(), RequestTable()
    for attempt in range(_ATTEMPTS):
        job, size = jobs.add(), attempt % _SIZES
        for column, value in (
            (Column.TASKS, _EACH + attempt % 50),
            (Column.WAITING, _EACH),
            (Column.ARRIVED_S, attempt),
        ):
            jobs.put(column, job, value)
        requests.add(job, Need((512 * (1 + size % 7), 1 + size % 3)), _EACH)
    return Snapshot(0.0, nodes, jobs.all_columns, requests.requests())


def main() -> None:
    """Print a row for each load."""
    sys.stdout.write("| what waits | granted | cycle, ms of processor time |\n|---|---|---|\n")
    for name, room in _ROOM.items():
        snapshot, taken_ms, granted = a_large_snapshot(room), list[float](), 0
        for _ in range(_RUNS):
            began_s = time.process_time()
            plan = run_cycle(snapshot, FEWEST_TASKS, CycleState(seeded(1, "cycle")))
            taken_ms.append(1000 * (time.process_time() - began_s))
            granted = sum(plan.granted().values())
        sys.stdout.write(f"| {name} | {granted:,} | {statistics.median(taken_ms):.0f} |\n")


if __name__ == "__main__":
    main()
