"""The last corners: what a peer may get wrong once, and what must not be printed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.protocol.hrpc import (
    SIMPLE_OFFER,
    AuthMethod,
    CallerContext,
    CallReceived,
    ClientConnection,
    ConnectionEnded,
    ContextReceived,
    Failure,
    FrameBuffer,
    HadoopCall,
    HadoopRequest,
    QualityOfProtection,
    SASLError,
    SASLInitiator,
    SASLState,
    ServerConnection,
    UserIdentity,
    request_of,
)
from shim.protocol.hrpc.digest_md5 import DigestMD5Client, DigestMD5Server, TokenSecret
from shim.protocol.hrpc.envelopes import encode_set_up, encode_success, read_answer
from shim.protocol.hrpc.framing import MalformedFrameError, delimited, frame
from shim.protocol.hrpc.headers import SASL_CALL_ID, unsigned_call_id
from shim.protocol.hrpc.negotiation import SASLAcceptor
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import RpcResponseHeaderProto, RpcSaslProto

CLIENT_ID = bytes(range(16))
SECRET = TokenSecret(b"identifier", b"password")


def a_client(**options):
    client = ClientConnection(APPLICATION_CLIENT.name, UserIdentity("alice"), CLIENT_ID, **options)
    client.connect()
    return client


def negotiating():
    return a_client(initiator=SASLInitiator({AuthMethod.TOKEN: lambda _: DigestMD5Client(SECRET, "c" * 40)}))


def sasl(message: bytes) -> bytes:
    return encode_success(message, call_id=SASL_CALL_ID)


def test_a_secret_is_not_printed():
    assert "password" not in repr(SECRET)


def test_a_caller_context_travels_with_its_signature():
    client = a_client(caller_context=CallerContext("oozie", b"signed"))
    client.call(HadoopRequest(APPLICATION_CLIENT.name, "getApplications", b""), call_id=0)

    context, call = ServerConnection([SIMPLE_OFFER]).receive(client.data_to_send())

    assert isinstance(context, ContextReceived)
    assert isinstance(call, CallReceived)
    assert call.call.caller_context == CallerContext("oozie", b"signed")


@pytest.mark.parametrize(
    "answer",
    [
        encode_success(b"", call_id=1),
        sasl(b""),
        sasl(b"\xff\xff"),
        sasl(RpcSaslProto(state=SASLState.CHALLENGE, token=b"x").SerializeToString()),
        sasl(RpcSaslProto(state=SASLState.INITIATE).SerializeToString()),
        sasl(RpcSaslProto(state=SASLState.SUCCESS).SerializeToString()),
        sasl(
            RpcSaslProto(
                state=SASLState.NEGOTIATE, auths=[RpcSaslProto.SaslAuth(method="PLAIN", mechanism="PLAIN")]
            ).SerializeToString()
        ),
        frame(delimited(b"\x08\x01")),
        frame(delimited(b"\xff\xff")),
    ],
    ids=[
        "answer",
        "no-state",
        "garbage",
        "challenge",
        "initiate",
        "success",
        "unknown-method",
        "no-status",
        "no-header",
    ],
)
def test_a_server_that_breaks_the_negotiation_ends_it(answer):
    (ended,) = negotiating().receive(answer)

    assert isinstance(ended, ConnectionEnded)


def test_a_sasl_message_on_an_open_connection_that_wraps_nothing_ends_it():
    (ended,) = a_client().receive(sasl(RpcSaslProto(state=SASLState.WRAP, token=b"x").SerializeToString()))

    assert isinstance(ended, ConnectionEnded)
    assert "wraps nothing" in ended.reason


def test_a_server_may_not_succeed_before_it_proved_itself():
    client = negotiating()
    challenge = DigestMD5Server(lambda _: SECRET.password, "n" * 40).step(b"")
    auth = RpcSaslProto.SaslAuth(method="TOKEN", mechanism="DIGEST-MD5", protocol="", serverId="default")
    auth.challenge = challenge
    client.receive(sasl(RpcSaslProto(state=SASLState.NEGOTIATE, auths=[auth]).SerializeToString()))

    (ended,) = client.receive(sasl(RpcSaslProto(state=SASLState.SUCCESS).SerializeToString()))

    assert isinstance(ended, ConnectionEnded)
    assert "before it proved itself" in ended.reason


def test_a_first_message_that_was_not_offered_is_answered_with_the_offers():
    acceptor = SASLAcceptor([SIMPLE_OFFER])
    unknown = RpcSaslProto(
        state=SASLState.INITIATE, auths=[RpcSaslProto.SaslAuth(method="KERBEROS", mechanism="GSSAPI")]
    )

    reply = acceptor.handle(unknown)

    assert reply.message is not None
    assert reply.message.state == SASLState.SUCCESS


def test_a_second_response_and_an_unknown_cipher_are_refused():
    server = DigestMD5Server(lambda _: SECRET.password, "n" * 40, [QualityOfProtection.AUTH_CONF])
    client = DigestMD5Client(SECRET, "c" * 40, [QualityOfProtection.AUTH_CONF])
    response = client.step(server.step(b""))

    with pytest.raises(SASLError, match="Mismatched cipher: des"):
        server.step(response.replace(b'cipher="rc4"', b'cipher="des"'))
    server.step(response)
    with pytest.raises(SASLError, match="already complete"):
        server.step(response)


def test_without_a_layer_bytes_stay_as_they_are():
    server = DigestMD5Server(lambda _: SECRET.password, "n" * 40)

    assert server.wrap(b"x") == b"x"
    assert server.unwrap(b"x") == b"x"


def test_a_request_that_lacks_a_required_field_is_refused_by_its_name():
    call = HadoopCall(1, b"", 0, None, APPLICATION_CLIENT.name, "moveApplicationAcrossQueues", 1, b"")

    refused = request_of(call, APPLICATION_CLIENT.methods["moveApplicationAcrossQueues"])

    assert isinstance(refused, Failure)
    assert refused.message == "Message missing required fields: application_id, target_queue"


def test_an_engines_header_without_its_fields_ends_the_connection():
    server = ServerConnection([SIMPLE_OFFER])
    client = a_client()
    server.receive(client.data_to_send())
    header = bytes.fromhex("0802100018002210") + CLIENT_ID

    (ended,) = server.receive(frame(delimited(header) + delimited(b"")))

    assert isinstance(ended, ConnectionEnded)


def test_a_context_that_is_cut_ends_the_connection():
    server = ServerConnection([SIMPLE_OFFER])
    server.receive(bytes.fromhex("68727063090000"))

    (ended,) = server.receive(encode_set_up(None, call_id=-3))

    assert isinstance(ended, ConnectionEnded)
    assert ended.failure is not None


def test_a_buffer_forgets_what_was_taken_even_while_more_waits():
    buffer = FrameBuffer(1 << 20)
    buffer.feed(frame(bytes(100_000)) + frame(b"next") + b"\x00")

    assert len(buffer.next_frame() or b"") == 100_000
    assert len(buffer._data) < 100
    assert buffer.next_frame() == b"next"
    assert buffer.next_frame() is None


def test_an_answer_without_a_payload_is_malformed():
    with pytest.raises(MalformedFrameError):
        read_answer(delimited(bytes.fromhex("08001000")))


@given(
    st.binary(max_size=300),
    st.integers(-33, 2**31 - 1),
    st.sampled_from([b"", bytes(range(16)), b"x" * 200]),
    st.integers(-(2**31), 2**31 - 1),
)
def test_the_header_of_an_answer_is_what_protobuf_writes(payload, call_id, client_id, retry_count):
    header = RpcResponseHeaderProto(
        callId=unsigned_call_id(call_id),
        status=RpcResponseHeaderProto.SUCCESS,
        serverIpcVersionNum=9,
        clientId=client_id,
        retryCount=retry_count,
    )
    written = frame(delimited(header.SerializeToString()) + delimited(payload))
    assert encode_success(payload, call_id=call_id, client_id=client_id, retry_count=retry_count) == written
