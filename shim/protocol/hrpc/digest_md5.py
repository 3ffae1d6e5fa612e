"""DIGEST-MD5, the mechanism of Hadoop's tokens, both sides.

Hadoop's use of it: user name and password are the base64 of a token's identifier and password, the realm is `default`,
the digest-uri is `/default`; no host, port or address enters the digest.

Source: RFC 2831; `org.apache.hadoop.security.SaslRpcServer`; wording of failures as Java servers send it.

Security layers of DIGEST-MD5: `auth-int` (a MAC) and `auth-conf` with RC4.

    auth-int   message, MAC[0..9], 0x0001, sequence number
    auth-conf  RC4(message, MAC[0..9]), 0x0001, sequence number     RC4 goes on from message to message

Source: RFC 2831 sections 2.3 and 2.4. The block ciphers (3des, des) of the RFC are neither offered nor taken.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
from cryptography.hazmat.primitives.ciphers import Cipher

from shim.protocol.hrpc.sasl import QualityOfProtection, SASLError

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
        return data

    def unwrap(self, data_untrusted: bytes) -> bytes:
        return data_untrusted

    def unwrap_steps(self, data_untrusted: bytes) -> Generator[None, None, bytes]:
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


SecretLookup = Callable[[bytes], bytes]
"""From a token's identifier to its password; raises `SASLError` with class INVALID_TOKEN for one that is not good."""

NONCE_BYTES = 30
"""Of entropy, as Java takes; 40 characters in base64."""

_REALM = "default"
_URI = "/default"
_FIRST_USE = "00000001"
_MAX_BUFFER = 65536
_MAX_CHALLENGE_BYTES = 2048
_MAX_RESPONSE_BYTES = 4096
_VIOLATION = "DIGEST-MD5: digest response format violation. "
_NO_BODY = ":" + "0" * 32
_COMMA = ord(",")
_BLANKS = re.compile(rb"[ \t\r\n]*")
"""Linear white space of RFC 2831, and no more: to Java a form feed is part of a name."""
_DIRECTIVE = re.compile(
    rb"([!#-\'*+.0-9A-Z^_`a-z|~-]{1,64})[ \t\r\n]*=[ \t\r\n]*"
    rb'(?:"((?:[^"\\\x00-\x1f\x7f]|\\[^\x00-\x1f\x7f])*+)"|([!#-\'*+./0-:A-Z^_`a-z|~-]+))[ \t\r\n]*'
)
"""A token, and a quoted string or a token; digests and numbers are tokens, too."""
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MAY_REPEAT = frozenset({"realm"})
"""In a challenge; nothing may stand twice in a response."""
_PLAIN: Mapping[str, re.Pattern[str]] = {
    "charset": re.compile(r"utf-8", re.IGNORECASE),
    "nc": re.compile(r"[0-9a-fA-F]{8}"),
    "maxbuf": re.compile(r"[0-9]{1,9}"),
    "response": re.compile(r"[0-9a-f]{32}"),
    "qop": re.compile(r"auth(-int|-conf)?"),
    "cipher": re.compile(r"[0-9a-z-]{1,16}"),
}
"""Forms of what a response writes without quotes, but for the cipher, which Java quotes."""
_WRITTEN = (
    "charset",
    "username",
    "realm",
    "nonce",
    "nc",
    "cnonce",
    "digest-uri",
    "maxbuf",
    "response",
    "qop",
    "cipher",
)
"""Directives of a response, in the order in which Java's client writes them. It never writes `authzid`."""


@dataclass(frozen=True, slots=True)
class TokenSecret:
    """A token, as far as authentication needs it."""

    identifier: bytes
    password: bytes

    def __repr__(self) -> str:
        return "TokenSecret(...)"


@dataclass(frozen=True, slots=True)
class ReadResponse:
    """A response as it was understood; nothing is proven by it.

    Attributes:
        identifier_untrusted: The token identifier that it claims.
        anew: The response with what was understood and nothing else, for the server that checks the proof: a server
            that reads by other rules finds nothing in it that was not read here.
    """

    identifier_untrusted: bytes
    quality: QualityOfProtection
    anew: bytes


