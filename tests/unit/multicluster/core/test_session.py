"""A session: what a scheduler believes, compared with one that takes in each request as it comes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.allocations import ANY, Ask, AskKey, Grant, PlacementConstraint, SessionRequest, UpdateRequest
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core.session import Session, SessionState

ATTEMPT = ApplicationAttemptId(ApplicationId(1, 1), 1)
UNIT = ResourceVector(1024, 1)
KEY = AskKey(20, -1, is_opportunistic=False, resource=UNIT)
OTHER = AskKey(10, -1, is_opportunistic=False, resource=UNIT)
FIRST, SECOND, THIRD = (ContainerId(ATTEMPT, number) for number in (1, 2, 3))


def rows(*asks):
    return {(ask.key, ask.place): ask for ask in asks}


@pytest.fixture
def session():
    """Open, and expecting id 0."""
    made = Session(SubClusterId("west"))
    made.reopen(0)
    return made


places = st.sampled_from([ANY, "/r", "h1"])
wanted_rows = st.dictionaries(
    st.tuples(st.sampled_from([KEY, OTHER]), places), st.tuples(st.integers(1, 4), st.booleans()), max_size=4
)


@given(st.lists(st.tuples(wanted_rows, st.frozensets(st.sampled_from("abc")), st.booleans()), max_size=8))
def test_a_scheduler_that_takes_in_each_request_believes_what_was_wanted_last(history):
    session, believed, banned = Session(SubClusterId("west")), {}, frozenset()
    session.reopen(5)
    for number, (wanted, blacklist, is_refused) in enumerate(history):
        asks = {(key, place): Ask(key, place, count, relaxes) for (key, place), (count, relaxes) in wanted.items()}
        request = session.request(number, asks, blacklist, b"rest")
        assert session.request(99, {}, frozenset(), b"other") is request, "the same until it is answered"
        assert (request.serial, request.response_id, request.rest) == (number, session.response_id, b"rest")
        is_any = [ask.place == ANY for ask in request.asks]
        assert is_any == sorted(is_any), "named places first"
        if is_refused:
            assert session.refused() is request
            continue
        for ask in request.asks:
            assert believed.get((ask.key, ask.place)) != ask, "nothing is said that is believed already"
            believed[ask.key, ask.place] = ask
            if not ask.count:
                del believed[ask.key, ask.place]
        banned = (banned | set(request.blacklist_additions)) - set(request.blacklist_removals)
        assert session.answered(7 + number) is request
        assert session.response_id == 7 + number
        assert session.told == believed == asks
        assert session.blacklist == banned == blacklist
        assert session.asked() == {key for key, _ in asks}
        for key in (KEY, OTHER):
            assert session.told_of(key) == (asks[key, ANY].count if (key, ANY) in asks else 0)


def test_releases_and_updates_are_said_once_and_wait_while_it_is_quiet(session):
    update = UpdateRequest(FIRST, b"raw")
    session.releases = dict.fromkeys([FIRST, SECOND])
    session.updates = [update]
    quiet = session.request(1, {}, frozenset(), b"", is_quiet=True)
    assert (quiet.releases, quiet.updates) == ((), ())
    session.answered(1)
    said = session.request(2, {}, frozenset(), b"")
    assert (said.releases, said.updates) == ((FIRST, SECOND), (update,))
    session.answered(2)
    assert session.request(3, {}, frozenset(), b"") == SessionRequest(3, 2)


def test_releases_of_a_request_without_an_answer_are_said_again_before_the_others(session):
    session.releases = dict.fromkeys([FIRST])
    session.request(1, {}, frozenset(), b"")
    session.releases = dict.fromkeys([SECOND])
    assert session.refused().releases == (FIRST,)
    assert list(session.releases) == [FIRST, SECOND]
    session.request(2, {}, frozenset(), b"")
    session.releases = dict.fromkeys([THIRD])
    session.reopen(4)
    assert list(session.releases) == [FIRST, SECOND, THIRD]
    assert (session.in_flight, session.response_id, session.refused()) == (None, 4, None)


def test_response_ids_begin_anew_after_the_largest(session):
    for told, expected in (((1 << 31) - 1, (1 << 31) - 1), (1 << 31, 0), ((1 << 31) + 1, 1)):
        session.request(1, {}, frozenset(), b"")
        session.answered(told)
        assert session.response_id == expected


def test_the_most_that_may_be_granted_is_the_larger_of_what_was_told_and_what_is_being_said(session):
    assert session.bound(KEY) == 0
    session.request(1, rows(Ask(KEY, ANY, 3), Ask(KEY, "h1", 9)), frozenset(), b"")
    assert (session.bound(KEY), session.told_of(KEY), session.bound(OTHER)) == (3, 0, 0)
    session.answered(1)
    assert (session.bound(KEY), session.told_of(KEY), dict(session.said_now())) == (3, 3, {})
    session.request(2, rows(Ask(KEY, ANY, 1), Ask(KEY, "h1", 9)), frozenset(), b"")
    assert (session.bound(KEY), dict(session.said_now())) == (3, {KEY: 1})
    session.answered(2)
    session.request(3, rows(Ask(KEY, ANY, 5)), frozenset(), b"")
    assert (session.bound(KEY), dict(session.said_now())) == (5, {KEY: 5})
    session.answered(3)
    session.request(4, {}, frozenset(), b"")
    assert (session.bound(KEY), dict(session.said_now())) == (5, {KEY: 0}), "it may grant until it has heard"


def test_a_grant_is_counted_off_every_row_that_it_may_have_been_for(session):
    session.request(
        1, rows(Ask(KEY, ANY, 3), Ask(KEY, "h1", 1), Ask(KEY, "/r", 2), Ask(OTHER, ANY, 1)), frozenset(), b""
    )
    session.answered(1)
    session.granted(KEY, ("h1", "/r"))
    assert {row: ask.count for row, ask in session.told.items()} == {(KEY, ANY): 2, (KEY, "/r"): 1, (OTHER, ANY): 1}
    session.granted(KEY, ("h9", "/r9"))
    assert {row: ask.count for row, ask in session.told.items()} == {(KEY, ANY): 1, (KEY, "/r"): 1, (OTHER, ANY): 1}
    session.granted(OTHER, ())
    assert session.asked() == {KEY}


@pytest.mark.parametrize(
    ("priority", "request_id", "is_new"), [(20, -1, False), (21, -1, True), (20, 4, True)], ids=["known", "other", "id"]
)
def test_an_ask_that_nobody_knows_of_is_believed_of_a_scheduler_that_grants_for_it(
    session, priority, request_id, is_new
):
    session.told = rows(Ask(KEY, ANY, 2))
    session.suspect(Grant(FIRST, NodeId("h1", 1), priority, request_id, ResourceVector(2048, 2)))
    suspected = AskKey(priority, request_id, is_opportunistic=False, resource=ResourceVector(2048, 2))
    assert session.told == rows(Ask(KEY, ANY, 2), *([Ask(suspected, ANY, 1)] if is_new else []))


@pytest.mark.parametrize("told", [(), (Ask(KEY, ANY, 1),)], ids=["from before", "not taken back yet"])
def test_what_is_wanted_is_said_though_the_scheduler_granted_it_to_nobody(session, told):
    session.told = rows(*told)
    session.suspect(Grant(FIRST, NodeId("h1", 1), KEY.priority, KEY.allocation_request_id, KEY.resource))
    wanted = rows(Ask(KEY, ANY, 1))
    assert session.changes(wanted) == [Ask(KEY, ANY, 1)]
    session.request(1, wanted, frozenset(), b"r")
    session.answered(2)
    assert session.changes(wanted) == []


def test_what_is_not_wanted_any_more_is_taken_back(session):
    session.told = rows(Ask(KEY, ANY, 2), Ask(KEY, "h1", 1), Ask(OTHER, ANY, 1))
    assert session.changes(rows(Ask(KEY, ANY, 2), Ask(OTHER, ANY, 4))) == [
        Ask(KEY, "h1", 0),
        Ask(OTHER, ANY, 4),
    ]


def test_another_id_is_said_with_the_same_words(session):
    assert session.renumber(8, 3) is None
    assert session.response_id == 3
    request = session.request(1, rows(Ask(KEY, ANY, 2)), frozenset(), b"r")
    again = session.renumber(9, 6)
    assert again == SessionRequest(9, 6, request.asks, rest=b"r")
    assert session.in_flight is again


@pytest.mark.parametrize(("was_open", "state"), [(True, SessionState.OPENING), (False, SessionState.ABSENT)])
def test_a_session_that_is_given_up_knows_nothing_but_whether_it_was_open(was_open, state):
    session = Session(SubClusterId("west"))
    if was_open:
        session.reopen(0)
    session.request(1, {}, frozenset(), b"")
    session.told = rows(Ask(KEY, ANY, 2))
    session.releases, session.updates = dict.fromkeys([FIRST]), [UpdateRequest(FIRST, b"")]
    session.blacklist, session.headroom, session.nodes = frozenset("a"), UNIT, 3
    session.expect([SECOND], 3)
    session.give_up()
    assert (session.state, session.is_lost, session.was_open) == (state, was_open, was_open)
    assert (session.told, session.releases, session.updates, session.missing) == ({}, {}, [], {})
    assert (session.in_flight, session.blacklist, session.headroom, session.nodes) == (
        None,
        frozenset(),
        ResourceVector(),
        0,
    )
    session.reopen(2)
    assert (session.state, session.is_lost, session.is_fresh) == (SessionState.OPEN, False, True)


def test_a_session_that_was_never_needed_believes_nothing():
    never = Session(SubClusterId("west"))
    assert (never.state, never.response_id, never.in_flight) == (SessionState.ABSENT, 0, None)
    assert (never.told, never.releases, never.updates, never.blacklist) == ({}, {}, [], frozenset())
    assert (never.headroom, never.nodes, never.places, never.missing) == (ResourceVector(), 0, {}, {})
    assert [never.is_fresh, never.was_open, never.is_lost, never.adds] == [False] * 4
    assert (never.bound(KEY), never.asked(), never.overdue()) == (0, set(), [])


def test_what_was_told_before_it_is_opened_again_is_forgotten(session):
    session.told, session.blacklist = rows(Ask(KEY, ANY, 2)), frozenset("a")
    session.reopen(3)
    assert (session.told, session.blacklist, session.response_id) == ({}, frozenset(), 3)


def test_a_container_that_is_missing_has_just_so_many_answers(session):
    session.expect([FIRST, SECOND], 2)
    assert session.overdue() == []
    del session.missing[SECOND]
    assert session.overdue() == [FIRST]
    assert session.overdue() == []


PLACED = AskKey(30, 7, is_opportunistic=False, resource=UNIT, placement=PlacementConstraint(frozenset({"web"})))


@pytest.mark.parametrize(
    ("adds", "key", "adds_up"), [(True, PLACED, True), (True, KEY, False), (False, PLACED, False), (False, KEY, False)]
)
def test_only_counts_of_asks_with_a_placement_add_up_and_only_where_a_scheduler_does_so(session, adds, key, adds_up):
    session.adds = adds
    assert session.adds_up(key) is adds_up
    session.told = rows(Ask(key, ANY, 3))
    assert session.changes(rows(Ask(key, ANY, 5))) == [Ask(key, ANY, 2 if adds_up else 5)]


def test_a_scheduler_that_adds_counts_up_is_only_asked_for_more(session):
    session.adds = True

    def says(count):
        return session.request(1, rows(Ask(PLACED, ANY, count)), frozenset(), b"").asks

    assert [ask.count for ask in says(3)] == [3]
    assert session.bound(PLACED) == 3
    session.answered(1)
    assert session.told_of(PLACED) == 3
    assert [ask.count for ask in says(5)] == [2]
    assert session.bound(PLACED) == 5, "what is under way adds to what was told"
    session.answered(2)
    session.granted(PLACED, ())
    assert says(4) == ()
    session.answered(3)
    assert session.request(1, {}, frozenset(), b"").asks == (), "nothing can be taken back"
    session.answered(4)
    session.rejected(PLACED, 2)
    assert session.told_of(PLACED) == 2
    grant = Grant(FIRST, NodeId("n", 1), 30, 7, UNIT, tags=frozenset({"web"}))
    session.suspect(grant)
    assert session.told_of(PLACED) == 1, "whoever wants it, the scheduler has one less to grant"
    session.rejected(PLACED, 5)
    session.suspect(grant)
    assert session.told == {}, "what is not known cannot be taken back either"


def test_a_container_with_tags_that_nobody_wants_raises_no_suspicion(session):
    session.suspect(Grant(FIRST, NodeId("n", 1), 30, 7, UNIT, tags=frozenset({"web"})))
    assert session.told == {}
