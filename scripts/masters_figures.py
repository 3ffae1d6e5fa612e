"""Measure the masters for evaluation.md: `megha` and `heddle` on traces, idea by idea, and under faults.

    python scripts/masters_figures.py traces        mean job delay and messages on Yahoo's and Facebook's traces
    python scripts/masters_figures.py ablations     heddle without one of its ideas at a time
    python scripts/masters_figures.py robustness    load, heartbeats, Global Masters, loss, dying masters
    python scripts/masters_figures.py allocation    allocation times by cluster size and number of masters (Megha, VI)
    python scripts/masters_figures.py speed         a match, a batch of placements, a large federation

HEDDLE_DATA names the folder of the traces: evaluation.md says where they come from. A second argument is a
part of the rows' names: only those are run.
"""

import dataclasses
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from scripts.figure_tables import print_heading, print_row, public_trace
from shim.domain.ids import GlobalMasterId, LocalMasterId
from shim.domain.messages import LaunchRequest, NodeState
from shim.domain.resources import Need
from shim.scheduling.durations import FloatArray
from shim.scheduling.global_master.events import (
    JobRequest,
    JobSubmitted,
    LocalMastersFound,
    ReportReceived,
    SendMessage,
    TaskGroup,
)
from shim.scheduling.global_master.machine import GlobalMaster
from shim.scheduling.global_master.view import GlobalView
from shim.scheduling.local_master.events import MessageReceived, NodeSpec, SendReport
from shim.scheduling.local_master.machine import LocalMaster
from shim.scheduling.placements import CellSearch, CycleState
from shim.scheduling.policies import HEDDLE, HEDDLE_ESTIMATES, MEGHA
from shim.scheduling.policy import Ordering, Policy, fewest_unfinished
from shim.scheduling.snapshot import Column, Snapshot
from shim.simulation.engine import seeded
from shim.simulation.masters import Faults, Masters
from shim.simulation.results import RunOutcome, Summary
from shim.simulation.run import Run, Setting
from shim.simulation.traces import Workload, fixed_jobs, workload_of

TRACES = (("YH1_sub", 4000), ("YH1_sub", 6000), ("synthetic_FB_sub_2000jobs", 5000))
RECIPES = {"megha": MEGHA, "heddle": HEDDLE, "heddle, estimates": HEDDLE_ESTIMATES}


def _run(
    recipe: Policy, workload: Workload, setting: Setting, faults: Faults | None = None
) -> tuple[RunOutcome, float]:
    """The outcome, and the seconds of CPU that it took."""
    started_s = time.process_time()
    outcome = Masters(Run(workload, setting), recipe, faults).simulate()
    return outcome, time.process_time() - started_s


def _cells(outcome: RunOutcome, cpu_s: float) -> list[str]:
    delay, kinds = outcome.delay(), outcome.inconsistencies
    return [
        f"**{delay.mean:.3f}**",
        f"{delay.p50:.4f}",
        f"{delay.p99:.1f}",
        f"{outcome.messages_per_task:.2f}",
        f"{sum(outcome.size_bytes.values()) / outcome.workload.n_tasks:.0f}",
        f"{kinds['internal']:,} + {kinds['external']:,}",
        f"{outcome.repartitions:,}",
        f"{cpu_s:.0f}",
    ]


_MEASURES = (
    "mean delay s",
    "p50",
    "p99",
    "messages a task",
    "bytes a task",
    "inconsistencies (internal + external)",
    "repartitions",
    "CPU s",
)


def _table(rows: Iterator[tuple[str, Policy, Workload, Setting, Faults | None]], only: str) -> None:
    print_heading(["run", *_MEASURES])
    for name, recipe, workload, setting, faults in rows:
        if only in name:
            print_row([name, *_cells(*_run(recipe, workload, setting, faults))])


def traces(only: str) -> None:
    """Megha and heddle on the traces."""
    _table(
        (
            (f"{name}, {trace}, {n_workers:,}", recipe, public_trace(trace), Setting(n_workers=n_workers), None)
            for name, recipe in RECIPES.items()
            for trace, n_workers in TRACES
        ),
        only,
    )


def _with(**changes: float) -> Policy:
    """Heddle with other numbers in its commitment."""
    return dataclasses.replace(HEDDLE, commitment=dataclasses.replace(HEDDLE.commitment, **changes))  # type: ignore[arg-type]


def _without_trials(snapshot: Snapshot, rows: NDArray[np.intp]) -> FloatArray:
    """Waiting tasks x expected duration from the beginning."""
    return snapshot.of_job(Column.WAITING, rows) * snapshot.of_job(Column.COUNTED_S, rows)