def read_response(response_untrusted: bytes) -> ReadResponse:
    """Read a response that another server will check.

    Raises:
        SASLError: If it cannot be read to its end, or names no token.
    """
    said = _said(response_untrusted)
    identifier = _identifier(said["username"])
    quality = QualityOfProtection(said.get("qop", QualityOfProtection.AUTH.value))
    anew = ",".join(_written(name, said[name]) for name in _WRITTEN if name in said)
    return ReadResponse(identifier, quality, anew.encode())


class DigestMD5Server:
    """The side that holds, or can ask for, the tokens' passwords.

    Args:
        lookup: Password of a token.
        nonce: Random, never used twice; `NONCE_BYTES` of entropy in base64.
        others: Further passwords that the token may have: there are two while a secret is changed for another.
    """

    def __init__(
        self,
        lookup: SecretLookup,
        nonce: str,
        qualities: Sequence[QualityOfProtection] = (QualityOfProtection.AUTH,),
        *,
        others: Callable[[bytes], Sequence[bytes]] = lambda _: (),
    ) -> None:
        self._lookup = lookup
        self._others = others
        self._nonce = nonce
        self._qualities = tuple(qualities)
        self._layer: SecurityLayer = ClearLayer()
        self.quality = QualityOfProtection.AUTH
        self.identity = ""
        self.is_complete = False

    def _challenge(self) -> bytes:
        offered = ",".join(self._qualities)
        cipher = f',cipher="{",".join(CIPHER_KEY_BYTES)}"' if QualityOfProtection.AUTH_CONF in self._qualities else ""
        text = f'realm="{_REALM}",nonce="{self._nonce}",qop="{offered}",charset=utf-8{cipher},algorithm=md5-sess'
        return text.encode()

    def step(self, token_untrusted: bytes) -> bytes:
        """Challenge on an empty token; else verify the response, and prove that this side knows the password too."""
        if not token_untrusted:
            return self._challenge()
        if self.is_complete:
            raise SASLError("DIGEST-MD5: authentication is already complete")
        said = _said(token_untrusted)
        quality, cipher = self._check(said)
        identifier = _identifier(said["username"])
        digest = self._matching(said, (self._lookup(identifier), *self._others(identifier)), quality)
        self._layer = _layer(quality, cipher, digest.hash_a1, is_server=True)
        self.quality, self.identity, self.is_complete = quality, said["username"], True
        return b"rspauth=" + digest.proof()

    def _matching(self, said: Mapping[str, str], passwords: Sequence[bytes], quality: QualityOfProtection) -> "_Digest":
        for password in passwords:
            digest = _Digest.of(said, password, quality)
            if hmac.compare_digest(said["response"].encode(), digest.response()):
                return digest
        raise SASLError(f"{_VIOLATION}Mismatched response.")

    def _check(self, said: Mapping[str, str]) -> tuple[QualityOfProtection, str]:
        """Check what a Java server checks before it looks at the digest, in its order."""
        for wrong, problem in (
            (said.get("realm", "") != _REALM, f"Nonexistent realm: {said.get('realm', '')}"),
            ("nonce" not in said, "Missing nonce."),
            (said.get("nonce") != self._nonce, "Mismatched nonce."),
            (said.get("nc") != _FIRST_USE, "Nonce count does not match."),
            ("cnonce" not in said, "Missing cnonce."),
            (said.get("qop", "auth") not in self._qualities, f"Mismatched qop: {said.get('qop', 'auth')}"),
            ("digest-uri" not in said, "Missing digest URI"),
            (
                said.get("digest-uri", "").lower() != _URI,
                f"Mismatched URI: {said.get('digest-uri')}; expecting: {_URI}",
            ),
            ("response" not in said, "Missing response."),
        ):
            if wrong:
                raise SASLError(_VIOLATION + problem)
        quality, cipher = QualityOfProtection(said.get("qop", "auth")), said.get("cipher", "rc4")
        if quality is QualityOfProtection.AUTH_CONF and cipher not in CIPHER_KEY_BYTES:
            raise SASLError(f"{_VIOLATION}Mismatched cipher: {cipher}")
        return quality, cipher

    def wrap(self, data: bytes) -> bytes:
        return self._layer.wrap(data)

    def unwrap(self, data_untrusted: bytes) -> bytes:
        return self._layer.unwrap(data_untrusted)

    def unwrap_steps(self, data_untrusted: bytes) -> Generator[None, None, bytes]:
        return self._layer.unwrap_steps(data_untrusted)


