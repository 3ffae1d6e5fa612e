"""Counts that each session is told: never more in sum than is wanted, and only of places that are there."""

import pytest

from shim.domain.allocations import ANY, Ask, AskKey, ConstraintHandling, PlacementConstraint, SessionRequest
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core import ClusterCapacity
from shim.multicluster.core.asks import AskBook
from shim.multicluster.core.session import Conversations, SessionState

EAST, WEST, SOUTH = map(SubClusterId, ("east", "west", "south"))
KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))
CAPACITIES = (
    ClusterCapacity(EAST, is_home=True, racks={"e1": "/re"}, nodes=3, free=ResourceVector(9, 9)),
    ClusterCapacity(WEST, racks={"w1": "/rw"}, nodes=5, free=ResourceVector(2048, 2)),
)
CONTAINER = ContainerId(ApplicationAttemptId(ApplicationId(1, 1), 1), 1)


class Talk:
    """Conversations of east and west, both open and told of an ask; `targets` says what each is to be asked for."""

    def __init__(self, *asks, targets, wanted=6):
        self.asks = AskBook()
        self.asks.tell([*asks, Ask(KEY, ANY, wanted)], {})
        self.talk = Conversations(EAST, self.asks)
        self.talk.look(CAPACITIES)
        self.talk.is_told = True
        for name in (EAST, WEST):
            self.talk.of(name).reopen(0)
            self.talk.of(name).is_fresh = False
        self.set(targets)

    def set(self, targets):
        self.asks.groups[0].targets = targets

    def say(self, name, rest=b""):
        return self.talk.say(self.talk.of(name), rest)

    def counts(self, name):
        return {ask.place: ask.count for ask in self.say(name).asks}

    def hear(self, name):
        session = self.talk.of(name)
        session.answered(session.response_id + 1)


# ---------------------------------------------------------------------- counts


def test_each_session_is_told_its_part():
    talk = Talk(targets={EAST: 2, WEST: 4})
    assert talk.counts(EAST) == {ANY: 2}
    assert talk.counts(WEST) == {ANY: 4}
    assert talk.talk.asked() == set()
    talk.hear(WEST)
    assert talk.talk.asked() == {KEY}


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_count_rises_only_by_what_no_other_may_still_grant(is_answered):
    talk = Talk(targets={WEST: 5})
    talk.say(WEST)
    if is_answered:
        talk.hear(WEST)
    talk.set({EAST: 6})
    assert talk.counts(EAST) == {ANY: 1}
    if not is_answered:
        talk.hear(WEST)
    assert talk.counts(WEST) == {ANY: 0}
    talk.hear(WEST)
    talk.hear(EAST)
    assert talk.counts(EAST) == {ANY: 6}


def test_what_a_session_believes_already_it_may_keep():
    talk = Talk(targets={EAST: 4})
    talk.say(EAST)
    talk.hear(EAST)
    talk.talk.of(WEST).told = {(KEY, ANY): Ask(KEY, ANY, 6)}
    assert talk.talk.has_news(talk.talk.home) is False, "though both together are more than is wanted"


def test_a_session_that_was_just_opened_is_told_of_every_ask_even_of_none():
    talk = Talk(targets={EAST: 6})
    west = talk.talk.of(WEST)
    west.is_fresh = True
    assert talk.counts(WEST) == {ANY: 0}
    assert not west.is_fresh
    talk.hear(WEST)
    assert talk.counts(WEST) == {}


def test_a_session_stays_fresh_until_a_new_request_says_what_is_known():
    talk = Talk(targets={EAST: 6})
    west = talk.talk.of(WEST)
    talk.talk.is_told = False
    talk.say(WEST)
    talk.hear(WEST)
    west.is_fresh = True
    talk.say(WEST)
    assert west.is_fresh, "nothing was known"
    talk.talk.is_told = True
    talk.say(WEST)
    assert west.is_fresh, "the same request again"
    talk.hear(WEST)
    talk.say(WEST)
    assert not west.is_fresh


# ---------------------------------------------------------------------- places


