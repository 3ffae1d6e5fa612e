"""Bytes of ApplicationMasters and their homes pass as they came, whatever they are and however they are cut."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.ports.attempt_calls import ALLOCATE, FINISH, REGISTER
from shim.protocol.hrpc.framing import delimited, frame
from shim.protocol.proto import APPLICATION_MASTER
from shim.protocol.proto.messages import FinishApplicationMasterRequestProto, RequestHeaderProto, RpcRequestHeaderProto
from shim.server.rpc.scheduler_traffic import (
    MOST_BYTES,
    MOST_OF_DIAGNOSTICS,
    TransparentRelay,
    Wrapped,
    refusal_of_size,
    written_anew,
)


class Ends:
    """Keeps what was passed on."""

    def __init__(self) -> None:
        self.home = b""
        self.master = b""

    def to_home(self, data: bytes) -> None:
        self.home += data

    def to_master(self, data: bytes) -> None:
        self.master += data

    def close(self) -> None:
        raise AssertionError("what passes ends nothing")

    def hold(self, *, is_full: bool) -> None:
        raise AssertionError(f"what passes holds nobody: {is_full}")


class Meter:
    """Keeps what was counted."""

    def __init__(self) -> None:
        self.methods: list[str] = []
        self.has_left = False

    def called(self, method: str) -> None:
        self.methods.append(method)

    def added(self, duration_s: float) -> None:
        assert duration_s >= 0

    def left(self) -> None:
        self.has_left = True


def a_call(method: str, call_id: int = 1, body: bytes = b"") -> bytes:
    head = RpcRequestHeaderProto(callId=call_id, clientId=b"c" * 16).SerializeToString()
    called = RequestHeaderProto(
        methodName=method, declaringClassProtocolName=APPLICATION_MASTER.name, clientProtocolVersion=1
    ).SerializeToString()
    return frame(delimited(head) + delimited(called) + body)


METHODS = st.sampled_from([*APPLICATION_MASTER.methods, "madeUp", "", "x" * 300, "allocate\n"])
CALLS = st.builds(a_call, METHODS, st.integers(-5, 2**31 - 1), st.binary(max_size=40))


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """Calls and garbage, with bytes changed, cut anywhere."""
    data = bytearray(b"".join(draw(st.lists(CALLS | st.binary(max_size=30), max_size=6))))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=4))
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=6)))
    return [bytes(data[start:end]) for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@given(sent=streams(), answered=streams(), kind=st.sampled_from([TransparentRelay, Wrapped]))
def test_every_byte_passes_and_only_methods_that_there_are_count(
    sent: list[bytes], answered: list[bytes], kind: type[TransparentRelay]
) -> None:
    ends, meter = Ends(), Meter()
    relay = kind(ends, meter)
    for piece in sent:
        relay.from_am(piece)
    for piece in answered:
        relay.from_home(piece)
    relay.end()
    assert ends.home == b"".join(sent)
    assert ends.master == b"".join(answered)
    assert set(meter.methods) <= set(APPLICATION_MASTER.methods)
    assert meter.has_left


@given(methods=st.lists(METHODS, max_size=8), size=st.integers(1, 200))
def test_calls_are_counted_however_they_are_cut(methods: list[str], size: int) -> None:
    meter = Meter()
    relay = TransparentRelay(Ends(), meter)
    data = b"".join(a_call(each) for each in methods)
    for start in range(0, len(data), size):
        relay.from_am(data[start : start + size])
    assert meter.methods == [each for each in methods if each in APPLICATION_MASTER.methods]


class Nowhere(Ends):
    """Keeps nothing."""

    def to_home(self, data: bytes) -> None:
        del data


def test_a_frame_without_end_is_not_kept() -> None:
    relay = TransparentRelay(Nowhere(), Meter())
    piece = b"x" * 65_536
    relay.from_am((2**31 - 1).to_bytes(4, "big"))
    tracemalloc.start()
    for _ in range(1_000):
        relay.from_am(piece)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 64 * 1024


@pytest.mark.parametrize("method", [ALLOCATE, REGISTER])
def test_what_an_account_is_kept_of_has_a_limit(method):
    most = MOST_BYTES[method]
    assert refusal_of_size(method, most) == ""
    assert refusal_of_size(method, most + 1) == f"the request has {most + 1} bytes: at most {most} are taken"


def test_a_farewell_is_never_refused_for_its_size():
    assert refusal_of_size(FINISH, 128 * 1024 * 1024) == ""


@pytest.mark.parametrize("over", [-1, 0])
def test_diagnostics_up_to_the_limit_pass_to_the_byte(over):
    message = FinishApplicationMasterRequestProto(diagnostics="x" * (MOST_OF_DIAGNOSTICS + over))
    assert written_anew(FINISH, message) == message.SerializeToString()


@given(
    text=st.text(min_size=1, max_size=50),
    tail=st.text(max_size=50),
    url=st.text(max_size=30),
    status=st.sampled_from([1, 2, 3]),
)
def test_of_long_diagnostics_the_end_is_passed_on_and_the_rest_of_the_call_whole(text, tail, url, status):
    long = text * (MOST_OF_DIAGNOSTICS // len(text) + 1) + tail
    message = FinishApplicationMasterRequestProto(diagnostics=long, tracking_url=url, final_application_status=status)
    read = FinishApplicationMasterRequestProto.FromString(written_anew(FINISH, message))
    if len(long) > MOST_OF_DIAGNOSTICS:
        head, _, end = read.diagnostics.partition(":\n")
        assert end == long[-MOST_OF_DIAGNOSTICS:]
        assert head.endswith(f"{MOST_OF_DIAGNOSTICS} chars out of {len(long)}")
    else:
        assert read.diagnostics == long
    assert (read.tracking_url, read.final_application_status) == (url, status)
    assert message.diagnostics == long


@pytest.mark.parametrize("method", [each for each in APPLICATION_MASTER.methods if each != FINISH])
def test_other_calls_pass_as_they_were_read(method):
    kind = APPLICATION_MASTER.methods[method].request
    once = kind.FromString(b"\x40\x05\xa2\x06\x01x")
    assert written_anew(method, once) == once.SerializeToString()
