"""Preview of queues under some policy: all that it takes, as it is at one moment, to be reckoned elsewhere."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.submissions import Submission, SubmissionRecord
from shim.queues.core.entitle import PendingApplication, QueueShareStatus, ShareSettings, share_status_of
from shim.queues.core.share_load import NO_EXPECTATION, ExpectedWork, FederationLoad
from shim.queues.load_meter import MeterSnapshot

DEFAULT_QUEUE = "root.default"


@dataclass(frozen=True, slots=True)
class SharePreview:
    """Pure, so that a thread may reckon while the event loop goes on.

    Attributes:
        waiting: What waits for its queue's turn.
    """

    meter: MeterSnapshot
    waiting: Sequence[SubmissionRecord]
    settings: ShareSettings

    def statuses(self, policy: SharePolicy) -> Mapping[str, QueueShareStatus]:
        """State of queues under a policy, before anything starts."""
        applications = [
            pending_application_of(record.submission, queue, since_ms=record.intended_at_ms)
            for record in self.waiting
            if (queue := policy.find(record.submission.queue or DEFAULT_QUEUE)) is not None
        ]
        return share_status_of(policy, self.load(policy), applications, self.settings)

    def load(self, policy: SharePolicy) -> FederationLoad:
        return self.meter.measure(policy)


def pending_application_of(
    submission: Submission,
    queue: FederatedQueue,
    *,
    since_ms: int,
    expected: ExpectedWork = NO_EXPECTATION,
    is_overdue: bool = False,
    due_s: float = math.inf,
    is_released: bool = False,
    waited_s: float = 0.0,
) -> PendingApplication:
    return PendingApplication(
        submission.application_id,
        queue.path,
        submission.user,
        submission.resource,
        since_ms,
        expected,
        is_overdue,
        due_s,
        is_released,
        waited_s,
    )
