"""Durations of tasks, learnt from those that have ended: nothing is known of a task before it does.

Tasks of one job resemble each other far more than tasks of different jobs. So a job has one unknown, the typical
duration of its tasks, and what is believed of it is Bayes' rule over a grid of durations:

- *Prior*: what earlier jobs' first finished tasks ran, a histogram, and a trace of everything else.
- *Ended tasks*: spread around the typical duration, log-normally, as widely as tasks of ended jobs were; with a
  deviation of one octave before there are any.
- *Running tasks*: each has lasted for some time already, so that short durations become unlikely long before anything
  ends. They began together and see the same data, so ten of them count as one witness.

From a few ended tasks on, their mean is good enough. All of it counts only as far as tasks of one job have resembled
each other so far (`Resemblance`): where they do not, every job is expected to be as all are. `trial_work` is the other
half of not knowing: what the first task of a job is worth, since its end tells whether the rest shall follow.

Who waits for a slot does not mind how long a task of somebody else runs after everybody has been served. So in an
order no task counts for longer than the queue may last, its horizon (`horizon_of`).

Of jobs that are alike more is known than of all: a model may have a wider one, which it begins from.

Global Masters tell each other what they learn (it rides along with requests and reports): bids are comparable only when
their bidders expect the same.

Expectations of an application's containers before its own have ended, learnt from applications like it.

What runs again and again has the same user, type and name, but for dates, times and long numbers in the name; if no
such run was seen, but for all numbers in it: `etl-7-20261128` is known by `etl-7-20261127`, else by `etl-9-20261127`.
So there are four models, each beginning from the wider one: of everything, of a queue, of jobs alike but for numbers,
of one recurring job. All that is known of what is wider weighs as much as one application of the recurring job, so that
a few runs are enough to be known by.
"""

import math
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from shim.domain.applications import ApplicationSummary
from shim.domain.wishes import WorkLeft
from shim.scheduling.former_runs import FormerStage

FloatArray = NDArray[np.float64]


_PRIOR_JOBS = 4.0
"""What the belief that tasks of a job are alike counts for at the beginning: so many jobs, one octave apart."""
_FLOOR = 0.01
"""Part of the mean duration that is added to each: differences far below the mean matter to nobody."""


class Resemblance:
    """The parts of the variance, each job counting once."""

    def __init__(self) -> None:
        self._seen = 0.0
        self._seen_s = 0.0
        self._jobs = 0.0
        self._within = 0.0
        self._means = 0.0
        self._means_squared = 0.0
        self._inverse_sizes = 0.0
        self._alike = 1.0

    def note(self, duration_s: float) -> None:
        """Know a duration, for the scale of all."""
        self._seen += 1.0
        self._seen_s += duration_s

    def log2_of(self, duration_s: float) -> float:
        """Binary logarithm of a duration in seconds, as jobs are compared by it."""
        floor_s = _FLOOR * self._seen_s / self._seen if self._seen else 0.0
        return math.log2(max(duration_s + floor_s, 2.0**-10))

    def compare(self, n_tasks: float, log2_sum: float, log2_squares: float) -> None:
        """Learn from a job that has ended.

        Args:
            n_tasks: How many tasks it had; of one that had a single one nothing is learnt.
            log2_sum: Sum over its tasks of `log2_of`.
        """
        if n_tasks < 2.0:  # noqa: PLR2004 - a single one differs from none
            return
        mean = log2_sum / n_tasks
        self._jobs += 1.0
        self._within += max(0.0, log2_squares - log2_sum * mean) / (n_tasks - 1.0)
        self._means += mean
        self._means_squared += mean * mean
        self._inverse_sizes += 1.0 / n_tasks
        self._alike = self._estimate()

    def _estimate(self) -> float:
        jobs, within = self._jobs, self._within / self._jobs
        of_means = max(0.0, self._means_squared - self._means**2 / jobs) / max(1.0, jobs - 1.0)
        between = max(0.0, of_means - within * self._inverse_sizes / jobs)
        return (between * jobs + _PRIOR_JOBS) / ((between + within) * jobs + _PRIOR_JOBS)

    def spread_octaves(self, believed: float) -> float:
        """Standard deviation of binary logarithms of durations within a job, each job counting once, in octaves.

        Args:
            believed: The same before any job has ended. It counts for a few of them.
        """
        return math.sqrt((self._within + _PRIOR_JOBS * believed**2) / (self._jobs + _PRIOR_JOBS))

    @property
    def alike(self) -> float:
        """Part of the variance that is between jobs, in [0, 1]: 1 if an ended task tells everything."""
        return self._alike

    def weight_of(self, witnesses: FloatArray) -> FloatArray:
        """Weight of what so many tasks of a job tell against what all jobs do.

        Parameters
        ----------
        witnesses : float64 array of shape (n_jobs,)
            At least 1.

        Returns:
        -------
        float64 array of shape (n_jobs,)
            In [0, 1].
        """
        alike = self._alike
        if not alike:
            return np.zeros_like(witnesses)
        weights: FloatArray = witnesses * alike / (1.0 + (witnesses - 1.0) * alike)
        return weights


