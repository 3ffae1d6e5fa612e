from dataclasses import replace
from itertools import product

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import HaState, SubClusterState
from shim.federation.core import application_index
from shim.federation.core.federation_view import (
    AwaitedNodes,
    FederationView,
    Part,
    PartDocument,
    PendingPlacement,
    SubClusterView,
    ViewSettings,
    by_short_name,
    find_queue,
    submitted_name,
)
from tests.doubles.reports import a_document, a_node_report, a_queue_report, a_report

EAST, WEST = SubClusterId("east"), SubClusterId("west")
ONE = ApplicationId(1, 1)


@pytest.fixture
def view():
    return FederationView((EAST, WEST), ViewSettings(late_after_s=6.0, final_documents=3))


def states(view):
    return {
        document.summary.application_id.sequence: document.summary.state.value
        for document in view.applications.newest_first()
    }


@pytest.mark.parametrize(
    ("now_s", "ha_state", "state"),
    [
        (100.0, HaState.ACTIVE, SubClusterState.RUNNING),
        (106.0, HaState.ACTIVE, SubClusterState.RUNNING),
        (106.1, HaState.ACTIVE, SubClusterState.LOST),
        (101.0, HaState.INITIALIZING, SubClusterState.RECOVERING),
        (101.0, HaState.STANDBY, SubClusterState.RECOVERING),
        (107.0, HaState.STANDBY, SubClusterState.LOST),
    ],
)
def test_state_of_a_sub_cluster_is_told_by_its_age_and_its_word(view, now_s, ha_state, state):
    view.apply(a_report("east", polled_at_s=100.0, ha_state=ha_state))
    assert view.state(EAST, now_s) is state
    assert view.state(WEST, now_s) is SubClusterState.NEW


@pytest.mark.parametrize(
    ("is_watched", "failure", "lost_after_s"), [(False, "", 6), (False, "x", 6), (True, "", 24), (True, "x", 6)]
)
def test_reports_of_a_watched_one_may_be_away_longer_unless_it_failed(view, is_watched, failure, lost_after_s):
    view.apply(a_report("east", polled_at_s=100.0))
    view.late(100.0)
    if is_watched:
        view.watch(EAST)
    if failure:
        view.note_failure(EAST, failure, at_s=101.0)
    for over_s, state in ((-0.1, SubClusterState.RUNNING), (0.1, SubClusterState.LOST)):
        now_s = 100.0 + lost_after_s + over_s
        assert view.state(EAST, now_s) is state
        assert (EAST in view.late(now_s)) is (bool(failure) or state is SubClusterState.LOST)
        assert view.age_s(EAST, now_s) == pytest.approx(lost_after_s + over_s)


def test_one_that_is_watched_no_more_may_be_away_no_longer_than_any(view):
    view.apply(a_report("east", polled_at_s=100.0))
    view.watch(EAST)
    assert view.late(107.0) == (WEST,)
    view.unwatch(EAST)
    assert view.late(107.0) == (EAST, WEST)
    view.watch(EAST)
    assert view.late(107.0) == (WEST,)


def test_applications_of_a_lost_sub_cluster_stay_listed_and_live(view):
    view.apply(a_report("east", applications=[a_document(1, "east")]))
    assert view.state(EAST, 10_000.0) is SubClusterState.LOST
    assert states(view) == {1: "RUNNING"}


def test_absence_from_a_report_ends_nothing(view):
    view.apply(a_report("east", 1, applications=[a_document(1, "east")]))
    view.apply(a_report("east", 2, polled_at_s=102.0))
    assert states(view) == {1: "RUNNING"}


def test_a_report_that_is_older_than_the_last_is_not_applied(view):
    view.apply(a_report("east", 2, polled_at_s=102.0, applications=[a_document(1, "east", "RUNNING", as_of_s=102.0)]))
    applied = view.apply(a_report("east", 1, applications=[a_document(1, "east", "ACCEPTED")]))
    assert not applied.is_new
    assert states(view) == {1: "RUNNING"}


