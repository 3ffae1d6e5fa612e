"""What is counted, audited and logged of each answer."""

from dataclasses import replace
from typing import Any

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.identity.service import Caller
from shim.server.rest.observer import RequestObserver
from shim.server.rest.request_records import RequestResponse
from shim.telemetry import AuditEntry, Metrics
from tests.doubles.clock import FakeClock

APPS = "/ws/v1/cluster/apps"
EXCHANGE = RequestResponse(
    request_id="r1",
    operation=f"PUT {APPS}/{{application}}/state",
    caller=Caller("alice", "gateway"),
    peer="192.0.2.7",
    status=200,
    duration_s=0.5,
    is_change=True,
    target="application_1_0001",
    reason="because",
    client_request_id="theirs",
    audit="app.kill",
)


class Trail:
    """Entries of an audit trail, as they come."""

    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []

    def record(self, entry: AuditEntry) -> None:
        self.entries.append(entry)


def told(*exchanges: RequestResponse) -> tuple[list[AuditEntry], list[str]]:
    """What is audited of answers, and the counters that they leave."""
    trail: Any = Trail()
    metrics = Metrics(FakeClock(), version="1", subclusters=lambda: ())
    homes = {ApplicationId(1, 1): SubClusterId("east")}
    observer = RequestObserver(metrics, trail, homes.get)
    for exchange in exchanges:
        observer.tell(exchange)
    lines = metrics.scrape().decode().splitlines()
    counted = [line for line in lines if line.startswith(("heddle_http_requests_total{", "heddle_submissions_total{"))]
    return trail.entries, counted


@pytest.mark.parametrize(
    ("status", "result"),
    [
        (101, "allowed"),
        (199, "allowed"),
        (200, "allowed"),
        (202, "allowed"),
        (299, "allowed"),
        (307, "allowed"),
        (399, "allowed"),
        (400, "refused"),
        (429, "refused"),
        (499, "refused"),
        (500, "failed"),
        (599, "failed"),
    ],
)
def test_a_status_tells_whose_fault_it_is(status, result):
    submission = replace(EXCHANGE, operation=f"POST {APPS}", target="", subcluster="west", status=status)
    (entry,), counted = told(submission)
    assert (entry.result, entry.status) == (result, status)
    assert counted == [
        f'heddle_http_requests_total{{endpoint="{APPS}",method="POST",status="{status}"}} 1.0',
        f'heddle_submissions_total{{home="west",outcome="{result}"}} 1.0',
    ]


def test_every_part_of_an_entry_is_what_it_is_of():
    (entry,), _ = told(EXCHANGE)
    assert entry == AuditEntry(
        request_id="r1",
        operation="app.kill",
        call=EXCHANGE.operation,
        real_user="gateway",
        effective_user="alice",
        address="192.0.2.7",
        result="allowed",
        status=200,
        subcluster="east",
        target="application_1_0001",
        reason="because",
        client_request_id="theirs",
    )


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"caller": None}, {"real_user": "", "effective_user": ""}),
        ({"caller": Caller("dr.who", "dr.who", is_anonymous=True)}, {"real_user": "", "effective_user": "dr.who"}),
        ({"audit": ""}, {"operation": EXCHANGE.operation}),
        ({"subcluster": "west"}, {"subcluster": "west"}),
        ({"target": "application_1_0002"}, {"subcluster": "", "target": "application_1_0002"}),
        ({"target": "east"}, {"subcluster": "", "target": "east"}),
    ],
)
def test_who_called_and_where_it_went_is_told_as_far_as_it_is_known(changed, expected):
    (entry,), _ = told(replace(EXCHANGE, **changed))
    assert {name: getattr(entry, name) for name in expected} == expected


def test_only_changes_are_audited_and_only_submissions_counted_as_such():
    entries, counted = told(replace(EXCHANGE, is_change=False), EXCHANGE)
    assert len(entries) == 1
    assert counted == [
        f'heddle_http_requests_total{{endpoint="{APPS}/{{application}}/state",method="PUT",status="200"}} 2.0'
    ]


@pytest.mark.parametrize(
    ("operation", "endpoint", "method"),
    [
        (f"GET {APPS}", APPS, "GET"),
        ("GET static", "static", "GET"),
        ("GET ", "", "GET"),
        ("GET /whatever/somebody/thinks/of", "other", "GET"),
        (f"BREW {APPS}", APPS, "other"),
    ],
)
def test_labels_are_those_of_the_table_alone(operation, endpoint, method):
    _, counted = told(replace(EXCHANGE, operation=operation, status=404))
    assert counted == [f'heddle_http_requests_total{{endpoint="{endpoint}",method="{method}",status="404"}} 1.0']
