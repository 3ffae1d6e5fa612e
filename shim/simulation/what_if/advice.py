"""Scheduling policies on a history of one's own, by Heddle's own code over modelled clusters, and how sure that is.

A history is divided into windows of equally many applications, one after the other. Each window runs by each policy
with a seed of its own, from empty clusters. Windows are the sample: the gain of a policy over the one in force is
paired within each, and its interval is Student's over windows. So a gain that comes of one busy hour is not sure.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, stdev

import numpy as np

from shim.config.loader import Config
from shim.config.queues import PolicyConfig, QueueConfig
from shim.errors import BadRequestError
from shim.scheduling.policy import Fact
from shim.scheduling.queue_policies import QUEUE_POLICIES
from shim.simulation.cluster.jobs import ModelledJob
from shim.simulation.cluster.spec import ModelledClusterSpec
from shim.simulation.what_if.past_jobs import PastJob, RecordedHistory, modelled
from shim.simulation.what_if.replay import Side, check_sizes, config_over
from shim.simulation.yarn_sim.run import YarnSetting, play

LEAST_WINDOWS, MOST_WINDOWS = 3, 8
LEAST_JOBS = 6
"""Of a window."""
_T99 = {2: 9.925, 3: 5.841, 4: 4.604, 5: 4.032, 6: 3.707, 7: 3.499}
"""Student's t, two-sided 99 %, by degrees of freedom: about a dozen policies are compared at once."""
_EVEN = 0.02
_LATER = 1.05

_Completions = list[np.ndarray[tuple[int], np.dtype[np.float64]]]
"""Seconds of each application, by window."""


@dataclass(frozen=True, slots=True)
class PolicyAdvice:
    """Figures of a policy on a history.

    Attributes:
        means_s: Mean completion by window; empty if it did not run.
        gains: Part of the mean completion that it saves against the policy in force, by window.
        p95_s: 95th percentile of completion, over all windows.
        slower: Part of the applications that end more than 5 % later than by the policy in force.
    """

    policy: str
    means_s: tuple[float, ...] = ()
    gains: tuple[float, ...] = ()
    p95_s: float = 0.0
    slower: float = 0.0
    why_not: str = ""

    @property
    def mean_s(self) -> float:
        """Mean completion of all applications; windows are of one size, or one more."""
        return fmean(self.means_s)

    @property
    def gain(self) -> float:
        """Mean gain over windows."""
        return fmean(self.gains)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The gain's 99 % interval; None if there are too few windows to tell."""
        degrees = len(self.gains) - 1
        if len(self.gains) < LEAST_WINDOWS:
            return None
        half = _T99[degrees] * stdev(self.gains) / math.sqrt(len(self.gains))
        return self.gain - half, self.gain + half

    @property
    def verdict(self) -> str:
        """`faster`, `slower` or `the same` where the interval says so; else `not sure`, or `too few jobs`."""
        found = self.interval
        if found is None:
            return "too few jobs"
        low, high = found
        if low >= -_EVEN and high <= _EVEN:
            return "the same"
        if low > 0.0:
            return "faster"
        return "slower" if high < 0.0 else "not sure"


def advised(found: Sequence[PolicyAdvice], in_force: str) -> str:
    """The policy to take: of those that are surely faster the one with the largest sure gain; else the one in force."""
    sure = [each for each in found if each.means_s and each.verdict == "faster" and each.interval]
    return max(sure, key=lambda each: (each.interval or (0.0, 0.0))[0]).policy if sure else in_force


def facts_of(jobs: Iterable[ModelledJob]) -> frozenset[Fact]:
    """What jobs tell of that policies go by; how long containers run is learnt in a queue."""
    stages = [stage for job in jobs for stage in job.stages]
    found = {Fact.ESTIMATES, Fact.VECTORS}
    found |= {Fact.DAG} if any(stage.needs for stage in stages) else set()
    return frozenset(found | ({Fact.LOCALITY} if any(stage.hosts for stage in stages) else set()))


