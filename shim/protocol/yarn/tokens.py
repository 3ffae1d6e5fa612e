"""Contents of the identifiers of YARN's tokens."""

from google.protobuf.message import DecodeError

from shim.domain.ids import ApplicationAttemptId
from shim.errors import RemoteProtocolError
from shim.protocol.proto.messages import AMRMTokenIdentifierProto
from shim.protocol.yarn.records import attempt_of

__all__ = ["attempt_of_token"]


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
