"""The largest container that a client may count on, before anybody knows where its application will run.

A client is told it with its new id, and asks for no more. So it is the least of the sub-clusters that its queue may
use, unless its queue, or a tag of its application, says how large containers will be: then it is that much, and the
home is one that grants it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from shim.domain.ids import SubClusterId
from shim.domain.queues import SharePolicy
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, NodeReport, SubClusterState
from shim.domain.submissions import Submission
from shim.federation.core.federation_view import FederationView, SubClusterView, find_queue
from shim.federation.core.grants import grant_of, least_of
from shim.ports.clock import Clock
from shim.queues.share_preview import DEFAULT_QUEUE
from shim.submission.core.own_tags import containers_up_to


class ContainerLimits:
    """What clients are told, and what homes have to grant.

    Args:
        view: What is known of the sub-clusters.
        admissions: Operators' words: what takes no applications does not count.
        queue_of_user: Path of the queue of a user's applications that name none.
    """

    def __init__(
        self,
        view: FederationView,
        admissions: Mapping[SubClusterId, Admission],
        clock: Clock,
        policy: Callable[[], SharePolicy],
        queue_of_user: Callable[[str], str],
    ) -> None:
        self._view = view
        self._admissions = admissions
        self._clock = clock
        self._policy = policy
        self._queue_of_user = queue_of_user
        self._kept: dict[str, ResourceVector] = {}
        self._kept_for: tuple[int, SharePolicy] | None = None
        self._granted: dict[SubClusterId, tuple[tuple[NodeReport, ...], ResourceVector, ResourceVector]] = {}

    def told_to(self, user: str) -> ResourceVector:
        """The largest container that a user may count on, type by type; empty before anything is known.

        A resource type beside memory and virtual cores counts where it is registered: an application whose
        ApplicationMaster asks for it, or whose tag says that it will, goes there.
        """
        now = (self._view.changes, self._policy())
        if self._kept_for is None or self._kept_for[0] != now[0] or self._kept_for[1] is not now[1]:
            self._kept, self._kept_for = {}, now
        path = self._queue_of_user(user)
        if path not in self._kept:
            self._kept[path] = self._least(path)
        return self._kept[path]

    def up_to(self, submission: Submission) -> ResourceVector:
        """The largest containers that an application will ask for, type by type; empty if nobody says."""
        said = containers_up_to(submission.tags)
        return (
            said
            if said.memory_mib
            else replace(said, memory_mib=self._said_of_queue(submission.queue or DEFAULT_QUEUE))
        )

    def _least(self, path: str) -> ResourceVector:
        grants = self._grants(path)
        said_mib = self._said_of_queue(path)
        able = [grant for grant in grants if grant.memory_mib >= said_mib]
        return least_of(able or grants)

    def _said_of_queue(self, path: str) -> int:
        """What the queue says, as far as some sub-cluster grants so much."""
        queue = self._policy().find(path)
        if queue is None or not queue.containers_up_to:
            return 0
        largest_mib = max((grant.memory_mib for grant in self._grants(path)), default=0)
        return min(queue.containers_up_to, largest_mib) if largest_mib else queue.containers_up_to

    def _grants(self, path: str) -> list[ResourceVector]:
        """What each sub-cluster grants that the queue may use; of all, where none is known to have it."""
        now_s = self._clock.now_s()
        looks = [self._view.look(each, now_s) for each in self._view.subclusters]
        told = [seen for seen in looks if seen.maximum_allocation.memory_mib > 0]
        usable = [seen for seen in told if self._admissions.get(seen.subcluster, Admission.OPEN) is Admission.OPEN]
        having = [seen for seen in usable or told if self._has(seen, path)]
        return [self._grant(seen) for seen in having or usable or told]

    def _grant(self, seen: SubClusterView) -> ResourceVector:
        """What a sub-cluster grants; its thousand nodes are looked at when they were told anew, not for each report."""
        known = self._granted.get(seen.subcluster)
        if known is None or known[0] is not seen.nodes or known[1] != seen.maximum_allocation:
            known = self._granted[seen.subcluster] = seen.nodes, seen.maximum_allocation, grant_of(seen, None, "")
        return known[2]

    def _has(self, seen: SubClusterView, path: str) -> bool:
        if seen.state is SubClusterState.NEW:
            return False
        return find_queue(seen, self._policy().name_at(seen.subcluster, path)) is not None
