"""Files of aggregated logs that cost much to read: what they cost together is bounded, and nothing is kept of them."""

import tracemalloc
import zlib
from collections.abc import Callable, Sequence

import pytest

from shim.protocol.yarn.aggregated_logs import Allowance, MalformedLogsError, list_files

MAGIC = bytes.fromhex("d111d36891b5d7b639df414092bae150")
CONTAINER = "container_1700000000000_0006_01_000001"
MIB = 1024 * 1024


def number(value: int) -> bytes:
    """A number in TFile's widest form."""
    return bytes((0x87,)) + value.to_bytes(8, "big", signed=True)


def text(value: str) -> bytes:
    return number(len(value)) + value.encode()


def record(key: str, value: bytes) -> bytes:
    named = len(key).to_bytes(2, "big") + key.encode()
    return number(len(named)) + named + value


def chunk(value: bytes) -> bytes:
    return number(len(value)) + value


OWNED = record("APPLICATION_OWNER", chunk(b"\0\3ada"))


def tfile(stored: bytes, regions: Sequence[tuple[int, int, int]], algorithm: str, *, others: int = 0) -> bytes:
    """A TFile of regions (offset behind the magic, bytes there, bytes in clear), and so many other meta blocks."""
    index = text(algorithm) + number(len(regions))
    index += b"".join(number(len(MAGIC) + offset) + number(size) + number(clear) for offset, size, clear in regions)
    told = MAGIC + stored + index
    other = text("o") + text("none") + number(0) * 3
    place = number(len(MAGIC) + len(stored)) + number(len(index)) * 2
    meta = number(others + 1) + other * others + text("data:BCFile.index") + text("none") + place
    return told + meta + len(told).to_bytes(8, "big") + bytes((0, 1, 0, 0)) + MAGIC


def head(size: int) -> bytes:
    """Name and length of a file: 20 bytes."""
    return b"\0\1a\0\x0f%015d" % size


def zlib_bomb() -> bytes:
    """Zeros of 64 MiB, said to be the value of a container."""
    clear = OWNED + record(CONTAINER, chunk(head(64 * MIB) + b"\0" * 64 * MIB))
    stored = zlib.compress(clear, 9)
    return tfile(stored, [(0, len(stored), len(clear))], "gz")


def endless_block() -> bytes:
    """A stream whose length is said to be without end."""
    stored = zlib.compress(OWNED + record(CONTAINER, number(2**40) + head(2**40 - 20)) + b"\0" * 32 * MIB, 9)
    return tfile(stored, [(0, len(stored), 2**61)], "gz")


def one_block_often() -> bytes:
    """One block, named 3,000 times."""
    stored = zlib.compress(OWNED + b"".join(record(CONTAINER, chunk(b"")) for _ in range(100)))
    clear = len(zlib.decompress(stored))
    return tfile(stored, [(0, len(stored), clear)] * 3_000, "gz")


def chunks_of_a_byte() -> bytes:
    stored = OWNED + record(CONTAINER, number(-20) + head(6_000) + (number(-1) + b"\0") * 6_000 + number(0))
    return tfile(stored, [(0, len(stored), len(stored))] * 100, "none")


def records_of_nothing() -> bytes:
    stored = OWNED + record(CONTAINER, chunk(b"")) * 6_000
    return tfile(stored, [(0, len(stored), len(stored))], "none")


def files_of_nothing(name: str) -> bytes:
    stored = OWNED + record(CONTAINER, chunk((len(name).to_bytes(2, "big") + name.encode() + b"\0\1" + b"0") * 6_000))
    return tfile(stored, [(0, len(stored), len(stored))], "none")


def named_files() -> bytes:
    return files_of_nothing("a")


def files_without_a_name() -> bytes:
    return files_of_nothing("")


def empty_blocks() -> bytes:
    return tfile(b"", [(0, 0, 0)] * 3_000, "none")


def other_meta_blocks() -> bytes:
    return tfile(OWNED, [(0, len(OWNED), len(OWNED))], "none", others=2_500)


@pytest.mark.parametrize(
    "bomb",
    [
        zlib_bomb,
        endless_block,
        one_block_often,
        chunks_of_a_byte,
        records_of_nothing,
        named_files,
        files_without_a_name,
        empty_blocks,
        other_meta_blocks,
    ],
)
def test_a_bomb_is_refused_and_takes_little_memory(bomb: Callable[[], bytes]):
    content = bomb()
    allowance = Allowance(steps=2_000, inflated=16 * MIB)
    tracemalloc.start()
    try:
        with pytest.raises(MalformedLogsError, match=r"these logs (have|are) too many"):
            list(list_files(lambda offset, count: content[offset : offset + count], len(content), "ada", allowance))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * MIB


