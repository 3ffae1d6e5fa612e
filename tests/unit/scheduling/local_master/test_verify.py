import pytest

from shim.domain.messages import InconsistencyKind, Launch, TaskRef
from shim.domain.resources import Need
from shim.errors import InvariantViolationError
from shim.scheduling.local_master.events import NodeSpec
from shim.scheduling.local_master.verify import Truth


def a_launch(number=1, node=0, demand=(2, 1), requires=(), queue="q"):
    return Launch(number, node, Need(demand, frozenset(requires)), TaskRef("job", number), queue)


@pytest.fixture
def truth():
    return Truth([NodeSpec((4, 2)), NodeSpec((4, 2), frozenset({"label:gpu"}))], ("ga", "gb"), 2)


@pytest.mark.parametrize(
    ("launch", "reason"),
    [
        (a_launch(), None),
        (a_launch(demand=(4, 2)), None),
        (a_launch(demand=(5, 1)), InconsistencyKind.INTERNAL),
        (a_launch(demand=(1, 3)), InconsistencyKind.INTERNAL),
        (a_launch(node=1, demand=(5, 1)), InconsistencyKind.EXTERNAL),
        (a_launch(node=1, requires=["label:gpu"]), None),
        (a_launch(node=0, requires=["label:gpu"]), InconsistencyKind.INTERNAL),
        (a_launch(node=7), InconsistencyKind.EXTERNAL),
    ],
)
def test_a_launch_is_refused_for_lack_of_room_of_a_property_or_of_the_node(truth, launch, reason):
    assert truth.reject_reason("ga", launch) is reason


def test_taking_and_releasing_leave_everything_as_it_was(truth):
    before = truth.free.copy()
    truth.take(("ga", 1), a_launch(), 3.0)
    assert truth.free_of(0) == (2, 1)
    assert truth.usage["q"] == [2, 1]
    assert truth.release(("ga", 1)).started_at_s == 3.0
    assert (truth.free == before).all()
    assert truth.release(("ga", 1)) is None
    truth.check([])


def test_a_node_without_anything_free_is_not_vacant(truth):
    assert truth.vacant == 0b11
    truth.take(("ga", 1), a_launch(demand=(4, 2)), 0.0)
    assert truth.vacant == 0b10
    truth.release(("ga", 1))
    assert truth.vacant == 0b11


def test_capacity_that_is_given_out_twice_is_noticed(truth):
    truth.take(("ga", 1), a_launch(), 0.0)
    truth.shift(0, (2, 1), +1)
    with pytest.raises(InvariantViolationError, match="node 0"):
        truth.check([])


def test_a_shrunk_node_owes_until_enough_has_ended(truth):
    truth.take(("ga", 1), a_launch(demand=(3, 1)), 0.0)
    truth.resize(0, NodeSpec((2, 2)))
    assert truth.free_of(0) == (-1, 1)
    assert truth.reject_reason("ga", a_launch(2, demand=(1, 1))) is InconsistencyKind.INTERNAL
    truth.release(("ga", 1))
    assert truth.free_of(0) == (2, 2)
