"""A federation of one cannot be told from its ResourceManager, but for the rows of `differences.py`."""

import json
import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shim.server.rest.endpoints import ENDPOINTS
from tests.differential.conftest import APPS, Pair
from tests.differential.differences import DIFFERENCES, Aspect, applying
from tests.differential.masking import masked_body, masked_headers
from tests.doubles.recorded import RecordedExchange, recorded_exchanges
from tests.support.http_clients import CLIENT_HEADERS
from tests.support.raw_http import RawAnswer, RawRequest

pytestmark = pytest.mark.lab

BASE = "/ws/v1/cluster"
JSON = (("Accept", "*/*"), ("Content-Type", "application/json"))
MET: set[str] = set()
"""Names of the differences that were met in this run."""

_GROUPS = (
    "get_empty",
    "negotiation",
    "nodes",
    "http",
    "users",
    "apps_query",
    "app_errors",
    "appstatistics",
    "apps_one",
    "activities",
    "finished_app",
    "node_states",
    "fifo",
    "delegation_token",
    "submit",
    "new_application",
)
_LEFT_OUT = re.compile(
    r"op=|delegation=|Delegation-Token|/proxy/|bulk-activities|version\.|host\.|long_|very_long|upgrade|"
    r"OPTIONS\.star|path\.(fragment|lead|upper_ws|ws|bad_pct|nul|abs|root|favicon|wadl|isActive)|other\.|"
    r"body_6MB|body_300kB|gzip_request|chunked|cookie|expect|http10|host_header|xfh|"
    r"doas|doAs|alice_doas"
)
"""Of the connection, of pages, of tokens of another process, of addresses of another machine: tested elsewhere."""

_MOST_MOVES = 30
_MORE_THAN_A_POLL_S = 1.0
_RECORDED_ID = re.compile(r"application_\d+_(\d+)")
_RECORDED_NODE = re.compile(r"127\.0\.\d+\.\d+(:|%3A)\d{5}")


def compare(request: RawRequest, rm: RawAnswer, ours: RawAnswer) -> list[str]:
    """What is different that no row explains."""
    rows = applying(request, rm, ours)
    MET.update(row.name for row in rows)
    explained = frozenset[str]().union(*(row.aspects for row in rows))
    found = []
    if Aspect.STATUS not in explained and rm.status != ours.status:
        found.append(f"status {rm.status} != {ours.status}: {rm.body[:300]!r} != {ours.body[:300]!r}")
    if Aspect.HEADERS not in explained and masked_headers(rm) != masked_headers(ours):
        found.append(f"headers {masked_headers(rm)}\n   {masked_headers(ours)}")
    if Aspect.BODY not in explained and not found:
        theirs, own = masked_body(rm), masked_body(ours)
        if theirs != own:
            found.append(f"body {_around(theirs, own)!r} != {_around(own, theirs)!r}")
    return found


def _assert_same(pair: Pair, request: RawRequest) -> None:
    """Both answers are the same, once what they tell of stands still: applications start while they are asked after."""
    rm, ours = pair.ask_both(request)
    for _ in range(_MOST_MOVES):
        if not compare(request, rm, ours):
            return
        time.sleep(_MORE_THAN_A_POLL_S)
        before = rm
        rm, ours = pair.ask_both(request)
        if masked_body(rm) == masked_body(before):
            break
    found = compare(request, rm, ours)
    assert not found, "\n".join(found) + f"\n{request}"


def _around(one: bytes, other: bytes) -> bytes:
    position = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[max(0, position - 70) : position + 70]


