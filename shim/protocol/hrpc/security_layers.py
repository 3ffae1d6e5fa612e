"""Security layers of DIGEST-MD5: `auth-int` (a MAC) and `auth-conf` with RC4.

    auth-int   message, MAC[0..9], 0x0001, sequence number
    auth-conf  RC4(message, MAC[0..9]), 0x0001, sequence number     RC4 goes on from message to message

Source: RFC 2831 sections 2.3 and 2.4. The block ciphers (3des, des) of the RFC are neither offered nor taken.
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Protocol

from shim.protocol.hrpc.sasl import SASLError

__all__ = ["CIPHER_KEY_BYTES", "ClearLayer", "ConfidentialityLayer", "IntegrityLayer", "SecurityLayer", "SessionKeys"]

CIPHER_KEY_BYTES = {"rc4": 16, "rc4-56": 7, "rc4-40": 5}
"""How many bytes of H(A1) go into the sealing keys, by cipher, strongest first."""

_SIGNING = b"Digest session key to %s signing key magic constant"
_SEALING = b"Digest H(A1) to %s sealing key magic constant"
_FROM_CLIENT, _FROM_SERVER = b"client-to-server", b"server-to-client"
_MAC_BYTES = 10
_TYPE = b"\x00\x01"
_TRAILER_BYTES = 6
_UINT32 = 1 << 32


class SecurityLayer(Protocol):
    """Protects both directions of a connection."""

    def wrap(self, data: bytes) -> bytes:
        """Protect what is sent."""
        ...

    def unwrap(self, data_untrusted: bytes) -> bytes:
        """Check and open what was received, or raise `SASLError`."""
        ...


class ClearLayer:
    """Quality of protection `auth`: bytes as they are."""

    def wrap(self, data: bytes) -> bytes:
        """The same bytes."""
        return data

    def unwrap(self, data_untrusted: bytes) -> bytes:
        """The same bytes."""
        return data_untrusted


@dataclass(frozen=True, slots=True)
class SessionKeys:
    """Keys of one session, out of H(A1), for the side that sends and the side that receives."""

    sign_out: bytes
    sign_in: bytes
    seal_out: bytes
    seal_in: bytes

    @classmethod
    def derive(cls, hash_a1: bytes, *, is_server: bool, cipher: str = "rc4") -> "SessionKeys":
        """Keys of one side; `cipher` matters to the sealing keys only."""
        out, into = (_FROM_SERVER, _FROM_CLIENT) if is_server else (_FROM_CLIENT, _FROM_SERVER)
        short = hash_a1[: CIPHER_KEY_BYTES[cipher]]
        return cls(
            _md5(hash_a1 + _SIGNING.replace(b"%s", out)),
            _md5(hash_a1 + _SIGNING.replace(b"%s", into)),
            _md5(short + _SEALING.replace(b"%s", out)),
            _md5(short + _SEALING.replace(b"%s", into)),
        )


class _Sequence:
    """MACs over messages and their sequence numbers, one direction."""

    __slots__ = ("_key", "_number")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._number = 0

    def next(self) -> bytes:
        number = self._number.to_bytes(4, "big")
        self._number = (self._number + 1) % _UINT32
        return number

    def mac(self, number: bytes, data: bytes) -> bytes:
        return hmac.digest(self._key, number + data, "md5")[:_MAC_BYTES]


class IntegrityLayer:
    """Quality of protection `auth-int`."""

    __slots__ = ("_into", "_out")

    def __init__(self, keys: SessionKeys) -> None:
        self._out = _Sequence(keys.sign_out)
        self._into = _Sequence(keys.sign_in)

    def wrap(self, data: bytes) -> bytes:
        """`data` with its MAC; nothing of nothing."""
        if not data:
            return b""
        number = self._out.next()
        return data + self._out.mac(number, data) + _TYPE + number

    def unwrap(self, data_untrusted: bytes) -> bytes:
        """The message, if its MAC and its place in the sequence are right."""
        if not data_untrusted:
            return b""
        body, number = _split(data_untrusted)
        return _verified(self._into, body, number)


class ConfidentialityLayer:
    """Quality of protection `auth-conf` with RC4 of any key length."""

    __slots__ = ("_cipher_in", "_cipher_out", "_into", "_out")

    def __init__(self, keys: SessionKeys) -> None:
        self._out = _Sequence(keys.sign_out)
        self._into = _Sequence(keys.sign_in)
        self._cipher_out = _RC4(keys.seal_out)
        self._cipher_in = _RC4(keys.seal_in)

    def wrap(self, data: bytes) -> bytes:
        """`data` and its MAC, encrypted; nothing of nothing."""
        if not data:
            return b""
        number = self._out.next()
        return self._cipher_out.apply(data + self._out.mac(number, data)) + _TYPE + number

    def unwrap(self, data_untrusted: bytes) -> bytes:
        """The message, if it decrypts to one with the right MAC and place in the sequence."""
        if not data_untrusted:
            return b""
        sealed, number = _split(data_untrusted)
        return _verified(self._into, self._cipher_in.apply(sealed), number)


def _split(data_untrusted: bytes) -> tuple[bytes, bytes]:
    """Body and sequence number of a protected message."""
    body, trailer = data_untrusted[:-_TRAILER_BYTES], data_untrusted[-_TRAILER_BYTES:]
    if len(body) < _MAC_BYTES or trailer[:2] != _TYPE:
        raise SASLError("DIGEST-MD5: a protected message is too short or of an unknown type")
    return body, trailer[2:]


def _verified(into: _Sequence, body: bytes, number: bytes) -> bytes:
    data, mac = body[:-_MAC_BYTES], body[-_MAC_BYTES:]
    expected = into.next()
    if number != expected:
        raise SASLError("DIGEST-MD5: Out of order sequencing of messages from the peer")
    if not hmac.compare_digest(mac, into.mac(expected, data)):
        raise SASLError("DIGEST-MD5: a protected message was changed on the way")
    return data


class _RC4:
    """The stream cipher that RFC 2831 asks for; it protects nothing by today's measure, but Hadoop's peers use it."""

    __slots__ = ("_i", "_j", "_state")

    def __init__(self, key: bytes) -> None:
        state = list(range(256))
        j = 0
        for i in range(256):
            j = (j + state[i] + key[i % len(key)]) & 0xFF
            state[i], state[j] = state[j], state[i]
        self._state = state
        self._i = self._j = 0

    def apply(self, data: bytes) -> bytes:
        state, i, j = self._state, self._i, self._j
        out = bytearray(data)
        for index, byte in enumerate(data):
            i = (i + 1) & 0xFF
            low = state[i]
            j = (j + low) & 0xFF
            high = state[j]
            state[i], state[j] = high, low
            out[index] = byte ^ state[(low + high) & 0xFF]
        self._i, self._j = i, j
        return bytes(out)


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()