class DigestMD5Client:
    """The side that holds one token.

    Args:
        cnonce: Random, never used twice.
    """

    def __init__(
        self,
        secret: TokenSecret,
        cnonce: str,
        qualities: Sequence[QualityOfProtection] = (QualityOfProtection.AUTH,),
    ) -> None:
        self._secret = secret
        self._cnonce = cnonce
        self._qualities = tuple(qualities)
        self._layer: SecurityLayer = ClearLayer()
        self._proof: bytes | None = None
        self.quality = QualityOfProtection.AUTH
        self.identity = base64.b64encode(secret.identifier).decode()
        self.is_complete = False

    def step(self, token_untrusted: bytes) -> bytes:
        """Answer the challenge, then verify that the server knows the password too."""
        if self._proof is None:
            return self._respond(_parse(token_untrusted, _MAX_CHALLENGE_BYTES, may_repeat=_MAY_REPEAT))
        if not hmac.compare_digest(token_untrusted, b"rspauth=" + self._proof):
            raise SASLError("DIGEST-MD5: the server could not prove that it knows the token's password")
        self.is_complete = True
        return b""

    def _respond(self, offer: Mapping[str, str]) -> bytes:
        if offer.get("algorithm") != "md5-sess" or "nonce" not in offer:
            raise SASLError("DIGEST-MD5: the challenge has no nonce, or another algorithm than md5-sess")
        quality, cipher = self._choose(offer)
        said = {
            "charset": "utf-8",
            "username": self.identity,
            "realm": offer.get("realm", _REALM),
            "nonce": offer["nonce"],
            "nc": _FIRST_USE,
            "cnonce": self._cnonce,
            "digest-uri": _URI,
            "maxbuf": str(_MAX_BUFFER),
        }
        digest = _Digest.of(said, self._secret.password, quality)
        said |= {"response": digest.response().decode(), "qop": quality.value}
        if quality is QualityOfProtection.AUTH_CONF:
            said["cipher"] = cipher
        self._proof = digest.proof()
        self._layer = _layer(quality, cipher, digest.hash_a1, is_server=False)
        self.quality = quality
        return ",".join(_written(name, value) for name, value in said.items()).encode()

    def _choose(self, offer: Mapping[str, str]) -> tuple[QualityOfProtection, str]:
        """The first quality of our own list that the server offers, and the strongest common cipher."""
        offered = _listed(offer.get("qop", "auth"))
        ciphers = _listed(offer.get("cipher", ""))
        cipher = next((known for known in CIPHER_KEY_BYTES if known in ciphers), None)
        for quality in self._qualities:
            if quality.value in offered and (quality is not QualityOfProtection.AUTH_CONF or cipher is not None):
                return quality, cipher or "rc4"
        raise SASLError(
            f"DIGEST-MD5: no common protection level between client and server; it offers {sorted(offered)}"
        )

    def wrap(self, data: bytes) -> bytes:
        return self._layer.wrap(data)

    def unwrap(self, data_untrusted: bytes) -> bytes:
        return self._layer.unwrap(data_untrusted)

    def unwrap_steps(self, data_untrusted: bytes) -> Generator[None, None, bytes]:
        return self._layer.unwrap_steps(data_untrusted)