def test_a_new_life_of_the_local_master_starts_counting_anew(view):
    view.apply(a_report("east", 9, incarnation=1))
    assert view.apply(a_report("east", 1, polled_at_s=101.0, incarnation=2)).is_new
    assert not view.apply(a_report("east", 10, polled_at_s=103.0, incarnation=1)).is_new


def test_a_final_document_is_never_replaced_by_a_live_one(view):
    view.applications.note(a_document(1, "east", "FINISHED", as_of_s=100.0))
    view.apply(a_report("east", applications=[a_document(1, "east", "RUNNING", as_of_s=110.0)]))
    assert states(view) == {1: "FINISHED"}
    assert ONE not in view.applications.live(EAST)


def test_a_document_that_was_asked_for_earlier_does_not_replace_a_later_one(view):
    view.applications.note(a_document(1, "east", "RUNNING", as_of_s=105.0))
    view.apply(a_report("east", polled_at_s=104.0, applications=[a_document(1, "east", "ACCEPTED", as_of_s=104.0)]))
    assert states(view) == {1: "RUNNING"}


def test_becoming_final_is_told_once(view):
    assert view.apply(a_report("east", 1, applications=[a_document(1, "east", "KILLED")])).became_final == (ONE,)
    again = a_report("east", 2, applications=[a_document(1, "east", "KILLED", as_of_s=102.0)])
    assert view.apply(again).became_final == ()


def test_a_submission_is_listed_as_submitted_until_its_home_tells_of_it(view):
    view.applications.submit(a_document(1, "east", "SUBMITTED", as_of_s=100.0))
    assert states(view) == {1: "SUBMITTED"}
    assert view.applications.is_synthetic(ONE)
    view.apply(a_report("east", polled_at_s=99.0))
    assert states(view) == {1: "SUBMITTED"}
    view.apply(a_report("east", 2, applications=[a_document(1, "east", "ACCEPTED", as_of_s=101.0)]))
    assert states(view) == {1: "ACCEPTED"}
    assert not view.applications.is_synthetic(ONE)


def test_the_state_does_not_go_back_to_submitted_when_a_submission_is_repeated(view):
    view.applications.note(a_document(1, "east", "RUNNING"))
    view.applications.submit(a_document(1, "east", "SUBMITTED", as_of_s=101.0))
    assert states(view) == {1: "RUNNING"}


def test_a_rejected_submission_is_not_listed(view):
    view.applications.submit(a_document(1, "east", "SUBMITTED"))
    view.applications.withdraw(ONE)
    assert states(view) == {}
    assert view.applications.home_of(ONE) is None


def test_an_application_that_two_sub_clusters_know_is_told_by_its_home(view):
    view.applications.submit(a_document(1, "west", "SUBMITTED"))
    view.apply(a_report("east", applications=[a_document(1, "east", "RUNNING", as_of_s=101.0)]))
    assert view.applications.home_of(ONE) == WEST
    assert states(view) == {1: "SUBMITTED"}
    view.applications.note(a_document(1, "west", "FINISHED", as_of_s=102.0))
    view.apply(a_report("east", 2, applications=[a_document(1, "east", "RUNNING", as_of_s=103.0)]))
    assert states(view) == {1: "FINISHED"}


def test_an_application_that_its_active_home_does_not_know_is_gone_unless_the_federation_answers_for_it(view):
    view.applications.submit(a_document(2, "east", "SUBMITTED"))
    view.apply(a_report("east", 1, applications=[a_document(1, "east"), a_document(2, "east", as_of_s=101.0)]))
    applied = view.apply(a_report("east", 2, polled_at_s=102.0, forgotten=[ONE, ApplicationId(1, 2)]))
    assert states(view) == {2: "RUNNING"}
    assert applied.forgotten == (ApplicationId(1, 2),)
    assert view.applications.forgotten == {ApplicationId(1, 2): EAST}


def test_a_forgotten_application_that_is_told_of_again_is_not_forgotten(view):
    view.applications.submit(a_document(1, "east", "SUBMITTED"))
    view.applications.forget(ONE, EAST, as_of_s=101.0)
    view.applications.note(a_document(1, "east", "ACCEPTED", as_of_s=102.0))
    assert view.applications.forgotten == {}


