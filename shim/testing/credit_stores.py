"""`CreditStore` in memory. Limits: forgets with the process."""

from collections.abc import Sequence

from shim.domain.credits import NO_CREDITS, Credits
from shim.domain.ids import ApplicationId
from shim.errors import StoreUnavailableError
from shim.ports.credit_store import MOST_CREDITS, CreditQuestion, CreditRow
from shim.ports.usage_store import MOST_GROUPS

__all__ = ["InMemoryCreditStore"]


class InMemoryCreditStore:
    """Implements `CreditStore`.

    Attributes:
        is_away: Whether every method fails.
        loses_answers: Whether rows are kept, and whoever wrote them is told that they are not.
        writes: How many rows were written.
    """

    def __init__(self) -> None:
        self.is_away = False
        self.loses_answers = False
        self.writes = 0
        self.rows: dict[tuple[ApplicationId, str], CreditRow] = {}

    async def keep(self, rows: Sequence[CreditRow]) -> None:
        """See `CreditStore`."""
        self._check()
        for row in rows:
            self.writes += 1
            known = self.rows.get((row.application, row.part))
            if known is None or row.credits.covers(known.credits):
                self.rows[row.application, row.part] = row
        if self.loses_answers:
            raise StoreUnavailableError("the answer is lost, as a test wants it")

    async def of(self, application: ApplicationId) -> Sequence[CreditRow]:
        """See `CreditStore`."""
        self._check()
        return [row for _, row in sorted(self.rows.items()) if row.application == application]

    async def totals(self, question: CreditQuestion) -> Sequence[tuple[tuple[str, ...], Credits]]:
        """See `CreditStore`."""
        self._check()
        found: dict[tuple[str, ...], Credits] = {}
        for row in self.rows.values():
            to_ms = row.to_ms if question.to_ms is None else min(row.to_ms, question.to_ms)
            from_ms = max(row.from_ms, question.from_ms)
            is_whole = (from_ms, to_ms) == (row.from_ms, row.to_ms)
            if (from_ms > to_ms if is_whole else from_ms >= to_ms) or question.user not in (None, row.user):
                continue
            part = 1.0 if is_whole else (to_ms - from_ms) / max(1, row.to_ms - row.from_ms)
            group = tuple({"queue": row.queue, "user": row.user}[name] for name in question.by)
            found[group] = found.get(group, NO_CREDITS) + _part_of(row.credits, part)
        return sorted(found.items(), key=lambda each: (-each[1].given_mib_s, each[0]))[:MOST_GROUPS]

    async def forget(self, before_ms: int, most: int = MOST_CREDITS) -> None:
        """See `CreditStore`."""
        self._check()
        newest = sorted(self.rows.items(), key=lambda each: (-each[1].to_ms, each[0]))[:most]
        self.rows = {key: row for key, row in newest if row.to_ms >= before_ms}

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailableError("the store is away, as a test wants it")


def _part_of(credits_: Credits, part: float) -> Credits:
    return Credits(
        credits_.given_s * part, credits_.received_s * part, credits_.given_mib_s * part, credits_.received_mib_s * part
    )
