"""Wishes of applications: tags that say what a good place and a good time are worth to one.

    heddle-budget=3             worth three times as much as another
    heddle-slowdown=1.5         its containers run so many times as long away from the hosts that its asks name
    heddle-tolerance=10m        after its deadline it is worth less and less, and after so long nothing: s, m, h or d
    heddle-penalty=2            what is lost beside its worth if it is not done by then
    heddle-altruism=0.5         how often it puts off what it does not need now, in a queue with `altruism`: 0 to 1
    heddle-shape=one-cluster    its gang is worth more in one sub-cluster; or `spread`: over all that have room

Tags, because every client of YARN can send them. ResourceManagers turn tags into lower case.

Source: Tumanov et al., "alsched", SoCC 2012, and "TetriSched" (its wizard): budget, sensitivity, penalty.

Deadlines of applications: a tag that says when one should have ended.

    heddle-deadline=2026-11-24T08:00:00Z     an instant of UTC
    heddle-deadline=+45m                     so long after its submission: a number of s, m, h or d

A tag, because every client of YARN can send one and every ResourceManager keeps it. ResourceManagers turn tags into
lower case.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from types import MappingProxyType

from shim.domain.ids import ApplicationId
from shim.errors import BadRequestError

_NUMBER = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,4})?")
_LENGTH = re.compile(r"([0-9]{1,7})([smhd])")
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class GangShape(Enum):
    """Shapes that a gang may want to have."""

    ANY = "any"
    ONE_CLUSTER = "one-cluster"
    """All of it in one sub-cluster; elsewhere it runs `slowdown` times as long."""
    SPREAD = "spread"
    """A part of it in each sub-cluster that has room, so that no loss of one takes all."""


@dataclass(frozen=True, slots=True)
class JobWishes:
    """What places and times are worth to a job.

    Attributes:
        budget: Its worth, where another's is 1.
        slowdown: Run time of its containers away from its preferred places, as a multiple; 0 where nothing is said.
        tolerance_s: How long after its deadline it is worth something yet.
        penalty: What is lost if it is not done by then, in budgets of 1.
        altruism: Probability with which it puts off what it does not need now; None for its queue's.
    """

    budget: float = 1.0
    slowdown: float = 0.0
    tolerance_s: float = 0.0
    penalty: float = 0.0
    shape: GangShape = GangShape.ANY
    altruism: float | None = None


NO_WISHES = JobWishes()


def _number(least: float, most: float = math.inf) -> Callable[[str], float | None]:
    def read(text: str) -> float | None:
        value = float(text) if _NUMBER.fullmatch(text) else None
        return value if value is not None and least <= value <= most else None

    return read


def _length_s(text: str) -> float | None:
    found = _LENGTH.fullmatch(text)
    return None if found is None else float(int(found[1]) * _UNITS_S[found[2]])


_SHAPES = {shape.value: shape for shape in GangShape}
_TAGS: Mapping[str, tuple[str, Callable[[str], object], str]] = MappingProxyType(
    {
        "heddle-budget": ("budget", _number(0.0001), "a number above 0, as heddle-budget=3"),
        "heddle-slowdown": ("slowdown", _number(1.0), "1 or more, as heddle-slowdown=1.5"),
        "heddle-tolerance": ("tolerance_s", _length_s, "a length of time, as heddle-tolerance=10m (s, m, h or d)"),
        "heddle-penalty": ("penalty", _number(0.0), "a number, as heddle-penalty=2"),
        "heddle-altruism": ("altruism", _number(0.0, 1.0), "a number from 0 to 1, as heddle-altruism=0.5"),
        "heddle-shape": ("shape", _SHAPES.get, f"one of {', '.join(_SHAPES)}"),
    }
)


def wishes_of(tags: Iterable[str]) -> JobWishes:
    """The wishes that tags name.

    Raises:
        BadRequestError: One is named twice, or cannot be read.
    """
    found: dict[str, object] = {}
    for tag in tags:
        name, _, text = tag.partition("=")
        known = _TAGS.get(name.strip().lower())
        if known is None:
            continue
        key, read, wanted = known
        if key in found:
            raise BadRequestError(f"more than one tag {name.strip().lower()}: an application has one")
        value = read(text.strip().lower())
        if value is None:
            raise BadRequestError(f"the tag {tag[:100]} cannot be read: write {wanted}")
        found[key] = value
    return replace(NO_WISHES, **found) if found else NO_WISHES  # type: ignore[arg-type]  # each is read by its kind


DEADLINE_TAG = "heddle-deadline"

_AFTER = re.compile(r"\+([0-9]{1,7})([smhd])")
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?Z")
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
