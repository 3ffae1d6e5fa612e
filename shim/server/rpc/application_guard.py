"""View and modify rights of Hadoop clients: what is refused in a ResourceManager's words, and what reports hide.

Source: `ClientRMService` of Hadoop 3.4.2, recorded answers.
"""

import asyncio
from dataclasses import replace

from google.protobuf.message import DecodeError, Message

from shim.calls.client import ClientCalls
from shim.domain.access_lists import Access, Viewer
from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationId
from shim.domain.submissions import NOWHERE
from shim.federation.application_access import ApplicationAccess
from shim.federation.view_rights import ViewRights
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.hrpc import Failure, JavaClass
from shim.protocol.proto.messages import (
    GetApplicationReportRequestProto,
    GetApplicationReportResponseProto,
    GetQueueInfoResponseProto,
    QueueInfoProto,
)
from shim.protocol.wire_values import text_of
from shim.protocol.yarn import application_message, application_of, attempt_of
from shim.protocol.yarn.reports import SeesReport, as_seen
from shim.protocol.yarn.submit_times import reports_in
from shim.server.rights import CLIENT_ACCESS
from shim.server.rpc.asked import Asked

_AT_A_TIME = 50
"""Reports that are looked at before others get their turn."""


class CallGuard:
    """Judges calls on applications."""

    def __init__(self, calls: ClientCalls, access: ApplicationAccess, rights: ViewRights) -> None:
        self._calls = calls
        self._access = access
        self._rights = rights

    async def refusal(self, asked: Asked) -> Failure | None:
        """Return a ResourceManager's refusal to who may not see or change an application; None for who may.

        Raises:
            NotFoundError: Nobody knows the application.
            HomeUnreachableError: Whose it is cannot be told now.
        """
        access = CLIENT_ACCESS.get(asked.call.method)
        if access is None or self._rights.viewer(asked.caller).sees_all:
            return None
        application_id = asked.row.application(asked.request)
        summary = self._access.summary_of(application_id) or await self._told(asked, application_id)
        if summary is None or self._rights.may(asked.caller, access, summary):
            return None
        user = asked.caller.user
        if access is Access.MODIFY:
            denied = f"User {user} cannot perform operation {access.value} on {application_id}"
            return Failure(JavaClass.YARN, f"java.security.AccessControlException: {denied}")
        return Failure(JavaClass.YARN, f"User {user} does not have privilege to see this {_named(asked)}")

    async def _told(self, asked: Asked, application_id: ApplicationId) -> ApplicationSummary | None:
        """An application that no poll has told of, by its home's word; None if its home does not know it either."""
        request = GetApplicationReportRequestProto(application_id=application_message(application_id))
        question = RPCCall(
            asked.call.protocol, "getApplicationReport", request.SerializeToString(), user=asked.caller.user
        )
        answer = await self._calls.read(application_id, question)
        if answer.refusal is not None:
            return None
        try:
            report = GetApplicationReportResponseProto.FromString(answer.payload).application_report
        except DecodeError:
            return None
        known = self._access.summary_of(application_id)
        return known or replace(_NOBODYS, application_id=application_id, user=text_of(report.user))

    def leave_out(self, asked: Asked, answer: Message) -> None:
        """Take applications that the caller may not see out of a merged answer on a queue, as `ClientRMService`."""
        viewer = self._rights.viewer(asked.caller)
        if viewer.sees_all or not isinstance(answer, GetQueueInfoResponseProto):
            return
        _prune(answer.queueInfo, _sees(viewer, self._access))


async def seen_by(viewer: Viewer, access: ApplicationAccess, answer: bytes, *, leaves_out: bool = False) -> bytes:
    """An answer of reports as a viewer sees them.

    Args:
        answer: Serialized `GetApplicationReportResponseProto` or `GetApplicationsResponseProto`: reports as field 1.
        leaves_out: Whether applications are left out that he does not see, not hidden.
    """
    sees, entries = _sees(viewer, access), list[bytes]()
    for number, (whole, report) in enumerate(reports_in(answer), 1):
        entries.append(as_seen(whole, report, sees, leaves_out=leaves_out))
        if number % _AT_A_TIME == 0:
            await asyncio.sleep(0)
    return b"".join(entries)


def _sees(viewer: Viewer, access: ApplicationAccess) -> SeesReport:
    judge = access.judge(viewer)

    def sees(application_id: ApplicationId, user: str, _queue: str) -> bool:
        known = access.summary_of(application_id)
        if known is None or known.user != user:  # not told of yet, or another application under this id
            return user == viewer.user
        return judge(known)

    return sees


def _prune(queue: QueueInfoProto, sees: SeesReport) -> None:
    kept = [
        each
        for each in queue.applications
        if sees(application_of(each.applicationId), text_of(each.user), text_of(each.queue))
    ]
    del queue.applications[:]
    queue.applications.extend(kept)
    for child in queue.childQueues:
        _prune(child, sees)


def _named(asked: Asked) -> str:
    if asked.call.method == "getApplicationAttemptReport":
        return f"attempt {attempt_of(getattr(asked.request, asked.row.field))}"
    return f"application {asked.row.application(asked.request)}"


_NOBODYS = ApplicationSummary(
    application_id=ApplicationId(0, 0),
    home_subcluster=NOWHERE,
    user="",
    name="",
    queue="",
    state=YarnApplicationState.NEW,
    final_status=FinalStatus.UNDEFINED,
    application_type="",
    tags=(),
)
