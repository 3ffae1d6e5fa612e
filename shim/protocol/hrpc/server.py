"""A server's side of a connection, without input and output: bytes go in, events come out, bytes to send pile up.

What may come when is told by `server_states.py`.

Source: `org.apache.hadoop.ipc.Server.Connection`.
"""

from collections.abc import Sequence
from typing import TypeVar

from google.protobuf.message import Message

from shim.errors import LocalProtocolError
from shim.protocol.hrpc.envelopes import (
    Call,
    caller_context_of,
    decode,
    encode_failure,
    encode_success,
    read_call,
    read_request_header,
    text_of,
)
from shim.protocol.hrpc.errors import Failure, FatalRPCError
from shim.protocol.hrpc.events import (
    CallReceived,
    ConnectionEnded,
    ContextReceived,
    PingReceived,
    SASLReceived,
    ServerEvent,
)
from shim.protocol.hrpc.framing import (
    DEFAULT_MAX_FRAME_BYTES,
    FrameBuffer,
    FrameLengthError,
    MalformedFrameError,
    frame,
    read_delimited,
)
from shim.protocol.hrpc.headers import (
    CONNECTION_CONTEXT_CALL_ID,
    HEADER_BYTES,
    PING_CALL_ID,
    SASL_CALL_ID,
    AuthMethod,
    AuthProtocol,
    ConnectionHeader,
    RPCStatus,
    SASLState,
)
from shim.protocol.hrpc.negotiation import Offer, Outcome, SASLAcceptor
from shim.protocol.hrpc.refusals import refusal_of_header
from shim.protocol.hrpc.sasl import SASLError, SASLSession
from shim.protocol.hrpc.server_states import (
    AFTER_NEGOTIATION,
    NOT_WRAPPING,
    SERVER_TABLE,
    Received,
    ServerState,
    refused,
)
from shim.protocol.proto.messages import IpcConnectionContextProto, RpcRequestHeaderProto, RpcSaslProto

__all__ = ["MAX_SET_UP_BYTES", "ServerConnection"]

_M = TypeVar("_M", bound=Message)

MAX_SET_UP_BYTES = 1024 * 1024
"""Largest frame before the connection is open: nobody unknown may make a server keep more."""