def test_places_go_where_they_are_and_unknown_ones_home():
    named = [Ask(KEY, place, 3) for place in ("e1", "/re", "w1", "/rw", "nowhere")] + [Ask(KEY, "gone", 0)]
    talk = Talk(*named, targets={EAST: 2, WEST: 4})
    assert talk.counts(EAST) == {"e1": 2, "/re": 2, "nowhere": 2, ANY: 2}
    assert talk.counts(WEST) == {"w1": 3, "/rw": 3, ANY: 4}


def test_a_rack_is_known_as_far_as_it_was_told():
    talk = Talk(targets={}).talk
    assert [talk.rack(EAST, NodeId("e1", 1)), talk.rack(EAST, NodeId("x", 1)), talk.rack(SOUTH, NodeId("e1", 1))] == [
        "/re",
        "",
        "",
    ]


# ---------------------------------------------------------------------- when something is said


def opens_again(session):
    session.told.clear()
    session.state = SessionState.OPENING


def waits(session):
    session.told.clear()
    session.in_flight = SessionRequest(1, 1)


@pytest.mark.parametrize(
    ("change", "has_news"),
    [
        (lambda _: None, False),
        (lambda session: session.releases.update({CONTAINER: None}), True),
        (lambda session: session.updates.append("update"), True),
        (lambda session: session.told.pop((KEY, ANY)), True),
        (opens_again, False),
        (waits, False),
    ],
    ids=["nothing", "release", "update", "ask", "not open", "under way"],
)
def test_a_session_has_news_when_it_is_open_and_idle_and_something_changed(change, has_news):
    talk = Talk(targets={WEST: 4})
    talk.say(WEST)
    talk.hear(WEST)
    west = talk.talk.of(WEST)
    change(west)
    assert talk.talk.has_news(west) is has_news


@pytest.mark.parametrize(
    ("told", "options", "is_too_much"),
    [
        (4, {}, False),
        (5, {}, True),
        (3, {}, False),
        (5, {"is_told": False}, False),
        (5, {"state": SessionState.OPENING}, False),
        (5, {"in_flight": SessionRequest(1, 1)}, False),
        (1, {"targets": {}}, True),
    ],
    ids=["just so", "more", "less", "nothing is known", "not open", "under way", "nothing is wanted"],
)
def test_a_scheduler_believes_too_much_if_it_was_told_more_than_is_wanted_there(told, options, is_too_much):
    talk = Talk(targets=options.get("targets", {WEST: 4}))
    west = talk.talk.of(WEST)
    west.told = {(KEY, ANY): Ask(KEY, ANY, told), (KEY, "w1"): Ask(KEY, "w1", 99)}
    talk.talk.is_told = options.get("is_told", True)
    west.state = options.get("state", west.state)
    west.in_flight = options.get("in_flight")
    assert talk.talk.is_believed_too_much(west) is is_too_much


@pytest.mark.parametrize(("is_told", "is_resuming"), [(False, False), (True, True), (False, True)])
def test_what_is_not_known_or_may_be_a_repetition_asks_for_nothing_new(is_told, is_resuming):
    talk = Talk(targets={EAST: 2, WEST: 4})
    talk.say(EAST)
    talk.hear(EAST)
    talk.talk.is_told, talk.talk.is_resuming, talk.talk.blacklist = is_told, is_resuming, frozenset(["bad"])
    talk.set({EAST: 1, WEST: 5})
    home = talk.talk.home
    home.releases = {CONTAINER: None}
    request = talk.say(EAST, b"rest")
    assert (request.asks, request.blacklist_additions) == ((), ())
    assert request.rest == (b"" if is_resuming else b"rest")
    assert request.releases == (() if is_resuming else (CONTAINER,))
    assert talk.say(WEST).blacklist_additions == (("bad",) if is_told else ())
    assert talk.counts(WEST) == ({ANY: 4} if is_told else {}), "the home believes in two"


def test_a_request_has_a_serial_of_its_own_and_is_said_again_with_the_same():
    talk = Talk(targets={EAST: 2, WEST: 4})
    first, again, other = talk.say(EAST), talk.say(EAST), talk.say(WEST)
    assert first is again
    assert (first.serial, other.serial) == (1, 2)
    talk.hear(EAST)
    assert talk.say(EAST).serial == 3


# ---------------------------------------------------------------------- headroom


