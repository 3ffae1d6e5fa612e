"""Free slots: each is given out once, to tasks that it serves."""

from hypothesis import given
from hypothesis import strategies as st

from shim.simulation.free_workers import FreeWorkers


def test_without_constraints_each_slot_is_given_out_once():
    free = FreeWorkers(range(3), (), slots_per_worker=2)
    assert sorted(free.take() for _ in range(6)) == [0, 0, 1, 1, 2, 2]
    assert free.take() is None
    free.give_back(1)
    assert free.take() == 1


@given(st.lists(st.integers(0, 15), min_size=1, max_size=12), st.lists(st.integers(0, 15), max_size=20))
def test_with_constraints_the_least_capable_fitting_worker_is_taken(bits, asked):
    free = FreeWorkers(range(len(bits)), bits)
    left = set(range(len(bits)))
    for wanted in asked:
        worker = free.take(wanted)
        able = [other for other in left if bits[other] & wanted == wanted]
        assert worker == min(able, key=lambda other: (bits[other].bit_count(), other), default=None)
        left.discard(worker)


def test_only_the_named_workers_are_free():
    free = FreeWorkers(range(1, 2), (1, 1, 1))
    assert (free.take(1), free.take(1)) == (1, None)
    free.give_back(1)
    assert free.take(0) == 1
