"""Values of documents, row by row: what a number, a text, a list is in whatever form some version writes it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.resources import ResourceVector
from shim.domain.told_bounds import LONGEST_NAME, MOST, MOST_TYPES
from shim.errors import RemoteProtocolError
from shim.protocol import wire_values
from shim.protocol.wire_values import (
    WireResource,
    are_plain,
    are_text,
    decode,
    is_document,
    is_text,
    number,
    plain_pieces,
    rows_in_slices,
    rows_of,
    several,
    text,
    text_of,
    vector,
    whole,
)


@pytest.mark.parametrize(
    ("told", "read"),
    [
        (0, 0),
        (1, 1),
        (-1, 0),
        (MOST, MOST),
        (MOST + 1, MOST),
        (2**63, MOST),
        (-(2**63), 0),
        ("0", 0),
        ("7", 7),
        ("007", 7),
        ("9007199254740991", MOST),
        ("9007199254740990", MOST - 1),
        ("9007199254740993", MOST),
        ("9" * 18, MOST),
        ("9" * 19, MOST),
        ("9" * 400, MOST),
        ("-7", 0),
        ("7.9", 7),
        (" 7 ", 7),
        ("1e3", 1000),
        ("\N{SUPERSCRIPT TWO}", 0),  # a digit that is no number
        ("seven", 0),
        ("", 0),
        ("NaN", 0),
        ("Infinity", MOST),
        ("-Infinity", 0),
        (7.9, 7),
        (-0.5, 0),
        (1e300, MOST),
        (float("nan"), 0),
        (float("inf"), MOST),
        (float("-inf"), 0),
        (True, 0),
        (False, 0),
        (None, 0),
    ],
)
def test_an_amount_is_a_whole_number_that_can_be_kept(told, read):
    found = whole(told)
    assert (found, type(found)) == (read, int)


@pytest.mark.parametrize(
    ("told", "read"),
    [
        (0, 0.0),
        (2.5, 2.5),
        ("2.5", 2.5),
        (-1, 0.0),
        (100, 100.0),
        (101, 100.0),
        ("1e9", 100.0),
        (10**400, 7.0),
        ("NaN", 7.0),
        ("Infinity", 7.0),
        (float("-inf"), 7.0),
        ("x", 7.0),
        ("", 7.0),
        (None, 7.0),
        (True, 7.0),
    ],
)
def test_a_number_is_within_its_bounds_or_the_default(told, read):
    assert number(told, 7.0, most=100.0) == read
    assert number(None) == 0.0
    assert number(10.0**300) == float(MOST)


@pytest.mark.parametrize(
    ("told", "read"), [("a", "a"), ("", ""), (7, "7"), (7.5, "7.5"), (True, ""), (None, ""), ([1], ""), ({}, "")]
)
def test_a_text_is_one_or_the_digits_of_a_number(told, read):
    assert text(told) == read


def test_a_text_of_a_message_is_text_whatever_its_bytes():
    assert (text_of("a"), text_of(b"a\xff")) == ("a", "a\ufffd")


@pytest.mark.parametrize(("told", "read"), [(None, []), ([], []), ([1, 2], [1, 2]), (1, [1]), ("", [""]), (0, [0])])
def test_a_list_may_be_dropped_or_unwrapped(told, read):
    assert several(told) == read


def test_resource_types_are_those_with_short_names_the_first_so_many():
    def told(*amounts):
        raw = {"memory": "8", "vCores": 2, "resourceInformations": {"resourceInformation": list(amounts)}}
        return vector(msgspec.convert(raw, WireResource))

    plain = ResourceVector(8, 2)
    assert vector(None) == ResourceVector()
    assert told() == told({"name": "memory-mb", "value": 9}, {"name": "vcores", "value": 9}) == plain
    assert told({"name": "gpu", "value": "3"}) == ResourceVector(8, 2, {"gpu": 3})
    longest, longer = "g" * LONGEST_NAME, "g" * (LONGEST_NAME + 1)
    assert dict(told({"name": longest, "value": 1}, {"name": longer, "value": 1}).others) == {longest: 1}
    many = [{"name": f"t{number}", "value": 1} for number in range(MOST_TYPES + 1)]
    assert len(told(*many).others) == MOST_TYPES


# ---------------------------------------------------------------------- rows


@pytest.mark.parametrize(
    ("raw", "rows"),
    [
        (b'{"a":1}', [b'{"a":1}']),
        (b'[{"a":1},2,null]', [b'{"a":1}', b"2", b"null"]),
        (b"[]", []),
        (b"null", []),
        (b"7", []),
    ],
)
def test_rows_are_those_of_a_list_or_the_one(raw, rows):
    assert [bytes(row) for row in rows_of(msgspec.Raw(raw))] == rows


HEAD = b'{"apps":{"app":['


@pytest.mark.parametrize(
    "raw",
    [
        HEAD.replace(b"apps", b"nope") + b'{"id":1},{"id":2}]}}',
        b" " + HEAD + b'{"id":1}]}}',
        HEAD + b'{"id":1}]} ',
        HEAD + b'{"id":1}}}}',
        HEAD + b'"id":1]}}',
        HEAD + b'1,{"id":1}]}}',
        HEAD + b"]}}",
        HEAD,
        b"",
    ],
)
def test_what_is_no_such_list_is_not_cut(raw):
    with pytest.raises(RemoteProtocolError):
        list(rows_in_slices(raw, HEAD))


@pytest.mark.parametrize("slice_bytes", [1, 9, 10, 11, 1000])
def test_a_list_is_cut_where_a_row_begins_as_the_first_does(monkeypatch, slice_bytes):
    monkeypatch.setattr(wire_values, "_SLICE_BYTES", slice_bytes)
    rows = [b'{"id":%d}' % each for each in range(25)]
    slices = list(rows_in_slices(HEAD + b",".join(rows) + b"]}}", HEAD))
    assert [bytes(row) for part in slices for row in part] == rows
    assert (len(slices) > 1) is (slice_bytes < 1000)
    assert all(sum(map(len, part[1:])) <= slice_bytes + 20 for part in slices)


@pytest.mark.parametrize(("length", "is_cut"), [(60, True), (61, False)])
def test_a_row_is_found_by_the_name_of_its_first_member_if_that_is_short(length, is_cut):
    """64 bytes with its quotes and what stands before it."""
    row = b'{"%b":1}' % (b"n" * length)
    raw = HEAD + row + b"," + row + b"]}}"
    if is_cut:
        assert [bytes(each) for part in rows_in_slices(raw, HEAD) for each in part] == [row, row]
    else:
        with pytest.raises(RemoteProtocolError):
            list(rows_in_slices(raw, HEAD))


def test_a_row_has_a_length(monkeypatch):
    monkeypatch.setattr(wire_values, "_LONGEST_TEXT", 20)
    row = b'{"id":"%b"}'
    assert list(rows_in_slices(HEAD + row % (b"x" * 11) + b"]}}", HEAD))
    with pytest.raises(RemoteProtocolError, match="a row of 21 bytes"):
        list(rows_in_slices(HEAD + row % (b"x" * 12) + b"]}}", HEAD))


# ---------------------------------------------------------------------- bytes


@pytest.mark.parametrize("sign", ["a", "\u00e4", "\u20ac", "\U0001f600"])
@pytest.mark.parametrize("before", range(4))
@pytest.mark.parametrize("cut", [0, 1])
def test_text_is_utf_8_wherever_a_piece_of_it_ends(monkeypatch, sign, before, cut):
    monkeypatch.setattr(wire_values, "_SLICE_BYTES", 4)
    encoded = sign.encode()
    body = b"x" * before + encoded * 3
    body = body[: len(body) - cut]
    whole_text = cut == 0 or len(encoded) == 1
    assert is_text(body) is whole_text
    assert is_text(body + b"x") is whole_text
    assert list(are_text(body))[-1] is whole_text


@given(st.binary(max_size=20), st.integers(1, 9))
def test_text_is_what_can_be_decoded(body, slice_bytes):
    def is_readable():
        try:
            body.decode()
        except UnicodeDecodeError:
            return False
        return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire_values, "_SLICE_BYTES", slice_bytes)
        assert is_text(body) is is_readable()


@pytest.mark.parametrize(
    ("body", "is_one"),
    [
        (b'{"a":1}', True),
        (b"null", True),
        (b"{}", True),
        (b"[]", False),
        (b"7", False),
        (b"", False),
        (b'{"a":', False),
        (b'{"a":"\xff"}', False),
        (b"[" * 100_000, False),
        (b'{"a":' + b"[" * 100_000, False),
    ],
)
def test_a_document_is_an_object_or_null_in_utf_8(body, is_one):
    assert is_document(body) is is_one


def test_what_is_too_large_to_be_read_at_once_is_no_document(monkeypatch):
    monkeypatch.setattr(wire_values, "MOST_AT_ONCE", 7)
    assert is_document(b'{"a":1}')
    assert not is_document(b'{"a":12}')


@pytest.mark.parametrize("sign", [b"NaN", b"INF", b"Infinity", b"\\ud", b"\\uD"])
@pytest.mark.parametrize("at", range(12))
def test_a_sign_of_what_is_not_plain_is_seen_wherever_a_piece_ends(monkeypatch, sign, at):
    monkeypatch.setattr(wire_values, "_SLICE_BYTES", 5)
    assert not all(are_plain(b"x" * at + sign + b"y" * 6))
    assert all(are_plain(b"x" * at + sign[:-1]))


PLAIN_VALUES = ["1", r'"a\\"', '"NaN"', r'"\ud83d\ude00"', "null"]


@given(st.lists(st.sampled_from([*PLAIN_VALUES, "NaN", "INF", "-INF", r'"\ud83d"'])))
def test_a_document_is_made_plain_as_if_it_was_gone_through_at_once(values):
    shown = {
        "NaN": '"NaN"',
        "INF": '"Infinity"',
        "-INF": '"-Infinity"',
        '"\\ud83d"': '"\\ufffd"',
    }
    body, expected = (f"[{','.join(each)}]" for each in (values, [shown.get(value, value) for value in values]))
    for size in (1, 7, 64 * 1024):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(wire_values, "_PLAIN_BYTES", size)
            assert b"".join(plain_pieces(body.encode())).decode() == expected


def test_what_is_not_readable_is_named_with_its_beginning():
    with pytest.raises(
        RemoteProtocolError, match=r"the app document is not readable: .*; it begins b'\{x+'$"
    ) as caught:
        decode(msgspec.json.Decoder(dict), b"{" + b"x" * 200, "app")
    assert "x" * 79 in str(caught.value)
    assert "x" * 80 not in str(caught.value)
