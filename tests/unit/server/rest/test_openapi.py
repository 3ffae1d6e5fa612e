"""The description of the web services: each part of it as the tables have it."""

import re
from typing import Any

import pytest

from shim.identity.service import IdentityRules
from shim.protocol.rest.filters import MANY_VALUED
from shim.server.rest.endpoints import BASE, ENDPOINTS, Endpoint
from shim.server.rest.openapi import _BODY_EXAMPLES, _beside, _recorded
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer

JSON, XML, FORM = "application/json", "application/xml", "application/x-www-form-urlencoded"
TOKEN = "Hadoop-YARN-RM-Delegation-Token"
HEADERS = ("Heddle-As-Of", "Heddle-Missing", "X-Request-Id")
ALWAYS = ["400", "401", "403", "404", "429", "500", "503"]


@pytest.fixture(scope="module")
def server() -> ScriptedServer:
    return ScriptedServer(rules=usual(IdentityRules))


@pytest.fixture(scope="module")
def document(server: ScriptedServer) -> dict[str, Any]:
    made: dict[str, Any] = server.description.document
    return made


def statuses(told: dict[str, Any], answers: set[str], *, changes: bool) -> None:
    """Whether all statuses are told: those of answers, and of errors by reference."""
    errors = {*ALWAYS, *(["409", "413"] if changes else [])}
    assert set(told["responses"]) == answers | errors
    for status in errors - answers:
        assert told["responses"][status] == {"$ref": f"#/components/responses/{status}"}
    for status in answers:
        found = told["responses"][status]
        assert found["description"] == "Done"
        assert found["headers"] == {
            name: {"$ref": f"#/components/headers/{name}"}
            for name in ("Heddle-As-Of", "Heddle-Missing", "X-Request-Id")
        }


@pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: f"{row.method} {row.path}")
def test_an_endpoint_of_a_manager_is_described_by_its_row_and_by_what_was_recorded(document, row: Endpoint):
    name = f"{row.method} {row.path}"
    told, recorded = document["paths"][BASE + row.path][row.method.lower()], _recorded()["operations"][name]
    wanted: list[tuple[str, str, bool | None]] = [("path", each, True) for each in re.findall(r"{(\w+)}", row.path)]
    wanted += [("query", each, None) for each in row.query]
    wanted += [("query", "cluster", None)] if row.may_be_carried else []
    wanted += [("header", TOKEN, True)] if "delegation-token" in name and name != "POST /delegation-token" else []
    wanted += [("query", "user.name", None)]
    assert [(each["in"], each["name"], each.get("required")) for each in told["parameters"]] == wanted
    for each in told["parameters"]:
        kind = "array" if each["name"] in MANY_VALUED else "string"
        assert each["schema"] == ({"type": kind, "items": {"type": "string"}} if kind == "array" else {"type": kind})
    statuses(told, set(recorded["answers"]), changes=row.changes)
    for status, schema in recorded["answers"].items():
        shown = {"schema": schema or {"type": "string"}}
        shown |= {"example": recorded["example"]} if "example" in recorded else {}
        assert told["responses"][status]["content"] == {JSON: shown, XML: {"schema": {"type": "string"}}}
    assert ("requestBody" in told) is (row.takes_body or name == "POST /scheduler/logs")
    if name == "POST /scheduler/logs":
        form = {"schema": {"type": "object", "properties": {"time": {"type": "integer"}}}}
        assert told["requestBody"] == {"required": True, "content": {FORM: form}}
    elif row.takes_body:
        example = _BODY_EXAMPLES.get(name)
        given = {"schema": recorded.get("body", {"type": "object"})} | ({} if example is None else {"example": example})
        content = {JSON: given, XML: {"schema": {"type": "string"}}}
        assert told["requestBody"] == {"required": True, "content": content}
    assert told["tags"] == ["yarn"]
    assert told["summary"] == f"ResourceManager: {row.method} {row.path or '/'}"
    assert told["operationId"] == "_".join(["rm", row.method.lower(), *re.findall(r"\w+", row.path)])
    scope = None if row.scope is None else row.scope.value
    assert [told[f"x-heddle-{each}"] for each in ("scope", "right", "way")] == [scope, row.right.name, row.way.value]
    assert told["description"].endswith(" See ResourceManagerRest.md of Hadoop.")


def test_each_endpoint_of_our_own_is_described_by_its_row_its_models_and_its_example(document, server):
    filters = next(each.query for each in ENDPOINTS if (each.method, each.path) == ("GET", "/apps"))
    examples, context = _beside("own_examples.json"), _recorded()["operations"]["POST /apps"]["body"]
    for row in server.api.endpoints:
        name = f"{row.method} {row.path}"
        told = document["paths"][f"/heddle/v1/{row.path}"][row.method.lower()]
        statuses(told, {"200"}, changes=row.method != "GET")
        answers = {"type": "object"} if row.answers is None else ref(row.answers)
        shown = {"schema": answers} | ({"example": examples[name]} if name in examples else {})
        assert told["responses"]["200"]["content"] == {JSON: shown}, name
        assert ("requestBody" in told) is (row.takes is not None or row.path == "choose-home"), name
        if "requestBody" in told:
            given = {"schema": context if row.takes is None else ref(row.takes)}
            given |= {"example": _BODY_EXAMPLES[name]} if name in _BODY_EXAMPLES else {}
            assert told["requestBody"] == {"required": True, "content": {JSON: given}}, name
        assert told["operationId"] == "_".join([row.method.lower(), *re.findall(r"\w+", row.path)])
        found = (told["tags"], told["x-heddle-scope"], told["x-heddle-right"])
        assert found == (["heddle"], row.scope.value, row.right.name), name
        asked = [each["name"] for each in told["parameters"]]
        assert (asked[-len(filters) :] == list(filters)) is (row.path == "apps"), name


def ref(model: type) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def test_what_all_operations_share_is_described_once(document):
    assert list(document) == ["openapi", "info", "tags", "security", "paths", "components"]
    assert [each["name"] for each in document["tags"]] == ["heddle", "yarn"]
    assert document["security"] == [{"userName": []}, {"token": []}, {"ticket": []}, {"session": []}]
    parts = document["components"]
    assert list(parts) == ["schemas", "headers", "responses", "securitySchemes"]
    assert set(parts["responses"]) == {*ALWAYS, "409", "413"}
    for told in parts["responses"].values():
        assert told["content"] == {JSON: {"schema": {"$ref": "#/components/schemas/RemoteException"}}}
    for name, member in (("Applications", "apps"), ("Application", "app")):
        properties = parts["schemas"][name]["properties"]
        assert list(properties) == [member]
        shown = properties[member].get("items", properties[member])
        assert shown["allOf"] == [{"$ref": "#/components/schemas/RMApplication"}]
    for schema in parts["schemas"].values():
        assert not re.search(r"\s\s|\n", schema.get("description", ""))
    live = document["paths"]["/heddle/v1/live"]["get"]
    assert live["responses"]["200"]["content"] == {"text/event-stream": {"schema": {"type": "string"}}}
    statuses(live, {"200"}, changes=False)
