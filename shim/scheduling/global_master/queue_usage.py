"""What each queue holds by the knowledge of one Global Master, against its share.

Its own queues it knows exactly: every launch that it made and that has not ended counts. Of others' queues it knows
what Local Masters said in their last heartbeats. What it has asked back since then is counted as given back already, so
that nothing is asked back twice.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fairness import FloatArray
from shim.domain.messages import Need
from shim.scheduling.global_master.core import Core
from shim.scheduling.global_master.ordering import Column

__all__ = ["QueueStandings", "standings_of", "write_shares"]

_HALF = 0.5
_ENOUGH = 1e-9


@dataclass(frozen=True, slots=True)
class QueueStandings:
    """How the queues stand.

    Attributes:
        excess: Dominant share less the share, by queue; negative for a queue that is owed something.
        total: Capacity of all clusters in view.
    """

    excess: dict[str, float]
    total: FloatArray

    def part_of(self, need: Need) -> float:
        """Dominant share of one task."""
        demand = np.array(need.demand, dtype=np.float64)
        exists = self.total > 0
        return float(np.max(demand[exists] / self.total[exists], initial=0.0))

    def is_owed(self, queue: str, need: Need) -> bool:
        """Whether one more task brings a queue nearer to its share."""
        return self.excess.get(queue, 0.0) + _HALF * self.part_of(need) < -_ENOUGH

    def satisfaction(self, queue: str, shares: Mapping[str, float]) -> float:
        """What a queue holds of its share: below 1 for one that is owed something."""
        share = shares[queue]
        return (self.excess[queue] + share) / share

    def exceeds(self, queue: str, need: Need) -> bool:
        """Whether one task less brings a queue nearer to its share."""
        return self.excess.get(queue, 0.0) - _HALF * self.part_of(need) > _ENOUGH

    def move(self, need: Need, *, giver: str, taker: str) -> None:
        """Count a task as moved from one queue to another."""
        part = self.part_of(need)
        self.excess[giver] = self.excess.get(giver, 0.0) - part
        self.excess[taker] = self.excess.get(taker, 0.0) + part


def write_shares(core: Core) -> None:
    """Write the dominant share of each job that waits: its running tasks, by what the first of its kinds needs."""
    core.most_free = np.maximum(core.most_free, core.view.free.sum(axis=0))
    standings, table = QueueStandings({}, core.most_free), core.book.table
    parts: dict[Need, float] = {}
    for row in table.waiting_rows().tolist():
        need = core.book.by_row[row].groups[0].need
        if need not in parts:
            parts[need] = standings.part_of(need)
        table.put(Column.SHARE, row, table.get(Column.RUNNING, row) * parts[need])


def standings_of(core: Core) -> QueueStandings:
    """How the queues with shares stand now."""
    nothing = np.zeros(core.view.n_resources)
    used: defaultdict[str, FloatArray] = defaultdict(lambda: nothing)
    total: FloatArray = core.view.free.sum(axis=0).astype(np.float64)
    for link in core.links.values():
        for queue, held in link.queue_usage.items():
            total = total + held
            if queue not in core.book.held:
                used[queue] = used[queue] + held
    for queue, own in core.book.held.items():
        used[queue] = np.array(own, dtype=np.float64)
    for link in core.links.values():
        for wish, taker in link.asked_back:
            used[wish.victim_queue] = used[wish.victim_queue] - np.array(wish.need.demand)
            if taker:
                used[taker] = used[taker] + np.array(wish.need.demand)
    exists = total > 0
    excess = {
        queue: float(np.max(used[queue][exists] / total[exists], initial=0.0)) - share
        for queue, share in core.queue_shares.items()
    }
    return QueueStandings(excess, total)
