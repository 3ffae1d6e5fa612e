"""The gate before a submission: into which queue it goes, whether it may, and whether it has to wait its turn."""

from typing import Protocol

from shim.domain.submissions import Submission, SubmissionRecord


class Gate(Protocol):
    """The policy of shares, as submissions meet it."""

    def queue_of(self, submission: Submission) -> str: ...

    def enter(self, submission: Submission) -> Submission:
        """The submission as it will run: in the queue that it is mapped to.

        Raises:
            ForbiddenError: The user may not submit to that queue, or it holds all that it may hold.
        """
        ...

    def objection(self, submission: Submission) -> str:
        """Reason why a submission must wait; empty if it may start, which is counted from now on."""
        ...

    def note_waiting(self, record: SubmissionRecord) -> None: ...


class OpenGate:
    """No policy: everybody starts at once."""

    def queue_of(self, submission: Submission) -> str:
        return submission.queue

    def enter(self, submission: Submission) -> Submission:
        return submission

    def objection(self, submission: Submission) -> str:  # noqa: ARG002 - the gate's signature
        return ""

    def note_waiting(self, record: SubmissionRecord) -> None:
        """Take nothing: no submission ever waits."""
