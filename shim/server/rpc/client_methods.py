"""The table of the client RPC server: every method of ApplicationClientProtocol, and the way it is answered.

Its ways are those of `shim.server.ways`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from google.protobuf.message import Message

from shim.domain.ids import ApplicationId
from shim.federation.core.federation_view import Part
from shim.protocol.hrpc import JavaClass
from shim.protocol.proto.messages import (
    ApplicationAttemptIdProto,
    ApplicationIdProto,
    ApplicationSubmissionContextProto,
    ContainerIdProto,
)
from shim.protocol.yarn import application_of
from shim.server.rights import CLIENT, rights_of
from shim.server.ways import RouteKey, Way


@dataclass(frozen=True, slots=True)
class Row:
    """One method.

    Attributes:
        field: The request's field that holds the key, or tells what is changed.
        writes: Whether it changes something: then it is never sent twice, and what Heddle shows is fetched again.
        unknown: Exception for an application that nobody knows.
        without_home: Exception for one that waits in Heddle, where a repetition of the call would be in vain.
        owners: Whether it is for the application's owner and Heddle's admins alone, as at the REST server.
        queue: The request's field that names a queue; where it is an application's, that is moved there.
        tells: What of the sub-clusters an answer tells that is kept until that changes; None keeps none.
        audit: What the audit calls a change; the same name for the endpoint that does the same.
    """

    way: Way
    key: RouteKey | None = None
    field: str = ""
    writes: bool = False
    unknown: JavaClass = JavaClass.APPLICATION_NOT_FOUND
    without_home: JavaClass | None = None
    is_empty_without_home: bool = False
    owners: bool = False
    queue: str = ""
    tells: Part | None = None
    is_personal: bool = False
    audit: str = ""

    def application(self, request: Message) -> ApplicationId:
        """The application that a request belongs to: its own field, an attempt's, a container's or a context's."""
        return _APPLICATION_OF[type(getattr(request, self.field))](getattr(request, self.field))


def _of_attempt(attempt: ApplicationAttemptIdProto) -> ApplicationId:
    return application_of(attempt.application_id)


def _of_container(container: ContainerIdProto) -> ApplicationId:
    return application_of(container.app_attempt_id.application_id)


def _of_context(context: ApplicationSubmissionContextProto) -> ApplicationId:
    return application_of(context.application_id)


_APPLICATION_OF: Mapping[type[Message], Callable[..., ApplicationId]] = {
    ApplicationIdProto: application_of,
    ApplicationAttemptIdProto: _of_attempt,
    ContainerIdProto: _of_container,
    ApplicationSubmissionContextProto: _of_context,
}


_NO_ATTEMPT = JavaClass.APPLICATION_ATTEMPT_NOT_FOUND


def _change(field: str, audit: str) -> Row:
    return Row(Way.ROUTE, RouteKey.APPLICATION, field, writes=True, audit=audit)


def _reserved(audit: str, queue: str = "") -> Row:
    return Row(Way.ROUTE, RouteKey.RESERVATION, "reservation_id", writes=True, queue=queue, audit=audit)


def _own_change(audit: str) -> Row:
    return Row(Way.OWN, writes=True, audit=audit)


_OWN, _MERGE, _CARRY = Row(Way.OWN), Row(Way.MERGE), Row(Way.CARRY)
_OF_NODES = Row(Way.MERGE, tells=Part.NODES)
_OF_APPLICATIONS = Row(Way.OWN, tells=Part.APPLICATIONS, is_personal=True)

CLIENT_METHODS: Mapping[str, Row] = {
    "getNewApplication": _OWN,
    "submitApplication": Row(Way.OWN, field="application_submission_context", writes=True, audit="app.submit"),
    "getApplications": _OF_APPLICATIONS,
    "getApplicationReport": _OF_APPLICATIONS,
    "getDelegationToken": _own_change("token.issue"),
    "renewDelegationToken": _own_change("token.renew"),
    "cancelDelegationToken": _own_change("token.cancel"),
    "forceKillApplication": Row(Way.OWN, RouteKey.APPLICATION, "application_id", writes=True, audit="app.kill"),
    "failApplicationAttempt": _change("application_attempt_id", "app.fail-attempt"),
    "moveApplicationAcrossQueues": Row(
        Way.ROUTE, RouteKey.APPLICATION, "application_id", writes=True, queue="target_queue", audit="app.move"
    ),
    "updateApplicationPriority": _change("applicationId", "app.priority"),
    "updateApplicationTimeouts": _change("applicationId", "app.timeout"),
    "getApplicationAttempts": Row(Way.ROUTE, RouteKey.APPLICATION, "application_id", is_empty_without_home=True),
    "getApplicationAttemptReport": Row(
        Way.ROUTE, RouteKey.APPLICATION, "application_attempt_id", unknown=_NO_ATTEMPT, without_home=_NO_ATTEMPT
    ),
    "getContainers": Row(Way.ROUTE, RouteKey.ATTEMPT, "application_attempt_id", without_home=_NO_ATTEMPT),
    "getContainerReport": Row(
        Way.ROUTE,
        RouteKey.CONTAINER,
        "container_id",
        unknown=JavaClass.CONTAINER_NOT_FOUND,
        without_home=_NO_ATTEMPT,
    ),
    "signalToContainer": Row(
        Way.ROUTE, RouteKey.CONTAINER, "container_id", writes=True, owners=True, audit="container.signal"
    ),
    "submitReservation": _reserved("reservation.submit", "queue"),
    "updateReservation": _reserved("reservation.update"),
    "deleteReservation": _reserved("reservation.delete"),
    "getNewReservation": Row(Way.ANY_CLUSTER),
    "listReservations": Row(Way.MERGE, RouteKey.RESERVATION, queue="queue"),
    "getClusterMetrics": _OF_NODES,
    "getClusterNodes": _OF_NODES,
    "getQueueInfo": Row(Way.MERGE, queue="queueName"),
    "getQueueUserAcls": _MERGE,
    "getNodeToLabels": _OF_NODES,
    "getLabelsToNodes": _OF_NODES,
    "getClusterNodeLabels": _OF_NODES,
    "getResourceTypeInfo": _OF_NODES,
    "getClusterNodeAttributes": _OF_NODES,
    "getAttributesToNodes": _OF_NODES,
    "getNodesToAttributes": _OF_NODES,
    "getResourceProfiles": _CARRY,
    "getResourceProfile": _CARRY,
}
"""By the method's name."""

CLIENT_RIGHTS = rights_of(CLIENT_METHODS, CLIENT)
"""What each method takes, by its name."""
