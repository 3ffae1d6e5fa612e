"""Recalls and gangs of an attempt.

What an attempt does whose queue holds more than its share; whom this befalls is decided elsewhere.

A gang in the ledger, step by step; whatever else may happen to it is in tests/property/test_gangs.py.
"""

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
from shim.domain.gangs import Gang
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.launches import LaunchVerdict, Verdict
from shim.domain.preemption import PREEMPTED_DIAGNOSTICS, PREEMPTED_EXIT_STATUS
from shim.domain.resources import ResourceVector
from shim.multicluster.core import (
    AMCalled,
    AMRegistered,
    AnswerAM,
    AskLedger,
    Beat,
    CallSession,
    CapacitySplitter,
    ClusterCapacity,
    DemandCap,
    Fate,
    FoundAtHome,
    HeldBack,
    OpenSession,
    PreemptionCancelled,
    PreemptionRequested,
    ReleaseOrder,
    Remember,
    SessionAnswered,
    SessionLost,
    SessionOpened,
)
from shim.multicluster.core.events import AllocationsVerified
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


EAST, GANG_WEST = SubClusterId("east"), SubClusterId("west")
SMALL = ResourceVector(1024, 1)
GANG_KEY, LATER = (AskKey(priority, -1, is_opportunistic=False, resource=SMALL) for priority in (10, 20))
GANG_MUCH = ResourceVector(8192, 8)
GANG_CAPACITIES = tuple(
    ClusterCapacity(
        name, is_home=name == EAST, free=GANG_MUCH, size=GANG_MUCH, largest=GANG_MUCH, nodes=1, racks={name: "/r"}
    )
    for name in (EAST, GANG_WEST)
)
LIMIT_S = 80.0


class Talk:
    """A ledger with a gang of four, and what it says."""

    def __init__(self, count=4, splitter=None):
        self.ledger = AskLedger(ATTEMPT, EAST, splitter or CapacitySplitter(move_after_beats=3), Gang(count, LIMIT_S))
        self.said, self.response_ids, self.answered = {}, {EAST: 0, GANG_WEST: 0}, None
        self.pending, self.released, self.remembered = {}, [], []
        self.number, self.now_s = 1, 0.0
        self.tell(AMRegistered())

    def tell(self, event):
        for effect in self.ledger.handle(event):
            match effect:
                case CallSession(name, request):
                    self.said[name] = request
                    self.released += request.releases
                    self.pending |= {(name, ask.key): ask.count for ask in request.asks if ask.place == ANY}
                case OpenSession(name):
                    self.response_ids[name] = 0
                    self.tell(SessionOpened(name))
                case AnswerAM(answer):
                    self.answered = answer
                case Remember():
                    self.remembered.append(effect)

    def hears(self, name, *grants, ended=()):
        self.response_ids[name] += 1
        request = self.said.pop(name)
        for grant in grants:
            key = next(each for each in (GANG_KEY, LATER) if each.priority == grant.priority)
            self.pending[name, key] = max(0, self.pending.get((name, key), 0) - 1)
        self.tell(SessionAnswered(name, request.serial, AllocateAnswer(self.response_ids[name], grants, ended)))

    def calls(self, *asks, at_home=(), elsewhere=(), ended=(), passed_s=1.0):
        """The ApplicationMaster calls; both schedulers answer; what the next answer gives."""
        self.now_s += passed_s
        response_id = 0 if self.answered is None else self.answered.response_id
        self.tell(AMCalled(AllocateCall(response_id, asks), GANG_CAPACITIES, self.now_s))
        if GANG_WEST in self.said:
            self.hears(GANG_WEST, *elsewhere, ended=ended)
        elif elsewhere or ended:
            self.tell(Beat(GANG_WEST, self.now_s))
            self.hears(GANG_WEST, *elsewhere, ended=ended)
        self.hears(EAST, *at_home)
        return [grant.container for grant in self.answered.grants]

    def a_grant(self, name=GANG_WEST, key=GANG_KEY):
        self.number += 1
        return Grant(ContainerId(ATTEMPT, self.number), NodeId(name, 1), key.priority, -1, key.resource)

    def grants(self, count, name=GANG_WEST, key=GANG_KEY):
        return tuple(self.a_grant(name, key) for _ in range(count))

    def asked(self, key=GANG_KEY):
        return sum(count for (_, other), count in self.pending.items() if other == key)


class Noting(CapacitySplitter):
    """Notes demands."""

    def __init__(self):
        super().__init__()
        self.demands = {}

    def split(self, demand, capacities):
        self.demands[demand.key] = demand
        return super().split(demand, capacities)


@pytest.fixture
def gang_talk():
    return Talk()


def wants(count, key=GANG_KEY, place=ANY):
    return Ask(key, place, count)