def test_a_later_document_stands_against_an_earlier_word_that_it_is_unknown(view):
    view.applications.note(a_document(1, "east", as_of_s=105.0))
    view.applications.forget(ONE, EAST, as_of_s=104.0)
    assert states(view) == {1: "RUNNING"}


def test_a_written_application_is_outdated_until_a_document_from_after_the_write(view):
    view.applications.note(a_document(1, "east", as_of_s=100.0))
    view.applications.write(ONE, at_s=101.0)
    assert view.applications.is_outdated(ONE)
    view.applications.note(a_document(1, "east", as_of_s=100.5))
    assert view.applications.outdated == (ONE,)
    view.applications.note(a_document(1, "east", as_of_s=101.0))
    assert not view.applications.is_outdated(ONE)


def test_a_touched_part_is_so_until_a_document_from_after_the_touch(view):
    view.apply(a_report("east"))
    view.mark_touched(EAST, Part.NODES, at_s=101.0)
    view.apply(a_report("east", 2, polled_at_s=100.5))
    assert view.is_touched(EAST, Part.NODES)
    view.note_part(EAST, Part.NODES, PartDocument(b"[]", 101.5))
    assert not view.is_touched(EAST, Part.NODES)
    assert view.part(EAST, Part.NODES) == PartDocument(b"[]", 101.5)


def test_a_failed_poll_makes_a_sub_cluster_late_until_a_report_from_after_it(view):
    view.apply(a_report("east", 1))
    view.note_failure(EAST, "connection refused", at_s=102.0)
    assert EAST in view.late(102.0)
    assert view.look(EAST, 102.0).failure == "connection refused"
    view.apply(a_report("east", 2, polled_at_s=101.0))
    assert EAST in view.late(102.0)
    view.apply(a_report("east", 3, polled_at_s=104.0))
    assert view.late(104.0) == (WEST,)


def test_a_part_that_a_report_does_not_hold_stays_as_it_was(view):
    view.apply(a_report("east", 1))
    view.apply(
        a_report("east", 2, polled_at_s=102.0, documents={"info": b"{}"}, nodes=(), queues=(), is_complete=False)
    )
    seen = view.look(EAST, 102.0)
    assert list(seen.queues) == ["root.default"]
    assert len(seen.nodes) == 1
    assert view.as_of_s(EAST, Part.NODES) == 100.0
    assert view.as_of_s(EAST, Part.APPLICATIONS) == 100.0
    assert seen.age_s == 0.0


def test_placements_count_until_a_scheduler_document_from_after_them(view):
    view.apply(a_report("east", 1))
    view.note_placed(EAST, PendingPlacement("default", ResourceVector(1024, 1), 101.0))
    view.apply(a_report("east", 2, polled_at_s=100.5))
    assert sum(view.look(EAST, 101.0).placements.values()) == 1
    view.apply(a_report("east", 3, polled_at_s=101.0))
    assert not view.look(EAST, 101.0).placements


def test_a_restart_is_seen_by_the_start_time(view):
    assert not view.apply(a_report("east", 1)).has_restarted
    assert view.apply(a_report("east", 2, polled_at_s=102.0, started_on_ms=2)).has_restarted


def test_after_a_restart_its_nodes_are_awaited(view):
    view.apply(a_report("east", 1))
    view.apply(a_report("east", 2, polled_at_s=102.0, started_on_ms=2, capacity=ResourceVector()))
    assert view.look(EAST, 103.0).awaits_nodes
    view.apply(a_report("east", 3, polled_at_s=104.0, started_on_ms=2))
    assert not view.look(EAST, 105.0).awaits_nodes


