"""Rules on deadlines at submission: one that cannot be met is refused or taken, as its queue has it."""

from shim.domain.deadlines import deadline_of
from shim.domain.shares import FederatedQueue
from shim.domain.submissions import Submission
from shim.errors import ForbiddenError
from shim.scheduling.global_master.recurring_jobs import FormerRun, FormerRuns, recurring_key_of

__all__ = ["check_deadline", "hopeless_deadline"]


def check_deadline(queue: FederatedQueue, submission: Submission, now_s: float, runs: FormerRuns) -> str:
    """Give the warning that a deadline cannot be met; empty if it can, as far as is known, or if there is none.

    Raises:
        ForbiddenError: It cannot, and the queue refuses such ones.
    """
    job_key = recurring_key_of(submission.user, submission.application_type, submission.name)
    why_not = hopeless_deadline(submission, now_s, runs.of(queue.path, job_key))
    if why_not and queue.deadline == "refuse":
        raise ForbiddenError(f"Queue {queue.path} refuses {submission.application_id}: {why_not}")
    return why_not


def hopeless_deadline(submission: Submission, now_s: float, run: FormerRun | None) -> str:
    """Say why a submission's deadline cannot be met; empty if it can, as far as is known, or if it has none.

    Args:
        submission: As it came; its tags are well-formed.
        now_s: Now: when it is submitted.
        run: Its last run, if it is a recurring job: a container takes its time, on however many it runs.

    Raises:
        BadRequestError: It names a deadline and is none.
    """
    deadline = deadline_of(submission.tags)
    if deadline is None:
        return ""
    left_s = deadline.at_s(now_s) - now_s
    if left_s <= 0.0:
        return f"its deadline is over for {-left_s:.0f} s"
    if run is not None and run.container_s > left_s:
        return (
            f"its deadline is in {left_s:.0f} s, and a container took {run.container_s:.0f} s in its last run: "
            "no number of them ends it in time"
        )
    return ""
