"""Debits and credits of altruism, kept for reports and for the next Heddle.

A row is what one process counted of one application: only that process writes it, so that the rows of all processes may
be added, whatever restarted meanwhile and whoever owned the queue.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shim.domain.credits import Credits
from shim.domain.ids import ApplicationId

__all__ = ["CREDITS_KEPT_FOR_MS", "GROUPS_OF_CREDITS", "MOST_CREDITS", "CreditQuestion", "CreditRow", "CreditStore"]

CREDITS_KEPT_FOR_MS = 400 * 24 * 3_600_000
"""Parts that were counted last longer ago are forgotten, as usage is."""
MOST_CREDITS = 100_000
"""More rows than this are forgotten, the oldest first; jobs that gave and received nothing have none."""
GROUPS_OF_CREDITS = ("queue", "user")
"""What they may be grouped by. Shares are of the federation: there is no sub-cluster of what was given."""


@dataclass(frozen=True, slots=True)
class CreditRow:
    """A part of an application's account.

    Attributes:
        part: Name of this part, of no other of any process.
        from_ms, to_ms: When its first and its last second was counted; milliseconds since the epoch.
    """

    application: ApplicationId
    part: str
    queue: str
    user: str
    from_ms: int
    to_ms: int
    credits: Credits


@dataclass(frozen=True, slots=True)
class CreditQuestion:
    """A question for sums.

    Attributes:
        by: Some of `GROUPS_OF_CREDITS`; empty for one sum of everything.
        from_ms: Begin of the time in question; milliseconds since the epoch.
        to_ms: Its end; None for no end.
        user: Whose jobs alone; None for everybody's.
    """

    by: tuple[str, ...] = ()
    from_ms: int = 0
    to_ms: int | None = None
    user: str | None = None


class CreditStore(Protocol):
    """Every method raises `StoreUnavailableError` when the store fails; each may be repeated."""

    async def keep(self, rows: Sequence[CreditRow]) -> None:
        """Keep rows, each in the place of that of the same part; amounts never fall by it."""
        ...

    async def of(self, application: ApplicationId) -> Sequence[CreditRow]:
        """All parts of an application's account."""
        ...

    async def totals(self, question: CreditQuestion) -> Sequence[tuple[tuple[str, ...], Credits]]:
        """Sums by group, those that gave most first, at most `MOST_GROUPS` of usage; groups of nothing are left out.

        A row counts evenly over its time.
        """
        ...

    async def forget(self, before_ms: int, most: int = MOST_CREDITS) -> None:
        """Forget what was counted last before then, and all but the newest rows."""
        ...
