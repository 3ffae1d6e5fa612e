"""Orderings compared on jobs that are graphs of stages: inputs by path, each with the cluster that it was measured on.

Known are files of two kinds, by their names, and folders that hold them:
TPC-H queries (`decima_seed_*.json.gz`, with the measured stages in `tpch_dags_full.json.gz` beside them) on executors,
and batch jobs of Alibaba's trace (`*.csv.gz`) on machines with cores and memory.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from shim.errors import BadRequestError
from shim.simulation.dag_executors import ExecutorSettings, run_on_executors
from shim.simulation.dag_jobs import read_alibaba, read_arrivals, read_tpch
from shim.simulation.dag_machines import MACHINE_ORDERINGS, MachineSettings, run_on_machines
from shim.simulation.dag_results import DagOutcome
from shim.simulation.executor_policies import EXECUTOR_POLICIES
from shim.simulation.parallel import OnJobEnd, run_all

ORDERINGS: Mapping[str, str] = {
    "fair": "an equal part for every job; on machines of the memory alone, as YARN's default calculator does",
    "fifo": "who came first has all that it can use",
    "drf": "who holds least of its dominant resource is next",
    "srtf": "who has the least work left is next; work is known beforehand",
    "packing": "what fits best into the room that a machine has, small jobs preferred (Tetris); machines only",
}
"""Every ordering by name, with what it does."""

_GRAPHS = "tpch_dags_full.json.gz"
_ARRIVALS = "decima_seed_"
_QUERIES, _TRACE = f"{_ARRIVALS}*.json.gz", "*.csv.gz"
_DEFAULT_TRACE = "medium_filtered.csv.gz"


@dataclass(frozen=True, slots=True)
class DagSettings:
    """Settings of a run.

    Attributes:
        draw: Which of the arrivals of a TPC-H file; None for its first.
        executors: What queries run on.
        machines: What batch jobs run on.
    """

    first_jobs: int = 1000
    draw: str | None = None
    executors: ExecutorSettings = field(default_factory=ExecutorSettings)
    machines: MachineSettings = field(default_factory=MachineSettings)


class _Run(Protocol):
    """Runs jobs to their end."""

    def __call__(self, ordering: str, /, *, seed: int, on_job_end: OnJobEnd) -> DagOutcome: ...


@dataclass(frozen=True, slots=True)
class DagWorkload:
    """Jobs, and a cluster for them."""

    name: str
    n_jobs: int
    orderings: Sequence[str]
    run: _Run


def open_workloads(paths: Sequence[Path], settings: DagSettings) -> list[DagWorkload]:
    """Read every file that is named, or that a named folder holds: of several traces the one without broken jobs.

    Raises:
        BadRequestError: If there is no such file, it is none that is known, or it has no job.
    """
    return [_open(file, settings) for path in paths for file in _files(path)]


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    if (path / _GRAPHS).exists():
        return sorted(path.glob(_QUERIES))
    traces = sorted(path.glob(_TRACE))
    if not traces:
        raise BadRequestError(f"{path} holds no graphs of stages: neither {_QUERIES} with {_GRAPHS}, nor {_TRACE}")
    return [path / _DEFAULT_TRACE] if path / _DEFAULT_TRACE in traces else traces


def _open(file: Path, settings: DagSettings) -> DagWorkload:
    name = file.name.partition(".")[0].removeprefix(_ARRIVALS)
    read = next((read for form, read in _READERS.items() if file.match(form)), None)
    if read is None:
        raise BadRequestError(f"{file} should be called {' or '.join(_READERS)}: what it holds goes by its name")
    try:
        workload = read(name, file, settings)
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:  # whatever is wrong with somebody's file
        raise BadRequestError(f"{file} cannot be read: {type(error).__name__}: {error}") from error
    if not workload.n_jobs:
        raise BadRequestError(f"{file} has no whole job")
    return workload


def _read_queries(name: str, file: Path, settings: DagSettings) -> DagWorkload:
    jobs = read_arrivals(file, settings.draw, read_tpch(file.parent / _GRAPHS))[: settings.first_jobs]
    run = partial(run_on_executors, jobs, settings=settings.executors)
    return DagWorkload(name, len(jobs), tuple(EXECUTOR_POLICIES), run)


def _read_trace(name: str, file: Path, settings: DagSettings) -> DagWorkload:
    jobs = read_alibaba(file, settings.first_jobs)
    run = partial(run_on_machines, jobs, settings=settings.machines)
    return DagWorkload(name, len(jobs), tuple(MACHINE_ORDERINGS), run)


_READERS: Mapping[str, Callable[[str, Path, DagSettings], DagWorkload]] = {
    _QUERIES: _read_queries,
    _TRACE: _read_trace,
}


@dataclass(frozen=True, slots=True)
class DagRun:
    """One run to be made."""

    workload: DagWorkload
    ordering: str
    seed: int

    def make(self, on_job_end: OnJobEnd) -> DagOutcome:
        """Make it; `on_job_end` is called at the end of each job."""
        began_s = time.perf_counter()
        outcome = self.workload.run(self.ordering, seed=self.seed, on_job_end=on_job_end)
        wall_s = time.perf_counter() - began_s
        return replace(outcome, workload=self.workload.name, ordering=self.ordering, seed=self.seed, wall_s=wall_s)


def plan_runs(workloads: Sequence[DagWorkload], orderings: Sequence[str], seeds: Sequence[int]) -> list[DagRun]:
    """Every workload with every ordering that it can be run with and every seed.

    Raises:
        BadRequestError: If an ordering is unknown, or none of them is for these workloads.
    """
    unknown = [name for name in orderings if name not in ORDERINGS]
    if unknown:
        raise BadRequestError(f"no ordering is called {', '.join(unknown)}; there are {', '.join(ORDERINGS)}")
    runs = [
        DagRun(workload, ordering, seed)
        for workload in workloads
        for ordering in orderings
        if ordering in workload.orderings
        for seed in seeds
    ]
    if not runs:
        names = ", ".join(workload.name for workload in workloads)
        raise BadRequestError(f"{names} cannot be run with {', '.join(orderings)}")
    return runs


def make_runs(
    planned: Sequence[DagRun], *, n_processes: int = 1, on_jobs_end: Callable[[int], object] = lambda _: None
) -> list[DagOutcome]:
    """Make all runs, and give their results in the order of the plan; see `run_all`."""
    runs = [(run.make, run.workload.n_jobs) for run in planned]
    return run_all(runs, n_processes=n_processes, on_jobs_end=on_jobs_end)
