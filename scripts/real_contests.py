"""Published systems on real clusters, on a workload that each is for, against plain YARN and Heddle's own orders.

    python -m scripts.real_contests SYSTEM [SEED [WAY ...]]

Containers claim what their nodes are told to have, and sleep: so two cores have room for them. ApplicationMasters are
real ones, whose programs share one JVM (`scripts/calibrating/lab_side.py`). A run takes one to three minutes. Ends with
1 if the system does not need less than each rival by as much as its contest says.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from random import Random

from scripts.calibrating.draw import DrawnJob
from scripts.calibrating.lab_side import JobSeen, RealRun, masters_of, run_on_lab
from scripts.calibrating.rows import CONTAINER, ORDERING, Row
from scripts.figure_tables import print_heading, print_row
from scripts.paper_contests import CORE_HEAVY, MEMORY_HEAVY, SHARED, unlike_shares
from scripts.two_clusters import be_silent
from shim.domain.resources import ResourceVector
from shim.lab import Lab, LabSpec
from shim.lab.spec import ClusterSpec, LabNode

_CLUSTERS = ("east", "west")


@dataclass(frozen=True, slots=True)
class RealContest:
    """A contest on two real clusters.

    Attributes:
        measure: What is measured; the less, the better.
        nodes: Of each cluster, or of one after the other.
        made_jobs: From a seed.
        measured: From the jobs and their run.
        ways: What stands before the clusters; the system's own first.
        least: How many times as much as the system each rival needs at least, by its name; others are only told.
        ordering: `ordering-policy` of the clusters' queue.
    """

    measure: str
    nodes: tuple[tuple[LabNode, ...], ...]
    made_jobs: Callable[[int], Sequence[DrawnJob]]
    measured: Callable[[Sequence[DrawnJob], RealRun], float]
    ways: tuple[Row, ...]
    least: Mapping[str, float]
    ordering: str = "fair"

    def lab(self) -> LabSpec:
        """Two clusters with one queue, whose ResourceManagers judge constraints between containers."""
        queues = {
            "yarn.scheduler.capacity.root.queues": "default",
            "yarn.scheduler.capacity.root.default.capacity": "100",
            "yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
            ORDERING: self.ordering,
        }
        judged = {"yarn.resourcemanager.placement-constraints.handler": "scheduler"}
        overrides = {"capacity-scheduler.xml": queues, "yarn-site.xml": judged}
        return LabSpec(
            tuple(
                ClusterSpec(name, nodes=len(nodes), node_specs=nodes, overrides=overrides)
                for name, nodes in zip(_CLUSTERS, cycle(self.nodes), strict=False)
            )
        )


# ---------------------------------------------------------------------- dominant resources


def _two_kinds(seed: int) -> list[DrawnJob]:
    """Two jobs of each kind, of equal dominant work. Dealt in turn, each cluster has one of each kind."""
    random = Random(seed)  # noqa: S311 - repeatable, no secret
    kinds = (("memory", MEMORY_HEAVY, 51), ("cores", CORE_HEAVY, 90))
    return [
        DrawnJob(
            f"{kind}-{number}",
            0.0,
            tuple(round(10.0 * random.uniform(0.9, 1.1), 2) for _ in range(tasks)),
            size=size,
        )
        for kind, size, tasks in kinds
        for number in (1, 2)
    ]


def _unlike_shares(jobs: Sequence[DrawnJob], run: RealRun) -> float:
    held = [
        (job.size, [(at_s, at_s + job.durations_s[task]) for task, at_s in seen.started_s.items()])
        for job, seen in zip(jobs, run.seen, strict=True)
    ]
    return unlike_shares(held, SHARED)


# ---------------------------------------------------------------------- deadlines

_DUE_EVERY, _TASK_S, _AT_A_TIME, _ALLOWANCE, _OVERHEAD_S = 3, 6.0, 8, 1.5, 15.0


def _some_with_deadlines(seed: int) -> list[DrawnJob]:
    """Twelve jobs, of which every third must end within half as much again as it takes on eight containers."""
    random, at_s, made = Random(seed), 0.0, list[DrawnJob]()  # noqa: S311 - repeatable, no secret
    for number in range(12):
        is_due = number % _DUE_EVERY == _DUE_EVERY - 1
        tasks = 16 if is_due else 24
        times = tuple(round(_TASK_S * random.uniform(0.75, 1.25), 2) for _ in range(tasks))
        tags = (f"heddle-deadline=+{_due_s(times)}s",) if is_due else ()
        made.append(DrawnJob(f"{'due' if is_due else 'other'}-{number}", round(at_s, 2), times, tags=tags))
        at_s += random.expovariate(1.0 / 5.0)
    return made


def _due_s(times: Sequence[float]) -> int:
    return int(_ALLOWANCE * sum(times) / _AT_A_TIME + _OVERHEAD_S)


def _lateness(jobs: Sequence[DrawnJob], run: RealRun) -> float:
    """Deadlines missed, and one."""
    due = [(job, ended_s) for job, ended_s in zip(jobs, run.completions_s, strict=True) if job.tags]
    return 1.0 + sum(ended_s > _due_s(job.durations_s) for job, ended_s in due)


# ---------------------------------------------------------------------- services

_LIVES_S, _SOON_S, _EVERY_S, _LATER_S = 40.0, 30.0, 65.0, 22.0
_STORE, _BUSY = ResourceVector(2048, 1), ResourceVector(512, 1)


def _services(seed: int) -> list[DrawnJob]:
    """Twice a store beside a busy service, and another busy one while it runs.

    A store has its nodes to itself but for tasks, and only large nodes have room for it; a busy service does not care.
    """
    random, made = Random(seed), list[DrawnJob]()  # noqa: S311 - repeatable, no secret
    for burst in range(2):
        for name, after_s, size in (("store", 0.0, _STORE), ("busy", 0.0, _BUSY), ("more", _LATER_S, _BUSY)):
            is_store = size is _STORE
            placement = ("store", "0:store", "0:busy") if is_store else ("busy", "0:busy")
            at_s = round(burst * _EVERY_S + after_s + random.uniform(0.0, 2.0), 2)
            containers = 3 if is_store else random.randint(2, 3)
            made.append(DrawnJob(f"{name}-{burst}", at_s, (_LIVES_S,) * containers, size=size, placement=placement))
    return sorted(made, key=lambda job: job.arrival_s)


def _ill_placed(jobs: Sequence[DrawnJob], run: RealRun) -> float:
    """Percent of the containers that break a bound of theirs at any time, or have no place soon; and one."""
    stays = [
        (job, seen, task, at_s)
        for job, seen in zip(jobs, run.seen, strict=True)
        for task, at_s in seen.started_s.items()
    ]

    def is_broken(job: DrawnJob, seen: JobSeen, task: int, at_s: float) -> bool:
        beside = [
            (other.placement[0], began_s)
            for other, others, each, began_s in stays
            if others.nodes[each] == seen.nodes[task] and (others is not seen or each != task)
        ]
        return any(
            sum(tag == named and abs(began_s - at_s) < _LIVES_S for tag, began_s in beside) > int(most)
            for most, _, named in (bound.partition(":") for bound in job.placement[1:])
        )

    ill = sum(is_broken(*each) or each[3] - each[1].registered_s > _SOON_S for each in stays)
    return 1.0 + 100.0 * ill / len(stays)


# ---------------------------------------------------------------------- all

_YARN = Row("plain YARN, fair by memory", ordering="fair")
_DEFAULT = Row("heddle as installed", is_installed=True, ordering="fair")


def _orders(*names: str, order: str = "fifo") -> tuple[Row, ...]:
    return tuple(Row(name, name, ordering="fair", order=order) for name in names)


def _small(places: int) -> LabNode:
    return LabNode(CONTAINER.memory_mib * places, 4 * places)


REAL_CONTESTS: Mapping[str, RealContest] = {
    "drf": RealContest(
        "largest dominant share by the least",
        ((LabNode(SHARED.memory_mib // 2 + 1024, SHARED.vcores // 2 + 4),),),
        _two_kinds,
        _unlike_shares,
        (*_orders("drf", "fair"), _DEFAULT, _YARN),
        {"fair": 1.0, _DEFAULT.name: 1.0, _YARN.name: 2.0},
    ),
    "jockey": RealContest(
        "1 + deadlines missed of four",
        ((_small(10),),),
        _some_with_deadlines,
        _lateness,
        (*_orders("jockey", "fair", order="work"), _DEFAULT, _YARN),
        {"fair": 1.01, _YARN.name: 1.01},
    ),
    "medea": RealContest(
        "1 + % of the containers that break a constraint, or wait for half a minute",
        ((_small(12), _small(12), _small(12), _small(6)), (_small(12), _small(6), _small(6), _small(6))),
        _services,
        _ill_placed,
        (*_orders("medea"), _DEFAULT, _YARN),
        {_DEFAULT.name: 1.5, _YARN.name: 1.5},
    ),
}


def measured_on_lab(contest: RealContest, seed: int, ways: Sequence[str] = ()) -> Iterator[tuple[str, float, float]]:
    """Run each way, or some of them, on one lab, and tell its name, what it needs, and the load average at its end."""
    jobs = contest.made_jobs(seed)
    with tempfile.TemporaryDirectory(prefix="heddle-contest-") as own, Lab(Path(own) / "lab") as lab:
        lab.up(contest.lab())
        folder = Path(own) / "runs"
        folder.mkdir()
        with masters_of(lab, folder / "masters") as masters:
            for number, way in enumerate(way for way in contest.ways if not ways or way.name in ways):
                named = [replace(job, name=f"run-{number}-{job.name}", kind=job.name) for job in jobs]
                run = run_on_lab(lab, masters, folder / f"run-{number}", way, named)
                yield way.name, contest.measured(named, run), os.getloadavg()[0]


def lost_to(contest: RealContest, needs: Mapping[str, float]) -> list[str]:
    """Rivals that need less than the contest says, of those that ran."""
    own = needs[contest.ways[0].name]
    return [name for name, least in contest.least.items() if name in needs and needs[name] < least * own]


def main() -> int:
    """Print a row for each way."""
    parser = argparse.ArgumentParser(description="A published system against its rivals on real clusters.")
    parser.add_argument("system", choices=tuple(REAL_CONTESTS))
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("ways", nargs="*", help="by name; all if none is named")
    told = parser.parse_args()
    be_silent()
    contest, needs = REAL_CONTESTS[told.system], dict[str, float]()
    print_heading(["system", "seed", "way", contest.measure, "load"])
    for name, needed, load in measured_on_lab(contest, told.seed, told.ways):
        needs[name] = needed
        print_row([told.system, str(told.seed), name, f"{needed:.2f}", f"{load:.1f}"])
    lost = lost_to(contest, needs)
    print(f"lost to {', '.join(lost)}" if lost else "won", flush=True)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
