"""JSON that keeps what a dict loses, and its depth before it is parsed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.protocol.rest.ordered_json import NumberText, Pairs, nesting_depth, parse_ordered

VALUES = st.recursive(
    st.none() | st.booleans() | st.text() | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


def depth_of(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth_of, value), default=0)
    return 0


@given(VALUES)
def test_the_depth_is_that_of_the_parsed_value(value):
    assert nesting_depth(json.dumps(value).encode(), limit=0) == min(depth_of(value), 1)
    padded = json.dumps([value, *([[]] * 70)]).encode()
    assert nesting_depth(padded, limit=60) == max(2, 1 + depth_of(value))


@given(st.binary(max_size=300))
def test_any_bytes_have_some_depth(document):
    assert 0 <= nesting_depth(document, limit=8) <= min(9, document.count(b"[") + document.count(b"{"))


@pytest.mark.parametrize("opened", [b'"' * 200_001, b'"\\' * 200_000, b'["' * 100_000, b"{" * 300_000])
@pytest.mark.timeout(20)  # milliseconds in linear time, minutes in quadratic
def test_s30_no_bytes_take_more_than_linear_time(opened):
    nesting_depth(opened + b"[" * 100, limit=64)


def test_repeated_keys_and_digits_are_kept():
    assert parse_ordered('{"a":1.50,"a":[true,null]}') == Pairs([("a", NumberText("1.50")), ("a", [True, None])])


def test_what_is_as_deep_as_it_may_be_does_not_end_the_look_for_what_is_deeper():
    assert nesting_depth(b"[[],[],[[]]]", limit=2) == 3
    assert nesting_depth(b"[[],[],[]]", limit=2) == 2
