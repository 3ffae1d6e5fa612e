import pytest

from shim.domain.messages import EndingKind
from shim.domain.resources import Need
from shim.scheduling.global_master.core import JobBook
from shim.scheduling.global_master.events import JobRequest, TaskGroup
from shim.scheduling.snapshot import Column, expect_durations

SLOT, GPU = Need((1,)), Need((1,), frozenset({"label:gpu"}))


def a_job(name="job", *, slots=3, gpus=1, is_gang=False):
    groups = (TaskGroup(SLOT, tuple(range(slots))), TaskGroup(GPU, tuple(range(slots, slots + gpus))))
    return JobRequest(name, groups, estimate_s=5.0, priority=2, is_gang=is_gang)


@pytest.fixture
def book():
    return JobBook()


def place(book, job, number, at_s=10.0, group=0):
    return book.place(job, job.groups[group], ("la", number), number, at_s)


def counts(book, job):
    columns = (Column.TASKS, Column.WAITING, Column.RUNNING, Column.FINISHED, Column.FINISHED_S, Column.STARTED_S)
    return tuple(book.table.get(column, job.row) for column in columns)


def test_a_job_counts_its_tasks_by_need(book):
    job = book.add(a_job(), 7.0)
    assert counts(book, job) == (4, 4, 0, 0, 0, 0)
    assert book.table.get(Column.ARRIVED_S, job.row) == 7.0
    assert book.requests.wanted == {SLOT: 3, GPU: 1}
    assert book.add(a_job(), 8.0) is job


def test_a_placed_task_runs_ends_and_teaches(book):
    job = book.add(a_job(), 0.0)
    placed = place(book, job, 1)
    assert (placed.index, placed.node) == (0, 1)
    assert counts(book, job) == (4, 3, 1, 0, 0, 10)
    assert book.confirm(1) is placed
    assert book.confirm(1) is None
    assert book.end(1, EndingKind.FINISHED, 5.0) is placed
    assert counts(book, job) == (4, 3, 0, 1, 5, 0)
    assert book.news == [5.0]
    assert book.end(1, EndingKind.FINISHED, 5.0) is None


def test_only_the_first_task_of_a_job_teaches(book):
    job = book.add(a_job(), 0.0)
    for number in (1, 2):
        place(book, job, number)
        book.end(number, EndingKind.FINISHED, float(number))
    assert book.news == [1.0]


def expected_s(book, job, now_s):
    expect_durations(book.table, book.durations, now_s)
    return book.table.get(Column.EXPECTED_S, job.row)


def test_what_is_expected_of_a_job_follows_its_first_launch_and_each_end(book):
    for duration_s in (1.0, 1000.0):
        book.durations.observe(duration_s)
    job = book.add(a_job(), 0.0)
    unknown_s = expected_s(book, job, 1.0)
    place(book, job, 1, at_s=2.0)
    place(book, job, 2, at_s=2.0)
    assert expected_s(book, job, 902.0) > unknown_s
    book.end(1, EndingKind.FINISHED, 901.0)
    book.end(2, EndingKind.FINISHED, 902.0)
    assert expected_s(book, job, 904.0) == pytest.approx(900.0, rel=0.3)


@pytest.mark.parametrize("kind", [EndingKind.PREEMPTED, EndingKind.LOST])
def test_a_task_that_was_taken_back_waits_again_before_the_others(book, kind):
    job = book.add(a_job(), 0.0)
    place(book, job, 1)
    book.end(1, kind, 5.0)
    assert counts(book, job) == (4, 4, 0, 0, 0, 0)
    assert list(job.groups[0].waiting) == [0, 1, 2]
    assert book.requests.wanted == {SLOT: 3, GPU: 1}


def test_a_job_is_forgotten_with_its_last_task(book):
    job = book.add(a_job(slots=1, gpus=0), 0.0)
    place(book, job, 1)
    assert book.table.is_idle
    assert not book.requests.wanted
    book.end(1, EndingKind.FINISHED, 1.0)
    assert book.jobs == {}
    assert book.by_row == {}


def test_a_withdrawn_job_asks_for_nothing_and_nothing_of_it_waits_again(book):
    job = book.add(a_job(), 0.0)
    place(book, job, 1)
    assert book.withdraw("job") is job
    assert book.table.is_idle
    book.put_back(1)
    assert book.jobs == {}
    assert book.withdraw("job") is None


def test_a_gang_counts_what_is_held(book):
    job = book.add(a_job(is_gang=True), 0.0)
    place(book, job, 1)
    place(book, job, 2)
    assert (job.unconfirmed, job.held) == (2, {})
    book.confirm(1)
    assert (job.unconfirmed, list(job.held)) == (1, [1])
    book.put_back(1)
    book.put_back(2)
    assert (job.unconfirmed, job.held) == (0, {})
