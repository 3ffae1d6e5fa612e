import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import HaState
from shim.federation.core.report import HeartbeatReporter, Poll, absent
from tests.doubles.reports import a_document, a_node_report

EAST = SubClusterId("east")
ONE, TWO = ApplicationId(1, 1), ApplicationId(1, 2)


def documents(*told):
    return {document.summary.application_id: document for document in told}


def a_poll(**fields):
    return Poll(**({"began_at_s": 100.0, "ha_state": HaState.ACTIVE, "started_on_ms": 7} | fields))


@pytest.fixture
def reporter():
    return HeartbeatReporter(EAST, incarnation=3)


def test_reports_are_numbered_and_say_whose_life_they_are_of(reporter):
    reports = [reporter.report(a_poll()) for _ in range(3)]
    assert [(report.incarnation, report.sequence) for report in reports] == [(3, 1), (3, 2), (3, 3)]


def test_a_report_tells_live_and_ended_applications_and_whether_it_lists_all(reporter):
    live, ended = a_document(1, "east"), a_document(2, "east", "FINISHED")
    report = reporter.report(a_poll(live=documents(live), ended=documents(ended)))
    assert report.applications == documents(live, ended)
    assert report.is_complete
    assert not reporter.report(a_poll()).is_complete


def test_what_ends_while_the_lists_are_asked_for_is_told_as_ended(reporter):
    report = reporter.report(
        a_poll(live=documents(a_document(1, "east")), ended=documents(a_document(1, "east", "KILLED")))
    )
    assert report.applications[ONE].summary.state.is_final
    assert reporter.live == frozenset()


def test_labels_are_those_of_the_nodes(reporter):
    nodes = (a_node_report("a:1", labels=["gpu"]), a_node_report("b:1", labels=["ssd", "gpu"]))
    assert reporter.report(a_poll(nodes=nodes)).labels == ("gpu", "ssd")


def test_absent_applications_stay_live_until_they_end_or_are_forgotten(reporter):
    reporter.report(a_poll(live=documents(a_document(2, "east"), a_document(1, "east"))))
    assert absent(reporter.live, []) == (ONE, TWO)
    reporter.report(a_poll(live={}))
    assert absent(reporter.live, [ONE]) == (TWO,)
    reporter.report(a_poll(live={}, ended=documents(a_document(1, "east", "FAILED")), forgotten=(TWO,)))
    assert reporter.live == frozenset()


@pytest.mark.parametrize("ha_state", [HaState.INITIALIZING, HaState.STANDBY, HaState.STOPPED])
def test_of_an_inactive_resource_manager_only_its_info_is_told(reporter, ha_state):
    reporter.report(a_poll(live=documents(a_document(1, "east"))))
    poll = a_poll(
        ha_state=ha_state,
        documents={"info": b"i", "nodes": b"n"},
        nodes=(a_node_report(),),
        live={},
        ended=documents(a_document(1, "east", "KILLED")),
        forgotten=(ONE,),
    )
    report = reporter.report(poll)
    assert dict(report.documents) == {"info": b"i"}
    assert (report.nodes, report.applications, report.forgotten, report.is_complete) == ((), {}, (), False)
    assert reporter.live == {ONE}
