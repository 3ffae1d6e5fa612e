"""A ResourceManager that is in wrong hands answers: nothing of that is Heddle's word to a browser, or stops others.

In process, over every row of the table of endpoints: what comes back is looked at as a browser would take it.
"""

import json
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET

import pytest

from shim.domain.ids import ApplicationId
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.server.rest.endpoints import BASE, ENDPOINTS, Endpoint
from shim.server.rest.messages import Answer
from tests.doubles.resource_manager import ScriptedResourceManager
from tests.support.hostile import FOREIGN_HEADERS, FOREIGN_TYPES, FOREIGN_XML
from tests.support.scripted_server import ScriptedServer

ONE = ApplicationId(1_700_000_000_000, 7)
SCRIPT = b"<script>fetch('/heddle/v1/clusters/east/drain',{method:'POST'})</script>"
VALUES = {
    "{application}": str(ONE),
    "{diagnosed}": str(ONE),
    "{attempt}": "appattempt_1700000000000_0007_000001",
    "{container}": "container_1700000000000_0007_01_000001",
    "{node}": "east-n1:45454",
    "{host}": "east-n1",
    "{queue}": "default",
    "{type}": "LIFETIME",
}
KNOWN = {
    *("date", "cache-control", "expires", "pragma", "x-content-type-options", "x-frame-options", "x-xss-protection"),
    *("content-type", "vary", "content-security-policy", "heddle-as-of", "heddle-missing", "x-request-id", "location"),
    *("set-cookie", "retry-after", "heddle-left-out"),
}
DATA = {"application/json", "application/xml", "text/plain"}


@dataclass
class Answers:
    """A ResourceManager that answers every request that it is sent on behalf of somebody alike."""

    answer: RestAnswer
    asked: list[str] = field(default_factory=list)

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        del manager, timeout_s
        self.asked.append(request.path)
        return self.answer


async def federation(*names: str) -> ScriptedServer:
    server = ScriptedServer(names or ("east", "west"))
    server.federation["east"].add_application(ONE, user="bob")
    await server.poll()
    return server


def harmless(answer: Answer) -> None:
    """A browser shows it as data, in a sandbox, and believes nothing else of it."""
    names = [name.lower() for name, _ in answer.headers]
    told = {name.lower(): value for name, value in answer.headers}
    assert set(names) <= KNOWN
    assert names.count("content-type") <= 1
    assert "theirs" not in str(answer.headers)
    assert "evil" not in str(answer.headers)
    assert told["content-security-policy"] == "default-src 'none'; sandbox"
    assert told["x-content-type-options"] == "nosniff"
    if answer.body:
        assert told["content-type"].partition(";")[0] in DATA
    assert answer.status not in {401, 407, 421, 426, *range(300, 400)}
    assert told.get("location", f"http://front:8088{BASE}/").startswith(f"http://front:8088{BASE}/")
    assert told.get("retry-after", "1") == "1"
    assert told["cache-control"] in ("no-cache", "no-store")


def target(endpoint: Endpoint, cluster: str = "") -> str:
    path = endpoint.path
    for name, value in VALUES.items():
        path = path.replace(name, value)
    return f"{path}?user.name=bob{'&cluster=' if cluster else ''}{cluster}"


READS = [each for each in ENDPOINTS if not each.changes]
PUTS = [each for each in ENDPOINTS if each.changes and "{command}" not in each.path]


@pytest.mark.parametrize("endpoint", READS, ids=lambda each: each.path or "/")
@pytest.mark.parametrize("cluster", ["east", ""])
async def test_whatever_one_cluster_answers_is_data(endpoint, cluster):
    server = await federation()
    for number, (given, _) in enumerate(FOREIGN_TYPES):
        headers = tuple(("Content-Type", each) for each in given)
        mine = (*headers, *FOREIGN_HEADERS) if number % 2 else (*FOREIGN_HEADERS, *headers)
        server.federation["east"].behave(Answers(RestAnswer(200, mine, SCRIPT)))
        for accept in ("*/*", "application/xml"):
            harmless(await server.get(target(endpoint, cluster), accept=accept))


