"""Secrets in the database, readable only with the key of the configuration.

AES-256-GCM with a random nonce; the key is derived from `security.secret_file`. What is sealed for one row opens for
that row alone: a token copied to another application's row does not open.
"""

import os

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
    """

    def __init__(self, secret: bytes, *, purpose: bytes = _PURPOSE) -> None:
        key = HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=purpose).derive(secret)
        self._cipher = AESGCM(key)

    def seal(self, plain: bytes, place: str) -> bytes:
        """Unreadable bytes, good at this place only; nothing stays nothing."""
        if not plain:
            return b""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plain, place.encode())

    def open(self, sealed: bytes, place: str) -> bytes:
        """What was sealed.

        Raises:
            StoreUnavailableError: If it was sealed with another secret, or changed.
        """
        if not sealed:
            return b""
        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place.encode())
        except (InvalidTag, ValueError) as exc:
            message = (
                f"what is sealed for {place} does not open: is security.secret_file the one that it was sealed with?"
            )
            raise StoreUnavailableError(message) from exc
