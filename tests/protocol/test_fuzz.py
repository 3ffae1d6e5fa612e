"""Whatever comes in, an end answers by the protocol: no other exception, no state that takes bytes after the end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.protocol.hrpc import (
    SIMPLE_OFFER,
    AuthMethod,
    CallReceived,
    ClientConnection,
    ClientState,
    ConnectionEnded,
    Failure,
    JavaClass,
    SASLError,
    SASLInitiator,
    SASLOffer,
    ServerConnection,
    ServerState,
    UserIdentity,
    method_of,
    request_of,
)
from shim.protocol.hrpc.digest_md5 import DigestMD5Server
from shim.protocol.hrpc.framing import (
    FrameBuffer,
    FrameLengthError,
    MalformedFrameError,
    delimited,
    frame,
    read_delimited,
)
from shim.protocol.proto import PROTOCOLS
from tests.protocol.captured import exchanges

SENT = [exchange.sent for exchange in exchanges("server-3.4.2.json") + exchanges("client-3.4.2.json")]
RECEIVED = [exchange.received for exchange in exchanges("server-3.4.2.json") + exchanges("client-3.4.2.json")]


def _refuse(_identifier):
    raise SASLError("unknown token", java_class=JavaClass.INVALID_TOKEN)


def offers():
    return [SASLOffer(AuthMethod.TOKEN, "", "default", lambda: DigestMD5Server(_refuse, "n")), SIMPLE_OFFER]


@st.composite
def mutated(draw, corpus):
    """A captured stream with bytes changed, cut out or put in."""
    data = bytearray(draw(st.sampled_from(corpus)))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=4))
    return bytes(data)


@st.composite
def pieces(draw, data):
    """The stream, cut anywhere."""
    whole = draw(data)
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    return [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


@given(pieces(mutated(SENT) | st.binary(max_size=200).map(lambda data: bytes.fromhex("68727063090000") + data)))
def test_a_server_survives_anything(stream):
    connection = ServerConnection(offers())
    events = []
    for piece in stream:
        for event in connection.receive(piece):
            events.append(event)
            if isinstance(event, CallReceived):
                method = method_of(event.call, PROTOCOLS)
                request = method if isinstance(method, Failure) else request_of(event.call, method)
                connection.fail(event.call, request if isinstance(request, Failure) else Failure("x", "y"))
    connection.data_to_send()

    ended = [event for event in events if isinstance(event, ConnectionEnded)]
    assert len(ended) == (connection.state is ServerState.ENDED)
    assert not ended or events[-1] is ended[0]


@given(pieces(mutated(RECEIVED) | st.binary(max_size=200)), st.booleans())
def test_a_client_survives_anything(stream, has_initiator):
    client = ClientConnection(
        "protocol", UserIdentity("alice"), bytes(16), initiator=SASLInitiator({}) if has_initiator else None
    )
    client.connect()
    events = [event for piece in stream for event in client.receive(piece)]

    ended = [event for event in events if isinstance(event, ConnectionEnded)]
    assert len(ended) == (client.state is ClientState.ENDED)


@given(st.lists(st.binary(max_size=300)), st.integers(1, 64))
def test_frames_come_out_as_they_went_in_however_they_were_cut(contents, size):
    stream = b"".join(map(frame, contents))
    buffer, out = FrameBuffer(300), []
    for at in range(0, len(stream), size):
        buffer.feed(stream[at : at + size])
        while (content := buffer.next_frame()) is not None:
            out.append(content)

    assert out == contents
    assert len(buffer) == 0


@given(st.integers(-(2**31), 2**31 - 1).filter(lambda length: not 0 <= length <= 300), st.binary(max_size=20))
def test_a_length_outside_the_limits_is_refused_before_anything_is_kept(length, rest):
    buffer = FrameBuffer(300)
    buffer.feed(length.to_bytes(4, "big", signed=True) + rest)

    with pytest.raises(FrameLengthError):
        buffer.next_frame()


@given(st.binary(max_size=70_000), st.binary(max_size=20))
def test_a_delimited_message_is_read_back_and_what_follows_stays(message, rest):
    content = delimited(message) + rest

    assert read_delimited(content, 0) == (message, len(content) - len(rest))


@given(st.binary(max_size=40), st.integers(0, 40))
def test_reading_a_delimited_message_never_goes_beyond_its_frame(content, offset):
    try:
        message, end = read_delimited(content, offset)
    except MalformedFrameError:
        return
    assert offset + len(message) < end <= len(content)
