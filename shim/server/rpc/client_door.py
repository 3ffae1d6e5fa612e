"""The client door: ApplicationClientProtocol, each method by its row of the table, over the same services as REST."""

import base64
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from google.protobuf.message import Message

from shim.domain.resources import ResourceVector
from shim.domain.subclusters import ApplicationDocument
from shim.errors import (
    ForbiddenError,
    HeddleError,
    HomeUnreachableError,
    NotAuthenticatedError,
    NotFoundError,
    NoUsableSubClusterError,
    UserError,
)
from shim.ports.resource_manager_rpc import RPCAnswer, RPCCall, RPCRefusal
from shim.protocol.hrpc import (
    SIMPLE_OFFER,
    AuthMethod,
    Call,
    ContextReceived,
    Failure,
    JavaClass,
    Offer,
    RPCErrorCode,
    SASLError,
    method_of,
    request_of,
)
from shim.protocol.hrpc.digest_md5 import NONCE_BYTES, DigestMD5Server
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import (
    CancelDelegationTokenRequestProto,
    CancelDelegationTokenResponseProto,
    GetApplicationReportRequestProto,
    GetApplicationReportResponseProto,
    GetApplicationsRequestProto,
    GetApplicationsResponseProto,
    GetDelegationTokenRequestProto,
    GetDelegationTokenResponseProto,
    GetNewApplicationResponseProto,
    RenewDelegationTokenRequestProto,
    RenewDelegationTokenResponseProto,
    SubmitApplicationRequestProto,
    SubmitApplicationResponseProto,
)
from shim.protocol.yarn import (
    MERGES,
    application_message,
    application_of,
    decode_submission,
    report_of,
    reservation_of,
    resource_message,
    shows,
)
from shim.protocol.yarn.merges import Part, merge_applications
from shim.server.rpc.client_methods import CLIENT_METHODS, Key, Row, Way
from shim.services.application_ids import ApplicationIds
from shim.services.client_calls import ClientCalls, Gathered
from shim.services.delegation_tokens import DelegationTokenError, DelegationTokens
from shim.services.identity import Caller, IdentityService
from shim.services.submission import Rejected, SubmissionService

__all__ = ["ClientDoor", "ClientUseCases"]

_PROTOCOLS = {APPLICATION_CLIENT.name: APPLICATION_CLIENT}
_UNAUTHORIZED = RPCErrorCode.UNAUTHORIZED
_FAILURES: tuple[tuple[type[HeddleError], JavaClass], ...] = (
    (DelegationTokenError, JavaClass.INVALID_TOKEN),
    (ForbiddenError, JavaClass.ACCESS_CONTROL),
    (NotAuthenticatedError, JavaClass.ACCESS_CONTROL),
    (UserError, JavaClass.YARN),
    (HeddleError, JavaClass.RETRIABLE),
)
"""What an error is called towards a Java client, most specific first; what may pass by itself is worth a retry."""


@dataclass(frozen=True, slots=True)
class ClientUseCases:
    """What stands behind the client door.

    Attributes:
        maximum_allocation: The largest container that some sub-cluster grants.
    """

    calls: ClientCalls
    ids: ApplicationIds
    submissions: SubmissionService
    identity: IdentityService
    tokens: DelegationTokens
    maximum_allocation: Callable[[], ResourceVector]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call with what is known of it."""

    call: Call
    request: Message
    row: Row
    caller: Caller

    def passed_on(self) -> RPCCall:
        """The same call, to a ResourceManager: the request's bytes as they came."""
        context = self.call.caller_context
        return RPCCall(
            self.call.protocol,
            self.call.method,
            self.call.payload_untrusted or b"",
            user=self.caller.user,
            caller_context=context.context if context is not None else "",
        )


_Answer = Message | bytes | Failure


