"""Expectations of an application's containers before its own have ended, learnt from applications like it.

What runs again and again has the same user, type and name, but for dates, times and long numbers in the name; if no
such run was seen, but for all numbers in it: `etl-7-20261128` is known by `etl-7-20261127`, else by `etl-9-20261127`.
So there are four models, each beginning from the wider one: of everything, of a queue, of jobs alike but for numbers,
of one recurring job. All that is known of what is wider weighs as much as one application of the recurring job, so that
a few runs are enough to be known by.
"""

import re
from collections import OrderedDict
from dataclasses import dataclass

from shim.domain.applications import ApplicationSummary
from shim.domain.deadlines import WorkLeft
from shim.scheduling.durations import ENOUGH_FINISHED, DurationModel, Resemblance

_NUMBER = re.compile(r"[0-9]+")
_DATE = re.compile(
    r"[0-9]{1,2}[-_./][0-9]{1,2}[-_./](?=[0-9]{4}(?![0-9]))"
    r"|[0-9]*(?:[0-9]{4}|[0-9]:[0-9])[0-9]*(?:[-_./:T ][0-9]+)*"
)
"""Numbers of four digits or more, times, and what stands before and after them as parts of a date do."""
_BEFORE_NAME = 2
_LONGEST_NAME = 1000
_MOST_RUNS = 16 * 1024
_MOST_JOB_KEY = 1024
"""Those that taught something last are kept, for each queue: a model takes 4 KiB."""


def recurring_key(summary: ApplicationSummary) -> str:
    """By what an application is known again."""
    return recurring_key_of(summary.user, summary.application_type, summary.name)


def recurring_key_of(user: str, application_type: str, name: str) -> str:
    """By what an application of that user, type and name is known again."""
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


class FormerRuns:
    """The last run of each recurring job of each queue, as far as this Global Master has seen it; soft state."""

    def __init__(self) -> None:
        self._runs: OrderedDict[tuple[str, str], FormerRun] = OrderedDict()

    def of(self, queue: str, job_key: str) -> FormerRun | None:
        """The last run of a recurring job; None if none has been seen."""
        return self._runs.get((queue, job_key)) or self._runs.get((queue, wider_key(job_key)))

    def observe(self, queue: str, job_key: str, containers: int, seconds: float) -> None:
        """Learn of an application that left: how many of its containers ended, and how long these ran in all."""
        if not job_key or not containers:
            return
        for each in dict.fromkeys((wider_key(job_key), job_key)):
            self._observe(queue, each, containers, seconds)

    def _observe(self, queue: str, job_key: str, containers: int, seconds: float) -> None:
        before = self._runs.pop((queue, job_key), None)
        runs = 1 if before is None else before.runs + 1
        self._runs[queue, job_key] = FormerRun(containers, seconds / containers, runs)
        while len(self._runs) > _MOST_RUNS:
            self._runs.popitem(last=False)


def work_left(ended: int, ended_s: float, running: int, asked: int, run: FormerRun | None) -> WorkLeft | None:
    """Estimate what is left of a run: by the mean of its containers that ended, and by the last run while few have.

    Args:
        ended: Its containers that ended.
        ended_s: How long they ran in all.
        running: Containers that it has.
        asked: Those, and what it asks for.
        run: Its last run, if it is known.

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
    """The models of one queue.

    Args:
        everything: The model of all queues.
        queue: Its path.
        runs: Former runs of all queues.
    """

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
