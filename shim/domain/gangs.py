"""Gangs: a tag that says how many of an application's containers must be had together.

    heddle-gang=20         the first 20 containers, all or none
    heddle-gang=20@5m      what is granted of them is held for 5 minutes at most: a number of s or m

A tag, because every client of YARN can send one and every ResourceManager keeps it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from shim.errors import BadRequestError

GANG_TAG = "heddle-gang"

_FORM = re.compile(r"([0-9]{1,6})(?:@([0-9]{1,4})([sm]))?")
_UNITS_S = {"s": 1, "m": 60}
_DEFAULT_S = 120
_LONGEST_S = 480
"""A ResourceManager takes a container back that is not launched within 600 s, by its default
(`yarn.resourcemanager.rm.container-allocation.expiry-interval-ms`): the ApplicationMaster has the rest for that."""
_SMALLEST, _LARGEST = 2, 100_000


@dataclass(frozen=True, slots=True)
class Gang:
    """Containers that an application must have together.

    Attributes:
        count: How many: the first that it asks for, whatever their sizes.
        limit_s: A try to get them ends after so long; what was granted by then is given back.
    """

    count: int
    limit_s: float = float(_DEFAULT_S)


def gang_of(tags: Iterable[str]) -> Gang | None:
    """The gang that tags name; None if none does.

    Raises:
        BadRequestError: More than one does, or one that is no count, or has a time out of bounds.
    """
    named = [tag for tag in tags if tag.lower().partition("=")[0].strip() == GANG_TAG]
    if not named:
        return None
    if len(named) > 1:
        raise BadRequestError(f"more than one tag {GANG_TAG}: an application has one gang")
    found = _FORM.fullmatch(named[0].partition("=")[2].lower())
    if found is not None and _SMALLEST <= (count := int(found[1])) <= _LARGEST:
        limit_s = int(found[2]) * _UNITS_S[found[3]] if found[2] else _DEFAULT_S
        if 0 < limit_s <= _LONGEST_S:
            return Gang(count, float(limit_s))
    raise BadRequestError(
        f"the tag {named[0][:100]} is no gang: write {GANG_TAG}=20 for 20 containers all or none ({_SMALLEST} to "
        f"{_LARGEST}), or {GANG_TAG}=20@5m to hold what is granted of them for at most 5 minutes (s or m; "
        f"{_LONGEST_S // 60} minutes at most)"
    )


def gang_asked_by(tags: Iterable[str]) -> Gang | None:
    """The gang of an application that may not have been submitted through Heddle: a tag that is none counts as none."""
    try:
        return gang_of(tags)
    except BadRequestError:
        return None
