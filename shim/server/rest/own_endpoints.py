"""What endpoints of Heddle's own web services share: who asks, the flag of a dry run, how a document is answered."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from fastapi import Depends, Query, Response
from fastapi import Request as HTTPRequest

from shim.services.identity import Caller

__all__ = ["Asker", "DryRun", "as_json"]


def _identified(request: HTTPRequest) -> Caller:
    caller: Caller = request.state.caller
    return caller


Asker = Annotated[Caller, Depends(_identified)]
"""Whom the door has identified."""

DryRun = Annotated[bool, Query(alias="dryRun")]
"""Whether to say what would be done instead of doing it."""


def as_json(document: Mapping[str, Any]) -> Response:
    """An answer by msgspec, which carries raw objects through."""
    return Response(msgspec.json.encode(document), media_type="application/json")