def test_a_gang_is_given_in_one_answer_over_both_clusters(gang_talk):
    gang_talk.calls(wants(4))
    assert gang_talk.asked() == 4
    home, west = gang_talk.grants(2, EAST), gang_talk.grants(2)
    assert gang_talk.calls(at_home=home[:1], elsewhere=west[:1]) == []
    assert gang_talk.calls(at_home=home[1:]) == []
    assert set(gang_talk.calls(elsewhere=west[1:])) == {grant.container for grant in (*home, *west)}
    assert gang_talk.calls(wants(3), elsewhere=()) == []
    assert gang_talk.calls(elsewhere=gang_talk.grants(1)) != [], "what it asks for later is given as it comes"


def test_nothing_is_asked_for_before_all_of_it_is_and_what_is_beyond_it_waits(gang_talk):
    gang_talk.calls(wants(3))
    assert gang_talk.asked() == 0
    gang_talk.calls(wants(6, LATER))
    assert (gang_talk.asked(), gang_talk.asked(LATER)) == (3, 1), "the first four, by priority"
    gang_talk.calls(elsewhere=gang_talk.grants(3))
    assert gang_talk.asked(LATER) == 1
    assert len(gang_talk.calls(elsewhere=gang_talk.grants(1, key=LATER))) == 4
    gang_talk.calls()
    assert gang_talk.asked(LATER) == 5


def test_who_asks_for_too_few_for_too_long_is_served_as_any_other(gang_talk):
    gang_talk.calls(wants(3))
    gang_talk.calls(passed_s=LIMIT_S - 1)
    assert gang_talk.asked() == 0
    gang_talk.calls()
    assert gang_talk.asked() == 3
    assert len(gang_talk.calls(elsewhere=gang_talk.grants(1))) == 1


def test_what_is_held_too_long_is_given_back_and_asked_for_after_a_pause(gang_talk):
    gang_talk.calls(wants(4))
    west, home = gang_talk.grants(2), gang_talk.grants(1, EAST)
    gang_talk.calls(elsewhere=west, at_home=home)
    gang_talk.calls(passed_s=LIMIT_S - 2)
    assert not gang_talk.released
    gang_talk.calls(passed_s=2)
    assert set(gang_talk.released) == {grant.container for grant in (*west, *home)}
    assert gang_talk.asked() == 0
    gang_talk.calls(passed_s=LIMIT_S / 8 - 1)
    assert gang_talk.asked() == 0
    gang_talk.calls(passed_s=LIMIT_S / 8)
    assert gang_talk.asked() == 4, "all of it"
    assert len(gang_talk.calls(elsewhere=gang_talk.grants(4))) == 4


def test_a_beat_of_another_cluster_ends_a_try_though_the_application_master_is_silent(gang_talk):
    gang_talk.calls(wants(4))
    grant = gang_talk.a_grant()
    gang_talk.calls(elsewhere=(grant,))
    gang_talk.tell(Beat(GANG_WEST, gang_talk.now_s + LIMIT_S))
    assert gang_talk.released == [grant.container]


def test_held_containers_are_counted_as_held(gang_talk):
    gang_talk.calls(wants(4))
    gang_talk.calls(elsewhere=gang_talk.grants(3))
    assert len(gang_talk.ledger.holdings.held) == 3
    assert gang_talk.ledger.holdings.wants == SMALL


def test_one_that_ends_while_it_is_held_is_asked_for_again_and_never_told_of(gang_talk):
    gang_talk.calls(wants(4))
    first, *others = gang_talk.grants(4)
    gang_talk.calls(elsewhere=(first, *others[:2]))
    gang_talk.calls(ended=(Ended(first.container, -100),))
    assert gang_talk.answered.ended == ()
    assert gang_talk.calls(elsewhere=others[2:]) == [], "three are there"
    gang_talk.calls()
    assert len(gang_talk.calls(elsewhere=gang_talk.grants(1))) == 4


def test_one_that_is_taken_back_while_it_is_held_is_wanted_still(gang_talk):
    gang_talk.calls(wants(4))
    first, second = gang_talk.grants(2)
    gang_talk.calls(elsewhere=(first, second))
    gang_talk.tell(DemandCap(ResourceVector()))
    gang_talk.tell(ReleaseOrder((first.container,)))
    assert gang_talk.released == [first.container]
    gang_talk.tell(DemandCap(None))
    gang_talk.hears(GANG_WEST)
    gang_talk.calls()
    assert gang_talk.calls(elsewhere=gang_talk.grants(2)) == []
    assert len(gang_talk.calls(elsewhere=gang_talk.grants(1))) == 4


def test_a_queue_that_may_have_a_part_only_is_asked_for_none(gang_talk):
    gang_talk.tell(DemandCap(ResourceVector(3 * 1024, 3)))
    gang_talk.calls(wants(4))
    assert gang_talk.asked() == 0
    gang_talk.tell(DemandCap(None))
    gang_talk.calls()
    assert gang_talk.asked() == 4


