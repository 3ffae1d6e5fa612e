"""The book of jobs beside a list of tasks: after each call every count is what counting the tasks gives."""

import math
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from shim.domain.messages import EndingKind
from shim.domain.resources import Need
from shim.scheduling.global_master.core import JobBook
from shim.scheduling.global_master.events import JobRequest, TaskGroup
from shim.scheduling.snapshot import Column, RequestColumn, RequestTime
from tests.support.examples import examples

NEEDS = (Need((1, 2)), Need((3, 1)))
QUEUES = {"root.a": 0, "root.b": 1}
NAMES = ("j1", "j2")


@dataclass
class PlainLaunch:
    """A task that was launched."""

    job: "PlainJob"
    group: int
    index: int
    at_s: float
    is_confirmed: bool = False


@dataclass
class PlainJob:
    """A job: its request, tasks that wait by group, and seconds of those that ended."""

    request: JobRequest
    at_s: float
    waiting: list[list[int]]
    ran_s: list[float]
    withdrawn: int = 0
    is_withdrawn: bool = False

    @property
    def n_waiting(self):
        return sum(map(len, self.waiting))


class PlainBook:
    """What happens to each task, and nothing that is counted."""

    def __init__(self):
        self.jobs, self.launches, self.news = {}, {}, []

    def of(self, job):
        return {number: each for number, each in self.launches.items() if each.job is job}

    def drop_if_done(self, job):
        if not job.n_waiting and not self.of(job):
            del self.jobs[job.request.job]

    def add(self, request, at_s):
        groups = [list(group.indices) for group in request.groups if group.indices]
        if request.job not in self.jobs and groups:
            self.jobs[request.job] = PlainJob(request, at_s, groups, [])

    def place(self, name, group, number, at_s):
        job = self.jobs[name]
        self.launches[number] = PlainLaunch(job, group, job.waiting[group].pop(0), at_s)

    def confirm(self, number):
        if number in self.launches:
            self.launches[number].is_confirmed = True

    def put_back(self, number):
        launch = self.launches.pop(number, None)
        if launch is not None and launch.job.is_withdrawn:
            launch.job.withdrawn += 1
            self.drop_if_done(launch.job)
        elif launch is not None:
            launch.job.waiting[launch.group].insert(0, launch.index)

    def end(self, number, kind, ran_for_s):
        if kind is not EndingKind.FINISHED:
            self.put_back(number)
            return
        launch = self.launches.pop(number, None)
        if launch is not None:
            self.news += [] if launch.job.ran_s else [ran_for_s]
            launch.job.ran_s.append(ran_for_s)
            self.drop_if_done(launch.job)

    def withdraw(self, name):
        job = self.jobs.get(name)
        if job is not None:
            job.is_withdrawn = True
            job.waiting = [[] for _ in job.waiting]
            self.drop_if_done(job)


sizes = st.integers(0, 3)
steps = st.one_of(
    st.tuples(
        st.just("add"), st.sampled_from(NAMES), sizes, sizes, st.booleans(), st.sampled_from([*QUEUES, "", "root.x"])
    ),
    st.tuples(st.just("place"), st.sampled_from(NAMES), st.integers(0, 1)),
    st.tuples(st.just("place"), st.sampled_from(NAMES), st.integers(0, 1)),
    st.tuples(st.just("confirm"), st.integers(1, 4)),
    st.tuples(st.just("put_back"), st.integers(1, 4)),
    st.tuples(st.just("end"), st.integers(1, 4), st.sampled_from(EndingKind), st.sampled_from([0.5, 2.0, 8.0])),
    st.tuples(st.just("withdraw"), st.sampled_from(NAMES)),
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(steps, min_size=3, max_size=25))
def test_every_count_is_what_counting_the_tasks_gives(history):
    book, plain = JobBook(QUEUES), PlainBook()
    number = 0
    for now_s, (name, *arguments) in enumerate(history, start=10):
        if name == "add":
            job, slots, others, is_gang, queue = arguments
            groups = (
                TaskGroup(NEEDS[0], tuple(range(slots))),
                TaskGroup(NEEDS[1], tuple(range(slots, slots + others))),
            )
            request = JobRequest(job, groups, queue=queue, estimate_s=3.0, priority=4, is_gang=is_gang)
            added = book.add(request, float(now_s))
            plain.add(request, float(now_s))
            assert (added is None) == (job not in plain.jobs)
        elif name == "place":
            job, group = arguments
            known = book.jobs.get(job)
            if known is None or group >= len(known.groups) or not known.groups[group].waiting:
                continue
            number += 1
            placed = book.place(known, known.groups[group], ("la", 7), number, float(now_s))
            plain.place(job, group, number, float(now_s))
            assert (placed.index, placed.local_master, placed.node) == (plain.launches[number].index, "la", 7)
            assert book.table.get(Column.EXPECTED_UNTIL_S, known.row) == -math.inf or len(plain.of(plain.jobs[job])) > 1
        elif name == "withdraw":
            is_known = arguments[0] in plain.jobs
            assert (book.withdraw(*arguments) is not None) == is_known
            plain.withdraw(*arguments)
        else:
            launch = plain.launches.get(arguments[0])
            changes = launch is not None and not (name == "confirm" and launch.is_confirmed)
            assert (getattr(book, name)(*arguments) is not None) == changes
            getattr(plain, name)(*arguments)
        compare(book, plain)


