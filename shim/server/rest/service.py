"""The server itself: from a request to the row of the table, from the row's outcome to an answer.

The order of the steps is that of a ResourceManager's filters: path, identity, method, content negotiation, resource.
"""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from html import escape
from http import HTTPStatus
from typing import Protocol
from urllib.parse import parse_qsl, urlencode

from shim.domain.ids import SubClusterId
from shim.domain.roles import Right
from shim.errors import HeddleError, InvariantViolationError, StoreError, UnavailableError
from shim.federation.core.federation_view import Part
from shim.federation.freshness import Freshness, instant
from shim.federation.view_rights import ViewRights
from shim.identity.rates import CallRates
from shim.identity.service import Caller, IdentityService, require_scope, with_groups
from shim.ports.resource_manager import RestAnswer
from shim.protocol.rest.body_shapes import SHAPES, UnderstoodBody, understand
from shim.protocol.rest.identifiers import canonical_parameters
from shim.protocol.rest.negotiation import failure_for
from shim.protocol.rest.queries import Query, parse_query
from shim.protocol.rest.xml_writer import XML_HEAD, NotXMLError
from shim.server.rest.answers import AnswerWriter, zipped
from shim.server.rest.application_guard import ApplicationGuard
from shim.server.rest.asgi import completed, rendered_answer
from shim.server.rest.backend import Backend
from shim.server.rest.cache import CacheLimits, Kept
from shim.server.rest.callers import BelievedCallers, Callers
from shim.server.rest.endpoints import BASE, Endpoint, Match, allowed_methods, find, has_broken_escape
from shim.server.rest.foreign_answers import carried_document
from shim.server.rest.kept_answers import KeptAnswers
from shim.server.rest.messages import Answer, Headers, Request
from shim.server.rest.new_ids import NewIdAnswers
from shim.server.rest.operations import Call, Operations, Outcome
from shim.server.rest.own_endpoints import Audited
from shim.server.rest.refusals import refused
from shim.server.rest.request_checks import (
    READS,
    inflated,
    names_cluster,
    negotiation_failure,
    refuse_other_sites,
    representation_of,
)
from shim.server.rest.request_records import AuditSink, RequestRecord, client_request_id
from shim.server.rest.routes import Routes
from shim.server.rest.waiting_applications import WaitingApplications
from shim.server.rest.web_tokens import TOKEN_OPERATIONS, WebTokens
from shim.server.rights import TOKEN_OPERATION
from shim.telemetry.slow_turns import SlowTurns
from shim.telemetry.tracing import Kind, span

_SAFE = READS | {"OPTIONS"}
_LOOK_AGAIN_S = 0.5
_UNTOLD_S = 2.0
"""Whether one who is told more and more may be told it is asked so often; where nobody can tell, it ends after this."""


class SitePaths(Protocol):
    """Paths outside of the base path: pages, `/jmx`, `/conf`."""

    def audited(self, request: Request) -> Audited: ...

    async def answer(self, request: Request, caller: Caller, extra: Headers) -> Answer | None:
        """The answer; None for a path that it does not know."""
        ...


