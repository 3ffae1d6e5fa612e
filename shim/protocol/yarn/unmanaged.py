"""Messages by which Heddle runs an ApplicationMaster of its own: submission, token, registration, end.

Source: `UnmanagedApplicationManager` for the order, `ClientRMService` and `ApplicationMasterService` for what is asked.
"""

import re

from shim.domain.ids import ApplicationId, SubClusterId
from shim.protocol.proto.messages import (
    ApplicationSubmissionContextProto,
    ContainerLaunchContextProto,
    FinishApplicationMasterResponseProto,
    GetApplicationReportRequestProto,
    GetApplicationReportResponseProto,
    KillApplicationRequestProto,
    KillApplicationResponseProto,
    PriorityProto,
    RegisterApplicationMasterRequestProto,
    ResourceProto,
    SubmitApplicationRequestProto,
    TokenProto,
    YarnApplicationStateProto,
)
from shim.protocol.wire_values import text_of
from shim.protocol.yarn.wire import application_message, read_message

_NO_ROOM_MIB = 1  # an unmanaged master has no container; its resource is not looked at
_EXPECTED = re.compile(r"expect responseId to be (\d+) but get -?\d+")
_FINAL = frozenset(
    {YarnApplicationStateProto.FINISHED, YarnApplicationStateProto.FAILED, YarnApplicationStateProto.KILLED}
)

REGISTRATION = RegisterApplicationMasterRequestProto(host="", rpc_port=0, tracking_url="").SerializeToString()
"""Of a master that nobody connects to: people look at the one at home."""


def unmanaged_submission(application_id: ApplicationId, *, home: SubClusterId, queue: str, tag: str) -> bytes:
    """A submission of an application under the id that it has at its home.

    Args:
        application_id: Of the application; another ResourceManager issued it.
    """
    context = ApplicationSubmissionContextProto(
        application_id=application_message(application_id),
        application_name=f"{application_id} of {home}",
        queue=queue,
        priority=PriorityProto(priority=0),
        am_container_spec=ContainerLaunchContextProto(),
        unmanaged_am=True,
        maxAppAttempts=1,
        resource=ResourceProto(memory=_NO_ROOM_MIB, virtual_cores=1),
        keep_containers_across_application_attempts=True,
        applicationType="HEDDLE",
        applicationTags=[tag],
    )
    return SubmitApplicationRequestProto(application_submission_context=context).SerializeToString()


def report_message(application_id: ApplicationId) -> bytes:
    return GetApplicationReportRequestProto(application_id=application_message(application_id)).SerializeToString()


def read_report(payload_untrusted: bytes) -> tuple[bool, bytes, str]:
    """End of an application (True if it has ended), its token if it is shown, and its diagnostics.

    Raises:
        RemoteProtocolError: If the bytes are no `GetApplicationReportResponseProto`.
    """
    report = read_message(GetApplicationReportResponseProto, payload_untrusted).application_report
    token = report.am_rm_token
    has_token = report.HasField("am_rm_token") and bool(token.identifier)
    shown = token.SerializeToString() if has_token else b""
    return report.yarn_application_state in _FINAL, shown, text_of(report.diagnostics)


def token_parts(token: bytes) -> tuple[bytes, bytes]:
    """Identifier and password of a serialized token.

    Raises:
        RemoteProtocolError: If it is none.
    """
    message = read_message(TokenProto, token)
    return message.identifier, message.password


def kill_message(application_id: ApplicationId, why: str) -> bytes:
    message = KillApplicationRequestProto(application_id=application_message(application_id), diagnostics=why)
    return message.SerializeToString()


def is_killed(payload_untrusted: bytes) -> bool:
    """True if a kill is complete; raises as `read_report`."""
    return read_message(KillApplicationResponseProto, payload_untrusted).is_kill_completed


def is_finished(payload_untrusted: bytes) -> bool:
    """True if a finished master is unregistered by now; raises as `read_report`."""
    return read_message(FinishApplicationMasterResponseProto, payload_untrusted).isUnregistered


def expected_id(message: str) -> int | None:
    """The response id that a scheduler says it expects, if that was its trouble."""
    found = _EXPECTED.search(message)
    return None if found is None else int(found[1])