@pytest.mark.parametrize("endpoint", PUTS, ids=lambda each: f"{each.method} {each.path}")
async def test_nor_is_the_answer_to_a_change_anything_else(endpoint):
    server = await federation("east")
    for status in (200, 202, 302, 401, 407, 421, 429, 503):
        server.federation["east"].behave(
            Answers(RestAnswer(status, (*FOREIGN_HEADERS, ("Content-Type", "text/html")), SCRIPT))
        )
        if endpoint.path == "/apps":
            continue  # an intent: what the home answers is read, and never carried
        answer = await server.ask(
            endpoint.method, BASE + target(endpoint), body=b'{"state":"KILLED"}', content_type="application/json"
        )
        harmless(answer)


DEEP, NO_TEXT = b'{"a":' + b"[" * 100_000, b'{"RemoteException":{"message":"\xff","exception":"E"}}'


@pytest.mark.parametrize("endpoint", [*READS, *PUTS], ids=lambda each: f"{each.method} {each.path}")
async def test_no_refusal_that_cannot_be_read_is_an_error_of_heddles(endpoint, caplog):
    server = await federation()
    for body in (DEEP, NO_TEXT):
        for status in (200, 400, 403, 404, 500):
            for name in ("east", "west"):
                server.federation[name].behave(
                    Answers(RestAnswer(status, (("Content-Type", "application/json"),), body))
                )
            content = {"body": b"{}", "content_type": "application/json"} if endpoint.takes_body else {}
            answer = await server.ask(endpoint.method, f"{BASE}{target(endpoint)}", **content)
            harmless(answer)
            assert b"internal" not in answer.body.lower()
    assert [each for each in caplog.records if each.levelname == "ERROR"] == []


@pytest.mark.parametrize("status", [301, 302, 307, 401, 407, 421, 426, 429, 511])
async def test_no_status_of_a_cluster_asks_a_client_for_its_password(status):
    server = await federation()
    challenge = (("WWW-Authenticate", "Basic realm=theirs"), ("Retry-After", "86400"), ("Location", "http://evil"))
    server.federation["east"].behave(Answers(RestAnswer(status, challenge, SCRIPT)))
    for endpoint in READS:
        harmless(await server.get(target(endpoint, "east")))


@pytest.mark.parametrize("body", FOREIGN_XML)
async def test_xml_with_more_than_elements_is_no_answer(body):
    server = await federation()
    server.federation["east"].behave(Answers(RestAnswer(200, (("Content-Type", "application/xml"),), body)))
    for path in ("/scheduler/activities", f"/apps/{ONE}/appattempts", "/nodes"):
        answer = await server.get(f"{path}?cluster=east", accept="application/xml")
        assert answer.status == 502
        assert body not in answer.body
        harmless(answer)


async def test_no_name_that_a_cluster_tells_is_markup_and_all_else_is_told():
    server = await federation()
    evil = f"x xmlns='http://www.w3.org/1999/xhtml'>{SCRIPT.decode()}<x"
    bad = {**server.federation["east"].applications[ONE], "id": str(ApplicationId(ONE.cluster_timestamp, 8)), evil: 1}
    server.federation["east"].applications[ApplicationId(ONE.cluster_timestamp, 8)] = bad
    server.federation["east"].nodes.append({**server.federation["east"].nodes[0], "id": "east-n2:1", evil: evil})
    queue = {**server.federation["east"].queues[0], "queueName": "odd", "queuePath": "root.odd"}
    server.federation["east"].queues.append({"type": f'"{evil}', **{k: v for k, v in queue.items() if k != "type"}})
    await server.poll()
    for path, counted in (("/apps", 1), ("/nodes", 1), ("/scheduler", 1), ("/metrics", 0), ("/info", 0)):
        answer = await server.get(f"{path}?user.name=bob", accept="application/xml")
        assert answer.status == 200, path
        assert b"<script" not in answer.body.lower()
        assert ET.fromstring(answer.body) is not None  # noqa: S314 - what Heddle wrote
        assert dict(answer.headers).get("Heddle-Left-Out", "0") == str(counted), path
        harmless(answer)
        told = await server.get(f"{path}?user.name=bob")
        assert json.loads(told.body), "in JSON a name is a string, whatever stands in it"
    assert str(ONE).encode() in (await server.get("/apps", accept="application/xml")).body


