"""Secrets in the database, readable only with the key of the configuration.

AES-256-GCM with a random nonce; the key is derived from `security.secret_file`. What is sealed for one row opens for
that row alone: a token copied to another application's row does not open.
"""

import os
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from shim.errors import StoreUnavailableError

__all__ = ["Sealer"]

_KEY_BYTES = 32
_NONCE_BYTES = 12
_PURPOSE = b"heddle: tokens of spanning applications"


class Sealer:
    """Seals and opens.

    Args:
        secret: Of the configuration; any length.
        purpose: Keys for different purposes are different.
        others: Secrets that open, too, and seal nothing: while one is changed for another there are two.
    """

    def __init__(self, secret: bytes, *, purpose: bytes = _PURPOSE, others: Sequence[bytes] = ()) -> None:
        self._cipher, *self._others = (_cipher(each, purpose) for each in (secret, *others))

    def seal(self, plain: bytes, place: str) -> bytes:
        """Unreadable bytes, good at this place only; nothing stays nothing."""
        if not plain:
            return b""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plain, place.encode())

    def open(self, sealed: bytes, place: str) -> bytes:
        """The sealed content.

        Raises:
            StoreUnavailableError: If it was sealed with another secret, or changed.
        """
        if not sealed:
            return b""
        for cipher in (self._cipher, *self._others):
            plain = _opened(cipher, sealed, place)
            if plain is not None:
                return plain
        raise StoreUnavailableError(
            f"what is sealed for {place} does not open: is security.secret_file the one that it was sealed with?"
        )

    def is_newest(self, sealed: bytes, place: str) -> bool:
        """True if the first secret opens it: the others are not needed for it."""
        return not sealed or _opened(self._cipher, sealed, place) is not None


def _cipher(secret: bytes, purpose: bytes) -> AESGCM:
    return AESGCM(HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=purpose).derive(secret))


def _opened(cipher: AESGCM, sealed: bytes, place: str) -> bytes | None:
    try:
        return cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place.encode())
    except (InvalidTag, ValueError):
        return None
