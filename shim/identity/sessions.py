"""Sealed cookies: the session of a browser that logged in at an identity provider, and a login that it has begun.

What is in one can be neither read nor changed outside (AES-256-GCM, with a key made of the secret), and one kind is
not taken for the other. A session is good until its end, at every Heddle that has the secret. A logout ends it at this
Heddle alone: those that ended are remembered here until they would have. A login that was begun is good once, for the
browser that began it: a cookie that somebody plants in another's browser would make that one somebody else.
"""

import base64
import binascii
import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from shim.ports.clock import Clock
from shim.ports.identity_provider import LoginAttempt

_KEY_BYTES, _NONCE_BYTES, _ID_BYTES, _SECRET_BYTES = 32, 12, 16, 32
_SESSION, _ATTEMPT = b"heddle session of a browser", b"heddle login that was begun"
_LONGEST = 4096
_ATTEMPT_S = 600.0
_MOST_ENDED = 10_000

T = TypeVar("T", bound="_Sealed")


class _Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """Members of every sealed cookie."""

    until_s: float


class BrowserSession(_Sealed, frozen=True, kw_only=True):
    """A browser that logged in."""

    id: str
    user: str
    groups: frozenset[str]


class _Attempt(_Sealed, frozen=True, kw_only=True):
    attempt: LoginAttempt
    browser: str


class Sessions:
    """Begins sessions and logins, and reads the cookies in which browsers keep them.

    Args:
        secret: Of the configuration, 32 bytes or more.
        random_bytes: So many bytes that nobody can guess.
    """

    def __init__(
        self,
        secret: bytes,
        clock: Clock,
        random_bytes: Callable[[int], bytes],
        *,
        lasts_s: float,
        other_secrets: Sequence[bytes] = (),
    ) -> None:
        self._clock = clock
        self._random_bytes = random_bytes
        self._lasts_s = lasts_s
        secrets = (secret, *other_secrets)
        self._ciphers = {kind: [_cipher(each, kind) for each in secrets] for kind in (_SESSION, _ATTEMPT)}
        self._ended: OrderedDict[str, float] = OrderedDict()
        self._used: OrderedDict[str, float] = OrderedDict()

    # -- sessions ----------------------------------------------------------------------------------------------------

    def begin(self, user: str, groups: frozenset[str]) -> str:
        """The text of a cookie for a user who has proven who he is."""
        id_ = self._random_bytes(_ID_BYTES).hex()
        until_s = self._clock.now_s() + self._lasts_s
        return self._seal(_SESSION, BrowserSession(id=id_, user=user, groups=groups, until_s=until_s))

    def find(self, text_untrusted: str) -> BrowserSession | None:
        """The session of a cookie; None if it is forged, over, or none."""
        found = self._open(_SESSION, text_untrusted, BrowserSession)
        return None if found is None or found.id in self._ended else found

    def end(self, session: BrowserSession) -> None:
        self._keep(self._ended, session.id, session.until_s)

    def _keep(self, over: OrderedDict[str, float], id_: str, until_s: float) -> None:
        """Remember what is good no more until it would have ended by itself."""
        now_s = self._clock.now_s()
        for each in [each for each, ends_s in over.items() if ends_s <= now_s]:
            del over[each]
        over[id_] = until_s
        if len(over) > _MOST_ENDED:
            over.popitem(last=False)

    # -- logins ------------------------------------------------------------------------------------------------------

    def attempt(self, back_to: str, *, browser: str = "") -> tuple[LoginAttempt, str]:
        """A login that begins, and the text of a cookie that is good for ten minutes of it."""
        state, nonce, verifier = (_text(self._random_bytes(_SECRET_BYTES)) for _ in range(3))
        attempt = LoginAttempt(state, nonce, verifier, back_to)
        sealed = _Attempt(attempt=attempt, browser=_digest(browser), until_s=self._clock.now_s() + _ATTEMPT_S)
        return attempt, self._seal(_ATTEMPT, sealed)

    def find_attempt(self, text_untrusted: str, *, browser: str = "") -> LoginAttempt | None:
        """The login of a cookie; None if it is forged, too old, another browser's, or none."""
        found = self._open(_ATTEMPT, text_untrusted, _Attempt)
        is_its = found is not None and hmac.compare_digest(found.browser, _digest(browser))
        return found.attempt if found is not None and is_its else None

    def use(self, attempt: LoginAttempt) -> bool:
        """Use up a login at this Heddle; False if it was before."""
        is_first = attempt.state not in self._used
        self._keep(self._used, attempt.state, self._clock.now_s() + _ATTEMPT_S)
        return is_first

    # -- seals -------------------------------------------------------------------------------------------------------

    def _seal(self, kind: bytes, value: _Sealed) -> str:
        nonce = self._random_bytes(_NONCE_BYTES)
        return _text(nonce + self._ciphers[kind][0].encrypt(nonce, msgspec.json.encode(value), kind))

    def _open(self, kind: bytes, text_untrusted: str, type_: type[T]) -> T | None:
        if len(text_untrusted) > _LONGEST:
            return None
        try:
            sealed = base64.urlsafe_b64decode(text_untrusted + "=" * (-len(text_untrusted) % 4))
        except (binascii.Error, ValueError):
            return None
        for cipher in self._ciphers[kind]:
            try:
                opened = cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], kind)
                value = msgspec.json.decode(opened, type=type_)
            except (InvalidTag, ValueError):
                continue
            return value if value.until_s > self._clock.now_s() else None
        return None


def _cipher(secret: bytes, kind: bytes) -> AESGCM:
    return AESGCM(HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=kind).derive(secret))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