@pytest.mark.parametrize(
    ("ha_state", "at_s", "are_awaited"),
    [
        (HaState.INITIALIZING, 220.0, True),
        (HaState.INITIALIZING, 222.0, False),
        (HaState.ACTIVE, 161.0, True),
        (HaState.ACTIVE, 163.0, False),
    ],
)
def test_its_nodes_are_awaited_for_a_minute_from_when_it_was_last_seen_to_start(view, ha_state, at_s, are_awaited):
    view.apply(a_report("east", 1))
    view.apply(a_report("east", 2, polled_at_s=102.0, started_on_ms=2, capacity=ResourceVector()))
    view.apply(a_report("east", 3, polled_at_s=161.0, started_on_ms=2, ha_state=ha_state, capacity=ResourceVector()))
    assert view.look(EAST, at_s).awaits_nodes is are_awaited


def test_only_so_many_final_documents_are_kept_and_the_first_goes_first(view):
    view.applications.note(a_document(9, "east", "RUNNING"))
    for sequence in range(1, 6):
        view.applications.note(a_document(sequence, "east", "FINISHED"))
    assert sorted(states(view)) == [3, 4, 5, 9]


def test_versions_change_with_what_is_known_and_with_nothing_else(view):
    view.apply(a_report("east", 1, applications=[a_document(1, "east", "FINISHED")]))
    before = {part: view.version(part) for part in Part}
    view.apply(a_report("east", 2, polled_at_s=102.0, applications=[a_document(1, "east", "FINISHED")]))
    assert {part: view.version(part) for part in Part} == before
    every_part = dict.fromkeys(("info", "metrics", "scheduler"), b"{}") | {"nodes": b"[1]"}
    view.apply(a_report("east", 3, polled_at_s=104.0, documents=every_part))
    changed = {part for part in Part if view.version(part) != before[part]}
    assert changed == {Part.NODES}


def test_applications_come_newest_first(view):
    started = {1: 300, 2: 100, 3: 200, 4: 200}
    for sequence, started_at_ms in started.items():
        view.applications.note(a_document(sequence, "east", started_at_ms=started_at_ms))
    assert list(states(view)) == [1, 4, 3, 2]


def test_a_report_of_an_unknown_sub_cluster_is_refused(view):
    with pytest.raises(KeyError):
        view.apply(a_report("north"))


def a_whole_report(subcluster: str, sequence: int = 1, polled_at_s: float = 100.0):
    documents = {"info": b"{}", "metrics": b"{}", "nodes": b"{}", "scheduler": b"{}"}
    return a_report(
        subcluster,
        sequence,
        polled_at_s=polled_at_s,
        documents=documents,
        capacity=ResourceVector(8192, 8),
        used=ResourceVector(1024, 1),
        maximum_allocation=ResourceVector(4096, 4),
        nodes=[a_node_report()],
        queues=[a_queue_report("root.default")],
        applications=[a_document(1, subcluster)],
    )


def test_a_retired_cluster_leaves_every_sum_until_it_is_revived(view):
    view.apply(a_whole_report("east"))
    before = view.look(EAST, 101.0)
    versions = {part: view.version(part) for part in Part}
    view.mark_touched(EAST, Part.NODES, at_s=100.5)
    view.retire([EAST])
    seen = view.look(EAST, 101.0)
    assert (seen.capacity, seen.used, seen.nodes, dict(seen.queues)) == (ResourceVector(), ResourceVector(), (), {})
    assert [view.part(EAST, part) for part in Part] == [None] * len(Part)
    assert not view.is_touched(EAST, Part.NODES)
    assert states(view) == {1: "RUNNING"}, "its applications stay listed"
    answers_of_parts = [part for part in Part if part is not Part.APPLICATIONS]
    assert all(view.version(part) > versions[part] for part in answers_of_parts), "kept answers are out of date"
    view.retire([])
    assert view.look(EAST, 101.0) == before


def test_nothing_that_a_retired_cluster_tells_is_believed(view):
    view.apply(a_whole_report("east"))
    view.retire([EAST])
    assert not view.apply(a_whole_report("east", 2, polled_at_s=102.0)).is_new
    assert view.state(EAST, 102.0) is SubClusterState.LOST
    view.retire([])
    assert view.as_of_s(EAST, Part.NODES) == 100.0
    assert view.apply(a_whole_report("east", 2, polled_at_s=104.0)).is_new


