"""Heddle beside what its users would otherwise have: one big cluster, each cluster by itself, jobs dealt in turn.

    python -m scripts.contest [--shape heavy-tail] [--load 0.85] [--am-share 0.5] [--queues fair] [--seeds 3]

Runs in *yarn-sim*: modelled ResourceManagers in virtual time, Heddle's own code before them. All rows of a seed have
the same jobs. The one big cluster has all nodes. The oracle knows every duration, has no heartbeats, starts
ApplicationMasters and tasks by the least remaining work, and is held to the same part for ApplicationMasters.
"""

import argparse
import heapq
import math
import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from statistics import fmean, geometric_mean

from scripts.two_clusters import be_silent
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.cluster.spec import ModelledClusterSpec, QueueSpec
from shim.simulation.engine import seeded
from shim.simulation.yarn_sim.run import SimulatedFront, YarnSetting, play

__all__ = ["ROWS", "SHAPES", "Draw", "completions_of", "oracle"]

_TASK = ResourceVector(1024, 1)
_NODE = ResourceVector(4096, 8)
_PLACES = 4  # containers of a task on a node
_MASTER_PLACES = 0.5  # an ApplicationMaster has half the memory of a task
_MASTER_BEGINS_S = 1.8  # launch and start of an ApplicationMaster, as `Timing` has them
_SIZES = ((1, 5), (6, 20), (60, 140))
_GIANT_EVERY = 50
_USERS = tuple(f"user{number}" for number in range(8))


@dataclass(frozen=True, slots=True)
class Draw:
    """One workload on one set of clusters.

    Attributes:
        load: Work of the jobs' tasks by what all containers could do until the last arrival.
        queues: Ordering policy of the clusters behind Heddle.
        nodes: Of each cluster.
    """

    shape: str = "heavy-tail"
    load: float = 0.85
    am_share: float = 0.5
    queues: str = "fair"
    seed: int = 1
    jobs: int = 500
    nodes: tuple[int, ...] = (8, 8)

    @property
    def places(self) -> int:
        """Containers of all clusters."""
        return _PLACES * sum(self.nodes)


# -- jobs ------------------------------------------------------------------------------------------------------------

_Kind = tuple[str, str, int, float]
"""Name, user, tasks and mean seconds of a task."""


def _heavy(rng: random.Random, number: int) -> _Kind:
    """Draw a kind of jobs: three of four have a few tasks, one of twenty about a hundred."""
    fewest, most = rng.choices(_SIZES, weights=(75, 20, 5))[0]
    tasks = rng.randint(fewest, most)
    return f"etl-{number}", rng.choice(_USERS), tasks, rng.lognormvariate(math.log(15.0), 0.6)


def _run_of(rng: random.Random, kind: _Kind, number: int) -> ModelledJob:
    """Draw one run of a kind: its count and times are those of the kind, by a tenth or two."""
    name, user, tasks, mean_s = kind
    count = max(1, round(tasks * rng.uniform(0.85, 1.15)))
    run_s = mean_s * rng.uniform(0.85, 1.15)
    times = tuple(run_s * rng.uniform(0.7, 1.3) for _ in range(count))
    return ModelledJob(f"{name}-2026{number:04}", 0.0, (ModelledStage(times, size=_TASK),), user=user)


def _recurring(rng: random.Random, count: int) -> list[ModelledJob]:
    kinds = [_heavy(rng, number) for number in range(40)]
    return [_run_of(rng, rng.choice(kinds), number) for number in range(count)]


def _without_history(rng: random.Random, count: int) -> list[ModelledJob]:
    made = (_run_of(rng, _heavy(rng, number), number) for number in range(count))
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [replace(job, name="".join(rng.choices(letters, k=12))) for job in made]


def _uniform_short(rng: random.Random, count: int) -> list[ModelledJob]:
    kinds = [(f"short-{number}", rng.choice(_USERS), 4, 8.0) for number in range(10)]
    return [_run_of(rng, rng.choice(kinds), number) for number in range(count)]


def _giants(rng: random.Random, count: int) -> list[ModelledJob]:
    """Small jobs, and one of fifty that has four hundred tasks."""
    small = [(f"small-{number}", rng.choice(_USERS), rng.randint(1, 4), rng.uniform(5.0, 20.0)) for number in range(20)]
    giant = ("giant", _USERS[0], 400, 15.0)
    kinds = [rng.choice(small) if number % _GIANT_EVERY else giant for number in range(1, count + 1)]
    return [_run_of(rng, kind, number) for number, kind in enumerate(kinds)]


