"""A login that is passed through: the relay learns whose token it is, never the token's secret.

    client                            relay                             server
    header, NEGOTIATE            ->
                                 <-   NEGOTIATE, a challenge to throw away
    INITIATE, names its token    ->   `Named`: the owner chooses a server, `connect`
                                      header, NEGOTIATE            ->
                                 <-                                <-   NEGOTIATE, its challenge
    INITIATE                     ->                                ->
                                 <-                                <-   SUCCESS
                                      `LoggedIn`

A server may be another relay, which challenges in the same way before it passes the login on: each NEGOTIATE of the
server's goes to the client, and the last one counts. The connection header tells the other relay where it comes from.

The nonce of a challenge must come from the server that checks the answer, but who logs in stands in the answer only:
hence two challenges. Java clients begin afresh with each NEGOTIATE, and no host or address enters the digest.

Nothing of the client's goes on as it came: a server that reads the same bytes by other rules would log in another than
the one whom the relay understood. Each message is written anew from what was read, and what was not read to its end is
refused. The proof is about the values alone, so it still holds.

Source: `org.apache.hadoop.security.SaslRpcClient.saslConnect`, `org.apache.hadoop.ipc.Server.Connection`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from google.protobuf.message import DecodeError

from shim.protocol.hrpc.client import ClientConnection, UserIdentity
from shim.protocol.hrpc.digest_md5 import DigestMD5Server, read_response
from shim.protocol.hrpc.errors import Failure
from shim.protocol.hrpc.events import ClientEvent, ConnectionEnded, SASLReceived, ServerEvent
from shim.protocol.hrpc.framing import DEFAULT_MAX_FRAME_BYTES, MalformedFrameError, read_delimited
from shim.protocol.hrpc.headers import SASL_CALL_ID, AuthMethod, SASLState
from shim.protocol.hrpc.sasl import QualityOfProtection, SASLError
from shim.protocol.hrpc.server import MAX_SET_UP_FRAMES, ServerConnection
from shim.protocol.proto.messages import RequestHeaderProto, RpcRequestHeaderProto, RpcSaslProto
from shim.protocol.wire_values import text_of

_PASSED_ON = 0x48
"""Service class of a connection that a relay made to another relay; clients have 0, and servers do not care."""
_MAX_LOGIN_BYTES = 64 * 1024
"""Tokens and responses have at most 4 KiB: nobody unknown may make a relay keep more than a few of them."""
_ALL_QUALITIES = tuple(QualityOfProtection)


class LoginStage(Enum):
    """Stage of the login: what is waited for."""

    NEGOTIATE = "the client's NEGOTIATE"
    NAME = "the client's first INITIATE"
    SERVER = "the owner's choice of a server"
    OFFER = "the server's NEGOTIATE"
    PROOF = "the client's second INITIATE and the server's word on it"
    DONE = "nothing"


@dataclass(frozen=True, slots=True)
class Named:
    """The client says whose token it holds; nothing is proven yet.

    Attributes:
        identifier_untrusted: The token's identifier.
    """

    identifier_untrusted: bytes


@dataclass(frozen=True, slots=True)
class Offered:
    """The server answers; from now on only this server can complete the login."""


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """The server believes the client.

    Attributes:
        quality: What protects the frames from now on; with a layer nobody between the two can read them.
    """

    quality: QualityOfProtection


LoginEvent = Named | Offered | LoggedIn | ConnectionEnded

_MAY_COME: Mapping[LoginStage, frozenset[SASLState]] = {
    LoginStage.NEGOTIATE: frozenset({SASLState.NEGOTIATE}),
    LoginStage.NAME: frozenset({SASLState.INITIATE}),
    LoginStage.PROOF: frozenset({SASLState.INITIATE, SASLState.RESPONSE}),
}
"""What a client may send when; at all other times it has to wait."""


class LoginRelay:
    """Both ends of one login.

    Args:
        protocol: Java name of the protocol that the client will call.
        nonce: For the challenge to throw away; random.
        client_id: Names the relay to the server, for calls of its own.
        max_frame_bytes: Largest frame, once somebody reads them.

    Attributes:
        below: Towards the client; its calls can be read once it has logged in, if no layer protects them.
        above: Towards the server.
    """

    def __init__(
        self, protocol: str, nonce: str, client_id: bytes, *, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES
    ) -> None:
        self._protocol = protocol
        self._nonce = nonce
        self._client_id = client_id
        self._max_frame_bytes = max_frame_bytes
        self._identifier = b""
        self._quality = QualityOfProtection.AUTH
        self.below = ServerConnection(
            None,
            max_frame_bytes=max_frame_bytes,
            max_set_up_bytes=_MAX_LOGIN_BYTES,
            frames_per_turn=MAX_SET_UP_FRAMES,
        )
        self.above = self._new_above()
        self.stage = LoginStage.NEGOTIATE

    @property
    def was_passed_on(self) -> bool:
        """True if the client's connection comes from another relay."""
        return self.below.service_class == _PASSED_ON

    def connect(self, *, is_relay: bool = False) -> None:
        """There is a connection to a server (perhaps another one than before, until one was `Offered`)."""
        self.above = self._new_above(_PASSED_ON if is_relay else 0)
        self.above.connect()
        self.above.tell(RpcSaslProto(state=SASLState.NEGOTIATE))
        self.stage = LoginStage.OFFER

    def receive_below(self, data_untrusted: bytes) -> list[LoginEvent]:
        """Take what the client sent."""
        events: list[LoginEvent] = []
        for event in self.below.receive(data_untrusted):
            try:
                self._from_client(event, events)
            except SASLError as exc:
                return [*events, self.refuse(exc.failure)]
        return events

    def receive_above(self, data_untrusted: bytes) -> list[LoginEvent]:
        """Take what the server sent."""
        events: list[LoginEvent] = []
        for event in self.above.receive(data_untrusted):
            self._from_server(event, events)
        return events

    def refuse(self, failure: Failure) -> ConnectionEnded:
        """Tell the client that it cannot log in."""
        self.below.refuse(failure, call_id=SASL_CALL_ID)
        self.stage = LoginStage.DONE
        return ConnectionEnded(failure, str(failure))

    def _new_above(self, service_class: int = 0) -> ClientConnection:
        return ClientConnection(
            self._protocol,
            UserIdentity(""),
            self._client_id,
            is_relay=True,
            max_frame_bytes=self._max_frame_bytes,
            service_class=service_class,
        )

    def _from_client(self, event: ServerEvent, events: list[LoginEvent]) -> None:
        if isinstance(event, ConnectionEnded):
            events.append(event)
        if not isinstance(event, SASLReceived):
            return
        message = event.message_untrusted
        if message.state not in _MAY_COME.get(self.stage, ()):
            state = RpcSaslProto.SaslState.Name(message.state)
            raise SASLError(f"{state} came while the login waits for {self.stage.value}")
        match self.stage:
            case LoginStage.NEGOTIATE:
                self._challenge()
            case LoginStage.NAME:
                self._identifier = read_response(message.token).identifier_untrusted
                self.stage = LoginStage.SERVER
                events.append(Named(self._identifier))
            case _:
                self._prove(message)

    def _challenge(self) -> None:
        """Offer what every client can choose from: the choice is thrown away with the challenge."""
        challenge = DigestMD5Server(lambda _: b"", self._nonce, _ALL_QUALITIES).step(b"")
        self.below.send_sasl(RpcSaslProto(state=SASLState.NEGOTIATE, auths=[_by_token(challenge)]))
        self.stage = LoginStage.NAME

    def _prove(self, message: RpcSaslProto) -> None:
        """Refuse a client that proves to be another than it named first: the server was chosen for that one."""
        read = read_response(message.token)
        if read.identifier_untrusted != self._identifier:
            raise SASLError("the client named one token first, then another")
        self._quality = read.quality
        auths = [_by_token()] if message.state == SASLState.INITIATE else []
        self.above.tell(RpcSaslProto(state=message.state, token=read.anew, auths=auths))

    def _from_server(self, event: ClientEvent, events: list[LoginEvent]) -> None:
        if isinstance(event, ConnectionEnded):
            events.append(event if event.failure is None else self.refuse(event.failure))
        if not isinstance(event, SASLReceived) or self.stage not in (LoginStage.OFFER, LoginStage.PROOF):
            return
        message = event.message_untrusted
        is_first = self.stage is LoginStage.OFFER
        if is_first and message.state != SASLState.NEGOTIATE:
            events.append(ConnectionEnded(None, "the server broke the order of a login"))
            return
        self.below.send_sasl(message)
        if is_first:
            self.stage = LoginStage.PROOF
            events.append(Offered())
        elif message.state == SASLState.SUCCESS:
            self._settle(events)

    def _settle(self, events: list[LoginEvent]) -> None:
        self.below.settle(AuthMethod.TOKEN, "")
        self.above.settle()
        self.stage = LoginStage.DONE
        events.append(LoggedIn(self._quality))


