"""`UsageStore` in memory. Limits: forgets with the process."""

from collections import defaultdict
from collections.abc import Sequence

from shim.domain.ids import ApplicationId, SubClusterId
from shim.errors import StoreUnavailableError
from shim.ports.usage_store import MOST_GROUPS, UsageQuestion, UsageRow, UsageTotal

__all__ = ["InMemoryUsageStore"]

_SUMS = ("memory_mib_s", "vcore_s", "preempted_memory_mib_s", "preempted_vcore_s")


class InMemoryUsageStore:
    """Implements `UsageStore`.

    Attributes:
        is_away: Whether every method fails.
        writes: How many rows were written.
    """

    def __init__(self) -> None:
        self.is_away = False
        self.writes = 0
        self.rows: dict[tuple[ApplicationId, SubClusterId], UsageRow] = {}

    async def keep(self, rows: Sequence[UsageRow]) -> None:
        """See `UsageStore`."""
        self._check()
        for row in rows:
            self.writes += 1
            known = self.rows.get((row.application, row.subcluster))
            if known is None or _is_more(row, known):
                self.rows[row.application, row.subcluster] = row

    async def spanning(self, most: int) -> Sequence[UsageRow]:
        """See `UsageStore`."""
        self._check()
        beyond = {row.application for row in self.rows.values() if not row.is_home}
        return [row for _, row in sorted(self.rows.items()) if row.application in beyond][:most]

    async def totals(self, question: UsageQuestion) -> Sequence[UsageTotal]:
        """See `UsageStore`."""
        self._check()
        counts: dict[tuple[str, ...], int] = defaultdict(int)
        sums: dict[tuple[str, ...], list[float]] = defaultdict(lambda: [0.0] * len(_SUMS))
        for row in self.rows.values():
            ended = row.ended_at_ms or question.now_ms
            is_in = row.started_at_ms < question.to_ms and ended >= question.from_ms
            if not is_in or question.user not in (None, row.user):
                continue
            values = {"queue": row.queue, "user": row.user, "cluster": str(row.subcluster)}
            group = tuple(values[name] for name in question.by)
            overlap = min(ended, question.to_ms) - max(row.started_at_ms, question.from_ms)
            is_whole = ended <= question.to_ms and row.started_at_ms >= question.from_ms
            part = 1.0 if is_whole else overlap / max(1, ended - row.started_at_ms)
            counts[group] += 1 if "cluster" in question.by or row.is_home else 0
            for place, name in enumerate(_SUMS):
                sums[group][place] += row.part.spent.get(name, 0) * part
        found = [UsageTotal(group, counts[group], *map(round, amounts)) for group, amounts in sums.items()]
        return sorted(found, key=lambda each: (-each.memory_mib_s, each.group))[: MOST_GROUPS + 1]

    async def forget(self, ended_before_ms: int) -> None:
        """See `UsageStore`."""
        self._check()
        self.rows = {key: row for key, row in self.rows.items() if not 0 < row.ended_at_ms < ended_before_ms}

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailableError("the store is away")


def _is_more(row: UsageRow, known: UsageRow) -> bool:
    names = ("memory_mib_s", "vcore_s")
    is_no_less = all(row.part.spent.get(name, 0) >= known.part.spent.get(name, 0) for name in names)
    return is_no_less and (not known.ended_at_ms or row.ended_at_ms > 0)
