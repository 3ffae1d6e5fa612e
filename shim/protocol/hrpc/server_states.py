"""Transitions of a server's side of a connection, all of them.

For each state and each input: the next state, or the refusal that a Hadoop server sends before it hangs up. An input
that a row does not have is a mistake of Heddle's own code. Pings may come at any time and change nothing; every state
ends by END.

    AWAITS_HEADER ──NONE──▶ AWAITS_CONTEXT ──context──▶ OPEN ⟲ calls
         │                       ▲ SIMPLE
         └─SASL──▶ NEGOTIATES ⟲ SASL
                    │   └─success─▶ AUTHENTICATED ──context──▶ OPEN_AUTHENTICATED ⟲ calls
                    │                    ▲ confirmed
                    └─proven─▶ AWAITS_VERDICT

Source: `org.apache.hadoop.ipc.Server.Connection`.

Last words of a server to peers that never became clients: wrong protocol, wrong version, HTTP.

Source: `org.apache.hadoop.ipc.Server.Connection.{setupBadVersionResponse,setupHttpRequestOnIpcPortResponse,
initializeAuthContext}`.
"""

from collections.abc import Mapping
from enum import Enum

from shim.errors import LocalProtocolError
from shim.protocol.hrpc.envelopes import encode_failure
from shim.protocol.hrpc.errors import Failure, JavaClass, fatal
from shim.protocol.hrpc.headers import IPC_VERSION, AuthProtocol, ConnectionHeader, RPCErrorCode, RPCStatus
from shim.protocol.hrpc.negotiation import NegotiationState


class ServerState(Enum):
    """State of a connection."""

    AWAITS_HEADER = "awaits the header"
    NEGOTIATES = "negotiates"
    AWAITS_VERDICT = "has proven who it is, awaits the owner's verdict"
    AWAITS_CONTEXT = "awaits the context"
    AUTHENTICATED = "authenticated, awaits the context"
    OPEN = "open"
    OPEN_AUTHENTICATED = "open, authenticated"
    ENDED = "ended"


class ServerInput(Enum):
    """Inputs of a connection: messages, ends of negotiations, words of its owner."""

    HEADER = "connection header"
    SASL_HEADER = "connection header that asks for SASL"
    SASL = "SASL message"
    WRAPPED = "wrapped frames"
    CONTEXT = "connection context"
    CALL = "call"
    SIMPLE = "end of the negotiation without a login"
    PROVEN = "end of the negotiation, for the owner to confirm"
    AUTHENTICATED = "end of the negotiation by a login"
    CONFIRMED = "the owner's word on a login"
    END = "end"


FROM_CLIENT = frozenset({ServerInput.SASL, ServerInput.WRAPPED, ServerInput.CONTEXT, ServerInput.CALL})
"""Kinds of messages from a client after the connection header: every state that reads has a cell for each."""


def refused(text: str, java_class: str = JavaClass.RPC_SERVER) -> Failure:
    """A refusal of a message that has no business now."""
    return fatal(text, RPCErrorCode.INVALID_RPC_HEADER, java_class)


_NO_CONTEXT = refused("Connection context not established")
_CONTEXT_TWICE = refused("Connection context already processed")
_CONTEXT_TOO_EARLY = refused("Connection header sent during SASL negotiation")
_NO_SASL = refused("SASL protocol not requested by client")
_SASL_COMPLETE = refused("Negotiation is already complete", JavaClass.SASL)
NOT_WRAPPED = refused("Only wrapped messages are taken after a negotiation of that protection", JavaClass.SASL)
"""A message beside the security layer: whoever sits in between may have written it."""
NOT_WRAPPING = refused("Server is not wrapping data", JavaClass.SASL)

