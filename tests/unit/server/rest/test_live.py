"""Patches turn one document into the other, whoever applies them by the letter of RFC 6902."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.server.rest.live import Operation, patch_of

LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 0.5]) | st.text("a~/0", max_size=3)
DOCUMENTS = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("a~/01-", max_size=3), inner, max_size=4),
    max_leaves=12,
)


def applied(document: Any, patch: list[Operation]) -> Any:
    """The document that RFC 6902 makes of a patch, operation by operation."""
    whole = {"": copy.deepcopy(document)}
    for operation in patch:
        *path, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")]
        at: Any = whole
        for part in path:
            at = at[int(part)] if isinstance(at, list) else at[part]
        if isinstance(at, list):
            index = len(at) if last == "-" else int(last)
            assert index < len(at) + (operation["op"] == "add")
            if operation["op"] == "remove":
                del at[index]
            elif operation["op"] == "add":
                at.insert(index, operation["value"])
            else:
                at[index] = operation["value"]
        else:
            assert (last in at) is (operation["op"] != "add"), "add is of what is not there, the others of what is"
            if operation["op"] == "remove":
                del at[last]
            else:
                at[last] = operation["value"]
    return whole[""]


def typed(document: Any) -> Any:
    """The document with the types of its leaves: to Python 1, 1.0 and True are equal."""
    if isinstance(document, dict):
        return {name: typed(value) for name, value in document.items()}
    if isinstance(document, list):
        return [typed(value) for value in document]
    return type(document).__name__, document


@given(before=DOCUMENTS, after=DOCUMENTS)
def test_what_is_patched_is_the_other_document(before: Any, after: Any) -> None:
    assert typed(applied(before, patch_of(before, after))) == typed(after)


@given(document=DOCUMENTS)
def test_the_same_needs_no_operation(document: Any) -> None:
    assert patch_of(document, copy.deepcopy(document)) == []


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 3}]}}, [("replace", "/a/b/1/c", 3)]),
        ([1, 2, 3], [1], [("remove", "/2", None), ("remove", "/1", None)]),
        ([1], [1, 2, 3], [("add", "/-", 2), ("add", "/-", 3)]),
        ({"a/b~": 1}, {}, [("remove", "/a~1b~0", None)]),
        ({"a": 1}, {"a": True}, [("replace", "/a", True)]),
        ({"a": []}, {"a": {}}, [("replace", "/a", {})]),
        (1, 2, [("replace", "", 2)]),
    ],
)
def test_a_change_is_told_where_it_is(before: Any, after: Any, patch: list[tuple[str, str, Any]]) -> None:
    assert [(each["op"], each["path"], each.get("value")) for each in patch_of(before, after)] == patch
