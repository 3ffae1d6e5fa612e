"""A client's side of a connection, without input and output: calls go in, bytes to send pile up, events come out.

    NEW ──SIMPLE──▶ OPEN ⟲ answers
     └──SASL──▶ NEGOTIATES ⟲ SASL ──success──▶ OPEN

Calls that are made while the connection still negotiates wait and follow the connection context.

Source: `org.apache.hadoop.ipc.Client.Connection`, `org.apache.hadoop.security.SaslRpcClient`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from google.protobuf.message import DecodeError

from shim.errors import LocalProtocolError, RemoteProtocolError
from shim.protocol.hrpc.envelopes import (
    CallerContext,
    HadoopAnswer,
    HadoopRequest,
    encode_call,
    encode_set_up,
    read_answer,
)
from shim.protocol.hrpc.events import AnswerReceived, ClientEvent, ConnectionEnded, Established, SASLReceived
from shim.protocol.hrpc.framing import DEFAULT_MAX_FRAME_BYTES, FrameBuffer
from shim.protocol.hrpc.headers import (
    CONNECTION_CONTEXT_CALL_ID,
    PING_CALL_ID,
    SASL_CALL_ID,
    AuthMethod,
    AuthProtocol,
    ConnectionHeader,
    SASLState,
)
from shim.protocol.hrpc.negotiation import NegotiationState, SASLInitiator
from shim.protocol.hrpc.sasl import SASLSession
from shim.protocol.proto.messages import IpcConnectionContextProto, RpcSaslProto, UserInformationProto


class ClientState(Enum):
    """State of a connection."""

    NEW = "new"
    NEGOTIATES = "negotiates"
    OPEN = "open"
    ENDED = "ended"


class ClientInput(Enum):
    """Inputs of a connection: messages of the server, and steps of its owner."""

    BEGIN = "beginning without SASL"
    BEGIN_SASL = "beginning with SASL"
    SASL = "SASL message"
    ANSWER = "answer to a call"
    SETTLED = "end of the negotiation"
    END = "end"


_ROWS: Mapping[ClientState, Mapping[ClientInput, ClientState]] = {
    ClientState.NEW: {ClientInput.BEGIN: ClientState.OPEN, ClientInput.BEGIN_SASL: ClientState.NEGOTIATES},
    ClientState.NEGOTIATES: {ClientInput.SASL: ClientState.NEGOTIATES, ClientInput.SETTLED: ClientState.OPEN},
    ClientState.OPEN: {ClientInput.SASL: ClientState.OPEN, ClientInput.ANSWER: ClientState.OPEN},
    ClientState.ENDED: {},
}
CLIENT_TABLE: Mapping[ClientState, Mapping[ClientInput, ClientState]] = {
    state: {**row, ClientInput.END: ClientState.ENDED} for state, row in _ROWS.items()
}
"""Every transition. On open connections SASL messages are wrapped frames; fatal answers may come at any time."""


@dataclass(frozen=True, slots=True)
class UserIdentity:
    """On whose behalf a connection calls.

    Attributes:
        effective_user: Whom the server shall take the calls for.
        real_user: Who acts for them, if it is another user; the server must allow it (`hadoop.proxyuser.*`).
    """

    effective_user: str
    real_user: str = ""

    def message(self, method: AuthMethod) -> UserInformationProto:
        """As a connection context tells it, by how the connection authenticated (`ProtoUtil`)."""
        if method is AuthMethod.TOKEN:
            return UserInformationProto()
        if method is AuthMethod.KERBEROS or not self.real_user:
            return UserInformationProto(effectiveUser=self.effective_user)
        return UserInformationProto(effectiveUser=self.effective_user, realUser=self.real_user)


class ClientConnection:
    """One connection to a server.

    Args:
        client_id: 16 random bytes that name this client.
        caller_context: Told with every frame, for the server's audit log.
        initiator: How to authenticate; None for SIMPLE without SASL.
        is_relay: The owner negotiates itself, for another client: `SASLReceived`, `tell`, `settle`, `tell_context`.
        max_frame_bytes: Largest answer, `ipc.maximum.response.length`.
        service_class: Byte of the connection header that Hadoop's servers keep and never look at.
    """

    def __init__(
        self,
        protocol: str,
        user: UserIdentity,
        client_id: bytes,
        *,
        caller_context: CallerContext | None = None,
        initiator: SASLInitiator | None = None,
        is_relay: bool = False,
        max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES,
        service_class: int = 0,
    ) -> None:
        self.state = ClientState.NEW
        self._protocol = protocol
        self._user = user
        self._client_id = client_id
        self._caller_context = caller_context
        self._initiator = initiator
        self._is_relay = is_relay
        self._service_class = service_class
        self._layer: SASLSession | None = None
        self._buffer = FrameBuffer(max_frame_bytes)
        self._unwrapped = FrameBuffer(max_frame_bytes)
        self._waiting: list[bytes] = []
        self._out: list[bytes] = []

    @property
    def protected_bytes(self) -> int:
        """Bytes of a protected message that is not whole yet; 0 where nothing is protected."""
        return 0 if self._layer is None else len(self._buffer)

    @property
    def is_protected(self) -> bool:
        """True if messages travel under a security layer."""
        return self._layer is not None

    def connect(self) -> list[ClientEvent]:
        """Begin: queue the header and what follows it at once."""
        if self.state is not ClientState.NEW:
            raise LocalProtocolError("a connection begins once")
        if self._initiator is None and not self._is_relay:
            self._out.append(ConnectionHeader(service_class=self._service_class).serialize())
            return [self._open(ClientInput.BEGIN, AuthMethod.SIMPLE)]
        header = ConnectionHeader(service_class=self._service_class, auth_protocol=AuthProtocol.SASL)
        self._out.append(header.serialize())
        self._advance(ClientInput.BEGIN_SASL)
        if self._initiator is not None:
            self._send_sasl(self._initiator.first())
        return []

    def tell(self, message: RpcSaslProto) -> None:
        """Queue a SASL message of the owner's, who negotiates itself."""
        self._check_relay()
        self._send_sasl(message)

    def tell_context(self, caller_context: CallerContext | None = None) -> None:
        """Queue the connection context after a negotiation that was relayed: the user is whom the token names.

        Args:
            caller_context: The calling program that the relayed client told.
        """
        self._check_relay()
        self._queue_context(AuthMethod.TOKEN, caller_context)

    def _check_relay(self) -> None:
        if not self._is_relay or self.state is ClientState.ENDED:
            raise LocalProtocolError("only a relay leads the negotiation itself, and only while it is connected")

    def settle(self) -> None:
        """The negotiation that was relayed succeeded: answers to calls come from now on."""
        if not self._is_relay or self.state is not ClientState.NEGOTIATES:
            raise LocalProtocolError(f"there is no negotiation to settle: the connection is {self.state.value}")
        self._advance(ClientInput.SETTLED)

    def call(
        self, request: HadoopRequest, *, call_id: int, retry_count: int = 0, caller_context: CallerContext | None = None
    ) -> None:
        """Queue a call.

        Args:
            call_id: Names the answer; unique among pending calls.
            retry_count: How often it was sent before.
            caller_context: Whose call is passed on; None for the connection's own.
        """
        if self.state is ClientState.ENDED:
            raise LocalProtocolError("the connection has ended")
        raw = encode_call(
            request,
            call_id=call_id,
            client_id=self._client_id,
            retry_count=retry_count,
            caller_context=caller_context or self._caller_context,
        )
        if self.state is ClientState.OPEN:
            self._send(raw)
        else:
            self._waiting.append(raw)

    def ping(self) -> None:
        """Tell the server that this side still waits."""
        self._send(encode_set_up(None, call_id=PING_CALL_ID, client_id=self._client_id))

    def receive(self, data_untrusted: bytes) -> list[ClientEvent]:
        """Take what was read and tell what it meant; after `ConnectionEnded` everything is ignored."""
        events: list[ClientEvent] = []
        if self.state is ClientState.ENDED:
            return events
        self._buffer.feed(data_untrusted)
        try:
            self._take_frames(self._buffer, events, is_wrapped=False)
        except RemoteProtocolError as exc:
            self._advance(ClientInput.END)
            events.append(ConnectionEnded(None, str(exc)))
        return events

    def data_to_send(self) -> bytes:
        """Bytes that wait to be sent; each is returned once."""
        data = b"".join(self._out)
        self._out.clear()
        return data

    def _take_frames(self, buffer: FrameBuffer, events: list[ClientEvent], *, is_wrapped: bool) -> None:
        while self.state is not ClientState.ENDED:
            content = buffer.next_frame()
            if content is None:
                return
            answer = read_answer(content)
            if self._layer is not None:
                # beside the layer even a failure may have been written by somebody in between
                self._check_layer(answer, is_wrapped=is_wrapped)
            self._take_answer(answer, events)

    @staticmethod
    def _check_layer(answer: HadoopAnswer, *, is_wrapped: bool) -> None:
        is_wrapper = answer.call_id == SASL_CALL_ID and answer.failure is None
        if is_wrapper is is_wrapped:
            raise RemoteProtocolError(
                "a wrapped message came inside another" if is_wrapped else "a message came beside the security layer"
            )

    def _take_answer(self, answer: HadoopAnswer, events: list[ClientEvent]) -> None:
        failure = answer.failure
        if failure is not None and (answer.is_fatal or answer.call_id < 0):
            self._advance(ClientInput.END)
            events.append(ConnectionEnded(failure, str(failure)))
            return
        received = ClientInput.SASL if answer.call_id == SASL_CALL_ID else ClientInput.ANSWER
        self._advance(received)
        if received is ClientInput.SASL:
            self._take_sasl(answer.payload_untrusted, events)
        elif answer.client_id and answer.client_id != self._client_id:
            raise RemoteProtocolError("an answer came that belongs to another client")
        else:
            events.append(AnswerReceived(answer))

    def _take_sasl(self, payload: bytes, events: list[ClientEvent]) -> None:
        try:
            message = RpcSaslProto.FromString(payload)
        except DecodeError as exc:
            raise RemoteProtocolError("a SASL message cannot be decoded") from exc
        if not message.IsInitialized():
            raise RemoteProtocolError("a SASL message has no state")
        if self.state is ClientState.OPEN:
            self._unwrap(message, events)
            return
        if self._initiator is None:
            events.append(SASLReceived(message))
            return
        reply = self._initiator.handle(message)
        if reply.message is not None:
            self._send_sasl(reply.message)
        if reply.outcome is NegotiationState.CONTINUES:
            return
        session = self._initiator.session
        if reply.outcome is NegotiationState.AUTHENTICATED and session is not None and session.quality.has_layer:
            self._layer = session
        events.append(self._open(ClientInput.SETTLED, self._initiator.method or AuthMethod.SIMPLE))

    def _unwrap(self, message: RpcSaslProto, events: list[ClientEvent]) -> None:
        if self._layer is None or message.state != SASLState.WRAP:
            raise RemoteProtocolError("a SASL message came on an open connection that wraps nothing")
        self._unwrapped.feed(self._layer.unwrap(message.token))
        self._take_frames(self._unwrapped, events, is_wrapped=True)

    def _advance(self, received: ClientInput) -> None:
        """Go where the table says; nothing else changes the state."""
        following = CLIENT_TABLE[self.state].get(received)
        if following is None:
            raise RemoteProtocolError(f"a {received.value} came while the connection is {self.state.value}")
        self.state = following

    def _open(self, by: ClientInput, method: AuthMethod) -> Established:
        """Tell the context, then send what waited."""
        self._advance(by)
        self._queue_context(method, self._caller_context)
        for raw in self._waiting:
            self._send(raw)
        self._waiting.clear()
        return Established(method)

    def _queue_context(self, method: AuthMethod, caller_context: CallerContext | None) -> None:
        context = IpcConnectionContextProto(userInfo=self._user.message(method), protocol=self._protocol)
        self._send(
            encode_set_up(
                context.SerializeToString(),
                call_id=CONNECTION_CONTEXT_CALL_ID,
                client_id=self._client_id,
                caller_context=caller_context,
            )
        )

    def _send_sasl(self, message: RpcSaslProto) -> None:
        self._out.append(
            encode_set_up(message.SerializeToString(), call_id=SASL_CALL_ID, caller_context=self._caller_context)
        )

    def _send(self, data: bytes) -> None:
        if self._layer is not None:
            wrapped = RpcSaslProto(state=SASLState.WRAP, token=self._layer.wrap(data))
            data = encode_set_up(wrapped.SerializeToString(), call_id=SASL_CALL_ID)
        self._out.append(data)
