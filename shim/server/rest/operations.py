"""The operations that Heddle answers itself: from the view, by merging, or with ids of its own."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from shim.domain.access_lists import Viewer
from shim.domain.ids import SubClusterId
from shim.errors import NotFoundError, NoUsableSubClusterError, UnavailableError
from shim.federation.core.federation_view import Part
from shim.federation.documents import PartRead
from shim.federation.freshness import Freshness
from shim.identity.service import Caller
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.protocol.rest.body_shapes import UnderstoodBody
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.filters import parse_deselects, parse_node_states
from shim.protocol.rest.identifiers import path_application
from shim.protocol.rest.merges import (
    Merge,
    PartialDocument,
    merge_bulk_activities,
    merge_labels_to_nodes,
    merge_metrics,
    merge_node_labels,
    merge_nodes,
    merge_nodes_to_labels,
    merge_overview,
    merge_readable,
    merge_reservations,
    merge_schedulers,
    scheduler_type,
    without_members,
)
from shim.protocol.rest.queries import Query
from shim.protocol.rest.submission_context import submission_of
from shim.protocol.wire_values import UNREADABLE, is_document
from shim.server.rest.answers import Document
from shim.server.rest.application_lists import ApplicationLists
from shim.server.rest.backend import Backend
from shim.server.rest.endpoints import Endpoint, Operation
from shim.server.rest.foreign_answers import told_status
from shim.server.rest.forwarding import forwarded_request, public_url
from shim.server.rest.messages import Request
from shim.server.rest.new_ids import NewIds
from shim.submission.entrance import Rejected

_FOREVER = float("inf")
_PARTS: Mapping[Operation, Part] = {
    Operation.INFO: Part.INFO,
    Operation.METRICS: Part.METRICS,
    Operation.SCHEDULER: Part.SCHEDULER,
    Operation.NODES: Part.NODES,
    Operation.APPLICATIONS: Part.APPLICATIONS,
    Operation.APPLICATION: Part.APPLICATIONS,
    Operation.STATISTICS: Part.APPLICATIONS,
}
_OK = 200
_FAILED = 500
_PLAN = "default"
"""The queue whose reservations are listed where none is named."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request with what is known of it.

    Attributes:
        request: Its body is the one that was understood.
        parameters: Of the path, as a ResourceManager is sent them.
        given: The same as the client wrote them, for messages.
        body: What the body says; None where the endpoint reads none.
    """

    request: Request
    endpoint: Endpoint
    parameters: Mapping[str, str]
    query: Query
    caller: Caller
    given: Mapping[str, str]
    viewer: Viewer
    body: UnderstoodBody | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Answer of an operation.

    Attributes:
        part: The part of the view that it is made of: it may be given to others until that changes; None if not.
    """

    document: Document
    freshness: Freshness
    part: Part | None = None
    good_until_s: float = _FOREVER
    is_single: bool = False


