"""What endpoints of Heddle's own web services share: who asks, the flag of a dry run, how a document is answered."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

import msgspec
from fastapi import Depends, Path, Query, Response
from fastapi import Request as HTTPRequest

from shim.services.identity import Caller

__all__ = ["Asker", "ClusterName", "DryRun", "Endpoint", "as_json"]


def _identified(request: HTTPRequest) -> Caller:
    caller: Caller = request.state.caller
    return caller


Asker = Annotated[Caller, Depends(_identified)]
"""Whom the door has identified."""

ClusterName = Annotated[str, Path(max_length=63)]
"""The id of a sub-cluster, as far as its form tells."""

DryRun = Annotated[bool, Query(alias="dryRun")]
"""Whether to say what would be done instead of doing it."""

Endpoint = tuple[str, str, Callable[..., Awaitable[Response]]]
"""Method, path below the prefix, and the operation."""


def as_json(document: Mapping[str, Any]) -> Response:
    """An answer by msgspec, which carries raw objects through."""
    return Response(msgspec.json.encode(document), media_type="application/json")
