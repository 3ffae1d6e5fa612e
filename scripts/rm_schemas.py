"""Write shim/server/rest/rm_schemas.json: what ResourceManagers answer and take at each endpoint, by recordings.

    python -m scripts.rm_schemas [FOLDER ...]

reads the recordings of tests/recordings, of all versions, and of further folders with files of the same form
(`scripts/record_rm.py` makes them). What was recorded fits; members of other versions may come on top of it. Only the
outermost member of an answer is required: which others a ResourceManager leaves out, recordings do not tell.
"""

import argparse
import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from shim.server.rest.endpoints import find
from tests.doubles.recorded import RECORDINGS, RecordedExchange, recorded_exchange_of

FILE = Path(__file__).resolve().parent.parent / "shim" / "server" / "rest" / "rm_schemas.json"

_POOLS: Mapping[str, str] = {
    "app": "RMApplication",
    "appAttempt": "RMAttempt",
    "container": "RMContainer",
    "node": "RMNode",
    "queue": "RMQueue",
    "rootQueue": "RMQueue",
    "children": "RMActivity",
    "requestAllocation": "RMActivity",
}
"""Objects that are the same wherever they stand, or within themselves, by the member that holds them."""

_BY_HAND: Mapping[str, Any] = {
    "POST /delegation-token": {
        "body": {"type": "object", "properties": {"renewer": {"type": "string"}}},
        "answers": {
            "200": {
                "type": "object",
                "properties": {
                    **{name: {"type": "string"} for name in ("token", "renewer", "owner", "kind")},
                    **{name: {"type": "integer"} for name in ("expiration-time", "max-validity")},
                },
            }
        },
    },
    "POST /delegation-token/expiration": {
        "answers": {"200": {"type": "object", "properties": {"expiration-time": {"type": "integer"}}}}
    },
    "DELETE /delegation-token": {"answers": {"200": {"type": "string"}}},
}
"""What takes Kerberos. Source: ResourceManagerRest.md of Hadoop 3.4.2, "Cluster Delegation Tokens API"."""

_IGNORED = frozenset({"A", "foo", "prio", "resourceOption", "sched-conf", "subClusterId", "unknown"})
"""Members of recorded bodies that no ResourceManager reads: they were sent to see that."""

_LONGEST_EXAMPLE = 1200


class _Shape:
    """Everything that was seen at one place."""

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.members: dict[str, _Shape] = {}
        self.items: _Shape | None = None
        self.has_empty = False

    def add(self, value: Any, pools: "dict[str, _Shape]", name: str = "") -> None:
        """Add a value that a member of that name holds."""
        match value:
            case dict() if name in _POOLS:
                self.kinds.add(_POOLS[name])
                pools.setdefault(_POOLS[name], _Shape()).add(value, pools)
            case dict():
                self.kinds.add("object")
                self.has_empty |= not value
                for key, each in value.items():
                    self.members.setdefault(key, _Shape()).add(each, pools, key)
            case list():
                self.kinds.add("array")
                self.items = self.items or _Shape()
                for each in value:
                    self.items.add(each, pools, name)
            case _:
                self.kinds.add(_kind_of(value))

    def schema(self) -> dict[str, Any]:
        """The schema of all that was added."""
        choices = [
            self._choice(kind) for kind in sorted(self.kinds - ({"integer"} if "number" in self.kinds else set()))
        ]
        return choices[0] if len(choices) == 1 else {"anyOf": choices} if choices else {}

    def root(self) -> dict[str, Any]:
        """Require the one member that there is, if there always is."""
        names = list(self.members)
        return {"required": names} if len(names) == 1 and self.kinds == {"object"} and not self.has_empty else {}

    def _choice(self, kind: str) -> dict[str, Any]:
        if kind in _POOLS.values():
            return {"$ref": f"#/components/schemas/{kind}"}
        if kind == "object":
            return {"type": kind, "properties": {name: each.schema() for name, each in sorted(self.members.items())}}
        if kind == "array" and self.items is not None and self.items.kinds:
            return {"type": kind, "items": self.items.schema()}
        return {"type": kind}


def _kind_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
    return "string"


def schemas(further: list[Path]) -> dict[str, Any]:
    """Read all recordings, and give the document."""
    pools: dict[str, _Shape] = {}
    bodies: dict[str, _Shape] = {}
    answers: dict[str, dict[str, _Shape]] = {}
    examples: dict[str, Any] = {}
    for exchange in _exchanges(further):
        found = find(exchange.path.partition("#")[0])
        row = None if found is None else found.endpoints.get(exchange.method)
        if row is None or exchange.status not in (200, 202) or "op=" in exchange.query:
            continue
        name = f"{row.method} {row.path}"
        for told in _told(exchange):
            answers.setdefault(name, {}).setdefault(str(exchange.status), _Shape()).add(told, pools)
            if told and name not in examples and exchange.cluster and len(exchange.body) <= _LONGEST_EXAMPLE:
                examples[name] = told
        if row.takes_body and exchange.content_type == "application/json" and exchange.request_body:
            with suppress(ValueError):  # one was sent to see what comes of it
                sent = json.loads(exchange.request_body)
                bodies.setdefault(name, _Shape()).add({key: sent[key] for key in sent if key not in _IGNORED}, {})
    operations: dict[str, Any] = {name: dict(each) for name, each in _BY_HAND.items()}
    for name, by_status in answers.items():
        operations.setdefault(name, {})["answers"] = {
            status: shape.schema() | shape.root() for status, shape in sorted(by_status.items())
        }
    for name, shape in bodies.items():
        operations.setdefault(name, {})["body"] = shape.schema()
    for name, example in examples.items():
        operations[name]["example"] = example
    return {
        "schemas": {name: shape.schema() for name, shape in sorted(pools.items())},
        "operations": dict(sorted(operations.items())),
    }


def _exchanges(further: list[Path]) -> Iterator[RecordedExchange]:
    """Recorded exchanges; those of further folders have no cluster."""
    folders = [*sorted((each for each in RECORDINGS.iterdir() if each.name[0].isdigit()), reverse=True), *further]
    for folder, file in ((each, file) for each in folders for file in sorted(each.glob("*.jsonl*"))):
        text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        for record in map(json.loads, text.splitlines()):
            if folder in further:
                record["cluster"] = ""
            record["response"] = {"status": None, "reason": "", "headers": [], **record["response"]}
            yield recorded_exchange_of(str(record["name"]), record)


def _told(exchange: RecordedExchange) -> list[Any]:
    """An answer in JSON, or in text where that is what it is; none in XML, packed, or a standby's empty one."""
    is_packed = bool(exchange.header("content-encoding"))
    if (
        "json" not in (exchange.header("content-type") or "")
        or is_packed
        or (exchange.method == "GET" and not exchange.body)
    ):
        return []
    try:
        return [json.loads(exchange.body)]
    except ValueError:
        return [exchange.body.decode()]


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    found = schemas(parser.parse_args().folders)
    parts = (f'"{part}": {{\n{_lines(found[part])}\n}}' for part in ("schemas", "operations"))
    FILE.write_text("{" + ", ".join(parts) + "}\n")


def _lines(named: Mapping[str, Any]) -> str:
    """Each on a line of its own."""
    return ",\n".join(f"{json.dumps(name)}: {json.dumps(each, sort_keys=True)}" for name, each in named.items())


if __name__ == "__main__":
    main()