_NO_HORIZON = dataclasses.replace(HEDDLE.ordering, has_horizon=False)
ABLATIONS: Mapping[str, Policy] = {
    "heddle": HEDDLE,
    "no offers": dataclasses.replace(HEDDLE, ordering=_NO_HORIZON, commitment=MEGHA.commitment),
    "no horizon": dataclasses.replace(HEDDLE, ordering=_NO_HORIZON),
    "no learnt durations": dataclasses.replace(HEDDLE, ordering=Ordering(fewest_unfinished)),
    "no trials": dataclasses.replace(HEDDLE, ordering=dataclasses.replace(HEDDLE.ordering, kernel=_without_trials)),
    "neither (megha)": MEGHA,
    "bids never renewed": _with(bids_per_launch=0.0),
    "bids renewed with each step": _with(renewal_octaves=0.25),
    "heartbeats to everybody": _with(beats_when_quiet=False),
    "no room kept for short tasks": _with(kept_for_short=0.0),
    "coarse bids (one rank an octave)": _with(ranks_per_octave=1.0),
}


def ablations(only: str) -> None:
    """Heddle without one idea at a time, on Yahoo's trace at 6,000 workers."""
    trace, n_workers = TRACES[1]
    workload = public_trace(trace)
    _table(((name, recipe, workload, Setting(n_workers=n_workers), None) for name, recipe in ABLATIONS.items()), only)


def mixed_jobs(load: float, n_slots: int, n_jobs_each: int = 25) -> Workload:
    """Jobs of 43 to 58 tasks of 10 s: every Global Master, of up to sixteen, gets its part."""
    parts = [
        fixed_jobs(
            seeded(n_tasks, "arrivals"),
            n_jobs=n_jobs_each,
            n_tasks=n_tasks,
            duration_s=10.0,
            load=load / 16,
            n_slots=n_slots,
        )
        for n_tasks in range(43, 59)
    ]
    return workload_of(f"mixed_load{load:g}", [job for part in parts for job in part.jobs])


def robustness(only: str) -> None:
    """Jobs of about 50 tasks of 10 s on 1,000 workers, one setting changed at a time."""
    plain = Setting(n_workers=1000, n_lms=10)
    change = dataclasses.replace
    cases: list[tuple[str, float, Setting, Faults | None]] = [
        *((f"load {load}", load, plain, None) for load in (0.5, 0.8, 0.9, 0.95)),
        *((f"heartbeat {every_s} s", 0.9, change(plain, heartbeat_s=every_s), None) for every_s in (1.0, 10.0, 60.0)),
        *((f"{n_gms} Global Masters", 0.9, change(plain, n_gms=n_gms), None) for n_gms in (1, 2, 8, 16)),
        ("1 % of messages lost", 0.9, change(plain, loss=0.01), None),
        ("a Global Master killed", 0.9, plain, Faults(kill_global_master_at_s=100.0)),
        ("a Local Master away for 5 s", 0.9, plain, Faults(local_master_away_at_s=100.0)),
    ]
    _table(
        (
            (f"{policy}, {name}", recipe, mixed_jobs(load, setting.n_slots), setting, faults)
            for name, load, setting, faults in cases
            for policy, recipe in (("megha", MEGHA), ("heddle", HEDDLE))
        ),
        only,
    )


_SIZES = (1_000, 5_000, 10_000, 20_000, 50_000)
_MASTERS = ((1, 1), (2, 10), (5, 10), (10, 10), (20, 10), (10, 2), (10, 5), (10, 25), (10, 50))


def allocation(only: str) -> None:
    """Megha's own experiments: 20,000 tasks on more and more workers, then with other numbers of masters."""
    workload = mixed_jobs(0.8, 1000)
    paper = Setting(n_workers=30_000, n_gms=10, n_lms=10, heartbeat_s=10.0)
    change = dataclasses.replace
    cases = [
        *((f"{n_workers:,} workers", change(paper, n_workers=n_workers)) for n_workers in _SIZES),
        *((f"{gms} Global, {lms} Local Masters", change(paper, n_gms=gms, n_lms=lms)) for gms, lms in _MASTERS),
    ]
    print_heading(
        ["run", "allocation p50 ms", "p99 ms", "of it queueing p50 ms", "decision us a task", "messages a task"]
    )
    for name, setting in cases:
        for policy, recipe in (("megha", MEGHA), ("heddle", HEDDLE)):
            if only in f"{policy}, {name}":
                outcome, _ = _run(recipe, workload, setting)
                print_row([f"{policy}, {name}", *_allocation_cells(outcome, setting)])


def _allocation_cells(outcome: RunOutcome, setting: Setting) -> list[str]:
    """Two hops are communication (request, launch); what is left of the allocation is queueing."""
    spent = Summary.of(outcome.allocation_s)
    tasks_a_job = outcome.workload.n_tasks / len(outcome.workload.jobs)
    decision_us = 1e6 * statistics.median(outcome.decision_s) / tasks_a_job
    return [
        f"{1e3 * spent.p50:.2f}",
        f"{1e3 * spent.p99:.2f}",
        f"{1e3 * max(spent.p50 - 2 * setting.hop_s, 0.0):.2f}",
        f"{decision_us:.0f}",
        f"{outcome.messages_per_task:.2f}",
    ]


