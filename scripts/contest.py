"""Heddle beside what its users would otherwise have: one big cluster, clusters by themselves, Hadoop's Router.

    python -m scripts.contest [--shape heavy-tail,bursts] [--load 0.7,1.0] [--am-share 0.1,0.5] [--queues fifo,fair]
        [--nodes 8,8/4,12] [--seeds 5] [--jobs 500] [--rows "one*;Heddle"]
        [--save FILE] [--picture FILE] [--phases]

Runs in *yarn-sim*: modelled ResourceManagers in virtual time, Heddle's own code before them. All rows of a seed have
the same jobs. The one big cluster has all nodes. The oracle knows every duration, has no heartbeats, starts
ApplicationMasters and tasks by the least remaining work, and is held to the same part for ApplicationMasters. What was
played is kept in the file that `--save` names, and not played again. With `--phases` it tells where the time goes.
"""

import argparse
import heapq
import json
import math
import random
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from itertools import pairwise, product
from pathlib import Path
from statistics import fmean, geometric_mean, stdev

from scripts.contest_picture import picture
from scripts.two_clusters import be_silent
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.cluster.spec import ModelledClusterSpec, QueueSpec
from shim.simulation.engine import seeded
from shim.simulation.yarn_sim.run import SimulatedFront, YarnOutcome, YarnSetting, play

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


def _letters(number: int) -> str:
    """A word for a number: kinds of jobs differ by more than numbers, which a run's date is, too."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def _heavy(rng: random.Random, number: int) -> _Kind:
    """Draw a kind of jobs: three of four have a few tasks, one of twenty about a hundred."""
    fewest, most = rng.choices(_SIZES, weights=(75, 20, 5))[0]
    tasks = rng.randint(fewest, most)
    return f"etl-{_letters(number)}", rng.choice(_USERS), tasks, rng.lognormvariate(math.log(15.0), 0.6)


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
    kinds = [(f"short-{_letters(number)}", rng.choice(_USERS), 4, 8.0) for number in range(10)]
    return [_run_of(rng, rng.choice(kinds), number) for number in range(count)]


def _giants(rng: random.Random, count: int) -> list[ModelledJob]:
    """Small jobs, and one of fifty that has four hundred tasks."""
    small = [
        (f"small-{_letters(number)}", rng.choice(_USERS), rng.randint(1, 4), rng.uniform(5.0, 20.0))
        for number in range(20)
    ]
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


@dataclass(frozen=True, slots=True)
class Row:
    """What the jobs are given to.

    Attributes:
        setting: The clusters and what stands before them.
        is_single: Whether all nodes are one cluster: such a row is the same whatever the clusters behind Heddle are.
        queue_of: The queue that a job is submitted to.
    """

    setting: Callable[[Draw], YarnSetting]
    is_single: bool = False
    queue_of: Callable[[ModelledJob], str] = lambda job: job.queue


def _clusters(
    sizes: Sequence[int], am_share: float, ordering: str, *, epoch: int = 1000
) -> tuple[ModelledClusterSpec, ...]:
    """Clusters of these nodes; all without an epoch where it is 0, so that nothing can span."""
    queues = {"root.default": QueueSpec(am_share=am_share, ordering=ordering)}  # type: ignore[arg-type]
    return tuple(
        ModelledClusterSpec.even(f"c{number}", nodes=nodes, size=_NODE, epoch=epoch * (number + 1), queues=queues)
        for number, nodes in enumerate(sizes)
    )


def _one(ordering: str) -> Row:
    def made(draw: Draw) -> YarnSetting:
        clusters = _clusters((sum(draw.nodes),), draw.am_share, ordering)
        return YarnSetting(clusters=clusters, front=SimulatedFront.DEALT, seed=draw.seed)

    return Row(made, is_single=True)


def _of_user(job: ModelledJob) -> str:
    return f"root.{job.user}"


def _fair_scheduler(draw: Draw) -> YarnSetting:
    """A queue for each user, as Hadoop's FairScheduler makes by default."""
    queues = {f"root.{user}": QueueSpec(am_share=draw.am_share) for user in _USERS}
    nodes = sum(draw.nodes)
    cluster = ModelledClusterSpec.even("c0", nodes=nodes, size=_NODE, epoch=1000, queues=queues, scheduler="fair")
    return YarnSetting(clusters=(cluster,), front=SimulatedFront.DEALT, seed=draw.seed)


