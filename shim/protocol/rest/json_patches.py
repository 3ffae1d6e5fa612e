"""Differences between two JSON documents, as patches of RFC 6902; of its operations `add`, `remove` and `replace`.

Documents are what a JSON reader makes: dictionaries, lists, texts, numbers, booleans and None. Elements of lists are
compared by their places: one that is put in before others changes all of them, and the whole list may then be shorter
than the patch.
"""

from collections.abc import Iterator
from typing import Any

__all__ = ["Operation", "patch_of"]

Operation = dict[str, Any]
_MISSING = object()


def patch_of(before: Any, after: Any) -> list[Operation]:
    """Make the operations that turn one document into another, in the order in which they are to be done.

    Args:
        before: A document, at most as deep as the interpreter's stack allows: what Heddle itself has written.
        after: Another one.

    Returns:
        None at all for documents that say the same.
    """
    return list(_operations(before, after, ""))


def _operations(before: Any, after: Any, at: str) -> Iterator[Operation]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _of_members(before, after, at)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_elements(before, after, at)
    elif type(before) is not type(after) or before != after:  # 1, 1.0 and true are three values
        yield {"op": "replace", "path": at, "value": after}


def _of_members(before: dict[str, Any], after: dict[str, Any], at: str) -> Iterator[Operation]:
    for name in before.keys() - after.keys():
        yield {"op": "remove", "path": f"{at}/{_escaped(name)}"}
    for name, value in after.items():
        place = f"{at}/{_escaped(name)}"
        known = before.get(name, _MISSING)
        if known is _MISSING:
            yield {"op": "add", "path": place, "value": value}
        else:
            yield from _operations(known, value, place)


def _of_elements(before: list[Any], after: list[Any], at: str) -> Iterator[Operation]:
    for number, (old, new) in enumerate(zip(before, after, strict=False)):
        yield from _operations(old, new, f"{at}/{number}")
    for number in range(len(before) - 1, len(after) - 1, -1):  # from the end: places before it stay
        yield {"op": "remove", "path": f"{at}/{number}"}
    for value in after[len(before) :]:
        yield {"op": "add", "path": f"{at}/-", "value": value}


def _escaped(name: str) -> str:
    """A member's name as RFC 6901, section 3, writes it."""
    return name.replace("~", "~0").replace("/", "~1")
