"""Operators' constraints as they are written, and the node groups that they name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.placement_rules import CountWish, NodeGroup, read_wish
from shim.errors import BadRequestError

TAGS = st.frozensets(st.text("abz-_/:0", min_size=1, max_size=4), min_size=1, max_size=3)
ENDS = st.tuples(st.integers(0, 999_999), st.none() | st.integers(0, 999_999)).filter(
    lambda ends: ends != (0, None) and (ends[1] is None or ends[0] <= ends[1])
)
WISHES = st.builds(
    lambda tags, ends, group: CountWish(tags, ends[0], ends[1], group),
    TAGS,
    ENDS,
    st.sampled_from(("node", "rack", "fd")),
)


def written(wish: CountWish) -> str:
    number = (
        str(wish.least) if wish.most == wish.least else f"{wish.least or ''}..{'' if wish.most is None else wish.most}"
    )
    return f"{number} {'+'.join(sorted(wish.tags))} in {wish.group}"


@given(st.lists(st.lists(WISHES, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3).map(tuple))
def test_a_wish_is_read_as_it_is_written(any_of):
    assert read_wish(" or ".join(" and ".join(map(written, choice)) for choice in any_of)) == any_of


def test_both_ends_of_a_range_are_in_it_and_a_number_alone_is_exactly_that_many():
    (choice,) = read_wish("0 hb in node and  3..10 a+b in rack and ..2 c in rack and 1.. d in up")
    told = [(set(wish.tags), wish.least, wish.most, wish.group) for wish in choice]
    assert told == [
        ({"hb"}, 0, 0, "node"),
        ({"a", "b"}, 3, 10, "rack"),
        ({"c"}, 0, 2, "rack"),
        ({"d"}, 1, None, "up"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no bound"),
        ("0 hb on node", "no bound"),
        ("0 hb in node and", "no bound"),
        ("0 hb in node or or 1 b in node", "no bound"),
        ("x hb in node", "no range"),
        (".. hb in node", "no range"),
        ("-1 hb in node", "no range"),
        ("1.5 hb in node", "no range"),
        ("12345678 hb in node", "no range"),
        ("3..1 hb in node", "ends before it begins"),
        ("0.. hb in node", "bounds nothing"),
        ("0 a++b in node", "no bound"),
        (" or ".join(["0 a in node"] * 17), "more than 16"),
        (" and ".join(["0 a in node"] * 17), "more than 16"),
        ("0 a in node or " * 500, "longer than"),
    ],
)
def test_what_is_no_wish_is_refused_with_the_reason(text, said):
    with pytest.raises(BadRequestError, match=said):
        read_wish(text)


def test_sets_of_hosts_are_names_and_patterns_and_empty_ones_are_left_out():
    group = NodeGroup("fd", (("one", ("A1", "b*")), ("two", ("b2",)), ("gone", ("c9", "d?"))))
    assert group.members(("a1", "B1", "b2", "a1")) == ((0, 1, 2, 3), (2,))
