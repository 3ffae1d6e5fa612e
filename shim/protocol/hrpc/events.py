"""Events of connections, in the order in which the peer caused them."""

from dataclasses import dataclass

from shim.protocol.hrpc.envelopes import CallerContext, HadoopAnswer, HadoopCall
from shim.protocol.hrpc.errors import Failure
from shim.protocol.hrpc.headers import AuthMethod
from shim.protocol.proto.messages import RpcSaslProto


@dataclass(frozen=True, slots=True)
class SASLReceived:
    """A SASL message, on a connection whose owner negotiates itself (a relay)."""

    message_untrusted: RpcSaslProto


@dataclass(frozen=True, slots=True)
class LoginProven:
    """A client has proven itself by an offer that needs a verdict: `confirm` or `refuse` comes next, nothing else.

    Attributes:
        identity: What was proven, as in `ContextReceived`.
    """

    method: AuthMethod
    identity: str


@dataclass(frozen=True, slots=True)
class ContextReceived:
    """A client said who it is and which protocol it will call. Whoever gets this decides whether to believe it.

    Attributes:
        effective_user_untrusted: Empty when the client named none.
        real_user_untrusted: Who acts for the effective user; empty when nobody does.
        method: How the connection authenticated; with SIMPLE nothing above is proven.
        identity: What was proven: a token's identifier in base64 or a Kerberos principal; empty with SIMPLE.
    """

    effective_user_untrusted: str
    real_user_untrusted: str
    protocol_untrusted: str
    method: AuthMethod
    identity: str
    caller_context: CallerContext | None


@dataclass(frozen=True, slots=True)
class CallReceived:
    """A call, to be answered with `answer` or `fail`, in any order."""

    call: HadoopCall


@dataclass(frozen=True, slots=True)
class PingReceived:
    """The client waits for an answer and is still there. Nothing is sent back."""


@dataclass(frozen=True, slots=True)
class Established:
    """A client's connection takes calls now."""

    method: AuthMethod


@dataclass(frozen=True, slots=True)
class AnswerReceived:
    """An answer to a call; never a fatal one."""

    answer: HadoopAnswer


@dataclass(frozen=True, slots=True)
class ConnectionEnded:
    """End of a connection: the rest of `data_to_send` goes out, then the transport is closed.

    Attributes:
        failure: The fatal answer that was sent (by a server) or received (by a client), if any.
    """

    failure: Failure | None
    reason: str


ServerEvent = SASLReceived | LoginProven | ContextReceived | CallReceived | PingReceived | ConnectionEnded
ClientEvent = SASLReceived | Established | AnswerReceived | ConnectionEnded
