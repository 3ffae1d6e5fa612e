"""The methods that Heddle answers itself: ids, submissions, reports and lists of applications, delegation tokens."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from google.protobuf.message import Message

from shim.calls.client import ClientCalls
from shim.concurrency.off_loop import OffLoop
from shim.domain.ids import ApplicationId
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import ApplicationDocument
from shim.domain.submissions import Refusal
from shim.domain.usage import Account
from shim.errors import BodyTooLargeError, HomeUnreachableError, NotFoundError
from shim.federation.application_access import ApplicationAccess
from shim.federation.core.federation_view import Part
from shim.federation.view_rights import ViewRights
from shim.identity.delegation_tokens import DelegationTokens
from shim.identity.rates import CallRates
from shim.identity.service import IdentityService
from shim.protocol.hrpc import Failure, HadoopCall, JavaClass
from shim.protocol.proto.messages import (
    ApplicationReportProto,
    ApplicationsRequestScopeProto,
    CancelDelegationTokenRequestProto,
    CancelDelegationTokenResponseProto,
    GetApplicationReportRequestProto,
    GetApplicationReportResponseProto,
    GetApplicationsRequestProto,
    GetDelegationTokenRequestProto,
    GetDelegationTokenResponseProto,
    GetNewApplicationResponseProto,
    KillApplicationResponseProto,
    RenewDelegationTokenRequestProto,
    RenewDelegationTokenResponseProto,
    SubmitApplicationRequestProto,
    SubmitApplicationResponseProto,
)
from shim.protocol.yarn import (
    application_of,
    decode_submission,
    filter_of,
    has_time_bounds,
    holds_token,
    issued_id,
    report_of,
    resource_message,
    tells_an_end,
    tells_of_running,
)
from shim.protocol.yarn.merges import ClusterAnswer, join_applications, merge_applications
from shim.protocol.yarn.submit_times import report_with_submit_time, reports_with_submit_times
from shim.protocol.yarn.usage import with_account, with_accounts
from shim.protocol.yarn.wire import PIECE_BYTES
from shim.queues.admission import Kills
from shim.server.rpc.application_guard import seen_by
from shim.server.rpc.asked import Asked, MethodAnswer, problem_of, told
from shim.server.rpc.kept_answers import KeptRPCAnswers, Made
from shim.server.rpc.logins import TicketLogin, TicketRequiredError
from shim.submission.application_ids import ApplicationIds
from shim.submission.entrance import Rejected, TakesSubmissions

# Use cases behind the client RPC server.


@dataclass(frozen=True, slots=True)
class ClientUseCases:
    """The services, and what limits them.

    Attributes:
        rights: Who may see and change which application.
        access: The rule behind them.
        maximum_allocation: The largest container that a user may count on.
        kerberos: How clients log in by ticket; None where names are believed.
        rates: How fast users may call; None for as they like.
        max_submission_bytes: A larger submission is refused: each is kept in the store.
    """

    calls: ClientCalls
    ids: ApplicationIds
    submissions: TakesSubmissions
    identity: IdentityService
    tokens: DelegationTokens
    kept: KeptRPCAnswers
    rights: ViewRights
    access: ApplicationAccess
    maximum_allocation: Callable[[str], ResourceVector]
    max_submission_bytes: int
    kerberos: TicketLogin | None = None
    rates: CallRates | None = None


class OwnMethods:
    """One coroutine for each row of the table that is OWN.

    Args:
        use_cases: What stands behind the server.

    Attributes:
        at_once: The same answers, for methods that seldom have to wait; None where they have to now.
    """

    def __init__(self, use_cases: ClientUseCases) -> None:
        self._behind = use_cases
        self._beside = OffLoop()
        self._granted: tuple[ResourceVector, bytes] | None = None
        self.table: Mapping[str, Callable[[Asked], Awaitable[MethodAnswer]]] = {
            "getNewApplication": self._new_application,
            "submitApplication": self._submit,
            "getApplications": self._applications,
            "getApplicationReport": self._report,
            "forceKillApplication": self._kill,
            "getDelegationToken": self._issue_token,
            "renewDelegationToken": self._renew_token,
            "cancelDelegationToken": self._cancel_token,
        }
        self.at_once: Mapping[str, Callable[[HadoopCall, str], bytes | None]] = {
            "getNewApplication": self._new_application_at_once
        }

    async def _new_application(self, asked: Asked) -> bytes:
        return self._new_application_of(await self._behind.ids.issue(), asked.caller.user)

    def _new_application_at_once(self, call: HadoopCall, user: str) -> bytes | None:
        """Without a look at the request, which has no fields: what stands there all the same is decoded first."""
        application_id = self._behind.ids.issue_at_once() if call.payload_untrusted == b"" else None
        return None if application_id is None else self._new_application_of(application_id, user)

    def _new_application_of(self, application_id: ApplicationId, user: str) -> bytes:
        """The fields of a message may be written one behind the other."""
        return issued_id(application_id) + self._maximum_capability(user)

    def _maximum_capability(self, user: str) -> bytes:
        granted = self._behind.maximum_allocation(user)
        if self._granted is None or (self._granted[0] is not granted and self._granted[0] != granted):
            shown = GetNewApplicationResponseProto(maximumCapability=resource_message(granted))
            self._granted = (granted, shown.SerializeToString())
        return self._granted[1]

    async def _submit(self, asked: Asked) -> MethodAnswer:
        request = asked.request
        assert isinstance(request, SubmitApplicationRequestProto)  # noqa: S101 - the method's own request class
        payload = asked.call.payload_untrusted or b""
        if len(payload) > self._behind.max_submission_bytes:
            raise BodyTooLargeError(
                f"the submission has {len(payload)} bytes, more than the {self._behind.max_submission_bytes} of "
                f"[server] max_body_bytes: put large files into the file system"
            )
        submission = decode_submission(request, payload, user=asked.caller.user)
        taken = await self._behind.submissions.submit(submission)
        if isinstance(taken, Rejected):
            return _refused(taken.refusal)
        return SubmitApplicationResponseProto()

    async def _kill(self, asked: Asked) -> MethodAnswer:
        """One that waits for its queue's turn is ended here; any other by its home."""
        application_id = asked.row.application(asked.request)
        caller = asked.caller
        # with lists of Heddle's own it has been looked at: more users than the owner may
        is_admin = self._behind.rights.are_on or self._behind.identity.is_operator(caller)
        by = Kills(caller.user, is_admin=is_admin)
        if await self._behind.calls.kill_waiting(application_id, by):
            return KillApplicationResponseProto(is_kill_completed=True)
        return told(await self._behind.calls.change(application_id, asked.passed_on()))

    async def _report(self, asked: Asked) -> MethodAnswer:
        """The home's report, one question for all who ask at the same time; kept while it may be given again."""
        request = asked.request
        assert isinstance(request, GetApplicationReportRequestProto)  # noqa: S101 - the method's own request class
        application_id = application_of(request.application_id)
        owner = self._behind.calls.owner_of(application_id)
        return await self._behind.kept.ask(
            asked.call,
            asked.caller,
            Part.APPLICATIONS,
            lambda: self._reported_as_seen(asked),
            of=application_id,
            is_own=owner in (None, asked.caller.user),
            sight=self._behind.rights.viewer(asked.caller).sight,
        )

    async def _reported_as_seen(self, asked: Asked) -> Made:
        viewer = self._behind.rights.viewer(asked.caller)
        made = await self._reported(asked)
        if viewer.sees_all or not isinstance(made.answer, bytes):
            return made
        seen = await seen_by(viewer, self._behind.access, made.answer)
        return replace(made, answer=seen, is_secret=holds_token(seen))

    async def _reported(self, asked: Asked) -> Made:
        """The home's report; what was last known where the home does not answer or has not got it yet."""
        request = asked.request
        assert isinstance(request, GetApplicationReportRequestProto)  # noqa: S101 - the method's own request class
        application_id = application_of(request.application_id)
        known = partial(self._behind.calls.last_known, application_id, viewer=asked.caller.user)
        disowned = self._behind.calls.disowned(application_id)
        if disowned is not None and disowned.summary.user == asked.caller.user:
            return _report_of(disowned)  # the home would tell of the other application under this id
        try:
            report = told(await self._behind.calls.read(application_id, asked.passed_on()))
        except HomeUnreachableError:
            if (document := known()) is None:
                raise
            return _report_of(document)
        except NotFoundError:
            return Made(
                Failure(
                    JavaClass.APPLICATION_NOT_FOUND,
                    f"Application with id '{application_id}' doesn't exist in RM. Please check that the job submission "
                    f"was successful.",
                )
            )
        if isinstance(report, bytes):
            at_ms = self._behind.calls.submitted_at_ms.get(application_id)
            report = report if at_ms is None else report_with_submit_time(report, at_ms)
            find = self._behind.calls.find_account
            account = None if find is None else find(application_id)
            is_secret, is_running = holds_token(report), tells_of_running(report)
            if account is not None:  # not kept after the end: what is used elsewhere may be told later
                return Made(with_account(report, account), is_secret=is_secret, is_running=is_running)
            ended = application_id if tells_an_end(report) else None
            return Made(report, ended=ended, is_secret=is_secret, is_running=is_running)
        document = known() if report.java_class == JavaClass.APPLICATION_NOT_FOUND else None
        return Made(report) if document is None else _report_of(document)

    async def _applications(self, asked: Asked) -> MethodAnswer:
        request = asked.request
        assert isinstance(request, GetApplicationsRequestProto)  # noqa: S101 - the method's own request class
        return await self._behind.kept.ask(
            asked.call,
            asked.caller,
            Part.APPLICATIONS,
            lambda: self._listed(asked),
            sight=self._behind.rights.viewer(asked.caller).sight,
            is_own=request.scope != ApplicationsRequestScopeProto.ALL
            or self._behind.calls.has_live_of(asked.caller.user),
        )

    async def _listed(self, asked: Asked) -> Made:
        """Every home's reports, and the last known ones of applications that no home told of now."""
        request = asked.request
        assert isinstance(request, GetApplicationsRequestProto)  # noqa: S101 - the method's own request class
        gathered = await self._behind.calls.ask_all(asked.passed_on())
        absent = self._behind.calls.not_told_by(gathered.missing, viewer=asked.caller.user)
        if gathered.refusal is not None or not absent:
            problem = problem_of(gathered)
            if problem is not None:
                return Made(problem, gathered.missing)
        is_shown = filter_of(request)
        own = [report_of(document) for document in absent if is_shown(document.summary)]
        find, times_ms = self._behind.calls.find_account, self._behind.calls.submitted_at_ms
        payloads = [(each, self._behind.calls.homes_elsewhere(name)) for name, each in gathered.payloads.items()]
        limit = request.limit if request.HasField("limit") else None
        work = partial(_put_together, payloads, own, limit, times_ms, find)
        if sum(map(len, gathered.payloads.values())) <= PIECE_BYTES:
            listed = work()
        else:  # on a thread, a report at a time: tens of thousands of them would hold everybody's calls
            listed = await self._beside.run_in_turn(asked.caller.user, work)
        viewer = self._behind.rights.viewer(asked.caller)
        if not viewer.sees_all:
            # a range of times would tell the times of what is hidden
            leaves_out = request.scope != ApplicationsRequestScopeProto.ALL or has_time_bounds(request)
            listed = await seen_by(viewer, self._behind.access, listed, leaves_out=leaves_out)
        return Made(listed, gathered.missing, is_secret=holds_token(listed))

    async def _issue_token(self, asked: Asked) -> Message:
        request = asked.request
        assert isinstance(request, GetDelegationTokenRequestProto)  # noqa: S101 - the method's own request class
        self._require_ticket(asked, "issued")
        caller, kerberos = asked.caller, self._behind.kerberos
        renewer = request.renewer if kerberos is None else kerberos.principals.name_of(request.renewer)
        real_user = caller.real_user if caller.real_user != caller.user else ""
        token = await self._behind.tokens.issue(caller.user, renewer, real_user, is_proven=caller.has_ticket)
        return GetDelegationTokenResponseProto(token=token)

    async def _renew_token(self, asked: Asked) -> Message:
        request = asked.request
        assert isinstance(request, RenewDelegationTokenRequestProto)  # noqa: S101 - the method's own request class
        self._require_ticket(asked, "renewed")
        expires_ms = await self._behind.tokens.renew(request.token, caller=asked.caller.user)
        return RenewDelegationTokenResponseProto(newExpiryTime=expires_ms)

    async def _cancel_token(self, asked: Asked) -> Message:
        request = asked.request
        assert isinstance(request, CancelDelegationTokenRequestProto)  # noqa: S101 - the method's own request class
        self._require_ticket(asked, "cancelled")
        await self._behind.tokens.cancel(request.token, caller=asked.caller.user)
        return CancelDelegationTokenResponseProto()

    def _require_ticket(self, asked: Asked, done: str) -> None:
        """A token shall not live on by itself, `ClientRMService.isAllowedDelegationTokenOp`."""
        if self._behind.kerberos is not None and not asked.caller.has_ticket:
            raise TicketRequiredError(f"Delegation Token can be {done} only with kerberos authentication")