def test_of_one_cluster_a_bounded_number_of_live_applications_is_kept(view, monkeypatch):
    monkeypatch.setattr(application_index, "MOST_APPLICATIONS", 10)
    monkeypatch.setattr(application_index, "LONGEST_DOCUMENT", 5000)
    for sequence in range(1, 6):
        told = [a_document(5 * sequence + each, "east") for each in range(5)]
        view.apply(a_report("east", sequence, polled_at_s=100.0 + sequence, applications=told))
    assert view.look(EAST, 105.0).running == 10
    view.apply(a_report("west", applications=[a_document(999, "west")]))
    assert view.look(WEST, 105.0).running == 1, "others have room of their own"
    view.apply(a_report("east", 9, polled_at_s=110.0, applications=[a_document(5, "east", "FINISHED", as_of_s=110.0)]))
    assert view.applications.find(ApplicationId(1, 5)).summary.state.is_final
    assert not view.applications.note(a_document(998, "west").but(told=b"x" * 5001))
    assert view.applications.find(ApplicationId(1, 998)) is None


def test_bytes_of_live_documents_are_counted_as_they_come_and_go(view, monkeypatch):
    monkeypatch.setattr(application_index, "MOST_LIVE_BYTES", 1000)
    for turn in range(20):
        first = 100 * turn
        for number in range(first, first + 30):
            view.applications.note(a_document(number, "east", as_of_s=100.0 + turn).but(told=b"x" * (100 + turn)))
        assert 8 <= view.look(EAST, 200.0).running <= 11
        for number in range(first, first + 30):
            view.applications.note(a_document(number, "east", "FINISHED", as_of_s=100.5 + turn))
        assert view.look(EAST, 200.0).running == 0


WHOLE = ResourceVector(1000, 10)


def restarted(*before: ResourceVector, at_s: float = 100.0) -> AwaitedNodes:
    awaited = AwaitedNodes()
    for each in before:
        awaited.restarted(each, at_s)
    return awaited


@pytest.mark.parametrize(("memory_mib", "are_missing"), [(0, True), (949, True), (950, False), (1000, False)])
def test_they_are_missing_until_nearly_all_are_back(memory_mib, are_missing):
    assert restarted(WHOLE).are_missing(ResourceVector(memory_mib, 1), 101.0) is are_missing


@pytest.mark.parametrize(("at_s", "are_missing"), [(159.9, True), (160.0, False)])
def test_what_never_comes_back_is_awaited_for_a_minute(at_s, are_missing):
    assert restarted(WHOLE).are_missing(ResourceVector(), at_s) is are_missing


def test_nothing_is_missing_that_was_never_there():
    assert not AwaitedNodes().are_missing(ResourceVector(), 0.0)
    assert not restarted(ResourceVector()).are_missing(ResourceVector(), 101.0)


def test_a_second_restart_awaits_what_there_was_before_the_first():
    awaited = restarted(WHOLE, ResourceVector(100, 1))
    assert awaited.are_missing(ResourceVector(500, 5), 101.0)
    awaited.restarted(ResourceVector(400, 4), 300.0)
    assert not awaited.are_missing(ResourceVector(500, 5), 301.0), "the first was long ago"


def test_the_minute_begins_when_it_is_active() -> None:
    awaited = restarted(ResourceVector(1000, 1))
    for at_s in (130.0, 159.0, 190.0):  # it recovers what it stored
        awaited.not_there_yet(at_s)
    assert awaited.are_missing(ResourceVector(), 249.0)
    assert not awaited.are_missing(ResourceVector(), 250.0)
    awaited.not_there_yet(300.0)
    assert not awaited.are_missing(ResourceVector(), 301.0), "long after a restart that is no reason"


