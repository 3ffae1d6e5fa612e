"""Whatever happens to reports on their way, the view ends up knowing the truth, and never says the impossible."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.applications import FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import SubClusterState
from shim.federation.core import application_index
from shim.federation.core.application_index import ApplicationIndex
from shim.federation.core.federation_view import FederationView, ViewSettings
from tests.doubles.reports import a_document, a_report
from tests.doubles.settings import usual

NAMES = ("east", "west")
LIVES = (["ACCEPTED", "RUNNING", "FINISHED"], ["ACCEPTED", "FAILED"], ["ACCEPTED", "RUNNING", "RUNNING", "RUNNING"])
POSSIBLE = {
    **{key: {"UNDEFINED"} for key in ["NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED"]},
    "RUNNING": {"UNDEFINED", "SUCCEEDED"},
    "FINISHED": {"SUCCEEDED", "FAILED", "KILLED"},
    "FAILED": {"FAILED"},
    "KILLED": {"KILLED"},
}


@st.composite
def histories(draw):
    """Reports of two sub-clusters, each telling the live and the newly ended applications, in the order of making."""
    reports = {name: [] for name in NAMES}
    for place, name in enumerate(NAMES):
        applications = draw(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(LIVES)), max_size=4))
        for step in range(6):
            told = []
            for number, (begin, life) in enumerate(applications):
                age = step - begin
                if age >= 0:
                    state = life[min(age, len(life) - 1)]
                    ended_before = age >= len(life) and YarnApplicationState(state).is_final
                    if not ended_before:
                        at_s = 100.0 + step
                        told.append(a_document(10 * place + number, name, state, as_of_s=at_s))
            reports[name].append(a_report(name, step + 1, polled_at_s=100.0 + step, applications=told))
    return reports


def truth(reports):
    """The state of each application that the last report telling of it says."""
    known = {}
    for name in NAMES:
        for report in reports[name]:
            for application_id, document in report.applications.items():
                known[application_id] = document.summary.state
    return known


def believed(view):
    return {document.summary.application_id: document.summary.state for document in view.applications.newest_first()}


def a_view():
    return FederationView(tuple(SubClusterId(name) for name in NAMES), usual(ViewSettings))


def is_ordered(before, after):
    """A final state stays, and live ones move on only."""
    order = list(YarnApplicationState)
    return before == after or (not before.is_final and order.index(after) >= order.index(before))


@given(histories(), st.data())
def test_lost_repeated_and_late_reports_never_take_a_state_back_nor_make_up_a_pair(reports, data):
    deliveries = [report for name in NAMES for report in reports[name]]
    arriving = data.draw(st.lists(st.sampled_from(deliveries), max_size=30))
    view = a_view()
    before = {}
    for report in arriving:
        view.apply(report)
        now = believed(view)
        assert before.keys() <= now.keys()
        assert all(is_ordered(before[application_id], now[application_id]) for application_id in before)
        for document in view.applications.newest_first():
            summary = document.summary
            assert summary.final_status.value in POSSIBLE[summary.state.value]
            assert f'"{summary.state.value}"'.encode() in document.raw
            assert f'"{summary.final_status.value}"'.encode() in document.raw
        before = now


@given(histories(), st.data())
def test_whatever_the_order_between_sub_clusters_every_report_in_its_own_order_gives_the_truth(reports, data):
    queues = {name: list(reports[name]) for name in NAMES}
    view = a_view()
    while any(queues.values()):
        name = data.draw(st.sampled_from([name for name in NAMES if queues[name]]))
        report = queues[name].pop(0)
        for _ in range(data.draw(st.integers(1, 2))):
            view.apply(report)
    assert believed(view) == truth(reports)


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 20), st.sampled_from(["RUNNING", "FINISHED"]))), st.data()
)
def test_documents_of_one_application_give_the_same_in_whatever_order_they_come(told, data):
    documents = {(name, at): a_document(1, name, state, as_of_s=float(at)) for name, at, state in told}
    one, other = a_view(), a_view()
    for document in documents.values():
        one.applications.note(document)
    for document in data.draw(st.permutations(list(documents.values()))):
        other.applications.note(document)
    assert [document.summary for document in one.applications.newest_first()] == [
        document.summary for document in other.applications.newest_first()
    ]
    assert [document.raw for document in one.applications.newest_first()] == [
        document.raw for document in other.applications.newest_first()
    ]


def test_the_pairs_that_are_called_possible_are_all_of_hadoop():
    assert set(POSSIBLE) == {state.value for state in YarnApplicationState}
    assert set().union(*POSSIBLE.values()) <= {status.value for status in FinalStatus}


SECONDS = st.one_of(st.floats(99.0, 130.0), st.integers(99, 130).map(float))
EVENTS = st.one_of(
    st.tuples(st.just("report"), st.sampled_from(NAMES), SECONDS),
    st.tuples(st.just("failure"), st.sampled_from(NAMES), SECONDS),
    st.tuples(st.just("retire"), st.sets(st.sampled_from(NAMES)), SECONDS),
    st.tuples(st.sampled_from(["watch", "unwatch"]), st.sampled_from(NAMES), SECONDS),
    st.tuples(st.just("look"), st.none(), SECONDS),
)


@given(st.lists(EVENTS, max_size=30))
def test_who_is_late_is_told_of_the_moment_that_is_asked_for(events):
    view = a_view()
    for number, (what, who, at_s) in enumerate(events):
        if what == "report":
            view.apply(a_report(who, number + 1, polled_at_s=at_s))
        elif what == "failure":
            view.note_failure(SubClusterId(who), "away", at_s=at_s)
        elif what == "retire":
            view.retire({SubClusterId(name) for name in who})
        elif what != "look":
            getattr(view, what)(SubClusterId(who))
        looked = [view.look(SubClusterId(name), at_s) for name in NAMES]
        late = tuple(each.subcluster for each in looked if each.failure or each.state is not SubClusterState.RUNNING)
        assert view.late(at_s) == late


@given(st.lists(EVENTS, max_size=30))
def test_who_is_lost_is_so_by_its_age_and_by_whether_a_failure_would_have_been_told(events):
    """Beside the view, a table of what was told of each, and the rule in one line."""
    view = a_view()
    after_s = usual(ViewSettings).late_after_s
    heard_s, failed_s, watched, retired = {}, {}, set(), set()
    for number, (what, who, at_s) in enumerate(events):
        if what == "report":
            view.apply(a_report(who, number + 1, polled_at_s=at_s))
            if who not in retired:
                heard_s[who] = max(heard_s.get(who, 0.0), at_s)
                failed_s = {name: told for name, told in failed_s.items() if name != who or told > at_s}
        elif what == "failure":
            view.note_failure(SubClusterId(who), "away", at_s=at_s)
            failed_s[who] = at_s
        elif what == "retire":
            view.retire({SubClusterId(name) for name in who})
            retired = who
        elif what == "watch":
            view.watch(SubClusterId(who))
            watched.add(who)
        elif what == "unwatch":
            view.unwatch(SubClusterId(who))
            watched.discard(who)
        for name, last_s in heard_s.items():
            within_s = 4 * after_s if name in watched and name not in failed_s else after_s
            is_lost = name in retired or at_s - last_s > within_s
            assert (view.state(SubClusterId(name), at_s) is SubClusterState.LOST) is is_lost


TOLD = {
    (number, home, state): a_document(number, home, state)
    for number in (1, 2, 3)
    for home in NAMES
    for state in ("ACCEPTED", "RUNNING", "FINISHED")
}
"""A reader gives the same summary as long as only what nobody decides on changes."""
HAPPENINGS = st.one_of(
    st.tuples(st.just("take"), st.sampled_from(sorted(TOLD)), st.integers(1, 9), st.integers(1, 7)),
    st.tuples(st.sampled_from(["submit", "wait", "move"]), st.sampled_from(sorted(TOLD)), st.integers(1, 9)),
    st.tuples(st.sampled_from(["write", "forget"]), st.sampled_from(sorted(TOLD)), st.integers(1, 9)),
    st.tuples(st.sampled_from(["withdraw", "end_waiting", "remove"]), st.sampled_from(sorted(TOLD))),
)


def happens(index, what, key, at_s=0, length=0, *, is_same):
    """Have something happen; what is told is the summary that was told before, or one that is equal to it."""
    document = TOLD[key].but(as_of_s=float(at_s), told=b"x" * length)
    summary = document.summary if is_same else replace(document.summary)
    match what:
        case "take":
            index.take(document.but(summary=summary))
        case "submit" | "wait" | "move":
            getattr(index, what)(document.but(told=b"own"))
        case "write":
            index.write(document.summary.application_id, document.as_of_s)
        case "forget":
            index.forget(document.summary.application_id, document.summary.home_subcluster, document.as_of_s)
        case _:
            getattr(index, what)(document.summary.application_id)


def all_that_is_known(index):
    return (
        [(each.raw, each.as_of_s, each.summary) for each in index.newest_first()],
        [(each.raw, each.as_of_s) for each in index.columns.documents(index.columns.newest_first())],
        [index.live(SubClusterId(name)) for name in NAMES],
        [index.home_of(ApplicationId(1, number)) for number in (1, 2, 3)],
        [index.written_at_s(ApplicationId(1, number)) for number in (1, 2, 3)],
        (index.forgotten, index.waiting, index.version),
    )


@given(st.lists(HAPPENINGS, max_size=25))
def test_what_is_put_in_the_place_of_what_was_told_is_known_as_if_it_was_taken_in_anew(happenings):
    """The short way of polls that tell what they did last, beside the long one; with bounds that are soon reached."""
    quick, slow = (ApplicationIndex([SubClusterId(name) for name in NAMES], 2) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        for name, most in (("LONGEST_DOCUMENT", 6), ("MOST_LIVE_BYTES", 9), ("MOST_APPLICATIONS", 3)):
            patch.setattr(application_index, name, most)
        for happening in happenings:
            happens(quick, *happening, is_same=True)
            happens(slow, *happening, is_same=False)
            assert all_that_is_known(quick) == all_that_is_known(slow)
