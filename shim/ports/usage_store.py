"""Store of the use of applications, for reports and for the next Heddle.

One row for each application and sub-cluster. Whoever writes it writes the same, so that several Heddles may.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.usage import PartUsage

__all__ = ["GROUPS", "KEPT_FOR_MS", "MOST_GROUPS", "UsageQuestion", "UsageRow", "UsageStore", "UsageTotal"]

KEPT_FOR_MS = 400 * 24 * 3_600_000
"""What ended longer ago is forgotten: a year and a month are there to compare."""
MOST_GROUPS = 10_000
"""An answer has no more rows than this: those with the most memory."""
GROUPS = ("queue", "user", "cluster")
"""What usage may be grouped by."""


@dataclass(frozen=True, slots=True)
class UsageRow:
    """Use of one sub-cluster by an application.

    Attributes:
        is_home: Whether its ApplicationMaster runs there.
        queue: As its home calls it.
        ended_at_ms: 0 while it lives.
    """

    application: ApplicationId
    subcluster: SubClusterId
    is_home: bool
    user: str
    queue: str
    started_at_ms: int
    ended_at_ms: int
    part: PartUsage


@dataclass(frozen=True, slots=True)
class UsageQuestion:
    """A question for sums of use.

    Attributes:
        by: Some of `GROUPS`; empty for one sum of everything.
        from_ms: Begin of the time in question; milliseconds since the epoch, as the others.
        to_ms: Its end.
        now_ms: What lives is taken to have lasted until now.
        user: Whose applications alone; None for everybody's.
    """

    by: tuple[str, ...]
    from_ms: int
    to_ms: int
    now_ms: int
    user: str | None = None


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """A sum.

    Attributes:
        group: The values of what was grouped by, in that order.
        applications: How many had something in that time; by cluster, how many had something there.
    """

    group: tuple[str, ...]
    applications: int
    memory_mib_s: int
    vcore_s: int
    preempted_memory_mib_s: int = 0
    preempted_vcore_s: int = 0


class UsageStore(Protocol):
    """Every method raises `StoreUnavailableError` when the store fails; each may be repeated."""

    async def keep(self, rows: Sequence[UsageRow]) -> None:
        """Keep rows, each in the place of the one that is known; sums never fall by it."""
        ...

    async def spanning(self, most: int) -> Sequence[UsageRow]:
        """All rows of the newest applications that have used more than their homes.

        Args:
            most: How many rows.
        """
        ...

    async def totals(self, question: UsageQuestion) -> Sequence[UsageTotal]:
        """Sums, the largest first, at most `MOST_GROUPS` + 1.

        What an application used is taken as spread evenly over its life.
        """
        ...

    async def forget(self, ended_before_ms: int) -> None:
        """Forget what ended before then."""
        ...
