"""What is left of the applications that live in a sub-cluster's queue: known to whoever chooses homes.

Expected work is learnt (`core/share_load.py`), what an application has used so far is in its document. What an
application is expected to be and has used up already tells that it is more: then a part of what it has used is
expected to be left, as of what has lasted long much is left where few are large.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import QueueReport
from shim.domain.submissions import Submission
from shim.federation.core.federation_view import FederationView, SubClusterView, find_queue
from shim.ports.clock import Clock
from shim.queues.core.share_load import ExpectedWork
from shim.queues.live_table import LiveTable
from shim.submission.core.completion import Expectation, QueueWork

_EVERY_S = 1.0
_ON_THEIR_WAY_S = 10.0  # an application that was sent is in the view by then, or was refused


@dataclass(slots=True)
class _Sent:
    """An application that was sent to a sub-cluster and that the view may not show."""

    queue: str
    mib_s: float
    at_s: float


@dataclass(slots=True)
class _Known:
    """What was measured of one sub-cluster; it is good until some moment."""

    until_s: float = float("-inf")
    by_queue: dict[str, QueueWork] = field(default_factory=dict)
    sent: dict[ApplicationId, _Sent] = field(default_factory=dict)


class WorkAhead:
    """Measures the work of live applications, at most once a second and sub-cluster.

    Args:
        clock: The machine's.
        live: Live applications, with what is left of each.
    """

    def __init__(
        self,
        view: FederationView,
        clock: Clock,
        live: LiveTable,
        of_submission: Callable[[Submission], ExpectedWork],
    ) -> None:
        self._view = view
        self._clock = clock
        self._live = live
        self._of_submission = of_submission
        self._known: dict[SubClusterId, _Known] = {}

    def expected(self, submission: Submission) -> Expectation:
        """Work that a submission is expected to be; see `HomeSettings`."""
        found = self._of_submission(submission)
        return Expectation(found.mib_s, found.ground)

    def work_in(self, seen: SubClusterView, queue: QueueReport) -> QueueWork:
        """What is left in a queue; see `HomeSettings`."""
        known = self._known.setdefault(seen.subcluster, _Known())
        now_s = self._clock.now_s()
        if now_s >= known.until_s:
            self._measure(known, seen, now_s)
        return known.by_queue.setdefault(queue.path, QueueWork())

    def note_sent(self, subcluster: SubClusterId, submission: Submission) -> None:
        """Count a submission that goes to a sub-cluster, until the view shows it; see `HomeSettings`."""
        now_s = self._clock.now_s()
        seen = self._view.look(subcluster, now_s)
        queue = find_queue(seen, submission.queue or "default")
        mib_s = self._of_submission(submission).mib_s
        if queue is None or mib_s <= 0:
            return
        self.work_in(seen, queue).add(mib_s)
        self._known[subcluster].sent[submission.application_id] = _Sent(queue.path, mib_s, now_s)

    def _measure(self, known: _Known, seen: SubClusterView, now_s: float) -> None:
        known.until_s = now_s + _EVERY_S
        groups, find = self._live.latest(seen.subcluster), self._view.applications.find
        known.sent = {
            name: sent
            for name, sent in known.sent.items()
            if now_s - sent.at_s <= _ON_THEIR_WAY_S and (sent.at_s >= self._live.latest_s or find(name) is None)
        }
        found: dict[str, list[tuple[float, bool]]] = {}
        for group in groups:
            queue = find_queue(seen, group.queue)
            of_queue = found.setdefault("" if queue is None else queue.path, [])
            of_queue.extend(zip(group.left, group.has_started, strict=True))
        for sent in known.sent.values():
            found.setdefault(sent.queue, []).append((sent.mib_s, False))
        known.by_queue = {path: QueueWork.of(each) for path, each in found.items()}
