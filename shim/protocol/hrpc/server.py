"""A server's side of a connection, without input and output: bytes go in, events come out, bytes to send pile up.

What may come when is told by `server_states.py`.

Source: `org.apache.hadoop.ipc.Server.Connection`.
"""

from collections import deque
from collections.abc import Generator, Sequence
from typing import TypeVar

from google.protobuf.message import Message

from shim.errors import LocalProtocolError
from shim.protocol.hrpc.call_shapes import CallShapes
from shim.protocol.hrpc.envelopes import (
    HadoopCall,
    caller_context_of,
    decode,
    encode_failure,
    encode_success,
    read_call,
    read_request_header,
)
from shim.protocol.hrpc.errors import Failure, FatalRPCError
from shim.protocol.hrpc.events import (
    CallReceived,
    ConnectionEnded,
    ContextReceived,
    LoginProven,
    PingReceived,
    SASLReceived,
    ServerEvent,
)
from shim.protocol.hrpc.framing import (
    DEFAULT_MAX_FRAME_BYTES,
    FrameBuffer,
    FrameLengthError,
    MalformedFrameError,
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
from shim.protocol.hrpc.negotiation import NegotiationState, SASLAcceptor, SASLOffer
from shim.protocol.hrpc.sasl import SASLError, SASLSession
from shim.protocol.hrpc.server_states import (
    NOT_WRAPPED,
    NOT_WRAPPING,
    OUTCOMES,
    ServerInput,
    ServerState,
    next_state,
    refusal_of_header,
    refused,
)
from shim.protocol.proto.messages import IpcConnectionContextProto, RpcRequestHeaderProto, RpcSaslProto
from shim.protocol.wire_values import text_of

_M = TypeVar("_M", bound=Message)

MAX_SET_UP_BYTES = 96 * 1024
"""Largest frame before the connection is open: a Kerberos ticket has at most 64 KiB."""
MAX_SET_UP_FRAMES = 64
"""Frames before the connection is open; the longest login has ten."""
_MAX_HEADER_BYTES = 64 * 1024
"""Largest header of a frame: what stands in one is short, and to decode it takes a time that grows with it."""
_STEP_FRAMES = 8
"""Frames that take as long as one step of opening a wrapped message."""

_READS_NOTHING = frozenset({ServerState.ENDED, ServerState.AWAITS_HEADER, ServerState.AWAITS_VERDICT})
_IS_OPEN = frozenset({ServerState.OPEN, ServerState.OPEN_AUTHENTICATED})


class ServerConnection:
    """One accepted connection.

    Args:
        offers: How clients may authenticate, most wanted first. None: the owner negotiates itself, with
            `SASLReceived`, `send_sasl` and `settle`; connections without SASL are then refused.
        max_frame_bytes: Largest frame on an open connection, `ipc.maximum.data.length`.
        max_set_up_bytes: Largest frame before that.
        frames_per_turn: Frames that are read at once; what is left is read by `go_on`, so that other work may go on
            meanwhile. None for all.

    Attributes:
        service_class: Byte of the connection header that Hadoop's clients set by `ipc.service.class`: 0.
    """

    def __init__(
        self,
        offers: Sequence[SASLOffer] | None,
        *,
        max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES,
        max_set_up_bytes: int = MAX_SET_UP_BYTES,
        frames_per_turn: int | None = None,
    ) -> None:
        self.state = ServerState.AWAITS_HEADER
        self.service_class = 0
        self._acceptor = SASLAcceptor(offers) if offers is not None else None
        self._offers_simple = offers is not None and any(offer.method is AuthMethod.SIMPLE for offer in offers)
        self._max_frame_bytes = max_frame_bytes
        self._buffer = FrameBuffer(min(max_set_up_bytes, max_frame_bytes))
        self._layered = LayeredFrames(self._buffer.limit)
        self._frames_per_turn = frames_per_turn
        self._set_up_frames = 0
        self._has_more = False
        self._success: RpcSaslProto | None = None
        self._method = AuthMethod.SIMPLE
        self._identity = ""
        self._out: list[bytes] = []
        self._shapes: CallShapes | None = None

    def known_call(self, data_untrusted: bytes) -> HadoopCall | None:
        """The call, if what was read is one whole frame with headers that came before, and nothing waits before it.

        None means nothing: `receive` takes the same bytes, and remembers their headers once this was asked.
        """
        is_open = self.state is ServerState.OPEN or self.state is ServerState.OPEN_AUTHENTICATED
        if not is_open or self._layered.is_on or self._has_more or len(self._buffer):
            return None
        if self._shapes is None:
            self._shapes = CallShapes()
        return self._shapes.find(data_untrusted) if len(data_untrusted) <= self._buffer.limit else None

    def receive(self, data_untrusted: bytes) -> list[ServerEvent]:
        """Take what was read and tell what it meant; after `ConnectionEnded` everything is ignored."""
        if self.state is ServerState.ENDED:
            return []
        self._buffer.feed(data_untrusted)
        return self.go_on()

    def go_on(self) -> list[ServerEvent]:
        """Read what is left of what was received; see `has_more`."""
        events: list[ServerEvent] = []
        if self.state is ServerState.ENDED:
            return events
        try:
            self._take_header(events)
            self._take_frames(events)
        except FatalRPCError as exc:
            self._end(events, exc.failure, str(exc), call_id=exc.call_id, retry_count=exc.retry_count)
        except SASLError as exc:
            self._end(events, exc.failure, str(exc), call_id=SASL_CALL_ID)
        except (FrameLengthError, MalformedFrameError) as exc:
            self._end(events, None, str(exc))
        return events

    @property
    def has_more(self) -> bool:
        """Return whether frames that were received wait for `go_on`."""
        return self._has_more and self.state not in _READS_NOTHING

    @property
    def is_behind(self) -> bool:
        """Return whether reading should pause: frames wait for `go_on`, or a login waits for its verdict."""
        return self.has_more or self.state is ServerState.AWAITS_VERDICT

    @property
    def unfinished_bytes(self) -> int:
        return len(self._buffer) + len(self._layered)

    @property
    def is_layered(self) -> bool:
        """True if frames are wrapped before they are sent."""
        return self._layered.is_on

    @property
    def has_to_send(self) -> bool:
        return bool(self._out) or self._layered.has_to_send

    def data_to_send(self, most_to_wrap: int | None = None) -> bytes:
        """Return the data that waits to be sent, once.

        Args:
            most_to_wrap: Bytes for which the security layer works now, about; the rest waits for the next time.
        """
        if self._layered.has_to_send:
            self._out += self._layered.wrapped(most_to_wrap)
        data = b"".join(self._out)
        self._out.clear()
        return data

    def confirm(self) -> list[ServerEvent]:
        """The client that was `LoginProven` may come in; what it sent meanwhile is read."""
        if self.state is not ServerState.AWAITS_VERDICT or self._success is None:
            raise LocalProtocolError(f"there is no login to confirm: the connection {self.state.value}")
        success, self._success = self._success, None
        self._out.append(encode_success(success.SerializeToString(), call_id=SASL_CALL_ID))
        self._advance(ServerInput.CONFIRMED)
        self._protect()
        return self.go_on()

    def answer(self, call: HadoopCall, payload: bytes) -> None:
        """Answer a call with a serialized message."""
        self._send(
            encode_success(payload, call_id=call.call_id, client_id=call.client_id, retry_count=call.retry_count)
        )

    def fail(self, call: HadoopCall, failure: Failure) -> None:
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
        self._advance(ServerInput.END)

    def send_sasl(self, message: RpcSaslProto) -> None:
        if self._acceptor is not None or self.state is not ServerState.NEGOTIATES:
            raise LocalProtocolError(f"a SASL message cannot be sent now: the connection {self.state.value}")
        self._out.append(encode_success(message.SerializeToString(), call_id=SASL_CALL_ID))

    def settle(self, method: AuthMethod, identity: str) -> None:
        """End the negotiation that the owner led: the client is who it says."""
        if self._acceptor is not None or self.state is not ServerState.NEGOTIATES:
            raise LocalProtocolError(f"there is no negotiation to settle: the connection {self.state.value}")
        self._method, self._identity = method, identity
        self._advance(ServerInput.SIMPLE if method is AuthMethod.SIMPLE else ServerInput.AUTHENTICATED)

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
            self._advance(ServerInput.END)
            events.append(ConnectionEnded(None, f"refused the connection header {raw!r}"))
            return
        is_sasl = header.auth_protocol == AuthProtocol.SASL
        self._advance(ServerInput.SASL_HEADER if is_sasl else ServerInput.HEADER)

    def _take_frames(self, events: list[ServerEvent]) -> None:
        """Read frames, as many as one turn may: first what was wrapped, then what follows it."""
        left = self._frames_per_turn
        self._has_more = False
        while self.state not in _READS_NOTHING:
            if left is not None and left <= 0:
                self._has_more = True
                return
            if self._layered.is_opening:
                self._layered.step()
                left = None if left is None else left - _STEP_FRAMES
                continue
            content, is_wrapped = self._layered.next_frame(), True
            if content is None:
                content, is_wrapped = self._buffer.next_frame(), False
            if content is None:
                return
            self._take_frame(content, events, is_wrapped=is_wrapped)
            left = None if left is None else left - 1

    def _take_frame(self, content: bytes, events: list[ServerEvent], *, is_wrapped: bool) -> None:
        self._count_set_up()
        header, offset = read_request_header(content, most=_MAX_HEADER_BYTES)
        call_id = header.callId
        if self._layered.is_on and not is_wrapped and call_id != SASL_CALL_ID:
            raise FatalRPCError(NOT_WRAPPED, call_id=call_id, retry_count=header.retryCount)
        if call_id >= 0:
            self._advance(ServerInput.CALL, header)
            call = read_call(header, content, offset)
            if self._shapes is not None:
                self._shapes.note(header, content, offset, call)
            events.append(CallReceived(call))
        elif call_id == PING_CALL_ID:
            events.append(PingReceived())
        elif call_id == CONNECTION_CONTEXT_CALL_ID:
            self._advance(ServerInput.CONTEXT, header)
            self._buffer.limit = self._max_frame_bytes
            events.append(self._context(header, content, offset))
        elif call_id == SASL_CALL_ID:
            self._take_sasl(header, content, offset, events, is_wrapped=is_wrapped)
        else:
            raise FatalRPCError(
                refused(f"Unknown out of band call #{call_id}"), call_id=call_id, retry_count=header.retryCount
            )

    def _count_set_up(self) -> None:
        """A client that never comes to the point keeps a server busy without anybody to blame."""
        if self.state in _IS_OPEN:
            return
        self._set_up_frames += 1
        if self._set_up_frames > MAX_SET_UP_FRAMES:
            raise MalformedFrameError(f"more than {MAX_SET_UP_FRAMES} frames came before the connection was open")

    def _advance(self, received: ServerInput, header: RpcRequestHeaderProto | None = None) -> None:
        """Go where the table says; nothing else changes the state."""
        following = next_state(self.state, received)
        if isinstance(following, Failure):
            call_id, retry_count = (-1, -1) if header is None else (header.callId, header.retryCount)
            raise FatalRPCError(following, call_id=call_id, retry_count=retry_count)
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
        )

    def _take_sasl(
        self,
        header: RpcRequestHeaderProto,
        content: bytes,
        offset: int,
        events: list[ServerEvent],
        *,
        is_wrapped: bool,
    ) -> None:
        message = _body(RpcSaslProto, header, content, offset)
        if message.state == SASLState.WRAP:
            self._advance(ServerInput.WRAPPED, header)
            if not self._layered.is_on or is_wrapped:
                raise FatalRPCError(NOT_WRAPPING, call_id=header.callId, retry_count=header.retryCount)
            self._layered.open(message.token, limit=self._max_frame_bytes)
            return
        self._advance(ServerInput.SASL, header)
        if self._acceptor is None:
            events.append(SASLReceived(message))
            return
        reply = self._acceptor.handle(message)
        if reply.outcome in OUTCOMES:
            self._advance(OUTCOMES[reply.outcome])
        if reply.outcome is NegotiationState.PROVEN:
            self._success = reply.message
            assert self._acceptor.session is not None  # noqa: S101 - it has proven something
            events.append(LoginProven(self._acceptor.method or AuthMethod.SIMPLE, self._acceptor.session.identity))
            return
        if reply.message is not None:
            self._out.append(encode_success(reply.message.SerializeToString(), call_id=SASL_CALL_ID))
        if reply.outcome is NegotiationState.AUTHENTICATED:
            self._protect()

    def _protect(self) -> None:
        """The client is who it proved to be; from now on both sides wrap, if that was agreed on."""
        assert self._acceptor is not None  # noqa: S101 - who negotiates itself settles itself
        session = self._acceptor.session
        if session is not None:
            self._method, self._identity = self._acceptor.method or AuthMethod.SIMPLE, session.identity
            self._layered.begin(session)

    def _send(self, data: bytes) -> None:
        if self.state is ServerState.ENDED:
            return
        if self._layered.is_on:
            self._layered.send(data)
        else:
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
        self._advance(ServerInput.END)
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


