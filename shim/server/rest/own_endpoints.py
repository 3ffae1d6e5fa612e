"""Common parts of Heddle's own endpoints: the asker, the flag of a dry run, the answer with a document."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Protocol, TypeVar

import msgspec
from fastapi import Depends, Path, Query, Response
from fastapi import Request as HTTPRequest

from heddle.models import Model
from shim.domain.roles import Right, TokenScope
from shim.errors import BadRequestError, MalformedBodyError
from shim.identity.service import Caller, IdentityService, require_scope
from shim.protocol.wire_values import UNREADABLE
from shim.server.rights import OWN, rights_of

T = TypeVar("T")


async def _identified(request: HTTPRequest) -> Caller:  # a plain function would be a trip to a thread for each request
    return caller_of(request)


def caller_of(request: HTTPRequest) -> Caller:
    """Look up whom the server has identified."""
    caller: Caller = request.state.caller
    return caller


Asker = Annotated[Caller, Depends(_identified)]
"""Whom the server has identified."""

ClusterName = Annotated[str, Path(max_length=63)]
"""The id of a sub-cluster, as far as its form tells."""

ApplicationName = Annotated[str, Path(max_length=64)]
"""The id of an application, as far as its form tells."""

DryRun = Annotated[bool, Query(alias="dryRun")]
"""Whether to say what would be done instead of doing it."""


Search = Annotated[str, Query(max_length=200)]
"""Words that all have to stand in an entry, whatever their case; see `has_words`."""

Reason = Annotated[str, Query(max_length=500)]
"""Why an operator does it, in his words."""

Limit = Annotated[int, Query(ge=1, le=500)]
"""How many entries to answer at most."""


_OF_CALLERS = ("user.name", "doAs", "doas", "delegation", "op", "_")
"""Parameters of any request: who asks, and what keeps caches away."""
_WORD = re.compile(r"[a-z-]{1,32}")
_CLUSTER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class Audited(NamedTuple):
    """Words of the audit on a request.

    Attributes:
        name: Of the change; empty for a read, and for an unknown path.
        cluster: That its path names; empty for none.
    """

    name: str = ""
    cluster: str = ""


READ, SUBMIT, OPERATE = TokenScope.READ, TokenScope.SUBMIT, TokenScope.OPERATE


class OwnEndpoint(NamedTuple):
    """One endpoint of Heddle's own.

    Attributes:
        path: Below the prefix; segments in braces are parameters.
        scope: What an API token must have for it.
        audit: What the audit calls a change; parameters of the path may stand in it.
    """

    method: str
    path: str
    scope: TokenScope
    answer: Callable[..., Awaitable[Response]]
    answers: type[Model] | None
    audit: str = ""
    takes: type[Model] | None = None

    @property
    def right(self) -> Right:
        """Right that a call takes; an `InvariantViolationError` for an endpoint without a row."""
        name = f"{self.method} {self.path}"
        return rights_of((name,), OWN)[name]

    def guard(self, identity: IdentityService) -> Callable[[HTTPRequest], Awaitable[None]]:
        """For FastAPI, which knows the endpoint by its route: a check that refuses whoever may not call it.

        It raises a `TokenScopeError` for an API token that does not suffice, else as `IdentityService.require`; and a
        `BadRequestError` for a change that says what nobody reads: `dry_run=true` may not do what it was to try.
        """
        right = self.right

        async def check(request: HTTPRequest) -> None:
            require_scope(caller_of(request), self.scope)
            identity.require(caller_of(request), right)
            if self.method != "GET":
                await self._refuse_unread(request)

        return check

    @staticmethod
    async def _refuse_unread(request: HTTPRequest) -> None:
        reads = request.scope["route"].dependant
        known = [each.alias for each in reads.query_params]
        odd = next((name for name in request.query_params if name not in {*known, *_OF_CALLERS}), None)
        if odd is not None:
            raise BadRequestError(f"query.{odd}: not a parameter of this; there are {', '.join(known) or 'none'}")
        if reads.request_param_name is None and (await request.body()).strip() not in (b"", b"{}"):
            raise BadRequestError("body: this reads none, only parameters of the query")

    def audited(self, method: str, path: str) -> Audited | None:
        """What the audit says of a request; None if it is not this endpoint's."""
        wanted, given = self.path.split("/"), path.strip("/").split("/")
        if method != self.method or len(wanted) != len(given):
            return None
        values: dict[str, str] = {}
        cluster = ""
        for want, got in zip(wanted, given, strict=True):
            if want.startswith("{"):
                values[want[1:-1]] = got if _WORD.fullmatch(got) else ""
                cluster = got if want == "{cluster}" and _CLUSTER.fullmatch(got) else cluster
            elif want != got:
                return None
        return Audited(self.audit.format_map(values), cluster)


class EndpointGroup(Protocol):
    """Endpoints of one subject."""

    def endpoints(self) -> Sequence[OwnEndpoint]:
        """Method, path and operation of each."""
        ...


def as_json(document: Model | Mapping[str, Any]) -> Response:
    """An answer by msgspec, which carries raw objects through."""
    return Response(msgspec.json.encode(document), media_type="application/json")


async def sent_as(form: type[T], request: HTTPRequest, what: str = "body") -> T:
    """The body of a request.

    Raises:
        MalformedBodyError: It is not of that form.
    """
    try:
        return msgspec.json.decode(await request.body(), type=form)
    except UNREADABLE as exc:
        raise MalformedBodyError(f"not a {what} as it is sent: {exc}") from exc


def has_words(values: Iterable[object], search: str) -> bool:
    """True if all words of `search` stand in the values of an entry, as JSON writes them."""
    words = search.lower().split()
    text = msgspec.json.encode(list(values)).decode().lower() if words else ""
    return all(word in text for word in words)