_LONGEST_REFUSAL = 1000  # characters


def _refused(refusal: Refusal) -> Failure:
    """A home's refusal of a submission; without an exception's class it is the text of some other server."""
    if refusal.java_class:
        return Failure(refusal.java_class, refusal.message)
    return Failure(JavaClass.YARN, refusal.text[:_LONGEST_REFUSAL])


def _report_of(document: ApplicationDocument) -> Made:
    return Made(GetApplicationReportResponseProto(application_report=report_of(document)).SerializeToString())


def _put_together(
    payloads: Sequence[tuple[bytes, Callable[[ApplicationId], bool] | None]],
    own: Sequence[ApplicationReportProto],
    limit: int | None,
    times_ms: Mapping[ApplicationId, int],
    find: Callable[[ApplicationId], Account | None] | None,
) -> bytes:
    """One list of the clusters' and our own.

    Args:
        payloads: Lists as the clusters told them, each with what tells whose home is elsewhere, if there are several.
        limit: How many are wanted; None for all.
        times_ms: Submit times that clusters do not know.
        find: Finds accounts of applications; None if there are none.
    """
    parts = []
    for payload, is_elsewhere in payloads:
        timed = reports_with_submit_times(payload, times_ms)
        parts.append(ClusterAnswer(timed if find is None else with_accounts(timed, find), is_elsewhere=is_elsewhere))
    joined = join_applications(parts) if limit is None and not own else None
    return merge_applications(parts, own, limit=limit) if joined is None else joined
