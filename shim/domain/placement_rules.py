"""Operators' constraints between containers with tags, and the sets of nodes that these may name. Values only.

    0 hb in node                              no hb on its node (anti-affinity)
    1.. hb+mem in rack                        at least one with both tags in its rack (affinity)
    3..10 spark in rack and ..1 web in node   between three and ten, and at most one (cardinality)
    0 hb in upgrade or ..2 hb in rack         one of two conjunctions is enough

Counted are the *other* containers of a set, of all applications. Ranges have both ends in them; a number alone is
exactly that many.

Source: Garefalakis et al., EuroSys 2018, section 4.
"""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from shim.errors import BadRequestError

NODE, RACK, CLUSTER = "node", "rack", "cluster"
KNOWN_GROUPS: tuple[str, ...] = (NODE, RACK, CLUSTER)
"""Node groups that need no table."""
MOST_CHOICES = 16
_MOST_TERMS = 16
_LONGEST = 2000
_LONGEST_SHOWN = 80
_RANGE = re.compile(r"(?P<least>\d{1,6})?(?P<dots>\.\.)?(?P<most>\d{1,6})?")
TAG = r"[^\s+(),]+"
"""What a tag may be."""
_TAGS = re.compile(rf"{TAG}(?:\+{TAG})*")
_FORM = 'write it as "0 hb in node", "1.. hb+mem in rack" or "..2 web in node and 3..10 spark in rack or ..."'


@dataclass(frozen=True, slots=True)
class CountWish:
    """How many other containers with some tags a container wants in a set of its nodes."""

    tags: frozenset[str]
    least: int
    most: int | None
    group: str


@dataclass(frozen=True, slots=True)
class OperatorConstraint:
    """A constraint that an operator states, whatever applications ask for.

    Attributes:
        subject: Tags that a container has, all of them, whose place it is about.
        any_of: Conjunctions, of which one shall hold.
        is_hard: Whether a container rather waits than breaks it.
    """

    name: str
    subject: frozenset[str]
    any_of: tuple[tuple[CountWish, ...], ...]
    weight: float
    is_hard: bool


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Sets of nodes that constraints may name: upgrade domains, fault domains, rooms. Sets may overlap.

    Attributes:
        sets: Patterns of host names by the name of the set, `*` and `?` in them.
    """

    name: str
    sets: tuple[tuple[str, tuple[str, ...]], ...]

    def members(self, hosts: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
        """Places of each set's hosts in a list; a set without any is left out."""
        found = []
        places: dict[str, list[int]] = {}
        for place, host in enumerate(hosts):
            places.setdefault(host.lower(), []).append(place)
        for _, patterns in self.sets:
            here = set[int]()
            for pattern in map(str.lower, patterns):
                if any(sign in pattern for sign in "*?["):
                    here.update(place for host, all_ in places.items() if fnmatchcase(host, pattern) for place in all_)
                else:
                    here.update(places.get(pattern, ()))
            if here:
                found.append(tuple(sorted(here)))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class PlacementRules:
    """What operators want of the places of containers, all of it."""

    constraints: tuple[OperatorConstraint, ...] = ()
    node_groups: tuple[NodeGroup, ...] = ()


NO_RULES = PlacementRules()


def read_wish(text: str) -> tuple[tuple[CountWish, ...], ...]:
    """Read a wish, in disjunctive normal form.

    Raises:
        BadRequestError: It is none; the message says which part, and how one is written.
    """
    if len(text) > _LONGEST:
        raise BadRequestError(f"is longer than the {_LONGEST} characters that are read")
    choices = tuple(
        tuple(_term(term) for term in _divided(choice, "and")) for choice in _divided(" ".join(text.split()), "or")
    )
    if len(choices) > MOST_CHOICES or any(len(choice) > _MOST_TERMS for choice in choices):
        raise BadRequestError(f"has more than {MOST_CHOICES} parts with `or`, or {_MOST_TERMS} with `and`")
    return choices


def _divided(text: str, word: str) -> list[str]:
    return text.split(f" {word} ")


def _term(text: str) -> CountWish:
    words = text.split()
    if len(words) != 4 or words[2] != "in" or _TAGS.fullmatch(words[1]) is None:  # noqa: PLR2004 - as in the form
        raise BadRequestError(f"{text[:_LONGEST_SHOWN]!r} is no bound: {_FORM}")
    least, most = _range(words[0], text)
    return CountWish(frozenset(words[1].split("+")), least, most, words[3])


def _range(word: str, text: str) -> tuple[int, int | None]:
    found = _RANGE.fullmatch(word)
    if found is None or not (found["least"] or found["most"]) or (found["most"] and not found["dots"]):
        raise BadRequestError(f"{word[:_LONGEST_SHOWN]!r} in {text[:_LONGEST_SHOWN]!r} is no range: {_FORM}")
    least = int(found["least"] or 0)
    most = int(found["most"]) if found["most"] else None if found["dots"] else least
    if most is not None and most < least:
        raise BadRequestError(f"{word!r} in {text[:_LONGEST_SHOWN]!r} ends before it begins: nothing is in that range")
    if least == 0 and most is None:
        raise BadRequestError(f"{word!r} in {text[:_LONGEST_SHOWN]!r} bounds nothing: {_FORM}")
    return least, most
