"""A call that is taken by its shape is the call that decoding gives; whatever is unusual is decoded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.protocol.hrpc import (
    SIMPLE_OFFER,
    CallerContext,
    CallReceived,
    ClientConnection,
    HadoopCall,
    HadoopRequest,
    ServerConnection,
    UserIdentity,
)
from shim.protocol.hrpc.envelopes import encode_call
from shim.protocol.hrpc.framing import delimited, frame
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import RpcRequestHeaderProto

CLIENT = bytes(range(16))


def connected(**limits: int) -> ServerConnection:
    client, server = ClientConnection(APPLICATION_CLIENT.name, UserIdentity("alice"), CLIENT), a_server(**limits)
    client.connect()
    server.receive(client.data_to_send())
    server.known_call(b"")  # from now on it remembers
    return server


def a_server(**limits: int) -> ServerConnection:
    return ServerConnection([SIMPLE_OFFER], **limits)


def a_call(
    call_id: int = 1,
    method: str = "getClusterMetrics",
    payload: bytes = b"",
    retry_count: int = 0,
    context: CallerContext | None = None,
) -> bytes:
    request = HadoopRequest(APPLICATION_CLIENT.name, method, payload)
    return encode_call(request, call_id=call_id, client_id=CLIENT, retry_count=retry_count, caller_context=context)


def decoded(data: bytes) -> HadoopCall:
    (event,) = connected().receive(data)
    assert isinstance(event, CallReceived)
    return event.call


CALLS = st.builds(
    a_call,
    call_id=st.one_of(st.integers(0, 300), st.integers(0, 2**31 - 1)),
    method=st.sampled_from(["getClusterMetrics", "getApplications", "getApplicationReport", "nothing"]),
    payload=st.binary(max_size=300),
    retry_count=st.integers(-1, 3),
    context=st.sampled_from([None, CallerContext("CLI"), CallerContext("x" * 300, b"signed")]),
)


@given(st.lists(CALLS, max_size=30))
def test_a_call_that_is_known_is_what_decoding_gives(frames: list[bytes]) -> None:
    server = connected()
    for each in frames:
        known = server.known_call(each)
        if known is None:
            server.receive(each)
        assert known in (None, decoded(each))


def test_a_call_is_known_by_its_headers_whatever_its_id_and_request() -> None:
    server = connected()
    assert server.known_call(a_call()) is None
    server.receive(a_call())

    for each in (a_call(63), a_call(64), a_call(2**20), a_call(5, payload=b"x" * 200)):
        assert server.known_call(each) == decoded(each)
    for each in (a_call(2**31 - 1), a_call(method="getApplications"), a_call(retry_count=1)):
        assert server.known_call(each) is None


@pytest.mark.parametrize("call_id", [-1, -2, -5, -64, -65, -(2**20), -(2**31)])
def test_a_negative_id_is_no_other_calls(call_id: int) -> None:
    server = connected()
    server.receive(a_call())

    assert server.known_call(a_call(call_id)) is None


@pytest.mark.parametrize("cut", [slice(0, -1), slice(0, 12), slice(0, 3), slice(0, 0)])
def test_a_frame_that_is_not_whole_is_not_known(cut: slice) -> None:
    server = connected()
    server.receive(a_call())

    assert server.known_call(a_call()[cut]) is None
    assert server.known_call(a_call() * 2) is None


def test_nothing_is_known_behind_a_part_of_a_frame() -> None:
    server = connected()
    server.receive(a_call())
    server.receive(a_call(2)[:7])

    assert server.known_call(a_call(3)) is None
    (event,) = server.receive(a_call(2)[7:])
    assert isinstance(event, CallReceived)
    assert event.call.call_id == 2


def test_an_id_that_stands_twice_counts_by_its_last_each_time() -> None:
    header = RpcRequestHeaderProto(rpcKind=2, rpcOp=0, callId=1, clientId=CLIENT).SerializeToString()
    twice = header + bytes((0x18, 2 * 5))
    server = connected()
    for _ in range(2):
        data = frame(delimited(twice) + a_call()[4 + 1 + a_call()[4] :])
        assert server.known_call(data) is None
        (event,) = server.receive(data)
        assert isinstance(event, CallReceived)
        assert event.call.call_id == 5


@pytest.mark.parametrize("change", [-1, 1])
def test_a_header_that_says_to_be_of_another_length_is_decoded(change: int) -> None:
    server = connected()
    server.receive(a_call())
    data = bytearray(a_call())
    data[4] += change

    assert server.known_call(bytes(data)) is None


def test_a_frame_above_the_limit_is_left_to_the_server_to_refuse() -> None:
    server = connected(max_frame_bytes=200)
    server.receive(a_call())

    assert server.known_call(a_call(payload=b"x" * 200)) is None


def test_calls_that_came_together_take_one_place() -> None:
    server = connected()
    server.receive(a_call(method="getApplications"))
    server.receive(b"".join(a_call(number) for number in range(100)))

    assert server.known_call(a_call(method="getApplications")) is not None
    assert server.known_call(a_call()) is not None


def test_no_more_than_the_newest_shapes_are_kept() -> None:
    server = connected()
    for number in range(100):
        server.receive(a_call(method=f"method{number}"))

    known = [number for number in range(100) if server.known_call(a_call(method=f"method{number}"))]
    assert known == list(range(92, 100))