class RestService:
    """Answers every request, whatever happens.

    Args:
        site: What is not a web service of a ResourceManager.
        max_body_bytes: Largest body after decompression.
        report: Told of every answer that was not taken from the cache.
        request_prefix: Beginning of request ids, different for every process.
        is_shared: Whether reads are the same for every caller; False if a sub-cluster guards its applications.
        turns: Told how long each answer held the event loop.
        callers: Who is calling; None where names are believed.
        tokens: Delegation tokens for callers with a ticket; None where none are issued over the web.
        rates: Limits calls that are under way; None for any number.
    """

    def __init__(
        self,
        backend: Backend,
        identity: IdentityService,
        operations: Operations,
        site: SitePaths,
        *,
        max_body_bytes: int,
        kept: CacheLimits,
        report: AuditSink = lambda _: None,
        request_prefix: str = "r",
        is_shared: bool = True,
        turns: SlowTurns | None = None,
        callers: Callers | None = None,
        tokens: WebTokens | None = None,
        rates: CallRates | None = None,
    ) -> None:
        self._backend = backend
        self._identity = identity
        self._operations = operations
        self._rights = ViewRights(backend.applications, identity)
        self._guard = ApplicationGuard(backend.applications, self._rights)
        self._routes = Routes(backend, identity)
        self._held_back = WaitingApplications(backend, identity)
        self._site = site
        self._report = report
        self._writer = AnswerWriter(backend.clock.now_s)
        self._kept = KeptAnswers(backend, self._writer, kept)
        self._numbers = itertools.count(1)
        self._prefix = request_prefix
        self._is_shared = is_shared
        self._max_body_bytes = max_body_bytes
        self._turns = turns or SlowTurns()
        self._callers = callers or BelievedCallers(identity)
        self._new_ids = NewIdAnswers(backend, identity, self._callers, self._writer, report, self._new_request_id)
        self._tokens = tokens
        self._rates = rates

    # -- answers that are ready --------------------------------------------------------------------------------------

    def answer_at_once(self, request: Request) -> Sequence[bytes] | None:
        found = self._kept_for(request)
        if found is None:
            return self._new_ids.find(request) or self._made_at_once(request)
        return self._kept.as_it_goes_out(found[0], self._shown_request_id(request), found[1].new_cookie)

    def _kept_for(self, request: Request) -> tuple[Kept, Caller] | None:
        if request.method != "GET" or not self._is_shared:
            return None
        with suppress(HeddleError):  # refused on the way that all requests go, where it is reported
            query = parse_query(request.query)
            caller = self._callers.at_once(request, query) if self._rights.are_on else None
            sight = self._rights.viewer(caller).sight if caller is not None else ""
            kept = self._kept.find(request, query, sight)
            if kept is not None:
                return kept, self._identity.require(caller or self._callers.at_once(request, query), Right.READ)
        return None

    def _made_at_once(self, request: Request) -> Sequence[bytes] | None:
        """Make an answer that needs no waiting, as any other, but without a task of its own."""
        if self._callers.may_wait:
            return None  # a ticket may be shown once: a login that is begun is not begun anew in a task
        match = find(request.raw_path)
        endpoint = match.endpoints.get(request.method) if match is not None else None
        if match is None or endpoint is None or not self._operations.is_at_hand(endpoint.operation, match.parameters):
            return None
        if names_cluster(request):
            return None  # one sub-cluster's own answer is never at hand
        try:
            made = completed(self._made(request))
        except Exception:  # noqa: BLE001 - time limits need a task: the request is answered anew, by one
            return None
        return None if made is None or made.later is not None else (rendered_answer(made),)

    # -- answers that have to be made --------------------------------------------------------------------------------

    async def answer(self, request: Request) -> Answer:
        """The answer; an error that nobody expected is a 500 that names its request id."""
        found = self._kept_for(request)  # while this one waited for its turn, the same may have been made for another
        if found is None:
            return await self._made(request)
        return self._kept.as_answer(found[0], self._shown_request_id(request), found[1].new_cookie)

    async def _made(self, request: Request) -> Answer:
        record = RequestRecord(self._new_request_id(), client_request_id(request))
        with span(request.method, Kind.SERVER, parent=request.header("traceparent")) as traced:
            answer = await self._recorded(request, record)
            if traced.is_recording:
                failed = record.reason if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR else ""
                traced.tell(record.span_attributes(answer.status), name=record.operation, failed=failed)
        return answer

    async def _recorded(self, request: Request, record: RequestRecord) -> Answer:
        began_s = self._backend.clock.monotonic_s()
        try:
            answer = await self._turns.watch(self._answer(request, record), lambda: f"REST {record.operation}")
        except HeddleError as exc:
            record.fail(exc)
            answer = self._error(exc, request, record)
        except Exception as exc:  # the task's boundary: one request's bug must not end the connection
            if asyncio.current_task() is None:
                raise  # begun without a task, see `_made_at_once`
            record.fail(exc)
            answer = self._error(InvariantViolationError(record.reason), request, record)
        answer = await zipped(answer, request)
        if record.login:
            answer = replace(answer, headers=(*answer.headers, *record.login))
        duration_s = self._backend.clock.monotonic_s() - began_s
        self._report(record.told(request.peer, answer.status, duration_s))
        return answer

    async def _answer(self, request: Request, record: RequestRecord) -> Answer:
        if has_broken_escape(request.raw_path):
            body = b"<h1>Bad Message 400</h1><pre>reason: Bad Request</pre>"
            return Answer(400, (("Content-Type", "text/html;charset=iso-8859-1"),), body, closes=True)
        query = parse_query(request.query)
        login = await self._callers.log_in(request, query)
        record.caller, record.login = login.caller, login.headers
        with nullcontext() if self._rates is None else self._rates.under_way(login.caller):
            return await with_groups(lambda: self._allowed(request, query, login.caller, record))

    async def _allowed(self, request: Request, query: Query, caller: Caller, record: RequestRecord) -> Answer:
        if self._tokens is not None and query.claims.token_operation:
            return await self._token_operation(query.claims.token_operation, request, query, record)
        match = find(request.raw_path)
        if match is not None:
            return await self._resource(request, query, caller, match, record)
        cookie: Headers = (("Set-Cookie", caller.new_cookie),) if caller.new_cookie else ()
        extra = (*cookie, *self._own_headers(record, self._of_view() if request.method in _SAFE else None))
        record.operation = f"{request.method} {request.raw_path.lstrip('/').partition('/')[0][:32]}"
        record.is_change, record.target = request.method not in _SAFE, request.raw_path[:200]
        refuse_other_sites(request, changes=record.is_change)
        record.audit, record.subcluster = self._site.audited(request)
        found = None if request.raw_path.startswith(BASE) else await self._site.answer(request, caller, extra)
        if found is not None:
            if found.session is not None:
                record.take(found.session)
            if found.later is None:
                return found
            return replace(found, later=self._while_welcome(found.later, request, query, caller))
        if request.method == "OPTIONS":
            return self._writer.options("GET, POST", b"", extra=extra)
        return self._writer.no_such_path(request.raw_path, extra=extra)

    async def _resource(
        self, request: Request, query: Query, caller: Caller, match: Match, record: RequestRecord
    ) -> Answer:
        if request.method == "OPTIONS":
            return self._writer.options(
                allowed_methods(match), describe(match, request.raw_path), extra=self._own_headers(record)
            )
        endpoint = match.endpoints.get("GET" if request.method == "HEAD" else request.method)
        accept = request.joined("accept")
        record.operation = f"{request.method} {BASE}{endpoint.path if endpoint else request.raw_path[len(BASE) :]}"
        failure = failure_for(accept) if endpoint is None else negotiation_failure(endpoint, request, accept)
        if failure is not None:
            return self._writer.not_negotiated(
                failure, path=request.raw_path, extra=self._own_headers(record), cookie=caller.new_cookie
            )
        if endpoint is None:
            raise InvariantViolationError("a method without a row was negotiated")
        record.is_change, record.audit = endpoint.changes, endpoint.audit
        refuse_other_sites(request, changes=endpoint.changes or request.method not in _SAFE)
        record.target = next(iter(match.parameters.values()), "")
        self._identity.require(caller, endpoint.right)
        if endpoint.changes:
            require_scope(caller, endpoint.scope)
        if endpoint.operates:
            self._identity.refuse_wildcard_operator(caller)
        parameters = canonical_parameters(match.parameters)
        plain = inflated(request, max_bytes=self._max_body_bytes)
        is_large = len(plain.body) > LARGE_BYTES
        read = asyncio.to_thread(understood, plain, endpoint) if is_large else None
        sent, body = understood(plain, endpoint) if read is None else await read
        viewer = self._rights.viewer(caller)
        call = Call(sent, endpoint, parameters, query, caller, match.parameters, viewer, body)
        refusal = await self._guard.refusal(call)
        if refusal is not None:
            return self._carried(call, refusal, self._now(), record)
        return await self._dispatch(call, record)

    async def _dispatch(self, call: Call, record: RequestRecord) -> Answer:
        named = call.query.first("cluster")
        if named is not None and call.endpoint.may_be_carried:
            return await self._carry(call, self._backend.configured(named), record)
        if not self._operations.knows(call.endpoint.operation):
            told = await self._held_back.answer(call)
            if told is not None:
                return await self._written(call, told, 0, record)
            routed = await self._routes.run(call)
            record.subcluster = routed.subcluster
            return self._carried(call, routed.answer, routed.freshness, record, left_out=routed.left_out)
        part = self._operations.part_of(call.endpoint.operation)
        version = self._backend.view.version(part) if part is not None else 0
        outcome = await self._operations.run(call)
        if isinstance(outcome, RestAnswer):
            return self._carried(call, outcome, self._now(), record)
        return await self._written(call, outcome, version, record)

    async def _written(self, call: Call, outcome: Outcome, version: int, record: RequestRecord) -> Answer:
        if outcome.document.location:  # of what was made: the application that was submitted
            record.target = outcome.document.location.rpartition("/")[2]
        representation = representation_of(call.request)
        own = self._own_headers(record, outcome.freshness)
        cookie = call.caller.new_cookie
        try:
            answer = self._writer.document(outcome.document, representation, extra=own, cookie=cookie)
        except NotXMLError as exc:  # one cluster's own, which is no document of a ResourceManager
            raise UnavailableError(f"what was told cannot be written as XML: {exc}") from exc
        if call.request.method == "HEAD":
            return replace(answer, body=b"")
        answer = await zipped(answer, call.request)
        if call.request.method == "GET" and self._is_shared:
            self._kept.keep(call, outcome, answer, version)
        return answer

    async def _carry(self, call: Call, subcluster: SubClusterId, record: RequestRecord) -> Answer:
        record.subcluster = subcluster
        routed = await self._routes.pass_on(call, subcluster)
        return self._carried(call, routed.answer, routed.freshness, record)

    def _carried(
        self, call: Call, answer: RestAnswer, freshness: Freshness, record: RequestRecord, *, left_out: int = 0
    ) -> Answer:
        counted: Headers = (("Heddle-Left-Out", str(left_out)),) if left_out else ()
        own = (*self._own_headers(record, freshness), *counted)
        carried = carried_document(answer, call.request, self._writer, cookie=call.caller.new_cookie, extra=own)
        return replace(carried, body=b"") if call.request.method == "HEAD" else carried

    async def _while_welcome(
        self, pieces: AsyncGenerator[bytes, None], request: Request, query: Query, caller: Caller
    ) -> AsyncGenerator[bytes, None]:
        """An answer that goes on, until who asked would be refused if he asked again."""
        clock, told_s = self._backend.clock, self._backend.clock.monotonic_s()
        coming = asyncio.ensure_future(anext(pieces, None))
        try:
            while True:
                look = asyncio.ensure_future(clock.sleep(_LOOK_AGAIN_S))
                await asyncio.wait({coming, look}, return_when=asyncio.FIRST_COMPLETED)
                look.cancel()
                if clock.monotonic_s() - told_s >= _LOOK_AGAIN_S:
                    is_welcome = await self._is_welcome(request, query, caller)
                    if is_welcome is False or (is_welcome is None and clock.monotonic_s() - told_s >= _UNTOLD_S):
                        return
                    told_s = told_s if is_welcome is None else clock.monotonic_s()
                if coming.done():
                    piece = coming.result()
                    if piece is None:
                        return
                    yield piece
                    coming = asyncio.ensure_future(anext(pieces, None))
        finally:
            coming.cancel()
            await asyncio.wait({coming})
            await pieces.aclose()

    async def _is_welcome(self, request: Request, query: Query, caller: Caller) -> bool | None:
        """Return whether a caller is who he was, and may read; None if nobody can tell."""
        try:
            again = await self._callers.again(request, query) or caller
            self._identity.require(again, Right.READ)
        except (UnavailableError, StoreError):
            return None
        except HeddleError:
            return False
        return (again.user, again.real_user, again.scopes) == (caller.user, caller.real_user, caller.scopes)

    # -- the steps ---------------------------------------------------------------------------------------------------

    async def _token_operation(self, name: str, request: Request, query: Query, record: RequestRecord) -> Answer:
        """The authentication filter's own answer, at any path."""
        assert self._tokens is not None and record.caller is not None  # noqa: S101, PT018 - asked before
        row = TOKEN_OPERATIONS[name]
        record.operation, record.audit, record.is_change = f"{row.method} {name}", row.audit, True
        self._identity.require(record.caller, TOKEN_OPERATION)
        refuse_other_sites(request, changes=True)
        body = await self._tokens.run(name, request.method, query, record.caller)
        return self._writer.raw(body, "application/json", extra=self._own_headers(record))

    def _error(self, error: HeddleError, request: Request, record: RequestRecord) -> Answer:
        cookie = record.caller.new_cookie if record.caller else None
        return refused(error, request, self._writer, extra=self._own_headers(record), cookie=cookie)

    # -- headers of our own ------------------------------------------------------------------------------------------

    def _new_request_id(self) -> str:
        return f"{self._prefix}-{next(self._numbers):x}"

    def _shown_request_id(self, request: Request) -> str:
        return client_request_id(request) or self._new_request_id()

    def _now(self) -> Freshness:
        return Freshness(self._backend.clock.now_s(), self._backend.missing())

    def _of_view(self) -> Freshness:
        """Age of what Heddle tells of its own: of the oldest list of applications in it."""
        missing = self._backend.missing()
        return Freshness(self._backend.as_of_s(Part.APPLICATIONS, missing), missing)

    def _own_headers(self, record: RequestRecord, freshness: Freshness | None = None) -> Headers:
        age, request_id = freshness or self._now(), record.client_request_id or record.request_id
        missing = (("Heddle-Missing", ", ".join(age.missing)),) if age.missing else ()
        return ("Heddle-As-Of", instant(age.as_of_s)), ("X-Request-Id", request_id), *missing


