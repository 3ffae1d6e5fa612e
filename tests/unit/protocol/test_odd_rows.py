"""What cannot be read costs itself alone, and is counted as what it is."""

from collections import Counter
from typing import Any, ClassVar, Literal

import msgspec
import pytest

from shim.errors import RemoteProtocolError
from shim.protocol.odd_rows import Mender, mended


class Part(msgspec.Struct):
    NOUN: ClassVar[str] = "parts"
    name: str
    size: int = 0


class Parts(msgspec.Struct):
    part: list[Part] | Part | None = None


class Branch(msgspec.Struct):
    NOUN: ClassVar[str] = "branches"
    name: str
    below: "Branches | None" = None
    parts: Parts | None = None


class Branches(msgspec.Struct):
    branch: list[Branch] | Branch | None = None


class Tree(msgspec.Struct):
    NOUN: ClassVar[str] = "trees"
    kind: str
    top: Branches | None = None
    words: list[str] | None = None
    holder: Parts | None = None
    about: Part | Literal[""] | None = None
    count: int = msgspec.field(default=0, name="howMany")


def branch(*below: Any, name: Any = "b", **more: Any) -> dict[str, Any]:
    return {"name": name, **({"below": {"branch": list(below)}} if below else {}), **more}


A_PART = {"name": "p", "size": 3}


@pytest.mark.parametrize(
    ("told", "kept", "left_out"),
    [
        ({}, {}, {}),
        ({"unknown": 1, "top": None, "words": None, "howMany": None}, {}, {}),
        ({"howMany": "7"}, {"howMany": "7"}, {}),
        ({"words": ["a", "b"]}, {"words": ["a", "b"]}, {}),
        ({"words": ["a", 7, {}, "b", None]}, {"words": ["a", "b"]}, {"labels": 3}),
        ({"words": []}, {"words": []}, {}),
        ({"words": "a"}, {}, {"labels": 1}),
        ({"holder": {}}, {"holder": {}}, {}),
        ({"holder": 7}, {}, {"parts": 1}),
        ({"holder": {"part": 7}}, {"holder": {}}, {"parts": 1}),
        ({"holder": {"part": A_PART}}, {"holder": {"part": [A_PART]}}, {}),
        ({"holder": {"part": {"size": 1}}}, {"holder": {"part": []}}, {"parts": 1}),
        ({"holder": {"part": [A_PART, 7, {}, {"name": 7}, A_PART]}}, {"holder": {"part": [A_PART] * 2}}, {"parts": 3}),
        ({"about": A_PART}, {"about": A_PART}, {}),
        ({"top": {"branch": branch()}}, {"top": {"branch": [branch()]}}, {}),
        ({"top": {"branch": [branch(branch(), 7)]}}, {"top": {"branch": [branch(branch())]}}, {"branches": 1}),
        ({"top": {"branch": [branch(branch(), branch(), name=7)]}}, {"top": {"branch": []}}, {"branches": 3}),
        ({"top": {"branch": [branch(branch(branch()), name=7)]}}, {"top": {"branch": []}}, {"branches": 2}),
        ({"top": {"branch": [branch(name=7, below=7)]}}, {"top": {"branch": []}}, {"branches": 1}),
        ({"top": {"branch": [branch(name=7, below={"branch": 7})]}}, {"top": {"branch": []}}, {"branches": 1}),
        (
            {"top": {"branch": [branch(parts={"part": [A_PART, 7]}), branch(parts=7)]}},
            {"top": {"branch": [branch(parts={"part": [A_PART]}), branch()]}},
            {"parts": 2},
        ),
    ],
)
def test_of_a_document_all_is_kept_but_what_is_odd_which_is_counted(told, kept, left_out):
    counted = Counter[str]()
    assert mended({"kind": "k", **told}, Tree, counted) == {"kind": "k", **kept}
    assert counted == left_out
    msgspec.convert({"kind": "k", **kept}, Tree, strict=False)


@pytest.mark.parametrize(
    "told",
    [
        *(7, None, [], "x", {}, {"kind": 7}, {"kind": None}, {"kind": "k", "about": 7}),
        *({"kind": "k", "about": {"name": 7}}, {"kind": "k", "howMany": "many"}, {"kind": "k", "howMany": {}}),
    ],
)
def test_an_odd_member_that_is_no_list_makes_its_object_unreadable(told):
    with pytest.raises(RemoteProtocolError, match="the document is not readable"):
        mended(told, Tree, Counter())


def run(mender: Mender, told: Any, form: type[msgspec.Struct]) -> tuple[int, dict[str, Any]]:
    """Pauses, and what was read."""
    steps, pauses = mender.steps(told, form), 0
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            return pauses, ended.value
        pauses += 1


def test_the_root_is_read_without_what_is_odd_of_it_and_no_other_of_its_form_is():
    counted = Counter[str]()
    assert run(Mender(8, counted, root=Part), {"name": 7, "size": "x"}, Part) == (0, {})
    assert counted == {"parts": 2}
    counted.clear()
    told = {"kind": "k", "holder": {"part": [{"name": 7}, {"name": 8}]}}
    assert run(Mender(8, counted, root=Part), told, Tree)[1] == {"kind": "k", "holder": {"part": [{}]}}
    assert counted == {"parts": 2}


@pytest.mark.parametrize(("levels", "is_refused"), [(1, True), (3, True), (4, True), (5, False), (6, False)])
def test_more_levels_than_are_read_are_refused(levels, is_refused):
    """The document, its branches, a branch, its branches, a branch: five."""
    told = {"kind": "k", "top": {"branch": [branch(branch())]}}
    if is_refused:
        with pytest.raises(RemoteProtocolError, match=f"more than {levels} levels"):
            mended(told, Tree, Counter(), most_levels=levels)
    else:
        assert mended(told, Tree, Counter(), most_levels=levels) == told


@pytest.mark.parametrize("count", [0, 17, 18, 37, 38, 58])
def test_others_have_their_turn_after_each_twenty_objects(count):
    """The document and the holder are two."""
    told = {"kind": "k", "holder": {"part": [A_PART] * count}}
    assert run(Mender(8, Counter()), told, Tree) == ((count + 2) // 20, told)
