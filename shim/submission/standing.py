"""Records that stand as they were seen: whoever works on one may have been overtaken by another Heddle."""

from shim.domain.submissions import SubmissionProgress, SubmissionRecord
from shim.ports.state_store import StateStore

__all__ = ["find_standing"]


async def find_standing(store: StateStore, progress: SubmissionProgress) -> SubmissionRecord | None:
    """The whole record of a submission, with its body; None if it stands otherwise by now, or is gone.

    Raises:
        StoreUnavailableError: Nobody can tell.
    """
    record = await store.find(progress.application_id)
    return record if record is not None and record.progress == progress else None