def _by_token(challenge: bytes | None = None) -> RpcSaslProto.SaslAuth:
    """The one method that is passed through, as Hadoop's servers offer it and clients repeat it."""
    method = AuthMethod.TOKEN
    return RpcSaslProto.SaslAuth(
        method=method.name, mechanism=method.mechanism, protocol="", serverId="default", challenge=challenge
    )


# Methods that are called on a connection whose bytes pass through: frames are looked at, not kept.

_PREFIX = 4
_HEAD_BYTES = 512
"""Both headers of a call fit: about 60 bytes each, and a caller context of at most 128."""
_MOST_AT_ONCE = 1000
"""Frames in one read: an ApplicationMaster calls a few times a second, and more would be a long time's work."""


class CallScanner:
    """Watches a client's stream from the beginning of a frame on.

    Keeps at most the first `_HEAD_BYTES` of the frame that is on its way. Knows no limits and refuses nothing: that is
    the server's part. What cannot be read is not counted, nor is anything more of a client that floods.
    """

    __slots__ = ("_head", "_is_blind", "_missing")

    def __init__(self) -> None:
        self._head = b""
        self._missing = 0
        self._is_blind = False

    def feed(self, data_untrusted: bytes) -> list[str]:
        """The methods of the calls whose frames ended in what was read."""
        seen: list[str] = []
        start = frames = 0
        end = len(data_untrusted)
        while start < end and not self._is_blind:
            frames += 1
            if frames > _MOST_AT_ONCE:
                self._is_blind = True
                break
            start = (
                self._rest(data_untrusted, start, seen) if self._missing else self._begin(data_untrusted, start, seen)
            )
        return seen

    def _begin(self, data: bytes, start: int, seen: list[str]) -> int:
        """A frame begins at `start`, or goes on in its length; return up to where it was taken."""
        if self._head:
            taken = min(_PREFIX - len(self._head), len(data) - start)
            self._head += data[start : start + taken]
            start += taken
            if len(self._head) < _PREFIX:
                return start
            length = int.from_bytes(self._head, "big", signed=True)
            self._head = b""
        elif len(data) - start < _PREFIX:
            self._head = data[start:]
            return len(data)
        else:
            length = int.from_bytes(data[start : start + _PREFIX], "big", signed=True)
            start += _PREFIX
        if length < 0:
            self._is_blind = True
            return start
        self._missing = length
        return self._rest(data, start, seen)

    def _rest(self, data: bytes, start: int, seen: list[str]) -> int:
        """Take what belongs to the frame; at its end look at its head."""
        taken = min(self._missing, len(data) - start)
        room = _HEAD_BYTES - len(self._head)
        self._head += data[start : start + min(taken, room)]
        self._missing -= taken
        if not self._missing:
            method = _method_of(self._head)
            self._head = b""
            if method:
                seen.append(method)
        return start + taken


def _method_of(head_untrusted: bytes) -> str:
    """The method that a frame calls; empty if it is no call."""
    try:
        raw, offset = read_delimited(head_untrusted, 0)
        if RpcRequestHeaderProto.FromString(raw).callId < 0:
            return ""
        raw, _ = read_delimited(head_untrusted, offset)
        return text_of(RequestHeaderProto.FromString(raw).methodName)
    except (MalformedFrameError, DecodeError):
        return ""
