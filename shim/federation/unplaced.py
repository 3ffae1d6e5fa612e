"""Applications of which no home tells, as clients see them: they wait for their turn, were ended, or are lost."""

from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.subclusters import ApplicationDocument
from shim.domain.submissions import SubmissionRecord, SubmissionState
from shim.protocol.rest.documents import submitted_document

_DEFAULT_QUEUE = "default"
_SHOWN = {
    SubmissionState.KILLED: (YarnApplicationState.KILLED, FinalStatus.KILLED),
    SubmissionState.LOST: (YarnApplicationState.FAILED, FinalStatus.FAILED),
}


def unplaced_document(record: SubmissionRecord, diagnostics: str, at_s: float) -> ApplicationDocument:
    """The document of an application that has no home, has just got one elsewhere, or was lost with it.

    Args:
        record: Its body does not matter.
        diagnostics: What clients are told of why it waits, or how it ended.
        at_s: Seconds since the epoch; of its end, if that is known only now.
    """
    submission = record.submission
    state, final_status = _SHOWN.get(record.state, (YarnApplicationState.ACCEPTED, FinalStatus.UNDEFINED))
    summary = ApplicationSummary(
        application_id=submission.application_id,
        home_subcluster=record.home_subcluster,
        user=submission.user,
        name=submission.name,
        queue=submission.queue or _DEFAULT_QUEUE,
        state=state,
        final_status=final_status,
        application_type=submission.application_type,
        tags=submission.tags,
        started_at_ms=record.intended_at_ms if record.waited is None else record.waited.since_ms,
        finished_at_ms=int(at_s * 1000) if state.is_final else 0,
    )
    return submitted_document(summary, at_s, is_unmanaged=submission.is_unmanaged, diagnostics=diagnostics)
