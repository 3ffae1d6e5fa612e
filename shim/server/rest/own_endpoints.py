"""What endpoints of Heddle's own web services share: who asks, the flag of a dry run, how a document is answered."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec
from fastapi import Depends, Path, Query, Response
from fastapi import Request as HTTPRequest

from shim.domain.token_scopes import TokenScope
from shim.identity.scopes import require_scope
from shim.identity.service import Caller

__all__ = ["Asker", "ClusterName", "DryRun", "Endpoint", "EndpointGroup", "as_json"]


def _identified(request: HTTPRequest) -> Caller:
    caller: Caller = request.state.caller
    return caller


Asker = Annotated[Caller, Depends(_identified)]
"""Whom the server has identified."""

ClusterName = Annotated[str, Path(max_length=63)]
"""The id of a sub-cluster, as far as its form tells."""

DryRun = Annotated[bool, Query(alias="dryRun")]
"""Whether to say what would be done instead of doing it."""


_WORD = re.compile(r"[a-z-]{1,32}")


class Endpoint(NamedTuple):
    """One endpoint of Heddle's own.

    Attributes:
        path: Below the prefix; segments in braces are parameters.
        answer: The operation.
        audit: What the audit calls a change; parameters of the path may stand in it.
        scope: What an API token must have for it, if it is not what its method says.
    """

    method: str
    path: str
    answer: Callable[..., Awaitable[Response]]
    audit: str = ""
    scope: TokenScope | None = None

    @property
    def needed(self) -> TokenScope:
        """The scope that an API token needs for it."""
        return self.scope or (TokenScope.READ if self.method == "GET" else TokenScope.OPERATE)

    async def guard(self, request: HTTPRequest) -> None:
        """Refuse whoever shows an API token that does not suffice; for FastAPI, which knows the endpoint by its route.

        Raises:
            TokenScopeError: If it does not.
        """
        require_scope(_identified(request), self.needed)

    def audit_name(self, method: str, path: str) -> str | None:
        """The audit's name of a request; None if it is not this endpoint's."""
        wanted, given = self.path.split("/"), path.strip("/").split("/")
        if method != self.method or len(wanted) != len(given):
            return None
        values: dict[str, str] = {}
        for want, got in zip(wanted, given, strict=True):
            if want.startswith("{"):
                values[want[1:-1]] = got if _WORD.fullmatch(got) else ""
            elif want != got:
                return None
        return self.audit.format_map(values)


class EndpointGroup(Protocol):
    """Endpoints of one subject."""

    def endpoints(self) -> Sequence[Endpoint]:
        """Method, path and operation of each."""
        ...


def as_json(document: Mapping[str, Any]) -> Response:
    """An answer by msgspec, which carries raw objects through."""
    return Response(msgspec.json.encode(document), media_type="application/json")
