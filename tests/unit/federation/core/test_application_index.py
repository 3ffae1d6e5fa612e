"""True times of submission in what homes tell of applications that waited."""

import json
from dataclasses import replace

import pytest

from shim.domain.applications import SPAN_TAG
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.told_bounds import LONGEST_DOCUMENT
from shim.federation.core import application_index
from shim.federation.core.account_book import AccountBook
from shim.federation.core.application_index import ApplicationIndex, SubmitTimes
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.protocol.rest.usage import UsageForm
from tests.doubles.reports import a_document, a_report
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")
ONE = ApplicationId(1, 1)


def a_told_document(sequence=1, started_ms=90_000, **members):
    document = a_document(sequence, "east", started_at_ms=started_ms)
    told = {"id": f"application_1_000{sequence}", "startedTime": started_ms, "elapsedTime": 4_000, **members}
    return document.but(told=json.dumps(told).encode())


def test_started_and_elapsed_time_count_from_the_submission():
    times = SubmitTimes()
    times.note(ONE, 60_000)
    corrected = times.corrected(a_told_document(name='x","startedTime":5,"y', launchTime=91_000))
    assert corrected.summary.started_at_ms == 60_000
    told = json.loads(corrected.raw)
    assert (told["startedTime"], told["elapsedTime"], told["launchTime"]) == (60_000, 34_000, 91_000)
    assert told["name"] == 'x","startedTime":5,"y'
    other = a_told_document(2)
    assert times.corrected(other) is other


def test_a_members_name_in_a_text_before_the_member_is_not_taken_for_it():
    times = SubmitTimes()
    times.note(ONE, 60_000)
    document = a_told_document()
    raw = b'{"name":"a\\"startedTime\\":7","startedTime":90000}'
    corrected = times.corrected(document.but(told=raw))
    assert json.loads(corrected.raw) == {"name": 'a"startedTime":7', "startedTime": 60_000}


def test_the_view_orders_by_submission_whoever_told_of_it():
    view = FederationView((EAST,), usual(ViewSettings))
    view.applications.submit_times.note(ONE, 10_000)
    view.apply(a_report("east", applications=[a_told_document(1, 90_000), a_told_document(2, 50_000)]))
    assert [each.summary.application_id.sequence for each in view.applications.newest_first()] == [2, 1]
    view.applications.note(a_told_document(1, 90_000).but(as_of_s=200.0))
    found = view.applications.find(ONE)
    assert found is not None
    assert found.summary.started_at_ms == 10_000


def test_only_the_newest_are_remembered():
    times = SubmitTimes()
    for number in range(20_001):
        times.note(ApplicationId(1, number), number)
    assert len(times.known) == 20_000
    assert ApplicationId(1, 0) not in times.known


def test_as_many_times_as_are_kept_the_last_one_too():
    times = SubmitTimes()
    for number in range(20_000):
        times.note(ApplicationId(1, number), number)
    assert len(times.known) == 20_000


def test_elapsed_time_is_never_less_than_none():
    times = SubmitTimes()
    times.note(ONE, 95_000)
    assert json.loads(times.corrected(a_told_document()).raw)["elapsedTime"] == 0


def an_index(most_finals=3):
    return ApplicationIndex((EAST, WEST), most_finals)


def seen_of(index, application_id=ONE):
    """Everything that can be asked about one application."""
    return {
        "document": index.find(application_id),
        "home": index.home_of(application_id),
        "forgotten": index.forgotten.get(application_id),
        "written": index.written_at_s(application_id),
        "outdated": application_id in index.outdated,
        "live": [application_id in index.live(each) for each in (EAST, WEST)],
        "counts": [index.count_live(each) for each in (EAST, WEST)],
        "listed": application_id in {each.summary.application_id for each in index.newest_first()},
        "unfinished": application_id in {each.summary.application_id for each in index.unfinished()},
        "synthetic": index.is_synthetic(application_id),
        "waiting": (index.is_waiting(application_id), application_id in index.waiting),
        "disowned": index.is_disowned(application_id),
    }


def _submitted(index):
    index.submit(a_document(1, "east", "SUBMITTED"))


