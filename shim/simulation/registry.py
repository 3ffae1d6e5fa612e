"""Every simulated scheduler by its name: the one table that the command line, the sweeps and the tests read."""

import math
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from shim.errors import BadRequestError
from shim.simulation.baselines.central import central_fewest_tasks, central_fifo, central_srpt
from shim.simulation.baselines.hawk import eagle, hawk
from shim.simulation.baselines.least_work_left import central_least_work_left
from shim.simulation.baselines.pigeon import pigeon
from shim.simulation.masters import heddle, megha
from shim.simulation.omega import omega
from shim.simulation.parallel import OnJobEnd, run_all
from shim.simulation.results import RunOutcome, Summary
from shim.simulation.run import Run, Setting
from shim.simulation.sparrow import sparrow
from shim.simulation.traces import Workload


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A scheduler that can be simulated.

    Attributes:
        simulate: Runs the whole workload of a run and gives what was measured.
        needs_cut: Whether it treats short jobs and long ones apart: a workload must say where the cut is.
        survives_loss: Whether it goes on when messages are lost; the published ones take the network for perfect.
    """

    simulate: Callable[[Run], RunOutcome]
    summary: str
    survives_loss: bool = False
    needs_cut: bool = False


SCHEDULERS: Mapping[str, Scheduler] = {
    "heddle": Scheduler(
        heddle, "Megha's masters with need-driven offers and learnt durations (or told estimates)", survives_loss=True
    ),
    "megha": Scheduler(
        megha, "Global Masters on stale views, verified by Local Masters; as published", survives_loss=True
    ),
    "sparrow": Scheduler(sparrow("sparrow"), "batch sampling, late binding, cancellation"),
    "sparrow-late-binding": Scheduler(sparrow("sparrow-late-binding"), "Sparrow without cancellation"),
    "sparrow-with-replacement": Scheduler(
        sparrow("sparrow-with-replacement"), "Sparrow as Eagle's simulator has it: a node may be drawn twice"
    ),
    "sparrow-batch": Scheduler(sparrow("sparrow-batch"), "batch sampling, tasks placed at once by queue length"),
    "sparrow-per-task": Scheduler(sparrow("sparrow-per-task"), "two probes for each task on its own"),
    "random": Scheduler(sparrow("random"), "each task to a random worker"),
    "omega": Scheduler(omega("omega"), "parallel schedulers on shared state; resource fit, incremental"),
    "omega-all-or-nothing": Scheduler(omega("omega-all-or-nothing"), "Omega whose transactions fail as a whole"),
    "omega-sequence-numbers": Scheduler(omega("omega-sequence-numbers"), "Omega that refuses any change of a node"),
    "omega-sequence-numbers-all-or-nothing": Scheduler(
        omega("omega-sequence-numbers-all-or-nothing"), "both: the coarsest conflicts"
    ),
    "hawk": Scheduler(
        hawk, "long jobs centrally, short ones by probes, idle workers steal; told estimates", needs_cut=True
    ),
    "eagle": Scheduler(
        eagle, "Hawk whose short tasks avoid long ones, SRPT at the worker; told estimates", needs_cut=True
    ),
    "pigeon": Scheduler(pigeon, "groups with masters, short tasks first; told estimates", needs_cut=True),
    "central-fifo": Scheduler(central_fifo, "perfect knowledge, first come first served"),
    "central-fewest-tasks": Scheduler(central_fewest_tasks, "perfect view, fewest unlaunched tasks first"),
    "central-srpt": Scheduler(central_srpt, "perfect knowledge, least unlaunched work first"),
    "central-least-work-left": Scheduler(
        central_least_work_left, "each task to the queue with the least work; told estimates", needs_cut=True
    ),
}


# Many runs: every policy with every seed, in parallel processes when that is asked for.


@dataclass(frozen=True, slots=True)
class Experiment:
    """One run to be made: a policy by its name in the registry, and the setting."""

    policy: str
    setting: Setting


def experiments(policies: Sequence[str], setting: Setting, n_seeds: int = 1) -> list[Experiment]:
    """Each policy with `n_seeds` seeds, from the setting's seed on.

    Raises:
        BadRequestError: If a policy is unknown (the message lists those that are known), or messages are to be lost
            and a policy cannot bear that.
    """
    unknown = [policy for policy in policies if policy not in SCHEDULERS]
    if unknown:
        raise BadRequestError(f"no scheduler is called {', '.join(unknown)}; there are {', '.join(SCHEDULERS)}")
    frail = [policy for policy in policies if setting.loss and not SCHEDULERS[policy].survives_loss]
    if frail:
        raise BadRequestError(f"{', '.join(frail)} would wait forever for a lost message: leave it out, or the loss")
    return [
        Experiment(policy, replace(setting, seed=setting.seed + offset))
        for policy in policies
        for offset in range(n_seeds)
    ]


def simulate(experiment: Experiment, workload: Workload, on_job_end: OnJobEnd = lambda: None) -> RunOutcome:
    """Make one run; `on_job_end` is called at the end of each job.

    Raises:
        BadRequestError: If the policy needs to know which jobs are short, and the workload does not say.
    """
    if SCHEDULERS[experiment.policy].needs_cut and math.isnan(workload.cutoff_s):
        message = f"{experiment.policy} treats short jobs apart, and no cut was published for {workload.name}"
        raise BadRequestError(f"{message}: give it (--cutoff SECONDS)")
    started = time.perf_counter()
    outcome = SCHEDULERS[experiment.policy].simulate(Run(workload, experiment.setting, on_job_end))
    outcome.wall_s = time.perf_counter() - started
    return outcome


def sweep(
    planned: Sequence[Experiment],
    workload: Workload,
    *,
    n_processes: int = 1,
    on_jobs_end: Callable[[int], object] = lambda _: None,
) -> list[RunOutcome]:
    """Make all runs, and give their results in the order of the plan.

    Args:
        n_processes: How many processes run at the same time; with 1 everything runs in this one.
        on_jobs_end: Is told how many more jobs have ended: one by one in this process, else a run at a time.
    """
    runs = [(partial(simulate, experiment, workload), len(workload.jobs)) for experiment in planned]
    return run_all(runs, n_processes=n_processes, on_jobs_end=on_jobs_end)


_DIGITS = 6


def document(outcome: RunOutcome, setting: Setting) -> dict[str, Any]:
    """One run as a JSON object; times in seconds, a number that does not exist is null."""
    decisions = Summary.of(outcome.decision_s)
    n_tasks = outcome.workload.n_tasks
    return {
        "policy": outcome.policy,
        "trace": outcome.workload.name,
        "workers": setting.n_workers,
        "gms": setting.n_gms,
        "lms": setting.n_lms,
        "seed": setting.seed,
        "job_delay_s": _summary(outcome.delay()),
        "short": _summary(outcome.delay(short=True)),
        "long": _summary(outcome.delay(short=False)),
        "messages_per_task": round(outcome.messages_per_task, _DIGITS),
        "inconsistencies": {kind: outcome.inconsistencies[kind] for kind in ("internal", "external")},
        "utilisation": round(outcome.utilisation, _DIGITS),
        "wall_s": _number(outcome.wall_s),
        "estimates": outcome.uses_estimates,
        "job_response_s": _summary(Summary.of(outcome.responses_s)),
        "messages": dict(sorted(outcome.messages.items())),
        "bytes_per_task": round(outcome.size_bytes.total() / n_tasks, _DIGITS),
        "repartitions": outcome.repartitions,
        "decision_s": {"p50": _number(decisions.p50), "p99": _number(decisions.p99)},
        "jobs": len(outcome.workload.jobs),
        "tasks": n_tasks,
        "tasks_left_out": outcome.workload.left_out,
    }


def _summary(summary: Summary) -> dict[str, float | None]:
    return {name: _number(getattr(summary, name)) for name in ("mean", "p50", "p95", "p99", "max")}


def _number(value: float) -> float | None:
    return round(value, _DIGITS) if math.isfinite(value) else None


COLUMNS: Sequence[tuple[str, str]] = (
    ("POLICY", "policy"),
    ("SEED", "seed"),
    ("MEAN s", "mean"),
    ("P50", "p50"),
    ("P95", "p95"),
    ("P99", "p99"),
    ("SHORT", "short"),
    ("LONG", "long"),
    ("MSG/TASK", "messages"),
    ("INTERNAL", "internal"),
    ("EXTERNAL", "external"),
    ("BORROWED", "repartitions"),
    ("UTIL %", "utilisation"),
    ("DECISION us", "decision"),
    ("WALL s", "wall"),
)
"""Headings of the table, and the key of each in a row."""


def row(outcome: RunOutcome, setting: Setting) -> dict[str, str]:
    """One run as a row of text. SHORT and LONG are mean delays; `+est` marks a policy that was told durations."""
    delay = outcome.delay()
    decisions = Summary.of(outcome.decision_s)
    return {
        "policy": outcome.policy + ("+est" if outcome.uses_estimates else ""),
        "seed": str(setting.seed),
        "mean": _text(delay.mean),
        "p50": _text(delay.p50),
        "p95": _text(delay.p95),
        "p99": _text(delay.p99),
        "short": _text(outcome.delay(short=True).mean),
        "long": _text(outcome.delay(short=False).mean),
        "messages": _text(outcome.messages_per_task),
        "internal": str(outcome.inconsistencies["internal"]),
        "external": str(outcome.inconsistencies["external"]),
        "repartitions": str(outcome.repartitions),
        "utilisation": _text(100.0 * outcome.utilisation),
        "decision": _text(1e6 * decisions.p50),
        "wall": _text(outcome.wall_s),
    }


def rows(results: Sequence[tuple[RunOutcome, Setting]]) -> list[Mapping[str, str]]:
    """A row for each run, and under the runs of a policy with several seeds one with their mean and range."""
    table: list[Mapping[str, str]] = []
    by_policy: defaultdict[str, list[tuple[RunOutcome, Setting]]] = defaultdict(list)
    for outcome, setting in results:
        by_policy[outcome.policy].append((outcome, setting))
    for runs in by_policy.values():
        table.extend(row(outcome, setting) for outcome, setting in runs)
        if len(runs) > 1:
            table.append(_over_seeds([outcome for outcome, _ in runs]))
    return table


def _over_seeds(outcomes: Sequence[RunOutcome]) -> Mapping[str, str]:
    means = [outcome.delay().mean for outcome in outcomes]
    return {
        "policy": f"{outcomes[0].policy}, {len(outcomes)} seeds",
        "mean": f"{_text(statistics.fmean(means))} ({_text(min(means))}..{_text(max(means))})",
        "p99": _text(statistics.fmean(outcome.delay().p99 for outcome in outcomes)),
        "messages": _text(statistics.fmean(outcome.messages_per_task for outcome in outcomes)),
        "utilisation": _text(100.0 * statistics.fmean(outcome.utilisation for outcome in outcomes)),
    }


def _text(value: float) -> str:
    """Three significant digits, no exponent; `-` for a number that does not exist."""
    if not math.isfinite(value):
        return "-"
    if value == 0 or abs(value) >= 100:  # noqa: PLR2004 - from 100 on three digits are all whole
        return f"{value:.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
