"""What an attempt does whose queue holds more than its share; whom this befalls is decided elsewhere."""

import pytest

from shim.domain.allocations import (
    ANY,
    AllocateAnswer,
    AllocateCall,
    Ask,
    AskKey,
    Ended,
    Grant,
    RunningContainer,
)
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.preemption import PREEMPTED_DIAGNOSTICS, PREEMPTED_EXIT_STATUS
from shim.domain.resources import ResourceVector
from shim.multicluster.core import (
    AMCalled,
    AMRegistered,
    AnswerAM,
    AskLedger,
    CallSession,
    CapacitySplitter,
    ClusterCapacity,
    DemandCap,
    FoundAtHome,
    HeldBack,
    PreemptionCancelled,
    PreemptionRequested,
    ReleaseOrder,
    SessionAnswered,
)
from tests.support.ledger_talk import WEST, LedgerTalk
from tests.support.ledger_talk import a_grant as a_grant_of_the_west

ATTEMPT = ApplicationAttemptId(ApplicationId(1, 1), 1)
HOME = SubClusterId("east")
UNIT = ResourceVector(1024, 1)
KEY = AskKey(20, -1, is_opportunistic=False, resource=UNIT)
MUCH = ResourceVector(65536, 64)
CAPACITIES = (ClusterCapacity(HOME, is_home=True, free=MUCH, size=MUCH, largest=MUCH, nodes=2),)


def a_grant(number: int) -> Grant:
    return Grant(ContainerId(ATTEMPT, number), NodeId("e1", 1), KEY.priority, -1, UNIT)


class AtHome:
    """An attempt that has its home alone, and what its home was asked for."""

    def __init__(self) -> None:
        self.ledger = AskLedger(ATTEMPT, HOME, CapacitySplitter())
        self.answer = AllocateAnswer(0)
        self.home_id = 0
        self.ledger.handle(AMRegistered())

    def calls(self, *grants: Grant, want: int | None = None, ended: tuple[Ended, ...] = ()) -> list[int]:
        """A call and its answer; the counts that the home was told."""
        asks = () if want is None else (Ask(KEY, ANY, want),)
        effects = self.ledger.handle(AMCalled(AllocateCall(self.answer.response_id, asks), CAPACITIES))
        request = next(effect.request for effect in effects if isinstance(effect, CallSession))
        self.released = request.releases
        self.home_id += 1
        told = AllocateAnswer(self.home_id, grants, ended)
        effects = self.ledger.handle(SessionAnswered(HOME, request.serial, told))
        self.answer = next(effect.answer for effect in effects if isinstance(effect, AnswerAM))
        return [ask.count for ask in request.asks]


@pytest.fixture
def attempt() -> AtHome:
    begun = AtHome()
    assert begun.calls(want=6) == [6]
    begun.calls(a_grant(2), a_grant(3))
    return begun


def test_asks_are_held_back_and_go_out_again_without_another_word_of_the_master(attempt: AtHome) -> None:
    attempt.ledger.handle(DemandCap(ResourceVector()))
    assert attempt.calls() == [0]
    assert attempt.ledger.holdings.withheld == ResourceVector(4096, 4)
    assert attempt.calls() == [], "nothing new is to be said"
    attempt.ledger.handle(DemandCap(None))
    assert attempt.calls() == [4]
    assert attempt.ledger.holdings.withheld == ResourceVector()


def test_of_what_may_be_asked_for_each_grant_takes_its_part(attempt: AtHome) -> None:
    attempt.ledger.handle(DemandCap(ResourceVector(2048, 2)))
    assert attempt.calls(a_grant(4)) == [2]
    assert attempt.calls() == [1], "it was granted before its home knew of the two: one is left"
    assert attempt.calls() == []
    assert attempt.ledger.holdings.withheld == ResourceVector(2048, 2)
    attempt.calls(a_grant(5))
    assert attempt.calls(want=9) == [], "a new wish is held back too"
    assert attempt.ledger.holdings.withheld == ResourceVector(9216, 9)


