"""Who of a queue's applications has containers first, on real clusters: step 3 of a cycle.

Each attempt that waits is a row of the same table by which the masters of the simulator order jobs, under the same
kernels (`ordering.py`). An attempt holds nobody up where it could not have what it waits for, nor after it has not
called for long; and one that was overtaken for too long goes first, so that in the end everybody is served.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from shim.domain.allocations import AskKey
from shim.domain.ids import ApplicationAttemptId, SubClusterId
from shim.domain.launches import Waiting
from shim.domain.resources import ResourceVector
from shim.global_master.durations import DurationModel
from shim.global_master.ordering import (
    Column,
    JobTable,
    OrderingKernel,
    fewest_unfinished,
    first_come,
    order_jobs,
)

__all__ = ["CONTAINER_ORDERS", "Ahead", "WaitingTable"]

CONTAINER_ORDERS: Mapping[str, OrderingKernel] = MappingProxyType(
    {"fifo": first_come, "fewest-tasks": fewest_unfinished}
)
"""Orderings that a queue may have for its containers, by the words of `[[queue]]`."""

_SILENT_AFTER_S = 15.0
"""An ApplicationMaster calls every few seconds; one that does not would take no container either."""
_HOLDS_FOR_S = 0.25
"""An order is computed again after so long though nothing was told: time alone lets the overtaken go first."""
_SEQUENCES_A_SECOND = 1e6


@dataclass(frozen=True, slots=True)
class Ahead:
    """What another attempt waits for, and goes before with.

    Attributes:
        count: Containers that nobody has promised; 0 if all of them are promised, and not granted.
    """

    attempt: ApplicationAttemptId
    resource: ResourceVector
    label: str
    places: tuple[str, ...]
    count: int


@dataclass(slots=True)
class _Attempt:
    """What is known of an attempt.

    Attributes:
        row: In the table.
        heard_at_s: When it told last what it wants; `held` is how many containers it had then.
        overtaken_at_s: Since when something of it is withheld, and it was granted nothing; None if nothing is.
    """

    id: ApplicationAttemptId
    row: int
    heard_at_s: float
    waits: dict[AskKey, Waiting] = field(default_factory=dict)
    held: int = 0
    overtaken_at_s: float | None = None


class WaitingTable:
    """The attempts of one queue. It never reads a clock: times are told, in seconds by one clock.

    Args:
        overtaken_s: An attempt that was overtaken for longer goes before those that were not.
    """

    def __init__(self, overtaken_s: float) -> None:
        self._overtaken_s = overtaken_s
        self._table = JobTable()
        self._durations = DurationModel()
        self._attempts: dict[ApplicationAttemptId, _Attempt] = {}
        self._by_row: dict[int, _Attempt] = {}
        self._ordered: tuple[str, float, list[_Attempt]] | None = None

    # ------------------------------------------------------------------ what attempts tell

    def tell(self, attempt: ApplicationAttemptId, key: AskKey, waiting: Waiting, at_s: float) -> None:
        """Take in what an attempt wants of one kind; it takes the place of what it told of it before."""
        known = self._attempts.get(attempt)
        if known is None:
            if not waiting.wanted:
                return
            known = self._add(attempt, at_s)
        known.heard_at_s = at_s
        before = known.waits.pop(key, None)
        if waiting.wanted:
            known.waits[key], known.held = waiting, waiting.held
        if not any(each.unpromised for each in known.waits.values()):
            known.overtaken_at_s = None
        elif waiting.withheld and known.overtaken_at_s is None:
            known.overtaken_at_s = at_s
        if before != known.waits.get(key):
            self._count(known)

    def granted(self, attempt: ApplicationAttemptId, at_s: float) -> None:
        """A scheduler gave an attempt a container: its patience begins anew."""
        known = self._attempts.get(attempt)
        if known is not None and known.overtaken_at_s is not None:
            known.overtaken_at_s = at_s
            self._ordered = None

    def leave(self, attempt: ApplicationAttemptId) -> None:
        """An attempt wants nothing any more."""
        known = self._attempts.pop(attempt, None)
        if known is not None:
            self._table.remove(known.row)
            del self._by_row[known.row]
            self._ordered = None

    # ------------------------------------------------------------------ who is before whom

    def before(
        self, attempt: ApplicationAttemptId, subcluster: SubClusterId, order: str, at_s: float
    ) -> tuple[Ahead, ...]:
        """What those before an attempt wait for in a sub-cluster, the first of them first.

        What is promised counts until it is granted: else the scheduler could serve others first out of its queue.

        Args:
            attempt: Who asks; whoever has not told what it wants is last.
            subcluster: Where.
            order: One of `CONTAINER_ORDERS`.
            at_s: Now.
        """
        found: list[Ahead] = []
        for each in self._in_order(order, at_s):
            if each.id == attempt:
                break
            if each.heard_at_s + _SILENT_AFTER_S < at_s:
                continue
            found += [
                Ahead(each.id, key.resource, key.label, waiting.places, waiting.unpromised)
                for key, waiting in each.waits.items()
                if subcluster in waiting.promised_at or (waiting.unpromised and subcluster in waiting.subclusters)
            ]
        return tuple(found)

    def _in_order(self, order: str, at_s: float) -> list[_Attempt]:
        """Attempts with something that is not granted, by being overtaken, then by key, then by arrival."""
        known = self._ordered
        if known is not None and known[0] == order and 0.0 <= at_s - known[1] < _HOLDS_FOR_S:
            return known[2]
        for each in self._attempts.values():
            since_s = at_s if each.overtaken_at_s is None else each.overtaken_at_s
            waited_s = at_s - since_s
            self._table.put(Column.PRIORITY, each.row, waited_s if waited_s >= self._overtaken_s else 0.0)
        rows = self._table.waiting_rows()
        rows = rows[np.argsort(self._table.column(Column.ARRIVED_S)[rows], kind="stable")]
        columns = self._table.columns(rows)
        keys = CONTAINER_ORDERS[order](columns, self._durations, at_s)
        ordered = [self._by_row[row] for row in rows[order_jobs(columns, keys)].tolist()]
        self._ordered = (order, at_s, ordered)
        return ordered

    # ------------------------------------------------------------------ the table

    def _add(self, attempt: ApplicationAttemptId, at_s: float) -> _Attempt:
        known = _Attempt(attempt, self._table.add(), at_s)
        self._attempts[attempt] = self._by_row[known.row] = known
        self._table.put(Column.ARRIVED_S, known.row, _arrival(attempt))
        return known

    def _count(self, known: _Attempt) -> None:
        """Bring its row up to date: what is promised to it counts as running."""
        tasks = known.held + sum(each.wanted for each in known.waits.values())
        waiting = sum(each.unpromised for each in known.waits.values())
        for column, value in (
            (Column.TASKS, tasks),
            (Column.WAITING, waiting),
            (Column.RUNNING, tasks - waiting),
        ):
            self._table.put(column, known.row, float(value))
        self._table.set_waiting(known.row, is_waiting=bool(known.waits))
        self._ordered = None


def _arrival(attempt: ApplicationAttemptId) -> float:
    """When an application came, as far as its id tells, which outlives a Global Master; for comparing only."""
    application = attempt.application
    return application.cluster_timestamp / 1000.0 + application.sequence / _SEQUENCES_A_SECOND
