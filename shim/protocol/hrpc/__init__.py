"""Hadoop RPC version 9, sans-IO: both ends of a connection as automata over bytes.

`ServerConnection` and `ClientConnection` take what was read and tell events; what they want sent piles up in
`data_to_send`. Authentication is SIMPLE, TOKEN (DIGEST-MD5 with every quality of protection) or any `SASLSession`.
Values whose names end in `_untrusted` came from the peer and were not checked. Imports no socket, clock or random
source: nonces and client ids are arguments.
"""

from shim.protocol.hrpc.client import ClientConnection, ClientState, UserIdentity
from shim.protocol.hrpc.dispatch import method_of, request_of
from shim.protocol.hrpc.envelopes import CallerContext, HadoopAnswer, HadoopCall, HadoopRequest
from shim.protocol.hrpc.errors import Failure, FatalRPCError, JavaClass
from shim.protocol.hrpc.events import (
    AnswerReceived,
    CallReceived,
    ClientEvent,
    ConnectionEnded,
    ContextReceived,
    Established,
    LoginProven,
    PingReceived,
    SASLReceived,
    ServerEvent,
)
from shim.protocol.hrpc.framing import DEFAULT_MAX_FRAME_BYTES, FrameBuffer
from shim.protocol.hrpc.headers import AuthMethod, RPCErrorCode, RPCStatus, SASLState
from shim.protocol.hrpc.negotiation import SIMPLE_OFFER, SASLAcceptor, SASLInitiator, SASLOffer
from shim.protocol.hrpc.sasl import QualityOfProtection, SASLError, SASLSession
from shim.protocol.hrpc.server import ServerConnection
from shim.protocol.hrpc.server_states import ServerState

__all__ = [
    "DEFAULT_MAX_FRAME_BYTES",
    "SIMPLE_OFFER",
    "AnswerReceived",
    "AuthMethod",
    "CallReceived",
    "CallerContext",
    "ClientConnection",
    "ClientEvent",
    "ClientState",
    "ConnectionEnded",
    "ContextReceived",
    "Established",
    "Failure",
    "FatalRPCError",
    "FrameBuffer",
    "HadoopAnswer",
    "HadoopCall",
    "HadoopRequest",
    "JavaClass",
    "LoginProven",
    "PingReceived",
    "QualityOfProtection",
    "RPCErrorCode",
    "RPCStatus",
    "SASLAcceptor",
    "SASLError",
    "SASLInitiator",
    "SASLOffer",
    "SASLReceived",
    "SASLSession",
    "SASLState",
    "ServerConnection",
    "ServerEvent",
    "ServerState",
    "UserIdentity",
    "method_of",
    "request_of",
]