def windows_of(jobs: Sequence[PastJob], count: int) -> list[list[PastJob]]:
    """Divide a history into windows of equally many applications; each begins at time 0."""
    count = max(1, min(count, len(jobs) // LEAST_JOBS))
    ends = [round(len(jobs) * number / count) for number in range(count + 1)]
    parts = [jobs[begin:end] for begin, end in pairwise(ends)]
    return [[replace(job, arrival_s=job.arrival_s - part[0].arrival_s) for job in part] for part in parts]


@dataclass(frozen=True, slots=True)
class Sample:
    """A history that policies are judged on.

    Attributes:
        base: The configuration; its queues keep everything but their policy.
        windows: How many there are, if there are enough applications.
        seed: Of the first window; the next has the next.
    """

    history: RecordedHistory
    clusters: tuple[ModelledClusterSpec, ...]
    base: Config
    windows: int
    seed: int = 1


def advise_on(
    sample: Sample,
    *,
    against: str,
    policies: Sequence[str],
    advance: Callable[[int], None] = lambda _: None,
) -> list[PolicyAdvice]:
    """Run a history by each policy; the fastest first, then those that do not run.

    Args:
        policies: To judge beside it.
        advance: Told how many more applications have ended, over all.

    Raises:
        BadRequestError: An application asks for more than any node has, or does not end by the policy in force.
    """
    history, clusters, base = sample.history, sample.clusters, sample.base
    parts = [modelled(part, history.queues, startup_s=0.0) for part in windows_of(history.jobs, sample.windows)]
    facts = facts_of(job for part in parts for job in part)
    for part in parts:
        check_sizes(part, Side("advise", clusters, base))

    def completions(policy: str) -> _Completions | str:
        """Of each window, by application; the reason if one did not end."""
        config = config_over(base, clusters, _queues(base, history.queues, policy))
        found = []
        for number, part in enumerate(parts):
            outcome = play(YarnSetting(clusters=clusters, config=config, seed=sample.seed + number), part, advance)
            if outcome.failed:
                name, why = next(iter(outcome.failed.items()))
                return f"{len(outcome.failed)} applications failed: {name}: {why}"
            found.append(np.array(outcome.completions_s))
        return found

    in_force = completions(against)
    if isinstance(in_force, str):
        raise BadRequestError(f"by {against}, which is in force, {in_force}")
    ran, refused = list[PolicyAdvice](), list[PolicyAdvice]()
    for name in dict.fromkeys((against, *policies)):
        needs = QUEUE_POLICIES[name].needs if name in QUEUE_POLICIES else frozenset[Fact]()
        lacking = "; ".join(sorted(fact.value for fact in needs - facts))
        found: _Completions | str = in_force
        if name != against:
            found = f"it needs {lacking}, of which the history tells nothing" if lacking else completions(name)
        if isinstance(found, str):
            refused.append(PolicyAdvice(name, why_not=found))
            continue
        pairs = list(zip(found, in_force, strict=True))
        gains = tuple(1.0 - float(mine.mean()) / float(theirs.mean()) for mine, theirs in pairs)
        mine, theirs = np.concatenate(found), np.concatenate(in_force)
        later = float(np.mean(mine > _LATER * theirs))
        means = tuple(float(each.mean()) for each in found)
        ran.append(PolicyAdvice(name, means, gains, float(np.percentile(mine, 95)), later))
    return [*sorted(ran, key=lambda each: each.mean_s), *refused]


def _queues(base: Config, paths: Sequence[str], policy: str) -> PolicyConfig:
    """The configuration's tables with one policy in each queue of the history, which spans."""
    known = {queue.name: queue for queue in base.queues}
    known |= {path: known.get(path, QueueConfig(path)) for path in paths}
    queues = tuple(
        replace(queue, containers=policy, shadow="none", span=True) if queue.name in paths else queue
        for queue in known.values()
    )
    return replace(base.policy, queues=queues)
