"""Names and numbers of Hadoop RPC version 9: the connection header, reserved call ids, states, statuses.

Source: `org.apache.hadoop.ipc.{RpcConstants,Server.AuthProtocol}`, `SaslRpcServer.AuthMethod`, `RpcHeader`.
"""

from dataclasses import dataclass
from enum import Enum, IntEnum

IPC_VERSION = 9
HEADER_BYTES = 7
INVALID_RETRY_COUNT = -1

NO_CALL_ID = -1
"""Answers that belong to no call: refusals before a header could be read."""
CONNECTION_CONTEXT_CALL_ID = -3
PING_CALL_ID = -4
SASL_CALL_ID = -33

_MAGIC = b"hrpc"
_UINT32 = 1 << 32


class AuthProtocol(IntEnum):
    """Last byte of the connection header, as Java's signed byte."""

    NONE = 0
    SASL = -33


class AuthMethod(Enum):
    """Methods of authentication, with the SASL mechanism that carries each."""

    SIMPLE = ""
    KERBEROS = "GSSAPI"
    TOKEN = "DIGEST-MD5"  # noqa: S105 - a mechanism, no password

    @property
    def mechanism(self) -> str:
        """Name of the SASL mechanism; empty for SIMPLE, which has none."""
        return self.value


class RPCKind(IntEnum):
    """Engines that serialize calls. YARN uses PROTOCOL_BUFFER; ProtobufRpcEngine and its successor look the same."""

    BUILTIN = 0
    WRITABLE = 1
    PROTOCOL_BUFFER = 2


class RPCStatus(IntEnum):
    """Outcomes of an answer. After FATAL the connection is closed."""

    SUCCESS = 0
    ERROR = 1
    FATAL = 2


class RPCErrorCode(IntEnum):
    """`RpcErrorCodeProto`: what kind of failure an answer tells."""

    APPLICATION = 1
    NO_SUCH_METHOD = 2
    NO_SUCH_PROTOCOL = 3
    RPC_SERVER = 4
    SERIALIZING_RESPONSE = 5
    RPC_VERSION_MISMATCH = 6
    UNKNOWN = 10
    UNSUPPORTED_SERIALIZATION = 11
    INVALID_RPC_HEADER = 12
    DESERIALIZING_REQUEST = 13
    VERSION_MISMATCH = 14
    UNAUTHORIZED = 15


class SASLState(IntEnum):
    """`RpcSaslProto.SaslState`."""

    SUCCESS = 0
    NEGOTIATE = 1
    INITIATE = 2
    CHALLENGE = 3
    RESPONSE = 4
    WRAP = 5


@dataclass(frozen=True, slots=True)
class ConnectionHeader:
    """The first seven bytes of a connection: `hrpc`, version, service class, authentication protocol.

    Attributes:
        magic: `b"hrpc"` from a Hadoop client; anything else is another protocol.
        version: int8.
        service_class: int8; servers store it and do nothing with it.
        auth_protocol: int8; see `AuthProtocol`.
    """

    magic: bytes = _MAGIC
    version: int = IPC_VERSION
    service_class: int = 0
    auth_protocol: int = AuthProtocol.NONE

    @property
    def is_hadoop(self) -> bool:
        """Return whether the peer speaks Hadoop RPC at all."""
        return self.magic == _MAGIC

    @classmethod
    def parse(cls, data_untrusted: bytes) -> "ConnectionHeader":
        """Read `HEADER_BYTES` bytes; nothing is judged here."""
        magic, numbers = data_untrusted[:4], data_untrusted[4:HEADER_BYTES]
        version, service_class, auth_protocol = (number - 256 if number > 127 else number for number in numbers)  # noqa: PLR2004 - int8
        return cls(magic, version, service_class, auth_protocol)

    def serialize(self) -> bytes:
        """The seven bytes."""
        return self.magic + bytes(number & 0xFF for number in (self.version, self.service_class, self.auth_protocol))


def unsigned_call_id(call_id: int) -> int:
    """As answers carry it: requests hold a call id as sint32, answers as uint32."""
    return call_id % _UINT32


def signed_call_id(call_id_untrusted: int) -> int:
    """As requests carry it, of what an answer holds."""
    return call_id_untrusted - _UINT32 if call_id_untrusted >= _UINT32 // 2 else call_id_untrusted
