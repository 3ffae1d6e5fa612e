"""Expectations of work: of what recurs by its runs, of all else by its queue."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.queues.core.expected_work import NO_EXPECTATION, WorkHistory

WORKS = st.lists(st.floats(1.0, 1e12), min_size=1, max_size=30)


def test_of_a_queue_where_nothing_has_ended_nothing_is_expected():
    assert WorkHistory().expected("root.prod", "alice MAPREDUCE etl-#") == NO_EXPECTATION


def test_what_nobody_has_seen_is_expected_to_be_as_its_queue_is_in_the_mean():
    history = WorkHistory()
    for number, mib_s in enumerate((100.0, 300.0)):
        history.learn("root.prod", f"job {number}", mib_s)
    history.learn("root.dev", "job", 9_000.0)
    found = history.expected("root.prod", "another")
    assert (found.mib_s, found.runs, found.of_queue) == (200.0, 0, 2)


def test_each_further_run_of_a_job_counts_for_more_than_its_queue():
    history = WorkHistory()
    history.learn("root.prod", "giant", 100_000.0)
    expectations = []
    for _ in range(4):
        history.learn("root.prod", "small", 100.0)
        expectations.append(history.expected("root.prod", "small").mib_s)
    assert expectations == sorted(expectations, reverse=True)
    assert expectations[-1] < 0.1 * history.expected("root.prod", "unknown").mib_s * 4
    assert expectations[-1] < history.expected("root.prod", "unknown").mib_s < 100_000.0


def test_what_is_alike_but_for_numbers_counts_before_the_queue():
    history = WorkHistory()
    for name, mib_s in (("etl-1-#", 100.0), ("etl-2-#", 300.0), ("sort", 90_000.0)):
        history.learn("root.prod", f"alice SPARK {name}", mib_s)
    small, new, unknown = (history.expected("root.prod", f"alice SPARK {each}") for each in ("etl-1-#", "etl-3-#", "x"))
    assert 100.0 < small.mib_s < new.mib_s < unknown.mib_s
    assert (small.runs, new.runs, unknown.runs) == (1, 2, 0)


def test_the_newest_run_counts_half():
    history = WorkHistory()
    for mib_s in (100.0, 100.0, 100.0, 1_000.0):
        history.learn("root.prod", "job", mib_s)
    whole = 1_300.0 / 4
    assert history.expected("root.prod", "job").mib_s == pytest.approx((550.0 * 4 + whole * 0.5) / 4.5)


def test_what_never_ran_teaches_nothing():
    history = WorkHistory()
    history.learn("root.prod", "job", 0.0)
    assert history.expected("root.prod", "job") == NO_EXPECTATION


@given(WORKS)
def test_an_expectation_lies_between_the_least_and_the_most_that_was_seen(works):
    history = WorkHistory()
    for number, mib_s in enumerate(works):
        history.learn("root.prod", f"job {number % 3}", mib_s)
    for job in ("job 0", "unknown"):
        assert min(works) * 0.999 <= history.expected("root.prod", job).mib_s <= max(works) * 1.001


def test_memory_is_bounded_by_what_was_seen_last():
    history = WorkHistory()
    for number in range(20_000):
        history.learn(f"root.q{number}", "job", 1.0 + number)
    assert history.expected("root.q0", "job") == NO_EXPECTATION
    assert history.expected("root.q19999", "job").runs == 1


def test_an_expectation_says_what_it_rests_on():
    history = WorkHistory()
    history.learn("root.prod", "job", 2.0 * 1024 * 3600)
    assert history.expected("root.prod", "job").told() == "it is expected to take 2 GiB x h, by its last 1 runs"
    assert history.expected("root.prod", "new").told().endswith("by 1 applications of its queue")
