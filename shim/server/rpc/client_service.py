"""The client RPC server: ApplicationClientProtocol, each method by its row of the table, same services as REST."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

from google.protobuf.message import DecodeError, Message

from shim.calls.client import Gathered
from shim.calls.control import NamedQueue
from shim.concurrency.off_loop import OffLoop
from shim.domain.ids import ApplicationAttemptId, SubClusterId
from shim.errors import (
    BadRequestError,
    ForbiddenError,
    GroupsUnknownError,
    HeddleError,
    NotPlacedError,
    TooManyCallsError,
)
from shim.identity.service import Caller, with_groups
from shim.ports.resource_manager_rpc import RPCAnswer, RPCCall
from shim.protocol.hrpc import ContextReceived, Failure, HadoopCall, JavaClass, SASLOffer, method_of, request_of
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import (
    GetApplicationReportRequestProto,
    GetApplicationReportResponseProto,
    GetContainersRequestProto,
    GetQueueInfoResponseProto,
)
from shim.protocol.wire_values import text_of
from shim.protocol.yarn import MERGES, application_message, attempt_message, attempt_of, container_of, reservation_of
from shim.protocol.yarn.merges import JOINS, ClusterAnswer, name_queue
from shim.protocol.yarn.texts import text_rejection
from shim.protocol.yarn.wire import PIECE_BYTES
from shim.server.rpc.application_guard import CallGuard
from shim.server.rpc.asked import (
    AnsweredCall,
    Asked,
    CallObserver,
    MethodAnswer,
    failure_of,
    passed_on,
    problem_of,
    told,
)
from shim.server.rpc.client_methods import CLIENT_METHODS, CLIENT_RIGHTS
from shim.server.rpc.kept_answers import Made
from shim.server.rpc.logins import Logins
from shim.server.rpc.own_methods import ClientUseCases, OwnMethods
from shim.server.ways import RouteKey, Way

_MOST_MERGED_BYTES = 16 * PIECE_BYTES
"""Of a cluster's labels, attributes, types and queues: whoever tells more tells nothing."""
_PROTOCOLS = {APPLICATION_CLIENT.name: APPLICATION_CLIENT}