class Operations:
    """Answers the rows of the table that are not routed.

    Args:
        login_user: Whom Heddle runs as: `rmLoginUser`.
        staleness_s: How old a live application's document may be.
        scheduler: Type of the scheduler whose tree `/scheduler` shows when sub-clusters differ; empty for the first's.
    """

    def __init__(self, backend: Backend, *, login_user: str, staleness_s: float, scheduler: str = "") -> None:
        self._backend = backend
        self._login_user = login_user
        self._staleness_s = staleness_s
        self._scheduler = scheduler
        self._lists = ApplicationLists(backend)
        self._new_ids = NewIds(backend)
        self._table: Mapping[Operation, Callable[[Call], Awaitable[Outcome | RestAnswer]]] = {
            Operation.INFO: self._info,
            Operation.USER_INFO: self._user_info,
            Operation.METRICS: self._metrics,
            Operation.SCHEDULER: self._scheduler_tree,
            Operation.OVERVIEW: self._gathered(merge_overview),
            Operation.BULK_ACTIVITIES: self._gathered(merge_bulk_activities),
            Operation.NODES: self._nodes,
            Operation.APPLICATIONS: self._applications,
            Operation.APPLICATION: self._application,
            Operation.STATISTICS: self._statistics,
            Operation.NODE_LABELS: self._gathered(merge_node_labels),
            Operation.NODES_TO_LABELS: self._gathered(merge_nodes_to_labels),
            Operation.LABELS_TO_NODES: self._gathered(merge_labels_to_nodes),
            Operation.RESERVATIONS: self._gathered(merge_reservations),
            Operation.NEW_APPLICATION: self._new_application,
            Operation.SUBMIT: self._submit,
        }

    def knows(self, operation: Operation) -> bool:
        return operation in self._table

    def is_at_hand(self, operation: Operation, parameters: Mapping[str, str]) -> bool:
        """True if the operation's answer takes no waiting now: nothing has to be fetched for it."""
        part = _PARTS.get(operation)
        if operation is Operation.NEW_APPLICATION:
            return self._backend.ids.are_there
        if part is Part.INFO and not self._backend.ids.is_founding_known:
            return False  # begun anew in a task, it would count twice against its user's rate
        if operation is Operation.APPLICATION:
            return self._backend.applications.is_at_hand(parameters["application"])
        if part is Part.APPLICATIONS:
            return self._backend.applications.are_lists_at_hand
        return part is not None and self._backend.documents.is_at_hand(part)

    @staticmethod
    def part_of(operation: Operation) -> Part | None:
        """The part of the view that an operation's answers are made of."""
        return _PARTS.get(operation)

    async def run(self, call: Call) -> Outcome | RestAnswer:
        """Answer; a home's own refusal is passed on as it is.

        Raises:
            UserError: For the caller's mistake.
            UnavailableError: If no sub-cluster can tell.
        """
        return await self._table[call.endpoint.operation](call)

    # -- from the view -----------------------------------------------------------------------------------------------

    async def _info(self, call: Call) -> Outcome:  # noqa: ARG002 - an operation's signature
        read = await self._backend.documents.part(Part.INFO)
        first = next(iter(read.documents.values()), None)
        known = msgspec.json.decode(first.raw)["clusterInfo"] if first else {}
        stamp = await self._backend.ids.founded_ms()  # programs take another id for another cluster
        own = {"id": stamp, "startedOn": stamp, "state": "STARTED", "haState": "ACTIVE"}
        body = msgspec.json.encode({"clusterInfo": {**own, **known, **own}})
        return Outcome(Document(body), read.freshness, Part.INFO)

    async def _user_info(self, call: Call) -> Outcome:
        shown = {"rmLoginUser": self._login_user, "requestedUser": call.caller.user}
        return Outcome(Document(_json(shown), xml_root=call.endpoint.xml_root), self._now())

    async def _metrics(self, call: Call) -> Outcome:  # noqa: ARG002 - an operation's signature
        read, parts = await self._parts(Part.METRICS)
        return _of_parts(merge_metrics, parts, read, Part.METRICS)

    async def _scheduler_tree(self, call: Call) -> Outcome:  # noqa: ARG002 - an operation's signature
        read, parts = await self._parts(Part.SCHEDULER)
        if self._scheduler:
            parts.sort(key=lambda part: scheduler_type(part.document) != self._scheduler)
        return await _off_loop_if_large(merge_schedulers, parts, read, Part.SCHEDULER)

    async def _nodes(self, call: Call) -> Outcome:
        states = parse_node_states(call.query)
        read, parts = await self._parts(Part.NODES)
        return await _off_loop_if_large(partial(merge_nodes, states=states), parts, read, Part.NODES)

    async def _applications(self, call: Call) -> Outcome:
        accept = call.request.joined("accept")
        document, freshness = await self._lists.applications(call.query, accept, call.viewer)
        return Outcome(document, freshness, Part.APPLICATIONS)

    async def _statistics(self, call: Call) -> Outcome:
        document, freshness = await self._lists.statistics(call.query, call.viewer)
        return Outcome(document, freshness, Part.APPLICATIONS)

    async def _application(self, call: Call) -> Outcome:
        text = call.given["application"]
        application_id = path_application(call.parameters["application"])
        try:
            read = await self._backend.applications.application(application_id, viewer=call.viewer)
        except NotFoundError:
            raise JavaError.not_found(f"app with id: {text} not found") from None
        left_out = parse_deselects(call.query.all("deSelects"))
        document = read.document
        raw = without_members(document.raw, without=left_out) if left_out else document.raw
        is_final = document.summary.state.is_final
        good_until_s = _FOREVER if is_final else document.as_of_s + self._staleness_s
        return Outcome(Document(b'{"app":%b}' % raw), read.freshness, Part.APPLICATIONS, good_until_s, is_single=True)

    async def _parts(self, part: Part) -> tuple[PartRead, list[PartialDocument]]:
        """A part of every sub-cluster that has told it.

        Raises:
            NoUsableSubClusterError: If none has.
        """
        read = await self._backend.documents.part(part)
        if not read.documents:
            raise NoUsableSubClusterError("no sub-cluster has answered yet: `heddle doctor` tells why")
        return read, self._backend.weighted(read)

    def _now(self) -> Freshness:
        return Freshness(self._backend.clock.now_s(), self._backend.missing())

    # -- asked of all ------------------------------------------------------------------------------------------------

    def _gathered(self, merge: Callable[[Sequence[PartialDocument]], bytes]) -> Callable[[Call], Awaitable[Outcome]]:
        async def run(call: Call) -> Outcome:
            asked_at_s = self._backend.clock.now_s()
            parts, missing = await self._ask_all(call)
            body, odd = merge_readable(merge, parts)
            freshness = Freshness(asked_at_s, (*missing, *odd))
            return Outcome(Document(body, xml_root=call.endpoint.xml_root), freshness)

        return run

    async def _ask_all(self, call: Call) -> tuple[list[PartialDocument], tuple[SubClusterId, ...]]:
        """Ask every usable sub-cluster at once; those that do not answer are named.

        Raises:
            JavaError: If a sub-cluster says that the request is wrong.
            NoUsableSubClusterError: If none answered.
        """
        usable = self._backend.routing.usable()
        request = forwarded_request(
            call.request, call.endpoint, dict(call.parameters), call.caller, accept="application/json"
        )
        asked = {item: self._asked_at(item, call, request) for item in usable}
        answers = await asyncio.gather(
            *(self._backend.exchange(item, each, is_slow=call.endpoint.is_slow) for item, each in asked.items()),
            return_exceptions=True,
        )
        parts: list[PartialDocument] = []
        missing = [item for item in self._backend.view.subclusters if item not in usable]
        refused: RestAnswer | None = None
        for item, answer in zip(usable, answers, strict=True):
            if isinstance(answer, UnavailableError):
                missing.append(item)
            elif isinstance(answer, BaseException):
                raise answer
            elif answer.status == _OK and is_document(answer.body):
                parts.append(PartialDocument(item, answer.body))
            else:
                missing.append(item)
                refused = refused or answer
        if not parts and refused is not None and refused.status != _OK:
            raise _refusal(refused)
        if not parts:
            raise NoUsableSubClusterError("no sub-cluster answered: `heddle doctor` tells why")
        return parts, tuple(missing)

    def _asked_at(self, subcluster: SubClusterId, call: Call, request: RestRequest) -> RestRequest:
        """The question, with the name that a sub-cluster has for the queue whose reservations are asked for."""
        if call.endpoint.operation is not Operation.RESERVATIONS:
            return request
        told = call.query.first("queue")
        queue = _PLAN if told is None else told
        name = self._backend.control.asked_name(subcluster, queue, is_plan=True)
        if name == queue:
            return request
        others = (pair for pair in request.parameters if pair[0] != "queue")
        return replace(request, parameters=(("queue", name), *others))

    # -- own ids and submissions -------------------------------------------------------------------------------------

    async def _new_application(self, call: Call) -> Outcome:
        return Outcome(
            Document(await self._new_ids.next(call.caller.user), xml_root=call.endpoint.xml_root), self._now()
        )

    async def _submit(self, call: Call) -> Outcome | RestAnswer:
        assert call.body is not None  # noqa: S101 - the row has a shape
        submission = submission_of(call.body, user=call.caller.user)
        taken = await self._backend.submissions.submit(submission)
        if isinstance(taken, Rejected):
            refusal = taken.refusal
            answer = RestAnswer(refusal.status or _FAILED, refusal.headers, refusal.body)
            if b"RemoteException" in answer.body:
                raise _refusal(answer)
            if refusal.java_class:
                raise JavaError(told_status(answer.status), refusal.java_class, refusal.message)
            return answer
        location = public_url(call.request, f"{call.request.raw_path}/{submission.application_id}")
        return Outcome(Document(b"", status=202, location=location), self._now())


