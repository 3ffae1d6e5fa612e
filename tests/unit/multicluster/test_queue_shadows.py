"""Policies in the shadow of cycles: compared on the same snapshot, never carried out, never more than their time."""

from random import Random

import pytest

from shim.domain.allocations import PendingRequest
from shim.multicluster.queue_cycles import CycleSettings, QueueCycles
from shim.scheduling.shadow_report import DifferenceKind
from tests.doubles.settings import usual
from tests.unit.multicluster.test_queue_cycles import CAPACITIES, EAST, KEY, QUEUE, WEST, Queue


class ShadowedQueue(Queue):
    """A queue with a policy in its shadow."""

    def __init__(self, order="fifo", shadow="fewest-tasks"):
        super().__init__(order)
        self.shadow = shadow
        self.cycles = QueueCycles(
            self.launches,
            lambda _: self.order,
            self.view,
            self.clock,
            Random(0),  # noqa: S311 - a test
            usual(CycleSettings, cycle_s=0.25),
            shadow_of=lambda _: self.shadow,
        )

    @property
    def told(self):
        return self.cycles.shadows.reports.get(QUEUE)


class SlowClock:
    """A clock by which each look at it takes a while.

    Attributes:
        a_look_s: How long.
    """

    def __init__(self, clock, a_look_s):
        self.a_look_s = a_look_s
        self._clock = clock
        self._looked_s = 0.0

    def now_s(self):
        return self._clock.now_s()

    def monotonic_s(self):
        self._looked_s += self.a_look_s
        return self._clock.monotonic_s() + self._looked_s

    async def sleep(self, duration_s):
        await self._clock.sleep(duration_s)


def large_and_small(queue):
    """The older of two wants three, the younger one; then two come free."""
    large, small = queue.enters(1), queue.enters(2)
    queue.report(east=0, west=0)
    large.split(PendingRequest(KEY, 3), CAPACITIES)
    small.split(PendingRequest(KEY, 1), CAPACITIES)
    queue.cycles.cycle(QUEUE)
    queue.report(east=1, west=0)
    queue.cycles.cycle(QUEUE)
    return large, small


def test_what_the_other_policy_would_do_is_told_and_not_done():
    queue = ShadowedQueue()
    large, small = large_and_small(queue)
    assert large.split(PendingRequest(KEY, 3), CAPACITIES)[EAST] >= 1
    assert small.split(PendingRequest(KEY, 1), CAPACITIES) == {}
    assert (queue.told.in_force, queue.told.shadow, queue.told.cycles) == ("fifo", "fewest-tasks", 2)
    assert queue.told.counts == {DifferenceKind.HELD: 1, DifferenceKind.GRANTED: 1, DifferenceKind.ORDER: 1}
    granted = next(each for each in queue.told.newest if each.kind is DifferenceKind.GRANTED)
    assert (granted.in_force, granted.shadow) == ({}, {EAST: 1})
    assert granted.in_force_why.startswith("behind application_")


def test_a_queue_without_a_shadow_or_with_its_own_policy_in_it_has_no_report():
    for shadow in ("none", "fifo", "no policy"):
        queue = ShadowedQueue(shadow=shadow)
        large_and_small(queue)
        assert queue.cycles.shadows.reports == {}


def test_another_pair_of_policies_begins_anew_and_none_is_forgotten():
    queue = ShadowedQueue()
    large_and_small(queue)
    for order, shadow in (("fair", "fewest-tasks"), ("fair", "tetris")):
        queue.order, queue.shadow = order, shadow
        queue.report(east=0, west=0)
        queue.cycles.cycle(QUEUE)
        assert (queue.told.in_force, queue.told.shadow, queue.told.cycles) == (order, shadow, 1)
    queue.shadow = "none"
    assert queue.told is None


@pytest.mark.parametrize("shadow", ["delay", "tetris", "jockey", "quincy", "tetrisched", "learnt-work", "drf"])
def test_every_policy_may_be_in_the_shadow(shadow):
    queue = ShadowedQueue(shadow=shadow)
    _, small = large_and_small(queue)
    assert queue.told.cycles == 2
    assert small.split(PendingRequest(KEY, 1), CAPACITIES) == {}


def test_after_a_plan_that_took_long_there_is_none_for_nine_times_as_long():
    queue = ShadowedQueue()
    queue.report(east=0, west=0)
    clock = SlowClock(queue.clock, 0.0)
    rng = Random(0)  # noqa: S311 - a test
    queue.cycles = QueueCycles(
        queue.launches,
        lambda _: "fifo",
        queue.view,
        clock,
        rng,
        usual(CycleSettings),
        shadow_of=lambda _: "fewest-tasks",
    )
    queue.enters(1).split(PendingRequest(KEY, 3), CAPACITIES)
    clock.a_look_s = 1.0
    queue.cycles.cycle(QUEUE)
    clock.a_look_s = 0.0
    for _ in range(3):
        queue.cycles.cycle(QUEUE)
    assert (queue.told.cycles, queue.told.skipped) == (1, 3)
    clock.a_look_s = 9.1
    queue.cycles.cycle(QUEUE)
    assert (queue.told.cycles, queue.told.skipped) == (2, 3)


def test_a_policy_in_the_shadow_lets_no_cycle_run_earlier():
    queue = ShadowedQueue(shadow="delay")
    splitter = queue.enters(1)
    queue.report(east=0, west=4)
    splitter.split(PendingRequest(KEY, 1, named={"east-0": 1}), CAPACITIES)
    before = queue.cycles.cycles
    queue.cycles.cycle(QUEUE)
    assert queue.cycles.cycles == before + 1
    assert splitter.split(PendingRequest(KEY, 1, named={"east-0": 1}), CAPACITIES) in ({WEST: 1}, {EAST: 1})
