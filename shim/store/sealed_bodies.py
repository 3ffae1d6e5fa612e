"""Submission contexts in the store: they hold delegation tokens and environments, so they are sealed.

A context is kept until its application is final, because a home that forgets an application is sent it again. What an
older Heddle stored in clear is read as it is.
"""

from collections.abc import Sequence
from dataclasses import replace

from shim.domain.submissions import SubmissionRecord
from shim.errors import StoreUnavailableError
from shim.store.sealing import Sealer

__all__ = ["SealedBodies"]

_MARK = b"\0hs1"  # a context begins with neither: JSON and XML are text, and protobuf has no field of number zero
_PURPOSE = b"heddle: submission contexts"


class SealedBodies:
    """Seals the body of a record on its way into the store, and opens it on the way out.

    Args:
        secrets: The first seals, any of them opens; with none, bodies stay in clear.
    """

    def __init__(self, secrets: Sequence[bytes]) -> None:
        self._sealers = [Sealer(secret, purpose=_PURPOSE) for secret in secrets]

    @property
    def is_sealing(self) -> bool:
        """Whether there is a key."""
        return bool(self._sealers)

    def sealed(self, record: SubmissionRecord) -> SubmissionRecord:
        """The record as it is stored."""
        body = record.submission.body
        if not self._sealers or not body or body.startswith(_MARK):
            return record
        return _with_body(record, _MARK + self._sealers[0].seal(body, _place(record)))

    def opened(self, record: SubmissionRecord) -> SubmissionRecord:
        """The record as it was sealed; its body is empty where no key opens it.

        A record with an empty body can be asked for, and not sent again. One such record keeps no other from repair.
        """
        body = record.submission.body
        if not body.startswith(_MARK):
            return record
        for sealer in self._sealers:
            try:
                return _with_body(record, sealer.open(body.removeprefix(_MARK), _place(record)))
            except StoreUnavailableError:
                continue
        return _with_body(record, b"")


def _place(record: SubmissionRecord) -> str:
    return f"submission {record.submission.application_id} {record.submission.user}"


def _with_body(record: SubmissionRecord, body: bytes) -> SubmissionRecord:
    return replace(record, submission=replace(record.submission, body=body))
