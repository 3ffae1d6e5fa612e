"""Decisions on asks: written behind, a few at a time, told by the next Heddle."""

from collections.abc import Mapping, Sequence

from structlog.testing import capture_logs

from shim.domain.ids import ApplicationId
from shim.multicluster.ask_log import AskLog
from shim.simulation.stores import InMemoryAskStore
from tests.doubles.clock import FakeClock

IDS = [ApplicationId(1, number) for number in range(40)]


class Matching:
    """Implements what the log needs of `AttemptMatching`."""

    def __init__(self) -> None:
        self.counts: dict[ApplicationId, int] = {}

    def decided(self) -> Mapping[ApplicationId, int]:
        return self.counts

    def decisions(self, application: ApplicationId) -> Sequence[int]:
        count = self.counts.get(application, 0)
        return (count,) if count else ()


def a_log(matching: Matching, store: InMemoryAskStore) -> AskLog:
    def shown(decisions: Sequence[object]) -> list[dict[str, object]]:
        return [{"decision": each} for each in decisions]

    return AskLog(matching, store, FakeClock(), shown)  # type: ignore[arg-type]  # as far as it is needed


async def test_the_next_heddle_tells_what_was_decided():
    matching, store = Matching(), InMemoryAskStore()
    matching.counts[IDS[0]] = 3
    log = a_log(matching, store)
    assert await log.of(IDS[0]) == [{"decision": 3}], "at once, before anything is written"
    await log.write()
    heir = a_log(Matching(), store)
    assert await heir.of(IDS[0]) == [{"decision": 3}]
    assert await heir.of(IDS[1]) == ()


async def test_only_what_is_new_is_written_and_not_all_at_once():
    matching, store = Matching(), InMemoryAskStore()
    matching.counts |= dict.fromkeys(IDS, 1)
    log = a_log(matching, store)
    assert [await log.write() for _ in range(4)] == [True, True, False, False]
    assert store.writes == 3
    matching.counts[IDS[5]] = 2
    await log.write()
    assert store.writes == 4
    assert await a_log(Matching(), store).of(IDS[5]) == [{"decision": 2}]


async def test_one_that_decides_all_the_time_does_not_keep_others_from_being_written():
    matching, store = Matching(), InMemoryAskStore()
    matching.counts |= dict.fromkeys(IDS, 1)
    log = a_log(matching, store)
    for _ in range(3):
        await log.write()
        matching.counts |= {each: matching.counts[each] + 1 for each in IDS[:20]}
    assert await a_log(Matching(), store).of(IDS[39]) == [{"decision": 1}]


async def test_a_store_that_is_away_costs_nothing_but_a_warning():
    matching, store = Matching(), InMemoryAskStore()
    matching.counts[IDS[0]] = 1
    log = a_log(matching, store)
    store.is_away = True
    with capture_logs() as lines:
        assert not await log.write()
        assert await a_log(Matching(), store).of(IDS[0]) == ()
    assert [line["log_level"] for line in lines] == ["warning", "warning"]
    store.is_away = False
    await log.close()
    assert await a_log(Matching(), store).of(IDS[0]) == [{"decision": 1}]
