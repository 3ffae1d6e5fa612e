"""The description of all web services for programs: OpenAPI 3.1, Heddle's own and a ResourceManager's.

Paths and parameters of Heddle's own are FastAPI's, which checks requests by them; schemas of their answers and bodies
are those of `heddle.models`, which the answers are; examples are in `own_examples.json`. Of a ResourceManager's
endpoints, paths and parameters are those of the table of endpoints; schemas and examples are in `rm_schemas.json`, by
recordings: their answers are carried as they come, so that more may be in them.

Source: OpenAPI Specification 3.1.0; JSON Schema 2020-12.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

import heddle.applications  # its models are told of
from heddle.models import Model
from shim.protocol.rest.filters import MANY_VALUED
from shim.server.rest.endpoints import BASE, ENDPOINTS, Endpoint
from shim.server.rest.own_endpoints import OwnEndpoint
from shim.server.ways import Way

_JSON = "application/json"
_XML = "application/xml"
_FORM = "application/x-www-form-urlencoded"
_REF = "#/components/schemas/{name}"
_WAYS: Mapping[Way, str] = {
    Way.OWN: "Heddle's own answer, in a ResourceManager's form.",
    Way.MERGE: "One answer, made of those of all sub-clusters.",
    Way.ROUTE: "The answer of the one sub-cluster that has it.",
    Way.CARRY: "The answer of one sub-cluster: it is the same on all of them.",
    Way.ANY_CLUSTER: "The answer of the first sub-cluster that does not refuse.",
    Way.SPREAD: "Told to every sub-cluster, or to the one that `cluster` names.",
}
_USER: Mapping[str, Any] = {
    "name": "user.name",
    "in": "query",
    "description": "Whose call it is, where names are believed",
    "schema": {"type": "string"},
}
_CLUSTER: Mapping[str, Any] = {
    "name": "cluster",
    "in": "query",
    "description": "The id of a sub-cluster: its own answer, instead of one for all",
    "schema": {"type": "string"},
}
_TOKEN_HEADER: Mapping[str, Any] = {
    "name": "Hadoop-YARN-RM-Delegation-Token",
    "in": "header",
    "required": True,
    "schema": {"type": "string"},
}
_ERRORS: Mapping[str, str] = {
    "400": "A parameter or the body is wrong: the message says which, and what is allowed",
    "401": "Nobody, or a login that does not count: see `WWW-Authenticate`",
    "403": "The caller may not",
    "404": "There is no such thing",
    "409": "The application id is known, with another content or user",
    "413": "The body is larger than `server.max_body_bytes`",
    "429": "Too many calls: again after `Retry-After` seconds",
    "500": "A fault; the message names the request's id",
    "503": "Not now; nothing is lost: again after `Retry-After` seconds",
}
_OF_CHANGES = frozenset({"409", "413"})
_REMOTE_EXCEPTION: Mapping[str, Any] = {
    "type": "object",
    "description": "An error, as a ResourceManager words it; those of Heddle's own endpoints have the same form",
    "properties": {
        "RemoteException": {
            "type": "object",
            "properties": {
                "exception": {"type": "string", "description": "The last part of the class's name"},
                "javaClassName": {"type": "string"},
                "message": {"type": "string", "description": "What is wrong, where, and what to do"},
            },
            "required": ["exception", "javaClassName"],
        }
    },
    "required": ["RemoteException"],
    "examples": [
        {
            "RemoteException": {
                "exception": "NotFoundException",
                "javaClassName": "org.apache.hadoop.yarn.webapp.NotFoundException",
                "message": "java.lang.Exception: app with id: application_1_0001 not found",
            }
        }
    ],
}
_REMOTE_REF = {"$ref": _REF.format(name="RemoteException")}
_HEADERS: Mapping[str, Any] = {
    "Heddle-As-Of": {
        "description": "When the oldest part of the answer was true",
        "schema": {"type": "string", "format": "date-time"},
    },
    "Heddle-Missing": {
        "description": "Sub-clusters whose part is absent or old, with commas between",
        "schema": {"type": "string"},
    },
    "X-Request-Id": {"description": "The request's id, also in logs and audit", "schema": {"type": "string"}},
}
_SECURITY: Mapping[str, Any] = {
    "userName": {"type": "apiKey", "in": "query", "name": "user.name", "description": "Where names are believed"},
    "token": {"type": "http", "scheme": "bearer", "description": "An API token, or a token of the identity provider"},
    "ticket": {"type": "http", "scheme": "negotiate", "description": "A Kerberos ticket, by SPNEGO"},
    "session": {"type": "apiKey", "in": "cookie", "name": "hadoop.auth", "description": "The cookie of a login"},
}
_EVENTS: Mapping[str, Any] = {
    "summary": "Live",
    "description": "Documents of other addresses as they change, as server-sent events: `state` with a whole document, "
    "`change` with an RFC 6902 patch upon the last one, `trouble` with a message, `alive`. It ends after ten minutes.",
    "operationId": "live",
    "tags": ["heddle"],
    "parameters": [
        {
            "name": "watch",
            "in": "query",
            "required": True,
            "description": "Addresses below /heddle/v1/, at most 8",
            "schema": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 8},
            "example": ["clusters", "apps/application_1_0001/why"],
        }
    ],
    "x-heddle-scope": "read",
    "x-heddle-right": "READ",
}
_CONTEXT_EXAMPLE: Mapping[str, Any] = {
    "application-id": "application_1700000000000_0001",
    "application-name": "hello",
    "queue": "default",
    "am-container-spec": {"commands": {"command": "echo hello"}},
    "resource": {"memory": 512, "vCores": 1},
}
_POLICY_EXAMPLE: Mapping[str, Any] = {"text": '[[queue]]\nname = "root.prod"\nweight = 3\n', "note": "prod grows"}
_BODY_EXAMPLES: Mapping[str, Any] = {
    "POST /apps": _CONTEXT_EXAMPLE,
    "POST choose-home": _CONTEXT_EXAMPLE,
    "PUT /apps/{application}/state": {"state": "KILLED"},
    "PUT /apps/{application}/queue": {"queue": "root.dev"},
    "PUT /apps/{application}/priority": {"priority": 7},
    "POST tokens": {"name": "nightly", "scopes": ["submit"], "lifetime_s": 86_400.0},
    **dict.fromkeys(("POST policy", "POST policy/validate", "POST shares/whatif"), _POLICY_EXAMPLE),
}


def described(own: Sequence[OwnEndpoint], prefix: str, routes: Mapping[str, Any]) -> dict[str, Any]:
    """The whole description.

    Args:
        own: Heddle's own endpoints.
        prefix: Of their paths, `/heddle/v1/`.
        routes: FastAPI's description of them.
    """
    recorded = _recorded()
    paths: dict[str, dict[str, Any]] = {}
    for each in own:
        path, method = prefix + each.path, each.method.lower()
        paths.setdefault(path, {})[method] = _own(each, routes["paths"][path][method])
    paths[f"{prefix}live"] = {"get": {**_EVENTS, "responses": _responses({"200": _content("text/event-stream")})}}
    for row in ENDPOINTS:
        told = recorded["operations"][f"{row.method} {row.path}"]
        paths.setdefault(BASE + row.path, {})[row.method.lower()] = _of_manager(row, told)
    return {
        "openapi": routes["openapi"],
        "info": {
            **routes["info"],
            "description": "One YARN ResourceManager in front of many YARN clusters. Below /ws/v1/cluster the web "
            "services of a ResourceManager, below /heddle/v1 Heddle's own.",
        },
        "tags": [
            {"name": "heddle", "description": "Heddle's own: names with underscores, times in seconds, JSON alone"},
            {"name": "yarn", "description": "A ResourceManager's, over all sub-clusters: JSON and XML"},
        ],
        "security": [{name: []} for name in _SECURITY],
        "paths": paths,
        "components": {
            "schemas": {
                **_own_schemas(),
                **_checks_of_fastapi(routes),
                **recorded["schemas"],
                "RemoteException": _REMOTE_EXCEPTION,
            },
            "headers": _HEADERS,
            "responses": {
                status: {"description": told, "content": {_JSON: {"schema": _REMOTE_REF}}}
                for status, told in _ERRORS.items()
            },
            "securitySchemes": _SECURITY,
        },
    }


def _recorded() -> Mapping[str, Any]:
    return _beside("rm_schemas.json")


@cache
def _beside(name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((Path(__file__).parent / name).read_bytes())
    return found


def _own_schemas() -> dict[str, Any]:
    models = [each for each in _kinds(Model) if each.__module__.startswith(heddle.__name__)]
    _, schemas = msgspec.json.schema_components(models, ref_template=_REF)
    for schema in schemas.values():
        if "description" in schema:
            schema["description"] = re.sub(r"\s+", " ", schema["description"])
    for name in ("Applications", "Application"):
        (member,) = schemas[name]["properties"].values()
        document = member["items"] if member["type"] == "array" else member
        document["allOf"] = [{"$ref": _REF.format(name="RMApplication")}]
    return schemas


def _kinds(of: type[Model]) -> Iterator[type[Model]]:
    for each in of.__subclasses__():
        yield each
        yield from _kinds(each)


def _checks_of_fastapi(routes: Mapping[str, Any]) -> dict[str, Any]:
    """Schemas of parameters: names of a fixed choice."""
    found = routes.get("components", {}).get("schemas", {})
    return {name: schema for name, schema in found.items() if "enum" in schema}


def _own(endpoint: OwnEndpoint, route: Mapping[str, Any]) -> dict[str, Any]:
    name = f"{endpoint.method} {endpoint.path}"
    answers: Any = {"type": "object"} if endpoint.answers is None else _ref_to(endpoint.answers)
    body: dict[str, Any] = {}
    if endpoint.path == "choose-home":
        body = _body(_recorded()["operations"]["POST /apps"]["body"], name, (_JSON,))
    elif endpoint.takes is not None:
        body = _body(_ref_to(endpoint.takes), name, (_JSON,))
    parameters = [dict(each) for each in route.get("parameters", ())]
    if endpoint.path == "apps":
        filters = (row for row in ENDPOINTS if (row.method, row.path) == ("GET", "/apps"))
        parameters += [_query(each) for row in filters for each in row.query]
    return {
        "summary": route["summary"],
        "description": route.get("description", ""),
        "operationId": _operation_id(endpoint.method, endpoint.path),
        "tags": ["heddle"],
        "parameters": parameters,
        **body,
        "responses": _responses(
            {"200": _content(_JSON, answers, example=_beside("own_examples.json").get(name))},
            changes=endpoint.method != "GET",
        ),
        "x-heddle-scope": endpoint.scope.value,
        "x-heddle-right": endpoint.right.name,
    }


def _of_manager(row: Endpoint, told: Mapping[str, Any]) -> dict[str, Any]:
    name = f"{row.method} {row.path}"
    parameters: list[Mapping[str, Any]] = [
        {"name": each[1:-1], "in": "path", "required": True, "schema": {"type": "string"}}
        for each in row.segments
        if each.startswith("{")
    ]
    parameters += [_query(each) for each in row.query]
    parameters += [_CLUSTER] if row.may_be_carried else []
    parameters += [_TOKEN_HEADER] if name in ("DELETE /delegation-token", "POST /delegation-token/expiration") else []
    body = _body(told.get("body", {"type": "object"}), name, (_JSON, _XML)) if row.takes_body else {}
    if name == "POST /scheduler/logs":
        body = _body({"type": "object", "properties": {"time": {"type": "integer"}}}, name, (_FORM,))
    answers = {
        status: _content(_JSON, schema, xml=True, example=told.get("example"))
        for status, schema in told["answers"].items()
    }
    return {
        "summary": f"ResourceManager: {row.method} {row.path or '/'}",
        "description": f"{_WAYS[row.way]} See ResourceManagerRest.md of Hadoop.",
        "operationId": f"rm_{_operation_id(row.method, row.path)}",
        "tags": ["yarn"],
        "parameters": [*parameters, _USER],
        **body,
        "responses": _responses(answers, changes=row.changes),
        "x-heddle-scope": None if row.scope is None else row.scope.value,
        "x-heddle-right": row.right.name,
        "x-heddle-way": row.way.value,
    }


def _operation_id(method: str, path: str) -> str:
    return "_".join((method.lower(), *re.findall(r"\w+", path))) or method.lower()


def _ref_to(model: type[Model]) -> dict[str, str]:
    return {"$ref": _REF.format(name=model.__name__)}


def _query(name: str) -> dict[str, Any]:
    text = {"type": "string"}
    return {"name": name, "in": "query", "schema": {"type": "array", "items": text} if name in MANY_VALUED else text}


def _body(schema: Mapping[str, Any], name: str, types: Iterable[str]) -> dict[str, Any]:
    example = {"example": _BODY_EXAMPLES[name]} if name in _BODY_EXAMPLES else {}
    of_type = {_JSON: {"schema": schema, **example}}
    content = {each: of_type.get(each, {"schema": schema if each == _FORM else {"type": "string"}}) for each in types}
    return {"requestBody": {"required": True, "content": content}}


def _content(kind: str, schema: Any = None, *, xml: bool = False, example: Any = None) -> dict[str, Any]:
    told = {"schema": schema or {"type": "string"}, **({} if example is None else {"example": example})}
    headers = {name: {"$ref": f"#/components/headers/{name}"} for name in _HEADERS}
    content = {kind: told, **({_XML: {"schema": {"type": "string"}}} if xml else {})}
    return {"description": "Done", "headers": headers, "content": content}


def _responses(answers: Mapping[str, Any], *, changes: bool = False) -> dict[str, Any]:
    kinds = (status for status in _ERRORS if changes or status not in _OF_CHANGES)
    return {**answers, **{status: {"$ref": f"#/components/responses/{status}"} for status in kinds}}