@dataclass(frozen=True, slots=True)
class _Digest:
    """The values of RFC 2831 section 2.1.2.1 for one exchange."""

    hash_a1: bytes
    between: str
    suffix: str

    @classmethod
    def of(cls, said: Mapping[str, str], password: bytes, quality: QualityOfProtection) -> "_Digest":
        secret = base64.b64encode(password).decode()
        user = _md5(f"{said['username']}:{said['realm']}:{secret}".encode())
        nonces = f":{said['nonce']}:{said['cnonce']}".encode()
        hash_a1 = _md5(user + nonces)
        between = f"{said['nonce']}:{said['nc']}:{said['cnonce']}:{quality.value}"
        return cls(hash_a1, between, f"{said['digest-uri']}{_NO_BODY if quality.has_layer else ''}")

    def response(self) -> bytes:
        return self._of("AUTHENTICATE:")

    def proof(self) -> bytes:
        return self._of(":")

    def _of(self, method: str) -> bytes:
        hash_a2 = _md5((method + self.suffix).encode()).hex()
        text = f"{self.hash_a1.hex()}:{self.between}:{hash_a2}"
        return _md5(text.encode()).hex().encode()


def _layer(quality: QualityOfProtection, cipher: str, hash_a1: bytes, *, is_server: bool) -> SecurityLayer:
    if quality is QualityOfProtection.AUTH:
        return ClearLayer()
    keys = SessionKeys.derive(hash_a1, is_server=is_server, cipher=cipher)
    return IntegrityLayer(keys) if quality is QualityOfProtection.AUTH_INT else ConfidentialityLayer(keys)


def _said(response_untrusted: bytes) -> dict[str, str]:
    directives = _parse(response_untrusted, _MAX_RESPONSE_BYTES, may_repeat=frozenset())
    if "authzid" in directives:
        raise SASLError(f"{_VIOLATION}A token acts for nobody else: authzid is not taken.")
    for name, form in _PLAIN.items():
        if name in directives and form.fullmatch(directives[name]) is None:
            raise SASLError(f"{_VIOLATION}Mismatched {name}: {directives[name][:64]}")
    if "username" not in directives:
        raise SASLError(f"{_VIOLATION}Missing username.")
    return directives


def _parse(text_untrusted: bytes, most: int, *, may_repeat: frozenset[str]) -> dict[str, str]:
    """Directives by lower-case name; of a list of realms the first. What is not understood to its end is refused."""
    if len(text_untrusted) > most:
        raise SASLError(f"{_VIOLATION}Length is {len(text_untrusted)}, more than {most}.")
    directives: dict[str, str] = {}
    at, end = _blanks_from(text_untrusted, 0), len(text_untrusted)
    is_separated = True
    while at < end:
        if text_untrusted[at] == _COMMA:
            at, is_separated = _blanks_from(text_untrusted, at + 1), True
            continue
        found = _DIRECTIVE.match(text_untrusted, at) if is_separated else None
        if found is None:
            here = f"It cannot be read from byte {at} on."  # in Java's words where it tells of what is missing by then
            raise SASLError(_VIOLATION + (here if "username" in directives else "Missing username."))
        name, value = found[1].decode("ascii").lower(), _value(found)
        if name in directives and name not in may_repeat:
            raise SASLError(f"{_VIOLATION}Directive {name} appears more than once.")
        directives.setdefault(name, value)
        at, is_separated = found.end(), False
    return directives


def _value(found: re.Match[bytes]) -> str:
    quoted, plain = found[2], found[3]
    try:
        return plain.decode("ascii") if quoted is None else _ESCAPED.sub(r"\1", quoted.decode())
    except UnicodeDecodeError:
        raise SASLError(f"{_VIOLATION}A value is not UTF-8.") from None


def _blanks_from(text: bytes, at: int) -> int:
    found = _BLANKS.match(text, at)
    return at if found is None else found.end()


def _written(name: str, value: str) -> str:
    """A directive as Java writes it: the others are never quoted."""
    if name not in {"username", "realm", "nonce", "cnonce", "digest-uri", "cipher"}:
        return f"{name}={value}"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{name}="{escaped}"'


def _listed(value: str) -> frozenset[str]:
    return frozenset(part.strip() for part in value.split(","))


def _identifier(username_untrusted: str) -> bytes:
    """Refuse what another decoder would take for other bytes, or only another decoder would take."""
    try:
        identifier = base64.b64decode(username_untrusted, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise SASLError("DIGEST-MD5: the user name is no token identifier in base64") from exc
    if base64.b64encode(identifier).decode() != username_untrusted:
        raise SASLError("DIGEST-MD5: the user name is no token identifier in base64, as it is written in one way alone")
    return identifier