def test_headroom_elsewhere_is_told_by_schedulers_that_answered_and_else_by_reports():
    talk = Talk(targets={}).talk
    assert talk.elsewhere() == [(ResourceVector(2048, 2), 5)], "it is open, and has not answered"
    west = talk.of(WEST)
    west.headroom, west.nodes = ResourceVector(7, 7), 4
    assert talk.elsewhere() == [(ResourceVector(7, 7), 4)]
    fresh = Conversations(EAST, AskBook())
    fresh.look(CAPACITIES)
    assert fresh.elsewhere() == [(ResourceVector(2048, 2), 5)], "without a session"
    assert fresh.find(WEST) is None
    fresh.look((CAPACITIES[0], ClusterCapacity(WEST, is_open=False, nodes=5)))
    assert fresh.elsewhere() == [], "closed"
    assert [each.subcluster for each in fresh.capacities] == [EAST, WEST]
    assert (list(fresh), fresh.others) == ([fresh.home], [])


# ---------------------------------------------------------------------- asks with a placement

TOTALS, ADDS, NONE = ConstraintHandling.TOTALS, ConstraintHandling.ADDS, ConstraintHandling.NONE


def a_key(*, is_local=True):
    placement = PlacementConstraint(frozenset({"web"}), is_local=is_local)
    return AskKey(30, 7, is_opportunistic=False, resource=ResourceVector(1024, 1), placement=placement)


def placed(key, *, east=TOTALS, west=TOTALS, targets=None):
    """Conversations with both, just opened, of an attempt that wants two with a placement."""
    asks = AskBook()
    asks.tell([Ask(key, ANY, 2, raw=b"as it was said")], {})
    talk = Conversations(EAST, asks)
    talk.look((ClusterCapacity(EAST, is_home=True, constraints=east), ClusterCapacity(WEST, constraints=west)))
    talk.is_told = True
    for name in (EAST, WEST):
        talk.of(name).reopen(0)
    asks.groups[0].targets = targets or {}
    return talk


@pytest.mark.parametrize(
    ("name", "is_local", "handling", "is_said"),
    [
        (EAST, True, TOTALS, True),
        (EAST, False, TOTALS, True),
        (WEST, True, TOTALS, True),
        (WEST, False, TOTALS, False),
        (WEST, True, ADDS, False),
        (WEST, True, NONE, False),
        (EAST, True, ADDS, False),
        (EAST, False, NONE, False),
    ],
)
def test_asks_from_before_are_taken_back_only_where_they_may_have_been_said_and_can_be(
    name, is_local, handling, is_said
):
    talk = placed(a_key(is_local=is_local), east=handling, west=handling)
    assert [ask.count for ask in talk.say(talk.of(name)).asks] == ([0] if is_said else [])


def test_only_the_home_hears_of_a_placement_in_the_words_of_its_master():
    talk = placed(a_key(), targets={EAST: 1, WEST: 1})
    assert [[(ask.count, ask.raw) for ask in talk.say(talk.of(name)).asks] for name in (EAST, WEST)] == [
        [(1, b"as it was said")],
        [(1, b"")],
    ]
    plain = placed(KEY, targets={EAST: 1, WEST: 1})
    assert [ask.raw for ask in plain.say(plain.of(WEST)).asks] == [b"as it was said"]


def test_sessions_add_up_where_their_scheduler_was_last_known_to_do_so():
    talk = placed(a_key(), east=TOTALS, west=ADDS)
    assert [talk.of(name).adds for name in (EAST, WEST, SOUTH)] == [False, True, False]
    later = {EAST: ADDS, WEST: NONE, SOUTH: ADDS}
    talk.look([ClusterCapacity(name, is_home=name == EAST, constraints=each) for name, each in later.items()])
    assert [talk.of(name).adds for name in (EAST, WEST, SOUTH)] == [True, False, True]


@pytest.mark.parametrize(("west", "is_too_much"), [(TOTALS, True), (ADDS, False)])
def test_what_adds_up_cannot_be_taken_back_and_is_never_too_much(west, is_too_much):
    talk = placed(a_key(), west=west)
    session = talk.of(WEST)
    session.told = {(a_key(), ANY): Ask(a_key(), ANY, 9)}
    assert talk.is_believed_too_much(session) is is_too_much
