"""Debits and credits of altruism outlive the process that counted them, and count once."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.domain.credits import NO_CREDITS, Credits
from shim.domain.ids import ApplicationId
from shim.queues.credits import CreditBook, CreditKeeping
from shim.simulation.stores import InMemoryCreditStore
from tests.doubles.clock import FakeClock

ONE, TWO = ApplicationId(1, 1), ApplicationId(1, 2)
HOUR_S = 3600.0


class Federation:
    """Heddles that count, each with its book, over one store."""

    def __init__(self, masters: int = 1) -> None:
        self.clock, self.store, self.lives = FakeClock(1000.0), InMemoryCreditStore(), 0
        self.expected: dict[ApplicationId, float] = {}
        self.books: list[CreditBook] = []
        self.keepings: list[CreditKeeping] = []
        for number in range(masters):
            self.start(number)

    def start(self, number: int = 0) -> None:
        """Start a master, anew if it runs: what it did not write is gone with it."""
        self.lives += 1
        book = CreditBook(lambda life=self.lives: f"life{life}")  # type: ignore[misc]  # the value of now
        self.books[number : number + 1] = [book]
        self.keepings[number : number + 1] = [CreditKeeping(book, self.store, self.clock)]

    def count(self, number: int = 0, application: ApplicationId = ONE, given_s: float = 1.0) -> None:
        at_ms = int(self.clock.now_s() * 1000)
        self.books[number].add(application, "root.etl", "ada", Credits(given_s, 0.5, given_s * 100, 50.0), at_ms)
        self.expected[application] = self.expected.get(application, 0.0) + given_s

    def unwritten(self, number: int) -> dict[ApplicationId, float]:
        kept = self.store.rows
        return {
            row.application: row.credits.given_s
            - getattr(kept.get((row.application, row.part)), "credits", NO_CREDITS).given_s
            for row in self.books[number].due()
        }

    async def given_s(self, application: ApplicationId = ONE, number: int = 0) -> float:
        return sum((row.credits for row in await self.keepings[number].of(application)), start=NO_CREDITS).given_s


async def test_what_was_counted_is_told_before_it_is_written_and_after_a_restart():
    heddle = Federation()
    heddle.count()
    assert (await heddle.given_s(), heddle.store.writes) == (1.0, 0), "nobody waits for the store"
    await heddle.keepings[0].turn()
    heddle.start()
    heddle.count(given_s=2.0)
    assert await heddle.given_s() == 3.0
    await heddle.keepings[0].turn()
    assert heddle.keepings[0].totals()["root.etl"] == Credits(3.0, 1.0, 300.0, 100.0)
    assert [row.part for row in await heddle.keepings[0].of(ONE)] == ["life1.1", "life2.1"]


async def test_what_did_not_change_is_not_written_again():
    heddle = Federation()
    heddle.count()
    heddle.count(application=TWO)
    await heddle.keepings[0].turn()
    heddle.count(application=TWO)
    await heddle.keepings[0].turn()
    assert heddle.store.writes == 3
    heddle.books[0].add(ONE, "root.etl", "ada", NO_CREDITS, 1)
    assert not heddle.books[0].due(), "nothing was given"


@pytest.mark.parametrize("fault", ["is_away", "loses_answers"])
async def test_what_the_store_does_not_take_is_written_later_and_counts_once(fault):
    heddle = Federation()
    heddle.count()
    setattr(heddle.store, fault, True)
    await heddle.keepings[0].turn()
    heddle.count()
    setattr(heddle.store, fault, False)
    await heddle.keepings[0].turn()
    assert await heddle.given_s() == 2.0
    assert heddle.keepings[0].totals()["root.etl"].given_s == 2.0
    heddle.store.is_away = True
    assert await heddle.given_s() == 2.0, "what was counted here is told without the store"


async def test_sums_hold_what_other_masters_counted_and_do_not_fall_as_rows_are_forgotten():
    heddle = Federation(2)
    heddle.count(0)
    heddle.count(1, TWO, 5.0)
    for number in (1, 0):
        await heddle.keepings[number].turn()
    assert heddle.keepings[0].totals()["root.etl"].given_s == 6.0
    heddle.store.rows.clear()
    heddle.clock.wall_s += 61.0
    await heddle.keepings[0].turn()
    assert heddle.keepings[0].totals()["root.etl"].given_s == 6.0


async def test_sums_of_users_are_those_of_all_their_queues_and_all_masters():
    heddle = Federation(2)
    for number, queue, user in ((0, "root.etl", "ada"), (0, "root.web", "ada"), (1, "root.web", "bob")):
        heddle.books[number].add(ONE, queue, user, Credits(1.0, 0.0, 100.0, 0.0), 1)
    for number in (1, 0):
        await heddle.keepings[number].turn()
    assert {user: each.given_mib_s for user, each in heddle.keepings[0].totals("user").items()} == {
        "ada": 200.0,
        "bob": 100.0,
    }
    assert {queue: each.given_s for queue, each in heddle.keepings[0].totals().items()} == {
        "root.etl": 1.0,
        "root.web": 2.0,
    }


async def test_what_is_written_and_idle_leaves_the_book_and_what_comes_later_is_another_part():
    heddle = Federation()
    heddle.count()
    await heddle.keepings[0].turn()
    heddle.clock.wall_s += HOUR_S + 1
    heddle.count(application=TWO)
    await heddle.keepings[0].turn()
    assert not heddle.books[0].parts(ONE)
    heddle.count(given_s=2.0)
    await heddle.keepings[0].turn()
    assert await heddle.given_s() == 3.0


async def test_a_book_is_bounded_while_the_store_is_away_and_after():
    heddle = Federation()
    heddle.store.is_away = True
    for number in range(40_002):
        heddle.count(application=ApplicationId(1, number))
    assert len(heddle.books[0].due()) == 40_000
    assert not heddle.books[0].parts(ApplicationId(1, 1)), "the oldest is lost"
    heddle.store.is_away = False
    await heddle.keepings[0].turn()
    held = [bool(heddle.books[0].parts(ApplicationId(1, number))) for number in (20_001, 20_002, 40_001)]
    assert held == [False, True, True]


async def test_old_rows_are_forgotten_once_an_hour():
    heddle = Federation()
    heddle.count()
    await heddle.keepings[0].turn()
    heddle.clock.wall_s += 401 * 24 * HOUR_S
    await heddle.keepings[0].turn()
    assert not heddle.store.rows


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["count", "turn", "restart", "lose", "away", "well"]), st.integers(0, 1), st.integers(1, 3)
    ),
    max_size=40,
)


@settings(deadline=None)
@given(STEPS)
def test_no_order_of_writes_restarts_and_lost_answers_counts_a_second_twice(steps):
    async def run() -> None:
        heddle = Federation(2)
        for what, number, value in steps:
            heddle.clock.wall_s += 40.0 * value
            if what == "count":
                heddle.count(number, TWO if value > 1 else ONE, float(value))
            elif what == "turn":
                await heddle.keepings[number].turn()
            elif what == "restart":
                for application, lost_s in heddle.unwritten(number).items():
                    heddle.expected[application] -= lost_s
                heddle.start(number)
            else:
                heddle.store.loses_answers, heddle.store.is_away = what == "lose", what == "away"
        heddle.store.loses_answers = heddle.store.is_away = False
        heddle.clock.wall_s += 61.0
        for number in (0, 1, 0):
            await heddle.keepings[number].turn()
            heddle.clock.wall_s += 61.0
        for application, given_s in heddle.expected.items():
            assert await heddle.given_s(application) == pytest.approx(given_s)
        total = heddle.keepings[0].totals().get("root.etl", NO_CREDITS)
        assert total.given_s == pytest.approx(sum(heddle.expected.values()))
        assert total.given_mib_s == pytest.approx(100 * total.given_s)

    asyncio.run(run())
