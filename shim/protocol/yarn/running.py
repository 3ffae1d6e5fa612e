"""Running containers of an attempt, asked as a client asks: the answer tells sizes, nodes and ages, and no tokens.

Source: `ClientRMService.getContainers`, `RMContainerImpl.createContainerReport`.
"""

from google.protobuf.message import DecodeError

from shim.domain.allocations import Grant, RunningContainer
from shim.domain.ids import ApplicationAttemptId, NodeId
from shim.errors import RemoteProtocolError
from shim.protocol.hrpc.envelopes import text_of
from shim.protocol.proto.messages import (
    ContainerReportProto,
    ContainerStateProto,
    GetContainersRequestProto,
    GetContainersResponseProto,
)
from shim.protocol.yarn.records import attempt_message, container_of, resource_of

__all__ = ["read_running", "running_message"]

_NO_REQUEST_ID = -1  # a report tells none
_MS = 1000.0


def running_message(attempt: ApplicationAttemptId) -> bytes:
    """Ask for the containers of an attempt."""
    return GetContainersRequestProto(application_attempt_id=attempt_message(attempt)).SerializeToString()


def read_running(payload_untrusted: bytes) -> tuple[RunningContainer, ...]:
    """The containers that run.

    Raises:
        RemoteProtocolError: If the bytes are no `GetContainersResponseProto`.
    """
    try:
        message = GetContainersResponseProto.FromString(payload_untrusted)
    except DecodeError as exc:
        raise RemoteProtocolError("a list of containers cannot be decoded") from exc
    return tuple(
        _running_of(report) for report in message.containers if report.container_state != ContainerStateProto.C_COMPLETE
    )


def _running_of(report: ContainerReportProto) -> RunningContainer:
    node = NodeId(text_of(report.node_id.host), report.node_id.port)
    grant = Grant(
        container_of(report.container_id),
        node,
        report.priority.priority,
        _NO_REQUEST_ID,
        resource_of(report.resource),
    )
    return RunningContainer(grant, report.creation_time / _MS)