ENOUGH_FINISHED = 4
"""Ended tasks from which on their mean is taken."""

_BUCKETS = 162
_PER_OCTAVE = 6
_SMALLEST_S = 1.0 / 1024.0
_SMALLEST_LOG2 = -10.0
_TRACE_WEIGHT = 0.002
"""What each bucket counts as before anything was seen there, in jobs."""
_STEPS_OF_ALIKE = 20
_SHORT_JOBS, _SHORT_TIME, _ENOUGH_JOBS = 0.8, 0.125, 20
"""Part of the jobs that are short, part of the time that they may take then, and how many jobs have to be known."""
_GRID_LOG2: FloatArray = _SMALLEST_LOG2 + (np.arange(_BUCKETS) + 0.5) / _PER_OCTAVE
_GRID_S: FloatArray = np.exp2(_GRID_LOG2)
_NARROWEST_OCTAVES, _SPREADS_PER_OCTAVE = 0.125, 4
"""Spreads within a job: hardly less than a bucket, and how many of them are told apart."""
_HORIZON = 2.0
_HORIZONS_PER_OCTAVE = 4
_SIZES: FloatArray = np.exp2(np.arange(0.0, 20.25, 0.25))
"""Numbers of tasks for which `trial_work` is tabulated: up to a million."""
_NO_TRIAL: FloatArray = _SIZES * _SMALLEST_S


@dataclass(frozen=True, slots=True)
class DurationBeliefs:
    """Assumptions about tasks of one job.

    Attributes:
        spread_octaves: Standard deviation of the binary logarithm of their durations, while no job has ended.
        learns_spread: Whether jobs that end tell it from then on.
        witness: What a running task counts for, in ended ones: they began together and see the same data.
    """

    spread_octaves: float = 1.0
    learns_spread: bool = True
    witness: float = 0.1


USUAL_BELIEFS = DurationBeliefs()


@cache
def _survival_log(spread_octaves: float) -> FloatArray:
    """Logarithm of the part of tasks that take longer, by buckets beyond the typical one; index _BUCKETS is that."""
    scale = _PER_OCTAVE * spread_octaves
    return np.array(
        [
            math.log(0.5 * math.erfc(max(-30.0, min(step / scale, 7.0)) / math.sqrt(2.0)))
            for step in range(-_BUCKETS, _BUCKETS)
        ]
    )