def _drift(rng: random.Random, count: int) -> list[ModelledJob]:
    """Recurring kinds whose tasks last three times as long at the end as at the beginning."""
    made = _recurring(rng, count)
    return [
        replace(job, stages=tuple(replace(each, durations_s=_times(each, 1 + 2 * at / count)) for each in job.stages))
        for at, job in enumerate(made)
    ]


def _times(stage: ModelledStage, factor: float) -> tuple[float, ...]:
    return tuple(each * factor for each in stage.durations_s)


SHAPES: Mapping[str, Callable[[random.Random, int], list[ModelledJob]]] = {
    "heavy-tail": _recurring,
    "no-history": _without_history,
    "uniform-short": _uniform_short,
    "bursts": _recurring,
    "giants": _giants,
    "drift": _drift,
}


def jobs_of(draw: Draw) -> list[ModelledJob]:
    """Draw the jobs with their arrivals: at random, or in bursts of twenty."""
    rng = seeded(draw.seed, f"contest {draw.shape}")
    made = SHAPES[draw.shape](rng, draw.jobs)
    gap_s = sum(_work_s(job) for job in made) / (len(made) * draw.places * draw.load)
    burst, found, at_s = 20 if draw.shape == "bursts" else 1, list[ModelledJob](), 0.0
    for number, job in enumerate(made):
        found.append(replace(job, arrival_s=at_s))
        if number % burst == burst - 1:
            at_s += rng.expovariate(1.0 / (gap_s * burst))
    return found


def _work_s(job: ModelledJob) -> float:
    return sum(sum(stage.durations_s) for stage in job.stages)


# -- rows ------------------------------------------------------------------------------------------------------------


def _clusters(sizes: Sequence[int], am_share: float, ordering: str) -> tuple[ModelledClusterSpec, ...]:
    queues = {"root.default": QueueSpec(am_share=am_share, ordering=ordering)}  # type: ignore[arg-type]
    return tuple(
        ModelledClusterSpec.even(f"c{number}", nodes=nodes, size=_NODE, epoch=1000 * (number + 1), queues=queues)
        for number, nodes in enumerate(sizes)
    )


def _one(ordering: str) -> Callable[[Draw], YarnSetting]:
    def made(draw: Draw) -> YarnSetting:
        clusters = _clusters((sum(draw.nodes),), draw.am_share, ordering)
        return YarnSetting(clusters=clusters, front=SimulatedFront.DEALT, seed=draw.seed)

    return made


def _dealt(draw: Draw) -> YarnSetting:
    return replace(_heddle("")(draw), front=SimulatedFront.DEALT)


def _heddle(config: str) -> Callable[[Draw], YarnSetting]:
    def made(draw: Draw) -> YarnSetting:
        return YarnSetting(clusters=_clusters(draw.nodes, draw.am_share, draw.queues), config=config, seed=draw.seed)

    return made


def _queue(lines: str) -> str:
    return f'[[queue]]\nname = "root.default"\n{lines}\n'


ROWS: Mapping[str, Callable[[Draw], YarnSetting]] = {
    "one cluster, fifo": _one("fifo"),
    "one cluster, fair": _one("fair"),
    "jobs dealt": _dealt,
    "Heddle": _heddle(""),
    "Heddle, span": _heddle(_queue("span = true")),
    "Heddle, span, fair": _heddle(_queue('span = true\ncontainers = "fair"')),
    "Heddle, span, fewest-tasks": _heddle(_queue('span = true\ncontainers = "fewest-tasks"')),
    "Heddle, span, learnt-work": _heddle(_queue('span = true\ncontainers = "learnt-work"')),
    "Heddle, home, starts by work": _heddle(_queue('order = "work"')),
    "Heddle, span, learnt-work, starts by work": _heddle(
        _queue('span = true\ncontainers = "learnt-work"\norder = "work"')
    ),
}
ORACLE = "oracle"


def completions_of(row: str, draw: Draw) -> tuple[float, ...]:
    """Seconds from arrival to end of each job of a draw by one row.

    Raises:
        RuntimeError: A job did not succeed.
    """
    be_silent()
    jobs = jobs_of(draw)
    if row == ORACLE:
        return oracle(jobs, draw)
    outcome = play(ROWS[row](draw), jobs)
    if outcome.failed:
        raise RuntimeError(f"{row}: {outcome.failed}")
    return outcome.completions_s


