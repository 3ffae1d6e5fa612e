"""What is counted, audited and logged of each answer."""

from dataclasses import replace
from typing import Any

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.identity.service import Caller, IdentityRules
from shim.server.rest.observer import RequestObserver
from shim.server.rest.request_records import RequestResponse
from shim.telemetry import AuditEntry, Metrics
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual
from tests.support.scripted_server import BASE, ScriptedServer

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


def reported(operation: str, status: int, user: str, **more: Any) -> RequestResponse:
    """An exchange of a caller of whom nothing but the name matters, answered while the clock is held."""
    caller = Caller(user, user)
    return RequestResponse("r", operation, caller, "127.0.0.1", status, 0.0, more.pop("is_change", False), **more)


APP = ApplicationId(1_700_000_000_000, 7)
AT = f"{BASE}/apps/{APP}"


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", f"{BASE}/metrics", reported(f"GET {BASE}/metrics", 200, "alice")),
        ("GET", AT, reported(f"GET {BASE}/apps/{{application}}", 200, "alice", target=str(APP))),
        (
            "GET",
            f"{BASE}/apps/application_1_0009",
            reported(
                f"GET {BASE}/apps/{{application}}",
                404,
                "alice",
                target="application_1_0009",
                reason="java.lang.Exception: app with id: application_1_0009 not found",
            ),
        ),
        (
            "GET",
            f"{AT}/appattempts",
            reported(f"GET {BASE}/apps/{{application}}/appattempts", 200, "alice", subcluster="east", target=str(APP)),
        ),
        ("GET", f"{BASE}/info?cluster=west", reported(f"GET {BASE}/info", 200, "alice", subcluster="west")),
        (
            "PUT",
            f"{AT}/state",
            reported(
                f"PUT {BASE}/apps/{{application}}/state",
                202,
                "alice",
                is_change=True,
                subcluster="east",
                target=str(APP),
                audit="app.kill",
            ),
        ),
        ("GET", "/nothing/there", reported("GET nothing", 404, "alice", target="/nothing/there")),
        ("DELETE", "/nothing", reported("DELETE nothing", 404, "alice", is_change=True, target="/nothing")),
    ],
)
async def test_each_request_is_reported_with_all_that_was_learnt_of_it(method, path, expected):
    server = ScriptedServer(rules=usual(IdentityRules))
    server.federation["east"].add_application(APP, "RUNNING", user="alice")
    await server.poll()
    mark = "&" if "?" in path else "?"
    await server.ask(
        method,
        f"{path}{mark}user.name=alice",
        body=b'{"state":"KILLED"}' if method == "PUT" else b"",
        **({"content_type": "application/json"} if method == "PUT" else {}),
    )
    (told,) = server.exchanges
    assert told.request_id
    assert told.caller is not None
    assert told.caller.user == told.caller.real_user == "alice"
    assert replace(told, request_id="r", caller=expected.caller) == expected


async def test_a_request_takes_as_long_as_its_home_takes():
    server = ScriptedServer(rules=usual(IdentityRules))
    server.federation["east"].add_application(APP, "RUNNING", user="alice")
    await server.poll()
    clock = server.federation.clock

    async def slow(manager, request, timeout_s):
        await clock.sleep(1.25)
        return manager.take(request)

    server.federation["east"].behave(slow)
    began_s = clock.monotonic_s()
    await server.ask("GET", f"{AT}/appattempts?user.name=alice")
    (told,) = server.exchanges
    assert 1.25 <= told.duration_s <= clock.monotonic_s() - began_s