class ClientService:
    """Answers Hadoop clients as a ResourceManager.

    Attributes:
        logins: Names its callers, and judges their tokens.
    """

    def __init__(self, use_cases: ClientUseCases, observer: CallObserver = lambda _: None) -> None:
        self._calls = use_cases.calls
        self._identity = use_cases.identity
        self.logins = Logins(use_cases.identity, use_cases.tokens, use_cases.kerberos)
        self._kept = use_cases.kept
        self._rights = use_cases.rights
        self._guard = CallGuard(use_cases.calls, use_cases.access, use_cases.rights)
        self._max_request_bytes = use_cases.max_submission_bytes
        self._rates = use_cases.rates
        self._observer = observer
        self._beside = OffLoop()
        own = OwnMethods(use_cases)
        self._own, self._own_at_once = own.table, own.at_once
        self._ways: Mapping[Way, Callable[[Asked], Awaitable[MethodAnswer]]] = {
            Way.OWN: lambda asked: self._own[asked.call.method](asked),
            Way.ROUTE: lambda asked: self._routes[asked.row.key](asked),
            Way.MERGE: self._merge,
            Way.CARRY: self._carry,
            Way.ANY_CLUSTER: self._first_willing,
        }
        self._routes: Mapping[RouteKey | None, Callable[[Asked], Awaitable[MethodAnswer]]] = {
            RouteKey.APPLICATION: self._at_home,
            RouteKey.ATTEMPT: self._containers,
            RouteKey.CONTAINER: self._at_container,
            RouteKey.RESERVATION: self._at_issuer,
        }

    # -- who may come in ---------------------------------------------------------------------------------------------

    def offers(self) -> Sequence[SASLOffer]:
        """Tokens that Heddle issued, and tickets or names."""
        return self.logins.offers()

    def admit(self, context: ContextReceived, address: str) -> Caller | Failure:
        return self.logins.admit(context, address)

    # -- answers -----------------------------------------------------------------------------------------------------

    def answer_at_once(self, call: HadoopCall, caller: Caller) -> bytes | Failure | None:
        """Answer at once if the call is faulty, or its answer is kept or at hand."""
        method = method_of(call, _PROTOCOLS)
        if isinstance(method, Failure):
            return method
        try:
            if self._rates is not None:
                self._rates.by_user(caller)
        except TooManyCallsError as exc:
            return Failure(JavaClass.RETRIABLE, str(exc))
        size = len(call.payload_untrusted or b"")
        if size > self._max_request_bytes:  # before it is decoded: that takes a time and memory that grow with it
            return Failure(
                JavaClass.YARN,
                f"the request has {size} bytes, more than the {self._max_request_bytes} of [server] max_body_bytes: "
                "put large files into the file system",
            )
        try:
            self._identity.require(caller, CLIENT_RIGHTS[call.method])
            sight = self._rights.viewer(caller).sight
        except HeddleError as exc:  # groups that are not known yet are awaited where the answer is made
            return None if isinstance(exc, GroupsUnknownError) else failure_of(exc, CLIENT_METHODS[call.method])
        if CLIENT_METHODS[call.method].tells is not None:
            return self._kept.find(call, caller, sight)
        own = self._own_at_once.get(call.method)
        return own(call, caller.user) if own is not None else None

    @staticmethod
    def only_reads(call: HadoopCall) -> bool:
        """Return whether a call changes nothing, so that nobody misses it once its client has gone."""
        row = CLIENT_METHODS.get(call.method)
        return row is not None and not row.writes

    async def answer(self, call: HadoopCall, caller: Caller) -> bytes | Failure:
        """Answer a call by its row, unless too many of the caller's are under way."""
        try:
            with nullcontext() if self._rates is None else self._rates.under_way(caller):
                return await self._answer(call, caller)
        except TooManyCallsError as exc:
            return Failure(JavaClass.RETRIABLE, str(exc))

    async def _answer(self, call: HadoopCall, caller: Caller) -> bytes | Failure:
        method = method_of(call, _PROTOCOLS)
        request = method if isinstance(method, Failure) else request_of(call, method)
        if isinstance(request, Failure):
            return request
        asked = Asked(call, request, CLIENT_METHODS[call.method], caller)
        try:
            answer = await with_groups(lambda: self._allowed(asked))
        except HeddleError as exc:
            return failure_of(exc, asked.row)
        return answer.SerializeToString() if isinstance(answer, Message) else answer

    async def _allowed(self, asked: Asked) -> MethodAnswer:
        self._identity.require(asked.caller, CLIENT_RIGHTS[asked.call.method])
        if said := text_rejection(asked.request):
            raise BadRequestError(said)
        if asked.row.writes:
            # what is passed on is written anew: fields that stood more than once were joined when they were read
            asked = replace(asked, call=replace(asked.call, payload_untrusted=asked.request.SerializeToString()))
        return await self._guard.refusal(asked) or await self._ways[asked.row.way](asked)

    async def _at_home(self, asked: Asked) -> MethodAnswer:
        application_id = asked.row.application(asked.request)
        if not asked.row.writes:
            try:
                return told(await self._calls.read(application_id, asked.passed_on()))
            except NotPlacedError:
                if asked.row.is_empty_without_home:
                    return b""
                raise
        move = self._queue(asked) if asked.row.queue else None
        return told(await self._calls.change(application_id, asked.passed_on(), move))

    def _queue(self, asked: Asked) -> NamedQueue[RPCCall]:
        user = None if self._identity.is_operator(asked.caller) else asked.caller.user
        name = getattr(asked.request, asked.row.queue) if asked.row.queue else ""
        return NamedQueue(name, user, asked.with_queue, is_plan=asked.row.key is RouteKey.RESERVATION)

    async def _at_container(self, asked: Asked) -> MethodAnswer:
        if asked.row.owners and not self._rights.are_on and not self._identity.is_operator(asked.caller):
            await self._check_owner(asked)
        container = container_of(getattr(asked.request, asked.row.field))
        return told(await self._calls.ask_place(container, asked.passed_on()))

    async def _at_issuer(self, asked: Asked) -> MethodAnswer:
        request = asked.request
        reservation = reservation_of(getattr(request, asked.row.field)) if request.HasField(asked.row.field) else ""
        return told(await self._calls.ask_issuer(reservation, asked.passed_on(), self._queue(asked)))

    async def _check_owner(self, asked: Asked) -> None:
        """A ResourceManager without access lists lets anybody; of an application that is new here its home is asked.

        Raises:
            ForbiddenError: The caller does not own the application.
            NotFoundError: Nobody knows the application.
            HomeUnreachableError: Who owns it cannot be told now.
        """
        application_id, user = asked.row.application(asked.request), asked.caller.user
        owner = self._calls.owner_of(application_id)
        if owner is None:
            request = GetApplicationReportRequestProto(application_id=application_message(application_id))
            question = RPCCall(asked.call.protocol, "getApplicationReport", request.SerializeToString(), user=user)
            owner = _owner_told(await self._calls.read(application_id, question))
        if owner != user:
            raise ForbiddenError(
                f"Unauthorized attempt at {asked.call.method} of {application_id} by remote user {user}"
            )

    async def _containers(self, asked: Asked) -> MethodAnswer:
        """One list: repeated fields of protobuf messages that are put one behind the other are joined."""
        attempt = attempt_of(getattr(asked.request, asked.row.field))

        def call_for(known_as: ApplicationAttemptId) -> RPCCall:
            if known_as == attempt:
                return asked.passed_on()
            request = GetContainersRequestProto(application_attempt_id=attempt_message(known_as))
            return passed_on(asked.call, asked.caller, request.SerializeToString())

        home, *others = await self._calls.containers(attempt, call_for)
        return told(home) if home.refusal else b"".join(answer.payload for answer in (home, *others))

    async def _merge(self, asked: Asked) -> MethodAnswer:
        part = asked.row.tells
        if part is None:
            return (await self._merged(asked)).answer
        return await self._kept.ask(asked.call, asked.caller, part, lambda: self._merged(asked))

    async def _merged(self, asked: Asked) -> Made:
        told_to = asked.caller.user if asked.row.tells is None else ""
        queue = self._queue(asked) if asked.row.queue else None
        gathered = await self._calls.ask_all(asked.passed_on(), queue, told_to=told_to)
        problem = problem_of(gathered)
        if problem is not None:
            return Made(problem, gathered.missing)
        if asked.call.method in JOINS:
            return Made(b"".join(gathered.payloads.values()), gathered.missing)
        parts = self._parts(asked, gathered)
        merge = partial(MERGES[asked.call.method], list(parts.values()))
        is_large = sum(len(each.payload) for each in parts.values()) > PIECE_BYTES
        merged = await self._beside.run_in_turn(asked.caller.user, merge) if is_large else merge()
        self._guard.leave_out(asked, merged)
        if isinstance(merged, GetQueueInfoResponseProto) and queue is not None:
            name_queue(merged, queue.queue)
        return Made(merged.SerializeToString(), gathered.missing | (gathered.payloads.keys() - parts.keys()))

    async def _carry(self, asked: Asked) -> MethodAnswer:
        return told(await self._calls.ask_any(asked.passed_on()))

    async def _first_willing(self, asked: Asked) -> MethodAnswer:
        return told(await self._calls.ask_willing(asked.passed_on()))

    def _parts(self, asked: Asked, gathered: Gathered) -> dict[SubClusterId, ClusterAnswer]:
        """The answers, but for those that are larger than any of their kind."""
        lists_bind = not self._identity.is_operator(asked.caller)

        def is_closed(subcluster: SubClusterId, queue: str) -> bool:
            return lists_bind and self._calls.is_closed_to(subcluster, queue, asked.caller.user)

        return {
            item: ClusterAnswer(payload, self._calls.weight(item), is_closed=partial(is_closed, item))
            for item, payload in gathered.payloads.items()
            if len(payload) <= _MOST_MERGED_BYTES
        }

    # -- what is told of answers -------------------------------------------------------------------------------------

    def tell(self, exchange: AnsweredCall) -> None:
        """Pass an answered call on to the observer."""
        self._observer(exchange)


def _owner_told(answer: RPCAnswer) -> str | None:
    """Return the owner of the application that a report tells of; None if it tells of none."""
    if answer.refusal is not None:
        return None
    try:
        return text_of(GetApplicationReportResponseProto.FromString(answer.payload).application_report.user)
    except DecodeError:
        return None