class ClientDoor:
    """Answers Hadoop clients as a ResourceManager."""

    def __init__(self, use_cases: ClientUseCases) -> None:
        self._use_cases = use_cases
        self._calls = use_cases.calls
        self._own: Mapping[str, Callable[[_Asked], Awaitable[_Answer]]] = {
            "getNewApplication": self._new_application,
            "submitApplication": self._submit,
            "getApplications": self._applications,
            "getApplicationReport": self._report,
            "getDelegationToken": self._issue_token,
            "renewDelegationToken": self._renew_token,
            "cancelDelegationToken": self._cancel_token,
        }
        self._ways: Mapping[Way, Callable[[_Asked], Awaitable[_Answer]]] = {
            Way.OWN: lambda asked: self._own[asked.call.method](asked),
            Way.ROUTE: self._route,
            Way.MERGE: self._merge,
            Way.CARRY: self._carry,
        }

    # -- who may come in ---------------------------------------------------------------------------------------------

    def offers(self) -> Sequence[Offer]:
        """Tokens that Heddle issued, and names that are believed: what a ResourceManager without Kerberos offers."""
        return (Offer(AuthMethod.TOKEN, "", "default", self._token_session), SIMPLE_OFFER)

    def _token_session(self) -> DigestMD5Server:
        return DigestMD5Server(self._password_of, base64.b64encode(os.urandom(NONCE_BYTES)).decode())

    def _password_of(self, identifier: bytes) -> bytes:
        try:
            return self._use_cases.tokens.password_of(identifier)
        except DelegationTokenError as exc:
            raise SASLError(str(exc), java_class=JavaClass.INVALID_TOKEN) from exc

    def admit(self, context: ContextReceived, address: str) -> Caller | Failure:
        """Name the caller; a token speaks for its owner alone, a proxy user needs leave."""
        effective, real = context.effective_user_untrusted, context.real_user_untrusted
        try:
            if context.method is AuthMethod.TOKEN:
                owner = self._use_cases.tokens.owner_of(base64.b64decode(context.identity))
                if effective not in ("", owner):
                    text = f"Authenticated user ({owner}) doesn't match what the client claims to be ({effective})"
                    return Failure(JavaClass.ACCESS_CONTROL, text, _UNAUTHORIZED)
                effective, real = owner, ""
            return self._use_cases.identity.identify(
                user_name=real or effective or None, do_as=effective if real else None, cookie=None, address=address
            )
        except UserError as exc:
            return Failure(JavaClass.AUTHORIZATION, str(exc), _UNAUTHORIZED)

    # -- answers -----------------------------------------------------------------------------------------------------

    def answer_at_once(self, call: Call, caller: Caller) -> bytes | Failure | None:  # noqa: ARG002 - the door's signature
        """What is wrong with a call needs no waiting."""
        method = method_of(call, _PROTOCOLS)
        return method if isinstance(method, Failure) else None

    async def answer(self, call: Call, caller: Caller) -> bytes | Failure:
        """Answer a call by its row."""
        method = method_of(call, _PROTOCOLS)
        request = method if isinstance(method, Failure) else request_of(call, method)
        if isinstance(request, Failure):
            return request
        asked = _Asked(call, request, CLIENT_METHODS[call.method], caller)
        try:
            answer = await self._ways[asked.row.way](asked)
        except HeddleError as exc:
            return _failure(exc, asked.row)
        return answer.SerializeToString() if isinstance(answer, Message) else answer

    async def _route(self, asked: _Asked) -> _Answer:
        row, request = asked.row, asked.request
        if row.key is Key.RESERVATION:
            reservation = reservation_of(getattr(request, row.field))
            return _told(await self._calls.ask_issuer(reservation, asked.passed_on()))
        application_id = row.application(request)
        if row.writes:
            self._use_cases.identity.require_user(asked.caller)
            return _told(await self._calls.change(application_id, asked.passed_on()))
        return _told(await self._calls.read(application_id, asked.passed_on()))

    async def _merge(self, asked: _Asked) -> _Answer:
        gathered = await self._calls.ask_all(asked.passed_on())
        problem = _problem(gathered)
        return problem if problem is not None else MERGES[asked.call.method](self._parts(gathered))

    async def _carry(self, asked: _Asked) -> _Answer:
        return _told(await self._calls.ask_any(asked.passed_on()))

    def _parts(self, gathered: Gathered) -> list[Part]:
        return [Part(payload, self._calls.weight(item)) for item, payload in gathered.payloads.items()]

    # -- own ---------------------------------------------------------------------------------------------------------

    async def _new_application(self, _asked: _Asked) -> Message:
        application_id = await self._use_cases.ids.issue()
        return GetNewApplicationResponseProto(
            application_id=application_message(application_id),
            maximumCapability=resource_message(self._use_cases.maximum_allocation()),
        )

    async def _submit(self, asked: _Asked) -> _Answer:
        request = asked.request
        assert isinstance(request, SubmitApplicationRequestProto)  # noqa: S101 - the method's own request class
        self._use_cases.identity.require_user(asked.caller)
        payload = asked.call.payload_untrusted or b""
        submission = decode_submission(request, payload, user=asked.caller.user)
        taken = await self._use_cases.submissions.submit(submission)
        if isinstance(taken, Rejected):
            return _refused(taken.answer.body)
        return SubmitApplicationResponseProto()

    async def _report(self, asked: _Asked) -> _Answer:
        """The home's report; what was last known where the home does not answer or has not got it yet."""
        request = asked.request
        assert isinstance(request, GetApplicationReportRequestProto)  # noqa: S101 - the method's own request class
        application_id = application_of(request.application_id)
        try:
            told = _told(await self._calls.read(application_id, asked.passed_on()))
        except HomeUnreachableError:
            known = self._calls.last_known(application_id, viewer=asked.caller.user)
            if known is None:
                raise
            return _report_of(known)
        except NotFoundError:
            return Failure(
                JavaClass.APPLICATION_NOT_FOUND,
                f"Application with id '{application_id}' doesn't exist in RM. Please check that the job submission "
                f"was successful.",
            )
        if isinstance(told, Failure) and told.java_class == JavaClass.APPLICATION_NOT_FOUND:
            known = self._calls.last_known(application_id, viewer=asked.caller.user)
            return told if known is None else _report_of(known)
        return told

    async def _applications(self, asked: _Asked) -> _Answer:
        """Every home's reports, and the last known ones of applications that no home told of now."""
        request = asked.request
        assert isinstance(request, GetApplicationsRequestProto)  # noqa: S101 - the method's own request class
        gathered = await self._calls.ask_all(asked.passed_on())
        problem = _problem(gathered) if gathered.refusal is not None else None
        if problem is not None:
            return problem
        absent = self._calls.not_told_by(gathered.missing, viewer=asked.caller.user)
        own = [report_of(document) for document in absent if shows(request, document.summary)]
        parts = self._parts(gathered)
        if own:
            parts.append(Part(_without_twice(own, parts).SerializeToString()))
        return merge_applications(parts, limit=request.limit if request.HasField("limit") else None)

    async def _issue_token(self, asked: _Asked) -> Message:
        request = asked.request
        assert isinstance(request, GetDelegationTokenRequestProto)  # noqa: S101 - the method's own request class
        caller = self._use_cases.identity.require_user(asked.caller)
        real_user = caller.real_user if caller.real_user != caller.user else ""
        token = self._use_cases.tokens.issue(caller.user, request.renewer, real_user)
        return GetDelegationTokenResponseProto(token=token)

    async def _renew_token(self, asked: _Asked) -> Message:
        request = asked.request
        assert isinstance(request, RenewDelegationTokenRequestProto)  # noqa: S101 - the method's own request class
        expires_ms = self._use_cases.tokens.renew(request.token, caller=asked.caller.user)
        return RenewDelegationTokenResponseProto(newExpiryTime=expires_ms)

    async def _cancel_token(self, asked: _Asked) -> Message:
        request = asked.request
        assert isinstance(request, CancelDelegationTokenRequestProto)  # noqa: S101 - the method's own request class
        self._use_cases.tokens.cancel(request.token, caller=asked.caller.user)
        return CancelDelegationTokenResponseProto()


