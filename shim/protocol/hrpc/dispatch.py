"""From a call to a method of a protocol, or to the failure that a Hadoop server tells.

Source: `org.apache.hadoop.ipc.ProtobufRpcEngine2.Server.ProtoBufRpcInvoker`.
"""

from collections.abc import Mapping

from google.protobuf.message import DecodeError, Message

from shim.protocol.hrpc.envelopes import TRUNCATED, Call
from shim.protocol.hrpc.errors import Failure, JavaClass
from shim.protocol.hrpc.headers import RPCErrorCode
from shim.protocol.proto import Method, RPCProtocol

__all__ = ["method_of", "request_of"]


def method_of(call: Call, protocols: Mapping[str, RPCProtocol]) -> Method | Failure:
    """The method that is called, among `protocols` by their names."""
    protocol = protocols.get(call.protocol)
    if protocol is None:
        text = f"Unknown protocol: {call.protocol}"
        return Failure(JavaClass.NO_SUCH_PROTOCOL, text, RPCErrorCode.NO_SUCH_PROTOCOL)
    if call.version != protocol.version:
        text = f"Protocol {call.protocol} version mismatch. (client = {call.version}, server = {protocol.version})"
        return Failure(JavaClass.VERSION_MISMATCH, text, RPCErrorCode.RPC_VERSION_MISMATCH)
    method = protocol.methods.get(call.method)
    if method is None:
        text = f"Unknown method {call.method} called on {call.protocol} protocol."
        return Failure(JavaClass.NO_SUCH_METHOD, text, RPCErrorCode.NO_SUCH_METHOD)
    return method


def request_of(call: Call, method: Method) -> Message | Failure:
    """The decoded request, fields that are unknown kept."""
    if call.payload_untrusted is None:
        return Failure(JavaClass.INVALID_PROTOCOL_BUFFER, TRUNCATED)
    try:
        request = method.request.FromString(call.payload_untrusted)
    except DecodeError:
        return Failure(JavaClass.INVALID_PROTOCOL_BUFFER, TRUNCATED)
    if not request.IsInitialized():
        missing = ", ".join(request.FindInitializationErrors())  # type: ignore[attr-defined]  # not in types-protobuf
        return Failure(JavaClass.INVALID_PROTOCOL_BUFFER, f"Message missing required fields: {missing}")
    return request