def _forgotten(index):
    index.submit(a_document(1, "east", "SUBMITTED"))
    index.take(a_document(1, "east", as_of_s=101.0))
    index.forget(ONE, EAST, 102.0)
    index.write(ONE, 105.0)


def _written(index):
    index.take(a_document(1, "east"))
    index.write(ONE, 105.0)


HISTORIES = {
    "submitted": _submitted,
    "forgotten": _forgotten,
    "written": _written,
    "waits": lambda index: index.wait(a_document(1, "east", "SUBMITTED")),
    "told of": lambda index: index.take(a_document(1, "west")),
    "ended": lambda index: index.take(a_document(1, "west", "FINISHED")),
    "moved": lambda index: index.move(a_document(1, "west", "SUBMITTED")),
}


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_what_was_removed_is_as_if_it_had_never_been(history):
    index, new = an_index(), an_index()
    history(index)
    before = index.version
    index.newest_first()
    index.remove(ONE)
    assert seen_of(index) == seen_of(new)
    assert index.version > before, "what was answered before is out of date"
    for each in (index, new):
        assert not each.take(a_document(1, "west", as_of_s=1.0)), "an older document, of another home, is welcome"
    assert seen_of(index) == seen_of(new)


STATES = {
    "submitted": {"home": EAST, "written": 100.0, "outdated": True, "synthetic": True},
    "forgotten": {"home": EAST, "forgotten": EAST, "written": 105.0, "outdated": True, "counts": [1, 0]},
    "written": {"home": EAST, "written": 105.0, "outdated": True, "counts": [1, 0]},
    "waits": {"home": EAST, "synthetic": True, "waiting": (True, True), "unfinished": False},
    "told of": {"home": WEST, "counts": [0, 1]},
    "ended": {"home": WEST, "unfinished": False},
    "moved": {"home": WEST, "written": 100.0, "outdated": True, "synthetic": True},
}


@pytest.mark.parametrize("history", HISTORIES)
def test_what_is_known_of_an_application(history):
    index = an_index()
    HISTORIES[history](index)
    counts = STATES[history].get("counts", [0, 0])
    shown = {"listed": True, "unfinished": True, "live": [bool(each) for each in counts]}
    told = seen_of(index)
    assert told.pop("document").summary.application_id == ONE
    assert told == {key: value for key, value in (seen_of(an_index()) | shown | STATES[history]).items() if key in told}


@pytest.mark.parametrize("history", [name for name in HISTORIES if name != "waits"])
@pytest.mark.parametrize("state", ["SUBMITTED", "FAILED"])
def test_one_that_moves_is_its_new_homes_whatever_was_known(history, state):
    index = an_index()
    HISTORIES[history](index)
    before = index.version
    index.move(document := a_document(1, "west", state, as_of_s=300.0))
    assert index.version > before
    told = seen_of(index)
    assert (told["document"], told["home"], told["forgotten"], told["written"]) == (document, WEST, None, 300.0)
    assert (told["live"], told["synthetic"]) == ([False, False], state == "SUBMITTED")
    index.take(document := a_document(1, "west", "FINISHED", as_of_s=301.0))
    assert index.find(ONE) == document
    for number in (2, 3, 4):
        index.take(a_document(number, "east", "FINISHED"))
    assert index.find(ONE) is None, "it is kept as long as another that ended when it did"


def test_a_list_is_made_anew_when_something_has_changed_alone():
    index = an_index()
    _written(index)
    listed = index.newest_first()
    assert index.newest_first() is listed
    index.take(a_document(1, "east", as_of_s=200.0))
    assert index.newest_first() is not listed


@pytest.mark.parametrize("history", HISTORIES)
def test_what_was_withdrawn_has_no_home_but_that_which_told_of_it(history):
    index = an_index()
    HISTORIES[history](index)
    told, was_synthetic = index.find(ONE), index.is_synthetic(ONE)
    index.withdraw(ONE)
    assert index.find(ONE) == (None if was_synthetic else told)
    assert index.home_of(ONE) == (None if was_synthetic else told.summary.home_subcluster)
    assert index.forgotten == {}
    index.note_home(ONE, NORTH)
    assert (index.home_of(ONE), index.find(ONE)) == (NORTH, None)


