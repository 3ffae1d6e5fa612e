"""How often what runs for ever in `shim.submission` looks at the store, by its usual intervals.

A failure ends none of it.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from shim.domain.ids import SubClusterId
from shim.domain.submissions import SubmissionProgress, SubmissionRecord
from shim.simulation.state_stores import InMemoryHistoryStore
from shim.submission.reconciliation import ReconciliationSettings
from tests.doubles.failing_stores import SwitchableStore
from tests.doubles.federation import ScriptedFederation, ScriptedHeddle
from tests.doubles.misbehaviours import IsNeverReached
from tests.doubles.settings import usual

EAST = SubClusterId("east")


class NotesItsReaders(SwitchableStore):
    """Keeps when it was asked for what, in seconds since `begins`."""

    def __init__(self) -> None:
        super().__init__()
        self.looks: list[tuple[str, float]] = []
        self.purged: list[tuple[int, int]] = []
        self.began_s = 0.0

    def begins(self) -> None:
        """Forget what was asked for until now."""
        self.looks, self.purged, self.began_s = [], [], self.now_s()

    def times(self, what: str) -> list[float]:
        """Seconds at which it was asked for something."""
        return [at_s for asked, at_s in self.looks if asked == what]

    def _note(self, what: str) -> None:
        self.looks.append((what, round(self.now_s() - self.began_s, 3)))

    async def intended(self) -> Sequence[SubmissionRecord]:
        """See `StateStore`."""
        self._note("intended")
        return await super().intended()

    async def unfinished(self, subcluster: SubClusterId) -> Sequence[SubmissionProgress]:
        """See `StateStore`."""
        self._note(f"unfinished {subcluster}")
        return await super().unfinished(subcluster)

    async def purge(self, *, final_before_ms: int, keep: int) -> int:
        """See `StateStore`."""
        self._note("purge")
        self.purged.append((final_before_ms, keep))
        return await super().purge(final_before_ms=final_before_ms, keep=keep)


class NotesLooksAtTheLineage(InMemoryHistoryStore):
    """Notes in its store when somebody asks for the lineage, which cannot be read where reads fail."""

    async def note_lineage(self) -> bool:
        """See `HistoryStore`."""
        assert isinstance(self.store, NotesItsReaders)
        await self.store.unfinished(SubClusterId("of the lineage"))
        return await super().note_lineage()


@pytest.fixture
def store() -> NotesItsReaders:
    return NotesItsReaders()


@pytest.fixture
def federation(store: NotesItsReaders) -> ScriptedFederation:
    made = ScriptedFederation(store=store)
    store.now_s = made.clock.now_s
    return made


@asynccontextmanager
async def running(work: Coroutine[Any, Any, None]) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def pass_time(federation: ScriptedFederation, heddle: ScriptedHeddle, duration_s: float) -> None:
    """Let time pass, with a poll at each of its seconds."""
    for _ in range(int(duration_s)):
        await federation.clock.advance(1.0)
        await heddle.poll()


async def pass_seven_seconds(federation: ScriptedFederation, store: NotesItsReaders) -> None:
    """Let time pass; reads fail from the third second to the fifth."""
    await federation.clock.advance(3.0)
    store.reads_fail = True
    await federation.clock.advance(2.0)
    store.reads_fail = False
    await federation.clock.advance(2.0)


async def test_reconciliation_looks_at_intents_each_second_at_the_rest_each_ten_and_purges_each_ten_minutes(
    federation: ScriptedFederation, store: NotesItsReaders
) -> None:
    heddle = await federation.start()
    store.begins()
    async with running(heddle.reconciliation.run()):
        await pass_time(federation, heddle, 1199)
    assert store.times("intended") == [float(second) for second in range(1200)]
    assert store.times("purge") == [0.0, 600.0]
    week_ms, began_ms, keep = 7 * 86_400_000, int(store.began_s * 1000), usual(ReconciliationSettings).records
    assert store.purged == [(began_ms - week_ms, keep), (began_ms + 600_000 - week_ms, keep)]
    for home in ("east", "west"):
        assert store.times(f"unfinished {home}") == [float(second) for second in range(0, 1200, 10)]


async def test_a_sweep_that_failed_is_tried_again_at_the_next_look(
    federation: ScriptedFederation, store: NotesItsReaders
) -> None:
    heddle = await federation.start()
    store.begins()
    async with running(heddle.reconciliation.run()) as task:
        await pass_time(federation, heddle, 9)
        store.reads_fail = True
        await pass_time(federation, heddle, 3)
        store.reads_fail = False
        await pass_time(federation, heddle, 11)
        assert not task.done()
    assert store.times("unfinished east") == [0.0, 10.0, 11.0, 12.0, 13.0, 23.0]


async def test_a_home_that_restarted_is_swept_at_once(federation: ScriptedFederation, store: NotesItsReaders) -> None:
    heddle = await federation.start()
    store.begins()
    async with running(heddle.reconciliation.run()):
        await pass_time(federation, heddle, 3)
        federation["east"].restart()
        await pass_time(federation, heddle, 4)
    assert store.times("unfinished west") == [0.0]
    assert store.times("unfinished east") == [0.0, 5.0], "heard of at 4, looked at a second later"


async def test_retirement_looks_at_what_hangs_on_the_dead_each_two_seconds_whatever_fails(
    federation: ScriptedFederation, store: NotesItsReaders
) -> None:
    heddle = await federation.start()
    federation["east"].behave(IsNeverReached())
    await heddle.retirement.retire(EAST, by="root")
    store.begins()
    async with running(heddle.retirement.run()) as task:
        await pass_seven_seconds(federation, store)
        assert not task.done()
    assert store.times("unfinished east") == [0.0, 2.0, 4.0, 6.0]
    assert store.times("unfinished west") == [], "that one is not retired"


async def test_the_look_for_a_restore_is_taken_each_two_seconds_whatever_fails(store: NotesItsReaders) -> None:
    federation = ScriptedFederation(store=store, history=NotesLooksAtTheLineage(store))
    store.now_s = federation.clock.now_s
    heddle = await federation.start()
    store.begins()
    async with running(heddle.lost_time.run()) as task:
        await pass_seven_seconds(federation, store)
        assert not task.done()
    assert store.times("unfinished of the lineage") == [0.0, 2.0, 4.0, 6.0]
