"""Exchanges with real ResourceManagers, recorded byte by byte, as an oracle for tests.

The recordings lie in `tests/recordings` of the repository, a folder for each version of Hadoop; `scripts/record_rm.py`
makes them. An installed package does not have them.
"""

import base64
import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).resolve().parents[2] / "tests" / "recordings"
"""The recordings, and the table of requests from which they are made."""

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
def recorded_exchanges(version: str = "3.4.2") -> dict[str, RecordedExchange]:
    """Every exchange with a version of Hadoop by `group/name`, in the order in which they were made within a group.

    Raises:
        FileNotFoundError: If there are none of this version.
    """
    files = sorted((RECORDINGS / version).glob("*.jsonl.gz"))
    if not files:
        raise FileNotFoundError(f"no recordings in {RECORDINGS / version}: make them with scripts/record_rm.py")
    found: dict[str, RecordedExchange] = {}
    for file in files:
        group = file.name.partition(".")[0]
        for record in map(json.loads, gzip.decompress(file.read_bytes()).splitlines()):
            exchange = recorded_exchange_of(f"{group}/{record['name']}", record)
            found[exchange.name] = exchange
    return found


def recorded_exchange(name: str) -> RecordedExchange:
    """One exchange by `group/name`."""
    return recorded_exchanges()[name]


def recorded_exchange_of(name: str, record: Any) -> RecordedExchange:
    """An exchange as a line of a recording has it."""
    request, response = record["request"], record["response"]
    return RecordedExchange(
        name=name,
        cluster=record["cluster"],
        method=request["method"],
        target=request["path"],
        request_headers=_headers(request),
        request_body=_body(request),
        status=response["status"],
        reason=response["reason"],
        headers=_headers(response),
        body=_body(response),
    )


def _headers(part: Any) -> Headers:
    return tuple((key, value) for key, value in part["headers"])


def _body(part: Any) -> bytes:
    return base64.b64decode(part["body_b64"]) if "body_b64" in part else (part.get("body") or "").encode()
