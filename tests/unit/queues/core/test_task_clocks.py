"""Times of tasks from counts alone."""

from hypothesis import given
from hypothesis import strategies as st

from shim.domain.job_graphs import TaskCounts
from shim.queues.core.task_clocks import TaskClocks


def one(running, succeeded):
    return [TaskCounts(100, running, succeeded)]


def test_the_task_that_began_first_ends_first():
    clocks = TaskClocks()
    assert clocks.take(one(1, 0), 0.0) == []
    assert clocks.take(one(3, 0), 4.0) == []
    assert clocks.running(0) == (0.0, 4.0, 4.0)
    assert clocks.take(one(3, 2), 10.0) == [(0, 10.0), (0, 6.0)]
    assert clocks.running(0) == (4.0, 10.0, 10.0)


def test_a_task_between_two_counts_ran_no_longer_than_from_one_to_the_next():
    clocks = TaskClocks()
    clocks.take(one(0, 0), 5.0)
    assert clocks.take(one(0, 2), 7.0) == [(0, 2.0), (0, 2.0)]


def test_nothing_is_known_of_what_had_ended_before():
    assert TaskClocks().take(one(2, 40), 100.0) == []


def test_a_task_that_was_killed_begins_anew():
    clocks = TaskClocks()
    clocks.take(one(2, 0), 0.0)
    assert clocks.take(one(1, 0), 3.0) == []
    clocks.take(one(2, 0), 5.0)
    assert clocks.running(0) == (0.0, 5.0)


def test_a_count_without_bounds_teaches_a_bounded_number_of_times():
    clocks = TaskClocks()
    clocks.take(one(0, 0), 0.0)
    assert len(clocks.take(one(0, 2**31 - 1), 1.0)) == 64


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 20)), max_size=30))
def test_clocks_are_as_many_as_tasks_run_and_no_time_is_negative(told):
    clocks = TaskClocks()
    for at_s, (running, succeeded) in enumerate(told):
        assert all(0 < seconds <= at_s for _, seconds in clocks.take(one(running, succeeded), float(at_s)))
        assert len(clocks.running(0)) == running
        assert list(clocks.running(0)) == sorted(clocks.running(0))
