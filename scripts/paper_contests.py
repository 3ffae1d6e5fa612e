"""Each published system on a workload that it is for, against what its paper compares with and Heddle's own order.

    python -m scripts.paper_contests [SEEDS [SYSTEM ...]]

All is drawn by a seed and runs in virtual time: Heddle's own code over modelled clusters (yarn-sim), or cycles of
the scheduling core over modelled nodes (`cycles`). A contest is won if every rival needs so many times as much as the
system as the contest says. Ends with 1 if one is lost.
"""

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from scripts import deadline_figures, late_binding_figures, preference_figures, short_task_figures
from scripts.figure_tables import print_heading, print_row
from scripts.two_clusters import be_silent, played_on, played_on_two_clusters
from shim.domain.resources import ResourceVector
from shim.scheduling.policy import WORKLOAD_FACTS, World
from shim.scheduling.registry import policy_for
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.engine import seeded
from shim.simulation.policy_runs import RunFigures, run_policy
from shim.simulation.policy_runs.workloads import VARIANTS, jobs_of_kind

Measured = Callable[[int], float]
"""From a seed to what a way needs: the less, the better."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a contest with some seeds.

    Attributes:
        needs: What each way needs, mean of the seeds; the system's own first.
        lost_to: Rivals that need less than the contest says.
    """

    needs: Mapping[str, float]
    lost_to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contest:
    """A contest.

    Attributes:
        system: The policy, with the word for its workload if there are several.
        claim: What the paper says of such a workload.
        measure: What is measured; the less, the better.
        ways: How each runs; the system's own first.
        least: How many times as much as the system each rival needs at least, by its name.
        world: Where it runs.
    """

    system: str
    claim: str
    measure: str
    ways: Mapping[str, Measured]
    least: Mapping[str, float]
    world: str = "yarn-sim"

    def judge(self, seeds: range) -> Verdict:
        """Run all ways with some seeds."""
        needs = {name: fmean(measured(seed) for seed in seeds) for name, measured in self.ways.items()}
        own = next(iter(needs.values()))
        return Verdict(needs, tuple(name for name, least in self.least.items() if needs[name] < least * own))


# ---------------------------------------------------------------------- what is measured


def _preferring(row: str, draw: str, seed: int) -> float:
    jobs = preference_figures.made_jobs(seed, preference_figures.DRAWS[draw])
    return preference_figures.mean_s(preference_figures.ROWS[row], jobs, seed)


def _short_tasks(order: str, draw: str, seed: int) -> float:
    return short_task_figures.mean_s(order, short_task_figures.made_jobs(seed, short_task_figures.DRAWS[draw]), seed)


def _late_binding(order: str, seed: int) -> float:
    return late_binding_figures.found_with(order, late_binding_figures.made_jobs(seed), seed).mean_s


def _missed(order: str, seed: int) -> float:
    """Deadlines missed, and one."""
    return 1.0 + deadline_figures.found_with(order, deadline_figures.made_jobs(seed), seed).missed


def _missed_of_graphs(order: str, seed: int) -> float:
    return 1.0 + deadline_figures.found_with(order, deadline_figures.made_graphs(seed), seed).missed


def _graphs(order: str, seed: int) -> float:
    """Mean completion of the last two of three runs of a job whose engine asks for its short stage first."""
    rng, size = seeded(seed, "graphs"), ResourceVector(512, 1)
    stages = tuple(
        ModelledStage(tuple(takes_s * rng.uniform(0.9, 1.1) for _ in range(count)), needs, size)
        for takes_s, count, needs in ((30.0, 60, ()), (200.0, 4, ()), (10.0, 2, (0, 1)))
    )
    jobs = [ModelledJob(f"job-{number}", 500.0 * number, stages) for number in range(3)]
    node = ResourceVector(4096, 4)
    found = played_on_two_clusters(jobs, node=node, queue=f'containers = "{order}"', seed=seed)
    return fmean(found.completions_s[1:])


