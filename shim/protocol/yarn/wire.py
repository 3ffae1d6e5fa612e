"""Messages of others as bytes: whether they are what they have to be, and their fields without decoding all of it.

A message of many MiB is looked at in pieces: to decode one takes the interpreter for itself, however many threads
there are. Fields may stand one behind the other in several pieces, as protobuf merges them.

Source: "Encoding", the protobuf documentation.

Ids and resources, between messages and values.
"""

from collections.abc import Iterator
from typing import TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from shim.domain.resources import ResourceVector
from shim.domain.told_bounds import LONGEST_NAME, MOST_TYPES
from shim.errors import BadRequestError, RemoteProtocolError
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
from shim.protocol.wire_values import text_of

_M = TypeVar("_M", bound=Message)

PIECE_BYTES = 1024 * 1024
"""Of a larger message a piece is decoded at a time: a millisecond or two."""
_MOST_OF_FIELD = 16 * PIECE_BYTES
_MOST_FIELDS = 250_000
_FIELDS_A_PIECE = 10_000
_VARINT, _FIXED64, _DELIMITED, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}
_MORE = 0x80
_VARINT_BITS = 70


def check_message(kind: type[Message], payload_untrusted: bytes) -> None:
    """See whether bytes are a message, at most a list of 250,000 fields, each of which has 16 MiB at most.

    Raises:
        RemoteProtocolError: If they are not, or lack what every such message has: Java reads nothing of such a list.
    """
    for piece in pieces_of(payload_untrusted):
        read_message(kind, piece)


def read_message(kind: type[_M], payload_untrusted: bytes) -> _M:
    """Decode a message.

    Raises:
        RemoteProtocolError: If the bytes are none, or lack what every such message has.
    """
    try:
        message = kind.FromString(payload_untrusted)
    except DecodeError as exc:
        raise RemoteProtocolError(f"bytes that are no {kind.DESCRIPTOR.name}") from exc
    if not message.IsInitialized():
        raise RemoteProtocolError(f"a {kind.DESCRIPTOR.name} without what each has")
    return message


def pieces_of(payload_untrusted: bytes) -> Iterator[bytes]:
    """The message as itself, or in pieces that are messages if it is large.

    Raises:
        RemoteProtocolError: If it is no message, or has a field, or fields, beyond the bounds.
    """
    if len(payload_untrusted) <= PIECE_BYTES:
        yield payload_untrusted
        return
    begins = ends = fields = 0
    for count, (_, _, ends) in enumerate(_fields(payload_untrusted), 1):
        if ends - begins > _MOST_OF_FIELD or count > _MOST_FIELDS:
            raise RemoteProtocolError(f"a message of {len(payload_untrusted)} bytes with too large, or many, entries")
        fields += 1
        if ends - begins >= PIECE_BYTES or fields >= _FIELDS_A_PIECE:
            yield payload_untrusted[begins:ends]
            begins, fields = ends, 0
    yield payload_untrusted[begins:ends]


def entries_in(payload_untrusted: bytes, number: int = 1) -> Iterator[tuple[bytes, bytes]]:
    """Each entry of a list, with its tag and length, and without.

    Raises:
        RemoteProtocolError: If the bytes are no message.
    """
    begins, wanted = 0, number << 3 | _DELIMITED
    for tag, content, ends in _fields(payload_untrusted):
        if tag == wanted:
            yield payload_untrusted[begins:ends], payload_untrusted[content:ends]
        begins = ends


def held(message: Message, name: str, amount: int) -> int:
    """The amount, or the largest or least that a message's field holds: what others tell adds up to anything."""
    bits = 31 if message.DESCRIPTOR.fields_by_name[name].cpp_type == FieldDescriptor.CPPTYPE_INT32 else 63
    return max(-(1 << bits), min(amount, (1 << bits) - 1))


def _fields(payload: bytes) -> Iterator[tuple[int, int, int]]:
    """Tag, place of the content and end of each field."""
    at, count = 0, len(payload)
    while at < count:
        tag, content = _varint(payload, at)
        kind = tag & 0b111
        if kind == _DELIMITED:
            length, content = _varint(payload, content)
            ends = content + length
        elif kind == _VARINT:
            _, ends = _varint(payload, content)
        elif kind in _FIXED:
            ends = content + _FIXED[kind]
        else:
            raise RemoteProtocolError(f"a message with a field of type {kind}")
        if ends > count:
            raise RemoteProtocolError("a message that is cut off")
        yield tag, content, ends
        at = ends


def _varint(payload: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(payload) and shift < _VARINT_BITS:
        byte = payload[at]
        value |= (byte & ~_MORE) << shift
        at, shift = at + 1, shift + 7
        if byte < _MORE:
            return value, at
    raise RemoteProtocolError("a message with a number that does not end")


_MEMORY, _VCORES = "memory-mb", "vcores"


def application_of(message_untrusted: ApplicationIdProto) -> ApplicationId:
    """An application's id; fields that are not there count as 0, as in Java."""
    return ApplicationId(message_untrusted.cluster_timestamp, message_untrusted.id)


def application_message(application_id: ApplicationId) -> ApplicationIdProto:
    return ApplicationIdProto(id=application_id.sequence, cluster_timestamp=application_id.cluster_timestamp)


def issued_id(application_id: ApplicationId) -> bytes:
    """A `GetNewApplicationResponseProto` with the id alone, as protobuf writes it; numbers are not negative."""
    told = b"\x08" + varint(application_id.sequence) + b"\x10" + varint(application_id.cluster_timestamp)
    return b"\x0a" + delimited(told)


def attempt_of(message_untrusted: ApplicationAttemptIdProto) -> ApplicationAttemptId:
    return ApplicationAttemptId(application_of(message_untrusted.application_id), message_untrusted.attemptId)


def attempt_message(attempt: ApplicationAttemptId) -> ApplicationAttemptIdProto:
    return ApplicationAttemptIdProto(application_id=application_message(attempt.application), attemptId=attempt.attempt)


def container_of(message_untrusted: ContainerIdProto) -> ContainerId:
    """A container's id: its attempt and number; the application beside them is never set by Hadoop."""
    return ContainerId(attempt_of(message_untrusted.app_attempt_id), message_untrusted.id)


def container_message(container: ContainerId) -> ContainerIdProto:
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