class DurationModel:
    """Histogram of job durations in buckets of a sixth of an octave, from a millisecond to a day and a half.

    Args:
        wider: What is known of more jobs than those that this one is for. All of that weighs as much as one of these.
        beliefs: What is taken for granted.

    Attributes:
        observed: How many jobs it has learnt from itself.
        resemblance: How much tasks of a job resemble each other: of the widest model.
    """

    def __init__(self, wider: "DurationModel | None" = None, beliefs: DurationBeliefs = USUAL_BELIEFS) -> None:
        self._beliefs = beliefs
        self._spread_octaves = beliefs.spread_octaves
        self.observed = 0
        self.resemblance: Resemblance = Resemblance() if wider is None else wider.resemblance
        self._wider = wider
        self._count: FloatArray = np.zeros(_BUCKETS)
        self._sum_s: FloatArray = np.zeros(_BUCKETS)
        self._prior_log: FloatArray = np.full(_BUCKETS, math.log(_TRACE_WEIGHT))
        self._trials: dict[float, FloatArray] = {}
        self._means_s: dict[float, float] = {}
        self._long_from_s = math.inf
        self._trial_from: tuple[float, ...] = ()
        self._derived_from = 0

    @property
    def evidence(self) -> int:
        """A number that grows with each job that is learnt from, here or by what is wider."""
        return self.observed + (0 if self._wider is None else self._wider.evidence)

    def observe(self, duration_s: float) -> None:
        """Learn that some job's first task to end ran so long."""
        bucket = int((log2_of(duration_s) - _SMALLEST_LOG2) * _PER_OCTAVE)
        bucket = min(bucket, _BUCKETS - 1)
        self._count[bucket] += 1.0
        self._sum_s[bucket] += duration_s
        self.observed += 1
        if self._wider is None:  # it is shared, and the wider model is told, too
            self.resemblance.note(duration_s)

    def expected(
        self,
        finished: FloatArray,
        finished_log2: FloatArray,
        running: FloatArray,
        elapsed_s: FloatArray,
        horizons_s: Sequence[float] = (math.inf,),
    ) -> FloatArray:
        """Expected duration of the tasks of each job.

        Parameters
        ----------
        finished : float64 array of shape (n_jobs,)
            Number of ended tasks.
        finished_log2 : float64 array of shape (n_jobs,)
            Sum of the binary logarithms of the seconds that they ran (`log2_of`).
        running : float64 array of shape (n_jobs,)
            Number of running tasks.
        elapsed_s : float64 array of shape (n_jobs,)
            Mean time that they have run, in seconds.
        horizons_s : sequence of n_horizons
            No task counts for longer than this, in seconds.

        Returns:
        -------
        float64 array of shape (n_horizons, n_jobs)
            Posterior mean in seconds.
        """
        self._refresh()
        centre = finished_log2 / np.maximum(finished, 1.0)
        away = (centre[:, None] - _GRID_LOG2) / self._spread_octaves
        logs = self._prior_log - 0.5 * finished[:, None] * away**2
        age = np.floor((np.log2(np.maximum(elapsed_s, _SMALLEST_S)) - _SMALLEST_LOG2) * _PER_OCTAVE).astype(np.intp)
        beyond = np.clip(age[:, None] - np.arange(_BUCKETS) + _BUCKETS, 0, 2 * _BUCKETS - 1)
        logs += self._beliefs.witness * running[:, None] * _survival_log(self._spread_octaves)[beyond]
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        counted_s = np.minimum(_GRID_S, np.array(horizons_s)[:, None])
        means: FloatArray = counted_s @ weights.T / weights.sum(axis=1)
        return means

    def believed(
        self, told_s: FloatArray, finished: FloatArray, running: FloatArray, horizon_s: float = math.inf
    ) -> FloatArray:
        """Expected durations once it is counted how far tasks of one job resemble each other.

        Parameters
        ----------
        told_s : float64 array of shape (n_jobs,)
            What the tasks of each job alone tell, in seconds.
        finished, running : float64 arrays of shape (n_jobs,)
            How many of them there are.
        horizon_s : float
            No task counts for longer than this, nor does one in `told_s`.

        Returns:
        -------
        float64 array of shape (n_jobs,)
            Seconds; those of all jobs where no task has begun.
        """
        self._refresh()
        weight = self.resemblance.weight_of(np.maximum(finished + self._beliefs.witness * running, 1.0))
        mean_s = self._mean_s(horizon_s)
        expected_s: FloatArray = mean_s * (np.maximum(told_s, _SMALLEST_S) / mean_s) ** weight
        return expected_s

    @property
    def long_from_s(self) -> float:
        """Duration from which on tasks are long, in seconds; infinite unless most jobs are short and take little.

        Where the shortest four fifths of the jobs take an eighth of the time or less, each counted by one task, those
        wait for the others far longer than the others would wait for them.
        """
        self._refresh()
        return self._long_from_s

    def trial_work(self, waiting: FloatArray, horizon_s: float = math.inf) -> FloatArray:
        """Compute the cost, for each such job that is completed, of trying a job of which nothing is known yet.

        One task is launched. Its end tells the job's duration, and the rest follows at once if that is not above some
        limit; else the rest waits. The limit is chosen so that work per completed job is least. It is never more than
        the expected work of the whole job, and far less where durations differ much.

        Parameters
        ----------
        waiting : float64 array of shape (n_jobs,)
            Number of tasks.
        horizon_s : float
            No task counts for longer than this.

        Returns:
        -------
        float64 array of shape (n_jobs,)
            Slot-seconds. Next to nothing while no job has taught anything: somebody has to begin.

        Source: the index of Gittins (1979), with the end of the first task as the only moment of choice.
        """
        self._refresh()
        work: FloatArray = np.interp(waiting, _SIZES, self._trials_within(horizon_s))
        return work

    def _refresh(self) -> None:
        """Derive what follows from ended jobs alone, once for each that taught something."""
        evidence = self.evidence
        if self._derived_from == evidence:
            return
        self._derived_from = evidence
        self._prior_log = np.log(self._belief())
        self._spread_octaves = self._learnt_spread()
        self._means_s.clear()
        count, sum_s = self._histogram()
        jobs = count.sum()
        n_short = int(np.searchsorted(count.cumsum(), _SHORT_JOBS * jobs)) + 1
        take_little = jobs >= _ENOUGH_JOBS and sum_s[:n_short].sum() <= _SHORT_TIME * sum_s.sum()
        self._long_from_s = float(_SMALLEST_S * 2.0 ** (n_short / _PER_OCTAVE)) if take_little else math.inf

    def _learnt_spread(self) -> float:
        """Octaves by which tasks of a job differ; in steps of a fifth, so that it changes seldom."""
        believed = self._beliefs.spread_octaves
        if not self._beliefs.learns_spread:
            return believed
        spread = max(self.resemblance.spread_octaves(believed), _NARROWEST_OCTAVES)
        return float(2.0 ** (round(math.log2(spread) * _SPREADS_PER_OCTAVE) / _SPREADS_PER_OCTAVE))

    def _mean_s(self, horizon_s: float) -> float:
        """Mean over jobs of what a task counts for, in seconds; a second until a job has taught anything."""
        known_s = self._means_s.get(horizon_s)
        if known_s is None:
            jobs, ran_s = self._seen(horizon_s)
            known_s = max(float(jobs @ ran_s / jobs.sum()), _SMALLEST_S) if jobs.size else min(1.0, horizon_s)
            self._means_s[horizon_s] = known_s
        return known_s

    def _seen(self, horizon_s: float) -> tuple[FloatArray, FloatArray]:
        """Jobs by what a task of theirs counts for, the shortest first, and these seconds."""
        count, sum_s = self._histogram()
        seen = np.flatnonzero(count)
        return count[seen], np.minimum(sum_s[seen] / count[seen], horizon_s)

    def _trials_within(self, horizon_s: float) -> FloatArray:
        """Tabulate `trial_work` by `_SIZES`, anew where anything that it depends on has changed by more than a little.

        Until a job has taught anything it is next to nothing.
        """
        alike = round(self.resemblance.alike * _STEPS_OF_ALIKE) / _STEPS_OF_ALIKE
        derived_from = (float(self.evidence), alike)
        if self._trial_from != derived_from:
            self._trial_from = derived_from
            self._trials.clear()
        known = self._trials.get(horizon_s)
        if known is None:
            known = self._trials[horizon_s] = self._tabulate(horizon_s, alike) if self.evidence else _NO_TRIAL
        return known

    def _tabulate(self, horizon_s: float, alike: float) -> FloatArray:
        (jobs, ran_s), mean_s = self._seen(horizon_s), self._mean_s(horizon_s)
        rest_s = mean_s * (np.maximum(ran_s, _SMALLEST_S) / mean_s) ** alike
        trial_s = float(jobs @ ran_s / jobs.sum())
        completed = jobs.cumsum() / jobs.sum()
        follow_s = (jobs * rest_s).cumsum() / jobs.sum()
        # limits along the first axis: the trial itself, and for those below the limit everything else
        work: FloatArray = (trial_s + np.multiply.outer(follow_s, _SIZES - 1.0)) / completed[:, None]
        cheapest: FloatArray = work.min(axis=0)
        return cheapest

    def _belief(self) -> FloatArray:
        """Weight of each bucket, in jobs; array of shape (_BUCKETS,)."""
        if self._wider is None or not self._wider.evidence:
            return self._count + _TRACE_WEIGHT
        wider = self._wider._belief()  # noqa: SLF001 - of the same class
        belief: FloatArray = self._count + wider / wider.sum()
        return belief

    def _histogram(self) -> tuple[FloatArray, FloatArray]:
        """Jobs by bucket and the seconds of these, with what is wider as one job more; arrays of shape (_BUCKETS,)."""
        if self._wider is None or not self._wider.evidence:
            return self._count, self._sum_s
        count, sum_s = self._wider._histogram()  # noqa: SLF001 - of the same class
        jobs = count.sum()
        return self._count + count / jobs, self._sum_s + sum_s / jobs