_WRAPPED_BYTES = 56 * 1024
"""Most that is wrapped in one message: both mechanisms announce 64 KiB as the largest that they take."""


class LayeredFrames:
    """Frames under a security layer; there is none before `begin`.

    Args:
        limit: Largest frame before the connection is open, in bytes.
    """

    def __init__(self, limit: int) -> None:
        self._session: SASLSession | None = None
        self._opened = FrameBuffer(limit)
        self._opening: Generator[None, None, bytes] | None = None
        self._to_wrap: deque[bytes | memoryview] = deque()

    def __len__(self) -> int:
        return len(self._opened)

    def begin(self, session: SASLSession) -> None:
        """From now on frames travel under the layer of a session, if it has one."""
        self._session = session if session.quality.has_layer else None

    @property
    def is_on(self) -> bool:
        return self._session is not None

    @property
    def is_opening(self) -> bool:
        """True while a message is opened: `step` goes on with it."""
        return self._opening is not None

    @property
    def has_to_send(self) -> bool:
        return bool(self._to_wrap)

    def open(self, token_untrusted: bytes, *, limit: int) -> None:
        """Begin to open a wrapped message; its frames may have `limit` bytes."""
        assert self._session is not None  # noqa: S101 - asked only while there is a layer
        self._opened.limit = limit
        self._opening = self._session.unwrap_steps(token_untrusted)

    def step(self) -> None:
        """Open a piece of the message; its last one gives all of its frames.

        Raises:
            SASLError: If it was changed, lost, repeated or reordered on the way.
        """
        assert self._opening is not None  # noqa: S101 - asked only while one is opened
        try:
            next(self._opening)
        except StopIteration as opened:
            self._opening = None
            self._opened.feed(opened.value)

    def next_frame(self) -> bytes | None:
        """The next frame that was wrapped; None while none is whole."""
        return self._opened.next_frame()

    def send(self, data: bytes) -> None:
        """Have a frame wrapped when it is sent."""
        self._to_wrap.append(data)

    def wrapped(self, most: int | None) -> list[bytes]:
        """Bytes to send next; the layer works for about `most` bytes, None for all."""
        pieces: list[bytes] = []
        left = most
        while self._to_wrap and (left is None or left > 0):
            clear = self._to_wrap.popleft()
            if len(clear) > _WRAPPED_BYTES:
                # a view: what is left of a large answer is not copied for each piece of it
                self._to_wrap.appendleft(memoryview(clear)[_WRAPPED_BYTES:])
                clear = clear[:_WRAPPED_BYTES]
            pieces.append(self._wrap(bytes(clear)))
            left = None if left is None else left - len(clear)
        return pieces

    def _wrap(self, clear: bytes) -> bytes:
        assert self._session is not None  # noqa: S101 - only then something waits to be wrapped
        wrapped = RpcSaslProto(state=SASLState.WRAP, token=self._session.wrap(clear))
        return encode_success(wrapped.SerializeToString(), call_id=SASL_CALL_ID)
