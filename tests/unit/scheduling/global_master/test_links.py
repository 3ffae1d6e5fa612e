"""What was asked back at a Local Master, and which word of it ends or changes that."""

import pytest

from shim.domain.messages import PreemptionRequest
from shim.domain.resources import Need
from shim.scheduling.global_master.links import LocalMasterLink


def asked_back(*pairs):
    """A link on which slots of the first of each pair were asked back for the second; the rank tells them apart."""
    wishes = [
        (PreemptionRequest(victim, Need((1,)), (0, 0, number)), taker) for number, (victim, taker) in enumerate(pairs)
    ]
    return LocalMasterLink(asked_back=wishes)


def standing(link):
    return [(wish.rank[2], wish.victim_queue, taker) for wish, taker in link.asked_back]


@pytest.mark.parametrize(
    ("queue", "left"),
    [
        ("greedy", [(1, "other", "poor"), (2, "greedy", "poor")]),
        ("other", [(0, "greedy", "poor"), (2, "greedy", "poor")]),
        ("unknown", [(0, "greedy", "poor"), (1, "other", "poor"), (2, "greedy", "poor")]),
    ],
)
def test_a_task_that_was_taken_back_answers_the_oldest_wish_for_its_queue(queue, left):
    link = asked_back(("greedy", "poor"), ("other", "poor"), ("greedy", "poor"))
    link.note_preempted(queue)
    assert standing(link) == left


@pytest.mark.parametrize(
    ("counts", "takers"),
    [
        ((0,), ["poor", "", "poor", "poor"]),
        ((1,), ["", "", "poor", "poor"]),
        ((2,), ["", "", "", "poor"]),
        ((1, 1), ["", "", "", "poor"]),
        ((3,), ["", "", "", ""]),
        ((9,), ["", "", "", ""]),
    ],
)
def test_each_offer_takes_the_place_of_the_oldest_wish_that_still_counts_for_its_taker(counts, takers):
    link = asked_back(("greedy", "poor"), ("greedy", ""), ("other", "poor"), ("greedy", "poor"))
    for count in counts:
        link.note_offers(count)
    assert standing(link) == [
        (number, victim, taker)
        for number, (victim, taker) in enumerate(zip(("greedy", "greedy", "other", "greedy"), takers, strict=True))
    ]
