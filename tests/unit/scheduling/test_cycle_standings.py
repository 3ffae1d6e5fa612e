import numpy as np
import pytest

from shim.domain.resources import Need
from shim.scheduling.cycle import HOLDS_ITS_SHARE, Standings, share_of
from shim.scheduling.policy import QueueOrder
from shim.scheduling.snapshot import Queues

SLOT = Need((1, 0))


def standings(*held, share=0.5, total=(3.0, 0.0)):
    queues = tuple(f"q{row}" for row in range(len(held)))
    held = np.array([[amount, 0.0] for amount in held])
    return Standings(Queues(queues, np.full(len(queues), share), held, total=np.array(total)))


def test_the_dominant_share_is_that_of_the_types_that_exist():
    assert share_of((1, 2), np.array([4.0, 4.0])) == 0.5
    assert share_of((1, 2), np.array([4.0, 0.0])) == 0.25


@pytest.mark.parametrize(("held", "is_owed", "exceeds"), [(0, True, False), (1, False, False), (2, False, False)])
def test_a_container_moves_only_where_it_brings_a_queue_nearer_to_its_share(held, is_owed, exceeds):
    """Of three slots each queue is entitled to one and a half: with one or two, one more or less is as far off."""
    assert standings(held).is_owed(0, SLOT) is is_owed
    assert standings(held).exceeds(0, SLOT) is exceeds
    assert standings(3).exceeds(0, SLOT)


def test_deficits_are_graded_where_the_order_says_so():
    two = standings(0, 1, total=(9.0, 0.0))
    assert two.deficit(1, SLOT, QueueOrder.OWED_FIRST) == 0.0
    assert two.deficit(0, SLOT, QueueOrder.MOST_OWED_FIRST) < two.deficit(1, SLOT, QueueOrder.MOST_OWED_FIRST) < 1.0
    assert two.deficit(-1, SLOT, QueueOrder.OWED_FIRST) == HOLDS_ITS_SHARE


def test_what_moves_is_counted_at_once():
    two = standings(3, 0)
    assert two.furthest_above() == 0
    two.move(SLOT, giver=0, taker=1)
    two.hold(1, SLOT, 2)
    assert two.furthest_above() == 1
