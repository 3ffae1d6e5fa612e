"""Answers against the published description: what a program that was made from it would choke on."""

import json
import re
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from shim.server.rest.heddle_api import HeddleAPI


class Description:
    """The description of the web services, as `/heddle/v1/openapi.json` tells it.

    Args:
        document: It.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        rows = [(path, method, told) for path, methods in document["paths"].items() for method, told in methods.items()]
        self.operations = {f"{method.upper()} {path}": self._resolved(told) for path, method, told in rows}
        self._patterns = {
            name: re.compile(re.sub(r"\{\w+\}", "[^/]+", name)) for name in sorted(self.operations, key=_wildcards)
        }
        self._validators: dict[tuple[str, str], Draft202012Validator] = {}

    def _resolved(self, operation: dict[str, Any]) -> dict[str, Any]:
        """The operation with its answers in their place."""
        common = self.document["components"]["responses"]
        answers = {
            status: common[told["$ref"].rpartition("/")[2]] if "$ref" in told else told
            for status, told in operation["responses"].items()
        }
        return {**operation, "responses": answers}

    def operation(self, method: str, path: str) -> str | None:
        """The operation of a request, `GET /heddle/v1/apps/{application}`; None if none is described."""
        named = (name for name, pattern in self._patterns.items() if pattern.fullmatch(f"{method} {path}"))
        return next(named, None)

    def faults(self, name: str, status: int, body: bytes) -> list[str]:
        """Say what is not as described in an answer in JSON."""
        answer = self.operations[name]["responses"].get(str(status))
        if answer is None:
            return [f"{name}: status {status} is not described"]
        try:
            told = json.loads(body)
        except ValueError:
            told = body.decode("utf-8", "replace")
        errors = self._validator(name, str(status), answer).iter_errors(told)
        return [f"{name}: {status}: {each.json_path}: {each.message[:300]}" for each in errors]

    def body_faults(self, name: str, body: Any) -> list[str]:
        """Say what is not as described in a body that is sent."""
        content = self.operations[name]["requestBody"]
        return [f"{name}: {each.json_path}" for each in self._validator(name, "body", content).iter_errors(body)]

    def _validator(self, name: str, part: str, told: dict[str, Any]) -> Draft202012Validator:
        if (name, part) not in self._validators:
            schema = told["content"]["application/json"]["schema"]
            whole = {**schema, "components": self.document["components"]}
            self._validators[name, part] = Draft202012Validator(whole)
        return self._validators[name, part]


_KNOWN: list[Description] = []


def description_of(api: HeddleAPI) -> Description:
    """The description that the servers of tests publish: the same for all."""
    if not _KNOWN:
        _KNOWN.append(Description(api.description()))
    return _KNOWN[0]


def _wildcards(name: str) -> int:
    return name.count("{")