_WAITING: Mapping[ServerState, Mapping[ServerInput, ServerState | Failure]] = {
    ServerState.AWAITS_HEADER: {
        ServerInput.HEADER: ServerState.AWAITS_CONTEXT,
        ServerInput.SASL_HEADER: ServerState.NEGOTIATES,
    },
    ServerState.NEGOTIATES: {
        ServerInput.SASL: ServerState.NEGOTIATES,
        ServerInput.WRAPPED: NOT_WRAPPING,
        ServerInput.CONTEXT: _CONTEXT_TOO_EARLY,
        ServerInput.CALL: _NO_CONTEXT,
        ServerInput.SIMPLE: ServerState.AWAITS_CONTEXT,
        ServerInput.PROVEN: ServerState.AWAITS_VERDICT,
        ServerInput.AUTHENTICATED: ServerState.AUTHENTICATED,
    },
    ServerState.AWAITS_VERDICT: {ServerInput.CONFIRMED: ServerState.AUTHENTICATED},
    ServerState.AWAITS_CONTEXT: {
        ServerInput.SASL: _NO_SASL,
        ServerInput.WRAPPED: _NO_SASL,
        ServerInput.CONTEXT: ServerState.OPEN,
        ServerInput.CALL: _NO_CONTEXT,
    },
    ServerState.AUTHENTICATED: {
        ServerInput.SASL: _SASL_COMPLETE,
        ServerInput.WRAPPED: ServerState.AUTHENTICATED,
        ServerInput.CONTEXT: ServerState.OPEN_AUTHENTICATED,
        ServerInput.CALL: _NO_CONTEXT,
    },
    ServerState.OPEN: {
        ServerInput.SASL: _NO_SASL,
        ServerInput.WRAPPED: _NO_SASL,
        ServerInput.CONTEXT: _CONTEXT_TWICE,
        ServerInput.CALL: ServerState.OPEN,
    },
    ServerState.OPEN_AUTHENTICATED: {
        ServerInput.SASL: _SASL_COMPLETE,
        ServerInput.WRAPPED: ServerState.OPEN_AUTHENTICATED,
        ServerInput.CONTEXT: _CONTEXT_TWICE,
        ServerInput.CALL: ServerState.OPEN_AUTHENTICATED,
    },
    ServerState.ENDED: {},
}
SERVER_TABLE: Mapping[ServerState, Mapping[ServerInput, ServerState | Failure]] = {
    state: {**row, ServerInput.END: ServerState.ENDED} for state, row in _WAITING.items()
}
OUTCOMES: Mapping[NegotiationState, ServerInput] = {
    NegotiationState.SIMPLE: ServerInput.SIMPLE,
    NegotiationState.PROVEN: ServerInput.PROVEN,
    NegotiationState.AUTHENTICATED: ServerInput.AUTHENTICATED,
}
"""Ends of a negotiation; any other outcome leaves the connection where it stands."""


def next_state(state: ServerState, received: ServerInput) -> ServerState | Failure:
    """The cell of the table.

    Raises:
        LocalProtocolError: If there is none: whoever owns the connection asks for what cannot be.
    """
    following = SERVER_TABLE[state].get(received)
    if following is None:
        raise LocalProtocolError(f"no {received.value} can come now: the connection {state.value}")
    return following


_HTTP_GET = b"GET "
_HTTP_ANSWER = (
    b"HTTP/1.1 404 Not Found\r\nContent-type: text/plain\r\n\r\n"
    b"It looks like you are making an HTTP request to a Hadoop IPC port. "
    b"This is not the correct port for the web interface on this daemon.\r\n"
)
_OLDEST_WITH_STATUS = 3
_OLDEST_WITH_ANSWER = 2
_MINUS_ONE = b"\xff" * 4


def refusal_of_header(header_untrusted: ConnectionHeader, *, offers_simple: bool, offered: str) -> bytes | None:
    """Bytes to send before hanging up (perhaps none); None when the header is good.

    Args:
        header_untrusted: The first seven bytes.
        offers_simple: Whether a client may come without SASL.
        offered: The methods that are offered, as Java prints a list.
    """
    if header_untrusted.magic == _HTTP_GET:
        return _HTTP_ANSWER
    if not header_untrusted.is_hadoop or header_untrusted.version != IPC_VERSION:
        return _version_mismatch(header_untrusted.version)
    protocol = header_untrusted.auth_protocol
    if protocol not in set(AuthProtocol):
        return _fatal(JavaClass.IPC, f"Unknown auth protocol:{protocol}", RPCErrorCode.UNAUTHORIZED)
    if protocol == AuthProtocol.NONE and not offers_simple:
        text = f"SIMPLE authentication is not enabled.  Available:{offered}"
        return _fatal(JavaClass.ACCESS_CONTROL, text, RPCErrorCode.UNAUTHORIZED)
    return None


def _fatal(java_class: JavaClass, message: str, code: RPCErrorCode) -> bytes:
    return encode_failure(Failure(java_class, message, code), RPCStatus.FATAL)


def _version_mismatch(version: int) -> bytes:
    """In the form that the client's version can read."""
    text = f"Server IPC version {IPC_VERSION} cannot communicate with client version {version}"
    if version >= IPC_VERSION:
        return _fatal(JavaClass.VERSION_MISMATCH, text, RPCErrorCode.VERSION_MISMATCH)
    told = _text(JavaClass.VERSION_MISMATCH) + _text(text)
    if version >= _OLDEST_WITH_STATUS:
        return _MINUS_ONE + _MINUS_ONE + told
    if version == _OLDEST_WITH_ANSWER:
        return bytes(4) + b"\x01" + told
    return b""


def _text(text: str) -> bytes:
    """A string as `WritableUtils.writeString` writes it."""
    raw = text.encode()
    return len(raw).to_bytes(4, "big") + raw