MEMORY_HEAVY, CORE_HEAVY = ResourceVector(3584, 1), ResourceVector(384, 1)
"""Containers of two kinds of jobs. Each has one core, so that what comes free fits whoever is next."""
SHARED = ResourceVector(2 * 36 * 1024, 2 * 18)
"""What tasks of both may have on two clusters; nodes have as much more as ApplicationMasters claim."""


def unlike_shares(held: Sequence[tuple[ResourceVector, Sequence[tuple[float, float]]]], total: ResourceVector) -> float:
    """Largest mean dominant share of jobs by the least, while all of them want more.

    That is from the end of the first container of whoever began last to the start of the last one of whoever has all
    its containers first: what comes before and after is no division among all.

    Args:
        held: Of each job the size of its containers, and from when to when it had each.
        total: What all clusters have for them.
    """
    since_s = max(min(one[1] for one in times) for _, times in held)
    until_s = min(max(one[0] for one in times) for _, times in held)
    shares = [
        size.dominant_share_of(total)
        * sum(max(0.0, min(end_s, until_s) - max(start_s, since_s)) for start_s, end_s in times)
        for size, times in held
    ]
    return max(shares) / min(shares) if min(shares) > 0.0 else math.inf


def _two_resources(order: str, seed: int) -> float:
    """How unlike the dominant shares of four jobs are, two of which want memory and two cores.

    With the example of DRF's paper, 4 GiB and a core beside 1 GiB and three, a core that comes free fits nobody but who
    had it before, whatever the order.
    """
    rng = seeded(seed, "two resources")
    sizes = (("memory", MEMORY_HEAVY, 62), ("cores", CORE_HEAVY, 108))
    jobs = [
        ModelledJob(
            f"{name}-{number}",
            0.0,
            # all ApplicationMasters are there before anybody has much: one that finds no place proves nothing of shares
            (
                ModelledStage((15.0,), size=size),
                ModelledStage(tuple(12.0 * rng.uniform(0.9, 1.1) for _ in range(count)), (0,), size),
            ),
        )
        for name, size, count in sizes
        for number in (1, 2)
    ]
    node, queue = ResourceVector(SHARED.memory_mib // 2 + 512, SHARED.vcores // 2 + 2), f'containers = "{order}"'
    found = played_on(("east", "west"), jobs, node=node, queue=queue, seed=seed, nodes=1)
    held = [
        (
            job.stages[1].size,
            [
                (at_s, at_s + job.stages[1].durations_s[task])
                for (stage, task), at_s in found.starts_s[job.name].items()
                if stage == 1
            ],
        )
        for job in jobs
    ]
    return unlike_shares(held, SHARED)


def _cycles(policy: str, kind: str, jobs: int, nodes: int, load: float, measured: str, seed: int) -> float:
    drawn, site = jobs_of_kind(kind)(seed, jobs, nodes, load)
    found: RunFigures = run_policy(
        drawn, site, VARIANTS.get(policy) or policy_for(policy, World.DIRECT, WORKLOAD_FACTS)
    )
    return {
        "far": 100.0 * (1.0 - found.node_local),
        "missed": 1.0 + found.missed,
        "broken": 1.0 + 100.0 * found.violated,
        "mean": found.mean_s,
    }[measured]


def _each(measured: Callable[..., float], names: tuple[str, ...], *told: object) -> Mapping[str, Measured]:
    return {name: partial(measured, name, *told) for name in names}


CONTESTS: tuple[Contest, ...] = (
    Contest(
        "alsched, scarce",
        "soft constraints are up to ten times as fast as hard ones where what is preferred is scarce",
        "mean completion, s",
        _each(_preferring, ("alsched, soft", "alsched, hard", "alsched, none", "learnt-work"), "scarce"),
        {"alsched, hard": 5.0, "alsched, none": 0.85, "learnt-work": 1.0},
    ),
    Contest(
        "alsched, calm",
        "soft constraints beat hard ones, and none, where some jobs lose much and others little",
        "mean completion, s",
        _each(_preferring, ("alsched, soft", "alsched, hard", "alsched, none"), "calm"),
        {"alsched, hard": 1.3, "alsched, none": 1.3},
    ),
    Contest(
        "tetrisched",
        "with a look ahead up to three times as fast as without",
        "mean completion, s",
        _each(_preferring, ("tetrisched", "tetrisched, now", "learnt-work"), "loaded"),
        {"tetrisched, now": 1.2, "learnt-work": 1.2},
    ),
    Contest(
        "tetrisched, deadlines",
        "gangs miss fewer deadlines",
        "1 + deadlines missed",
        _each(_cycles, ("tetrisched", "fifo"), "deadlines", 25, 10, 1.1, "missed"),
        {"fifo": 1.01},
        world="cycles",
    ),
    Contest(
        "jockey",
        "jobs miss few deadlines beside others",
        "1 + deadlines missed",
        _each(_missed, ("jockey", "fair", "learnt-work")),
        {"fair": 1.01, "learnt-work": 0.9},
    ),
    Contest(
        "jockey, graphs",
        "the same with graphs, whose runs differ in how fast they are",
        "1 + deadlines missed",
        _each(_missed_of_graphs, ("jockey", "fair", "learnt-work")),
        {"fair": 1.01, "learnt-work": 0.9},
    ),
    Contest(
        "graphene",
        "a job is shorter if its troublesome tasks go first",
        "mean completion, s",
        _each(_graphs, ("graphene", "tetris", "learnt-work")),
        {"tetris": 1.05, "learnt-work": 1.05},
    ),
    Contest(
        "delay",
        "a short wait for the data is shorter than to run away from it",
        "mean completion, s",
        _each(_preferring, ("delay", "fifo", "learnt-work"), "mixed"),
        {"fifo": 1.1, "learnt-work": 1.1},
    ),
    Contest(
        "tetris",
        "large and small containers are packed, and short jobs go first",
        "mean completion, s",
        _each(_short_tasks, ("tetris", "fifo"), "mixed"),
        {"fifo": 1.02},
    ),
    Contest(
        "sparrow",
        "late binding is faster than to place by what is known",
        "mean completion, s",
        _each(_late_binding, ("sparrow", "fifo")),
        {"fifo": 1.02},
    ),
    Contest(
        "drf",
        "jobs with unlike dominant resources get equal parts of them",
        "largest dominant share by the least",
        _each(_two_resources, ("drf", "fair", "learnt-work")),
        {"fair": 1.1, "learnt-work": 1.5},
    ),
    Contest(
        "quincy",
        "more tasks start at their data",
        "% of the tasks away from their data",
        _each(_cycles, ("quincy", "fifo"), "data", 60, 50, 1.1, "far"),
        {"fifo": 1.02},
        world="cycles",
    ),
    Contest(
        "medea",
        "services placed together break fewer constraints than one by one",
        "1 + % of the containers that break a constraint",
        _each(_cycles, ("medea", "medea-one-by-one", "medea-blind"), "services", 10, 40, 0.5, "broken"),
        {"medea-one-by-one": 1.0, "medea-blind": 2.0},
        world="cycles",
    ),
)


def main() -> int:
    """Print a row for each contest; gains are what rivals need as a multiple of what the system needs."""
    parser = argparse.ArgumentParser(description="Each published system against its rivals.")
    parser.add_argument("seeds", type=int, nargs="?", default=3, help="how many seeds")
    parser.add_argument("systems", nargs="*", help="contests by the first word of their names; all if none is named")
    told = parser.parse_args()
    be_silent()
    print_heading(["system", "world", "measure", "own", "rivals: what they need, as a multiple", ""])
    lost = 0
    for contest in CONTESTS:
        if told.systems and contest.system.partition(",")[0] not in told.systems:
            continue
        verdict = contest.judge(range(1, told.seeds + 1))
        (_, own), *others = verdict.needs.items()
        rivals = "; ".join(f"{name} {needs:.1f}, {needs / own:.2f}" for name, needs in others)
        result = f"lost to {', '.join(verdict.lost_to)}" if verdict.lost_to else "won"
        print_row([contest.system, contest.world, contest.measure, f"{own:.1f}", rivals, result])
        lost += bool(verdict.lost_to)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
