"""The filters of lists, against every recorded query on a known set of applications."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.filters import QueueScope, parse_application_filter, parse_node_states
from shim.protocol.rest.queries import parse_query
from tests.doubles.recorded import RecordedExchange, recorded_exchanges

HOME = SubClusterId("full")
QUEUES = {
    path: QueueScope(path, is_leaf=path not in ("root", "root.eng"))
    for path in ("root", "root.default", "root.prod", "root.eng", "root.eng.dev", "root.eng.test", "root.plan")
}


def find_queue(text: str) -> QueueScope | None:
    return QUEUES.get(text) or next((queue for path, queue in QUEUES.items() if path.rpartition(".")[2] == text), None)


def summary(app: dict[str, Any]) -> ApplicationSummary:
    return ApplicationSummary(
        application_id=ApplicationId.parse(app["id"]),
        home_subcluster=HOME,
        user=app["user"],
        name=app["name"],
        queue=app["queue"],
        state=YarnApplicationState(app["state"]),
        final_status=FinalStatus(app["finalStatus"]),
        application_type=app["applicationType"],
        tags=tuple(tag for tag in app["applicationTags"].split(",") if tag),
        started_at_ms=app["startedTime"],
        finished_at_ms=app["finishedTime"],
    )


QUERIES = [
    exchange
    for name, exchange in recorded_exchanges().items()
    if name.startswith("apps_query/")
    and exchange.path == "/ws/v1/cluster/apps"
    and (exchange.header("content-type") or "").startswith("application/json")
]
APPLICATIONS = [summary(app) for app in recorded_exchanges()["apps_query/all.json"].json()["apps"]["app"]]


def test_there_are_recorded_queries():
    assert len(QUERIES) > 100
    assert len(APPLICATIONS) == 9


def _outcome(exchange: RecordedExchange) -> tuple[list[str] | None, dict[str, Any] | None]:
    try:
        wanted = parse_application_filter(
            parse_query(exchange.query), find_queue=find_queue, unknown_queue_is_error=True
        )
        found, _ = wanted.select(APPLICATIONS)
    except JavaError as error:
        return None, {
            "exception": error.exception.java_class.rpartition(".")[2],
            "message": error.exception.message,
            "javaClassName": error.exception.java_class,
        }
    return [str(item.application_id) for item in found], None


@pytest.mark.parametrize("exchange", QUERIES, ids=[exchange.name for exchange in QUERIES])
def test_a_recorded_query_shows_the_recorded_applications_or_error(exchange):
    ids, error = _outcome(exchange)

    answer = exchange.json()
    if exchange.status == 400:
        assert error == answer["RemoteException"]
        return
    assert error is None
    assert ids is not None
    shown = [app["id"] for app in (answer["apps"] or {}).get("app", [])]
    if "limit=" in exchange.query:
        assert len(ids) == len(shown)
    else:
        assert sorted(ids) == sorted(shown)
    assert ids == sorted(ids, reverse=True)


@pytest.mark.parametrize(
    "exchange",
    [
        exchange
        for name, exchange in recorded_exchanges().items()
        if name.startswith("nodes/") and exchange.path == "/ws/v1/cluster/nodes" and "xml" not in exchange.accept
    ],
    ids=lambda exchange: exchange.name,
)
def test_recorded_node_states_are_read_as_recorded(exchange):
    if exchange.status == 400:
        with pytest.raises(JavaError) as caught:
            parse_node_states(parse_query(exchange.query))
        assert exchange.json()["RemoteException"]["message"] == caught.value.exception.message
        return
    states = parse_node_states(parse_query(exchange.query))
    shown = {node["state"] for node in (exchange.json()["nodes"] or {}).get("node", [])}
    assert states is None or shown <= states
    if states is not None and "RUNNING" not in states:
        assert not shown


def _application(sequence: int, *, started_at_ms: int, home: str) -> ApplicationSummary:
    return ApplicationSummary(
        ApplicationId(1, sequence),
        SubClusterId(home),
        "alice",
        "a",
        "root.default",
        YarnApplicationState.RUNNING,
        FinalStatus.UNDEFINED,
        "YARN",
        started_at_ms=started_at_ms,
    )


def test_t16_an_application_is_found_although_the_clock_of_its_cluster_is_late():
    late = _application(1, started_at_ms=90_000, home="west")
    query = parse_query("startedTimeBegin=100000")
    wanted = parse_application_filter(query, find_queue=find_queue, unknown_queue_is_error=True)

    assert wanted.select([late], skews_ms={SubClusterId("west"): -15_000})[0] == [late]
    assert wanted.select([late])[0] == []


def test_a_skew_within_the_precision_of_the_measurement_changes_nothing():
    early = _application(1, started_at_ms=99_000, home="west")
    wanted = parse_application_filter(
        parse_query("startedTimeBegin=100000"), find_queue=find_queue, unknown_queue_is_error=True
    )
    assert wanted.select([early], skews_ms={SubClusterId("west"): -1_500})[0] == []


@given(st.lists(st.integers(1, 50), unique=True), st.integers(1, 60))
def test_t11_limit_keeps_the_newest_of_the_union(sequences, limit):
    applications = [_application(s, started_at_ms=s, home="east" if s % 2 else "west") for s in sequences]
    wanted = parse_application_filter(parse_query(f"limit={limit}"), find_queue=find_queue, unknown_queue_is_error=True)

    shown = [item.application_id.sequence for item in wanted.select(applications)[0]]

    assert shown == sorted(sequences, reverse=True)[:limit]


def test_an_unknown_queue_is_no_error_under_the_fair_scheduler():
    wanted = parse_application_filter(parse_query("queue=nosuch"), find_queue=find_queue, unknown_queue_is_error=False)
    assert wanted.select(APPLICATIONS)[0] == []


def test_applications_of_a_queue_that_is_gone_are_found_by_its_full_name():
    left = replace(_application(1, started_at_ms=1, home="east"), queue="root.gone", state=YarnApplicationState.KILLED)
    for name, found in (("root.gone", [left]), ("gone", [])):
        query = parse_query(f"queue={name}")
        wanted = parse_application_filter(query, find_queue=find_queue, unknown_queue_is_error=False)
        assert wanted.select([left])[0] == found


def test_a_parent_shows_what_was_refused_there():
    refused = replace(_application(1, started_at_ms=1, home="east"), queue="root", state=YarnApplicationState.FAILED)
    assert QUEUES["root"].holds(refused)
    assert not QUEUES["root"].holds(replace(refused, queue="root.prod"))
    assert not QUEUES["root.eng"].holds(refused)


def test_members_to_leave_out_are_told_with_the_selection():
    wanted = parse_application_filter(
        parse_query("deSelects=TIMEOUTS,resourceInfo"), find_queue=find_queue, unknown_queue_is_error=True
    )
    assert wanted.select(APPLICATIONS)[1] == {"timeouts", "resourceInfo"}


def test_a_wrong_word_to_leave_out_is_no_mistake_if_nothing_is_shown():
    wanted = parse_application_filter(
        parse_query("deSelects=foo&user=nobody"), find_queue=find_queue, unknown_queue_is_error=True
    )
    assert wanted.select(APPLICATIONS) == ([], frozenset())


def test_queues_of_hadoop_2_are_known_by_their_last_name():
    scope = QueueScope("root", is_leaf=False, leaves=frozenset({"prod"}))
    live = replace(_application(1, started_at_ms=1, home="east"), queue="prod")
    assert QueueScope("root.prod", is_leaf=True).holds(live)
    assert not QueueScope("root.dev", is_leaf=True).holds(live)
    assert scope.holds(live)
    assert not scope.holds(replace(live, state=YarnApplicationState.KILLED))