def log2_of(duration_s: float) -> float:
    """Binary logarithm of a duration in seconds, of a millisecond at least."""
    return math.log2(max(duration_s, _SMALLEST_S))


def horizon_of(waited_s: float) -> float:
    """The horizon of an order, in seconds, when somebody has waited for so long without a break.

    A queue is expected to last for as long as it has lasted, and once more. Where it lasts for seconds, a slot that
    goes to a task of an hour costs the others what one costs that goes to a task of a minute, and what counts is how
    many slots a job wants; where it lasts for hours, work counts. In quarters of an octave, so that it changes seldom.
    """
    steps = math.log2(max(_HORIZON * waited_s, _SMALLEST_S)) * _HORIZONS_PER_OCTAVE
    return float(2.0 ** (math.ceil(steps) / _HORIZONS_PER_OCTAVE))


_NUMBER = re.compile(r"[0-9]+")
_DATE = re.compile(
    r"[0-9]{1,2}[-_./][0-9]{1,2}[-_./](?=[0-9]{4}(?![0-9]))"
    r"|[0-9]*(?:[0-9]{4}|[0-9]:[0-9])[0-9]*(?:[-_./:T ][0-9]+)*"
)
"""Numbers of four digits or more, times, and what stands before and after them as parts of a date do."""
_BEFORE_NAME = 2
_LONGEST_NAME = 1000
_MOST_RUNS = 16 * 1024
_MOST_STAGED_RUNS = 2 * 1024
"""Runs of which stages are kept: the times of each take up to 50 KiB."""
_MOST_JOB_KEY = 1024
"""Those that taught something last are kept, for each queue: a model takes 4 KiB."""


