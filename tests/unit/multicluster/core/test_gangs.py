"""A gang in the ledger, step by step; whatever else may happen to it is in tests/property/test_gangs.py."""

import pytest

from shim.domain.allocations import ANY, AllocateAnswer, AllocateCall, Ask, AskKey, Ended, Grant, RunningContainer
from shim.domain.gangs import Gang
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.launches import LaunchVerdict, Verdict
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
    OpenSession,
    ReleaseOrder,
    Remember,
    SessionAnswered,
    SessionLost,
    SessionOpened,
)
from shim.multicluster.core.events import AllocationsVerified

ATTEMPT = ApplicationAttemptId(ApplicationId(1, 1), 1)
EAST, WEST = SubClusterId("east"), SubClusterId("west")
SMALL = ResourceVector(1024, 1)
KEY, LATER = (AskKey(priority, -1, is_opportunistic=False, resource=SMALL) for priority in (10, 20))
MUCH = ResourceVector(8192, 8)
CAPACITIES = tuple(
    ClusterCapacity(name, is_home=name == EAST, free=MUCH, size=MUCH, largest=MUCH, nodes=1, racks={name: "/r"})
    for name in (EAST, WEST)
)
LIMIT_S = 80.0


class Talk:
    """A ledger with a gang of four, and what it says."""

    def __init__(self, count=4, splitter=None):
        self.ledger = AskLedger(ATTEMPT, EAST, splitter or CapacitySplitter(patience=3), Gang(count, LIMIT_S))
        self.said, self.response_ids, self.answered = {}, {EAST: 0, WEST: 0}, None
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
            key = next(each for each in (KEY, LATER) if each.priority == grant.priority)
            self.pending[name, key] = max(0, self.pending.get((name, key), 0) - 1)
        self.tell(SessionAnswered(name, request.serial, AllocateAnswer(self.response_ids[name], grants, ended)))

    def calls(self, *asks, at_home=(), elsewhere=(), ended=(), passed_s=1.0):
        """The ApplicationMaster calls; both schedulers answer; what the next answer gives."""
        self.now_s += passed_s
        response_id = 0 if self.answered is None else self.answered.response_id
        self.tell(AMCalled(AllocateCall(response_id, asks), CAPACITIES, self.now_s))
        if WEST in self.said:
            self.hears(WEST, *elsewhere, ended=ended)
        elif elsewhere or ended:
            self.tell(Beat(WEST, self.now_s))
            self.hears(WEST, *elsewhere, ended=ended)
        self.hears(EAST, *at_home)
        return [grant.container for grant in self.answered.grants]

    def a_grant(self, name=WEST, key=KEY):
        self.number += 1
        return Grant(ContainerId(ATTEMPT, self.number), NodeId(name, 1), key.priority, -1, key.resource)

    def grants(self, count, name=WEST, key=KEY):
        return tuple(self.a_grant(name, key) for _ in range(count))

    def asked(self, key=KEY):
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
def talk():
    return Talk()


def wants(count, key=KEY, place=ANY):
    return Ask(key, place, count)


def test_a_gang_is_given_in_one_answer_over_both_clusters(talk):
    talk.calls(wants(4))
    assert talk.asked() == 4
    home, west = talk.grants(2, EAST), talk.grants(2)
    assert talk.calls(at_home=home[:1], elsewhere=west[:1]) == []
    assert talk.calls(at_home=home[1:]) == []
    assert set(talk.calls(elsewhere=west[1:])) == {grant.container for grant in (*home, *west)}
    assert talk.calls(wants(3), elsewhere=()) == []
    assert talk.calls(elsewhere=talk.grants(1)) != [], "what it asks for later is given as it comes"


def test_nothing_is_asked_for_before_all_of_it_is_and_what_is_beyond_it_waits(talk):
    talk.calls(wants(3))
    assert talk.asked() == 0
    talk.calls(wants(6, LATER))
    assert (talk.asked(), talk.asked(LATER)) == (3, 1), "the first four, by priority"
    talk.calls(elsewhere=talk.grants(3))
    assert talk.asked(LATER) == 1
    assert len(talk.calls(elsewhere=talk.grants(1, key=LATER))) == 4
    talk.calls()
    assert talk.asked(LATER) == 5


def test_who_asks_for_too_few_for_too_long_is_served_as_any_other(talk):
    talk.calls(wants(3))
    talk.calls(passed_s=LIMIT_S - 1)
    assert talk.asked() == 0
    talk.calls()
    assert talk.asked() == 3
    assert len(talk.calls(elsewhere=talk.grants(1))) == 1


def test_what_is_held_too_long_is_given_back_and_asked_for_after_a_pause(talk):
    talk.calls(wants(4))
    west, home = talk.grants(2), talk.grants(1, EAST)
    talk.calls(elsewhere=west, at_home=home)
    talk.calls(passed_s=LIMIT_S - 2)
    assert not talk.released
    talk.calls(passed_s=2)
    assert set(talk.released) == {grant.container for grant in (*west, *home)}
    assert talk.asked() == 0
    talk.calls(passed_s=LIMIT_S / 8 - 1)
    assert talk.asked() == 0
    talk.calls(passed_s=LIMIT_S / 8)
    assert talk.asked() == 4, "all of it"
    assert len(talk.calls(elsewhere=talk.grants(4))) == 4