def test_files_that_are_read_together_share_what_they_may_cost():
    clear = OWNED + record(CONTAINER, chunk(head(MIB) + b"\0" * MIB))
    stored = zlib.compress(clear)
    content = tfile(stored, [(0, len(stored), len(clear))], "gz")
    allowance = Allowance(inflated=5 * MIB // 2)

    def listed() -> int:
        read = list_files(lambda offset, count: content[offset : offset + count], len(content), "ada", allowance)
        return len(list(read))

    assert (listed(), listed()) == (1, 1)
    with pytest.raises(MalformedLogsError, match="too many bytes"):
        listed()


@pytest.mark.parametrize(
    "regions",
    [
        [(0, 2**62, 10)],
        [(0, -1, 10)],
        [(-16, 10, 10)],
        [(2**62, 10, 10)],
        [(0, len(OWNED), -(2**62)), (0, len(OWNED), 2**62)],
        [(0, len(OWNED), len(OWNED) - 1)],
    ],
)
@pytest.mark.parametrize("algorithm", ["none", "gz"])
def test_regions_that_lie_are_refused(regions, algorithm):
    stored = OWNED if algorithm == "none" else zlib.compress(OWNED)
    if algorithm == "none" and regions[0][1] == len(OWNED):
        regions = [(0, len(OWNED) - 1, 0)]
    content = tfile(stored, regions, algorithm)
    with pytest.raises(MalformedLogsError):
        list(list_files(lambda offset, count: content[offset : offset + count], len(content), "ada", Allowance()))


@pytest.mark.parametrize("algorithm", ["lzo", "zstd", "snappy", "GZ", ""])
def test_other_compressions_are_refused(algorithm):
    content = tfile(OWNED, [(0, len(OWNED), len(OWNED))], algorithm)
    with pytest.raises(MalformedLogsError, match="another way than gz"):
        list(list_files(lambda offset, count: content[offset : offset + count], len(content), "ada", Allowance()))


# ---------------------------------------------------------------------- where the index is


def listed(content: bytes) -> list[object]:
    read = list_files(lambda offset, count: content[offset : offset + count], len(content), "ada", Allowance())
    return list(read)


CLEAR = OWNED + record(CONTAINER, chunk(head(3) + b"out"))
PLAIN = tfile(CLEAR, [(0, len(CLEAR), len(CLEAR))], "none")
END = 28
"""Bytes of a file's end: where its meta index is, the version, the magic."""


def test_the_index_is_found_among_other_meta_blocks_and_may_be_compressed_itself() -> None:
    (plain,) = listed(PLAIN)
    assert listed(tfile(CLEAR, [(0, len(CLEAR), len(CLEAR))], "none", others=3)) == [plain]
    index = text("none") + number(1) + number(len(MAGIC)) + number(len(CLEAR)) * 2
    packed = zlib.compress(index)
    told = MAGIC + CLEAR + packed
    place = number(len(MAGIC) + len(CLEAR)) + number(len(packed)) + number(len(index))
    meta = number(1) + text("data:BCFile.index") + text("gz") + place
    assert listed(told + meta + len(told).to_bytes(8, "big") + PLAIN[-20:]) == [plain]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "too short"),
        (PLAIN[:16] + PLAIN[-27:], "too short"),
        (PLAIN[:-1] + b"x", "no TFile of version 1"),
        (PLAIN[:-20] + bytes((0, 1, 0, 1)) + PLAIN[-16:], "no TFile of version 1"),
        (PLAIN[:-20] + bytes((1, 1, 0, 0)) + PLAIN[-16:], "no TFile of version 1"),
        (PLAIN[:-END] + (len(PLAIN) - END + 1).to_bytes(8, "big") + PLAIN[-20:], "not between 0 and"),
        (PLAIN[:-END] + (2**63).to_bytes(8, "big") + PLAIN[-20:], "not between 0 and"),
        (PLAIN.replace(b"data:BCFile.index", b"data:BCFile.other"), "no index of its blocks"),
        (MAGIC + number(0) + (16).to_bytes(8, "big") + PLAIN[-20:], "no index of its blocks"),
        (MAGIC + number(-1) + (16).to_bytes(8, "big") + PLAIN[-20:], "not between 0 and"),
        (MAGIC + number(10) + (16).to_bytes(8, "big") + PLAIN[-20:], "not between 0 and"),
        (MAGIC + number(1) + (16).to_bytes(8, "big") + PLAIN[-20:], "out of its block"),
        (MAGIC + (16).to_bytes(8, "big") + PLAIN[-20:], "out of its block"),
    ],
)
def test_a_file_whose_end_leads_to_no_index_is_refused(content: bytes, told: str) -> None:
    with pytest.raises(MalformedLogsError, match=told):
        listed(content)


def test_an_index_of_more_than_a_mebibyte_is_refused() -> None:
    """By where it begins, and by how large it says to be in clear."""
    for size, is_read in ((MIB, True), (MIB + 1, False)):
        meta = b"\0" * size
        content = MAGIC + meta + len(MAGIC).to_bytes(8, "big") + PLAIN[-20:]
        with pytest.raises(MalformedLogsError, match="no index" if is_read else "not between 0 and 1048576"):
            listed(content)
    for clear, told in ((MIB, "ends early|number|no |is "), (MIB + 1, "not between 0 and 1048576")):
        stored = zlib.compress(b"")
        meta = (
            number(1)
            + text("data:BCFile.index")
            + text("gz")
            + number(len(MAGIC))
            + number(len(stored))
            + number(clear)
        )
        content = MAGIC + stored + meta + (len(MAGIC) + len(stored)).to_bytes(8, "big") + PLAIN[-20:]
        with pytest.raises(MalformedLogsError, match=told):
            listed(content)