def oracle(jobs: Sequence[ModelledJob], draw: Draw) -> tuple[float, ...]:
    """Seconds from arrival to end with everything known: least remaining work first, for starts and for tasks.

    Tasks are not interrupted. Jobs have one stage.
    """
    left_s = [_work_s(job) for job in jobs]
    times = [sorted(job.stages[0].durations_s) for job in jobs]  # the longest is launched first
    running, ends_s = [0] * len(jobs), [0.0] * len(jobs)
    free, masters_free = float(draw.places), max(_MASTER_PLACES, draw.am_share * draw.places)
    events = [(job.arrival_s, number, "arrival", 0.0) for number, job in enumerate(jobs)]
    heapq.heapify(events)
    waiting, started = set[int](), set[int]()
    while events:
        now_s, number, what, lasted_s = heapq.heappop(events)
        if what == "arrival":
            waiting.add(number)
        elif what == "master":
            started.add(number)
        else:
            free += 1
            running[number] -= 1
            left_s[number] -= lasted_s
            if not times[number] and not running[number]:
                started.discard(number)
                ends_s[number] = now_s
                free += _MASTER_PLACES
                masters_free += _MASTER_PLACES
        for each in sorted(waiting, key=lambda one: left_s[one]):
            if masters_free < _MASTER_PLACES or free < _MASTER_PLACES:
                break
            waiting.discard(each)
            free -= _MASTER_PLACES
            masters_free -= _MASTER_PLACES
            heapq.heappush(events, (now_s + _MASTER_BEGINS_S, each, "master", 0.0))
        for each in sorted((one for one in started if times[one]), key=lambda one: left_s[one]):
            while times[each] and free >= 1:
                free -= 1
                running[each] += 1
                lasts_s = times[each].pop()
                heapq.heappush(events, (now_s + lasts_s, each, "task", lasts_s))
    return tuple(ends_s[number] - job.arrival_s for number, job in enumerate(jobs))


# -- the table -------------------------------------------------------------------------------------------------------


def _at(ordered: Sequence[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, math.ceil(part * len(ordered)) - 1)]


def jain(jobs: Sequence[ModelledJob], each_s: Sequence[float]) -> float:
    """Jain's index of users by their jobs' mean slowdown: completion by the job's longest task."""
    by_user: dict[str, list[float]] = {}
    for job, seconds in zip(jobs, each_s, strict=True):
        by_user.setdefault(job.user, []).append(seconds / job.longest_path_s)
    means = [fmean(each) for each in by_user.values()]
    return sum(means) ** 2 / (len(means) * sum(each * each for each in means))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shape", choices=SHAPES, default="heavy-tail")
    parser.add_argument("--load", type=float, default=0.85)
    parser.add_argument("--am-share", type=float, default=0.5)
    parser.add_argument("--queues", choices=("fifo", "fair"), default="fair", help="of the clusters behind Heddle")
    parser.add_argument("--nodes", default="8,8", help="of each cluster")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--rows", default="", help="parts of rows' names, by commas; all if empty")
    parser.add_argument("--processes", type=int, default=2)
    return parser.parse_args()


def main() -> None:
    """Print one line for each row: means over the seeds, and the geometric mean of ratios to one fair cluster."""
    asked = _arguments()
    nodes = tuple(int(each) for each in asked.nodes.split(","))
    base = Draw(asked.shape, asked.load, asked.am_share, asked.queues, 1, asked.jobs, nodes)
    draws = [replace(base, seed=seed) for seed in range(1, asked.seeds + 1)]
    chosen = [part for part in asked.rows.split(",") if part]
    rows = [row for row in (*ROWS, ORACLE) if not chosen or any(part in row for part in chosen)]
    with ProcessPoolExecutor(asked.processes) as pool:
        futures = {(row, draw.seed): pool.submit(completions_of, row, draw) for row in rows for draw in draws}
        found = {key: each.result() for key, each in futures.items()}
    fair = "one cluster, fair"
    print(f"{asked.shape}, load {asked.load}, AM share {asked.am_share}, {asked.queues} clusters of {nodes} nodes")
    print("| row | mean s | p95 | p99 | of one fair cluster | Jain |\n|---|---|---|---|---|---|")
    for row in rows:
        each = [sorted(found[row, draw.seed]) for draw in draws]
        ratio = "-"
        if fair in rows:
            ratio = f"{geometric_mean(fmean(found[row, d.seed]) / fmean(found[fair, d.seed]) for d in draws):.2f}"
        index = fmean(jain(jobs_of(draw), found[row, draw.seed]) for draw in draws)
        means = (fmean(map(fmean, each)), fmean(_at(one, 0.95) for one in each), fmean(_at(one, 0.99) for one in each))
        print(f"| {row} | {' | '.join(f'{value:.1f}' for value in means)} | {ratio} | {index:.2f} |")


if __name__ == "__main__":
    main()
