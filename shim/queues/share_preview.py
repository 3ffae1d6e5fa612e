"""How queues would stand with some policy: everything that takes, as it is at one moment, to be reckoned elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shim.domain.shares import FederatedQueue, SharePolicy
from shim.domain.submissions import Submission, SubmissionRecord
from shim.queues.core.entitle import Applicant, ShareSettings, Standing, standings_of
from shim.queues.core.share_load import FederationLoad
from shim.queues.load_meter import MeterSnapshot

__all__ = ["DEFAULT_QUEUE", "SharePreview", "applicant_of"]

DEFAULT_QUEUE = "root.default"


@dataclass(frozen=True, slots=True)
class SharePreview:
    """Pure, so that a thread may reckon while the event loop goes on.

    Attributes:
        meter: What queues hold.
        waiting: What waits for its queue's turn.
    """

    meter: MeterSnapshot
    waiting: Sequence[SubmissionRecord]
    settings: ShareSettings

    def standings(self, policy: SharePolicy) -> Mapping[str, Standing]:
        """How queues would stand with a policy, before anybody starts."""
        applicants = [
            applicant_of(record.submission, queue, since_ms=record.intended_at_ms)
            for record in self.waiting
            if (queue := policy.find(record.submission.queue or DEFAULT_QUEUE)) is not None
        ]
        return standings_of(policy, self.load(policy), applicants, self.settings)

    def load(self, policy: SharePolicy) -> FederationLoad:
        """What the queues of a policy hold."""
        return self.meter.measure(policy)


def applicant_of(submission: Submission, queue: FederatedQueue, *, since_ms: int) -> Applicant:
    """An application that waits for the turn of a queue."""
    return Applicant(submission.application_id, queue.path, submission.user, submission.resource, since_ms)