def _view(n_nodes: int, n_partitions: int, n_properties: int) -> GlobalView:
    """A view of one cluster for each partition; each property is on half of the nodes."""
    rng = seeded(1, "properties")
    view = GlobalView("ga", 2)  # type: ignore[arg-type]  # ids are strings
    size = n_nodes // n_partitions
    for index in range(n_partitions):
        states = [
            NodeState(node, (8, 8), frozenset(f"c{bit}" for bit in range(n_properties) if rng.random() < 0.5))  # noqa: PLR2004 - half
            for node in range(size)
        ]
        owner = "ga" if index % 2 else "gb"
        view.replace_cluster(f"l{index}", states, (owner,) * size, 1)  # type: ignore[arg-type]  # ids are strings
    return view


def _median_us(action: Callable[[], object], times: int) -> tuple[float, float]:
    """Median and 99th percentile of an action in microseconds."""
    taken: list[float] = []
    for _ in range(times):
        started_s = time.perf_counter()
        action()
        taken.append((time.perf_counter() - started_s) * 1e6)
    taken.sort()
    return statistics.median(taken), taken[int(len(taken) * 0.99)]


def _take_and_give_back(view: GlobalView, row: int) -> None:
    view.take(row, (2, 1))
    view.give_back(row, (2, 1))


def _match_row(n_nodes: int, n_partitions: int) -> None:
    view = _view(n_nodes, n_partitions, 21)
    search = CellSearch(view, CycleState(seeded(1, "search")))
    for name, asked in (("3 constraints", 3), ("none", 0)):
        need = Need((2, 1), frozenset(f"c{bit}" for bit in range(asked)))
        row, _ = search.find(need)
        if row < 0:
            raise SystemExit("no match")
        median_us, p99_us = _median_us(lambda need=need: search.find(need), 5000)  # type: ignore[misc]
        write_us, _ = _median_us(lambda row=row: _take_and_give_back(view, row), 5000)  # type: ignore[misc]
        print_row(
            [
                f"match, {n_nodes:,} nodes in {n_partitions} partitions, {name}",
                f"{median_us:.1f}",
                f"{p99_us:.1f}",
                f"{write_us:.1f}",
            ]
        )


def speed(only: str) -> None:
    """Microseconds of a match, placements a second, and a run of 50,000 workers with 10 Global Masters."""
    print_heading(["what", "median us", "p99 us", "taking and giving back us"])
    for n_nodes, n_partitions in ((5_000, 100), (50_000, 250), (50_000, 1), (100_000, 100)):
        if only in "match":
            _match_row(n_nodes, n_partitions)
    print()
    for n_nodes in (5_000, 50_000):
        if only in "placements":
            print(
                f"placements a second by one Global Master at {n_nodes:,} nodes: {_placements(n_nodes):,.0f}",
                flush=True,
            )
    if only in "large":
        workload = fixed_jobs(seeded(1, "arrivals"), n_jobs=90, n_tasks=1000, duration_s=20.0, load=0.9, n_slots=50_000)
        outcome, cpu_s = _run(HEDDLE, workload, Setting(n_workers=50_000, n_gms=10))
        peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
        mean_s = outcome.delay().mean
        print(f"50,000 workers, 10 Global Masters, 25 Local Masters, {workload.n_tasks:,} tasks:")
        print(f"mean delay {mean_s:.4f} s, {cpu_s:.0f} s of CPU, {peak_mib:.0f} MiB at most", flush=True)


def _placements(n_nodes: int) -> float:
    """Tasks placed in a second of CPU: one job as large as the cluster, batched to 25 Local Masters."""
    master = GlobalMaster(GlobalMasterId("ga"), HEDDLE, n_resources=1, rng=seeded(1, "ga"))
    names = tuple(LocalMasterId(f"l{index}") for index in range(25))
    for effect in master.handle(LocalMastersFound(0.0, names)):
        if isinstance(effect, SendMessage):
            nodes = [NodeSpec((1,))] * (n_nodes // 25)
            owners = [GlobalMasterId("ga")]
            local_master = LocalMaster(effect.to, nodes, owners, n_resources=1, commitment=HEDDLE.commitment)
            _answer(master, local_master, effect)
    job = JobRequest("job", (TaskGroup(Need((1,)), tuple(range(n_nodes))),))
    started_s = time.process_time()
    effects = master.handle(JobSubmitted(1.0, job))
    taken_s = time.process_time() - started_s
    messages = [effect.message for effect in effects if isinstance(effect, SendMessage)]
    placed = sum(len(message.launches) for message in messages if isinstance(message, LaunchRequest))
    return placed / taken_s


def _answer(master: GlobalMaster, local_master: LocalMaster, effect: SendMessage) -> None:
    for answer in local_master.handle(MessageReceived(0.0, effect.message)):
        if isinstance(answer, SendReport):
            master.handle(ReportReceived(0.0, answer.report))


TABLES: Mapping[str, Callable[[str], None]] = {
    "traces": traces,
    "ablations": ablations,
    "robustness": robustness,
    "allocation": allocation,
    "speed": speed,
}

if __name__ == "__main__":
    TABLES[sys.argv[1]](sys.argv[2] if len(sys.argv) > 2 else "")  # noqa: PLR2004 - the optional filter
