"""From a call to a method of a protocol, or to the failure that a Hadoop server tells.

Source: `org.apache.hadoop.ipc.ProtobufRpcEngine2.Server.ProtoBufRpcInvoker`.
"""

from collections.abc import Mapping

from google.protobuf.message import DecodeError, Message

from shim.protocol.hrpc.envelopes import TRUNCATED, HadoopCall
from shim.protocol.hrpc.errors import Failure, JavaClass
from shim.protocol.hrpc.headers import RPCErrorCode
from shim.protocol.proto import Method, RPCProtocol

_MOST_ITEMS = 30_000
"""Most entries of lists of messages in one request: an entry may have two bytes, and each costs a turn of a loop."""
_WORTH_COUNTING = 32 * 1024
_MOST_NAMED = 20


def method_of(call: HadoopCall, protocols: Mapping[str, RPCProtocol]) -> Method | Failure:
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


def request_of(call: HadoopCall, method: Method) -> Message | Failure:
    """The decoded request, fields that are unknown kept."""
    if call.payload_untrusted is None:
        return Failure(JavaClass.INVALID_PROTOCOL_BUFFER, TRUNCATED)
    try:
        request = method.request.FromString(call.payload_untrusted)
    except DecodeError:
        return Failure(JavaClass.INVALID_PROTOCOL_BUFFER, TRUNCATED)
    if len(call.payload_untrusted) > _WORTH_COUNTING and _items_in(request, _MOST_ITEMS) > _MOST_ITEMS:
        return Failure(JavaClass.INVALID_PROTOCOL_BUFFER, f"Message has more than {_MOST_ITEMS} items")
    if not request.IsInitialized():
        missing = ", ".join(request.FindInitializationErrors()[:_MOST_NAMED])  # type: ignore[attr-defined]  # not in types-protobuf
        return Failure(JavaClass.INVALID_PROTOCOL_BUFFER, f"Message missing required fields: {missing}")
    return request


def _items_in(message: Message, most: int) -> int:
    """Count the entries of a message's lists of messages, all levels together; counts little beyond `most`."""
    count = 0
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if isinstance(value, Message):
            count += _items_in(value, most - count)
        else:
            count += len(value)
            if count <= most:
                for item in value:
                    count += _items_in(item, most - count)
                    if count > most:
                        break
        if count > most:
            break
    return count