def _replayed(exchange: RecordedExchange, pair: Pair, node: str) -> RawRequest:
    """The recorded request with identifiers of this run."""
    made = pair.applications

    def renamed(found: re.Match[str]) -> str:
        number = int(found[1])
        return made[number % len(made)] if exchange.method == "GET" and 0 < number < 100 else found[0]

    target = _RECORDED_ID.sub(renamed, exchange.target)
    target = _RECORDED_NODE.sub(lambda found: node.replace(":", found[1]), target)
    headers = tuple(
        (name, value)
        for name, value in exchange.request_headers
        if name.lower() not in ("host", "content-length", "connection", "transfer-encoding", "user-agent", "expect")
    )
    return RawRequest(exchange.method, target, headers, exchange.request_body)


def _makes_sense(name: str, exchange: RecordedExchange) -> bool:
    group, _, rest = name.partition("/")
    if group not in _GROUPS or _LEFT_OUT.search(rest) or _LEFT_OUT.search(exchange.target):
        return False
    is_new = group in ("submit", "new_application")
    is_refused = exchange.status in (400, 500, 503)
    return not is_new or (is_refused and exchange.method == "POST") or "new-application" not in exchange.target


REPLAYS = {
    name: exchange
    for name, exchange in recorded_exchanges().items()
    if _makes_sense(name, exchange) and (exchange.method != "POST" or exchange.status != 202) and exchange.status != 202
}


@pytest.fixture(scope="module")
def node(federation_of_one: Pair) -> str:
    """A node of the cluster."""
    rm, _ = federation_of_one.ask_both(RawRequest("GET", f"{BASE}/nodes"))
    return str(json.loads(rm.body)["nodes"]["node"][0]["id"])


def test_many_recorded_requests_make_sense():
    assert len(REPLAYS) > 450


@pytest.mark.parametrize("name", REPLAYS)
def test_a_recorded_request_gets_the_same_answer(name: str, federation_of_one: Pair, node: str):
    _assert_same(federation_of_one, _replayed(REPLAYS[name], federation_of_one, node))


# -- generated requests ----------------------------------------------------------------------------------------------

_WORDS = st.sampled_from(
    [
        "alice",
        "bob",
        "RUNNING",
        "running",
        "KILLED",
        "FOO",
        "root",
        "default",
        "root.prod",
        "nosuch",
        "dev",
        "YARN",
        "spark",
        "mapreduce",
        "t1",
        "x",
        "SUCCEEDED",
        "UNDEFINED",
        "sleeper",
        "0",
        "1",
        "-1",
        "99999999999999999999",
        ",",
        "KILLED,FAILED",
        "%20KILLED",
        "timeouts",
        "resourceInfo,timeouts",
        "1.5",
        "%zz",
        "+",
        "a%20b",
        "%C3%A9",
        "resourceRequests",
        "AMNODELABELEXPRESSION",
    ]
)
_NAMES = st.sampled_from(
    [
        "state",
        "states",
        "finalStatus",
        "user",
        "queue",
        "startedTimeBegin",
        "startedTimeEnd",
        "finishedTimeBegin",
        "finishedTimeEnd",
        "applicationTypes",
        "applicationTags",
        "name",
        "deSelects",
        "_",
        "STATES",
    ]
)
_QUERIES = st.lists(st.tuples(_NAMES, _WORDS), max_size=3).map(
    lambda pairs: "&".join(f"{name}={value}" for name, value in pairs)
)
_TYPES = st.sampled_from(
    [
        "application/json",
        "application/xml",
        "*/*",
        "text/html",
        "text/xml",
        "text/*",
        "application/*",
        "image/png",
        "application/pdf",
        "text/plain",
        "application/vnd.a+json",
        "APPLICATION/JSON",
        "application/json;charset=utf-8",
    ]
)
_QUALITIES = st.sampled_from(
    [
        "",
        ";q=0.1",
        ";q=0.9",
        ";q=1",
        ";q=0",
        "; q=0.5",
        ";q=.2",
        ";q=1.",
        ";q=1.5",
        ";q=0.12345",
        ";Q=0.3",
        ";q = 0.3",
        ';q="0.4"',
        ";q",
        ";a=b",
        ';a="b,c"',
        ";",
        ";;q=0.2",
        ";q=0.2;level=1",
        ";q=0.2;q=0.8",
    ]
)
_ODD_TYPES = st.sampled_from(
    [
        "*",
        "text",
        "application",
        "*/json",
        "*/xml",
        "application/",
        "/json",
        "",
        " ",
        "a b",
        "application /json",
        "(c)",
        "application/*+json",
        "text/json",
        "Text/HTML",
        '"x"',
        "text/html/x",
        "=",
        "application/xhtml+xml",
    ]
)
_ACCEPTS = st.lists(st.tuples(_TYPES | _ODD_TYPES, _QUALITIES), min_size=1, max_size=4).map(
    lambda ranges: ",".join(kind + quality for kind, quality in ranges)
)
_SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@given(query=_QUERIES, accept=st.sampled_from(["*/*", "application/json", "application/xml"]))
@_SETTINGS
def test_any_filter_shows_the_same_applications(federation_of_one: Pair, query: str, accept: str):
    _assert_same(federation_of_one, RawRequest("GET", f"{APPS}?{query}", (("Accept", accept),)))