def test_what_is_late_is_found_anew_when_the_first_of_the_prompt_ones_gets_too_old(view):
    view.apply(a_report("east", polled_at_s=100.0))
    view.apply(a_report("west", polled_at_s=103.0))
    for now_s, late in (
        (104.0, ()),
        (106.0, ()),
        (106.1, (EAST,)),
        (109.0, (EAST,)),
        (109.1, (EAST, WEST)),
        (104.0, ()),
    ):
        assert view.late(now_s) == late
        assert view.age_s(EAST, now_s) == now_s - 100.0
    view.apply(a_report("east", 2, polled_at_s=110.0))
    assert view.late(111.0) == (WEST,)
    view.note_failure(EAST, "refused", at_s=111.0)
    assert view.late(111.0) == (EAST, WEST)
    assert view.age_s(EAST, 90.0) == 0.0


def test_of_a_part_the_later_document_stands_and_only_another_text_is_another_version(view):
    view.apply(a_whole_report("east"))
    first = view.version(Part.NODES)
    others = {part: view.version(part) for part in Part if part is not Part.NODES}
    for raw, as_of_s, stands, is_newer in (
        (b"{1}", 100.0, True, True),
        (b"{1}", 101.0, True, False),
        (b"{2}", 100.9, False, False),
        (b"{2}", 101.0, True, True),
    ):
        view.note_part(EAST, Part.NODES, document := PartDocument(raw, as_of_s))
        assert (view.part(EAST, Part.NODES) == document) is stands
        assert (view.version(Part.NODES) > first) is is_newer
        first = view.version(Part.NODES)
    assert others == {part: view.version(part) for part in others}


@pytest.mark.parametrize(("as_of_s", "is_touched"), [(104.9, True), (105.0, False), (106.0, False)])
def test_a_touched_part_is_fresh_by_a_document_from_the_touch_on(view, as_of_s, is_touched):
    view.apply(a_whole_report("east"))
    view.mark_touched(EAST, Part.NODES, at_s=105.0)
    view.note_part(EAST, Part.NODES, PartDocument(b"{2}", as_of_s))
    assert view.is_touched(EAST, Part.NODES) is is_touched


def test_a_look_tells_all_that_was_told_and_of_a_retired_cluster_its_life_alone(view):
    leaf = replace(a_queue_report("root.default"), pending=ResourceVector(7, 3), waiting_applications=2, applications=4)
    parent = replace(a_queue_report("root"), is_leaf=False, pending=ResourceVector(70, 30), waiting_applications=20)
    other = replace(a_queue_report("root.other"), pending=ResourceVector(1, 1, {"gpu": 9}), waiting_applications=5)
    report = replace(
        a_whole_report("east"),
        nodes=(a_node_report(),),
        queues=(parent, leaf, other),
        labels=("gpu",),
        scheduler="fairScheduler",
        clock_skew_s=1.5,
        started_on_ms=77,
        version="3.4.2",
        left_out={"nodes": 1},
    )
    view.apply(report)
    placed = PendingPlacement("root.default", ResourceVector(1024, 1), 100.5)
    view.note_placed(EAST, placed)
    amounts = {
        "capacity": report.capacity,
        "used": report.used,
        "maximum_allocation": report.maximum_allocation,
        "nodes": report.nodes,
        "queues": {"root": parent, "root.default": leaf, "root.other": other},
        "labels": ("gpu",),
        "placements": {placed.kind: 1},
        "pending": ResourceVector(8, 4),
        "waiting_applications": 7,
        "short_names": {"root": [parent], "default": [leaf], "other": [other]},
    }
    life = {
        "ha_state": HaState.ACTIVE,
        "started_on_ms": 77,
        "version": "3.4.2",
        "scheduler": "fairScheduler",
        "clock_skew_s": 1.5,
        "running": 1,
        "left_out": {"nodes": 1},
        "failure": "",
    }
    seen = view.look(EAST, 101.0)
    assert {name: getattr(seen, name) for name in (*amounts, *life)} == amounts | life
    assert seen.partitions == {"": seen.partitions[""]}
    assert seen.partitions[""].nodes == report.nodes
    view.retire([EAST])
    seen = view.look(EAST, 101.0)
    nothing = {name: None if name == "short_names" else type(value)() for name, value in amounts.items()}
    assert {name: getattr(seen, name) for name in (*amounts, *life)} == nothing | life
    assert (seen.partitions, seen.awaits_nodes) == ({}, False)


