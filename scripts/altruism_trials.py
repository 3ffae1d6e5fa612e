"""Measure altruism on two real clusters, for altruism.md: the same arrivals with it and without it, in turns.

    python scripts/altruism_trials.py                      three runs each on a lab of its own; tables
    python scripts/altruism_trials.py --jobs 6 --runs 1    fewer
    python scripts/altruism_trials.py --json runs.json     every run, too
    python scripts/altruism_trials.py --stretch 2          tasks sleep twice as long, jobs come half as often
    python scripts/altruism_trials.py --shapes spark,chain,session,star     other jobs, in turns

Real Tez DAGs of four shapes and a Spark job, whose tasks sleep, and Hadoop's own word count arrive in one queue, whose
leaves YARN orders by what each job holds (`ordering-policy = fair`). Without altruism that is DRF between jobs. Two
Heddles stand before the same clusters, one with altruism, so that each knows earlier runs; every shape runs once before
it counts. A run takes two to four minutes on two cores that do nothing else.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from shim.lab import Lab, LabSpec
from tests.support.altruism_jobs import FAIR_LEAF, AltruismJobs, SleepingDag, policy_of
from tests.support.heddle_process import HeddleProcess
from tests.support.spanning import spanning_secret
from tests.support.tidying import end_applications

_OVERRIDES = {
    "yarn-site.xml": {
        "yarn.nodemanager.resource.memory-mb": "5120",
        "yarn.nodemanager.resource.cpu-vcores": "16",
    },
    "capacity-scheduler.xml": dict(FAIR_LEAF),
}
_DAGS = (
    SleepingDag(
        "diamond",
        {"start": (2, 4000), "left": (6, 8000), "right": (1, 30000), "end": (2, 4000)},
        {"left": ("start",), "right": ("start",), "end": ("left", "right")},
    ),
    SleepingDag(
        "joins",
        {"long": (1, 40000), "orders": (8, 6000), "first": (3, 6000), "items": (6, 6000), "second": (2, 4000)},
        {"first": ("orders", "items"), "second": ("first", "long")},
    ),
    SleepingDag(
        "chain",
        {"scan": (10, 8000), "filter": (5, 6000), "join": (3, 6000), "group": (2, 4000), "sort": (1, 4000)},
        {"filter": ("scan",), "join": ("filter",), "group": ("join",), "sort": ("group",)},
    ),
    SleepingDag(
        "star",
        {"fact": (12, 8000), "small": (1, 24000), "out": (2, 4000)},
        {"out": ("small", "fact")},
    ),
)
_OF_TEZ = tuple(dag.name for dag in _DAGS)
_SHAPES = (*_OF_TEZ, "words", *_OF_TEZ, "spark")
_OF_A_SESSION = ("diamond", "star", "diamond")
"""DAGs that a Tez session runs one after the other, where `--shapes` names one."""
_TEZ = {"tez.task.resource.memory.mb": "512"}
_EVERY_S = 1.0
_WINDOW_S = 30.0
_MEAN_GAP_S = 5.0
_END_WITHIN_S = 300.0
_ENOUGH = 2


@dataclass
class Run:
    """One run.

    Attributes:
        seconds: From its arrival until its client has ended, by job.
        held: Samples: seconds since the first arrival, and MiB by job.
        given_s, received_s: Of the queue's whole share, by all jobs of the run.
        yielded: Jobs of which something was put off at a look.
        failed: Jobs whose client did not end well; they are in no mean.
    """

    mode: str
    seconds: dict[str, float] = field(default_factory=dict)
    held: list[tuple[float, dict[str, int]]] = field(default_factory=list)
    given_s: float = 0.0
    received_s: float = 0.0
    yielded: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @property
    def makespan_s(self) -> float:
        """Until the last job held nothing more."""
        return max((at_s for at_s, held in self.held if any(held.values())), default=0.0)

    def jain(self) -> list[float]:
        """Index of each window, over what jobs held that ran through all of it."""
        found = []
        for number in range(int(self.makespan_s / _WINDOW_S) + 1):
            rows = [held for at_s, held in self.held if number * _WINDOW_S <= at_s < (number + 1) * _WINDOW_S]
            through = set.intersection(*(set(row) for row in rows)) if rows else set()
            if len(through) >= _ENOUGH:
                means = [fmean(row[name] for row in rows) for name in sorted(through)]
                found.append(sum(means) ** 2 / (len(means) * sum(mean**2 for mean in means)))
        return found


@dataclass(frozen=True)
class Mix:
    """The jobs of a trial.

    Attributes:
        shapes: Of jobs, in the order in which they come, again and again.
        stretch: Factor of all sleeps, and of the times between arrivals.
    """

    shapes: Sequence[str] = _SHAPES
    stretch: float = 1.0

    def arrivals(self, jobs: int, seed: int) -> list[tuple[float, str]]:
        """When each job comes, in seconds, and its name: the shape and a number."""
        random, at_s, found = Random(seed), 0.0, []  # noqa: S311 - repeatable, no secret
        for number in range(jobs):
            found.append((at_s, f"{self.shapes[number % len(self.shapes)]}-{number}"))
            at_s += random.expovariate(1 / _MEAN_GAP_S) * self.stretch
        return found

    def run_job(self, jobs: AltruismJobs, name: str, label: str) -> None:
        """Run one to its end, which has to be good; `label` tells its output from that of others."""
        shape = name.rpartition("-")[0]
        if shape == "words":
            jobs.word_count(label, maps=6, reduces=1)
        elif shape == "spark":
            jobs.join_in_spark(name, 1, round(30000 * self.stretch), 8, round(5000 * self.stretch))
        elif shape == "session":
            dags = (replace(self._dag(each), name=f"{each}-{turn}") for turn, each in enumerate(_OF_A_SESSION))
            jobs.session(name, *dags)
        else:
            jobs.dag(self._dag(shape), name)

    def _dag(self, shape: str) -> SleepingDag:
        (dag,) = (dag for dag in _DAGS if dag.name == shape)
        stages = {stage: (tasks, round(sleep_ms * self.stretch)) for stage, (tasks, sleep_ms) in dag.stages.items()}
        return replace(dag, stages=stages)


def _measure(jobs: AltruismJobs, mode: str, label: str, mix: Mix, coming: Sequence[tuple[float, str]]) -> Run:
    """One run, on clusters on which nothing runs."""
    run = Run(mode)
    with jobs.asking() as http, ThreadPoolExecutor(len(coming)) as pool:
        before = jobs.credits(http)
        began_s = time.monotonic()

        def work(at_s: float, name: str) -> None:
            time.sleep(max(0.0, began_s + at_s - time.monotonic()))
            try:
                mix.run_job(jobs, name, f"{label}-{name}")
            except AssertionError as error:  # what the client printed is in it
                print(f"\n{label}: {name} failed: {str(error)[-2000:]}", file=sys.stderr, flush=True)
                run.failed.append(name)
                return
            run.seconds[name] = round(time.monotonic() - began_s - at_s, 1)

        waiting: set[Future[None]] = {pool.submit(work, at_s, name) for at_s, name in coming}
        while pending := wait(waiting, timeout=_EVERY_S).not_done:
            at_s = time.monotonic() - began_s
            run.held.append((round(at_s, 1), jobs.held(http)))
            run.yielded += [name for name, told in jobs.told_of_altruism(http) if told["puts_off"]]
            print(f"\r{label}: {at_s:3.0f} s, {len(pending)} left  ", end="", file=sys.stderr, flush=True)
        for each in waiting:
            each.result()
        given, received = (after - first for after, first in zip(jobs.credits(http), before, strict=True))
    run.given_s, run.received_s, run.yielded = round(given, 1), round(received, 1), sorted(set(run.yielded))
    return run


def _percentile(values: Sequence[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def _rows(runs: Sequence[Run]) -> Iterator[list[str]]:
    """Of the table of runs."""
    yield ["run", "mean", "p50", "p95", "last", "makespan", "Jain", "least", "gave", "received", "yielded", "failed"]
    yield ["---"] * 12
    for number, run in enumerate(runs):
        times, jain = list(run.seconds.values()), run.jain() or [1.0]
        numbers = [fmean(times), _percentile(times, 0.5), _percentile(times, 0.95), max(times), run.makespan_s]
        indices = [f"{fmean(jain):.2f}", f"{min(jain):.2f}"]
        rest = [f"{run.given_s:.1f}", f"{run.received_s:.1f}", str(len(run.yielded)), str(len(run.failed))]
        yield [f"{number + 1} {run.mode}", *(f"{value:.1f}" for value in numbers), *indices, *rest]


def _later(runs: Sequence[Run]) -> Iterator[list[str]]:
    """Of the table of jobs: means over the runs of each mode, the least and the most of them, and who was later."""
    yield ["job", "without", "with altruism", "later by"]
    yield ["---"] * 4
    for name in sorted(set.intersection(*(set(run.seconds) for run in runs))):
        without, altruistic = ([run.seconds[name] for run in runs if run.mode == mode] for mode in _MODES)
        spreads = [f"{fmean(each):.0f} ({min(each):.0f} to {max(each):.0f})" for each in (without, altruistic)]
        yield [name, *spreads, f"{fmean(altruistic) - fmean(without):+.0f}"]


def _yielded(runs: Sequence[Run]) -> Iterator[list[str]]:
    """Of the table of jobs of which something was put off, by run."""
    yield ["run", "put something off"]
    yield ["---"] * 2
    for number, run in enumerate(runs):
        if run.yielded:
            yield [f"{number + 1} {run.mode}", ", ".join(run.yielded)]


_MODES: Mapping[str, float] = {"drf": 0.0, "altruism": 1.0}


def _learn(jobs: AltruismJobs, mode: str, mix: Mix) -> None:
    """Run a job of each shape, all at once, so that it is known how long its tasks take."""
    print(f"\r{mode}: one of each shape  ", end="", file=sys.stderr, flush=True)
    shapes = sorted(set(mix.shapes))
    with ThreadPoolExecutor(len(shapes)) as pool:
        for done in [pool.submit(mix.run_job, jobs, f"{shape}-0", f"first-{shape}") for shape in shapes]:
            done.result()


def _trial(
    lab: Lab, folder: Path, mix: Mix, coming: Sequence[tuple[float, str]], n_runs: int, *, span: bool
) -> Iterator[Run]:
    """Every run, modes in turns."""
    with ExitStack() as stack:
        stack.enter_context(spanning_secret(folder))
        clients: dict[str, AltruismJobs] = {}
        for mode, altruism in _MODES.items():
            own = folder / mode
            own.mkdir()
            lines = policy_of(own, altruism=altruism, span=span)
            heddle = stack.enter_context(HeddleProcess(lab, own, more=lines))
            clients[mode] = AltruismJobs(lab, own, heddle, more=_TEZ)
            _learn(clients[mode], mode, mix)
        for number in range(n_runs):
            for mode, jobs in clients.items():
                end_applications(lab, within_s=_END_WITHIN_S)
                yield _measure(jobs, mode, f"{mode}-{number}", mix, coming)


def _shapes(text: str) -> Sequence[str]:
    shapes, known = text.split(","), {*_SHAPES, "session"}
    if not known.issuperset(shapes):
        raise argparse.ArgumentTypeError(f"shapes of jobs are {', '.join(sorted(known))}")
    return shapes


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=15, help="that arrive in a run")
    parser.add_argument("--runs", type=int, default=3, help="of each mode")
    parser.add_argument("--seed", type=int, default=1, help="of the arrivals")
    parser.add_argument("--shapes", type=_shapes, default=_SHAPES, help="of jobs, in the order in which they come")
    parser.add_argument("--stretch", type=float, default=1.0, help="factor of sleeps and of times between arrivals")
    parser.add_argument("--span", action="store_true", help="let jobs have containers on both clusters")
    parser.add_argument("--json", type=Path, help="where to write every run")
    arguments = parser.parse_args()
    runs: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="heddle-altruism-") as own, Lab(Path(own) / "lab") as lab:
        lab.up(LabSpec.of(clusters=2, nodes=1, overrides=_OVERRIDES))
        mix = Mix(arguments.shapes, arguments.stretch)
        coming = mix.arrivals(arguments.jobs, arguments.seed)
        for run in _trial(lab, Path(own), mix, coming, arguments.runs, span=arguments.span):
            runs.append(run)
            if arguments.json is not None:
                arguments.json.write_text(json.dumps([asdict(each) for each in runs]) + "\n", "utf-8")
    print(file=sys.stderr)
    for table in (_rows(runs), _later(runs), _yielded(runs)):
        for cells in table:
            print(f"| {' | '.join(cells)} |")
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
