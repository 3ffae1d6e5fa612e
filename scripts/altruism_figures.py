"""Measure altruism in simulation for altruism.md: each policy beside work-conserving DRF on the same jobs.

    python -m scripts.altruism_figures policies     every policy on every workload
    python -m scripts.altruism_figures probability  how often jobs yield
    python -m scripts.altruism_figures estimates    durations that are believed wrongly
    python -m scripts.altruism_figures load         more and more work
    python -m scripts.altruism_figures baselines    what altruism is compared with, as load grows
    python -m scripts.altruism_figures policies tpch  one workload alone

Workloads `*-like` are drawn from seeds; the others are read from the folder that HEDDLE_DATA names, and are left out
without it. Factors are DRF's time by the policy's, means over three seeds: above 1 is better than DRF.
"""

import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from random import Random

from scripts.papers.dag_pool.comparison import POLICIES, Factors, compare
from scripts.papers.dag_pool.jobs import (
    PoolJob,
    alibaba_jobs,
    arriving,
    batch_jobs,
    joining_jobs,
    map_reduce_jobs,
    misjudged,
    queries,
    tpch_jobs,
)
from shim.simulation.engine import seeded
from tests.doubles.public_data import data_folder, has_data

SEEDS = (1, 2, 3)
_SLOTS = 50
_ONE_IN_THREE = 3
_DRAWS = ("10000000", "10000001", "10000002")


def _tpch(
    arrivals: str, n_jobs: int, slots: int, *, resources: int = 1, numbers: Container[int] = range(1, 23)
) -> Callable[[int, float], list[PoolJob]]:
    def jobs(seed: int, load: float) -> list[PoolJob]:
        drawn = seeded(seed, "pool") if resources > 1 else None
        folder, draw = data_folder() / "tpch_decima", _DRAWS[seed - 1]
        at = round(slots / load)
        return tpch_jobs(folder, arrivals, draw, n_jobs, at, drawn=drawn, resources=resources, numbers=numbers)

    return jobs


def _queries(resources: int = 1) -> Callable[[int, float], list[PoolJob]]:
    return lambda seed, load: queries(seeded(seed, "pool"), 20, round(_SLOTS / load), resources=resources)


def _at_once(jobs: Callable[[int, float], list[PoolJob]]) -> Callable[[int, float], list[PoolJob]]:
    return lambda seed, load: [replace(job, arrival_s=0.0) for job in jobs(seed, load)]


def _drawn(
    draw: Callable[[Random, int, int], list[PoolJob]], n_jobs: int, size: int
) -> Callable[[int, float], list[PoolJob]]:
    return lambda seed, load: arriving(draw(seeded(seed, "jobs"), n_jobs, size), seeded(seed, "arrivals"), load)


def _alibaba(name: str, n_jobs: int) -> Callable[[int, float], list[PoolJob]]:
    def jobs(seed: int, load: float) -> list[PoolJob]:
        file = data_folder() / "alibaba_dag_2018" / name
        return arriving(alibaba_jobs(file, n_jobs, 1.0, skip=(seed - 1) * n_jobs), seeded(seed, "pool"), load)

    return jobs


def _map_only(rng: Random, n_jobs: int, slots: int) -> list[PoolJob]:
    every = map_reduce_jobs(rng, 2 * n_jobs * _ONE_IN_THREE, slots)
    return [job for job in every if job.graph.n_stages == 1][:n_jobs]


WORKLOADS: Mapping[str, tuple[Callable[[int, float], list[PoolJob]], float]] = {
    "tpch-like": (_queries(), 1.0),
    "tpch-like-2": (_queries(resources=2), 1.0),
    "tpch-like-6": (_queries(resources=6), 1.0),
    "alibaba-like": (_drawn(batch_jobs, 80, 1), 1.5),
    "join-like": (_drawn(joining_jobs, 40, _SLOTS), 1.5),
    "mapreduce-like": (_drawn(map_reduce_jobs, 100, _SLOTS), 1.5),
    "maps-like": (_drawn(_map_only, 100, _SLOTS), 1.5),
    "many-like": (_drawn(map_reduce_jobs, 2_000, _SLOTS), 0.9),
    "tpch": (_tpch("batch20_50exec", 20, _SLOTS), 1.0),
    "tpch-2": (_tpch("batch20_50exec", 20, _SLOTS, resources=2), 1.0),
    "tpch-6": (_tpch("batch20_50exec", 20, _SLOTS, resources=6), 1.0),
    "tpch-wide": (_at_once(_tpch("arrivals_50exec_200jobs", 12, _SLOTS, numbers=(2, 8, 21))), 1.0),
    "tpch-arriving": (_tpch("arrivals_50exec_200jobs", 40, _SLOTS), 1.4),
    "alibaba": (_alibaba("medium_filtered.csv.gz", 100), 3.0),
    "alibaba-chains": (_alibaba("alibaba_straight_chain_7K_dags_minLen4_set1.csv.gz", 60), 1.5),
}
"""Jobs of a seed under a load, and the load that tables use; `-2` and `-6` have so many resources."""

_OF_SWEEPS = ("carbyne P=0.25", "carbyne P=0.5", "carbyne P=0.75", "promises P=0", "promises, graphene inside")
_MOST_TOLD = ("srtf", "carbyne P=0", "carbyne", "promises", "promises, whole pool")


