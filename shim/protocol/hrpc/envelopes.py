"""Calls and answers as frames: what stands around a request or an answer message.

    call       = delimited RpcRequestHeaderProto, delimited RequestHeaderProto, delimited request
    success    = delimited RpcResponseHeaderProto, delimited answer      (an empty answer is one zero byte)
    failure    = delimited RpcResponseHeaderProto
    set-up     = delimited RpcRequestHeaderProto (call id below 0), delimited message

Request and answer stay bytes: who needs their fields decodes them, who passes them on does not.

Source: `org.apache.hadoop.ipc.{ProtobufRpcEngine,ProtobufRpcEngine2,Client,Server}`; both engines write the same bytes.
"""

from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from shim.protocol.hrpc.errors import Failure, FatalRPCError, JavaClass, fatal
from shim.protocol.hrpc.framing import MalformedFrameError, delimited, frame, read_delimited, varint
from shim.protocol.hrpc.headers import (
    INVALID_RETRY_COUNT,
    IPC_VERSION,
    NO_CALL_ID,
    RPCErrorCode,
    RPCKind,
    RPCStatus,
    signed_call_id,
    unsigned_call_id,
)
from shim.protocol.proto.messages import (
    RequestHeaderProto,
    RPCCallerContextProto,
    RpcKindProto,
    RpcRequestHeaderProto,
    RpcResponseHeaderProto,
)
from shim.protocol.wire_values import text_of

_M = TypeVar("_M", bound=Message)
TRUNCATED = (
    "While parsing a protocol message, the input ended unexpectedly in the middle of a field.  This could mean either "
    "that the input has been truncated or that an embedded message misreported its own length."
)
"""What protobuf-java says of bytes that end too early; our parser does not tell one kind of damage from another."""


@dataclass(frozen=True, slots=True)
class CallerContext:
    """Name of the calling program, for the audit log of the ResourceManager; `CLI`, `mr_appmaster_...`."""

    context: str
    signature: bytes = b""


@dataclass(frozen=True, slots=True)
class HadoopRequest:
    """Request of a caller, apart from the connection that it uses.

    Attributes:
        protocol: Java name of the protocol's interface.
        version: Of the protocol, not of the RPC.
        payload: The serialized request message.
    """

    protocol: str
    method: str
    payload: bytes
    version: int = 1


@dataclass(slots=True)
class HadoopCall:
    """A call as a server received it. `call_id`, `client_id` and `retry_count` are echoed in the answer.

    Attributes:
        payload_untrusted: The request message's bytes; None if the frame ended before it.
    """

    call_id: int
    client_id: bytes
    retry_count: int
    caller_context: CallerContext | None
    protocol: str
    method: str
    version: int
    payload_untrusted: bytes | None


@dataclass(slots=True)
class HadoopAnswer:
    """An answer as a client received it: a payload, or a failure.

    Attributes:
        is_fatal: The connection ends; every pending call on it failed.
    """

    call_id: int
    client_id: bytes
    payload_untrusted: bytes
    failure: Failure | None = None
    is_fatal: bool = False


def decode(kind: type[_M], data_untrusted: bytes | None) -> _M:
    """A message of `kind`.

    Raises:
        FatalRPCError: With what a Hadoop server says of undecodable bytes.
    """
    problem = TRUNCATED
    if data_untrusted is not None:
        try:
            message = kind.FromString(data_untrusted)
        except DecodeError:
            pass
        else:
            if message.IsInitialized():
                return message
            missing = ", ".join(message.FindInitializationErrors())  # type: ignore[attr-defined]  # not in types-protobuf
            problem = f"Message missing required fields: {missing}"
    text = f"Error decoding {kind.__name__}: {JavaClass.INVALID_PROTOCOL_BUFFER}: {problem}"
    raise FatalRPCError(fatal(text, RPCErrorCode.DESERIALIZING_REQUEST))