def _several(front: SimulatedFront, config: str = "", *, epoch: int = 1000) -> Row:
    def made(draw: Draw) -> YarnSetting:
        clusters = _clusters(draw.nodes, draw.am_share, draw.queues, epoch=epoch)
        return YarnSetting(clusters=clusters, front=front, config=config, seed=draw.seed, shares_files=True)

    return Row(made)


_AS_BEFORE = "[scheduling]\nautomatic = false\n"


def _heddle(lines: str = "") -> Row:
    """Heddle as installed, or with these keys of the queue and nothing else."""
    queue = f'{_AS_BEFORE}[[queue]]\nname = "root.default"\n{lines}\n'
    return _several(SimulatedFront.HEDDLE, queue if lines else "")


SINGLE_FAIR = "one cluster, fair"
HEDDLE = "Heddle"
ORACLE = "oracle"
ROWS: Mapping[str, Row] = {
    "one cluster, fifo": _one("fifo"),
    SINGLE_FAIR: _one("fair"),
    "one cluster, FairScheduler": Row(_fair_scheduler, is_single=True, queue_of=_of_user),
    "users dealt": _several(SimulatedFront.USERS),
    "jobs dealt": _several(SimulatedFront.DEALT),
    "Router, by load": _several(SimulatedFront.ROUTER_LOAD),
    "Router, at random": _several(SimulatedFront.ROUTER_RANDOM),
    HEDDLE: _heddle(),
    "Heddle, no epochs": _several(SimulatedFront.HEDDLE, epoch=0),
    "Heddle, as before": _several(SimulatedFront.HEDDLE, _AS_BEFORE),
    "Heddle, span": _heddle("span = true"),
    "Heddle, span, fair": _heddle('span = true\ncontainers = "fair"'),
    "Heddle, span, tetris": _heddle('span = true\ncontainers = "tetris"'),
    "Heddle, span, fewest-tasks": _heddle('span = true\ncontainers = "fewest-tasks"'),
    "Heddle, span, learnt-work": _heddle('span = true\ncontainers = "learnt-work"'),
    "Heddle, home, starts by work": _heddle('span = false\norder = "work"'),
    "Heddle, span, learnt-work, starts by work": _heddle('span = true\ncontainers = "learnt-work"\norder = "work"'),
}


def completions_of(row: str, draw: Draw) -> tuple[float, ...]:
    """Seconds from arrival to end of each job of a draw by one row.

    Raises:
        RuntimeError: A job did not succeed.
    """
    return oracle(jobs_of(draw), draw) if row == ORACLE else _outcome_of(row, draw).completions_s


def _outcome_of(row: str, draw: Draw) -> YarnOutcome:
    be_silent()
    played = ROWS[row]
    outcome = play(played.setting(draw), [replace(job, queue=played.queue_of(job)) for job in jobs_of(draw)])
    if outcome.failed:
        raise RuntimeError(f"{row}: {outcome.failed}")
    return outcome


def phases_of(row: str, draw: Draw) -> list[tuple[int, tuple[float, ...]]]:
    """Tasks of each job, and its seconds until each of `_PHASES`, one after the other."""
    outcome, found = _outcome_of(row, draw), list[tuple[int, tuple[float, ...]]]()
    for job, end_s in zip(outcome.jobs, outcome.completions_s, strict=True):
        starts_s = outcome.starts_s[job.name].values()
        marks = (0.0, outcome.times[job.name].launched_s, min(starts_s), max(starts_s), end_s)
        found.append((len(starts_s), tuple(later - sooner for sooner, later in pairwise(marks))))
    return found


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


# -- what was played -------------------------------------------------------------------------------------------------


