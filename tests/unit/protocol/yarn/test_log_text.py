"""Parts of logs, and the lines in them that hold some words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.protocol.yarn.log_text import LogText, lines_holding, told_by_node

FEW = st.binary(max_size=40).map(lambda data: bytes(b"\nab"[each % 3] for each in data))


@given(FEW, FEW.filter(lambda words: words and b"\n" not in words))
def test_found_are_the_lines_that_hold_the_words(data, words):
    lines = [line for line in data.split(b"\n") if words in line]
    assert lines_holding(data, words, 1000) == (b"".join(line + b"\n" for line in lines), len(lines), False)


@pytest.mark.parametrize("most", range(8))
def test_of_many_bytes_the_newest_lines_are_kept(most):
    kept = most // 3
    assert lines_holding(b"a1\na2\na3\n", b"a", most) == (b"a1\na2\na3\n"[9 - 3 * kept :], kept, True)


def test_lines_are_bounded_in_number_and_length():
    assert lines_holding(b"x\n" * 2000, b"x", 10**6)[1:] == (1000, True)
    assert lines_holding(b"x" * 9000, b"x", 10**6) == (b"x" * 4096 + b"\n", 1, False)


@given(FEW, st.integers(0, 50), st.integers(0, 50), st.integers(1, 50))
def test_parts_put_one_after_the_other_are_the_file(data, before, first, most):
    size = before + len(data)
    told = LogText(data, size)
    at = told.start + min(first, len(data))
    assert told.after(at).data == data[min(first, len(data)) :]
    assert told.after(at).size == size
    assert told.after(size + most).data == b""
    assert told.after(0) == told


@given(st.binary(max_size=60), st.integers(1, 70))
def test_what_a_node_writes_around_a_file_is_taken_away(data, most):
    head = b"LogType:x\nLogLength:%d\nLogContents:\n" % len(data)
    told = told_by_node(head + data[-most:] + b"End of LogType:x\nLogLength:1\nLogContents:\n", most)
    assert told == (data[-most:], len(data))


@pytest.mark.parametrize("body", [b"", b"no head", b"LogLength:9\n", b"LogLength:-9\nLogContents:\nx"])
def test_an_answer_without_a_length_is_told_as_it_is(body):
    assert told_by_node(body, 10) == LogText(body, -1)
    assert told_by_node(body, 10).after(5).data == body


def test_an_answer_that_ends_early_has_no_place():
    told = told_by_node(b"LogLength:9\nLogContents:\nabc", 5)
    assert (told, told.start) == (LogText(b"abc", -1), -1)


def test_an_empty_first_line_is_one():
    assert lines_holding(b"\na", b"", 1000) == (b"\na\n", 2, False)