def caller_context_of(header_untrusted: RpcRequestHeaderProto) -> CallerContext | None:
    if not header_untrusted.HasField("callerContext"):
        return None
    told = header_untrusted.callerContext
    return CallerContext(text_of(told.context), told.signature)


def read_request_header(content_untrusted: bytes, *, most: int) -> tuple[RpcRequestHeaderProto, int]:
    """The header at the start of a frame from a client, and where it ends.

    Args:
        most: Bytes that a header may have.

    Raises:
        FatalRPCError: If it cannot be decoded, or asks for what no Hadoop server implements.
        MalformedFrameError: If it is longer.
    """
    try:
        raw, offset = read_delimited(content_untrusted, 0)
    except MalformedFrameError:
        raw, offset = None, 0
    if offset > most:
        raise MalformedFrameError(f"the header of a frame has more than {most} bytes")
    header = decode(RpcRequestHeaderProto, raw)
    problem = _header_problem(header)
    if problem is not None:
        raise FatalRPCError(problem, call_id=header.callId, retry_count=header.retryCount)
    return header, offset


def _header_problem(header: RpcRequestHeaderProto) -> Failure | None:
    """Return the refusal of a header by the rules of `Server.checkRpcHeaders`."""
    if not header.HasField("rpcOp"):
        return fatal(" IPC Server: No rpc op in rpcRequestHeader", RPCErrorCode.INVALID_RPC_HEADER)
    if header.rpcOp != RpcRequestHeaderProto.RPC_FINAL_PACKET:
        name = RpcRequestHeaderProto.OperationProto.Name(header.rpcOp)
        text = f"IPC Server does not implement rpc header operation{name}"
        return fatal(text, RPCErrorCode.INVALID_RPC_HEADER)
    if not header.HasField("rpcKind"):
        return fatal(" IPC Server: No rpc kind in rpcRequestHeader", RPCErrorCode.INVALID_RPC_HEADER)
    return None


def read_call(header: RpcRequestHeaderProto, content_untrusted: bytes, offset: int) -> HadoopCall:
    """The call behind its header.

    Raises:
        FatalRPCError: If another engine serialized it, or the engine's header cannot be decoded.
    """
    if header.rpcKind != RPCKind.PROTOCOL_BUFFER:
        text = f"Unknown rpc kind in rpc header{RpcKindProto.Name(header.rpcKind)}"
        raise FatalRPCError(
            fatal(text, RPCErrorCode.INVALID_RPC_HEADER), call_id=header.callId, retry_count=header.retryCount
        )
    try:
        raw, offset = read_delimited(content_untrusted, offset)
        engine = RequestHeaderProto.FromString(raw)
    except (MalformedFrameError, DecodeError) as exc:
        raise _unreadable(header, "RequestHeaderProto") from exc
    if not engine.IsInitialized():
        raise _unreadable(header, "RequestHeaderProto")
    payload: bytes | None
    try:
        payload, _ = read_delimited(content_untrusted, offset)
    except MalformedFrameError:
        payload = None
    return HadoopCall(
        header.callId,
        header.clientId,
        header.retryCount,
        caller_context_of(header),
        text_of(engine.declaringClassProtocolName),
        text_of(engine.methodName),
        engine.clientProtocolVersion,
        payload,
    )


def _unreadable(header: RpcRequestHeaderProto, what: str) -> FatalRPCError:
    """Hadoop leaves such a call without an answer for ever; the text is the one that it has for other engines."""
    text = f"IPC server unable to read call parameters: {what}: {TRUNCATED}"
    failure = fatal(text, RPCErrorCode.DESERIALIZING_REQUEST)
    return FatalRPCError(failure, call_id=header.callId, retry_count=header.retryCount)


def _request_header(
    call_id: int, client_id: bytes, retry_count: int, caller_context: CallerContext | None
) -> RpcRequestHeaderProto:
    header = RpcRequestHeaderProto(
        rpcKind=RPCKind.PROTOCOL_BUFFER, rpcOp=0, callId=call_id, clientId=client_id, retryCount=retry_count
    )
    if caller_context is not None:
        told = RPCCallerContextProto(context=caller_context.context)
        if caller_context.signature:
            told.signature = caller_context.signature
        header.callerContext.CopyFrom(told)
    return header