class Results:
    """Completions by row and draw, and the file that keeps them.

    Args:
        path: One JSON object a line; None to keep nothing.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known: dict[str, tuple[float, ...]] = {}
        if path is not None and path.exists():
            for line in path.read_text("utf-8").splitlines():
                kept = json.loads(line)
                self._known[kept["of"]] = tuple(kept["s"])

    def __getitem__(self, key: tuple[str, Draw]) -> tuple[float, ...]:
        """Completions of a row on a draw."""
        return self._known[_key(*key)]

    def play(self, rows: Iterable[str], draws: Sequence[Draw], processes: int) -> None:
        """Play what was not played yet."""
        wanted = {_key(row, draw): (row, draw) for draw in draws for row in rows}
        with ProcessPoolExecutor(processes) as pool:
            missing = {key: each for key, each in wanted.items() if key not in self._known}
            futures = {pool.submit(completions_of, *each): key for key, each in missing.items()}
            for done, future in enumerate(as_completed(futures), start=1):
                self._keep(futures[future], future.result())
                print(f"{done} of {len(futures)}: {futures[future]}", file=sys.stderr, flush=True)

    def _keep(self, key: str, found: tuple[float, ...]) -> None:
        self._known[key] = found
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as kept:
                kept.write(json.dumps({"of": key, "s": [round(each, 3) for each in found]}) + "\n")


def _key(row: str, draw: Draw) -> str:
    """Name of a run; one cluster and the oracle are the same whatever the clusters behind Heddle order by."""
    is_single = row == ORACLE or ROWS[row].is_single
    told = replace(draw, queues="", nodes=(sum(draw.nodes),)) if is_single else draw
    return json.dumps([row, *asdict(told).values()])


# -- the table -------------------------------------------------------------------------------------------------------

_WITHIN = 1.2
_T_95 = (6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753)
"""Student's t at 95 % by degrees of freedom, from 1."""
_T_NORMAL = 1.66


@dataclass(frozen=True, slots=True)
class Ratio:
    """A geometric mean of ratios with its 90 % interval; both ends are the mean where there is one ratio alone."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, ratios: Sequence[float]) -> "Ratio":
        """By Student's t of the logarithms."""
        mean = geometric_mean(ratios)
        if len(ratios) == 1:
            return cls(mean, mean, mean)
        freedom = len(ratios) - 1
        t = _T_95[freedom - 1] if freedom <= len(_T_95) else _T_NORMAL
        factor = math.exp(t * stdev(map(math.log, ratios)) / math.sqrt(len(ratios)))
        return cls(mean, mean / factor, mean * factor)

    def __str__(self) -> str:
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})"


def _at(ordered: Sequence[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, math.ceil(part * len(ordered)) - 1)]


def jain(jobs: Sequence[ModelledJob], each_s: Sequence[float]) -> float:
    """Jain's index of users by their jobs' mean slowdown: completion by the job's longest task."""
    by_user: dict[str, list[float]] = {}
    for job, seconds in zip(jobs, each_s, strict=True):
        by_user.setdefault(job.user, []).append(seconds / job.longest_path_s)
    means = [fmean(each) for each in by_user.values()]
    return sum(means) ** 2 / (len(means) * sum(each * each for each in means))


def best_single(found: Results, rows: Iterable[str], draws: Sequence[Draw]) -> str:
    """The one big cluster with the least mean over the seeds of a setting; one cluster, fair, where none was played."""
    single = [row for row in rows if row in ROWS and ROWS[row].is_single] or [SINGLE_FAIR]
    return min(single, key=lambda row: fmean(fmean(found[row, draw]) for draw in draws))


def told(found: Results, rows: Sequence[str], draws: Sequence[Draw]) -> Iterable[str]:
    """Lines of the table of one setting: one for each row; `draws` are its seeds."""
    best = best_single(found, rows, draws)
    yield f"| row | mean s | p95 | p99 | of {best} | within 1.2 | p99 of one fair | of the gap | Jain |"
    yield "|---|---|---|---|---|---|---|---|---|"
    means = {row: fmean(fmean(found[row, draw]) for draw in draws) for row in rows}
    for row in rows:
        each = [sorted(found[row, draw]) for draw in draws]
        ratio = Ratio.of([fmean(found[row, draw]) / fmean(found[best, draw]) for draw in draws])
        pairs = [pair for d in draws for pair in zip(found[row, d], found[SINGLE_FAIR, d], strict=True)]
        of_fair = sorted(own / fair for own, fair in pairs)
        within = fmean(each <= _WITHIN for each in of_fair)
        gap = (means[best] - means[row]) / (means[best] - means[ORACLE]) if ORACLE in means else math.nan
        index = fmean(jain(jobs_of(draw), found[row, draw]) for draw in draws)
        tails = f"{fmean(_at(one, 0.95) for one in each):.1f} | {fmean(_at(one, 0.99) for one in each):.1f}"
        slow = f"{within:.0%} | {_at(of_fair, 0.99):.2f}"
        yield f"| {row} | {means[row]:.1f} | {tails} | {ratio} | {slow} | {gap:.0%} | {index:.2f} |"


_PHASES = ("master is placed", "first task starts", "last task starts", "end")
_UP_TO = (5, 25, math.inf)  # tasks