NORTH = SubClusterId("north")


def test_what_was_disowned_stays_for_ever():
    index = an_index()
    _forgotten(index)
    final = a_document(1, "east", "KILLED", as_of_s=103.0)
    before = index.version
    index.disown(final)
    assert index.version > before
    index.remove(ONE)
    for state in ("RUNNING", "FAILED"):
        assert not index.take(a_document(1, "east", state, as_of_s=200.0))
    assert seen_of(index) == seen_of(an_index()) | {
        "document": final,
        "home": EAST,
        "listed": True,
        "disowned": True,
    }


def test_a_submission_that_was_withdrawn_leaves_what_its_home_told_of_it():
    index = an_index()
    _submitted(index)
    index.withdraw(ONE)
    assert seen_of(index) == seen_of(an_index())
    _submitted(index)
    index.take(told := a_document(1, "east", as_of_s=101.0))
    index.forget(ONE, EAST, 102.0)
    index.withdraw(ONE)
    assert (index.find(ONE), index.forgotten) == (told, {})
    index.note_home(ONE, WEST)
    assert (index.find(ONE), index.home_of(ONE)) == (None, WEST)


def test_a_repeated_submission_changes_neither_what_has_ended_nor_what_its_home_told():
    index = an_index()
    index.take(told := a_document(1, "east", as_of_s=101.0))
    index.submit(a_document(1, "east", "SUBMITTED", as_of_s=102.0))
    assert (index.find(ONE), index.written_at_s(ONE), index.is_synthetic(ONE)) == (told, 102.0, False)
    index.submit(elsewhere := a_document(1, "west", "SUBMITTED", as_of_s=103.0))
    assert (index.find(ONE), index.home_of(ONE), index.live(EAST)) == (elsewhere, WEST, frozenset())
    index.take(ended := a_document(1, "west", "FINISHED", as_of_s=104.0))
    before = index.version
    index.submit(a_document(1, "east", "SUBMITTED", as_of_s=105.0))
    assert (index.find(ONE), index.home_of(ONE), index.version) == (ended, WEST, before)


def test_one_that_moved_after_its_end_is_counted_once_among_those_that_ended():
    index = an_index(most_finals=2)
    index.take(a_document(1, "east", "FINISHED"))
    index.move(a_document(1, "west", "SUBMITTED", as_of_s=101.0))
    assert (index.is_synthetic(ONE), index.home_of(ONE)) == (True, WEST)
    index.move(a_document(1, "west", "FAILED", as_of_s=102.0))
    assert not index.is_synthetic(ONE)
    for number in (2, 3):
        index.take(a_document(number, "east", "FINISHED"))
    assert [each.summary.application_id.sequence for each in index.newest_first()] == [3, 2]


def test_one_that_moved_after_its_end_lives_and_does_not_give_way_to_those_that_end():
    index = an_index(most_finals=1)
    index.take(a_document(1, "east", "FINISHED"))
    index.move(moved := a_document(1, "west", "SUBMITTED", as_of_s=101.0))
    index.take(a_document(2, "east", "FINISHED"))
    assert index.find(ONE) == moved
    index.take(a_document(1, "west", "FAILED", as_of_s=102.0))
    assert [each.summary.application_id.sequence for each in index.newest_first()] == [1]


def test_what_was_noted_of_a_home_goes_when_the_submission_is_withdrawn():
    index = an_index()
    index.note_home(ONE, WEST)
    assert index.home_of(ONE) == WEST
    index.withdraw(ONE)
    assert index.home_of(ONE) is None
    index.take(a_document(1, "west"))
    index.take(first := a_document(1, "east", as_of_s=50.0))
    assert index.find(ONE) == first, "the first in the configured order, as no home is known"


def test_where_there_is_no_room_what_is_known_there_is_renewed_and_nothing_else_taken(monkeypatch):
    monkeypatch.setattr(application_index, "MOST_APPLICATIONS", 1)
    index = an_index()
    index.take(a_document(1, "east"))
    index.take(renewed := a_document(1, "east", "ACCEPTED", as_of_s=200.0))
    assert index.find(ONE) == renewed
    index.take(a_document(2, "west"))
    index.take(a_document(3, "east"))
    assert index.find(ApplicationId(1, 3)) is None
    index.take(a_document(2, "east", as_of_s=300.0))
    assert index.home_of(ApplicationId(1, 2)) == WEST, "known elsewhere is not known here"
    index.take(ended := a_document(2, "east", "FINISHED", as_of_s=300.0))
    assert index.find(ApplicationId(1, 2)) == ended, "what has ended takes no room"


