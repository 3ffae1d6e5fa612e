"""Delegation tokens as web services write them: Hadoop's own serialization in the letters that a URL may have.

    length of the identifier, identifier, length of the password, password, length of the kind, kind, of the service

Each length is a variable-length integer: one byte up to 127, else a byte that tells how many bytes follow.

Source: `org.apache.hadoop.security.token.Token.encodeToUrlString`, `org.apache.hadoop.io.WritableUtils.readVLong`.
"""

import base64
import binascii

from shim.errors import UserError
from shim.protocol.proto.messages import TokenProto

_LONGEST = 16 * 1024  # characters; an identifier has at most 4,096 bytes
_LARGEST_IN_ONE_BYTE = 127
_LENGTH_OF_NONE = 0x90  # 0x8F tells one byte, 0x8E two, ...
_MOST_LENGTH_BYTES = 4


class TokenStringError(UserError):
    """A text that is no delegation token."""

    http_status = 403
    java_class = "org.apache.hadoop.security.authentication.client.AuthenticationException"


def encode_token(token: TokenProto) -> str:
    parts = (token.identifier, token.password, token.kind.encode(), token.service.encode())
    return base64.urlsafe_b64encode(b"".join(_sized(part) for part in parts)).rstrip(b"=").decode()


def decode_token(text_untrusted: str) -> TokenProto:
    """The token of a text; whether it is good is not looked at.

    Raises:
        TokenStringError: It is none.
    """
    if len(text_untrusted) > _LONGEST:
        raise TokenStringError("the delegation token is too long to be one")
    try:
        letters = text_untrusted.strip().rstrip("=").encode("ascii")
        data = base64.b64decode(letters + b"=" * (-len(letters) % 4), altchars=b"-_", validate=True)
        parts, rest = [], data
        for _ in range(4):
            part, rest = _first_part(rest)
            parts.append(part)
        identifier, password, kind, service = parts
        if rest:
            raise TokenStringError("the delegation token has something behind its end")
        return TokenProto(identifier=identifier, password=password, kind=kind.decode(), service=service.decode())
    except (binascii.Error, UnicodeError, IndexError) as exc:
        raise TokenStringError("the delegation token cannot be read") from exc


def _sized(part: bytes) -> bytes:
    length = len(part)
    if length <= _LARGEST_IN_ONE_BYTE:
        return bytes([length]) + part
    digits = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([_LENGTH_OF_NONE - len(digits)]) + digits + part


def _first_part(data: bytes) -> tuple[bytes, bytes]:
    first = data[0]
    if first <= _LARGEST_IN_ONE_BYTE:
        length, begin = first, 1
    else:
        count = _LENGTH_OF_NONE - first
        if not 0 < count <= _MOST_LENGTH_BYTES:
            raise TokenStringError("the delegation token has a part of a negative or huge length")
        length, begin = int.from_bytes(data[1 : 1 + count], "big"), 1 + count
    if len(data) < begin + length:
        raise TokenStringError("the delegation token is cut")
    return data[begin : begin + length], data[begin + length :]
