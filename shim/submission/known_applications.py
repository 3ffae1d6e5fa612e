"""Submissions of applications that are known already: the second try of a client, or an id that somebody else has.

Comparison of a submission under a known id with what was submitted before.

A digest is over the context as Heddle writes it. A newer Heddle may write the same context otherwise, so each digest
begins with the version of the writing. A repetition that comes after an upgrade is compared by meaning: both contexts
are read and written by the present rules. Where the old one is gone, as its application has ended, what the record
tells of it is compared.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from shim.domain.applications import ApplicationSummary
from shim.domain.ids import ApplicationId
from shim.domain.submissions import HomeDecision, Submission, SubmissionRecord, SubmissionState, differences
from shim.errors import (
    BadRequestError,
    ConflictError,
    NoUsableSubClusterError,
    ResourceRequestError,
    UnavailableError,
    UserError,
)
from shim.federation.core.federation_view import FederationView
from shim.ports.state_store import StateStore
from shim.protocol.rest import submission_context
from shim.protocol.yarn import submissions as rpc_context
from shim.protocol.yarn.submissions import RPC_SUBMISSION
from shim.submission.core.home_refusals import INVALID_RESOURCE
from shim.submission.entrance import Accepted
from shim.submission.lost_time import EarlierRun
from shim.submission.tools import Listing


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownApplications:
    """Answers to submissions whose id the view, the store or a cluster knows.

    Attributes:
        is_taken: Whether a home has acknowledged it to this process just now, though the store does not say so yet.
    """

    view: FederationView
    store: StateStore
    past: EarlierRun
    listing: Listing
    is_taken: Callable[[ApplicationId], bool]

    async def find(self, submission: Submission) -> Accepted | None:
        """The answer to an application that is known already; None if it is not.

        Raises:
            ConflictError: The id is known with another content or user.
            StoreError: The store does not say.
            UnavailableError: A cluster that may know it does not say. The same submission may be repeated.
        """
        document = self.view.applications.find(submission.application_id)
        if document is None:
            return await self._at_a_cluster(submission)
        record = await self.store.find(submission.application_id)
        if record is None:  # submitted to its sub-cluster directly, or before a restore
            return await self._without_record(submission, document.summary)
        if record.state is SubmissionState.REJECTED:
            return None
        known = self.as_known(record, submission, content_hash(submission))
        if not self.view.applications.is_synthetic(submission.application_id):
            # a record proves nothing where a restore brought it back and its id has gone to another application since
            _refuse_another(record.submission, document.summary)
        return known

    async def _without_record(self, submission: Submission, listed: ApplicationSummary) -> Accepted | None:
        """The answer to an application that a cluster was last seen to have, and the store has not.

        Nobody would bring it elsewhere if that cluster has lost it since: the cluster's word of now counts, not the
        view's of some seconds ago.

        Raises:
            UnavailableError: The cluster does not say, or has lost it and another one does not say.
        """
        if listed.state.is_final:
            return _repeated(submission, listed)
        application_id, home = submission.application_id, listed.home_subcluster
        sightings = await self.past.look_for([application_id])
        if application_id in sightings.found:
            return _repeated(submission, sightings.found[application_id].summary)
        if sightings.silent:
            raise UnavailableError(
                f"{application_id} was last seen at {home}, and {', '.join(sightings.silent)} does not say now who has"
                " it; repeat the submission"
            )
        return None if home in sightings.told else _repeated(submission, listed)

    async def _at_a_cluster(self, submission: Submission) -> Accepted | None:
        """The answer to a submission under an id that the store does not vouch for; clusters are asked by id.

        Raises:
            UnavailableError: The id is from before a restore, and a cluster that may know it does not say.
        """
        application_id = submission.application_id
        is_lost_time = self.past.is_lost_time(application_id)
        if not is_lost_time and not self.past.is_foreign(application_id):
            return None
        if await self.store.find(application_id) is not None:
            return None
        sightings = await self.past.look_for([application_id])
        if application_id in sightings.found:
            return _repeated(submission, sightings.found[application_id].summary)
        if is_lost_time and sightings.silent:
            raise UnavailableError(
                f"{application_id} is from before the state store was restored, and {', '.join(sightings.silent)} "
                "cannot say now whether it is there; repeat the call"
            )
        return None

    def as_known(self, stands: SubmissionRecord, wanted: Submission, digest: bytes) -> Accepted:
        """The answer to a submission under an id of which there is a record.

        Raises:
            ConflictError: The record is another user's, or of another content.
        """
        _refuse_other_user(stands.submission.user, wanted)
        if not is_same_content(stands, wanted, digest):
            message = f"{wanted.application_id} was submitted before with another content; ask for a new id"
            raise ConflictError(message)
        is_delivered = self.is_taken(wanted.application_id) or stands.state is SubmissionState.SUBMITTED
        if not is_delivered and stands.state is SubmissionState.INTENDED:
            self.listing.mark_submitted(stands.submission, stands.home_subcluster)
        return Accepted(stands.home_subcluster, is_delivered=is_delivered)

    async def without_home(self, submission: Submission, digest: bytes, decision: HomeDecision) -> Accepted:
        """Answer for a submission that no sub-cluster may take now; it may have been taken before.

        Raises:
            ConflictError: It is known with another content or user.
            BadRequestError: It is not known, and no sub-cluster will ever run it.
            NoUsableSubClusterError: It is not known; says why for each sub-cluster.
        """
        stands = await self.store.find(submission.application_id)
        if stands is not None and stands.state is not SubmissionState.REJECTED:
            return self.as_known(stands, submission, digest)
        if decision.refusal is not None:
            is_size = decision.refusal.java_class == INVALID_RESOURCE
            raise (ResourceRequestError if is_size else BadRequestError)(decision.refusal.message)
        reasons = "; ".join(f"{candidate.subcluster}: {candidate.reason}" for candidate in decision.candidates)
        raise NoUsableSubClusterError(f"{decision.reason} ({reasons})" if reasons else decision.reason)


def _repeated(submission: Submission, seen: ApplicationSummary) -> Accepted:
    """The answer to a submission whose id a cluster knows and the store does not.

    Raises:
        ConflictError: It is another application.
    """
    _refuse_another(submission, seen, with_queue=True)
    return Accepted(seen.home_subcluster, is_delivered=True)


def _refuse_another(submission: Submission, seen: ApplicationSummary, *, with_queue: bool = False) -> None:
    found = differences(submission, seen, with_queue=with_queue)
    if found:
        message = (
            f"{submission.application_id} is known at sub-cluster {seen.home_subcluster} as another application "
            f"({'; '.join(found)}); ask for a new id"
        )
        raise ConflictError(message)


def _refuse_other_user(owner: str, submission: Submission) -> None:
    if owner != submission.user:
        raise ConflictError(f"{submission.application_id} is known and belongs to another user; ask for a new id")


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