def test_of_those_that_wait_the_end_is_shown_and_others_are_not_touched():
    index = an_index()
    index.take(told := a_document(2, "east"))
    index.end_waiting(ApplicationId(1, 2), a_document(2, "east", "KILLED", as_of_s=200.0))
    assert index.find(ApplicationId(1, 2)) == told
    index.wait(told.but(as_of_s=300.0))
    assert (index.find(ApplicationId(1, 2)), index.waiting) == (told, frozenset())
    index.wait(waits := a_document(1, "east", "SUBMITTED"))
    before = index.version
    index.wait(waits)
    assert (index.version, index.waiting, index.unfinished()) == (before, {ONE}, [told])
    index.wait(waits.but(told=b"{}"))
    assert index.version > before
    index.end_waiting(ONE, final := a_document(1, "east", "KILLED"))
    assert (index.find(ONE), index.waiting) == (final, frozenset())


@pytest.mark.parametrize(
    ("home", "told_by", "as_of_s", "state", "stays", "is_forgotten"),
    [
        (EAST, EAST, 102.0, "RUNNING", True, True),
        (EAST, EAST, 100.0, "RUNNING", True, True),
        (EAST, EAST, 99.9, "RUNNING", True, False),
        (EAST, EAST, 102.0, "FINISHED", True, False),
        (EAST, WEST, 102.0, "RUNNING", True, False),
        (WEST, EAST, 102.0, "RUNNING", True, False),
        (None, EAST, 102.0, "RUNNING", False, False),
        (None, EAST, 99.9, "RUNNING", True, False),
        (None, EAST, 102.0, "FINISHED", True, False),
        (None, WEST, 102.0, "RUNNING", True, False),
    ],
)
def test_a_home_that_does_not_know_an_application(home, told_by, as_of_s, state, stays, is_forgotten):
    """Its document is of `east`, of the hundredth second."""
    index = an_index()
    index.take(a_document(1, "east", state))
    if home is EAST:
        index.note_home(ONE, home)
    elif home is not None:
        index.submit(a_document(1, home, "SUBMITTED", as_of_s=1.0))
        index.take(a_document(1, "west", as_of_s=100.0))
    assert index.forget(ONE, told_by, as_of_s) is is_forgotten
    assert (index.find(ONE) is not None) is stays
    assert index.forgotten == ({ONE: told_by} if is_forgotten else {})


def test_an_id_that_nobody_told_of_is_forgotten_at_its_home_alone():
    index = an_index()
    assert not index.forget(ONE, EAST, 1.0)
    index.note_home(ONE, EAST)
    assert not index.forget(ONE, WEST, 1.0)
    assert index.forget(ONE, EAST, 1.0)
    assert index.forgotten == {ONE: EAST}


def test_live_bytes_are_those_of_the_documents_that_stand(monkeypatch):
    """A bound that nothing reaches by rounds of growth and shrinkage, as the sum is always that of the last ones."""
    monkeypatch.setattr(application_index, "MOST_LIVE_BYTES", 1000)

    def told(number, size, home="east", state="RUNNING", as_of_s=100.0):
        return a_document(number, home, state, as_of_s=as_of_s).but(told=b"x" * size)

    index = an_index()
    for at, size in enumerate((900, 100, 900, 400)):
        assert not index.take(told(1, size, as_of_s=100.0 + at))
    index.take(told(2, 599))
    index.take(told(3, 1))  # 999 stand, so there is room for one more of whatever length
    index.take(told(4, 1))
    assert [index.find(ApplicationId(1, number)) is not None for number in (1, 2, 3, 4)] == [True, True, True, False]
    index.take(told(5, 1000, home="west"))
    assert index.count_live(WEST) == 1, "each has bytes of its own"
    index.remove(ApplicationId(1, 3))
    index.take(told(4, 1))
    assert index.find(ApplicationId(1, 4)) is not None
    index.take(told(1, 400, state="FINISHED", as_of_s=200.0))
    for number in (6, 7):
        index.take(told(number, 200))
    assert index.count_live(EAST) == 4


