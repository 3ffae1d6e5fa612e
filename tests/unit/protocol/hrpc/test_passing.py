"""Methods are seen however the bytes are cut; whatever else comes is not counted and not kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.protocol.hrpc import CallerContext, HadoopRequest
from shim.protocol.hrpc.envelopes import encode_call, encode_set_up
from shim.protocol.hrpc.framing import frame
from shim.protocol.hrpc.passing import CallScanner
from shim.protocol.proto import APPLICATION_MASTER

CLIENT_ID = bytes(range(16))


def a_call(method, payload=b"asks", caller_context=None):
    request = HadoopRequest(APPLICATION_MASTER.name, method, payload)
    return encode_call(request, call_id=3, client_id=CLIENT_ID, caller_context=caller_context)


CONTEXT = encode_set_up(b"context", call_id=-3, client_id=CLIENT_ID)
PING = encode_set_up(None, call_id=-4, client_id=CLIENT_ID)
STREAM = (
    CONTEXT
    + a_call("registerApplicationMaster")
    + a_call("allocate", bytes(5000), CallerContext("mr_appmaster_appattempt_1700000000000_0001_000001"))
    + PING
    + a_call("allocate")
    + b"\x00\x00\x00\x00"
    + a_call("finishApplicationMaster", b"")
)
METHODS = ["registerApplicationMaster", "allocate", "allocate", "finishApplicationMaster"]


@given(st.lists(st.integers(1, 400)))
def test_calls_are_seen_in_whatever_pieces_they_come(pieces):
    scanner, seen, at = CallScanner(), [], 0
    for piece in pieces:
        seen += scanner.feed(STREAM[at : at + piece])
        at += piece
    seen += scanner.feed(STREAM[at:])
    assert seen == METHODS


def test_a_call_counts_when_it_is_whole():
    scanner = CallScanner()
    assert scanner.feed(STREAM[: len(CONTEXT) + 30]) == []
    assert scanner.feed(STREAM[len(CONTEXT) + 30 :]) == METHODS


@pytest.mark.parametrize("garbage", [b"\xff" * 64, b"\x00\x00\x00\x04\xff\xff\xff\xff", b"GET / HTTP/1.1\r\n\r\n"])
def test_garbage_is_no_call(garbage):
    assert CallScanner().feed(garbage) == []


@given(st.binary(max_size=3000))
def test_nothing_that_may_come_makes_it_fail_or_keep_much(data):
    scanner = CallScanner()
    scanner.feed(data)
    scanner.feed(bytes(3000))
    assert len(scanner._head) <= 512


def test_of_an_endless_frame_only_the_beginning_is_kept():
    scanner = CallScanner()
    scanner.feed((1 << 30).to_bytes(4, "big"))
    for _ in range(100):
        assert scanner.feed(bytes(65536)) == []
    assert len(scanner._head) == 512


def test_a_flood_of_frames_is_not_looked_at_to_its_end():
    scanner = CallScanner()
    one = frame(b"\x00")
    scanner.feed(one * 100_000)
    assert scanner._is_blind
