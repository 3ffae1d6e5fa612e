"""Texts that ResourceManagers wrote, packed: rows of applications some to a page, and large documents whole.

A running application's row has 3.7 KB, in a page of eight a twentieth of that. A poll tells all of them, and hardly
anybody reads them before the next one: they are unpacked for whoever does. What was unpacked last is kept for a while,
as the rows that one list shows are mostly those that the next one does.
"""

import zlib
from collections.abc import Generator, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate

import msgspec

PAGE_ROWS = 8
"""Larger pages are hardly smaller in all, and cost whoever reads one row more."""
PAGE_BYTES = 64 * 1024
KEPT_PAGES = 512
"""Pages of `PAGE_BYTES` at most that are kept unpacked: 32 MiB."""
_SLICE_BYTES = 256 * 1024
_FAST, _BARE = 1, -zlib.MAX_WBITS


class Page:
    """Texts that are packed together.

    No `msgspec.Struct`, so that no decoder makes one of what a peer writes: few bytes could unpack to many.

    Attributes:
        ends: Where each of the texts ends.
    """

    __slots__ = ("ends", "packed")

    def __init__(self, packed: bytes, ends: tuple[int, ...]) -> None:
        self.packed = packed
        self.ends = ends

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Page) and self.packed == other.packed and self.ends == other.ends

    def __hash__(self) -> int:
        return hash(self.packed)

    def text(self, place: int) -> bytes:
        """One of the texts."""
        ends = self.ends
        unpack = unpacked if ends[-1] <= PAGE_BYTES else unpacked.__wrapped__
        whole = unpack(self.packed, ends[-1])
        return whole[ends[place - 1] if place else 0 : ends[place]] if len(ends) > 1 else whole


@lru_cache(maxsize=KEPT_PAGES)
def unpacked(packed: bytes, size: int) -> bytes:
    """What was packed, of which those that were asked for last are kept."""
    return zlib.decompress(packed, _BARE, size)


class PackedText(msgspec.Struct, frozen=True, gc=False):
    """One of the texts of a page; its length is that of the text."""

    page: Page
    place: int

    def __len__(self) -> int:
        ends, place = self.page.ends, self.place
        return ends[place] - ends[place - 1] if place else ends[0]


Text = bytes | PackedText
"""As it was written, or packed."""


def plain(text: Text) -> bytes:
    """A text as it was written."""
    return text if isinstance(text, bytes) else text.page.text(text.place)


def packed_rows(texts: Iterable[bytes]) -> Iterator[PackedText]:
    """The same texts, in pages."""
    some: list[bytes] = []
    size = 0
    for text in texts:
        if some and (len(some) == PAGE_ROWS or size + len(text) > PAGE_BYTES):
            yield from _packed_together(some)
            some, size = [], 0
        some.append(text)
        size += len(text)
    yield from _packed_together(some)


def _packed_together(texts: list[bytes]) -> Iterator[PackedText]:
    if texts:
        page = Page(zlib.compress(b"".join(texts), _FAST, _BARE), tuple(accumulate(map(len, texts))))
        yield from (PackedText(page, place) for place in range(len(texts)))


def packing_steps(text: bytes) -> Generator[None, None, Text]:
    """A document, packed if it is large; pauses after each half of a millisecond."""
    if len(text) <= PAGE_BYTES:
        return text
    packer = zlib.compressobj(_FAST, zlib.DEFLATED, _BARE)
    pieces: list[bytes] = []
    for start in range(0, len(text), _SLICE_BYTES):
        pieces.append(packer.compress(text[start : start + _SLICE_BYTES]))
        yield
    return PackedText(Page(b"".join((*pieces, packer.flush())), (len(text),)), 0)