def test_what_a_job_puts_off_is_neither_asked_for_nor_waited_for(attempt: AtHome) -> None:
    attempt.ledger.handle(HeldBack({KEY: 3}))
    assert attempt.calls() == [1]
    holdings = attempt.ledger.holdings
    assert (holdings.wants, holdings.withheld) == (UNIT, ResourceVector())
    assert (holdings.asks, holdings.held_back) == ({KEY: 4}, {KEY: 3})
    attempt.calls(a_grant(4))
    assert attempt.calls() == []
    assert attempt.ledger.holdings.held_back == {KEY: 3}
    attempt.ledger.handle(HeldBack({}))
    assert attempt.calls() == [3]


def test_what_is_put_off_goes_out_by_itself_unless_it_is_said_again(attempt: AtHome) -> None:
    attempt.ledger.handle(HeldBack({KEY: 3}))
    for _ in range(7):
        attempt.calls()
    attempt.ledger.handle(HeldBack({KEY: 3}))
    for _ in range(7):
        attempt.calls()
        assert attempt.ledger.holdings.held_back == {KEY: 3}
    assert attempt.calls() == [4]
    assert attempt.ledger.holdings.held_back == {}


def test_less_than_half_a_container_is_none_and_more_is_one(attempt: AtHome) -> None:
    attempt.ledger.handle(DemandCap(ResourceVector(500, 1)))
    assert attempt.calls() == [0]
    attempt.ledger.handle(DemandCap(ResourceVector(600, 1)))
    assert attempt.calls() == [1]


def test_what_is_asked_back_is_told_in_each_answer_until_it_is_spared(attempt: AtHome) -> None:
    second, third = a_grant(2).container, a_grant(3).container
    attempt.ledger.handle(PreemptionRequested((second, third), is_strict=False))
    for _ in range(2):
        attempt.calls()
        assert [(each.container, each.is_strict) for each in attempt.answer.asked_back] == [
            (second, False),
            (third, False),
        ]
    attempt.ledger.handle(PreemptionRequested((third,), is_strict=True))
    attempt.ledger.handle(PreemptionCancelled((second,)))
    attempt.calls()
    assert [(each.container, each.is_strict) for each in attempt.answer.asked_back] == [(third, True)]
    attempt.calls(ended=(Ended(third, 0),))
    assert attempt.answer.asked_back == (), "it has ended by itself"


def test_what_is_taken_back_is_released_and_has_ended_as_by_yarns_own_preemption(attempt: AtHome) -> None:
    second = a_grant(2).container
    attempt.ledger.handle(ReleaseOrder((second,)))
    assert [each.id for each in attempt.ledger.holdings.held] == [second, a_grant(3).container], "not released yet"
    attempt.calls()
    assert attempt.released == (second,)
    assert attempt.answer.ended == (Ended(second, PREEMPTED_EXIT_STATUS, PREEMPTED_DIAGNOSTICS),)
    attempt.calls(ended=(Ended(second, -100, "Container released by application"),))
    assert not attempt.answer.ended, "its end is told once"
    assert [each.id for each in attempt.ledger.holdings.held] == [a_grant(3).container]


def test_what_has_ended_before_it_is_taken_keeps_its_own_end(attempt: AtHome) -> None:
    second = a_grant(2).container
    attempt.calls(ended=(Ended(second, 0),))
    assert [ended.exit_status for ended in attempt.answer.ended] == [0]
    attempt.ledger.handle(ReleaseOrder((second,)))
    attempt.calls()
    assert attempt.answer.ended == ()
    assert attempt.released == ()


def a_later_ledger(*running: Grant) -> AtHome:
    """Of another Heddle, whose home was asked what runs."""
    later = AtHome()
    later.ledger.handle(FoundAtHome(tuple(RunningContainer(grant, 900.0) for grant in running)))
    return later


