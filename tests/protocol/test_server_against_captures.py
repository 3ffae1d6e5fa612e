"""A server's end says, byte for byte, what a ResourceManager of Hadoop 3.4.2 said to the same bytes."""

import pytest

from shim.protocol.hrpc import (
    SIMPLE_OFFER,
    AuthMethod,
    CallReceived,
    ConnectionEnded,
    ContextReceived,
    Failure,
    FrameBuffer,
    JavaClass,
    RPCErrorCode,
    SASLError,
    SASLOffer,
    ServerConnection,
    ServerState,
    method_of,
    request_of,
)
from shim.protocol.hrpc.digest_md5 import DigestMD5Server
from shim.protocol.hrpc.envelopes import read_answer
from shim.protocol.proto import APPLICATION_CLIENT
from tests.protocol.captured import CapturedConnection, directive, exchanges

EXCHANGES = exchanges("server-3.4.2.json")
HADOOP_STAYS_SILENT = {"reqheader_garbage", "reqheader_missing"}
"""A ResourceManager never answers these calls; a client waits until it gives up. We say why and hang up."""

ANSWERED = [exchange for exchange in EXCHANGES if exchange.name not in HADOOP_STAYS_SILENT]


def _no_token(_identifier):
    raise SASLError("unknown token", java_class=JavaClass.INVALID_TOKEN)


def offers(exchange: CapturedConnection):
    nonce = directive(exchange.received, "nonce")
    return (SASLOffer(AuthMethod.TOKEN, "", "default", lambda: DigestMD5Server(_no_token, nonce)), SIMPLE_OFFER)


def final_answer(exchange: CapturedConnection):
    """The last answer of the capture: what the method itself, which is not under test here, would say."""
    buffer, answer = FrameBuffer(), None
    buffer.feed(exchange.received)
    while (content := buffer.next_frame()) is not None:
        answer = read_answer(content)
    assert answer is not None
    return answer


def serve(connection: ServerConnection, event, exchange: CapturedConnection) -> None:
    """What a server does with an event."""
    match event:
        case ContextReceived() if event.real_user_untrusted:
            text = f"User: {event.real_user_untrusted} is not allowed to impersonate {event.effective_user_untrusted}"
            connection.refuse(Failure(JavaClass.AUTHORIZATION, text, RPCErrorCode.UNAUTHORIZED))
        case CallReceived(call):
            method = method_of(call, {APPLICATION_CLIENT.name: APPLICATION_CLIENT})
            request = method if isinstance(method, Failure) else request_of(call, method)
            answer = None if isinstance(request, Failure) else final_answer(exchange)
            if isinstance(request, Failure):
                connection.fail(call, request)
            elif answer is not None and answer.failure is not None:
                connection.fail(call, answer.failure)
            elif answer is not None:
                connection.answer(call, answer.payload_untrusted)


def run(exchange: CapturedConnection, pieces: list[bytes]) -> tuple[ServerConnection, bytes]:
    connection = ServerConnection(offers(exchange))
    said = b""
    for piece in pieces:
        for event in connection.receive(piece):
            serve(connection, event, exchange)
        said += connection.data_to_send()
    return connection, said


@pytest.mark.parametrize("trailing", [b"", b"\x00\x00\x01", b"\x00" * 3], ids=["exact", "cut-frame", "zeros"])
@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "byte-by-byte"])
@pytest.mark.parametrize("exchange", ANSWERED, ids=lambda exchange: exchange.name)
def test_says_what_hadoop_says(exchange, is_whole, trailing):
    sent = exchange.sent + trailing
    pieces = [sent] if is_whole else [bytes([byte]) for byte in sent]

    connection, said = run(exchange, pieces)

    assert said == exchange.received
    assert (connection.state is ServerState.ENDED) == exchange.is_closed


@pytest.mark.parametrize("exchange", EXCHANGES, ids=lambda exchange: exchange.name)
def test_tells_that_a_connection_ended_once_and_ignores_the_rest(exchange):
    connection = ServerConnection(offers(exchange))
    events = [*connection.receive(exchange.sent), *connection.receive(b"\x00" * 64), *connection.receive(b"hrpc")]

    assert sum(isinstance(event, ConnectionEnded) for event in events) <= 1
    if connection.state is ServerState.ENDED:
        assert isinstance(events[-1], ConnectionEnded)


@pytest.mark.parametrize("name", sorted(HADOOP_STAYS_SILENT))
def test_says_why_where_hadoop_lets_a_client_wait_for_ever(name):
    exchange = next(exchange for exchange in EXCHANGES if exchange.name == name)

    connection, said = run(exchange, [exchange.sent])

    buffer = FrameBuffer()
    buffer.feed(said)
    answer = read_answer(buffer.next_frame() or b"")
    assert answer.is_fatal
    assert answer.failure is not None
    assert answer.failure.code is RPCErrorCode.DESERIALIZING_REQUEST
    assert connection.state is ServerState.ENDED