def test_a_beat_of_another_cluster_ends_a_try_though_the_application_master_is_silent(talk):
    talk.calls(wants(4))
    grant = talk.a_grant()
    talk.calls(elsewhere=(grant,))
    talk.tell(Beat(WEST, talk.now_s + LIMIT_S))
    assert talk.released == [grant.container]


def test_held_containers_are_counted_as_held(talk):
    talk.calls(wants(4))
    talk.calls(elsewhere=talk.grants(3))
    assert len(talk.ledger.holdings.held) == 3
    assert talk.ledger.holdings.wants == SMALL


def test_one_that_ends_while_it_is_held_is_asked_for_again_and_never_told_of(talk):
    talk.calls(wants(4))
    first, *others = talk.grants(4)
    talk.calls(elsewhere=(first, *others[:2]))
    talk.calls(ended=(Ended(first.container, -100),))
    assert talk.answered.ended == ()
    assert talk.calls(elsewhere=others[2:]) == [], "three are there"
    talk.calls()
    assert len(talk.calls(elsewhere=talk.grants(1))) == 4


def test_one_that_is_taken_back_while_it_is_held_is_wanted_still(talk):
    talk.calls(wants(4))
    first, second = talk.grants(2)
    talk.calls(elsewhere=(first, second))
    talk.tell(DemandCap(ResourceVector()))
    talk.tell(ReleaseOrder((first.container,)))
    assert talk.released == [first.container]
    talk.tell(DemandCap(None))
    talk.hears(WEST)
    talk.calls()
    assert talk.calls(elsewhere=talk.grants(2)) == []
    assert len(talk.calls(elsewhere=talk.grants(1))) == 4


def test_a_queue_that_may_have_a_part_only_is_asked_for_none(talk):
    talk.tell(DemandCap(ResourceVector(3 * 1024, 3)))
    talk.calls(wants(4))
    assert talk.asked() == 0
    talk.tell(DemandCap(None))
    talk.calls()
    assert talk.asked() == 4


def test_named_places_are_named_again_for_what_was_given_back():
    splitter = Noting()
    talk = Talk(splitter=splitter)
    talk.calls(wants(2), Ask(KEY, WEST, 2), wants(2, LATER))
    talk.calls(elsewhere=talk.grants(2))
    talk.calls(passed_s=LIMIT_S)
    talk.calls(passed_s=LIMIT_S)
    assert (talk.asked(), talk.asked(LATER)) == (2, 2), "though nothing of the first was wanted meanwhile"
    assert splitter.demands[KEY].named == {WEST: 2}


def test_a_lost_cluster_takes_what_is_held_there_with_it(talk):
    talk.calls(wants(4))
    talk.calls(elsewhere=talk.grants(3))
    talk.tell(SessionLost(WEST, "silent"))
    talk.calls()
    assert talk.calls(at_home=talk.grants(1, EAST)) == []
    assert len(talk.calls(at_home=talk.grants(3, EAST))) == 4


def test_a_home_that_restarted_may_not_know_what_it_granted_last(talk):
    talk.calls(wants(4))
    home = talk.grants(2, EAST)
    talk.calls(at_home=home)
    talk.tell(AMRegistered())
    talk.answered = None
    talk.response_ids[EAST] = 0
    talk.calls(wants(4))
    assert set(talk.released) == {grant.container for grant in home}
    assert len(talk.calls(at_home=talk.grants(4, EAST))) == 4


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


def test_one_that_is_told_of_before_its_answer_comes_is_given_back_and_asked_for_again(talk):
    talk.calls(wants(4))
    (early,) = talk.grants(1, EAST)
    talk.tell(FoundAtHome((RunningContainer(early, 1.0),), frozenset()))
    talk.calls(at_home=(early,))
    talk.calls()
    assert talk.released == [early.container]
    assert talk.asked() == 4, "its scheduler has counted it off"


def test_what_is_given_at_home_is_remembered_with_the_answer_that_gives_it(talk):
    talk.calls(wants(4))
    given = talk.calls(at_home=talk.grants(4, EAST))
    assert [each for each in talk.remembered if each.fate is Fate.GIVEN] == [
        Remember(EAST, Fate.GIVEN, tuple(given), talk.answered.response_id)
    ]


def test_a_rejected_part_ends_the_try_at_once_if_none_of_it_is_held():
    splitter = Noting()
    talk = Talk(splitter=splitter)
    rejected = AllocationsVerified((LaunchVerdict(WEST, 1, Verdict.REJECTED, 1),))
    talk.calls(wants(4))
    talk.tell(rejected)
    talk.calls(passed_s=0.1)
    assert talk.asked() == 0
    assert "tried again in" in splitter.demands[KEY].gang.text
    talk.calls(passed_s=2.0)
    assert talk.asked() == 4, "soon: the next report may show room for all"
    talk.calls(elsewhere=talk.grants(1))
    talk.tell(rejected)
    assert talk.asked() > 0, "the rest may come within the limit"
    assert "1 are granted and held" in splitter.demands[KEY].gang.text


def test_an_attempt_without_a_gang_is_given_what_comes():
    talk = Talk()
    talk.ledger = AskLedger(ATTEMPT, EAST, CapacitySplitter())
    talk.tell(AMRegistered())
    talk.calls(wants(4))
    assert len(talk.calls(at_home=talk.grants(1, EAST))) == 1
    assert not talk.remembered