@pytest.mark.parametrize(
    ("offset", "before_end", "leads_out"),
    [(16, 0, False), (16, -1, True), (15, 0, True), (15, 40, True), (17, 0, False), (16, 1, False)],
)
def test_a_region_lies_between_the_magic_and_the_end_of_the_file(offset: int, before_end: int, *, leads_out: bool):
    """Of a region of records by its own length, and of the index of regions."""
    first = len(tfile(CLEAR, [(offset - 16, 0, 0)], "none"))
    stored = first - END - offset - before_end
    content = tfile(CLEAR, [(offset - 16, stored, stored)], "none")
    assert len(content) == first, "numbers are as long whatever they are"
    place = number(offset) + number(stored) * 2
    meta = number(1) + text("data:BCFile.index") + text("none")
    start = len(content) - END - len(meta) - len(place)
    as_index = content[:start] + meta + place + start.to_bytes(8, "big") + PLAIN[-20:]
    for lying in (content, as_index):
        with pytest.raises(MalformedLogsError) as refusal:
            listed(lying)
        assert (str(refusal.value) == "a region leads out of the file") is leads_out


@pytest.mark.parametrize(("offset", "stored"), [(16, -1), (16, -(2**62)), (2**62, -(2**62) + 20), (17, -1)])
def test_a_region_of_less_than_nothing_leads_out_of_the_file(offset: int, stored: int):
    with pytest.raises(MalformedLogsError, match="a region leads out of the file"):
        listed(tfile(CLEAR, [(offset - 16, stored, stored)], "none"))


def shortest(value: int) -> bytes:
    """A number as `Utils.writeVLong` writes it, in as few bytes as there are forms for."""
    if -32 <= value < 128:
        return value.to_bytes(1, "big", signed=True)
    for count, least, base in ((1, 20, 52), (2, 16, 88), (3, 8, 112)):
        head = value >> 8 * count
        if -least <= head < least:
            return (head - base).to_bytes(1, "big", signed=True) + (value & ((1 << 8 * count) - 1)).to_bytes(
                count, "big"
            )
    count = next(count for count in range(4, 9) if -(1 << 8 * count - 1) <= value < 1 << 8 * count - 1)
    return (count - 129).to_bytes(1, "big", signed=True) + value.to_bytes(count, "big", signed=True)


@pytest.mark.parametrize(
    "size",
    [
        *(0, 1, 96, 97, 106, 107, 108, 127, 128, 255, 256, 5_099, 5_100, 5_119, 5_120, 65_535, 65_536),
        *(2**20 - 1, 2**20, 2**20 + 20, 2**24, 2**27 - 21, 2**27 - 1, 2**27, 2**31 - 1, 2**31, 2**32, 2**39, 2**47),
    ],
)
@pytest.mark.parametrize("first", [None, 1, 31, 32, 33, 5_000, 100_000])
def test_numbers_are_read_in_each_of_hadoops_forms(size: int, first: int | None):
    """Lengths of chunks, with one that has others behind it (its length negated), and of the region."""
    value = size + len(head(0))
    chunks = [value] if first is None or first >= value else [-first, value - first]
    named = len(CONTAINER).to_bytes(2, "big") + CONTAINER.encode()
    begin = OWNED + shortest(len(named)) + named + shortest(chunks[0])
    holes = [(16 + len(begin), head(size))]
    length = len(begin) + abs(chunks[0])
    if len(chunks) > 1:
        whole, between = head(size), shortest(chunks[1])
        holes = [(16 + len(begin), whole[: -chunks[0]]), (16 + length, between)]
        holes.append((16 + length + len(between), whole[-chunks[0] :]))
        length += len(between) + chunks[1]
    index = shortest(4) + b"none" + shortest(1) + shortest(16) + shortest(length) * 2
    meta = shortest(1) + shortest(17) + b"data:BCFile.index" + shortest(4) + b"none"
    meta += shortest(16 + length) + shortest(len(index)) * 2
    tail = index + meta + (16 + length + len(index)).to_bytes(8, "big") + PLAIN[-20:]
    written = [(0, MAGIC + begin), *holes, (16 + length, tail)]

    def read(offset: int, count: int) -> bytes:
        """All between what was written is zeros."""
        found = bytearray(count)
        for place, each in written:
            since, until = max(place, offset), min(place + len(each), offset + count)
            if since < until:
                found[since - offset : until - offset] = each[since - place : until - place]
        return bytes(found)

    (file,) = list_files(read, 16 + length + len(tail), "ada", Allowance(steps=6))
    assert (str(file.container), file.name, file.size) == (CONTAINER, "a", size)
