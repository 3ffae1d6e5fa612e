"""Frames that are small to send and dear to read: after a valid handshake, too."""

import msgspec
import pytest

from shim.domain.launches import ContainerKind, LaunchNews, LaunchProposal
from shim.domain.resources import ResourceVector
from shim.errors import RemoteProtocolError
from shim.peers.following import batches, fits
from shim.protocol.peers import (
    MAX_HANDSHAKE_BYTES,
    MAX_LAUNCHES,
    LaunchFrame,
    OutcomeFrame,
    OutcomeKind,
    decode_frame_untrusted,
    encode_frame,
)
from tests.support.loop_watch import too_long_at_once

MIB = 1024 * 1024


def packed(**fields: object) -> bytes:
    return msgspec.msgpack.encode(fields)


HOSTILE = {
    "headers": packed(type="outcome", number=1, kind="taken", headers=[["", ""]] * MIB),
    "proposals": packed(type="launch", number=1, proposals=[[]] * (3 * MIB)),
    "news": packed(type="launch", number=1, proposals=[], news=[{"number": 1}] * (MIB // 3)),
    "verdicts": packed(type="launched", number=1, verdicts=[{}] * (3 * MIB)),
    "unknown": packed(type="resync", more=[[]] * (3 * MIB)),
    "deep": b"\x82\xa4type\xa6resync\xa1x" + b"\x91" * (3 * MIB),
    "tag": packed(type="a" * (3 * MIB)),
    "no map": b"\x91" * (3 * MIB),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_no_frame_of_a_dialer_is_dear_to_read(name: str) -> None:
    def read() -> None:
        try:
            decode_frame_untrusted(HOSTILE[name])
        except RemoteProtocolError:
            return
        assert name == "unknown"

    assert await too_long_at_once(read) is None


def test_what_is_within_the_limits_is_read() -> None:
    frame = OutcomeFrame(1, OutcomeKind.TAKEN, headers=(("a", "b"),) * 1000)
    assert decode_frame_untrusted(encode_frame(frame)) == frame
    with pytest.raises(RemoteProtocolError, match="the limit is 4096"):
        decode_frame_untrusted(encode_frame(frame), most=MAX_HANDSHAKE_BYTES)


def proposal(number: int, places: int = 0) -> LaunchProposal:
    kind = ContainerKind("root.a", ResourceVector(1, 1), places=tuple(f"{'h' * 500}{each}" for each in range(places)))
    return LaunchProposal(number, "appattempt_1_0001_000001", kind, 1)


@pytest.mark.parametrize("places", [0, 10, 200])
def test_launches_go_out_in_frames_that_are_taken(places: int) -> None:
    proposals = [proposal(each, places) for each in range(300 if places else 5000)]
    news = [LaunchNews(each) for each in range(5000)]
    sent = list(batches(proposals, news))
    assert [each for some, _ in sent for each in some] == proposals
    assert [each for _, told in sent for each in told] == news
    for some, told in sent:
        data = encode_frame(LaunchFrame(1, tuple(some), tuple(told)))
        assert len(data) < 2 * MIB
        decode_frame_untrusted(data)
    assert max(len(some) for some, _ in sent) <= MAX_LAUNCHES


def test_a_proposal_that_fits_in_no_frame_is_not_sent() -> None:
    few, many = proposal(1, 3), proposal(2, 8000)
    assert list(batches([few, many], [])) == [([few], [])]
    assert (fits(few), fits(many)) == (True, False)