def recurring_key(summary: ApplicationSummary) -> str:
    return recurring_key_of(summary.user, summary.application_type, summary.name)


def recurring_key_of(user: str, application_type: str, name: str) -> str:
    return f"{user} {application_type} {_DATE.sub('#', name[:_LONGEST_NAME])}"


def wider_key(job_key: str) -> str:
    """By what it is known if no run of that key was seen: all numbers of the name are left out."""
    *whose, name = job_key.split(" ", 2)
    return " ".join((*whose, _NUMBER.sub("#", name))) if len(whose) == _BEFORE_NAME else job_key


@dataclass(frozen=True, slots=True)
class FormerRun:
    """The last run of a recurring job, as its containers told it.

    Attributes:
        containers: Those that ended as they should, the ApplicationMaster's own not counted.
        container_s: Seconds that each of these ran, in the mean.
        runs: Runs that have taught anything, this one included.
    """

    containers: int
    container_s: float
    runs: int


@dataclass(frozen=True, slots=True)
class KnownRun:
    """What is known of the last run of a recurring job; keys are its queue and its job key.

    Attributes:
        run: Its containers; None where only its stages are known.
        stages: Its stages, parents first; empty where its graph was not known.
    """

    run: FormerRun | None
    stages: tuple[FormerStage, ...]


class FormerRuns:
    """The last run of each recurring job of each queue, as far as this Global Master has seen it, or was told."""

    def __init__(self) -> None:
        self._runs: OrderedDict[tuple[str, str], FormerRun] = OrderedDict()
        self._stages: OrderedDict[tuple[str, str], tuple[FormerStage, ...]] = OrderedDict()
        self._changed: dict[tuple[str, str], None] = {}

    def of(self, queue: str, job_key: str) -> FormerRun | None:
        """The last run of a recurring job; None if none has been seen."""
        return self._runs.get((queue, job_key)) or self._runs.get((queue, wider_key(job_key)))

    def observe(self, queue: str, job_key: str, containers: int, seconds: float) -> None:
        """Learn of an application that left: how many of its containers ended, and how long these ran in all."""
        if not job_key or not containers:
            return
        for each in dict.fromkeys((wider_key(job_key), job_key)):
            self._observe(queue, each, containers, seconds)

    def stages_of(self, queue: str, job_key: str) -> tuple[FormerStage, ...]:
        """The stages of the last run of a recurring job, parents first; empty if they are not known."""
        return self._stages.get((queue, job_key)) or self._stages.get((queue, wider_key(job_key)), ())

    def observe_stages(self, queue: str, job_key: str, stages: tuple[FormerStage, ...]) -> None:
        """Learn the stages of a run that ended well."""
        if job_key and stages:
            for each in dict.fromkeys((wider_key(job_key), job_key)):
                self._put_stages((queue, each), stages)
                self._note((queue, each))

    def changed(self) -> Mapping[tuple[str, str], KnownRun]:
        """Give what was learnt since the last call, by queue and job key."""
        found = {key: KnownRun(self._runs.get(key), self._stages.get(key, ())) for key in self._changed}
        self._changed = {}
        return {key: known for key, known in found.items() if known.run is not None or known.stages}

    def restore(self, key: tuple[str, str], known: KnownRun) -> None:
        """Take in what was kept of a run, by queue and job key; what was learnt here since goes before it."""
        if key in self._changed:
            return
        if known.run is not None:
            self._put_run(key, known.run)
        if known.stages:
            self._put_stages(key, known.stages)

    def _put_stages(self, key: tuple[str, str], stages: tuple[FormerStage, ...]) -> None:
        self._stages.pop(key, None)
        self._stages[key] = stages
        while len(self._stages) > _MOST_STAGED_RUNS:
            self._stages.popitem(last=False)

    def _put_run(self, key: tuple[str, str], run: FormerRun) -> None:
        self._runs.pop(key, None)
        self._runs[key] = run
        while len(self._runs) > _MOST_RUNS:
            self._runs.popitem(last=False)

    def _observe(self, queue: str, job_key: str, containers: int, seconds: float) -> None:
        before = self._runs.get((queue, job_key))
        runs = 1 if before is None else before.runs + 1
        self._put_run((queue, job_key), FormerRun(containers, seconds / containers, runs))
        self._note((queue, job_key))

    def _note(self, key: tuple[str, str]) -> None:
        self._changed[key] = None
        while len(self._changed) > _MOST_RUNS:
            del self._changed[next(iter(self._changed))]


