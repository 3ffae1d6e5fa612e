"""What is remembered of acts of preemption has a bound, also while the store is away."""

from collections.abc import Sequence

from shim.domain.ids import ApplicationId
from shim.domain.preemption import PreemptionAct, PreemptionStage
from shim.errors import StoreUnavailableError
from shim.queues.preemption_log import PreemptionLog
from shim.simulation.stores import InMemoryActStore

APPLICATIONS, ACTS = 4096, 64


class ForgetfulStore(InMemoryActStore):
    """Counts what it is given at once, and keeps nothing."""

    given = 0

    async def add(self, acts: Sequence[PreemptionAct]) -> None:
        if self.is_away:
            raise StoreUnavailableError("away")
        self.given = len(acts)


def act(application: int, at_ms: int = 1) -> PreemptionAct:
    return PreemptionAct(at_ms, ApplicationId(1, application), "root.dev", PreemptionStage.RELEASED, "for root.prod")


async def test_the_application_that_was_touched_longest_ago_is_forgotten() -> None:
    log = PreemptionLog(ForgetfulStore())
    await log.note([act(number) for number in range(1, APPLICATIONS + 1)])
    await log.note([act(1, at_ms=2)])
    await log.note([act(APPLICATIONS + 1)])
    assert [len(await log.of(ApplicationId(1, number))) for number in (1, 2, 3, APPLICATIONS + 1)] == [2, 0, 1, 1]


async def test_of_one_application_the_newest_acts_stay() -> None:
    log = PreemptionLog(ForgetfulStore())
    await log.note([act(1, at_ms) for at_ms in range(ACTS + 5)])
    assert [each.at_ms for each in await log.of(ApplicationId(1, 1))] == list(range(5, ACTS + 5))


async def test_what_waits_for_a_store_that_is_away_has_a_bound() -> None:
    store = ForgetfulStore()
    log = PreemptionLog(store)
    store.is_away = True
    await log.note([act(1, at_ms) for at_ms in range(APPLICATIONS + 10)])
    store.is_away = False
    await log.note([])
    assert store.given == APPLICATIONS
    assert log.preempted("root.dev") == APPLICATIONS + 10, "all are counted"
