"""Asks with a placement constraint that a scheduler rejects: asked elsewhere, or rejected to the ApplicationMaster."""

from collections.abc import Iterable
from dataclasses import replace

from shim.domain.allocations import ANY, RejectedAsk
from shim.multicluster.core.ask_group import AskGroup
from shim.multicluster.core.asks import AskBook
from shim.multicluster.core.constrained import free_elsewhere
from shim.multicluster.core.containers import ContainerBook
from shim.multicluster.core.conversations import Conversations
from shim.multicluster.core.outbox import Outbox
from shim.multicluster.core.session import Session
from shim.multicluster.core.tag_counts import TagCounts

__all__ = ["Rejections"]


class Rejections:
    """The ledger's books, as far as rejections change them."""

    def __init__(self, asks: AskBook, containers: ContainerBook, talk: Conversations, outbox: Outbox) -> None:
        self._asks = asks
        self._containers = containers
        self._talk = talk
        self._outbox = outbox

    def take(self, session: Session, rejected: Iterable[RejectedAsk]) -> None:
        """Book what a scheduler rejects; what the ApplicationMaster does not want (any more) it never hears of."""
        for each in rejected:
            group = self._group_of(session, each)
            if group is not None:
                self._reject(session, group, each)

    def _group_of(self, session: Session, rejected: RejectedAsk) -> AskGroup | None:
        """The group that was rejected: a scheduler rounds the size up, and writes the constraint in its own way."""
        kin = (rejected.priority, rejected.allocation_request_id)
        found = [
            group
            for group in self._asks.groups
            if group.key.placement is not None
            and (group.key.priority, group.key.allocation_request_id) == kin
            and group.key.placement.tags == rejected.tags
        ]
        return max(found, key=lambda group: session.told_of(group.key), default=None)

    def _reject(self, session: Session, group: AskGroup, rejected: RejectedAsk) -> None:
        session.rejected(group.key, rejected.count)
        self._asks.reject(group.key, session.subcluster, rejected.count)
        asked = sum(each.bound(group.key) for each in self._talk)
        tags = TagCounts(self._containers.tags(), self._asks.spoken_for(besides=group))
        demand = self._asks.demand_of(group, group.wanted, tags=tags)
        elsewhere = free_elsewhere(demand, self._talk.capacities)
        lost = min(rejected.count, group.wanted - asked - elsewhere)
        if lost > 0:
            group.wanted -= lost
            self._outbox.reject(replace(rejected, count=lost, raw=group.rows[ANY].raw))
