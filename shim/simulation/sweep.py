"""Many runs: every policy with every seed, in parallel processes when that is asked for."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from shim.errors import BadRequestError
from shim.simulation.parallel import OnJobEnd, run_all
from shim.simulation.registry import SCHEDULERS
from shim.simulation.results import RunOutcome
from shim.simulation.run import Run, Setting
from shim.simulation.traces import Workload

__all__ = ["Experiment", "experiments", "simulate", "sweep"]


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
        planned: The runs.
        workload: What each of them runs.
        n_processes: How many processes run at the same time; with 1 everything runs in this one.
        on_jobs_end: Is told how many more jobs have ended: one by one in this process, else a run at a time.
    """
    runs = [(partial(simulate, experiment, workload), len(workload.jobs)) for experiment in planned]
    return run_all(runs, n_processes=n_processes, on_jobs_end=on_jobs_end)
