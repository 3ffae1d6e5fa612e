"""New application ids over REST: their document, and the short way to the answer that most clients ask for."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress

from shim.domain.ids import ApplicationId
from shim.domain.resources import ResourceVector
from shim.errors import HeddleError
from shim.federation.freshness import instant
from shim.identity.service import Caller, IdentityService, require_scope
from shim.protocol.rest.negotiation import Representation, accepts_gzip, negotiate
from shim.protocol.rest.queries import Query, parse_query
from shim.server.rest.answers import DATA_POLICY, AnswerWriter
from shim.server.rest.backend import Backend
from shim.server.rest.callers import Callers
from shim.server.rest.endpoints import BASE, Endpoint, find
from shim.server.rest.messages import Request
from shim.server.rest.request_checks import refuse_other_sites
from shim.server.rest.request_records import AuditSink, RequestResponse, client_request_id
from shim.telemetry.tracing import is_tracing

_PATH = f"{BASE}/apps/new-application"
_LONG_MAX = 2**63 - 1
_STATUS_LINE = b"HTTP/1.1 200 OK\r\n"
_CONTENT = f"Content-Type: {Representation.JSON.value}\r\nVary: Accept-Encoding\r\n{': '.join(DATA_POLICY)}\r\n"
_OK = 200


class NewIds:
    """Documents that tell a new id, and the largest container that may be asked for.

    Args:
        backend: Where ids come from, and what the sub-clusters grant.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._amount: ResourceVector | None = None
        self._end = b""

    async def next(self, user: str) -> bytes:
        """The document of a new id, in JSON.

        Args:
            user: For whom: the container that may be asked for is that of the user's queue.

        Raises:
            UnavailableError: If none is left and the store does not reserve more.
        """
        return self._document(await self._backend.ids.issue(), user)

    def next_at_once(self, user: str) -> bytes | None:
        """The same, if an id is there without waiting for the store."""
        issued = self._backend.ids.issue_at_once()
        return None if issued is None else self._document(issued, user)

    def _document(self, application_id: ApplicationId, user: str) -> bytes:
        amount = self._backend.maximum_allocation(user)
        if amount is not self._amount:  # it changes with a sub-cluster's configuration, the id with each call
            shown = json.dumps(_resource(amount), ensure_ascii=False, separators=(",", ":"))
            self._end = f'","maximum-resource-capability":{shown}}}'.encode("utf-8", "replace")
            self._amount = amount
        return b'{"application-id":"%b%b' % (str(application_id).encode(), self._end)


class NewIdAnswers:
    """Answers a call for a new id as it goes out, where nothing about it is unusual.

    The same functions look at it as at any other request. What one of them refuses, and what wants another form, goes
    the way that all requests go.

    Args:
        writer: Of the header lines of the current second.
        report: Told of each answer, as of any change.
    """

    def __init__(
        self,
        backend: Backend,
        identity: IdentityService,
        callers: Callers,
        writer: AnswerWriter,
        report: AuditSink,
        new_request_id: Callable[[], str],
    ) -> None:
        self._backend = backend
        self._identity = identity
        self._callers = callers
        self._writer = writer
        self._report = report
        self._new_request_id = new_request_id
        self._ids = NewIds(backend)
        match = find(_PATH)
        assert match is not None  # noqa: S101 - a row of the table
        self._endpoint: Endpoint = match.endpoints["POST"]

    def find(self, request: Request) -> Sequence[bytes] | None:
        """The answer in one piece; None for a request that goes the usual way."""
        if request.raw_path != _PATH or request.method != "POST" or not self._is_usual(request):
            return None
        began_s = self._backend.clock.monotonic_s()
        with suppress(HeddleError):  # refused on the way that all requests go, where it is reported
            query = parse_query(request.query)
            if query.first("cluster") is not None:
                return None
            refuse_other_sites(request, changes=True)
            caller = self._allowed(request, query)
            body = self._ids.next_at_once(caller.user)
            return None if body is None else self._told(request, caller, body, began_s)
        return None

    def _is_usual(self, request: Request) -> bool:
        """True if JSON is wanted as it is, there is no body, and neither ids nor the caller are waited for."""
        return (
            not request.body
            and not self._callers.may_wait
            and not is_tracing()
            and self._backend.ids.are_there
            and negotiate(request.joined("accept")) is Representation.JSON
            and not accepts_gzip(request.joined("accept-encoding"))
            and request.header("content-encoding") is None
        )

    def _allowed(self, request: Request, query: Query) -> Caller:
        caller = self._callers.at_once(request, query)
        self._identity.require(caller, self._endpoint.right)
        require_scope(caller, self._endpoint.scope)
        return caller

    def _told(self, request: Request, caller: Caller, body: bytes, began_s: float) -> Sequence[bytes]:
        request_id, own_id, clock = self._new_request_id(), client_request_id(request), self._backend.clock
        cookie = "" if caller.new_cookie is None else f"Set-Cookie: {caller.new_cookie}\r\n"
        missing = ", ".join(self._backend.missing())
        late = f"Heddle-Missing: {missing}\r\n" if missing else ""
        own = (
            f"{cookie}{_CONTENT}Heddle-As-Of: {instant(clock.now_s())}\r\nX-Request-Id: {own_id or request_id}\r\n"
            f"{late}Content-Length: {len(body)}\r\n\r\n"
        )
        told = RequestResponse(
            request_id,
            f"POST {_PATH}",
            caller,
            request.peer,
            _OK,
            clock.monotonic_s() - began_s,
            is_change=True,
            client_request_id=own_id,
            audit=self._endpoint.audit,
        )
        self._report(told)
        return (b"".join((_STATUS_LINE, self._writer.rendered_opening(), own.encode(), body)),)


def _resource(amount: ResourceVector) -> dict[str, object]:
    types = [("memory-mb", "Mi", amount.memory_mib), ("vcores", "", amount.vcores)]
    types += [(name, "", value) for name, value in amount.others.items()]
    information = [
        {
            "attributes": {},
            "maximumAllocation": _LONG_MAX,
            "minimumAllocation": 0,
            "name": name,
            "resourceType": "COUNTABLE",
            "units": units,
            "value": value,
        }
        for name, units, value in types
    ]
    return {
        "memory": amount.memory_mib,
        "vCores": amount.vcores,
        "resourceInformations": {"resourceInformation": information},
    }