def _row(cells: Iterable[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def _one(task: tuple[str, float, float, int, tuple[str, ...]]) -> dict[str, Factors]:
    name, load, believed, seed, policies = task
    jobs = WORKLOADS[name][0](seed, load)
    return compare(misjudged(jobs, believed) if believed != 1 else jobs, policies, seed=seed)


def over_seeds(
    name: str,
    policies: Sequence[str],
    *,
    load: float | None = None,
    believed: float = 1.0,
    pool: ProcessPoolExecutor | None = None,
) -> dict[str, Factors]:
    """Each policy's factors on a workload, means over the seeds of the tables; side by side in a pool."""
    tasks = [(name, WORKLOADS[name][1] if load is None else load, believed, seed, tuple(policies)) for seed in SEEDS]
    runs = list(map(_one, tasks) if pool is None else pool.map(_one, tasks))
    return {policy: Factors.mean_of([run[policy] for run in runs]) for policy in policies}


_HEADS = (
    "workload",
    "policy",
    "mean",
    "p50",
    "p75",
    "p95",
    "below 0.8",
    "worst",
    "makespan",
    "Jain",
    "least",
    "ms p99",
)


def _cells(each: Factors) -> list[str]:
    numbers = [f"{value:.2f}" for value in (each.mean, each.p50, each.p75, each.p95)]
    rest = [f"{value:.2f}" for value in (each.worst, each.makespan, *each.jain)]
    return [*numbers, f"{each.slowed:.0%}", *rest, f"{each.look_ms:.0f}"]


def policies(pool: ProcessPoolExecutor, names: Sequence[str]) -> None:
    """Every policy."""
    _row(_HEADS)
    _row("---" for _ in _HEADS)
    every = [policy for policy in POLICIES if policy != "drf" and policy not in _OF_SWEEPS]
    for name in names:
        for policy, found in over_seeds(name, every, pool=pool).items():
            _row([name, policy, *_cells(found)])


def _sweep(head: str, values: Mapping[str, Callable[[str], dict[str, Factors]]], names: Sequence[str]) -> None:
    _row(["workload", head, *(f"{policy}: mean, worst" for policy in _MOST_TOLD)])
    _row("---" for _ in range(len(_MOST_TOLD) + 2))
    for name in names:
        for value, run in values.items():
            found = run(name)
            _row([name, value, *(f"{found[policy].mean:.2f}, {found[policy].worst:.2f}" for policy in _MOST_TOLD)])


def estimates(pool: ProcessPoolExecutor, names: Sequence[str]) -> None:
    """Durations believed wrongly."""
    factors = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
    _sweep(
        "believed",
        {f"x {f:g}": lambda name, f=f: over_seeds(name, _MOST_TOLD, believed=f, pool=pool) for f in factors},  # type: ignore[misc]
        names,
    )


def load(pool: ProcessPoolExecutor, names: Sequence[str]) -> None:
    """More and more work."""
    loads = (0.7, 1.0, 1.5, 3.0)
    _sweep(
        "load",
        {f"{each:g}": lambda name, each=each: over_seeds(name, _MOST_TOLD, load=each, pool=pool) for each in loads},  # type: ignore[misc]
        names,
    )


def probability(pool: ProcessPoolExecutor, names: Sequence[str]) -> None:
    """How often jobs yield."""
    rows = ("carbyne P=0", "carbyne P=0.25", "carbyne P=0.5", "carbyne P=0.75", "carbyne")
    _row(["workload", *rows])
    _row("---" for _ in range(len(rows) + 1))
    for name in names:
        found = over_seeds(name, rows, pool=pool)
        _row([name, *(f"{found[row].mean:.2f}" for row in rows)])


_BESIDE = ("shares alone", "tetris", "srtf", "carbyne P=0", "carbyne")


def baselines(pool: ProcessPoolExecutor, names: Sequence[str]) -> None:
    """Whom altruism is compared with decides its factor."""
    _row(["workload", "load", "over shares alone", "over DRF", "over Tetris", "over SRTF", "P=0 over shares alone"])
    _row("---" for _ in range(7))
    for name in names:
        for load in (1.0, 2.0, 4.0):
            found = over_seeds(name, _BESIDE, load=load, pool=pool)
            mine, alone = found["carbyne"].mean, found["shares alone"].mean
            over = (mine / alone, mine, mine / found["tetris"].mean, mine / found["srtf"].mean)
            row = (*over, found["carbyne P=0"].mean / alone)
            _row([name, f"{load:g}", *(f"{value:.2f}" for value in row)])


_PARTS = {
    "baselines": baselines,
    "policies": policies,
    "probability": probability,
    "estimates": estimates,
    "load": load,
}


def main() -> int:
    """Run the part that is named, on the workloads that are named or all."""
    part, *names = sys.argv[1:] or [""]
    known = [name for name in WORKLOADS if "-like" in name or has_data()]
    if part not in _PARTS or any(name not in known for name in names):
        print(__doc__, "Workloads: ", ", ".join(known), sep="")
        return 2
    with ProcessPoolExecutor(max_workers=2) as pool:
        _PARTS[part](pool, names or known)
    return 0


if __name__ == "__main__":
    sys.exit(main())
