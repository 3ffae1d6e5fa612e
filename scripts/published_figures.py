"""Print the tables of published systems for docs/researchers/evaluation.md.

    python scripts/published_figures.py traces        mean job delay on Yahoo's and Facebook's traces
    python scripts/published_figures.py sparrow       Sparrow's own experiment
    python scripts/published_figures.py omega         Omega's conflict fractions
    python scripts/published_figures.py constraints   placement constraints

A number after the table's name is how many seeds each stochastic policy is run with; 1 if there is none.
HEDDLE_DATA names the folder of the traces: docs/researchers/evaluation.md says where they come from.
"""

import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from scripts.papers.omega_conflicts import conflict_fraction, contended_workload
from shim.simulation.constraints import apply_constraints, read_constraints
from shim.simulation.engine import seeded
from shim.simulation.omega import ConflictMode, OmegaRules, TransactionMode
from shim.simulation.registry import Experiment, simulate
from shim.simulation.run import Setting
from shim.simulation.traces import fixed_jobs, read_trace
from tests.doubles.public_data import data_folder

TRACES = (("YH1_sub", 4000), ("YH1_sub", 6000), ("synthetic_FB_sub_2000jobs", 5000))
MEASURED_DELAY_S = {
    "sparrow-with-replacement": (2148, 422, 232),
    "sparrow": (2148, 422, 232),
    "hawk": (340, 50.8, 42.9),
    "central-least-work-left": (140, 9.7, 10.1),
    "eagle": (70.5, 4.8, 40.5),
    "pigeon": (51.2, 5.7, 14.3),
    "central-fifo": (335, 26.4, 8.3),
    "central-fewest-tasks": (20.5, 2.44, 4.58),
    "central-srpt": (17.3, 1.72, 3.52),
}

LOADS = (0.8, 0.9, 0.95)
N_JOBS = 1000
N_JOBS_RANDOM = 2000
"""Random placement does not settle: this length of run comes nearest to the measured figures."""
MEASURED_RESPONSE_MS = {
    "random": (321, 505, 686),
    "sparrow-per-task": (152, 164, 173),
    "sparrow-batch": (129, 147, 160),
    "sparrow-late-binding": (109, 122, 138),
    "sparrow": (107, 118, 130),
    "central-fifo": (101, 107, 117),
}

THINK_S = (0.1, 1.0, 10.0)
HORIZON_S = 6000.0
MEASURED_CONFLICTS = {
    OmegaRules(ConflictMode.RESOURCE_FIT, TransactionMode.ALL_OR_NOTHING): (0.606, 0.696, 0.642),
    OmegaRules(ConflictMode.RESOURCE_FIT, TransactionMode.INCREMENTAL): (0.629, 0.795, 0.721),
    OmegaRules(ConflictMode.SEQUENCE_NUMBERS, TransactionMode.ALL_OR_NOTHING): (0.594, 0.876, 0.890),
    OmegaRules(ConflictMode.SEQUENCE_NUMBERS, TransactionMode.INCREMENTAL): (0.626, 0.796, 0.782),
}


