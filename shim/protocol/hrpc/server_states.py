"""What may come when on a server's side of a connection.

For each state and each kind of message: the next state, or the refusal that a Hadoop server sends before it hangs up.
Pings may come at any time.

    AWAITS_HEADER ──NONE──▶ AWAITS_CONTEXT ──context──▶ OPEN ⟲ calls
         │                       ▲ SIMPLE
         └─SASL──▶ NEGOTIATES ⟲ SASL
                        └─success─▶ AUTHENTICATED ──context──▶ OPEN_AUTHENTICATED ⟲ calls

Source: `org.apache.hadoop.ipc.Server.Connection`.
"""

from collections.abc import Mapping
from enum import Enum

from shim.protocol.hrpc.errors import Failure, JavaClass, fatal
from shim.protocol.hrpc.headers import RPCErrorCode
from shim.protocol.hrpc.negotiation import Outcome

__all__ = ["AFTER_NEGOTIATION", "NOT_WRAPPED", "NOT_WRAPPING", "SERVER_TABLE", "Received", "ServerState", "refused"]


class ServerState(Enum):
    """Where a connection stands."""

    AWAITS_HEADER = "awaits the header"
    NEGOTIATES = "negotiates"
    AWAITS_VERDICT = "has proven who it is, awaits the owner's verdict"
    AWAITS_CONTEXT = "awaits the context"
    AUTHENTICATED = "authenticated, awaits the context"
    OPEN = "open"
    OPEN_AUTHENTICATED = "open, authenticated"
    ENDED = "ended"


class Received(Enum):
    """Kinds of messages from a client, after the connection header."""

    SASL = "SASL message"
    WRAPPED = "wrapped frames"
    CONTEXT = "connection context"
    CALL = "call"


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

SERVER_TABLE: Mapping[ServerState, Mapping[Received, ServerState | Failure]] = {
    ServerState.NEGOTIATES: {
        Received.SASL: ServerState.NEGOTIATES,
        Received.WRAPPED: NOT_WRAPPING,
        Received.CONTEXT: _CONTEXT_TOO_EARLY,
        Received.CALL: _NO_CONTEXT,
    },
    ServerState.AWAITS_CONTEXT: {
        Received.SASL: _NO_SASL,
        Received.WRAPPED: _NO_SASL,
        Received.CONTEXT: ServerState.OPEN,
        Received.CALL: _NO_CONTEXT,
    },
    ServerState.AUTHENTICATED: {
        Received.SASL: _SASL_COMPLETE,
        Received.WRAPPED: ServerState.AUTHENTICATED,
        Received.CONTEXT: ServerState.OPEN_AUTHENTICATED,
        Received.CALL: _NO_CONTEXT,
    },
    ServerState.OPEN: {
        Received.SASL: _NO_SASL,
        Received.WRAPPED: _NO_SASL,
        Received.CONTEXT: _CONTEXT_TWICE,
        Received.CALL: ServerState.OPEN,
    },
    ServerState.OPEN_AUTHENTICATED: {
        Received.SASL: _SASL_COMPLETE,
        Received.WRAPPED: ServerState.OPEN_AUTHENTICATED,
        Received.CONTEXT: _CONTEXT_TWICE,
        Received.CALL: ServerState.OPEN_AUTHENTICATED,
    },
}
AFTER_NEGOTIATION: Mapping[Outcome, ServerState] = {
    Outcome.SIMPLE: ServerState.AWAITS_CONTEXT,
    Outcome.PROVEN: ServerState.AWAITS_VERDICT,
    Outcome.AUTHENTICATED: ServerState.AUTHENTICATED,
}
"""Where the end of a negotiation leads; any other outcome leaves the connection where it stands."""