class ServerConnection:
    """One accepted connection.

    Args:
        offers: How clients may authenticate, most wanted first. None: the owner negotiates itself, with
            `SASLReceived`, `send_sasl` and `settle`; connections without SASL are then refused.
        max_frame_bytes: Largest frame on an open connection, `ipc.maximum.data.length`.
        max_set_up_bytes: Largest frame before that.

    Attributes:
        state: Where it stands.
        service_class: Byte of the connection header that Hadoop's clients set by `ipc.service.class`: 0.
    """

    def __init__(
        self,
        offers: Sequence[Offer] | None,
        *,
        max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES,
        max_set_up_bytes: int = MAX_SET_UP_BYTES,
    ) -> None:
        self.state = ServerState.AWAITS_HEADER
        self.service_class = 0
        self._acceptor = SASLAcceptor(offers) if offers is not None else None
        self._offers_simple = offers is not None and any(offer.method is AuthMethod.SIMPLE for offer in offers)
        self._max_frame_bytes = max_frame_bytes
        self._buffer = FrameBuffer(min(max_set_up_bytes, max_frame_bytes))
        self._unwrapped = FrameBuffer(self._buffer.limit)
        self._is_unwrapping = False
        self._layer: SASLSession | None = None
        self._method = AuthMethod.SIMPLE
        self._identity = ""
        self._out: list[bytes] = []

    def receive(self, data_untrusted: bytes) -> list[ServerEvent]:
        """Take what was read and tell what it meant; after `ConnectionEnded` everything is ignored."""
        events: list[ServerEvent] = []
        if self.state is ServerState.ENDED:
            return events
        self._buffer.feed(data_untrusted)
        try:
            self._take_header(events)
            self._take_frames(self._buffer, events)
        except FatalRPCError as exc:
            self._end(events, exc.failure, str(exc), call_id=exc.call_id, retry_count=exc.retry_count)
        except SASLError as exc:
            self._end(events, exc.failure, str(exc), call_id=SASL_CALL_ID)
        except (FrameLengthError, MalformedFrameError) as exc:
            self._end(events, None, str(exc))
        return events

    @property
    def unfinished_bytes(self) -> int:
        """What is kept of calls that are not whole."""
        return len(self._buffer) + len(self._unwrapped)

    def data_to_send(self) -> bytes:
        """Everything that waits to be sent, once."""
        data = b"".join(self._out)
        self._out.clear()
        return data

    def answer(self, call: Call, payload: bytes) -> None:
        """Answer a call with a serialized message."""
        self._send(
            encode_success(payload, call_id=call.call_id, client_id=call.client_id, retry_count=call.retry_count)
        )

    def fail(self, call: Call, failure: Failure) -> None:
        """Answer a call with a failure; the connection goes on."""
        told = encode_failure(
            failure,
            RPCStatus.ERROR,
            call_id=call.call_id,
            client_id=call.client_id,
            retry_count=call.retry_count,
        )
        self._send(told)

    def refuse(self, failure: Failure, *, call_id: int = CONNECTION_CONTEXT_CALL_ID) -> None:
        """Tell a fatal failure (a context that is not believed, a login that failed upstream) and end."""
        self._send(encode_failure(failure, RPCStatus.FATAL, call_id=call_id))
        self.state = ServerState.ENDED

    def send_sasl(self, message: RpcSaslProto) -> None:
        """Send a SASL message, on a connection whose owner negotiates itself."""
        if self._acceptor is not None or self.state is not ServerState.NEGOTIATES:
            raise LocalProtocolError(f"a SASL message cannot be sent now: the connection {self.state.value}")
        self._out.append(encode_success(message.SerializeToString(), call_id=SASL_CALL_ID))

    def settle(self, method: AuthMethod, identity: str) -> None:
        """End the negotiation that the owner led: the client is who it says."""
        if self._acceptor is not None or self.state is not ServerState.NEGOTIATES:
            raise LocalProtocolError(f"there is no negotiation to settle: the connection {self.state.value}")
        self._method, self._identity = method, identity
        self.state = ServerState.AWAITS_CONTEXT if method is AuthMethod.SIMPLE else ServerState.AUTHENTICATED

    def _take_header(self, events: list[ServerEvent]) -> None:
        if self.state is not ServerState.AWAITS_HEADER:
            return
        raw = self._buffer.take(HEADER_BYTES)
        if raw is None:
            return
        header = ConnectionHeader.parse(raw)
        self.service_class = header.service_class
        offered = self._acceptor.names if self._acceptor is not None else f"[{AuthMethod.TOKEN.name}]"
        refusal = refusal_of_header(header, offers_simple=self._offers_simple, offered=offered)
        if refusal is not None:
            self._out.append(refusal)
            self.state = ServerState.ENDED
            events.append(ConnectionEnded(None, f"refused the connection header {raw!r}"))
            return
        is_sasl = header.auth_protocol == AuthProtocol.SASL
        self.state = ServerState.NEGOTIATES if is_sasl else ServerState.AWAITS_CONTEXT

    def _take_frames(self, buffer: FrameBuffer, events: list[ServerEvent]) -> None:
        while self.state is not ServerState.ENDED and self.state is not ServerState.AWAITS_HEADER:
            content = buffer.next_frame()
            if content is None:
                return
            self._take_frame(content, events)

    def _take_frame(self, content: bytes, events: list[ServerEvent]) -> None:
        header, offset = read_request_header(content)
        call_id = header.callId
        if call_id >= 0:
            self._advance(Received.CALL, header)
            events.append(CallReceived(read_call(header, content, offset)))
        elif call_id == PING_CALL_ID:
            events.append(PingReceived())
        elif call_id == CONNECTION_CONTEXT_CALL_ID:
            self._advance(Received.CONTEXT, header)
            self._buffer.limit = self._max_frame_bytes
            events.append(self._context(header, content, offset))
        elif call_id == SASL_CALL_ID:
            self._take_sasl(header, content, offset, events)
        else:
            raise FatalRPCError(
                refused(f"Unknown out of band call #{call_id}"), call_id=call_id, retry_count=header.retryCount
            )

    def _advance(self, received: Received, header: RpcRequestHeaderProto) -> None:
        following = SERVER_TABLE[self.state][received]
        if isinstance(following, Failure):
            raise FatalRPCError(following, call_id=header.callId, retry_count=header.retryCount)
        self.state = following

    def _context(self, header: RpcRequestHeaderProto, content: bytes, offset: int) -> ContextReceived:
        context = _body(IpcConnectionContextProto, header, content, offset)
        return ContextReceived(
            text_of(context.userInfo.effectiveUser),
            text_of(context.userInfo.realUser),
            text_of(context.protocol),
            self._method,
            self._identity,
            caller_context_of(header),
            frame(content),
        )

    def _take_sasl(self, header: RpcRequestHeaderProto, content: bytes, offset: int, events: list[ServerEvent]) -> None:
        message = _body(RpcSaslProto, header, content, offset)
        if message.state == SASLState.WRAP:
            self._advance(Received.WRAPPED, header)
            self._unwrap(message.token, header, events)
            return
        self._advance(Received.SASL, header)
        if self._acceptor is None:
            events.append(SASLReceived(message, frame(content)))
            return
        reply = self._acceptor.handle(message)
        if reply.message is not None:
            self._out.append(encode_success(reply.message.SerializeToString(), call_id=SASL_CALL_ID))
        self.state = AFTER_NEGOTIATION.get(reply.outcome, self.state)
        session = self._acceptor.session
        if reply.outcome is Outcome.AUTHENTICATED and session is not None:
            self._method, self._identity = self._acceptor.method or AuthMethod.SIMPLE, session.identity
            self._layer = session if session.quality.has_layer else None

    def _unwrap(self, token: bytes, header: RpcRequestHeaderProto, events: list[ServerEvent]) -> None:
        if self._layer is None or self._is_unwrapping:
            raise FatalRPCError(NOT_WRAPPING, call_id=header.callId, retry_count=header.retryCount)
        self._unwrapped.limit = self._max_frame_bytes
        self._unwrapped.feed(self._layer.unwrap(token))
        self._is_unwrapping = True
        self._take_frames(self._unwrapped, events)
        self._is_unwrapping = False

    def _send(self, data: bytes) -> None:
        if self.state is ServerState.ENDED:
            return
        if self._layer is not None:
            wrapped = RpcSaslProto(state=SASLState.WRAP, token=self._layer.wrap(data))
            data = encode_success(wrapped.SerializeToString(), call_id=SASL_CALL_ID)
        self._out.append(data)

    def _end(
        self,
        events: list[ServerEvent],
        failure: Failure | None,
        reason: str,
        *,
        call_id: int = -1,
        retry_count: int = -1,
    ) -> None:
        if failure is not None:
            self._send(encode_failure(failure, RPCStatus.FATAL, call_id=call_id, retry_count=retry_count))
        self.state = ServerState.ENDED
        events.append(ConnectionEnded(failure, reason))


def _body(kind: type[_M], header: RpcRequestHeaderProto, content: bytes, offset: int) -> _M:
    """The message behind a set-up header; a refusal belongs to that header."""
    try:
        raw: bytes | None = read_delimited(content, offset)[0]
    except MalformedFrameError:
        raw = None
    try:
        return decode(kind, raw)
    except FatalRPCError as exc:
        raise FatalRPCError(exc.failure, call_id=header.callId, retry_count=header.retryCount) from exc
