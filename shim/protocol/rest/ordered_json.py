"""JSON that keeps what a `dict` loses: repeated keys, their order, and how a number was written.

The ResourceManager repeats the key `entry` in `resourceSecondsMap`, and writes `30.000002` where a binary float
read and written again could differ. What is only carried is therefore never rebuilt from a `dict`.
"""

import json
import re
from typing import TypeAlias


class NumberText(str):
    """A number in the digits that stood in the document."""

    __slots__ = ()


class Pairs(list[tuple[str, "JsonValue"]]):
    """A JSON object as its members in order; a key may occur more than once."""

    __slots__ = ()


JsonValue: TypeAlias = "Pairs | list[JsonValue] | NumberText | str | bool | None"


def parse_ordered(document: bytes | str) -> JsonValue:
    """Read a JSON document without losing anything of it.

    Raises:
        ValueError: If it is not JSON.
        RecursionError: If it nests deeper than the interpreter allows; check `nesting_depth` of untrusted bytes first.
    """
    value: JsonValue = json.loads(
        document, object_pairs_hook=Pairs, parse_int=NumberText, parse_float=NumberText, parse_constant=_no_number
    )
    return value


def _no_number(constant: str) -> JsonValue:
    """Refuse `NaN` and `Infinity`, which Python reads and JSON has not."""
    raise ValueError(f"{constant} is no JSON")


_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[{}\[\]]', re.DOTALL)
"""A string, which may hold brackets, or a bracket. Possessive: linear whatever the bytes are."""


def nesting_depth(document: bytes, *, limit: int) -> int:
    """Deepest nesting of objects and lists, counted without building anything; stops at `limit` + 1."""
    if document.count(b"{") + document.count(b"[") <= limit:
        return 0
    depth = deepest = 0
    for found in _TOKEN.finditer(document):
        token = found[0][:1]
        if token in (b"{", b"["):
            depth += 1
            deepest = max(deepest, depth)
            if deepest > limit:
                break
        elif token in (b"}", b"]"):
            depth -= 1
    return deepest
