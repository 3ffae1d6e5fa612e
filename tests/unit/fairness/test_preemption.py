"""Choice of victims one rule at a time; what holds of every choice is in tests/property/test_fairness.py."""

import numpy as np
import pytest

from fairness.preemption import PreemptionProblem, choose_victims


def chosen(needed, sizes, *, lost=None, clusters=None, queues=None, may=None, used=None, kept=None):
    """Rows of the victims; of each resource there are 100, and one queue unless others are given."""
    count, width = len(sizes), len(needed)
    problem = PreemptionProblem(
        size=np.array(sizes, dtype=np.float64).reshape(count, width),
        queue=np.array(queues or [0] * count, dtype=np.int64),
        cluster=np.array(clusters or [0] * count, dtype=np.int64),
        lost_work=np.array(lost or [0.0] * count),
        may_preempt=np.array(may or [True] * count, dtype=np.bool_),
        used=np.array(used or [[90.0] * width]),
        entitlement=np.array(kept or [[0.0] * width]),
        capacity=np.full(width, 100.0),
    )
    found = choose_victims(problem, np.array(needed, dtype=np.float64))
    assert found.dtype == np.int64
    return found.tolist()


ONE = (1, 1)


@pytest.mark.parametrize("sizes", [[], [ONE], [(0, 0)]], ids=["nobody", "one", "an empty one"])
def test_nobody_goes_for_nothing(sizes):
    assert chosen((0, 0), sizes) == []


@pytest.mark.parametrize(("needed", "taken"), [((2, 2), [0, 1]), ((2, 0), [0, 1]), ((0, 2), [0, 1]), ((3, 1), [])])
def test_a_need_is_met_exactly_or_nobody_goes(needed, taken):
    assert chosen(needed, [ONE, ONE]) == taken


def test_an_empty_container_makes_no_room():
    assert chosen((1, 1), [(0, 0), ONE], lost=[0.0, 9.0]) == [1]
    assert chosen((1, 1), [(0, 0)]) == []


def test_who_may_not_be_taken_is_not():
    assert chosen((1, 1), [ONE, ONE], lost=[0.0, 9.0], may=[False, True]) == [1]
    assert chosen((2, 2), [ONE, ONE], may=[False, True]) == []


def test_one_cluster_gives_all_with_fewest_victims_then_least_lost_work_then_the_first():
    two, large = [ONE, ONE], [(2, 2)]
    assert chosen((2, 2), [*two, *large], lost=[1, 1, 9], clusters=[0, 0, 1]) == [2]
    assert chosen((2, 2), [*large, *large], lost=[5, 4], clusters=[0, 1]) == [1]
    assert chosen((2, 2), [*large, *large], clusters=[1, 0]) == [1]
    assert chosen((3, 3), [*two, *large], clusters=[0, 0, 1]) == [0, 2], "none has enough: several give"


def test_of_one_cluster_those_go_who_give_most_then_those_with_least_to_lose_then_the_first():
    assert chosen((3, 3), [ONE, (3, 3), ONE], lost=[0, 9, 0]) == [1]
    assert chosen((2, 2), [(2, 1), (1, 2), (2, 2)], lost=[0, 0, 9]) == [2], "of both resources together"
    assert chosen((1, 1), [ONE, ONE, ONE], lost=[3, 1, 2]) == [1]
    assert chosen((1, 1), [ONE, ONE]) == [0]


@pytest.mark.parametrize(("kept", "taken"), [((6, 6), [0, 1]), ((6, 0), [0, 1]), ((6.001, 0), []), ((0, 7), [])])
def test_a_queue_may_give_down_to_its_dominant_share_and_not_a_bit_more(kept, taken):
    assert chosen((2, 2), [ONE] * 3, used=((8.0, 8.0),), kept=(kept,)) == taken


def test_what_one_queue_may_not_give_another_does():
    given = {"queues": [0, 0, 1], "lost": [0, 0, 9], "used": ((5.0, 5.0), (5.0, 5.0))}
    assert chosen((2, 2), [ONE] * 3, kept=((4.0, 4.0), (4.0, 4.0)), **given) == [0, 2]
    assert chosen((3, 3), [ONE] * 3, kept=((4.0, 4.0), (4.0, 4.0)), **given) == []


def test_a_queue_that_holds_less_than_is_taken_holds_nothing_then():
    assert chosen((2, 2), [(2, 2)], used=((1.0, 1.0),)) == [0]
    assert chosen((2, 2), [(2, 2)], used=((1.0, 1.0),), kept=((0.5, 0.0),)) == []


def test_whom_the_rest_can_replace_is_spared():
    """The first gives most of what is missing, and then the others give all of it."""
    assert chosen((4, 4), [(3, 3), (4, 0), (0, 4)], lost=[9, 1, 1]) == [1, 2]
    assert chosen((4, 4), [(3, 3), (3, 0), (0, 4)], lost=[9, 1, 1]) == [0, 1, 2], "not if they give a bit less"


@pytest.mark.parametrize(("large", "taken"), [(1, True), (7, True), (8, False)])
def test_so_many_large_ones_may_be_left_where_small_ones_are_enough(large, taken):
    """Each large one alone leaves its queue too little to give for the rest; small ones fit exactly."""
    sizes = [(3, 3)] * large + [(2, 2)] * 2
    found = chosen((4, 4), sizes, used=((10.0, 10.0),), kept=((6.0, 6.0),))
    assert found == ([large, large + 1] if taken else [])


def test_of_superfluous_victims_those_with_more_to_lose_are_spared_first():
    sizes = [(5, 2, 3), (2, 5, 3), (0, 8, 1), (0, 8, 5), (8, 3, 0), (0, 3, 3)]
    assert chosen((9, 2, 7), sizes, lost=[0, 8, 7, 2, 8, 3]) == [0, 3, 4], "10 s are lost; others that would do lose 18"
