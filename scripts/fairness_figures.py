"""Measure orderings on graphs of stages for evaluation.md: completion times, makespan and how even the shares are.

    python scripts/fairness_figures.py tpch       TPC-H queries on 50 executors, arriving and all at once
    python scripts/fairness_figures.py alibaba    a day of batch jobs on machines with cores and memory
    python scripts/fairness_figures.py queues     four queues with shares over three Global Masters, by heartbeat

HEDDLE_DATA names the folder of the data: evaluation.md says where it comes from. Every figure is a mean over
three seeds.
"""

import statistics
import sys
from collections.abc import Callable, Iterable

from scripts.papers.queue_shares import MEGHA_QUEUES, ShareSetting, run_queue_shares
from shim.simulation.dag_results import COLUMNS, rows
from shim.simulation.dag_runs import ORDERINGS, DagSettings, make_runs, open_workloads, plan_runs
from tests.doubles.public_data import data_folder

SEEDS = range(3)
SETTLED_S = 240.0


def _row(cells: Iterable[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def _table(*heads: str) -> None:
    _row(heads)
    _row("---" for _ in heads)


def _graphs(data: str, *heads: str) -> None:
    """Every ordering on everything in a folder of data: what `heddle simulate dag` prints, as a table of docs."""
    workloads = open_workloads([data_folder() / data], DagSettings())
    outcomes = make_runs(plan_runs(workloads, tuple(ORDERINGS), SEEDS))
    columns = [key for heading, key in COLUMNS if heading in heads]
    _table(*heads)
    for row in rows(outcomes):
        _row(row[key] for key in columns)


def tpch() -> None:
    """Four orderings, two arrivals."""
    _graphs("tpch_decima", "JOBS", "ORDERING", "MEAN s", "P95", "MAKESPAN s", "JAIN")


def alibaba() -> None:
    """Five orderings."""
    _graphs("alibaba_dag_2018", "ORDERING", "MEAN s", "MAKESPAN s", "JAIN", "WALL s")


def queues() -> None:
    """Shares held once all queues are there, and what it took."""
    _table("Global Masters", "heartbeat s", *(f"{plan.name} ({plan.share:.0%})" for plan in MEGHA_QUEUES), "taken back")
    for n_gms, heartbeat_s in ((1, 0.5), (3, 1.0), (3, 5.0), (3, 30.0)):
        runs = [run_queue_shares(ShareSetting(n_gms=n_gms, heartbeat_s=heartbeat_s, seed=seed)) for seed in SEEDS]
        means = [run.mean_shares(SETTLED_S) for run in runs]
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