@pytest.mark.parametrize(("size", "is_kept"), [(LONGEST_DOCUMENT, True), (LONGEST_DOCUMENT + 1, False)])
def test_a_document_is_kept_up_to_a_length(size, is_kept):
    index = an_index()
    index.take(a_document(1, "east").but(told=b"x" * size))
    assert (index.find(ONE) is not None) is is_kept


@pytest.mark.parametrize(
    ("first", "then", "stands"),
    [
        (a_document(1, "east"), a_document(1, "east", "ACCEPTED", as_of_s=100.1), 1),
        (a_document(1, "east"), a_document(1, "east", "ACCEPTED", as_of_s=100.0), 0),
        (a_document(1, "east", "FINISHED"), a_document(1, "east", as_of_s=200.0), 0),
        (a_document(1, "east"), a_document(1, "east", "FINISHED", as_of_s=1.0), 1),
        (a_document(1, "east"), a_document(1, "west", as_of_s=200.0), 0),
        (a_document(1, "west"), a_document(1, "east", as_of_s=1.0), 1),
        (a_document(1, "east"), a_document(1, "annex", as_of_s=200.0), 0),
        (a_document(1, "annex"), a_document(1, "west", as_of_s=1.0), 1),
    ],
)
def test_of_two_documents_the_later_one_the_final_one_or_that_of_the_first_home_stands(first, then, stands):
    index = ApplicationIndex((EAST, WEST, SubClusterId("annex")), 3)
    index.take(first)
    before = index.version
    became_final = index.take(then)
    assert index.find(ONE) == (first, then)[stands]
    assert (index.version > before) is bool(stands)
    assert became_final is (bool(stands) and then.summary.state.is_final)


def test_a_write_is_known_until_a_document_from_then_or_the_end():
    index = an_index()
    index.take(a_document(1, "east"))
    for at_s in (105.0, 103.0):
        before = index.version
        index.write(ONE, at_s)
        assert (index.written_at_s(ONE), index.outdated, index.version > before) == (105.0, (ONE,), True)
    index.take(a_document(1, "east", as_of_s=104.9))
    assert index.written_at_s(ONE) == 105.0
    index.take(a_document(1, "east", as_of_s=105.0))
    assert index.written_at_s(ONE) is None
    index.write(ONE, 110.0)
    index.take(a_document(1, "east", "FINISHED", as_of_s=106.0))
    assert index.outdated == ()


def an_index_of(*documents):
    index = ApplicationIndex((EAST, WEST), most_finals=5)
    for document in documents:
        index.take(document)
    return index


def told_again(document, as_of_s, raw=b'{"new":1}'):
    """The same summary, as a poll tells it in which only what nobody decides on has changed."""
    return document.but(as_of_s=as_of_s, told=raw)


def test_what_is_told_again_stands_and_answers_change():
    first = a_told_document()
    index = an_index_of(first)
    version = index.version
    index.take(told_again(first, 101.0, first.raw))
    assert (index.version, index.find(ONE).as_of_s) == (version, 101.0)
    later = told_again(first, 102.0)
    assert not index.take(later)
    assert index.version > version
    assert index.find(ONE) is later
    assert list(index.columns.raws(index.columns.newest_first())) == [b'{"new":1}']
    assert index.live(EAST) == {ONE}


def test_what_is_told_again_but_was_asked_for_before_does_not_stand():
    first = a_told_document()
    index = an_index_of(first)
    for as_of_s in (99.0, 100.0):
        before = index.version
        index.take(told_again(first, as_of_s))
        assert index.find(ONE) is first
        assert index.version == before


def test_what_is_told_again_settles_what_was_written_and_forgotten_before_it_was_asked_for():
    first = a_told_document()
    index = an_index_of(first)
    index.note_home(ONE, EAST)
    assert index.forget(ONE, EAST, 101.0)
    index.take(told_again(first, 101.5))
    assert index.forgotten == {}
    index.write(ONE, 103.0)
    index.take(told_again(first, 102.0))
    assert index.written_at_s(ONE) == 103.0
    index.take(told_again(first, 104.0))
    assert index.written_at_s(ONE) is None