def _told(answer: RPCAnswer) -> bytes | Failure:
    """A ResourceManager's answer as ours."""
    return answer.payload if answer.refusal is None else _as_failure(answer.refusal)


def _as_failure(refusal: RPCRefusal) -> Failure:
    return Failure(refusal.java_class, refusal.message)


def _problem(gathered: Gathered) -> Failure | None:
    """Why nothing can be merged, if nothing can."""
    if gathered.payloads:
        return None
    if gathered.refusal is not None:
        return _as_failure(gathered.refusal)
    raise NoUsableSubClusterError(f"no sub-cluster answers ({', '.join(sorted(gathered.missing))})")


def _failure(exc: HeddleError, row: Row) -> Failure:
    """An error of ours by the name that Java clients act on."""
    if isinstance(exc, NotFoundError):
        return Failure(row.unknown, str(exc))
    java_class = next(java_class for kind, java_class in _FAILURES if isinstance(exc, kind))
    return Failure(java_class, str(exc))


def _refused(body: bytes) -> Failure:
    """A home's refusal of a submission, as it was told in the form of the web services."""
    try:
        told = msgspec.json.decode(body)["RemoteException"]
        return Failure(str(told["javaClassName"]), str(told.get("message") or ""))
    except (msgspec.DecodeError, KeyError, TypeError):
        return Failure(JavaClass.YARN, body.decode("utf-8", "replace")[:1000])


def _report_of(document: ApplicationDocument) -> Message:
    return GetApplicationReportResponseProto(application_report=report_of(document))


def _without_twice(own: Sequence[Message], parts: Sequence[Part]) -> GetApplicationsResponseProto:
    """Our own reports without those that a home told after all."""
    listed = merge_applications(parts).applications
    told = {(report.applicationId.cluster_timestamp, report.applicationId.id) for report in listed}
    kept = GetApplicationsResponseProto()
    for report in GetApplicationsResponseProto(applications=own).applications:  # type: ignore[arg-type]  # reports all
        if (report.applicationId.cluster_timestamp, report.applicationId.id) not in told:
            kept.applications.append(report)
    return kept
