"""Preemption over several Heddles' lives: what one began the next goes on with, and takes no more than both may."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from shim.domain.allocations import Grant
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.preemption import PreemptionSettings, PreemptionStage
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.resources import ResourceVector
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.multicluster.core import (
    AttemptHoldings,
    DemandCap,
    PreemptionCancelled,
    PreemptionRequested,
    Recall,
    ReleaseOrder,
)
from shim.multicluster.core.containers import Container, ContainerState
from shim.multicluster.service import MultiClusterAttempt
from shim.ports.attempt_calls import Attempt
from shim.queues.admission import AdmissionQueue
from shim.queues.core.entitle import ShareSettings
from shim.queues.core.lent_recalls import LenderNeed
from shim.queues.preemption import PreemptionService, PreemptionWorld
from shim.queues.preemption_log import PreemptionLog
from shim.simulation.state_stores import InMemoryStateStore
from shim.simulation.stores import InMemoryActStore
from shim.telemetry.application_life import LifeEvent, listen
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_node_report, a_queue_report, a_report
from tests.doubles.settings import usual

EAST = SubClusterId("east")
UNIT = ResourceVector(1024, 1)
FULL = ResourceVector(8192, 8)
DEV, LENDER = (ApplicationAttemptId(ApplicationId(1_700_000_000_000, number), 1) for number in (1, 2))
BUDGET = 3
POLICY = SharePolicy(
    (
        FederatedQueue("root.prod", weight=3),
        FederatedQueue("root.dev", weight=1, preemptable=True, preempted_per_minute=BUDGET),
    ),
    version=1,
)
PATIENCE = PreemptionSettings(preempt_after_s=2, preempt_grace_s=8, settle_s=2)
NOTHING = ResourceVector()


@dataclass
class Borrower:
    """`MultiClusterAttempt` as preemption sees it: it holds all containers of a cluster and wants more."""

    attempt: Attempt = field(default_factory=lambda: Attempt(DEV, EAST, "root.dev", "ada"))
    held: list[int] = field(default_factory=lambda: list(range(2, 9)))
    told: list[Recall] = field(default_factory=list)
    is_known: bool = True
    is_deaf: bool = False
    withheld: ResourceVector = NOTHING

    @property
    def holdings(self) -> AttemptHoldings:
        containers = (
            Container(ContainerId(DEV, number), EAST, ContainerState.GIVEN, None, self._grant(number))
            for number in self.held
        )
        return AttemptHoldings(tuple(containers) if self.is_known else (), UNIT, self.withheld, frozenset({EAST}))

    def tell(self, event: Recall) -> None:
        if self.is_deaf:
            return
        self.told.append(event)
        if isinstance(event, ReleaseOrder):
            self.held = [number for number in self.held if ContainerId(DEV, number) not in event.containers]

    def heard(self, kind: type[Recall]) -> list[int]:
        """Numbers of the containers that it was told of in such words."""
        return [name.number for each in self.told if isinstance(each, kind) for name in each.containers]  # type: ignore[attr-defined]

    @staticmethod
    def _grant(number: int) -> Grant:
        return Grant(ContainerId(DEV, number), NodeId("n1", 1), 1, -1, UNIT)


class Federation:
    """A cluster of eight containers that `dev` has and of which `prod` wants six; Heddles come and go."""

    def __init__(self) -> None:
        self.clock = FakeClock(1000.0)
        self.view = FederationView((EAST,), usual(ViewSettings, late_after_s=5.0))
        self.store = InMemoryActStore()
        self.borrower = Borrower()
        self.lender = Borrower(Attempt(LENDER, EAST, "root.dev", "bob"), held=[])
        self.policy = POLICY
        self.lent: list[ContainerId] = []
        self.needs: list[LenderNeed] = []
        self.shares: dict[ApplicationAttemptId, ResourceVector] = {}
        self.sequence = 0
        self.spans = [self.borrower, self.lender]
        self.start()

    def start(self) -> None:
        """A Heddle whose predecessor, if there was one, was killed."""
        self.log = PreemptionLog(self.store)
        self.room = AdmissionQueue(
            policy=lambda: self.policy,
            view=self.view,
            admissions={},
            store=InMemoryStateStore(self.clock.now_s),
            clock=self.clock,
            groups_of=lambda _: frozenset(),
            settings=usual(ShareSettings),
        )
        self.world = PreemptionWorld(
            lambda: self.policy,
            self.view,
            self.room,
            self.log,
            self.clock,
            1.0,
            lent=lambda: self.lent,
            needs=lambda: self.needs,
            shares=lambda: self.shares,
        )
        self.borrower.told.clear()
        self.service = PreemptionService(self.world, lambda: self.spans, PATIENCE)  # type: ignore[arg-type, return-value]

    async def lives(self, seconds: int) -> None:
        for _ in range(seconds):
            await self.clock.advance(1.0)
            self.sequence += 1
            used = ResourceVector(1024 * (1 + len(self.borrower.held)), 1 + len(self.borrower.held))
            queues = (
                a_queue_report("root.prod", pending=ResourceVector(6144, 6), pending_containers=6),
                a_queue_report("root.dev", used=used, pending=UNIT, pending_containers=1),
            )
            node = replace(a_node_report(), used=used)
            at_s = self.clock.now_s()
            self.view.apply(a_report("east", self.sequence, polled_at_s=at_s, queues=queues, used=used, nodes=(node,)))
            await self.service.round()

    async def done(self) -> list[PreemptionStage]:
        return [act.stage for act in await self.log.of(DEV.application) if act.stage is not None]


@pytest.fixture
def federation() -> Federation:
    return Federation()


async def test_stages_go_on_where_they_were_and_the_deadline_stays(federation: Federation) -> None:
    await federation.lives(4)
    asked = federation.borrower.heard(PreemptionRequested)
    assert len(asked) == BUDGET
    federation.start()
    await federation.lives(1)
    assert federation.borrower.heard(PreemptionRequested) == asked, "its new ledger has to tell its master"
    assert any(isinstance(each, DemandCap) for each in federation.borrower.told)
    done = await federation.done()
    assert Counter(done) == {PreemptionStage.HELD_BACK: 1, PreemptionStage.ASKED: BUDGET}, "nothing twice"
    await federation.lives(6)
    assert federation.borrower.heard(ReleaseOrder) == asked, "8 s after they were asked back, in either life"
    assert federation.log.preempted("root.dev") == BUDGET


async def test_each_act_is_written_down_and_told_with_its_time_and_place(federation: Federation) -> None:
    heard: list[tuple[LifeEvent, ApplicationId, Mapping[str, object]]] = []
    end = listen(lambda event, application, facts: heard.append((event, application, facts)))
    try:
        await federation.lives(4)
    finally:
        end()
    acts = list(await federation.log.of(DEV.application))
    start_ms = int(federation.clock.now_s()) * 1000 - 4000
    (held_back, *asked) = ((act.at_ms - start_ms, act.stage, act.subcluster, act.taker) for act in acts)
    assert held_back == (1000, PreemptionStage.HELD_BACK, None, "")
    assert asked == [(3000, PreemptionStage.ASKED, EAST, "root.prod")] * BUDGET
    containers = ["", *(str(ContainerId(DEV, number)) for number in federation.borrower.heard(PreemptionRequested))]
    told = [
        (event, facts["queue"], facts["done"], facts["container"])
        for event, whose, facts in heard
        if whose == DEV.application
    ]
    assert told == [
        (LifeEvent.PREEMPTED, "root.dev", act.done, container) for act, container in zip(acts, containers, strict=True)
    ]


async def test_it_looks_once_in_each_interval_until_it_is_cancelled(federation: Federation) -> None:
    looks: list[float] = []

    def no_spans() -> list[MultiClusterAttempt]:
        looks.append(federation.clock.now_s())
        return []

    service = PreemptionService(federation.world, no_spans, PATIENCE)
    task, start_s = asyncio.create_task(service.run()), federation.clock.now_s()
    await federation.clock.advance(2.5)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert sorted(set(looks)) == [start_s, start_s + 1, start_s + 2]


async def test_what_attempts_want_and_nobody_is_asked_for_counts_as_pending_of_their_queue(
    federation: Federation,
) -> None:
    federation.borrower.withheld, federation.lender.withheld = UNIT.times(2), UNIT.times(5)
    assert federation.room.load().queues["root.dev"].pending == UNIT.times(7)


async def test_what_others_did_while_an_application_was_away_is_read_when_it_is_back(federation: Federation) -> None:
    await federation.lives(4)
    asked = federation.borrower.heard(PreemptionRequested)
    federation.spans = [federation.lender]
    await federation.lives(3)
    federation.spans = [federation.lender, federation.borrower]
    federation.borrower.told.clear()
    await federation.lives(1)
    assert federation.borrower.heard(PreemptionRequested) == asked * 2, "as it was, and then they are demanded"


async def test_containers_of_an_earlier_attempt_are_asked_back_of_the_applications_attempt_of_now(
    federation: Federation,
) -> None:
    second = ApplicationAttemptId(DEV.application, 2)
    federation.borrower.attempt = Attempt(second, EAST, "root.dev", "ada")
    federation.spans = [federation.lender, federation.borrower]
    await federation.lives(4)
    assert len(federation.borrower.heard(PreemptionRequested)) == BUDGET
    assert federation.lender.heard(PreemptionRequested) == []


async def test_where_nothing_may_be_taken_nothing_is_looked_at_until_what_was_begun_has_ended(
    federation: Federation,
) -> None:
    federation.policy = SharePolicy(
        (FederatedQueue("root.prod", weight=3), FederatedQueue("root.dev", weight=1)), version=2
    )
    await federation.lives(4)
    assert (federation.borrower.told, await federation.done()) == ([], [])
    federation.policy = replace(POLICY, version=3)
    await federation.lives(4)
    federation.policy = replace(federation.policy, version=4, queues=(FederatedQueue("root.dev", weight=1),))
    await federation.lives(1)
    assert len(federation.borrower.heard(PreemptionCancelled)) == BUDGET


async def test_a_restart_doubles_no_budget(federation: Federation) -> None:
    await federation.lives(12)
    assert (await federation.done()).count(PreemptionStage.RELEASED) == BUDGET
    federation.start()
    await federation.lives(45)
    assert (await federation.done()).count(PreemptionStage.ASKED) == BUDGET
    await federation.lives(15)
    assert (await federation.done()).count(PreemptionStage.ASKED) > BUDGET, "the minute is over"


async def test_what_was_written_down_and_not_done_is_done_by_the_next_heddle(federation: Federation) -> None:
    await federation.lives(10)
    federation.borrower.is_deaf = True  # as if Heddle died before it carried out anything
    await federation.lives(1)
    federation.borrower.is_deaf = False
    assert (await federation.done()).count(PreemptionStage.RELEASED) == BUDGET
    assert len(federation.borrower.held) == 7
    federation.start()
    await federation.lives(1)
    assert len(federation.borrower.held) == 7 - BUDGET


async def test_counts_and_reasons_are_told_on_and_of_those_that_are_gone_too(federation: Federation) -> None:
    await federation.lives(12)
    acts = list(await federation.log.of(DEV.application))
    federation.start()
    assert list(await federation.log.of(DEV.application)) == acts, "whether or not its master is back"
    assert await federation.log.begin()
    assert federation.log.preempted("root.dev") == BUDGET
    assert list(await federation.log.of(ApplicationId(1, 99))) == []


async def test_nothing_is_begun_while_nobody_can_tell_what_was_begun_before(federation: Federation) -> None:
    federation.store.is_away = True
    await federation.lives(20)
    assert federation.borrower.told == []
    federation.store.is_away = False
    await federation.lives(4)
    assert len(federation.borrower.heard(PreemptionRequested)) == BUDGET


async def test_acts_that_the_store_did_not_take_are_kept_when_it_is_back(federation: Federation) -> None:
    await federation.lives(2)
    federation.store.is_away = True
    await federation.lives(3)
    assert len(federation.borrower.heard(PreemptionRequested)) == BUDGET, "what is known is acted on"
    federation.store.is_away = False
    await federation.lives(1)
    assert (await federation.store.counts())["root.dev", PreemptionStage.ASKED] == BUDGET


async def test_what_is_not_seen_for_a_minute_is_on_its_way_no_more(federation: Federation) -> None:
    await federation.lives(4)
    federation.borrower.is_known = False
    federation.start()
    await federation.lives(61)
    federation.borrower.is_known = True
    await federation.lives(1)
    assert federation.borrower.heard(PreemptionCancelled) == []
    assert len(federation.borrower.heard(PreemptionRequested)) == BUDGET, "asked back anew, as there is a budget again"


def lent_and_needed(federation: Federation, *numbers: int) -> None:
    """Of the borrower's containers some were lent by a job of its queue, which needs as many."""
    federation.lent = [ContainerId(DEV, number) for number in numbers]
    federation.needs = [LenderNeed(LENDER, "root.dev", UNIT, len(numbers))]


