"""Last words of a server to peers that never became clients: wrong protocol, wrong version, HTTP.

Source: `org.apache.hadoop.ipc.Server.Connection.{setupBadVersionResponse,setupHttpRequestOnIpcPortResponse,
initializeAuthContext}`.
"""

from shim.protocol.hrpc.envelopes import encode_failure
from shim.protocol.hrpc.errors import Failure, JavaClass
from shim.protocol.hrpc.headers import IPC_VERSION, AuthProtocol, ConnectionHeader, RPCErrorCode, RPCStatus

__all__ = ["refusal_of_header"]

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