def test_a_look_at_what_was_never_heard_of_is_empty(view):
    seen = view.look(WEST, 101.0)
    assert (seen.ha_state, seen.started_on_ms, seen.version, seen.clock_skew_s, seen.left_out) == (None, 0, "", 0.0, {})
    assert (seen.running, seen.waiting_applications, seen.nodes, seen.queues) == (0, 0, (), {})


class AwaitsSlowly:
    """The slow twin of `AwaitedNodes`: every word is kept, and all are gone through anew."""

    def __init__(self):
        self.words = []

    def are_missing(self, capacity, now_s):
        awaited, until_s = 0, None
        for before, at_s in self.words:
            is_awaiting = until_s is not None and at_s < until_s
            if before is not None:
                awaited = max(awaited, before) if is_awaiting else before
            if before is not None or is_awaiting:
                until_s = at_s + 60
        return until_s is not None and now_s < until_s and 100 * capacity < 95 * awaited


WORDS = [(before, after_s) for before in (None, 1000, 700) for after_s in (0, 30, 59, 60, 61)]


@pytest.mark.parametrize("first", WORDS)
def test_what_is_awaited_is_what_its_slow_twin_awaits(first):
    for words in product([first], WORDS, WORDS):
        awaited, slow, at_s = AwaitedNodes(), AwaitsSlowly(), 100
        for before, after_s in words:
            at_s += after_s
            slow.words.append((before, at_s))
            if before is None:
                awaited.not_there_yet(at_s)
            else:
                awaited.restarted(ResourceVector(before, 1), at_s)
        for later_s, capacity in product((0, 59, 60), (664, 665, 949, 950)):
            found = awaited.are_missing(ResourceVector(capacity, 1), at_s + later_s)
            assert found is slow.are_missing(capacity, at_s + later_s), (words, later_s, capacity)


@pytest.mark.parametrize("first_s", [100.0, 103.0, 105.9])
@pytest.mark.parametrize("failure", ["", "refused"])
@pytest.mark.parametrize("ha_state", [HaState.ACTIVE, HaState.STANDBY])
@pytest.mark.parametrize("west_at_s", [98.0, 102.0])
def test_who_is_late_is_found_out_anew_as_soon_as_it_may_be_another(view, first_s, failure, ha_state, west_at_s):
    """Asked again and again, as answers do, it is who is not RUNNING at that moment, or has failed."""
    view.apply(a_report("east", polled_at_s=100.0, ha_state=ha_state))
    view.apply(a_report("west", polled_at_s=west_at_s))
    if failure:
        view.note_failure(WEST, failure, at_s=west_at_s)
    for now_s in (first_s, 103.5, 104.0, 104.01, 105.99, 106.0, 106.01, 107.99, 108.0, 108.01, 120.0, 101.0, 99.0):
        seen = [view.look(each, now_s) for each in (EAST, WEST)]
        late = tuple(each.subcluster for each in seen if each.failure or each.state is not SubClusterState.RUNNING)
        assert view.late(now_s) == late, now_s


@pytest.mark.parametrize(("late_after_s", "asked_s"), [(6.0, [101.0, 101.0, 105.99, 105.999, 106.1, 106.1])])
def test_who_is_late_is_looked_for_once_while_it_cannot_be_another(late_after_s, asked_s, monkeypatch):
    view = FederationView((EAST, WEST), ViewSettings(late_after_s=late_after_s, final_documents=3))
    view.apply(a_report("east", polled_at_s=100.0))
    view.apply(a_report("west", polled_at_s=102.0))
    looked = []
    find = FederationView.state

    def state(self, subcluster, now_s):
        looked.append(now_s)
        return find(self, subcluster, now_s)

    monkeypatch.setattr(FederationView, "state", state)
    assert [view.late(each) for each in asked_s] == [()] * 4 + [(EAST,)] * 2
    assert list(dict.fromkeys(looked)) == [101.0, 105.999, 106.1]


def queue_found(scheduler, name, *reports, has_index=True):
    queues = {each.path: each for each in reports}
    seen = SubClusterView(EAST, SubClusterState.RUNNING, 1.0, scheduler=scheduler, queues=queues)
    found = find_queue(replace(seen, short_names=by_short_name(queues)) if has_index else seen, name)
    return None if found is None else found.path


