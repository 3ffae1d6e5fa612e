"""The jobs of a Global Master and the launches that it has made for them."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from shim.domain.ids import LocalMasterId
from shim.domain.messages import EndingKind, Need
from shim.scheduling.durations import USUAL_BELIEFS, DurationBeliefs, DurationModel
from shim.scheduling.global_master.events import JobRequest
from shim.scheduling.job_table import Column, JobTable
from shim.scheduling.request_table import RequestTable

__all__ = ["Group", "Job", "JobBook", "Placed"]


@dataclass(slots=True)
class Group:
    """Tasks of a job that need the same, and those of them that wait.

    Attributes:
        row: Of its request in the table.
    """

    need: Need
    waiting: deque[int]
    row: int = -1


@dataclass(slots=True)
class Job:
    """A job with unfinished tasks.

    Attributes:
        row: Its row in the table.
        unconfirmed: Launches of a gang that no report has confirmed.
        held: Launches of a gang whose capacity is held and that have not been started; None when it is no gang.
    """

    request: JobRequest
    row: int
    groups: list[Group]
    n_waiting: int
    n_unfinished: int
    unconfirmed: int = 0
    held: dict[int, None] | None = None
    is_withdrawn: bool = False


@dataclass(slots=True)
class Placed:
    """A launch that is on its way or runs."""

    job: Job
    group: Group
    index: int
    local_master: LocalMasterId
    node: int
    at_s: float
    is_confirmed: bool = False


class JobBook:
    """Every count that placing, confirming, rejecting and ending a task changes, in one place.

    Args:
        queue_rows: Rows of the queues that have a share, by name.
        beliefs: What is taken for granted of durations.

    Attributes:
        table: The same as arrays, for orderings.
        requests: Waiting tasks that need the same, as arrays.
        by_request: Whose each request is.
        held: What launches that have not ended hold, by queue.
        news: What was learnt of durations and not yet told to others, in seconds.
    """

    def __init__(self, queue_rows: Mapping[str, int] | None = None, beliefs: DurationBeliefs = USUAL_BELIEFS) -> None:
        self._queue_rows = queue_rows or {}
        self.table = JobTable()
        self.requests = RequestTable()
        self.by_request: dict[int, tuple[Job, Group]] = {}
        self.durations = DurationModel(beliefs=beliefs)
        self.jobs: dict[str, Job] = {}
        self.by_row: dict[int, Job] = {}
        self.placed: dict[int, Placed] = {}
        self.held: dict[str, list[int]] = {}
        self.news: list[float] = []

    def add(self, request: JobRequest, at_s: float) -> Job | None:
        """Take in a job; the same id again is the same submission, and a job without tasks is none."""
        known = self.jobs.get(request.job)
        if known is not None:
            return known
        table = self.table
        groups = [Group(group.need, deque(group.indices)) for group in request.groups if group.indices]
        n_tasks = sum(len(group.waiting) for group in groups)
        if not n_tasks:
            return None
        job = Job(request, table.add(), groups, n_tasks, n_tasks, held={} if request.is_gang else None)
        for column, value in (
            (Column.TASKS, n_tasks),
            (Column.WAITING, n_tasks),
            (Column.ESTIMATE_S, request.estimate_s),
            (Column.ARRIVED_S, at_s),
            (Column.PRIORITY, request.priority),
            (Column.QUEUE, self._queue_rows.get(request.queue, -1)),
        ):
            table.put(column, job.row, value)
        table.set_waiting(job.row, is_waiting=True)
        for group in groups:
            gang = job.row + 1 if request.is_gang else 0
            group.row = self.requests.add(job.row, group.need, len(group.waiting), since_s=at_s, gang=gang)
            self.by_request[group.row] = (job, group)
        self.jobs[request.job] = self.by_row[job.row] = job
        return job

    def place(self, job: Job, group: Group, placed_at: tuple[LocalMasterId, int], number: int, at_s: float) -> Placed:
        """Take the group's next waiting task and book its launch."""
        placed = Placed(job, group, group.waiting.popleft(), *placed_at, at_s)
        self.placed[number] = placed
        self._hold(placed, +1)
        self._count_waiting(job, group, -1)
        if self.table.shift(Column.RUNNING, job.row, +1.0) == 1.0:
            self.table.expect_anew(job.row)
        self.table.shift(Column.STARTED_S, job.row, at_s)
        job.unconfirmed += 1
        return placed

    def put_back(self, number: int) -> Placed | None:
        """The launch did not come true, or its task was taken back: the task waits again, first in its group."""
        placed = self._take_off(number)
        if placed is None:
            return None
        job = placed.job
        if job.is_withdrawn:
            self._count_finished(job)
        else:
            placed.group.waiting.appendleft(placed.index)
            self._count_waiting(job, placed.group, +1)
        return placed

    def confirm(self, number: int) -> Placed | None:
        """The Local Master has the launch; None when it is not known any more."""
        placed = self.placed.get(number)
        if placed is None or placed.is_confirmed:
            return None
        placed.is_confirmed = True
        placed.job.unconfirmed -= 1
        if placed.job.held is not None:
            placed.job.held[number] = None
        return placed

    def end(self, number: int, kind: EndingKind, ran_for_s: float) -> Placed | None:
        """A task ended; None when it was known already."""
        if kind is not EndingKind.FINISHED:
            return self.put_back(number)
        placed = self._take_off(number)
        if placed is None:
            return None
        job = placed.job
        if self.table.count_ended(job.row, ran_for_s, self.durations.resemblance):
            self.durations.observe(ran_for_s)
            self.news.append(ran_for_s)
        self._count_finished(job)
        return placed

    def withdraw(self, name: str) -> Job | None:
        """Forget the waiting tasks of a job; running ones end as they will."""
        job = self.jobs.get(name)
        if job is None:
            return None
        job.is_withdrawn = True
        for group in job.groups:
            job.n_unfinished -= len(group.waiting)
            self.table.shift(Column.TASKS, job.row, -len(group.waiting))
            n_waiting = len(group.waiting)
            group.waiting.clear()
            self._count_waiting(job, group, -n_waiting)
        if not job.n_unfinished:
            self._remove(job)
        return job

    def _take_off(self, number: int) -> Placed | None:
        """Take a launch off every count of those that are on their way, held or running; None if it is not known."""
        placed = self.placed.pop(number, None)
        if placed is None:
            return None
        self._hold(placed, -1)
        job = placed.job
        if not placed.is_confirmed:
            job.unconfirmed -= 1
        if job.held is not None:
            job.held.pop(number, None)
        self.table.shift(Column.RUNNING, job.row, -1.0)
        self.table.shift(Column.STARTED_S, job.row, -placed.at_s)
        return placed

    def _hold(self, placed: Placed, sign: int) -> None:
        queue = placed.job.request.queue
        if queue:
            demand = placed.group.need.demand
            before = self.held.get(queue) or [0] * len(demand)
            self.held[queue] = [amount + sign * more for amount, more in zip(before, demand, strict=True)]

    def _count_waiting(self, job: Job, group: Group, change: int) -> None:
        job.n_waiting += change
        self.table.put(Column.WAITING, job.row, float(job.n_waiting))
        self.table.set_waiting(job.row, is_waiting=job.n_waiting > 0)
        self.requests.set_count(group.row, len(group.waiting))

    def _count_finished(self, job: Job) -> None:
        job.n_unfinished -= 1
        if not job.n_unfinished:
            self.table.compare(job.row, self.durations.resemblance)
            self._remove(job)

    def _remove(self, job: Job) -> None:
        del self.jobs[job.request.job], self.by_row[job.row]
        self.table.remove(job.row)
        for group in job.groups:
            self.requests.remove(group.row)
            del self.by_request[group.row]
