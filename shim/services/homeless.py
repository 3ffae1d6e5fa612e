"""Applications that wait for their queue's turn, or that were ended while they did, as clients see them."""

from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.subclusters import ApplicationDocument
from shim.domain.submissions import SubmissionRecord, SubmissionState
from shim.protocol.rest.documents import submitted_document

__all__ = ["homeless_document"]

_DEFAULT_QUEUE = "default"


def homeless_document(record: SubmissionRecord, diagnostics: str, at_s: float) -> ApplicationDocument:
    """The document of an application that has no home, or that has just got one elsewhere.

    Args:
        record: Its body does not matter.
        diagnostics: What clients are told of why it waits, or how it ended.
        at_s: Seconds since the epoch; of its end, if that is known only now.
    """
    submission, is_killed = record.submission, record.state is SubmissionState.KILLED
    summary = ApplicationSummary(
        application_id=submission.application_id,
        home_subcluster=record.home_subcluster,
        user=submission.user,
        name=submission.name,
        queue=submission.queue or _DEFAULT_QUEUE,
        state=YarnApplicationState.KILLED if is_killed else YarnApplicationState.ACCEPTED,
        final_status=FinalStatus.KILLED if is_killed else FinalStatus.UNDEFINED,
        application_type=submission.application_type,
        tags=submission.tags,
        started_at_ms=record.intended_at_ms,
        finished_at_ms=int(at_s * 1000) if is_killed else 0,
    )
    return submitted_document(summary, at_s, is_unmanaged=submission.is_unmanaged, diagnostics=diagnostics)