def work_left(ended: int, ended_s: float, running: int, asked: int, run: FormerRun | None) -> WorkLeft | None:
    """Estimate what is left of a run: by the mean of its containers that ended, and by the last run while few have.

    Args:
        ended_s: How long they ran in all.

    Returns:
        None where nothing has taught anything.
    """
    if not ended and run is None:
        return None
    weight = float(ended)
    if run is not None and ended < ENOUGH_FINISHED:
        ended_s, weight = ended_s + run.container_s * (ENOUGH_FINISHED - ended), float(ENOUGH_FINISHED)
    return WorkLeft(
        containers=max(asked, 0 if run is None else run.containers - ended),
        container_s=ended_s / weight,
        running=running,
        runs=0 if run is None else run.runs,
    )


class RecurringJobModels:
    """The models of one queue."""

    def __init__(self, everything: DurationModel, queue: str = "", runs: FormerRuns | None = None) -> None:
        self._name = queue
        self._runs = FormerRuns() if runs is None else runs
        self._everything = everything
        self.queue = DurationModel(everything)
        self._job_key: OrderedDict[str, DurationModel] = OrderedDict()

    @property
    def observed_in_all(self) -> int:
        """Number of applications of all queues that have taught something."""
        return self._everything.observed

    @property
    def resemblance(self) -> Resemblance:
        """Resemblance of containers of one application, over all queues."""
        return self._everything.resemblance

    def model(self, job_key: str) -> DurationModel:
        """Durations of applications of a recurring job; the queue's if none of it has taught anything."""
        return self._job_key.get(job_key) or self._job_key.get(wider_key(job_key), self.queue)

    def observed(self, job_key: str) -> int:
        """Number of applications of a recurring job that have taught something."""
        known = self._job_key.get(job_key) or self._job_key.get(wider_key(job_key))
        return 0 if known is None else known.observed

    def former_run(self, job_key: str) -> FormerRun | None:
        """The last run of a recurring job of the queue; None if none has been seen."""
        return self._runs.of(self._name, job_key)

    def observe_run(self, job_key: str, containers: int, seconds: float) -> None:
        """Learn of an application that left; see `FormerRuns.observe`."""
        self._runs.observe(self._name, job_key, containers, seconds)

    def observe(self, job_key: str, duration_s: float) -> None:
        """Learn that the first container of some application to end ran so long.

        Args:
            job_key: See `recurring_key`; empty if it is not known.
            duration_s: From the grant to the end.
        """
        self._everything.observe(duration_s)
        self.queue.observe(duration_s)
        wider = self.queue
        for each in dict.fromkeys((wider_key(job_key), job_key)) if job_key else ():
            model = self._job_key.pop(each, None) or DurationModel(wider)
            model.observe(duration_s)
            self._job_key[each] = wider = model
        while len(self._job_key) > _MOST_JOB_KEY:
            self._job_key.popitem(last=False)
