"""Deadlines of applications: a tag that says when one should have ended.

    heddle-deadline=2026-11-24T08:00:00Z     an instant of UTC
    heddle-deadline=+45m                     so long after its submission: a number of s, m, h or d

A tag, because every client of YARN can send one and every ResourceManager keeps it. ResourceManagers turn tags into
lower case.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from shim.domain.ids import ApplicationId
from shim.domain.wishes import NO_WISHES, JobWishes, wishes_of
from shim.errors import BadRequestError

DEADLINE_TAG = "heddle-deadline"

_AFTER = re.compile(r"\+([0-9]{1,7})([smhd])")
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?Z")
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST_S = 366 * 86_400
_SEQUENCES_A_SECOND = 1e6


@dataclass(frozen=True, slots=True)
class Deadline:
    """An instant at which an application should have ended.

    Attributes:
        seconds: Since the epoch; since the submission if `is_relative`.
    """

    seconds: float
    is_relative: bool = False

    def at_s(self, submitted_s: float) -> float:
        """The instant, for an application that was submitted then; both since the epoch."""
        return submitted_s + self.seconds if self.is_relative else self.seconds


@dataclass(frozen=True, slots=True)
class JobTimes:
    """An application's times, as far as known, in seconds since the epoch, and what they are worth to it.

    Attributes:
        deadline_s: 0 for none.
    """

    submitted_s: float
    deadline_s: float = 0.0
    wishes: JobWishes = NO_WISHES


def deadline_of(tags: Iterable[str]) -> Deadline | None:
    """The deadline that tags name; None if none does.

    Raises:
        BadRequestError: More than one does, or one that is no instant and no length of time.
    """
    named = [tag for tag in tags if tag.lower().partition("=")[0].strip() == DEADLINE_TAG]
    if not named:
        return None
    if len(named) > 1:
        raise BadRequestError(f"more than one tag {DEADLINE_TAG}: an application has one deadline")
    text = named[0].partition("=")[2].upper()
    after = _AFTER.fullmatch(text.lower())
    if after is not None and 0 < (seconds := int(after[1]) * _UNITS_S[after[2]]) <= _LONGEST_S:
        return Deadline(float(seconds), is_relative=True)
    if _INSTANT.fullmatch(text):
        try:
            return Deadline(datetime.fromisoformat(text).astimezone(UTC).timestamp())
        except (ValueError, OverflowError):
            pass
    raise BadRequestError(
        f"the tag {named[0][:100]} is no deadline: write {DEADLINE_TAG}=2026-11-24T08:00:00Z, or {DEADLINE_TAG}=+45m "
        f"for so long after the submission (s, m, h or d; {_LONGEST_S // 86_400} days at most)"
    )


def job_times(submitted_s: float, tags: Iterable[str]) -> JobTimes:
    """Tell an application's times and wishes; one that was not submitted through Heddle may have tags that are none."""
    told = tuple(tags)
    try:
        deadline = deadline_of(told)
    except BadRequestError:
        deadline = None
    try:
        wishes = wishes_of(told)
    except BadRequestError:
        wishes = NO_WISHES
    return JobTimes(submitted_s, 0.0 if deadline is None else deadline.at_s(submitted_s), wishes)


def arrival_by_id(application: ApplicationId) -> float:
    """Return when an application came, as far as its id does, which outlives a Global Master; for comparing only."""
    return application.cluster_timestamp / 1000.0 + application.sequence / _SEQUENCES_A_SECOND


# Work left of applications: containers that have not ended, and what a number of them at a time makes of it.


@dataclass(frozen=True, slots=True)
class WorkLeft:
    """Containers of an application that have not ended, as far as it was learnt.

    Attributes:
        containers: That have not ended, those that it has not asked for yet included if former runs tell of them.
        container_s: How long one is expected to run.
        running: Containers that it has.
        runs: Former runs that this was learnt from; 0 for its own containers alone.
    """

    containers: int
    container_s: float
    running: int
    runs: int

    def left_s(self, allocation: int) -> float:
        """Seconds until all have ended on so many at a time; source: Amdahl's law, as Jockey's section 4.1 has it."""
        return self.container_s + self.containers * self.container_s / max(1, allocation) if self.containers else 0.0

    def least_allocation(self, within_s: float) -> int | None:
        """Fewest containers at a time that end in time; None if no number does."""
        if not self.containers:
            return 0
        over_s = within_s - self.container_s
        if over_s <= 0.0:
            return 1 if self.containers == 1 and self.container_s <= within_s else None
        return max(1, math.ceil(self.containers * self.container_s / over_s))