_LARGE_BYTES = 1024 * 1024
"""Bytes of documents that are put together beside the event loop."""


async def _off_loop_if_large(merge: Merge, parts: Sequence[PartialDocument], read: PartRead, part: Part) -> Outcome:
    """As `_of_parts`; in a thread if there is much to read, so that others have their turn meanwhile."""
    merged = partial(_of_parts, merge, parts, read, part)
    is_large = sum(len(each.told) for each in parts) > _LARGE_BYTES
    return await asyncio.to_thread(merged) if is_large else merged()


def _of_parts(merge: Merge, parts: Sequence[PartialDocument], read: PartRead, part: Part) -> Outcome:
    """An answer made of a part of every sub-cluster; one whose document has another shape is named as missing."""
    body, odd = merge_readable(merge, parts)
    if not odd:
        return Outcome(Document(body), read.freshness, part)
    return Outcome(Document(body), replace(read.freshness, missing=(*read.freshness.missing, *odd)))


def _refusal(answer: RestAnswer) -> JavaError:
    """A ResourceManager's error as the same error of ours; a `JavaError` of 502 for what is none."""
    status = told_status(answer.status)
    try:
        body = msgspec.json.decode(answer.body)["RemoteException"]
        message = body.get("message")
        return JavaError(status, str(body["javaClassName"]), None if message is None else str(message))
    except (KeyError, TypeError, AttributeError, *UNREADABLE):
        return JavaError(status, "org.apache.hadoop.yarn.webapp.BadRequestException", None)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
