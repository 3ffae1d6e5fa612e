"""Wishes of applications: tags that say what a good place and a good time are worth to one.

    heddle-budget=3             worth three times as much as another
    heddle-slowdown=1.5         its containers run so many times as long away from the hosts that its asks name
    heddle-tolerance=10m        after its deadline it is worth less and less, and after so long nothing: s, m, h or d
    heddle-penalty=2            what is lost beside its worth if it is not done by then
    heddle-altruism=0.5         how often it puts off what it does not need now, in a queue with `altruism`: 0 to 1
    heddle-shape=one-cluster    its gang is worth more in one sub-cluster; or `spread`: over all that have room

Tags, because every client of YARN can send them. ResourceManagers turn tags into lower case.

Source: Tumanov et al., "alsched", SoCC 2012, and "TetriSched" (its wizard): budget, sensitivity, penalty.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType

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
