"""Security layers of DIGEST-MD5: `auth-int` (a MAC) and `auth-conf` with RC4.

    auth-int   message, MAC[0..9], 0x0001, sequence number
    auth-conf  RC4(message, MAC[0..9]), 0x0001, sequence number     RC4 goes on from message to message

Source: RFC 2831 sections 2.3 and 2.4. The block ciphers (3des, des) of the RFC are neither offered nor taken.
"""

import hashlib
import hmac
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Protocol

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
from cryptography.hazmat.primitives.ciphers import Cipher

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
_STEP_BYTES = 256 * 1024
"""Opened at a time: about a millisecond's work."""


class SecurityLayer(Protocol):
    """Protects both directions of a connection."""

    def wrap(self, data: bytes) -> bytes:
        """Protect what is sent."""
        ...

    def unwrap(self, data_untrusted: bytes) -> bytes:
        """Check and open what was received, or raise `SASLError`."""
        ...

    def unwrap_steps(self, data_untrusted: bytes) -> Generator[None, None, bytes]:
        """The same, pausing often."""
        ...


class ClearLayer:
    """Quality of protection `auth`: bytes as they are."""

    def wrap(self, data: bytes) -> bytes:
        """The same bytes."""
        return data

    def unwrap(self, data_untrusted: bytes) -> bytes:
        """The same bytes."""
        return data_untrusted

    def unwrap_steps(self, data_untrusted: bytes) -> Generator[None, None, bytes]:
        """The same bytes."""
        yield
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

    def begin_mac(self, number: bytes) -> "hmac.HMAC":
        return hmac.new(self._key, number, "md5")


class _Layer:
    """Common part of both layers: work on a message, and opening of large ones piece by piece."""

    __slots__ = ("_into", "_open", "_out", "_seal")

    def __init__(self, keys: SessionKeys, seal: "_Change", open_: "_Change") -> None:
        self._out = _Sequence(keys.sign_out)
        self._into = _Sequence(keys.sign_in)
        self._seal = seal
        self._open = open_

    def wrap(self, data: bytes) -> bytes:
        """`data` with its MAC, sealed; nothing of nothing."""
        if not data:
            return b""
        number = self._out.next()
        return self._seal(data + self._out.mac(number, data)) + _TYPE + number

    def unwrap(self, data_untrusted: bytes) -> bytes:
        """The message, if its MAC and its place in the sequence are right."""
        steps = self.unwrap_steps(data_untrusted)
        while True:
            try:
                next(steps)
            except StopIteration as opened:
                message: bytes = opened.value
                return message

    def unwrap_steps(self, data_untrusted: bytes) -> Generator[None, None, bytes]:
        """The same, pausing after each piece."""
        if not data_untrusted:
            return b""
        view = memoryview(data_untrusted)
        body, trailer = view[:-_TRAILER_BYTES], view[-_TRAILER_BYTES:]
        if len(body) < _MAC_BYTES or trailer[:2] != _TYPE:
            raise SASLError("DIGEST-MD5: a protected message is too short or of an unknown type")
        expected = self._into.next()
        if trailer[2:] != expected:
            raise SASLError("DIGEST-MD5: Out of order sequencing of messages from the peer")
        mac, opened = self._into.begin_mac(expected), bytearray()
        ends_at = len(body) - _MAC_BYTES
        for start in range(0, len(body), _STEP_BYTES):
            piece = self._open(body[start : start + _STEP_BYTES])
            opened += piece
            mac.update(memoryview(piece)[: max(0, ends_at - start)])
            yield
        if not hmac.compare_digest(opened[ends_at:], mac.digest()[:_MAC_BYTES]):
            raise SASLError("DIGEST-MD5: a protected message was changed on the way")
        del opened[ends_at:]
        return bytes(opened)


class IntegrityLayer(_Layer):
    """Quality of protection `auth-int`: a MAC behind each message."""

    __slots__ = ()

    def __init__(self, keys: SessionKeys) -> None:
        super().__init__(keys, bytes, bytes)


class ConfidentialityLayer(_Layer):
    """Quality of protection `auth-conf` with RC4 of any key length: message and MAC encrypted.

    Raises:
        SASLError: If the cryptographic library of this machine has no RC4.
    """

    __slots__ = ()

    def __init__(self, keys: SessionKeys) -> None:
        super().__init__(keys, _rc4(keys.seal_out), _rc4(keys.seal_in))


_Change = Callable[[bytes | memoryview], bytes]


def _rc4(key: bytes) -> _Change:
    """The stream cipher that RFC 2831 asks for; it protects nothing by today's measure, but Hadoop's peers use it."""
    try:
        return Cipher(ARC4(key), mode=None).encryptor().update
    except UnsupportedAlgorithm as exc:
        raise SASLError("DIGEST-MD5: this machine has no RC4, which privacy needs: offer integrity") from exc


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()
