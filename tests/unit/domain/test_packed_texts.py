"""Texts come out of their pages as they went in, and pages and what is kept of them stay small."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.domain import packed_texts
from shim.domain.packed_texts import PAGE_ROWS, PackedText, Page, Text, packed_rows, packing_steps, plain
from shim.domain.steps import at_once
from tests.support.examples import examples

TEXTS = st.lists(st.binary(max_size=30) | st.binary(max_size=3).map(lambda some: some * 200), max_size=40)


@given(told=TEXTS, page_bytes=st.integers(1, 700))
@settings(max_examples=examples(60), deadline=None)
def test_rows_are_what_they_were_and_pages_are_bounded(told, page_bytes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_texts, "PAGE_BYTES", page_bytes)
        packed = list(packed_rows(told))
        assert [plain(each) for each in packed] == told
        assert [len(each) for each in packed] == list(map(len, told))
        assert all(len(each.page.ends) == 1 or each.page.ends[-1] <= page_bytes for each in packed)
        assert all(len(each.page.ends) <= PAGE_ROWS for each in packed)
        assert packed == list(packed_rows(told)), "the same texts in the same pages are equal"


def test_a_text_that_has_changed_is_another_one():
    one, other = (next(packed_rows([text, b"b"])) for text in (b"a", b"c"))
    assert one != other
    assert one != b"a"


@pytest.mark.parametrize("size", [0, 1, 64 * 1024, 64 * 1024 + 1, 700_000])
def test_a_large_document_is_packed_and_is_what_it_was(size):
    text = (b'{"node":%d}' % size * size)[:size]
    kept = at_once(packing_steps(text))
    assert (plain(kept), len(kept)) == (text, size)
    assert isinstance(kept, PackedText) is (size > 64 * 1024)


def test_what_is_kept_unpacked_is_bounded():
    packed_texts.unpacked.cache_clear()
    [large] = packed_rows([b"x" * (packed_texts.PAGE_BYTES + 1)])
    plain(large)
    assert packed_texts.unpacked.cache_info().currsize == 0, "a large one goes at once"
    for number in range(packed_texts.KEPT_PAGES + 5):
        plain(next(packed_rows([b"%d" % number])))
    assert packed_texts.unpacked.cache_info().currsize == packed_texts.KEPT_PAGES


def test_a_page_is_nothing_that_a_peer_can_write():
    told = msgspec.msgpack.Decoder(Text)
    assert told.decode(msgspec.msgpack.encode(b"as it is")) == b"as it is"
    [packed] = packed_rows([b"few bytes" * 1000])
    written = {"page": {"packed": packed.page.packed, "ends": packed.page.ends}, "place": 0}
    with pytest.raises(msgspec.ValidationError):
        told.decode(msgspec.msgpack.encode(written))
    with pytest.raises(TypeError):
        msgspec.msgpack.encode(PackedText(Page(b"", (0,)), 0))
