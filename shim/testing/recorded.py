"""Exchanges with a real ResourceManager (Hadoop 3.4.2), recorded byte by byte, as an oracle for tests.

The records lie in `data/rm_rest_recorded` of the shared folder; `SOURCE.txt` beside them says how they were made.
"""

import base64
import gzip
import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from shim.testing.shared import shared_folder

__all__ = ["RecordedExchange", "recorded_exchange", "recorded_exchanges"]

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """One request and its answer.

    Attributes:
        name: `group/name`, unique.
        status: None if the server closed the connection without answering.
        body: Of the answer, as received (a compressed body stays compressed).
    """

    name: str
    cluster: str
    method: str
    target: str
    request_headers: Headers
    request_body: bytes
    status: int | None
    reason: str
    headers: Headers
    body: bytes

    @property
    def path(self) -> str:
        """The request target without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The raw query string."""
        return self.target.partition("?")[2]

    @property
    def accept(self) -> str:
        """Values of all `Accept` headers, joined."""
        return ",".join(value for name, value in self.request_headers if name.lower() == "accept")

    @property
    def content_type(self) -> str | None:
        """`Content-Type` of the request without parameters, in lower case."""
        found = next((value for name, value in self.request_headers if name.lower() == "content-type"), None)
        return found.partition(";")[0].strip().lower() if found is not None else None

    def header(self, name: str) -> str | None:
        """First value of a header of the answer."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def json(self) -> Any:
        """The answer's body, parsed."""
        return json.loads(self.body)


@cache
def recorded_exchanges() -> dict[str, RecordedExchange]:
    """Every exchange by `group/name`, in the order in which they were made within a group.

    Raises:
        FileNotFoundError: If the shared folder is not there; the message says how to name it.
    """
    records: dict[str, Any] = {}
    for file in sorted((shared_folder() / "data" / "rm_rest_recorded").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            records[f"{file.stem}/{record['name']}"] = record
    return {name: _exchange(name, record, records) for name, record in records.items()}


def recorded_exchange(name: str) -> RecordedExchange:
    """One exchange by `group/name`."""
    return recorded_exchanges()[name]


def _exchange(name: str, record: Any, records: dict[str, Any]) -> RecordedExchange:
    request, response = record["request"], record["response"]
    return RecordedExchange(
        name=name,
        cluster=record["cluster"],
        method=request["method"],
        target=request["path"],
        request_headers=_headers(request),
        request_body=_body(request, records),
        status=response.get("status"),
        reason=response.get("reason") or "",
        headers=_headers(response),
        body=_body(response, records),
    )


def _headers(part: Any) -> Headers:
    return tuple((key, value) for key, value in part.get("headers") or ())


def _body(part: Any, records: dict[str, Any]) -> bytes:
    if "body_ref" in part:
        return _body(records[part["body_ref"]]["response"], records)
    if "body_gz_b64" in part:
        return gzip.decompress(base64.b64decode(part["body_gz_b64"]))
    if "body_b64" in part:
        return base64.b64decode(part["body_b64"])
    return (part.get("body") or "").encode()
