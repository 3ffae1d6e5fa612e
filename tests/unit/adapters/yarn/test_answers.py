import asyncio
import gzip
import tracemalloc

import pytest

from adapters.yarn.answers import read_bounded
from shim.errors import MalformedAnswerError

MIB = 1024 * 1024


async def chunks_of(body, size):
    for start in range(0, len(body), size):
        yield body[start : start + size]


@pytest.mark.parametrize("size", [1, 7, MIB])
@pytest.mark.parametrize("coding", ["", "identity", "gzip", "X-GZIP"])
async def test_a_body_is_whole_however_it_is_cut_and_packed(size, coding):
    body = bytes(range(256)) * 4
    sent = gzip.compress(body) if "gzip" in coding.lower() else body
    assert await read_bounded(chunks_of(sent, size), coding, limit=len(body), subcluster="east") == body


@pytest.mark.parametrize("coding", ["", "gzip"])
async def test_a_body_of_one_byte_too_many_is_refused(coding):
    body = b"x" * 1001
    sent = gzip.compress(body) if coding else body
    with pytest.raises(MalformedAnswerError, match="larger than 1000 bytes"):
        await read_bounded(chunks_of(sent, 100), coding, limit=1000, subcluster="east")


async def test_a_bomb_is_refused_before_it_is_unpacked():
    bomb = gzip.compress(b"\0" * (64 * MIB))
    tracemalloc.start()
    try:
        with pytest.raises(MalformedAnswerError):
            await read_bounded(chunks_of(bomb, MIB), "gzip", limit=MIB, subcluster="east")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * MIB


async def test_an_empty_body_is_empty_even_if_it_is_said_to_be_packed():
    assert await read_bounded(chunks_of(b"", 1), "gzip", limit=10, subcluster="east") == b""


async def test_what_is_packed_to_a_thousandth_lets_others_have_their_turn():
    """A bomb of a ResourceManager held the event loop for as long as it took to unpack it."""
    bomb, turns = gzip.compress(b"\0" * (16 * MIB)), 0

    async def count_turns():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    body = await read_bounded(chunks_of(bomb, MIB), "gzip", limit=16 * MIB, subcluster="east")
    counting.cancel()
    assert len(body) == 16 * MIB
    assert turns >= 15