_REPEATED = {
    "user": ("root", "nobody"),
    "limit": ("1", "3"),
    "queue": ("default", "nosuch"),
    "finalStatus": ("SUCCEEDED", "KILLED"),
    "state": ("FINISHED", "KILLED"),
    "states": ("FINISHED", "KILLED"),
    "startedTimeBegin": ("0", "99999999999999"),
    "applicationTypes": ("YARN", "none"),
    "deSelects": ("timeouts", "resourceInfo"),
    "name": ("x", ""),
}


@pytest.mark.parametrize("name", _REPEATED)
@pytest.mark.parametrize("is_turned", [False, True])
def test_of_what_stands_twice_the_same_counts(federation_of_one: Pair, name: str, *, is_turned: bool):
    values = reversed(_REPEATED[name]) if is_turned else _REPEATED[name]
    _assert_same(federation_of_one, RawRequest("GET", f"{APPS}?{'&'.join(f'{name}={each}' for each in values)}"))


@given(accept=_ACCEPTS, path=st.sampled_from(["/info", "/apps", "/apps/application_1_0001", "/nosuch", "/metrics"]))
@_SETTINGS
def test_any_accept_header_is_negotiated_the_same(federation_of_one: Pair, accept: str, path: str):
    _assert_same(federation_of_one, RawRequest("GET", BASE + path, (("Accept", accept),)))


_READ_PATHS = sorted({row.path for row in ENDPOINTS if row.method == "GET" and not row.changes and not row.is_slow})


@pytest.mark.parametrize("client", CLIENT_HEADERS)
def test_each_endpoint_answers_what_a_client_sends_by_itself(federation_of_one: Pair, client: str):
    application = federation_of_one.applications[0]
    named = {
        "application": application,
        "attempt": application.replace("application", "appattempt") + "_000001",
        "container": application.replace("application", "container") + "_01_000001",
        "type": "LIFETIME",
        "node": "nosuch:1",
        "host": "nosuch",
        "diagnosed": application,
        "queue": "default",
    }
    for path in _READ_PATHS:
        target = BASE + path.format_map(named)
        _assert_same(federation_of_one, RawRequest("GET", target, CLIENT_HEADERS[client]))


@given(
    data=st.data(),
    sub=st.sampled_from(["", "/state", "/queue", "/priority", "/timeouts", "/timeouts/LIFETIME", "/appattempts", "/x"]),
    accept=st.sampled_from(["*/*", "application/xml"]),
)
@_SETTINGS
def test_any_identifier_is_answered_the_same(federation_of_one: Pair, data: st.DataObject, sub: str, accept: str):
    known = st.sampled_from(federation_of_one.applications)
    short = known.map(lambda text: text.rpartition("_")[0] + "_" + text.rpartition("_")[2].lstrip("0"))
    odd = st.sampled_from(["foo", "application_", "application_1", "application_1_x", "Application_1_1", "job_1_1"])
    numbers = st.tuples(st.integers(-5, 2**65), st.integers(-5, 2**33)).map(
        lambda pair: f"application_{pair[0]}_{pair[1]}"
    )
    text = data.draw(known | short | odd | numbers)
    _assert_same(federation_of_one, RawRequest("GET", f"{APPS}/{text}{sub}", (("Accept", accept),)))