def compare(book, plain):
    """Compare all that the book counts."""
    assert list(book.jobs) == list(plain.jobs)
    assert list(book.placed) == list(plain.launches)
    assert book.news == plain.news
    assert book.durations.observed == len(plain.news)
    assert {row: job.request.job for row, job in book.by_row.items()} == {j.row: n for n, j in book.jobs.items()}
    assert book.table.is_idle == (not any(job.n_waiting for job in plain.jobs.values()))
    wanted = {}
    for name, job in plain.jobs.items():
        compare_job(book, book.jobs[name], job, plain.of(job))
        for group, waiting in zip(book.jobs[name].groups, job.waiting, strict=True):
            wanted[group.need] = wanted.get(group.need, 0) + len(waiting)
    assert book.requests.wanted == {need: count for need, count in wanted.items() if count}
    held = {}
    for launch in plain.launches.values():
        queue, demand = launch.job.request.queue, book.jobs[launch.job.request.job].groups[launch.group].need.demand
        held[queue] = [one + other for one, other in zip(held.get(queue, [0, 0]), demand, strict=True)]
    held.pop("", None)
    assert {queue: amounts for queue, amounts in book.held.items() if any(amounts)} == held


def compare_job(book, job, plain, launches):
    """Compare what is counted of one job, in its fields, its row, and the rows of its groups."""
    assert [list(group.waiting) for group in job.groups] == plain.waiting
    assert (job.n_waiting, job.n_unfinished) == (plain.n_waiting, plain.n_waiting + len(launches))
    assert job.unconfirmed == sum(not each.is_confirmed for each in launches.values())
    is_gang = plain.request.is_gang
    confirmed = {number for number, each in launches.items() if each.is_confirmed}
    assert (None if job.held is None else set(job.held)) == (confirmed if is_gang else None)
    n_tasks = plain.n_waiting + len(launches) + len(plain.ran_s) + plain.withdrawn
    expected = {
        Column.TASKS: n_tasks,
        Column.WAITING: plain.n_waiting,
        Column.RUNNING: len(launches),
        Column.FINISHED: len(plain.ran_s),
        Column.FINISHED_S: sum(plain.ran_s),
        Column.FINISHED_LOG2: sum(map(math.log2, plain.ran_s)),
        Column.STARTED_S: sum(each.at_s for each in launches.values()),
        Column.ESTIMATE_S: 3.0,
        Column.ARRIVED_S: plain.at_s,
        Column.PRIORITY: 4.0,
        Column.QUEUE: QUEUES.get(plain.request.queue, -1),
    }
    assert {column: book.table.get(column, job.row) for column in expected} == expected
    assert (job.row in book.table.waiting_rows()) == bool(plain.n_waiting)
    requests = book.requests.requests()
    for group in job.groups:
        assert book.by_request[group.row] == (job, group)
        numbers = requests.numbers[:, group.row]
        assert numbers[RequestColumn.COUNT] == len(group.waiting)
        assert numbers[RequestColumn.JOB] == job.row
        assert numbers[RequestColumn.GANG] == (job.row + 1 if is_gang else 0)
        assert requests.times[RequestTime.SINCE_S, group.row] == plain.at_s
