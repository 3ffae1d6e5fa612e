import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.submission.core.completion import QueueWork, expected_completion

WORKS = st.lists(st.tuples(st.floats(1, 1e6), st.booleans()), max_size=12)


def test_in_a_fair_queue_a_giant_is_no_more_ahead_of_a_small_one_than_another_small_one():
    giant, small = QueueWork.of([(1e9, True)]), QueueWork.of([(10.0, True)])
    assert giant.ahead_of(10.0, is_fair=True) == small.ahead_of(10.0, is_fair=True) == 10.0


def test_by_arrival_all_of_it_is_ahead():
    assert QueueWork.of([(1000.0, True), (5.0, False)]).ahead_of(10.0, is_fair=False) == 1005.0


@given(WORKS, st.floats(1, 1e6))
def test_what_is_ahead_in_a_fair_queue_is_what_processor_sharing_does_before_it_ends(works, own):
    expected = sum(min(left, own) for left, _ in works)
    assert QueueWork.of(works).ahead_of(own, is_fair=True) == pytest.approx(expected)


@given(WORKS, st.floats(1, 1e6), st.booleans())
def test_one_more_counts_as_if_it_had_been_there(works, own, is_fair):
    grown = QueueWork.of(works)
    grown.ahead_of(own, is_fair=is_fair)
    grown.add(7.0)
    assert grown.ahead_of(own, is_fair=is_fair) == pytest.approx(
        QueueWork.of([*works, (7.0, False)]).ahead_of(own, is_fair=is_fair)
    )


def test_a_start_waits_for_the_first_to_end_by_arrival_and_for_the_smallest_in_a_fair_queue():
    work = QueueWork.of([(100.0, True), (10.0, True), (5.0, False)])
    assert work.until_ended(1, is_fair=False) == 100.0
    assert work.until_ended(1, is_fair=True) == 20.0  # both get as much until the small one ends
    assert work.until_ended(2, is_fair=True) == 110.0
    assert work.until_ended(4, is_fair=True) == 220.0  # two more of the kind
    assert work.until_ended(0, is_fair=True) == QueueWork().until_ended(3, is_fair=True) == 0.0


def test_what_is_free_and_wanted_by_nobody_is_had_at_once():
    work = QueueWork.of([(1e6, True)])
    told = {"is_fair": False, "power_mib": 100.0, "masters_ahead": 0}
    assert expected_completion(work, 100.0, free_mib=50.0, **told).total_s == 2.0
    assert expected_completion(work, 100.0, free_mib=0.0, **told).total_s == pytest.approx(10_001.0)


@given(WORKS, st.floats(1, 1e6), st.booleans(), st.floats(0, 100), st.integers(0, 4))
def test_the_parts_are_never_negative_and_never_less_than_its_own_work(works, own, is_fair, free, masters):
    found = expected_completion(
        QueueWork.of(works), own, is_fair=is_fair, power_mib=100.0, free_mib=free, masters_ahead=masters
    )
    assert min(found.start_s, found.ahead_s) >= 0.0
    assert found.total_s >= own / 100.0
