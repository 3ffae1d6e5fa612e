"""Measure orderings on graphs of stages for docs/fairness.md: completion times, makespan and how even the shares are.

    python scripts/fairness_figures.py tpch       TPC-H queries on 50 executors, arriving and all at once
    python scripts/fairness_figures.py alibaba    a day of batch jobs on machines with cores and memory
    python scripts/fairness_figures.py queues     four queues with shares over three Global Masters, by heartbeat

The data is found as the tests find it: HEDDLE_SHARED, or ../shared beside the repository. Every figure is a mean over
three seeds.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterable

from shim.simulation.dag_executors import EXECUTOR_POLICIES, run_on_executors
from shim.simulation.dag_jobs import read_alibaba, read_arrivals, read_tpch
from shim.simulation.dag_machines import MACHINE_ORDERINGS, run_on_machines
from shim.simulation.queue_shares import MEGHA_QUEUES, ShareSetting, run_queue_shares
from shim.testing.shared import shared_folder

SEEDS = range(3)
_DRAW = "10000000"
_ALIBABA_JOBS = 1000
_SETTLED_S = 240.0


def _row(cells: Iterable[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def _table(*heads: str) -> None:
    _row(heads)
    _row("---" for _ in heads)


def tpch() -> None:
    """Four orderings, two arrivals."""
    folder = shared_folder() / "data" / "tpch_decima"
    graphs = read_tpch(folder / "tpch_dags_full.json.gz")
    _table("jobs", "ordering", "mean completion s", "p95 s", "makespan s", "Jain")
    for name, file in (("200 arriving", "arrivals_50exec_200jobs"), ("20 at once", "batch20_50exec")):
        jobs = read_arrivals(folder / f"decima_seed_{file}.json.gz", _DRAW, graphs)
        for policy in EXECUTOR_POLICIES:
            runs = [run_on_executors(jobs, policy, seed=seed) for seed in SEEDS]
            figures = (
                statistics.mean(run.mean_s for run in runs),
                statistics.mean(run.p95_s for run in runs),
                statistics.mean(run.makespan_s for run in runs),
            )
            jain = statistics.mean(run.jain for run in runs)
            _row((name, policy, *(f"{figure:.1f}" for figure in figures), f"{jain:.2f}"))


def alibaba() -> None:
    """Five orderings."""
    jobs = read_alibaba(shared_folder() / "data" / "alibaba_dag_2018" / "medium_filtered.csv.gz", _ALIBABA_JOBS)
    _table("ordering", "mean completion s", "makespan s", "Jain", "s to simulate")
    for ordering in MACHINE_ORDERINGS:
        began_s = time.perf_counter()
        runs = [run_on_machines(jobs, ordering, seed=seed) for seed in SEEDS]
        took_s = (time.perf_counter() - began_s) / len(runs)
        _row(
            (
                ordering,
                f"{statistics.mean(run.mean_s for run in runs):.1f}",
                f"{statistics.mean(run.makespan_s for run in runs):.0f}",
                f"{statistics.mean(run.jain for run in runs):.2f}",
                f"{took_s:.1f}",
            )
        )


def queues() -> None:
    """Shares held once all queues are there, and what it took."""
    _table("Global Masters", "heartbeat s", *(f"{plan.name} ({plan.share:.0%})" for plan in MEGHA_QUEUES), "taken back")
    for n_gms, heartbeat_s in ((1, 0.5), (3, 1.0), (3, 5.0), (3, 30.0)):
        runs = [run_queue_shares(ShareSetting(n_gms=n_gms, heartbeat_s=heartbeat_s, seed=seed)) for seed in SEEDS]
        means = [run.mean_shares(_SETTLED_S) for run in runs]
        held = [statistics.mean(mean[plan.name] for mean in means) for plan in MEGHA_QUEUES]
        taken = statistics.mean(run.preempted for run in runs)
        _row((str(n_gms), f"{heartbeat_s:g}", *(f"{share:.1%}" for share in held), f"{taken:.0f}"))


_PARTS: dict[str, Callable[[], None]] = {"tpch": tpch, "alibaba": alibaba, "queues": queues}


def main() -> int:
    """Run the parts that are named, or all."""
    wanted = sys.argv[1:] or list(_PARTS)
    unknown = [name for name in wanted if name not in _PARTS]
    if unknown:
        print(__doc__)
        return 2
    for name in wanted:
        _PARTS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
