"""Leaves of sub-clusters that no policy names: each is a queue by itself, with the defaults of those that are named."""

from collections.abc import Iterator, Mapping

from shim.domain.ids import SubClusterId
from shim.domain.queues import PLAIN, QueueDefaults, QueueReport, SharePolicy
from shim.federation.core.federation_view import FederationView
from shim.ports.clock import Clock
from shim.queues.core.share_load import owner_of

_MOST = 1000
"""As a policy may name; of more, the first ones in the order of their paths."""


class UnnamedQueues:
    """Completes policies by the queues that sub-clusters have and a policy does not name.

    Args:
        view: Tells what queues there are.
        clock: For the view.
        defaults: What these do; where nothing is held, spanned or ordered, policies stay as they are.
    """

    def __init__(self, view: FederationView, clock: Clock, defaults: QueueDefaults) -> None:
        self._view = view
        self._clock = clock
        self._defaults = defaults
        self._changes = -1
        self._told: dict[SubClusterId, Mapping[str, QueueReport]] = {}
        self._leaves: frozenset[tuple[SubClusterId, str]] = frozenset()
        self._known: tuple[SharePolicy, frozenset[tuple[SubClusterId, str]], SharePolicy] | None = None

    def completed(self, policy: SharePolicy) -> SharePolicy:
        """The policy with a queue for each leaf that it neither names nor has a queue above of."""
        if self._defaults == PLAIN:
            return policy
        self._look()
        known = self._known
        if known is None or known[0] is not policy or known[1] is not self._leaves:
            paths = sorted(self._unnamed(policy))[:_MOST]
            known = self._known = policy, self._leaves, policy.with_queues(map(self._defaults.queue, paths))
        return known[2]

    def _look(self) -> None:
        """Take note of the leaves, if a report has come since."""
        if self._changes == self._view.changes:
            return
        self._changes = self._view.changes
        now_s = self._clock.now_s()
        told = {each: self._view.look(each, now_s).queues for each in self._view.subclusters}
        if told.keys() == self._told.keys() and all(told[each] is queues for each, queues in self._told.items()):
            return
        self._told = told
        leaves = frozenset(
            (each, path) for each, queues in told.items() for path, queue in queues.items() if queue.is_leaf
        )
        if leaves != self._leaves:
            self._leaves = leaves

    def _unnamed(self, policy: SharePolicy) -> Iterator[str]:
        """Paths that mean no queue of the policy at any sub-cluster: one would have the applications of the other."""
        for path in {path for _, path in self._leaves}:
            is_owned = any(owner_of(policy, each, path) is not None for each in self._told)
            if not is_owned and policy.find(path) is None:
                yield path