def test_what_an_earlier_ledger_was_granted_is_held_and_may_be_taken_back() -> None:
    later = a_later_ledger(a_grant(1), a_grant(2), a_grant(3))
    assert [(each.id.number, each.since_s) for each in later.ledger.holdings.held] == [(2, 900.0), (3, 900.0)]
    later.calls(want=1)
    later.ledger.handle(PreemptionRequested((a_grant(1).container, a_grant(2).container), is_strict=True))
    later.calls()
    assert [each.container.number for each in later.answer.asked_back] == [2], "never the ApplicationMaster's own"
    later.ledger.handle(ReleaseOrder((a_grant(1).container, a_grant(2).container)))
    later.calls()
    assert later.released == (a_grant(2).container,)
    assert [each.exit_status for each in later.answer.ended] == [PREEMPTED_EXIT_STATUS]
    assert [each.id.number for each in later.ledger.holdings.held] == [3]


def test_what_the_master_was_not_given_after_all_is_given_when_it_is_granted() -> None:
    later = a_later_ledger(a_grant(2))
    later.calls(a_grant(2), want=1)
    assert [grant.container.number for grant in later.answer.grants] == [2]
    assert later.calls() == [0], "it is wanted no more"
    assert [each.id.number for each in later.ledger.holdings.held] == [2]


def test_what_has_ended_since_the_home_was_asked_is_not_held() -> None:
    later = AtHome()
    later.calls(want=1)
    later.calls(ended=(Ended(a_grant(2).container, 0),))
    later.calls()
    later.ledger.handle(FoundAtHome((RunningContainer(a_grant(2), 900.0),)))
    assert later.ledger.holdings.held == ()


def test_what_could_be_had_elsewhere_is_known_unless_only_named_places_will_do() -> None:
    ledger = AskLedger(ATTEMPT, HOME, CapacitySplitter())
    ledger.handle(AMRegistered())
    west, closed = SubClusterId("west"), SubClusterId("north")
    capacities = (
        ClusterCapacity(HOME, is_home=True, size=MUCH, largest=MUCH, free=MUCH, nodes=1, racks={"e1": "/r"}),
        ClusterCapacity(west, size=MUCH, largest=MUCH, nodes=1),
        ClusterCapacity(closed, is_open=False, size=MUCH, largest=MUCH, nodes=1),
    )
    strict = AskKey(30, -1, is_opportunistic=False, resource=UNIT)
    too_large = AskKey(40, -1, is_opportunistic=False, resource=ResourceVector(65537, 1))
    asks = (
        Ask(KEY, ANY, 4),
        Ask(strict, "e1", 2),
        Ask(strict, ANY, 2, relaxes=False),
        Ask(too_large, ANY, 1),
    )
    ledger.handle(AMCalled(AllocateCall(0, asks), capacities))
    assert ledger.holdings.movable == {(HOME, west): 4}


@pytest.fixture
def talk() -> LedgerTalk:
    """The west is asked for three, has granted one, and the ApplicationMaster has not called since."""
    begun = LedgerTalk()
    begun.wants(3)
    begun.opens()
    begun.hears(WEST)
    begun.beats()
    begun.hears(WEST, a_grant_of_the_west())
    return begun


def test_what_is_taken_back_before_its_master_heard_of_it_is_never_told_and_wanted_again(talk: LedgerTalk) -> None:
    container = a_grant_of_the_west().container
    assert talk.ledger.holdings.asks == {KEY: 2}
    talk.tell(ReleaseOrder((container,)))
    assert talk.ledger.holdings.asks == {KEY: 3}
    assert [each.id for each in talk.ledger.holdings.held] == [container], "not released yet"
    told = talk.wants()
    assert (told.grants, told.ended, told.asked_back) == ((), (), ())
    assert talk.beats().releases == (container,)
    assert talk.asked() == [3]
    assert [each.id for each in talk.ledger.holdings.held] == [container], "its release is under way"
    talk.hears(WEST, ended=[Ended(container, -100)])
    assert talk.ledger.holdings.held == ()
    assert talk.wants().ended == ()
    assert talk.ledger.holdings.asks == {KEY: 3}


def test_what_is_taken_back_twice_is_released_and_wanted_again_once(talk: LedgerTalk) -> None:
    container = a_grant_of_the_west().container
    talk.tell(ReleaseOrder((container,)))
    talk.tell(ReleaseOrder((container, ContainerId(ATTEMPT, 77))))
    assert talk.ledger.holdings.asks == {KEY: 3}
    assert talk.beats().releases == (container,)
