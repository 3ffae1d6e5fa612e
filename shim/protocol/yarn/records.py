"""Ids and resources, between messages and values."""

from google.protobuf.message import DecodeError

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from shim.domain.resources import ResourceVector
from shim.domain.told_bounds import LONGEST_NAME, MOST_TYPES
from shim.errors import BadRequestError, RemoteProtocolError
from shim.protocol.hrpc.envelopes import text_of
from shim.protocol.hrpc.framing import delimited, varint
from shim.protocol.proto.messages import (
    AMRMTokenIdentifierProto,
    ApplicationAttemptIdProto,
    ApplicationIdProto,
    ContainerIdProto,
    ReservationIdProto,
    ResourceInformationProto,
    ResourceProto,
)

_MEMORY, _VCORES = "memory-mb", "vcores"


def application_of(message_untrusted: ApplicationIdProto) -> ApplicationId:
    """An application's id; fields that are not there count as 0, as in Java."""
    return ApplicationId(message_untrusted.cluster_timestamp, message_untrusted.id)


def application_message(application_id: ApplicationId) -> ApplicationIdProto:
    """The message of an application's id."""
    return ApplicationIdProto(id=application_id.sequence, cluster_timestamp=application_id.cluster_timestamp)


def issued_id(application_id: ApplicationId) -> bytes:
    """A `GetNewApplicationResponseProto` with the id alone, as protobuf writes it; numbers are not negative."""
    told = b"\x08" + varint(application_id.sequence) + b"\x10" + varint(application_id.cluster_timestamp)
    return b"\x0a" + delimited(told)


def attempt_of(message_untrusted: ApplicationAttemptIdProto) -> ApplicationAttemptId:
    """An attempt's id."""
    return ApplicationAttemptId(application_of(message_untrusted.application_id), message_untrusted.attemptId)


def attempt_message(attempt: ApplicationAttemptId) -> ApplicationAttemptIdProto:
    """An attempt's id for an answer."""
    return ApplicationAttemptIdProto(application_id=application_message(attempt.application), attemptId=attempt.attempt)


def container_of(message_untrusted: ContainerIdProto) -> ContainerId:
    """A container's id: its attempt and number; the application beside them is never set by Hadoop."""
    return ContainerId(attempt_of(message_untrusted.app_attempt_id), message_untrusted.id)


def container_message(container: ContainerId) -> ContainerIdProto:
    """Message of a container's id."""
    attempt = container.attempt
    return ContainerIdProto(
        app_attempt_id=ApplicationAttemptIdProto(
            application_id=application_message(attempt.application), attemptId=attempt.attempt
        ),
        id=container.number,
    )


def reservation_of(message_untrusted: ReservationIdProto) -> str:
    """A reservation's id as text, as the web services write it."""
    return f"reservation_{message_untrusted.cluster_timestamp}_{message_untrusted.id:04d}"


def resource_of(message_untrusted: ResourceProto) -> ResourceVector:
    """A resource; what is negative is taken as nothing, as it asks for nothing.

    Raises:
        BadRequestError: If it has more types than there are anywhere, or one with a name that nobody gives: what waits
            is kept with them.
    """
    told = message_untrusted.resource_value_map
    if len(told) > MOST_TYPES:
        raise BadRequestError(f"{len(told)} resource types: at most {MOST_TYPES} are taken")
    named = {text_of(item.key): item.value for item in told}
    if any(len(name) > LONGEST_NAME or not name.isprintable() or "\ufffd" in name for name in named):
        raise BadRequestError(f"a resource type's name is no text of at most {LONGEST_NAME} characters")
    others = {key: max(0, value) for key, value in named.items() if key not in (_MEMORY, _VCORES)}
    return ResourceVector(max(0, message_untrusted.memory), max(0, message_untrusted.virtual_cores), others)


def told_resource(message_untrusted: ResourceProto) -> ResourceVector:
    """A resource that a scheduler tells.

    Raises:
        RemoteProtocolError: In place of the errors of `resource_of`: nobody asked for it.
    """
    try:
        return resource_of(message_untrusted)
    except BadRequestError as exc:
        raise RemoteProtocolError(f"a scheduler tells {exc}") from exc


def resource_message(resource: ResourceVector) -> ResourceProto:
    """The message of a resource, in both forms that a ResourceManager writes."""
    types = [(_MEMORY, "Mi", resource.memory_mib), (_VCORES, "", resource.vcores)]
    types += [(name, "", amount) for name, amount in resource.others.items()]
    return ResourceProto(
        memory=resource.memory_mib,
        virtual_cores=resource.vcores,
        resource_value_map=[
            ResourceInformationProto(key=name, value=amount, units=units, type=0) for name, units, amount in types
        ],
    )


# Contents of the identifiers of YARN's tokens.


def attempt_of_token(identifier_untrusted: bytes) -> ApplicationAttemptId:
    """Attempt of an AMRMToken, as the token claims.

    Only the bytes that a ResourceManager writes are taken: what it cannot read as a message it reads as the older,
    plain form, so that other bytes might name one attempt here and another there.

    Raises:
        RemoteProtocolError: If the bytes are no identifier of an AMRMToken.

    Source: `org.apache.hadoop.yarn.security.AMRMTokenIdentifier`.
    """
    try:
        identifier = AMRMTokenIdentifierProto.FromString(identifier_untrusted)
    except DecodeError as exc:
        raise RemoteProtocolError("a token's identifier is none of an AMRMToken") from exc
    if not identifier.appAttemptId.application_id.cluster_timestamp:
        raise RemoteProtocolError("a token's identifier names no application")
    identifier.DiscardUnknownFields()
    if identifier.SerializeToString() != identifier_untrusted:
        raise RemoteProtocolError("a token's identifier is not written as ResourceManagers write it")
    return attempt_of(identifier.appAttemptId)
