"""Measure what heddle's figures hang on, for docs/researchers/evaluation.md.

    python scripts/sensitivity_figures.py goals        heddle on the public traces, by seed
    python scripts/sensitivity_figures.py beliefs      what is taken for granted of durations
    python scripts/sensitivity_figures.py homes        megha by the rule for homes and the interval of heartbeats
    python scripts/sensitivity_figures.py unlearnable  workloads on which durations teach nothing, beside fewest tasks
    python scripts/sensitivity_figures.py groups       Pigeon with as many groups as Heddle has Local Masters

A second argument is a part of the rows' names: only those are run; a third is how many seeds. HEDDLE_DATA names the
folder of the traces: docs/researchers/evaluation.md says where they come from.
"""

import itertools
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from scripts.figure_tables import print_heading, print_row, public_trace
from scripts.masters_figures import TRACES
from scripts.papers.generated import large_jobs_of_short_tasks, unrelated_durations
from shim.scheduling.durations import DurationBeliefs
from shim.scheduling.policies import HEDDLE, MEGHA
from shim.scheduling.policy import Policy
from shim.simulation.engine import seeded
from shim.simulation.masters import Masters
from shim.simulation.registry import Experiment, simulate
from shim.simulation.results import RunOutcome
from shim.simulation.run import HomeRule, Run, Setting
from shim.simulation.traces import Workload

BELIEFS: Mapping[str, DurationBeliefs] = {
    "as they are: the spread is learnt, ten running tasks for one witness": DurationBeliefs(),
    "a spread of a quarter octave": DurationBeliefs(spread_octaves=0.25, learns_spread=False),
    "a spread of half an octave": DurationBeliefs(spread_octaves=0.5, learns_spread=False),
    "a spread of an octave": DurationBeliefs(learns_spread=False),
    "a spread of two octaves": DurationBeliefs(spread_octaves=2.0, learns_spread=False),
    "five running tasks for one witness": DurationBeliefs(witness=0.2),
    "twenty running tasks for one witness": DurationBeliefs(witness=0.05),
}
UNLEARNABLE: Mapping[str, Callable[[int], Workload]] = {
    "unrelated durations": lambda seed: unrelated_durations(seeded(seed, "jobs"), n_jobs=3000, load=0.9, n_slots=2000),
    "large jobs of short tasks": lambda seed: large_jobs_of_short_tasks(
        seeded(seed, "jobs"), n_jobs=3000, load=0.9, n_slots=2000
    ),
}


def run(recipe: Policy, workload: Workload, setting: Setting) -> RunOutcome:
    """What comes of a workload under a recipe."""
    return Masters(Run(workload, setting), recipe).simulate()


def believing(beliefs: DurationBeliefs) -> Policy:
    """`heddle` with other beliefs of durations."""
    return replace(HEDDLE, ordering=replace(HEDDLE.ordering, beliefs=beliefs))


def _spread(values: Sequence[float], digits: int = 3) -> str:
    """The mean, and the least and the most if they differ."""
    mean = statistics.fmean(values)
    return f"**{mean:.{digits}f}** ({min(values):.{digits}f} to {max(values):.{digits}f})"


def goals(only: str, seeds: Sequence[int]) -> None:
    """Heddle on every public trace: delays by seed, and their mean."""
    print_heading(["trace, workers", "mean delay s, by seed", "mean", "messages a task"])
    for trace, n_workers in TRACES:
        if only in trace:
            workload = public_trace(trace)
            outcomes = [run(HEDDLE, workload, Setting(n_workers=n_workers, seed=seed)) for seed in seeds]
            by_seed = ", ".join(f"{outcome.delay().mean:.3f}" for outcome in outcomes)
            print_row([f"{trace}, {n_workers:,}", by_seed, *_cells(outcomes)])


def beliefs(only: str, seeds: Sequence[int]) -> None:
    """Other beliefs of durations, on Yahoo's trace at 6,000 workers."""
    trace, n_workers = TRACES[1]
    workload = public_trace(trace)
    print_heading(["what is taken for granted", "mean delay s", "messages a task"])
    for name, believed in BELIEFS.items():
        if only in name:
            recipe = believing(believed)
            outcomes = [run(recipe, workload, Setting(n_workers=n_workers, seed=seed)) for seed in seeds]
            print_row([name, *_cells(outcomes)])


def homes(only: str, seeds: Sequence[int]) -> None:
    """Megha by the rule for homes and by heartbeats."""
    print_heading(["run", "mean delay s", "messages a task"])
    for (trace, n_workers), rule, every_s in itertools.product(TRACES, HomeRule, (10.0, 30.0)):
        name = f"{trace}, {n_workers:,}, {rule.value}, {every_s:g} s"
        if only in name:
            workload, plain = public_trace(trace), Setting(n_workers=n_workers, home_rule=rule, heartbeat_s=every_s)
            print_row([name, *_cells([run(MEGHA, workload, replace(plain, seed=seed)) for seed in seeds])])


def unlearnable(only: str, seeds: Sequence[int]) -> None:
    """Heddle beside central fewest-tasks-first where learning teaches nothing; 2,000 workers at load 0.9."""
    print_heading(["jobs", "central-fewest-tasks: mean delay s", "heddle", "difference", "messages a task"])
    setting = Setting(n_workers=2000)
    for name, drawn in UNLEARNABLE.items():
        if only in name:
            loads = [drawn(seed) for seed in seeds]
            central = [simulate(Experiment("central-fewest-tasks", setting), load).delay().mean for load in loads]
            outcomes = [run(HEDDLE, load, replace(setting, seed=seed)) for load, seed in zip(loads, seeds, strict=True)]
            delay, messages = _cells(outcomes)
            ours = statistics.fmean(outcome.delay().mean for outcome in outcomes)
            print_row(
                [name, _spread(central), delay, f"{100.0 * (ours / statistics.fmean(central) - 1.0):+.1f} %", messages]
            )


def groups(only: str, seeds: Sequence[int]) -> None:
    """Pigeon with groups of 100 workers, and with 25 groups."""
    print_heading(["run", "groups of 100: mean delay s", "25 groups"])
    for trace, n_workers in TRACES:
        if only in trace:
            workload, cells = public_trace(trace), list[str]()
            for size in (100, n_workers // 25):
                settings = [Setting(n_workers=n_workers, group_size=size, seed=seed) for seed in seeds]
                delays = [simulate(Experiment("pigeon", each), workload).delay().mean for each in settings]
                cells.append(_spread(delays, digits=2))
            print_row([f"{trace}, {n_workers:,}", *cells])


def _cells(outcomes: Sequence[RunOutcome]) -> list[str]:
    delays = [outcome.delay().mean for outcome in outcomes]
    return [_spread(delays), f"{statistics.fmean(outcome.messages_per_task for outcome in outcomes):.2f}"]


TABLES: Mapping[str, Callable[[str, Sequence[int]], None]] = {
    "goals": goals,
    "beliefs": beliefs,
    "homes": homes,
    "unlearnable": unlearnable,
    "groups": groups,
}

if __name__ == "__main__":
    _given = [*sys.argv[2:], "", "1"] if len(sys.argv) == 2 else [*sys.argv[2:], "1"]  # noqa: PLR2004 - the optional ones
    TABLES[sys.argv[1]](_given[0], range(1, int(_given[1]) + 1))