def told_by_phases(rows: Sequence[str], draws: Sequence[Draw]) -> Iterable[str]:
    """Lines of the table of one setting: where the time of small, middling and large jobs goes, by row."""
    yield f"| tasks | jobs | row | {' | '.join(f'until {phase}' for phase in _PHASES)} | in all |"
    yield f"|---|---|---|{'---|' * (len(_PHASES) + 1)}"
    lived = {row: [job for draw in draws for job in phases_of(row, draw)] for row in rows}
    for least, most in pairwise((0, *_UP_TO)):
        for row in rows:
            of_size = [parts for tasks, parts in lived[row] if least < tasks <= most]
            if of_size:
                means = [fmean(each) for each in zip(*of_size, strict=True)]
                size = f"{least + 1:.0f} to {most:.0f}" if most < math.inf else f"over {least:.0f}"
                shown = " | ".join(f"{each:.2f}" for each in (*means, sum(means)))
                yield f"| {size} | {len(of_size)} | {row} | {shown} |"


def over_all(found: Results, rows: Sequence[str], settings: Sequence[Sequence[Draw]]) -> Mapping[str, Ratio]:
    """Geometric mean of each row's ratios to the best single cluster, over all settings and seeds."""
    best = {draws[0]: best_single(found, rows, draws) for draws in settings}
    return {
        row: Ratio.of(
            [fmean(found[row, one]) / fmean(found[best[draws[0]], one]) for draws in settings for one in draws]
        )
        for row in rows
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shape", default="heavy-tail", help=f"by commas, of {', '.join(SHAPES)}; or all")
    parser.add_argument("--load", default="0.85", help="by commas")
    parser.add_argument("--am-share", default="0.5", help="by commas")
    parser.add_argument(
        "--queues", default="fair", help="of the clusters behind Heddle: fifo, fair, or both by a comma"
    )
    parser.add_argument("--nodes", default="8,8", help="of each cluster, by commas; several sets by /")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--rows", default="", help="rows' names, which may have *, by semicolons; all if empty")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--save", type=Path, help="file of what was played")
    parser.add_argument("--phases", action="store_true", help="only tell where the time of jobs goes, row by row")
    parser.add_argument("--picture", type=Path, help="file to draw the outcome over all settings to")
    return parser.parse_args()


def settings_of(asked: argparse.Namespace) -> list[list[Draw]]:
    """The settings that were asked for, each with its seeds."""
    shapes = list(SHAPES) if asked.shape == "all" else asked.shape.split(",")
    numbers = (tuple(map(float, text.split(","))) for text in (asked.load, asked.am_share))
    nodes = [tuple(map(int, each.split(","))) for each in asked.nodes.split("/")]
    seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
    return [
        [Draw(shape, load, share, queues, seed, asked.jobs, sizes) for seed in seeds]
        for sizes, shape, (load, share), queues in product(nodes, shapes, product(*numbers), asked.queues.split(","))
    ]


def main() -> None:
    """Print a table for each setting, and over all of them the geometric mean of ratios to the best one cluster."""
    asked = _arguments()
    settings = settings_of(asked)
    chosen = [part for part in asked.rows.split(";") if part]
    needed = {SINGLE_FAIR, ORACLE}
    rows = [
        row for row in (*ROWS, ORACLE) if not chosen or row in needed or any(fnmatchcase(row, part) for part in chosen)
    ]
    if asked.phases:
        for draws in settings:
            print("\n".join(told_by_phases([row for row in rows if row != ORACLE], draws)))
        return
    found = Results(asked.save)
    found.play(rows, [draw for draws in settings for draw in draws], asked.processes)
    for draws in settings:
        one = draws[0]
        sizes = ", ".join(map(str, one.nodes))
        print(f"\n{one.shape}, load {one.load}, AM share {one.am_share}, {one.queues} clusters of {sizes} nodes\n")
        print("\n".join(told(found, rows, draws)))
    ratios = over_all(found, rows, settings)
    if len(settings) > 1:
        print("\n| over all | of the best one cluster (90 % interval) |\n|---|---|")
        for row, ratio in ratios.items():
            print(f"| {row} | {ratio} |")
    if asked.picture is not None:
        told_in_one = f"{len(settings)} settings, {asked.seeds} seeds, {asked.jobs} jobs each; geometric means"
        drawn = {row: (each.mean, each.low, each.high) for row, each in ratios.items()}
        asked.picture.write_text(picture(drawn, told_in_one), "utf-8")


if __name__ == "__main__":
    main()
