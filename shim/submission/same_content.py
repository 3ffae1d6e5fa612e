"""Comparison of a submission under a known id with what was submitted before.

A digest is over the context as Heddle writes it. A newer Heddle may write the same context otherwise, so each digest
begins with the version of the writing. A repetition that comes after an upgrade is compared by meaning: both contexts
are read and written by the present rules. Where the old one is gone, as its application has ended, what the record
tells of it is compared.
"""

import hashlib
from dataclasses import replace

from shim.domain.submissions import Submission, SubmissionRecord
from shim.errors import UserError
from shim.protocol.rest import submission_context
from shim.protocol.yarn import submissions as rpc_context
from shim.protocol.yarn.submissions import RPC_SUBMISSION

__all__ = ["CONTENT_VERSION", "content_hash", "is_same_content"]

CONTENT_VERSION = 2
"""Raised when the same context is written otherwise than before. Digests of version 1 have no version before them."""

_LENGTH = 1 + hashlib.sha256().digest_size


def content_hash(submission: Submission) -> bytes:
    """The version of the writing, and SHA-256 of the context and its representation."""
    text = submission.content_type.encode() + b"\0" + submission.body
    return bytes([CONTENT_VERSION]) + hashlib.sha256(text).digest()


def is_same_content(record: SubmissionRecord, wanted: Submission, digest: bytes) -> bool:
    """True if a submission repeats a record; users are compared by the caller.

    Args:
        record: What is in the store.
        wanted: As the client sent it, before its queue was mapped.
        digest: `content_hash` of `wanted`.
    """
    if record.content_hash == digest:
        return True
    if len(record.content_hash) == _LENGTH and record.content_hash[0] == CONTENT_VERSION:
        return False
    if record.submission.content_type != wanted.content_type:
        return False
    if not record.submission.body:
        return _as_told(record.submission) == _as_told(wanted)
    try:
        return _as_written_now(record.submission) == _as_written_now(wanted)
    except UserError:
        return False  # what cannot be read any more cannot have been sent again


def _as_told(submission: Submission) -> Submission:
    """The part of a submission that a record keeps for good; not the queue, which may have been mapped."""
    return replace(submission, queue="", body=b"")


def _as_written_now(submission: Submission) -> bytes:
    """The context by the present rules, without its queue: that of the record is the one it was mapped to."""
    if submission.content_type == RPC_SUBMISSION:
        return rpc_context.canonical(submission.body)
    return submission_context.canonical(submission.body, media_type=submission.content_type)
