"""Samples of shares over time, from what the last look at queues found."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

import pytest

from shim.queues.core.entitle import QueueShareStatus
from shim.queues.share_history import EVERY_S, ShareHistory
from tests.doubles.clock import FakeClock

DAY = 24 * 60


def stand(path: str, used: float, entitlement: float) -> QueueShareStatus:
    return QueueShareStatus(path, entitlement, entitlement, used, used, used, 0, is_owed=False)


class Queues:
    """Stand as a test says."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.now: dict[str, QueueShareStatus] = {}
        self.history = ShareHistory(self.look, self.clock)

    def look(self) -> Mapping[str, QueueShareStatus]:
        return self.now

    def set(self, **queues: tuple[float, float]) -> None:
        self.now = {f"root.{name}": stand(f"root.{name}", *told) for name, told in queues.items()}

    def sample(self) -> None:
        self.history.sample()
        self.clock.wall_s += EVERY_S


@pytest.fixture
def queues() -> Queues:
    return Queues()


def test_nothing_is_kept_while_no_queue_has_a_share(queues: Queues) -> None:
    queues.sample()
    assert (queues.history.times_ms(), queues.history.largest(3)) == ([], [])


def test_used_and_entitled_are_told_at_each_sample_and_nothing_where_a_queue_was_not(queues: Queues) -> None:
    queues.set(a=(0.25, 0.5))
    queues.sample()
    queues.set(a=(0.5, 0.75), b=(0.1, 0.25))
    queues.sample()
    a, b = queues.history.of(["root.a", "root.b"])
    assert (a.used, a.entitlement) == ([0.25, 0.5], [0.5, 0.75])
    assert (b.used, b.entitlement) == ([None, 0.1], [None, 0.25])
    assert queues.history.largest(1) == ["root.a"]


def test_a_range_begins_with_its_first_moment(queues: Queues) -> None:
    queues.set(a=(0.0, 1.0))
    for _ in range(3):
        queues.sample()
    first, second, third = queues.history.times_ms()
    assert (second - first, third - second) == (60_000, 60_000)
    assert queues.history.times_ms(second) == [second, third]
    assert len(queues.history.of(["root.a"], second)[0].used) == 2


def test_a_day_is_kept_of_the_thousand_queues_that_are_entitled_to_most(queues: Queues) -> None:
    queues.set(**{f"q{number}": (0.0, number / 2000) for number in range(1002)})
    for _ in range(DAY + 5):
        queues.sample()
    assert len(queues.history.times_ms()) == DAY
    assert queues.history.of(["root.q1"], queues.history.times_ms()[-1])[0].used == [None]
    assert queues.history.of(["root.q2"], queues.history.times_ms()[-1])[0].used == [0.0]


async def test_a_sample_is_taken_every_minute(queues: Queues) -> None:
    queues.set(a=(0.5, 0.5))
    running = asyncio.create_task(queues.history.run())
    await queues.clock.advance(2 * EVERY_S + 1)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert len(queues.history.times_ms()) == 3
