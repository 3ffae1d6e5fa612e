"""Secrets in the database, readable only with the key of the configuration.

AES-256-GCM with a random nonce; the key is derived from `security.secret_file`. What is sealed for one row opens for
that row alone: a token copied to another application's row does not open.

Submission contexts in the store: they hold delegation tokens and environments, so they are sealed.

A context is kept until its application is final, because a home that forgets an application is sent it again. What an
older Heddle stored in clear is read as it is.
"""

import os
from collections.abc import Sequence
from dataclasses import replace

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from shim.domain.ids import ApplicationId
from shim.domain.submissions import SubmissionRecord
from shim.errors import StoreUnavailableError

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


_MARK = b"\0hs1"  # a context begins with neither: JSON and XML are text, and protobuf has no field of number zero
_BODIES_PURPOSE = b"heddle: submission contexts"


class SealedBodies:
    """Seals the body of a record on its way into the store, and opens it on the way out.

    Args:
        secrets: The first seals, any of them opens; with none, bodies stay in clear.
    """

    def __init__(self, secrets: Sequence[bytes]) -> None:
        self._sealer = _sealer(secrets) if secrets else None

    @property
    def is_sealing(self) -> bool:
        return self._sealer is not None

    def sealed(self, record: SubmissionRecord) -> SubmissionRecord:
        body = record.submission.body
        if self._sealer is None or not body or body.startswith(_MARK):
            return record
        return _with_body(record, _MARK + self._sealer.seal(body, _place_of(record)))

    def opened(self, record: SubmissionRecord) -> SubmissionRecord:
        """The record as it was sealed; its body is empty where no key opens it.

        A record with an empty body can be asked for, and not sent again. One such record keeps no other from repair.
        """
        body = record.submission.body
        if not body.startswith(_MARK):
            return record
        try:
            opened = b"" if self._sealer is None else self._sealer.open(body.removeprefix(_MARK), _place_of(record))
        except StoreUnavailableError:
            opened = b""
        return _with_body(record, opened)


def resealed_body(body: bytes, secrets: Sequence[bytes], *, application_id: ApplicationId, user: str) -> bytes:
    """A body as it is stored, sealed with the first of the secrets; the same if it is already.

    Raises:
        StoreUnavailableError: If no secret opens it.
    """
    sealer, place = _sealer(secrets), _place(application_id, user)
    if not body.startswith(_MARK):
        return _MARK + sealer.seal(body, place) if body else body
    sealed = body.removeprefix(_MARK)
    return body if sealer.is_newest(sealed, place) else _MARK + sealer.seal(sealer.open(sealed, place), place)


def _sealer(secrets: Sequence[bytes]) -> Sealer:
    return Sealer(secrets[0], purpose=_BODIES_PURPOSE, others=secrets[1:])


def _place_of(record: SubmissionRecord) -> str:
    return _place(record.submission.application_id, record.submission.user)


def _place(application_id: ApplicationId, user: str) -> str:
    return f"submission {application_id} {user}"


def _with_body(record: SubmissionRecord, body: bytes) -> SubmissionRecord:
    return replace(record, submission=replace(record.submission, body=body))