async def test_what_a_job_was_lent_by_another_of_its_queue_goes_back_at_once_and_within_the_budget(
    federation: Federation,
) -> None:
    lent_and_needed(federation, 4, 5)
    await federation.lives(1)
    assert sorted(federation.borrower.heard(PreemptionRequested)) == [4, 5]
    assert {act.taker for act in await federation.log.of(DEV.application) if act.container} == {str(LENDER.application)}
    await federation.lives(9)
    assert (await federation.done()).count(PreemptionStage.ASKED) == BUDGET, "another queue has the rest of the budget"
    assert {4, 5} <= set(federation.borrower.heard(ReleaseOrder))
    assert set(federation.borrower.held).isdisjoint({4, 5})


async def test_what_goes_back_to_a_lender_is_spared_where_the_next_heddle_knows_none(
    federation: Federation,
) -> None:
    lent_and_needed(federation, 4)
    await federation.lives(1)
    federation.lent, federation.needs = [], []
    federation.start()
    await federation.lives(2)
    assert federation.borrower.heard(PreemptionCancelled) == [4]
    assert 4 in federation.borrower.held


async def test_a_borrower_asks_for_nothing_while_its_lender_waits(federation: Federation) -> None:
    federation.policy = SharePolicy((FederatedQueue("root.dev", weight=1, preemptable=True),), version=2)
    lent_and_needed(federation, 4)
    federation.shares = {DEV: UNIT.times(4), LENDER: UNIT.times(4)}
    await federation.lives(1)
    assert [each.amount for each in federation.borrower.told if isinstance(each, DemandCap)] == [NOTHING]
    assert federation.lender.heard(PreemptionRequested) == []
    federation.needs = []
    await federation.lives(1)
    assert [each for each in federation.borrower.told if isinstance(each, DemandCap)][1:] == [DemandCap(None)]
    done = [act.done for act in await federation.log.of(DEV.application) if act.container is None]
    assert done == ["held back", "passed on again"]


