"""Marks of containers that were lent."""

from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from shim.domain.resources import ResourceVector
from shim.queues.core.lent import LentContainers, QueueJobHeld

GIVER, BORROWER = (ApplicationAttemptId(ApplicationId(1, number), 1) for number in (1, 2))
UNIT, TOTAL = ResourceVector(1024, 1), ResourceVector(8 * 1024, 8)
HALF = 0.5


def held(attempt, numbers, given=0.0, share=HALF):
    return QueueJobHeld(attempt, [(ContainerId(attempt, number), UNIT) for number in numbers], share, given)


def lent_after(*looks):
    """Numbers of the borrower's lent containers after looks at what it holds and what the other one gives."""
    marks = LentContainers()
    for at_s, (numbers, given_part) in enumerate(looks):
        marks.look([held(BORROWER, numbers), held(GIVER, [2, 3], given_part)], TOTAL, float(at_s))
    return [each.number for each in sorted(marks.since_s)]


OWN = [2, 3, 4, 5]
"""Its share: four of eight."""


def test_what_comes_beyond_the_share_while_another_gives_is_lent():
    assert lent_after((OWN, 0.25), ([*OWN, 6, 7], 0.25)) == [6, 7]


def test_no_more_is_lent_than_others_give():
    assert lent_after((OWN, 0.25), ([*OWN, 6, 7], 0.125)) == [7]
    assert lent_after((OWN, 0.0), ([*OWN, 6, 7], 0.0)) == []


def test_a_mark_stays_when_the_giver_wants_its_room_back_and_goes_with_its_container():
    assert lent_after((OWN, 0.25), ([*OWN, 6, 7], 0.25), ([*OWN, 6, 7], 0.0)) == [6, 7]
    assert lent_after((OWN, 0.25), ([*OWN, 6, 7], 0.25), ([*OWN, 7], 0.0)) == [7]


def test_what_is_within_the_share_is_its_own():
    assert lent_after(([], 0.25), (OWN, 0.25)) == []
    assert lent_after((OWN, 0.25), ([*OWN, 6], 0.25), ([3, 4, 5, 6, 7], 0.25)) == [6], "7 took the place of 2"


def test_what_was_there_before_the_first_look_is_ordinary():
    assert lent_after(([*OWN, 6, 7], 0.25)) == []


def test_a_job_does_not_lend_to_itself():
    marks = LentContainers()
    for numbers in (OWN, [*OWN, 6]):
        marks.look([held(BORROWER, numbers, given=0.5)], TOTAL, 0.0)
    assert marks.since_s == {}


def test_without_a_known_share_nothing_is_lent():
    marks = LentContainers()
    for numbers in (OWN, [*OWN, 6]):
        marks.look([held(BORROWER, numbers, share=0.0), held(GIVER, [], 0.5)], TOTAL, 0.0)
    assert marks.since_s == {}


@given(st.lists(st.tuples(st.sets(st.integers(2, 12), max_size=8), st.sampled_from([0.0, 0.125, 0.25])), max_size=12))
def test_what_was_not_lent_is_never_less_than_the_share_as_far_as_it_is_held(looks):
    marks = LentContainers()
    for at_s, (numbers, given_part) in enumerate(looks):
        before = set(marks.since_s)
        marks.look([held(BORROWER, sorted(numbers)), held(GIVER, [], given_part)], TOTAL, float(at_s))
        ordinary = {ContainerId(BORROWER, number) for number in numbers} - set(marks.since_s)
        new = set(marks.since_s) - before
        assert not new or len(ordinary) >= 4, "only what is beyond the share is marked"
        assert len(new) / 8 <= given_part + 1e-9
