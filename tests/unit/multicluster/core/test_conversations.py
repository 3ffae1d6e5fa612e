"""Rows that each scheduler is told where a plan has chosen the hosts."""

import pytest

from shim.domain.allocations import ANY, Ask, AskKey, Grant
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core import ClusterCapacity
from shim.multicluster.core.asks import AskBook
from shim.multicluster.core.session import Conversations
from shim.protocol.yarn.allocations import read_allocate_call, write_session_request

EAST, WEST = SubClusterId("east"), SubClusterId("west")
ATTEMPT = ApplicationAttemptId(ApplicationId(1, 1), 1)
KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))
RACKS = {"e1": "/r1", "e2": "/r1", "e3": "/r2"}


class Chosen:
    """An `AskSplitter` whose plan has chosen so many containers and these hosts."""

    def __init__(self, count, pins, *, spares=False):
        self.count, self.chosen, self.spares = count, pins, spares

    def split(self, _, capacities):
        return {room.subcluster: self.count for room in capacities}

    def has_spares(self, _):
        return self.spares

    def pins(self, _):
        return {} if self.chosen is None else {EAST: self.chosen}


def told(count, pins, *, anywhere=True, **rows):
    """What the scheduler hears: place to count, and whether others may stand in."""
    asks, capacities = AskBook(), (ClusterCapacity(EAST, is_home=True, racks=RACKS),)
    talk = Conversations(EAST, asks)
    talk.look(capacities)
    talk.home.reopen(0)
    talk.home.is_fresh, talk.is_told = False, True
    named = [Ask(KEY, place, wanted) for place, wanted in rows.items()]
    asks.tell([*named, Ask(KEY, "/r1", 9), Ask(KEY, ANY, 9, anywhere)], {})
    asks.split(Chosen(count, pins), capacities)
    call = read_allocate_call(write_session_request(talk.say(talk.home)))
    return {ask.place: (ask.count, ask.relaxes) for ask in call.asks}


def test_containers_that_are_all_for_hosts_may_be_nowhere_else():
    found = told(3, {"e1": 2, "e3": 1}, e1=4, e2=4, e3=4)
    assert found == {
        "e1": (2, True),
        "e3": (1, True),
        "/r1": (2, False),
        "/r2": (1, False),
        ANY: (3, False),
    }


def test_what_waited_long_enough_is_asked_for_without_a_place_that_a_scheduler_would_wait_for():
    assert told(3, {}, e1=4) == {ANY: (3, True)}
    assert told(3, {"e1": 1}, e1=4, e2=4) == {"e1": (1, True), "/r1": (1, True), ANY: (3, True)}


@pytest.mark.parametrize("pins", [{"e1": 2, "gone": 1}, {"e1": 2, "e2": 1}])
def test_a_host_that_is_not_known_or_not_asked_for_any_more_binds_nobody(pins):
    assert told(3, pins, e1=2)[ANY] == (3, True)


def test_rows_are_passed_on_where_no_plan_chooses_hosts_and_where_only_named_places_will_do():
    assert told(3, None, e1=4, e2=1) == {"e1": (3, True), "e2": (1, True), "/r1": (3, True), ANY: (3, True)}
    assert told(3, {"e1": 3}, anywhere=False, e1=4, e2=1)["e2"] == (1, True)


@pytest.mark.parametrize(("spares", "asked"), [(False, 1), (True, 4)])
def test_two_schedulers_are_asked_for_the_same_only_where_spares_are_wanted(spares, asked):
    asks, capacities = AskBook(), (ClusterCapacity(EAST, is_home=True), ClusterCapacity(WEST))
    talk = Conversations(EAST, asks)
    talk.look(capacities)
    for name in (EAST, WEST):
        talk.of(name).reopen(0)
    talk.is_told = True
    asks.tell([Ask(KEY, ANY, 4, relaxes=True)], {})
    asks.split(Chosen(3, None), capacities)
    assert [ask.count for ask in talk.say(talk.home).asks] == [3]
    talk.home.answered(1)
    asks.split(Chosen(4, None, spares=spares), capacities)
    assert [ask.count for ask in talk.say(talk.of(WEST)).asks] == [asked]


def test_what_one_scheduler_binds_the_others_are_asked_for_no_more():
    asks, capacities = AskBook(), (ClusterCapacity(EAST, is_home=True), ClusterCapacity(WEST))
    talk = Conversations(EAST, asks)
    talk.look(capacities)
    for name in (EAST, WEST):
        talk.of(name).reopen(0)
        talk.of(name).is_fresh = False
    talk.is_told = True
    asks.tell([Ask(KEY, ANY, 4, relaxes=True)], {})
    asks.split(Chosen(4, None, spares=True), capacities)
    for name in (EAST, WEST):
        talk.say(talk.of(name))
        talk.of(name).answered(1)
    assert not talk.has_news(talk.of(WEST))
    asks.grant(Grant(ContainerId(ATTEMPT, 2), NodeId("e1", 1), 20, -1, KEY.resource), EAST, "/r1")
    assert talk.has_news(talk.of(WEST))
    assert [ask.count for ask in talk.say(talk.of(WEST)).asks] == [3]
