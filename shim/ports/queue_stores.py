"""Store of the use of applications, for reports and for the next Heddle.

One row for each application and sub-cluster. Whoever writes it writes the same, so that several Heddles may.

Debits and credits of altruism, kept for reports and for the next Heddle.

A row is what one process counted of one application: only that process writes it, so that the rows of all processes may
be added, whatever restarted meanwhile and whoever owned the queue.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shim.domain.credits import Credits
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.usage import PartUsage

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


# Stores of versions: of the policy, and of the list of sub-clusters where the store has it.


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """A policy as it was applied, or a list of sub-clusters.

    Attributes:
        version: 1 for the first; each is one more than the one before.
        text: The file, byte for byte.
        note: What was said about it.
    """

    version: int
    text: str
    applied_by: str
    applied_at_ms: int
    note: str = ""


class PolicyStore(Protocol):
    """Every policy, or list, that was ever applied; each method raises `StoreUnavailableError` when the store fails."""

    async def apply(self, version: int, text: str, *, by: str, note: str) -> PolicyVersion:
        """Keep a new one; nobody else may have kept that version.

        Raises:
            VersionConflictError: If somebody has: look at it first.
        """
        ...

    async def newest(self) -> PolicyVersion | None:
        """The one that holds; None if none was ever applied."""
        ...

    async def history(self) -> Sequence[PolicyVersion]:
        """All, newest first."""
        ...


@dataclass(frozen=True, slots=True)
class KeptRun:
    """The last run of a recurring job, as Heddle wrote it down.

    Attributes:
        name: Of the job, of no other: 64 hexadecimal digits.
        at_ms: When it was written; milliseconds since the epoch.
        text: JSON, of ASCII alone.
    """

    name: str
    at_ms: int
    text: str


class FormerRunStore(Protocol):
    """Every method raises `StoreUnavailableError` when the store fails; each may be repeated."""

    async def keep(self, runs: Sequence[KeptRun]) -> None:
        """Keep runs, each in the place of an older one of that name; one that is older than what is kept is not."""
        ...

    async def since(self, at_ms: int, most: int) -> Sequence[KeptRun]:
        """Runs that were written at some time or later, the newest of them, the oldest first."""
        ...

    async def forget(self, before_ms: int, most: int) -> None:
        """Forget what was written before some time, and all but so many of the newest."""
        ...


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