def encode_call(
    request: HadoopRequest,
    *,
    call_id: int,
    client_id: bytes,
    retry_count: int = 0,
    caller_context: CallerContext | None = None,
) -> bytes:
    """A call's frame."""
    header = _request_header(call_id, client_id, retry_count, caller_context)
    engine = RequestHeaderProto(
        methodName=request.method,
        declaringClassProtocolName=request.protocol,
        clientProtocolVersion=request.version,
    )
    parts = (header.SerializeToString(), engine.SerializeToString(), request.payload)
    return frame(b"".join(map(delimited, parts)))


def encode_set_up(
    message: bytes | None, *, call_id: int, client_id: bytes = b"", caller_context: CallerContext | None = None
) -> bytes:
    """A frame that belongs to no call: the connection context, a SASL message, or (without a message) a ping."""
    header = _request_header(call_id, client_id, INVALID_RETRY_COUNT, caller_context)
    content = delimited(header.SerializeToString())
    return frame(content if message is None else content + delimited(message))


def encode_success(payload: bytes, *, call_id: int, client_id: bytes = b"", retry_count: int = -1) -> bytes:
    """The frame of an answer; its header is put together here as protobuf writes it, in a fifth of the time."""
    zigzag = 2 * retry_count if retry_count >= 0 else -2 * retry_count - 1
    begins, ends = b"\x08" + varint(unsigned_call_id(call_id)) + _STATUS_AND_VERSION, b"\x40" + varint(zigzag)
    header = b"".join((begins, varint(len(client_id)), client_id, ends))
    length = varint(len(payload))
    content = (varint(len(header)), header, length, payload)
    return b"".join((sum(map(len, content)).to_bytes(4), *content))


_STATUS_AND_VERSION = bytes((0x10, RPCStatus.SUCCESS, 0x18, IPC_VERSION, 0x3A))
"""`status`, `serverIpcVersionNum`, and the tag of `clientId`."""


def encode_failure(
    failure: Failure,
    status: RPCStatus,
    *,
    call_id: int = NO_CALL_ID,
    client_id: bytes = b"",
    retry_count: int = INVALID_RETRY_COUNT,
) -> bytes:
    """The frame of an answer that tells a failure. Nothing follows the header: Java clients hang up on more."""
    header = RpcResponseHeaderProto(
        callId=unsigned_call_id(call_id),
        status=status,
        serverIpcVersionNum=IPC_VERSION,
        exceptionClassName=failure.java_class,
        errorMsg=failure.message,
        errorDetail=failure.code if failure.code is not None else RPCErrorCode.APPLICATION,
        clientId=client_id,
        retryCount=retry_count,
    )
    return frame(delimited(header.SerializeToString()))


def read_answer(content_untrusted: bytes) -> HadoopAnswer:
    """The answer in a frame from a server.

    Raises:
        MalformedFrameError: If the header cannot be decoded, or a success has no payload.
    """
    raw, offset = read_delimited(content_untrusted, 0)
    try:
        header = RpcResponseHeaderProto.FromString(raw)
    except DecodeError as exc:
        raise MalformedFrameError("the header of an answer cannot be decoded") from exc
    if not header.IsInitialized():
        raise MalformedFrameError("the header of an answer has no call id or status")
    call_id = signed_call_id(header.callId)
    if header.status == RPCStatus.SUCCESS:
        payload, _ = read_delimited(content_untrusted, offset)
        return HadoopAnswer(call_id, header.clientId, payload)
    code = RPCErrorCode(header.errorDetail) if header.HasField("errorDetail") else None
    failure = Failure(text_of(header.exceptionClassName), text_of(header.errorMsg), code)
    return HadoopAnswer(call_id, header.clientId, b"", failure, header.status == RPCStatus.FATAL)
