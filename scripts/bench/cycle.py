"""How long a scheduling cycle takes: `python -m scripts.bench.cycle`.

1,000 attempts that want 100 containers each, of 20 sizes, on 10,000 nodes of 10 clusters: where all of it fits, a
third, a tenth, and nothing. Processor time, the median of some runs: it does not count what else the machine does.
*Cycle* is `run_cycle` on a snapshot; *queue* is all that a queue of real clusters does for its plans: order, snapshot,
cycle, look ahead, and a plan for each request.
"""

import statistics
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from shim.domain.allocations import AskKey, PendingRequest
from shim.domain.ids import ApplicationAttemptId, ApplicationId, NodeId, SubClusterId
from shim.domain.resources import Need, ResourceVector
from shim.domain.subclusters import NodeReport
from shim.scheduling.capacity import Capacity, NodeCapacity
from shim.scheduling.cycle import CycleState, run_cycle
from shim.scheduling.durations import DurationModel, RecurringJobModels
from shim.scheduling.node_index import Cell, index_nodes
from shim.scheduling.policies.orders import FEWEST_TASKS
from shim.scheduling.queue_table import QueueTable
from shim.scheduling.snapshot import Column, JobTable, RequestTable, Snapshot
from shim.simulation.engine import seeded

T = TypeVar("T")

_NODES, _CLUSTERS, _ATTEMPTS, _EACH, _SIZES = 10_000, 10, 1_000, 100, 20
_ROOM = {"all of it fits": 16, "a third fits": 4, "a tenth fits": 1, "nothing fits": 0}
_RUNS = 9
_STARVATION_S = 60.0
_NOW_S = 2000.0


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


def a_large_queue(room: int) -> tuple[QueueTable, Capacity]:
    """The same as rows of a queue, and as books of Local Masters."""
    draw = seeded(1, "queue")
    names = [SubClusterId(f"c{number}") for number in range(_CLUSTERS)]
    models = RecurringJobModels(DurationModel())
    table = QueueTable(names, _STARVATION_S, models, lambda _: "", draw)
    for number in range(_ATTEMPTS):
        attempt, size = ApplicationAttemptId(ApplicationId(1, number + 1), 1), number % _SIZES
        resource = ResourceVector(512 * (1 + size % 7), 1 + size % 3)
        key = AskKey(20, -1, is_opportunistic=False, resource=resource, label="")
        table.put(attempt, [PendingRequest(key, _EACH, may_use=frozenset(names))], (), float(number))
        table.heard(attempt, _NOW_S)
    rooms = {name: NodeCapacity(name) for name in names}
    for name, nodes in rooms.items():
        totals = [
            ResourceVector(room * 1024 * draw.randint(1, 3), room * draw.randint(1, 3))
            for _ in range(_NODES // _CLUSTERS)
        ]
        nodes.apply(
            [
                NodeReport(NodeId(f"{name}-{number}", 1), "/r", "RUNNING", total, ResourceVector(), ())
                for number, total in enumerate(totals)
            ]
        )
    return table, Capacity(rooms, dict.fromkeys(names))


def main() -> None:
    """Print a row for each load."""
    sys.stdout.write("| what waits | granted | cycle, ms of processor time | queue, ms |\n|---|---|---|---|\n")
    for name, room in _ROOM.items():
        snapshot, (table, capacity) = a_large_snapshot(room), a_large_queue(room)
        granted, cycle_ms = _timed(lambda: run_cycle(snapshot, FEWEST_TASKS, CycleState(seeded(1, "cycle"))))  # noqa: B023 - called at once
        _, queue_ms = _timed(lambda: table.plan(capacity, FEWEST_TASKS.name, _NOW_S))  # noqa: B023 - the same
        count = sum(granted.granted().values())
        sys.stdout.write(f"| {name} | {count:,} | {cycle_ms:.0f} | {queue_ms:.0f} |\n")


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    """What work gives, and the median of its milliseconds of processor time."""
    given, taken_ms = work(), list[float]()
    for _ in range(_RUNS):
        began_s = time.process_time()
        given = work()
        taken_ms.append(1000 * (time.process_time() - began_s))
    return given, statistics.median(taken_ms)


if __name__ == "__main__":
    main()