def test_named_places_are_named_again_for_what_was_given_back():
    splitter = Noting()
    gang_talk = Talk(splitter=splitter)
    gang_talk.calls(wants(2), Ask(GANG_KEY, GANG_WEST, 2), wants(2, LATER))
    gang_talk.calls(elsewhere=gang_talk.grants(2))
    gang_talk.calls(passed_s=LIMIT_S)
    gang_talk.calls(passed_s=LIMIT_S)
    assert (gang_talk.asked(), gang_talk.asked(LATER)) == (2, 2), "though nothing of the first was wanted meanwhile"
    assert splitter.demands[GANG_KEY].named == {GANG_WEST: 2}


def test_a_lost_cluster_takes_what_is_held_there_with_it(gang_talk):
    gang_talk.calls(wants(4))
    gang_talk.calls(elsewhere=gang_talk.grants(3))
    gang_talk.tell(SessionLost(GANG_WEST, "silent"))
    gang_talk.calls()
    assert gang_talk.calls(at_home=gang_talk.grants(1, EAST)) == []
    assert len(gang_talk.calls(at_home=gang_talk.grants(3, EAST))) == 4


def test_a_home_that_restarted_may_not_know_what_it_granted_last(gang_talk):
    gang_talk.calls(wants(4))
    home = gang_talk.grants(2, EAST)
    gang_talk.calls(at_home=home)
    gang_talk.tell(AMRegistered())
    gang_talk.answered = None
    gang_talk.response_ids[EAST] = 0
    gang_talk.calls(wants(4))
    assert set(gang_talk.released) == {grant.container for grant in home}
    assert len(gang_talk.calls(at_home=gang_talk.grants(4, EAST))) == 4


def test_another_ledger_gives_back_what_was_held_and_keeps_what_was_given():
    held = Talk()
    grants = held.grants(2, EAST)
    running = tuple(RunningContainer(grant, 1.0) for grant in grants)
    held.calls(wants(4))
    held.tell(FoundAtHome(running, frozenset()))
    held.calls()
    assert set(held.released) == {grant.container for grant in grants}

    given = Talk()
    given.calls(wants(1))
    given.tell(FoundAtHome(running, frozenset(grant.container for grant in grants)))
    given.calls()
    assert not given.released
    assert given.asked() == 1, "its gang has begun: it is served as any other"


def test_one_that_is_told_of_before_its_answer_comes_is_given_back_and_asked_for_again(gang_talk):
    gang_talk.calls(wants(4))
    (early,) = gang_talk.grants(1, EAST)
    gang_talk.tell(FoundAtHome((RunningContainer(early, 1.0),), frozenset()))
    gang_talk.calls(at_home=(early,))
    gang_talk.calls()
    assert gang_talk.released == [early.container]
    assert gang_talk.asked() == 4, "its scheduler has counted it off"


def test_what_is_given_at_home_is_remembered_with_the_answer_that_gives_it(gang_talk):
    gang_talk.calls(wants(4))
    given = gang_talk.calls(at_home=gang_talk.grants(4, EAST))
    assert [each for each in gang_talk.remembered if each.fate is Fate.GIVEN] == [
        Remember(EAST, Fate.GIVEN, tuple(given), gang_talk.answered.response_id)
    ]


def test_a_rejected_part_ends_the_try_at_once_if_none_of_it_is_held():
    splitter = Noting()
    gang_talk = Talk(splitter=splitter)
    rejected = AllocationsVerified((LaunchVerdict(GANG_WEST, 1, Verdict.REJECTED, 1),))
    gang_talk.calls(wants(4))
    gang_talk.tell(rejected)
    gang_talk.calls(passed_s=0.1)
    assert gang_talk.asked() == 0
    assert "tried again in 2 s" in splitter.demands[GANG_KEY].gang.text
    gang_talk.calls(passed_s=2.0)
    assert gang_talk.asked() == 4, "soon: the next report may show room for all"
    gang_talk.calls(elsewhere=gang_talk.grants(1))
    gang_talk.tell(rejected)
    assert gang_talk.asked() > 0, "the rest may come within the limit"
    for passed_s in (1, 11):
        told = f"1 are granted and held, for {LIMIT_S - passed_s:.0f} s more at most; 1 tries"
        assert told in splitter.demands[GANG_KEY].gang.text
        gang_talk.calls(passed_s=10.0)


def test_an_attempt_without_a_gang_is_given_what_comes():
    gang_talk = Talk()
    gang_talk.ledger = AskLedger(ATTEMPT, EAST, CapacitySplitter())
    gang_talk.tell(AMRegistered())
    gang_talk.calls(wants(4))
    assert len(gang_talk.calls(at_home=gang_talk.grants(1, EAST))) == 1
    assert not gang_talk.remembered