def _row(cells: Iterable[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def _heading(cells: Sequence[str]) -> None:
    _row(cells)
    _row(["---"] * len(cells))


def _cell(values: Sequence[float], measured: float, digits: int) -> str:
    """The mean of our runs, their range, the measured figure and how far we are from it."""
    mean = statistics.fmean(values)
    spread = f" ({min(values):.{digits}f} to {max(values):.{digits}f})" if len(set(values)) > 1 else ""
    return f"**{mean:.{digits}f}**{spread}, {measured:g}: {100.0 * (mean / measured - 1.0):+.1f} %"


def traces(seeds: Sequence[int]) -> None:
    """Mean job delay on the traces, seconds."""
    _heading(["policy", *(f"{name}, {n_workers:,} workers" for name, n_workers in TRACES)])
    workloads = {name: read_trace(data_folder() / "jobs" / f"{name}.tr") for name, _ in TRACES}
    for policy, measured in MEASURED_DELAY_S.items():
        cells = [policy]
        for (name, n_workers), figure in zip(TRACES, measured, strict=True):
            tried = seeds[:1] if policy.startswith("central") else seeds
            experiments = [Experiment(policy, Setting(n_workers=n_workers, seed=seed)) for seed in tried]
            means = [simulate(experiment, workloads[name]).delay().mean for experiment in experiments]
            cells.append(_cell(means, figure, digits=2))
        _row(cells)


def sparrow(seeds: Sequence[int]) -> None:
    """Mean response in Sparrow's own experiment, milliseconds, jobs after the first half second."""
    _heading(["policy", *(f"load {load:g}" for load in LOADS)])
    for policy, measured in MEASURED_RESPONSE_MS.items():
        cells = [policy]
        for load, figure in zip(LOADS, measured, strict=True):
            cells.append(_cell([mean_response_ms(policy, load, seed) for seed in seeds], figure, digits=1))
        _row(cells)


def mean_response_ms(policy: str, load: float, seed: int) -> float:
    """Mean response of the jobs that arrive after the first half second."""
    n_jobs = N_JOBS_RANDOM if policy == "random" else N_JOBS
    workload = fixed_jobs(seeded(seed, "arrivals"), n_jobs=n_jobs, n_tasks=100, duration_s=0.1, load=load, n_slots=4000)
    outcome = simulate(Experiment(policy, Setting(n_workers=1000, slots_per_worker=4, seed=seed)), workload)
    pairs = zip(workload.jobs, outcome.responses_s, strict=True)
    return 1000.0 * statistics.fmean(response_s for job, response_s in pairs if job.arrival_s > 0.5)  # noqa: PLR2004


def omega(seeds: Sequence[int]) -> None:
    """Conflict fractions of the batch schedulers' transactions."""
    _heading(["conflict, transaction", *(f"{think_s:g} s a job" for think_s in THINK_S)])
    workloads = {seed: contended_workload(seed, HORIZON_S) for seed in seeds}
    for rules, measured in MEASURED_CONFLICTS.items():
        cells = [f"{rules.conflict.value}, {rules.transaction.value}"]
        for think_s, figure in zip(THINK_S, measured, strict=True):
            found = [
                conflict_fraction(workload, rules, think_s, seed=seed, horizon_s=HORIZON_S)
                for seed, workload in workloads.items()
            ]
            cells.append(_cell(found, figure, digits=3))
        _row(cells)


def constraints(seeds: Sequence[int]) -> None:
    """Job delay with placement constraints, seconds."""
    folder = data_folder() / "megha_constraints"
    files = ("megha_config_G5L5S10000_C.json.gz", "syn250_first200jobs.task_constraints_seed42.csv.gz")
    required = read_constraints([folder / name for name in files])
    workload = apply_constraints(read_trace(folder / "syn250_first200jobs.tr"), required)
    _heading(["policy", "mean", "p50", "p99", "messages a task"])
    for policy in ("pigeon", "sparrow", "central-fifo"):
        tried = seeds[:1] if policy.startswith("central") else seeds
        settings = [Setting(n_workers=10_000, seed=seed, worker_constraints=required.workers) for seed in tried]
        outcomes = [simulate(Experiment(policy, setting), workload) for setting in settings]
        delays = [outcome.delay() for outcome in outcomes]
        means = [delay.mean for delay in delays]
        _row(
            [
                policy,
                f"{statistics.fmean(means):.4f} ({min(means):.4f} to {max(means):.4f})",
                f"{statistics.fmean(delay.p50 for delay in delays):.4f}",
                f"{statistics.fmean(delay.p99 for delay in delays):.3f}",
                f"{outcomes[0].messages_per_task:.2f}",
            ]
        )


TABLES: Mapping[str, Callable[[Sequence[int]], None]] = {
    "traces": traces,
    "sparrow": sparrow,
    "omega": omega,
    "constraints": constraints,
}


def _main(arguments: Sequence[str]) -> None:
    match arguments:
        case [name] if name in TABLES:
            TABLES[name]((1,))
        case [name, number] if name in TABLES and number.isdecimal():
            TABLES[name](range(1, int(number) + 1))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    _main(sys.argv[1:])