async def test_a_queue_that_is_closed_passes_on_what_was_held_back_for_a_lender(federation: Federation) -> None:
    federation.policy = SharePolicy((FederatedQueue("root.dev", weight=1, preemptable=True),), version=2)
    lent_and_needed(federation, 4)
    federation.shares = {DEV: UNIT.times(4)}
    await federation.lives(1)
    federation.policy = SharePolicy((FederatedQueue("root.dev", weight=1),), version=3)
    await federation.lives(1)
    assert federation.borrower.told[-1] == PreemptionCancelled((ContainerId(DEV, 4),))
    assert [each for each in federation.borrower.told if isinstance(each, DemandCap)][-1] == DemandCap(None)


async def test_each_act_is_an_event_in_the_life_of_its_application(federation: Federation) -> None:
    heard: list[tuple[object, ...]] = []
    end = listen(lambda *facts: heard.append(facts))
    await federation.lives(11)
    federation.policy = SharePolicy((FederatedQueue("root.dev", weight=1),), version=2)
    await federation.lives(1)
    end()
    acts = list(await federation.log.of(DEV.application))
    assert {event for event, *_ in heard} == {LifeEvent.PREEMPTED}
    assert [facts for _, application, facts in heard if application == DEV.application] == [
        {
            "queue": "root.dev",
            "done": act.done,
            "container": str(act.container) if act.container else "",
            "taker": act.taker,
            "reason": act.reason,
        }
        for act in acts
    ]
    done = Counter(act.done for act in acts)
    assert done == {"held back": 1, "asked back": 3, "demanded": 3, "released": 3, "passed on again": 1}
    assert all((act.container is None) == (act.taker == "") for act in acts)
    assert all(act.subcluster == EAST for act in acts if act.container)