SHAPES = [
    b"[]",
    b"null",
    b"5",
    b'"x"',
    b"{}",
    b'{"a":null}',
    *(
        b'{"%b":%b}' % (root, inner)
        for root in (
            *(b"scheduler", b"nodes", b"clusterMetrics", b"nodeLabelInfo", b"nodeLabelsInfo", b"labelsToNodes"),
            *(b"nodeToLabels", b"reservations", b"bulkActivities", b"overview", b"schedulerType", b"totalMB"),
        )
        for inner in (b"null", b"5", b'"x"', b"[]", b"[5]", b'{"entry":5}', b'{"entry":[5,{"key":[]}]}', b"[[{}]]")
    ),
    b'{"scheduler":{"schedulerInfo":{"type":{},"queues":{"queue":[5,{"queueName":[]}]}}}}',
    b'{"nodes":{"node":[{"id":5}]}}',
    b'{"clusterMetrics":{"totalMB":"x","appsRunning":[],"totalClusterResourcesAcrossPartition":5}}',
    b'{"a":"\xff"}',
    b"\xff\xfe{\x00}\x00",
]
HONEST: dict[str, bytes] = {
    "/scheduler-overview": b'{"schedulerType":"Capacity Scheduler","totalMB":5}',
    "/get-node-labels": b'{"nodeLabelInfo":[{"name":"gpu","exclusivity":true}]}',
    "/get-node-to-labels": b'{"nodeToLabels":{"entry":[{"key":"w:1","value":{"nodeLabelInfo":{"name":"gpu"}}}]}}',
    "/label-mappings": b'{"labelsToNodes":{"entry":[{"key":{"name":"gpu"},"value":{"nodes":["w:1"]}}]}}',
    "/reservation/list": b'{"reservations":{"reservation-id":"reservation_1_0001"}}',
    "/scheduler/bulk-activities": b'{"bulkActivities":{"activities":[{"nodeId":"w:1"}]}}',
}
"""What is asked of all clusters for each answer, as a healthy one tells it."""


@dataclass
class AnswersAt:
    """Healthy, but for one path."""

    path: str
    body: bytes

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        del timeout_s
        if request.path != BASE + self.path:
            return manager.take(request)
        return RestAnswer(200, (("Content-Type", "application/json"),), self.body)


@pytest.mark.parametrize("path", HONEST)
async def test_no_shape_of_one_clusters_document_takes_anothers_away(path):
    server = await federation()
    server.federation["west"].behave(AnswersAt(path, HONEST[path]))
    for shape in SHAPES:
        server.federation["east"].behave(AnswersAt(path, shape))
        for accept in ("application/json", "application/xml"):
            answer = await server.get(f"{path}?queue=default", accept=accept)
            assert answer.status == 200, (shape, answer.status, answer.body)
            assert (
                b"gpu" in answer.body or b"w:1" in answer.body or path in ("/scheduler-overview", "/reservation/list")
            )
            assert "west" not in dict(answer.headers).get("Heddle-Missing", "")
            harmless(answer)


@pytest.mark.parametrize("path", ["/scheduler", "/nodes", "/metrics", "/info", "/apps"])
async def test_no_shape_of_what_is_polled_takes_anothers_away(path):
    server = await federation()
    for shape in SHAPES:
        server.federation["east"].behave(AnswersAt(path, shape))
        await server.poll()
        for accept in ("application/json", "application/xml"):
            answer = await server.get(path, accept=accept)
            assert answer.status == 200, (shape, answer.status, answer.body)
            answer.body.decode()
            assert "west" not in dict(answer.headers).get("Heddle-Missing", "")
            harmless(answer)


async def test_a_row_that_is_no_text_spoils_no_list():
    server = await federation()
    row = b'{"id":"application_1700000000000_0009","state":"RUNNING","finalStatus":"UNDEFINED","note":"\xfe"}'
    bad = b'{"apps":{"app":[%b]}}' % row
    server.federation["west"].behave(AnswersAt("/apps", bad))
    await server.poll()
    for accept in ("application/json", "application/xml"):
        answer = await server.get("/apps", accept=accept)
        answer.body.decode()
        assert b"_0009" not in answer.body
        assert str(ONE).encode() in answer.body