@pytest.mark.parametrize("has_index", [True, False])
@pytest.mark.parametrize(
    ("scheduler", "name", "found"),
    [
        ("capacityScheduler", "root.a.dev", "root.a.dev"),
        ("capacityScheduler", "dev", "root.a.dev"),
        ("capacityScheduler", "a", "root.a"),
        ("capacityScheduler", "twice", "root.b.twice"),
        ("capacityScheduler", "root", "root"),
        ("capacityScheduler", "root.made.alice", "root.made"),
        ("capacityScheduler", "root.a.alice", None),
        ("capacityScheduler", "made.alice", None),
        ("capacityScheduler", "a.dev", None),
        ("capacityScheduler", "nowhere", None),
        ("capacityScheduler", "root.nowhere", None),
        ("capacityScheduler", "", None),
        ("fairScheduler", "dev", "root"),
        ("fairScheduler", "a.dev", "root.a.dev"),
        ("fairScheduler", "root.a.dev", "root.a.dev"),
        ("fairScheduler", "a", "root.a"),
        ("fairScheduler", "root.a.alice.more", "root.a"),
        ("fairScheduler", "a.alice", "root.a"),
        ("fairScheduler", "root", "root"),
        ("fifoScheduler", "dev", "root"),
        ("fifoScheduler", "nowhere", "root"),
    ],
)
def test_a_queue_is_found_by_the_rules_of_its_scheduler(scheduler, name, found, has_index):
    reports = [
        a_queue_report("root", is_leaf=False),
        a_queue_report("root.a", is_leaf=False),
        a_queue_report("root.a.dev"),
        a_queue_report("root.a.twice", is_leaf=False),
        a_queue_report("root.b", is_leaf=False),
        a_queue_report("root.b.twice"),
        a_queue_report("root.made", is_leaf=False, creates_children=True),
    ]
    assert queue_found(scheduler, name, *reports, has_index=has_index) == found


def test_where_no_queue_is_told_none_is_found():
    for scheduler in ("capacityScheduler", "fairScheduler", "fifoScheduler"):
        assert queue_found(scheduler, "root.a") is None
    assert queue_found("capacityScheduler", "b", a_queue_report("root.a.b", is_leaf=False)) == "root.a.b"


@pytest.mark.parametrize(
    ("version", "scheduler", "name", "named"),
    [
        ("2.10.2", "capacityScheduler", "root.a.dev", "dev"),
        ("3.1.1", "capacityScheduler", "root.a.dev", "dev"),
        ("3.1.1.3.1.5.0-152", "capacityScheduler", "root.a.dev", "dev"),
        ("3.2.4", "capacityScheduler", "root.a.dev", "dev"),
        ("3.3.6", "capacityScheduler", "root.a.dev", "root.a.dev"),
        ("3.4.2", "capacityScheduler", "root.a.dev", "root.a.dev"),
        ("", "capacityScheduler", "root.a.dev", "root.a.dev"),
        ("3.1.1", "fairScheduler", "root.a.dev", "root.a.dev"),
        ("3.1.1", "capacityScheduler", "dev", "dev"),
        ("3.1.1", "capacityScheduler", "root.a", "a"),
        ("3.1.1", "capacityScheduler", "root.nowhere", "root.nowhere"),
        ("3.1.1", "capacityScheduler", "root.b.twice", "root.b.twice"),  # its last name is another's, too
    ],
)
def test_a_submission_names_a_queue_as_its_scheduler_knows_it(version, scheduler, name, named):
    paths = {"root": False, "root.a": False, "root.a.dev": True, "root.a.twice": True, "root.b.twice": True}
    queues = {path: a_queue_report(path, is_leaf=is_leaf) for path, is_leaf in paths.items()}
    seen = SubClusterView(EAST, SubClusterState.RUNNING, 1.0, version=version, scheduler=scheduler, queues=queues)
    assert submitted_name(seen, name) == named