async def test_a_master_is_asked_then_told_and_then_its_containers_are_released(federation: Federation) -> None:
    await federation.lives(11)
    told = [each for each in federation.borrower.told if not isinstance(each, DemandCap)]
    kinds = [(type(each), getattr(each, "is_strict", None)) for each in told]
    assert kinds == [(PreemptionRequested, False)] * 3 + [(PreemptionRequested, True)] * 3 + [(ReleaseOrder, None)] * 3
    asked = [each.containers for each in told]  # type: ignore[attr-defined]
    assert asked[:3] == asked[3:6] == asked[6:]


async def test_what_is_not_needed_any_more_is_left_to_its_master(federation: Federation) -> None:
    await federation.lives(5)
    asked = federation.borrower.heard(PreemptionRequested)
    federation.policy = SharePolicy((FederatedQueue("root.dev", weight=1),), version=2)
    await federation.lives(1)
    assert sorted(federation.borrower.heard(PreemptionCancelled)) == sorted(asked)
    told = len(federation.borrower.told)
    await federation.lives(3)
    assert len(federation.borrower.told) == told, "nothing may be taken, and nothing is on its way"


async def test_a_container_that_an_earlier_attempt_was_given_is_asked_of_the_attempt_of_now(
    federation: Federation,
) -> None:
    later = ApplicationAttemptId(DEV.application, 2)
    federation.borrower.attempt = Attempt(later, EAST, "root.dev", "ada")
    await federation.lives(5)
    assert len(federation.borrower.heard(PreemptionRequested)) == BUDGET
    assert federation.lender.heard(PreemptionRequested) == []
