"""State of a Global Master, from which its cycles start."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from fairness import FloatArray
from shim.domain.ids import GlobalMasterId, LocalMasterId
from shim.domain.messages import EndingKind, InconsistencyKind, Launch, LaunchRequest, TaskRef
from shim.domain.resources import Need
from shim.scheduling.durations import USUAL_BELIEFS, DurationBeliefs, DurationModel
from shim.scheduling.global_master.events import GlobalMasterEffect, JobRequest, SendMessage
from shim.scheduling.global_master.links import LaunchDraft, LocalMasterLink
from shim.scheduling.global_master.view import GlobalView
from shim.scheduling.placements import CycleState, PolicyRandom
from shim.scheduling.policy import Policy
from shim.scheduling.snapshot import Column, JobTable, RequestTable

# The jobs of a Global Master and the launches that it has made for them.


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
        beliefs: What is taken for granted of durations.

    Attributes:
        table: The same as arrays, for orderings.
        requests: Waiting tasks that need the same, as arrays.
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


_LIFE_SHIFT = 40
"""Launch numbers: the incarnation stands above the low 40 bits, so that numbers of two lives never meet."""


@dataclass(slots=True)
class Counters:
    """Counts of events so far.

    Attributes:
        inconsistencies: Rejected launches by kind.
        matches: Launches that were sent.
        repartitions: Those of them into external partitions by an own match, not by an offer.
        offers_used: Offers with at least one launch; `offers_declined` those without.
    """

    inconsistencies: Counter[InconsistencyKind] = field(default_factory=Counter)
    matches: int = 0
    repartitions: int = 0
    offers_used: int = 0
    offers_declined: int = 0


class Core:
    """State of a Global Master.

    Attributes:
        queue_rows: Rows of the queues that have a share in the whole federation; empty when none has.
        shares: float64 array of shape (n_queues,): these shares, by row.
        state: What cycles hand on to each other.
        drafts: What the next requests will say, for the Local Masters that there is something to say to.
        tokens: Renewed bids that may still be sent.
        nobody_bid_at_s: The newest time at which nobody had bid at some Local Master.
        most_free: The most that was ever free of each resource: what jobs' shares are parts of.
        patient_until_s: Queues that were asked back lately: until then they borrow nothing anew.
    """

    def __init__(
        self,
        global_master: GlobalMasterId,
        policy: Policy,
        *,
        n_resources: int,
        rng: PolicyRandom,
        incarnation: int,
        queue_shares: Mapping[str, float],
    ) -> None:
        self.global_master = global_master
        self.policy = policy
        self.incarnation = incarnation
        self.queue_rows = {queue: row for row, queue in enumerate(queue_shares)}
        self.shares: FloatArray = np.array(list(queue_shares.values()), dtype=np.float64)
        self.state = CycleState(rng)
        self.view = GlobalView(global_master, n_resources)
        self.book = JobBook(self.queue_rows, policy.ordering.beliefs)
        self.links: dict[LocalMasterId, LocalMasterLink] = {}
        self.drafts: dict[LocalMasterId, LaunchDraft] = {}
        self.counters = Counters()
        self.effects: list[GlobalMasterEffect] = []
        self.tokens = 0.0
        self.nobody_bid_at_s = 0.0
        self.most_free: FloatArray = np.zeros(n_resources)
        self.patient_until_s: dict[str, float] = {}
        self._next_number = (incarnation << _LIFE_SHIFT) + 1

    def launch(self, job: Job, group: Group, row: int, at_s: float, *, offer: int = 0) -> Launch:
        """Book the group's next task on a node and put its launch into the draft of that Local Master."""
        place = self.view.place_of(row)
        self.tokens += self.policy.commitment.bids_per_launch
        number = self._next_number
        self._next_number += 1
        placed = self.book.place(job, group, place, number, at_s)
        is_gang = job.held is not None
        launch = Launch(
            number, place[1], group.need, TaskRef(job.request.job, placed.index), job.request.queue, offer, is_gang
        )
        self.draft(place[0]).launches.append(launch)
        return launch

    def draft(self, local_master: LocalMasterId) -> LaunchDraft:
        """Return the draft of the next request to a Local Master, for callers to add to."""
        draft = self.drafts.get(local_master)
        if draft is None:
            draft = self.drafts[local_master] = LaunchDraft()
        return draft

    def send_request(self, local_master: LocalMasterId, request: LaunchRequest, at_s: float) -> None:
        """Send a request and keep it until a report has seen it."""
        link = self.links[local_master]
        link.unseen[request.sequence] = (request, at_s)
        self.effects.append(SendMessage(local_master, request))

    def repeat_request(self, local_master: LocalMasterId, sequence: int, at_s: float) -> None:
        """Send a request once more."""
        link = self.links[local_master]
        request = replace(link.unseen[sequence][0], heard_to=link.heard_to)
        self.send_request(local_master, request, at_s)
