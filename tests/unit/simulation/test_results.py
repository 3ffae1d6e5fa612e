"""The ledger refuses the impossible, and what it measures is right."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.errors import InvariantViolationError
from shim.simulation.results import JobLedger, Summary, nearest_rank
from shim.simulation.traces import TraceJob, Workload

TWO_JOBS = Workload("two", (TraceJob(0, 1.0, (2.0, 3.0), 2.5), TraceJob(1, 2.0, (4.0,), 4.0)), cutoff_s=3.0)


def finished_ledger():
    ledger = JobLedger(TWO_JOBS, n_slots=2)
    ledger.start(0, 0, 1.0)
    ledger.start(0, 1, 1.0)
    ledger.end(0, 0, 3.0)
    ledger.start(1, 0, 3.0)
    ledger.end(0, 1, 4.0)
    ledger.end(1, 0, 7.0)
    return ledger


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50), st.integers(1, 100))
def test_a_percentile_is_the_smallest_value_that_reaches_its_part(values, percent):
    ordered = sorted(values)
    value = nearest_rank(ordered, percent)
    at_most = sum(other <= value for other in ordered)
    below = sum(other < value for other in ordered)
    assert at_most * 100 >= percent * len(ordered)
    assert below * 100 < percent * len(ordered)


def test_a_summary_of_nothing_has_no_numbers():
    summary = Summary.of([])
    assert summary.count == 0
    assert all(math.isnan(getattr(summary, name)) for name in ("mean", "p50", "p95", "p99", "max"))


def test_delay_is_completion_less_arrival_less_the_longest_task():
    outcome = finished_ledger().outcome("test")
    assert outcome.delays_s == (0.0, 1.0)
    assert outcome.responses_s == (3.0, 5.0)
    assert outcome.delay().mean == 0.5
    assert outcome.delay(short=True).max == 0.0
    assert outcome.delay(short=False).max == 1.0


def test_allocation_is_the_start_of_a_task_less_the_arrival_of_its_job():
    assert list(finished_ledger().outcome("test").allocation_s) == [0.0, 0.0, 1.0]


def test_utilisation_is_work_over_slots_and_span():
    outcome = finished_ledger().outcome("test")
    assert outcome.utilisation == pytest.approx((2.0 + 3.0 + 4.0) / (2 * 6.0))
    times_s, numbers = outcome.running
    assert list(zip(times_s, numbers, strict=True)) == [(1.0, 2), (3.0, 2), (4.0, 1), (7.0, 0)]


def test_the_end_of_each_job_is_told_once():
    told = []
    ledger = JobLedger(TWO_JOBS, 3, lambda: told.append("job"))
    assert ledger.start(0, 0, 1.0) == 2.0
    ledger.start(0, 1, 1.0)
    assert not ledger.end(0, 0, 3.0)
    assert ledger.end(0, 1, 4.0)
    assert told == ["job"]
    assert not ledger.is_done


@pytest.mark.parametrize(
    ("steps", "complaint"),
    [
        ([("start", 0, 0, 1.0), ("start", 0, 0, 2.0)], "twice"),
        ([("start", 1, 0, 1.5)], "before its arrival"),
        ([("start", 0, 0, 1.0), ("start", 0, 1, 1.0), ("start", 1, 0, 2.0)], "more than 2"),
        ([("end", 0, 0, 1.0)], "does not run"),
        ([("start", 0, 0, 1.0), ("end", 0, 0, 3.0), ("end", 0, 0, 3.0)], "does not run"),
        ([("start", 0, 0, 1.0), ("end", 0, 0, 3.0), ("start", 0, 0, 4.0)], "twice"),
    ],
)
def test_the_ledger_refuses_what_no_cluster_can_do(steps, complaint):
    ledger = JobLedger(TWO_JOBS, n_slots=2)
    *before, (verb, *arguments) = steps
    for step, *values in before:
        getattr(ledger, step)(*values)
    with pytest.raises(InvariantViolationError, match=complaint):
        getattr(ledger, verb)(*arguments)


def test_forgotten_tasks_are_a_violation_that_names_the_job():
    ledger = JobLedger(TWO_JOBS, n_slots=2)
    with pytest.raises(InvariantViolationError, match="2 of 2 jobs unfinished on two; the first one is job 0"):
        ledger.outcome("forgetful")
