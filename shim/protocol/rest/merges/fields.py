"""Rules by which one field of several documents becomes one field.

A rule takes the values of a field with the weight of the document that each is from. Numbers of the "mapped" objects of
Jersey 1 are strings of digits: a rule that computes answers in the form that it was given.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from shim.domain.ids import SubClusterId
from shim.domain.packed_texts import Text, plain
from shim.domain.told_bounds import MOST
from shim.errors import NoUsableSubClusterError
from shim.protocol.wire_values import number


@dataclass(frozen=True, slots=True)
class PartialDocument:
    """One sub-cluster's document.

    Attributes:
        told: JSON as its ResourceManager answered; maybe packed.
        weight: Size of the sub-cluster, memory in MiB: how much its percentages count.
    """

    subcluster: SubClusterId
    told: Text
    weight: float = 1.0

    @property
    def document(self) -> bytes:
        """The answer as it was written."""
        return plain(self.told)


Merge = Callable[[Sequence[PartialDocument]], bytes]
_ODD = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, msgspec.MsgspecError)
"""What a merge ends with for a document that is JSON, and not of the shape that a ResourceManager's has."""


def merge_readable(merge: Merge, parts: Sequence[PartialDocument]) -> tuple[bytes, list[SubClusterId]]:
    """One document of those that can be merged, and the sub-clusters of those that cannot.

    Raises:
        NoUsableSubClusterError: If none can.
    """
    try:
        return merge(parts), []
    except _ODD:
        good = [each for each in parts if _merges(merge, each)]
        if not good:
            raise NoUsableSubClusterError("no sub-cluster's document is one of a ResourceManager") from None
        known = {each.subcluster for each in good}
        return merge(good), [each.subcluster for each in parts if each.subcluster not in known]


def _merges(merge: Merge, part: PartialDocument) -> bool:
    """True if a document can be merged: tried with itself, as one alone is not looked into."""
    try:
        merge((part, part))
    except _ODD:
        return False
    return True


Weighted = Sequence[tuple[Any, float]]
Rule = Callable[[Weighted], Any]

_INT32_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1
_INT64_DIGITS = 19
_DECIMALS = 6


def decode(document: bytes) -> Any:
    """Parse a document that is to be computed with; null, which is how Hadoop 2 says nothing, as an empty object."""
    value = msgspec.json.decode(document)
    return {} if value is None else value


def encode(value: Any) -> bytes:
    """Write a computed document."""
    return msgspec.json.encode(value)


def first(values: Weighted) -> Any:
    """The value of the first sub-cluster that has one."""
    return values[0][0]


def total(values: Weighted) -> Any:
    return _like(values, amount(sum(amount(value) for value, _ in values)))


def saturating_total(values: Weighted) -> Any:
    """The sum, where the largest int32 means that there is no limit."""
    return _like(values, min(_INT32_MAX, sum(amount(value) for value, _ in values)))


def largest(values: Weighted) -> Any:
    return _like(values, max(amount(value) for value, _ in values))


def smallest(values: Weighted) -> Any:
    return _like(values, min(amount(value) for value, _ in values))


def average(values: Weighted) -> Any:
    """The mean by weight; that of equal weights if all are zero."""
    weights = [max(0.0, weight) for _, weight in values]
    if not any(weights):
        weights = [1.0] * len(values)
    mean = sum(amount(value) * weight for (value, _), weight in zip(values, weights, strict=True)) / sum(weights)
    is_whole = all(type(value) is int for value, _ in values)
    return _like(values, round(mean) if is_whole else round(float(mean), _DECIMALS))


def any_true(values: Weighted) -> Any:
    """True if one is; strings `"true"` and `"false"` stay strings."""
    return _truth(values, any)


def all_true(values: Weighted) -> Any:
    return _truth(values, all)


def union(values: Weighted) -> list[Any]:
    """Every item of the lists, once."""
    found: dict[Any, None] = {}
    for value, _ in values:
        items = value if isinstance(value, list) else [value]
        found.update(dict.fromkeys(each for each in items if not isinstance(each, list | dict)))
    return list(found)


def nested(rules: Mapping[str, Rule], *, default: Rule = first) -> Rule:
    """Merge objects field by field."""

    def rule(values: Weighted) -> Any:
        return merge_objects(values, rules, default=default)

    return rule


def keyed(key: str, rules: Mapping[str, Rule]) -> Rule:
    """Merge lists of objects by the value of one of their fields."""

    def rule(values: Weighted) -> list[Any]:
        groups: dict[Any, list[tuple[Any, float]]] = {}
        for value, weight in values:
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, dict):
                    groups.setdefault(str(item.get(key)), []).append((item, weight))
        return [merge_objects(group, rules) for group in groups.values()]

    return rule


def merge_objects(values: Weighted, rules: Mapping[str, Rule], *, default: Rule = first) -> dict[str, Any]:
    """Merge objects: each field by its rule; resources are summed wherever they stand without one.

    The object with the most fields goes first: of several versions of Hadoop the newest gives the form.
    """
    present: dict[str, list[tuple[Any, float]]] = {}
    objects = [pair for pair in values if isinstance(pair[0], dict)]
    for value, weight in sorted(objects, key=lambda pair: -len(pair[0])):
        for name, member in value.items():
            present.setdefault(name, []).append((member, weight))
    return {name: _apply(rules.get(name), members, default) for name, members in present.items()}


def _apply(rule: Rule | None, members: list[tuple[Any, float]], default: Rule) -> Any:
    known = [member for member in members if member[0] is not None]
    if not known:
        return None
    if rule is None:
        rule = resource_total if _is_resource(known[0][0]) else default
    return rule(known)


def _is_resource(value: Any) -> bool:
    return isinstance(value, dict) and "memory" in value and "vCores" in value


_INFORMATION: Mapping[str, Rule] = {
    "value": total,
    "maximumAllocation": smallest,
    "minimumAllocation": smallest,
}
_RESOURCE: Mapping[str, Rule] = {
    "memory": total,
    "vCores": total,
    "resourceInformations": nested({"resourceInformation": keyed("name", _INFORMATION)}),
}
_SMALLEST: Mapping[str, Rule] = {
    "memory": smallest,
    "vCores": smallest,
    "resourceInformations": nested({"resourceInformation": keyed("name", {**_INFORMATION, "value": smallest})}),
}

resource_total: Rule = nested(_RESOURCE)
"""The sum of resources, of every type that one of them has."""

resource_smallest: Rule = nested(_SMALLEST)
"""The least of each resource type: one container meets one sub-cluster."""


def amount(value: Any) -> float | int:
    """A number as it was told, within the 64 bits of Java's; 0 for what is none."""
    if type(value) is int:
        return max(-_INT64_MAX, min(value, _INT64_MAX))
    if isinstance(value, float):
        return max(-float(MOST), min(value, float(MOST)))
    if not isinstance(value, str):
        return 0
    digits = value.removeprefix("-")
    is_whole = digits.isascii() and digits.isdigit() and len(digits) <= _INT64_DIGITS
    found = min(int(digits), _INT64_MAX) if is_whole else number(digits)
    return -found if value.startswith("-") else found


def _like(values: Weighted, result: float) -> Any:
    return str(result) if isinstance(values[0][0], str) else result


def _truth(values: Weighted, judge: Callable[[list[bool]], bool]) -> Any:
    result = judge([value in (True, "true") for value, _ in values])
    return str(result).lower() if isinstance(values[0][0], str) else result
