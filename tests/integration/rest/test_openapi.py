"""The description of the web services, against what they really answer, and what ResourceManagers were recorded to."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.identity.service import IdentityRules
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.server.rest.endpoints import BASE, find
from tests.doubles.recorded import recorded_exchanges
from tests.doubles.resource_manager import ScriptedResourceManager
from tests.doubles.settings import usual
from tests.support.described_answers import Description
from tests.support.scripted_server import ScriptedServer, body_of, context

OWN = "/heddle/v1"
VERSIONS = ("2.10.2", "3.1.1", "3.2.4", "3.3.6", "3.4.2", "3.5.0")


@pytest.fixture
async def server() -> ScriptedServer:
    opened = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True, admins=("queen",)))
    await opened.poll()
    return opened


@pytest.fixture
def description(server: ScriptedServer) -> Description:
    return server.description


def test_every_operation_has_a_name_of_its_own_and_says_what_it_answers(description: Description) -> None:
    names = [told["operationId"] for told in description.operations.values()]
    assert len(names) == len(set(names)) > 90
    for name, told in description.operations.items():
        (done,) = [each for status, each in told["responses"].items() if status == "200"] or [told["responses"]["202"]]
        assert all(content["schema"] for content in done["content"].values()), name
        assert set(told["responses"]) >= {"400", "401", "403", "404", "429", "500", "503"}, name
        assert {"x-heddle-scope", "x-heddle-right", "description"} <= set(told), name


def test_every_example_is_as_described(description: Description) -> None:
    shown = 0
    for name, told in description.operations.items():
        for status, answer in told["responses"].items():
            example = answer["content"].get("application/json", {}).get("example")
            if example is not None:
                shown += 1
                assert description.faults(name, int(status), json.dumps(example).encode()) == []
        for content in told.get("requestBody", {}).get("content", {}).values():
            if "example" in content:
                assert description.body_faults(name, content["example"]) == []
    assert shown > 60


def test_every_reference_leads_somewhere(description: Description) -> None:
    for found in re.findall(r'"\$ref": ?"#/components/(\w+)/([\w.-]+)"', json.dumps(description.document)):
        assert found[1] in description.document["components"][found[0]], found


def test_every_parameter_and_path_is_that_of_the_tables(description: Description) -> None:
    for name, told in description.operations.items():
        path = name.partition(" ")[2]
        given = {each["name"] for each in told.get("parameters", ()) if each["in"] == "path"}
        assert given == set(re.findall(r"\{(\w+)\}", path)), name
        assert all(each["schema"] for each in told.get("parameters", ())), name


@pytest.mark.parametrize("version", VERSIONS)
def test_what_was_recorded_of_a_version_is_as_described(description: Description, version: str) -> None:
    seen, faults = set(), []
    for exchange in recorded_exchanges(version).values():
        match = find(exchange.path.partition("#")[0])
        row = None if match is None else match.endpoints.get(exchange.method)
        is_json = "json" in (exchange.header("content-type") or "") and not exchange.header("content-encoding")
        if row is None or exchange.status not in (200, 202) or not is_json or "op=" in exchange.query:
            continue
        name = f"{row.method} {BASE}{row.path}"
        seen.add(name)
        faults += description.faults(name, exchange.status, exchange.body)
    assert faults == []
    assert len(seen) >= 6


ONE = ApplicationId(1_700_000_000_000, 6)
WANTED: dict[str, Any] = {
    "cluster": "east",
    "verb": "cordon",
    "application": str(ONE),
    "version": 0,
    "container": "container_1700000000000_0006_01_000002",
    "file": "stdout",
}
POLICY = {"text": '[[queue]]\nname = "root.default"\nweight = 2\n', "note": "more"}
KEYS = {"keys": {"web": "http://a:1", "reads_from": {"west": 30.0}, "verify_tls": True}, "note": "more"}
BODIES: dict[str, Any] = {
    "POST /heddle/v1/cluster-versions": {"text": '[[subcluster]]\nid = "east"\nweb = "http://a:1"\n', "expected": 1},
    **{f"POST /heddle/v1/clusters/{{cluster}}/{verb}": KEYS for verb in ("add", "edit", "remove")},
    "POST /heddle/v1/policy": POLICY,
    "POST /heddle/v1/policy/validate": POLICY,
    "POST /heddle/v1/shares/whatif": POLICY,
    "POST /heddle/v1/choose-home": json.loads(context(ONE)),
    "POST /heddle/v1/tokens": {"name": "nightly", "scopes": ["submit"]},
}


class KnowsAContainer:
    """A ResourceManager that tells where one container runs, and carries out what others would."""

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        del timeout_s
        if not request.path.endswith(f"/containers/{WANTED['container']}"):
            return manager.take(request)
        told = {"containerId": WANTED["container"], "nodeHttpAddress": "http://west-n1:8042"}
        return RestAnswer(200, (("Content-Type", "application/json"),), json.dumps(told).encode())


async def node(_address: str, request: RestRequest) -> RestAnswer:
    if request.path.endswith("/stdout"):
        return RestAnswer(200, (), b"hello")
    files = [{"containerLogInfo": [{"fileName": "stdout", "fileSize": "5"}], "logAggregationType": "LOCAL"}]
    return RestAnswer(200, (), json.dumps({"containerLogsInfo": files}).encode())


NOT_WALKED = {
    "GET /heddle/v1/apps/{application}/logs",  # by the tests of aggregated logs, each of whose answers is looked at
    "GET /heddle/v1/apps/{application}/logs/{container}/{file}",
    "GET /heddle/v1/live",  # a stream
    "POST /heddle/v1/apps/{application}/rehome",  # by the tests of that, as it takes one that waits
    "POST /heddle/v1/clusters/{cluster}/retire",  # by the tests of retirement, as they take a dead cluster
    "POST /heddle/v1/clusters/{cluster}/revive",
}


def walked(description: Description) -> Iterator[tuple[str, str, str]]:
    for name in description.operations:
        method, _, path = name.partition(" ")
        if path.startswith(OWN) and name not in NOT_WALKED:
            yield name, method, path.format_map(WANTED)


async def test_every_operation_of_its_own_answers_as_described() -> None:
    server = ScriptedServer(
        rules=usual(IdentityRules, allow_anonymous=True, admins=("queen",)), nodes={SubClusterId("west"): node}
    )
    server.federation["west"].add_application(ONE, user="queen")
    server.federation["west"].behave(KnowsAContainer())
    await server.poll()
    await server.submit("queen")
    made = body_of(
        await server.ask("POST", f"{OWN}/tokens?user.name=queen", body=b'{"name": "one", "scopes": ["read"]}')
    )
    WANTED["token"] = made["id"]
    description, faults = server.description, []
    for name, method, path in walked(description):
        body = BODIES.get(name)
        assert (body is None) == ("requestBody" not in description.operations[name]), name
        faults += [] if body is None else description.body_faults(name, body)
        sent = b"" if body is None else json.dumps(body).encode()
        answer = await server.ask(method, f"{path}?user.name=queen", body=sent, content_type="application/json")
        assert answer.status == 200, (name, answer.body)
        faults += description.faults(name, answer.status, answer.body)
    assert faults == []


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("apps/application_1_0001", "", 404),
        ("apps/nonsense", "", 400),
        ("apps/application_1_0001/why", "", 404),
        ("audit", "user.name=eve", 403),
        ("audit", "limit=0&user.name=queen", 400),
        ("policy/shadow", "", 401),
        ("usage", "from=yesterday&user.name=queen", 400),
    ],
)
async def test_refusals_are_as_described(server: ScriptedServer, path: str, query: str, status: int) -> None:
    answer = await server.ask("GET", f"{OWN}/{path}?{query}")
    name = server.description.operation("GET", f"{OWN}/{path}")
    assert (answer.status, name is None) == (status, False), answer.body
    assert server.description.faults(str(name), answer.status, answer.body) == []


async def test_what_heddle_joins_of_many_clusters_is_as_described(server: ScriptedServer) -> None:
    await server.submit()
    await server.poll()
    for path in ("info", "metrics", "nodes", "apps", "scheduler", "appstatistics"):
        answer = await server.get(f"/{path}")
        assert answer.status == 200, path
        assert server.description.faults(f"GET {BASE}/{path}", answer.status, answer.body) == []


def test_an_answer_that_is_not_as_described_is_found(description: Description) -> None:
    """The other tests would see it."""
    assert description.faults(f"GET {OWN}/queues", 200, b'{"queues": [{"queue": 5}]}') != []
    assert description.faults(f"GET {OWN}/queues", 418, b"{}") != []
    assert description.faults(f"GET {BASE}/metrics", 200, b"{}") != []
    assert description.faults(f"GET {BASE}/apps/{{application}}", 200, b'{"app": {"id": 7}}') != []