# The description of a path that `OPTIONS` answers: which methods, in which types.

_TYPES = ("application/json", "application/xml")


def describe(match: Match, raw_path: str) -> bytes:
    """A WADL document of one resource."""
    methods = "".join(_method(name) for name in sorted(match.endpoints))
    return (
        f'{XML_HEAD}<application xmlns="http://wadl.dev.java.net/2009/02"><resources base="/">'
        f'<resource path="{escape(raw_path.lstrip("/"))}">{methods}</resource></resources></application>'
    ).encode()


def _method(name: str) -> str:
    representations = "".join(f'<representation mediaType="{kind}"/>' for kind in _TYPES)
    return f'<method name="{name}"><response>{representations}</response></method>'


# The body of a request, understood by the row of its endpoint, and written anew: the only body that is passed on.

LARGE_BYTES = 64 * 1024
"""A larger body is read beside the event loop."""

_FORM = "application/x-www-form-urlencoded"
_FORMS = {"/scheduler/logs": "time"}
_ABOUT_THE_BODY = ("content-type", "content-encoding")
_MOST_FORM_BYTES, _MOST_FIELDS = 1024, 16


def understood(request: Request, endpoint: Endpoint) -> tuple[Request, UnderstoodBody | None]:
    """The request with the body that was understood; without any where the endpoint reads none.

    Raises:
        JavaError: If the body is not readable, or a field that Heddle decides on is not plain.
    """
    shape = SHAPES.get(f"{endpoint.method} {endpoint.path}")
    if shape is not None:
        media_type = (request.header("content-type") or "").partition(";")[0].strip().lower()
        read = understand(request.body, media_type=media_type, shape=shape)
        return _with_body(request, read.body, read.media_type), read
    field = _FORMS.get(endpoint.path)
    if field is not None:
        return _with_body(request, _form_of(request, field), _FORM), None
    return _with_body(request, b"", ""), None


def _form_of(request: Request, field: str) -> bytes:
    text = request.body[: _MOST_FORM_BYTES + 1].decode("utf-8", "replace")
    media_type = (request.header("content-type") or "").partition(";")[0].strip().lower()
    if media_type != _FORM or len(text) > _MOST_FORM_BYTES or text.count("&") >= _MOST_FIELDS:
        return b""
    values = [value for name, value in parse_qsl(text, keep_blank_values=True) if name == field]
    return urlencode({field: values[0]}).encode() if values else b""


def _with_body(request: Request, body: bytes, media_type: str) -> Request:
    if not request.body and not body:
        return request
    kept = tuple(each for each in request.headers if each[0] not in _ABOUT_THE_BODY)
    headers = (*kept, ("content-type", media_type)) if media_type else kept
    return replace(request, headers=headers, body=body)