def test_bytes_of_what_is_told_again_are_counted(monkeypatch):
    monkeypatch.setattr(application_index, "MOST_LIVE_BYTES", 500)
    first = a_told_document()
    index = an_index_of(first)
    index.take(told_again(first, 101.0, b"x" * 600))
    assert index.find(ONE).raw == b"x" * 600
    index.take(a_told_document(2))
    assert index.find(ApplicationId(1, 2)) is None, "no room"
    index.take(told_again(first, 102.0, b"x" * 60))
    index.take(a_told_document(2))
    assert index.find(ApplicationId(1, 2)) is not None
    index.take(told_again(first, 103.0, b"x" * (1 + 1024 * 1024)))
    assert index.find(ONE).as_of_s == 102.0, "longer than a document may be"


def test_what_an_application_uses_elsewhere_is_shown_when_its_home_tells_again():
    book = AccountBook(UsageForm())
    index = ApplicationIndex((EAST, WEST), most_finals=5, accounts=book)
    home = a_told_document(memorySeconds=10)
    index.take(home)
    part = replace(home.summary, home_subcluster=WEST, tags=(SPAN_TAG,))
    index.take(home.but(summary=part, told=json.dumps({"memorySeconds": 5}).encode()))
    raw = home.raw.replace(b'"memorySeconds": 10', b'"memorySeconds": 20')
    index.take(told_again(home, 102.0, raw))
    assert json.loads(index.find(ONE).raw)["memorySeconds"] == 25


@pytest.mark.parametrize("state", ["RUNNING", "FINISHED"])
def test_only_what_ends_now_ends_by_a_document(state, monkeypatch):
    monkeypatch.setattr(application_index, "MOST_LIVE_BYTES", 200)
    index = an_index_of(first := a_told_document())
    is_final = state == "FINISHED"
    ended = a_document(1, "east", state, as_of_s=101.0)
    told = [
        told_again(first, 100.5),
        told_again(first, 100.25),  # asked for before
        ended.but(summary=replace(ended.summary, tags=(SPAN_TAG,)), told=b"{}"),
        ended.but(told=b"x" * (LONGEST_DOCUMENT + 1)),
    ]
    assert [index.take(each) for each in told] == [False] * 4
    assert index.take(ended) is is_final
    assert not index.take(ended.but(as_of_s=102.0))
    assert not index.take(ended.but(as_of_s=103.0, summary=replace(ended.summary, name="other")))
    index.disown(a_document(2, "east", "KILLED"))
    assert not index.take(a_document(2, "east", state, as_of_s=200.0))
    assert not index.take(a_document(3, "west").but(told=b"x" * 300))
    assert not index.take(a_document(4, "west").but(told=b"x" * 300)), "no room"


@pytest.mark.parametrize(
    "second",
    [
        a_document(1, "east", as_of_s=101.0),  # nothing but what nobody decides on
        a_document(1, "east", "FINISHED", as_of_s=101.0),
        a_document(2, "east"),
    ],
)
def test_what_was_made_of_documents_stands_until_a_list_is_taken_in(second):
    index = ApplicationIndex((EAST, WEST), most_finals=1)
    first = a_document(1, "east")
    index.take(first)
    told = second.but(summary=first.summary) if second.summary == first.summary else second
    before = index.version
    index.note(told, is_listed=True)
    assert (index.version, index.find(told.summary.application_id)) == (before, told)
    index.end_list()
    listed = index.version
    assert listed > before
    index.end_list()
    assert index.version == listed, "nothing has come since"


def test_ended_ones_that_give_way_within_a_list_do_so_with_its_end():
    index = ApplicationIndex((EAST, WEST), most_finals=1)
    index.take(a_document(1, "east", "FINISHED"))
    before = index.version
    index.note(a_document(2, "east", "FINISHED"), is_listed=True)
    assert (index.version, index.find(ONE)) == (before, None)
    index.write(ONE, 105.0)
    assert index.version == before + 1, "what Heddle does itself is known at once"