_BODIES = st.one_of(
    st.sampled_from(
        [b"", b"{}", b"[]", b"null", b"x", b'{"state":"RUNNING"}', b'{"state":"killed"}', b'{"state":', b'"a"']
    ),
    st.sampled_from([b"<appstate><state>FOO</state></appstate>", b"<x/>", b"<appstate>", b'{"queue":""}']),
)


@given(
    body=_BODIES,
    sub=st.sampled_from(["state", "queue", "priority", "timeout"]),
    kind=st.sampled_from(["application/json", "application/xml", "text/plain", ""]),
    accept=st.sampled_from(["*/*", "application/json", "application/xml"]),
)
@_SETTINGS
def test_any_body_of_a_change_is_answered_the_same(
    federation_of_one: Pair, body: bytes, sub: str, kind: str, accept: str
):
    headers = (("Accept", accept), *((("Content-Type", kind),) if kind else ()))
    target = f"{APPS}/{federation_of_one.applications[0]}/{sub}?user.name=alice"  # a finished one: nothing changes
    _assert_same(federation_of_one, RawRequest("PUT", target, headers, body))


def test_a_known_id_is_refused_to_another_user(federation_of_one: Pair):
    body = json.dumps({"application-id": federation_of_one.applications[0], "queue": "default"}).encode()
    request = RawRequest("POST", f"{APPS}?user.name=eve", JSON, body)
    rm, ours = federation_of_one.ask_both(request)
    assert (rm.status, ours.status) == (202, 409)
    assert compare(request, rm, ours) == []


@pytest.mark.parametrize("name", ["a%3Ab", "a%2Cb", "x" * 300])
def test_a_name_that_no_account_system_has_is_refused(federation_of_one: Pair, name: str):
    request = RawRequest("GET", f"{BASE}/info?user.name={name}")
    rm, ours = federation_of_one.ask_both(request)
    assert (rm.status, ours.status) == (200, 400)
    assert compare(request, rm, ours) == []


def test_a_field_that_stands_twice_is_refused(federation_of_one: Pair):
    target = f"{APPS}/{federation_of_one.applications[0]}/state?user.name=alice"  # a killed one: nothing changes
    request = RawRequest("PUT", target, JSON, b'{"state":"KILLED","state":"KILLED"}')
    rm, ours = federation_of_one.ask_both(request)
    assert (rm.status, ours.status) == (200, 400)
    assert compare(request, rm, ours) == []


def test_a_signal_is_refused_to_others(federation_of_one: Pair):
    container = federation_of_one.applications[4].replace("application", "container") + "_01_000001"
    target = f"{BASE}/containers/{container}/signal/OUTPUT_THREAD_DUMP"
    request = RawRequest("POST", f"{target}?user.name=eve")
    rm, ours = federation_of_one.ask_both(request)
    assert ours.status == 403
    assert rm.status != 403
    assert compare(request, rm, ours) == []
    unreadable = RawRequest("POST", f"{BASE}/containers/foo/signal/OUTPUT_THREAD_DUMP")
    rm, ours = federation_of_one.ask_both(unreadable)
    assert (rm.status, ours.status) == (500, 400)
    assert compare(unreadable, rm, ours) == []


@pytest.mark.parametrize("name", [row.name for row in DIFFERENCES if row.always])
def test_every_difference_that_is_told_is_met(name: str, request: pytest.FixtureRequest):
    if len(request.session.items) < len(REPLAYS):
        pytest.skip("only a part of the requests was sent")
    assert name in MET
