"""Both ends together: every way to authenticate, calls and answers in any order, in pieces of any size."""

import ast
import base64
from pathlib import Path

import pytest

import shim.protocol.hrpc.client as client_module
import shim.protocol.hrpc.server as server_module
from shim.errors import LocalProtocolError
from shim.protocol.hrpc import (
    SIMPLE_OFFER,
    AnswerReceived,
    AuthMethod,
    CallerContext,
    CallReceived,
    ClientConnection,
    ClientState,
    ConnectionEnded,
    ContextReceived,
    Established,
    Failure,
    HadoopRequest,
    JavaClass,
    PingReceived,
    QualityOfProtection,
    SASLError,
    SASLInitiator,
    SASLOffer,
    SASLReceived,
    SASLState,
    ServerConnection,
    ServerState,
    UserIdentity,
)
from shim.protocol.hrpc.client import CLIENT_TABLE
from shim.protocol.hrpc.digest_md5 import DigestMD5Client, DigestMD5Server, TokenSecret, read_response
from shim.protocol.hrpc.server import MAX_SET_UP_BYTES
from shim.protocol.hrpc.server_states import FROM_CLIENT, SERVER_TABLE, ServerInput, next_state
from shim.protocol.proto import APPLICATION_CLIENT, APPLICATION_MASTER
from shim.protocol.proto.messages import RpcSaslProto
from tests.doubles.connection_pair import ConnectionPair

CLIENT_ID = bytes(range(16))
ALICE = UserIdentity("alice")
SECRET = TokenSecret(b"\x08\x01attempt", b"password of the token")
REQUEST = HadoopRequest(APPLICATION_CLIENT.name, "getNewApplication", b"")
QUALITIES = list(QualityOfProtection)


def lookup(identifier):
    if identifier != SECRET.identifier:
        raise SASLError("unknown token", java_class=JavaClass.INVALID_TOKEN)
    return SECRET.password


def token_offer(qualities=(QualityOfProtection.AUTH,), nonce="n" * 40):
    return SASLOffer(AuthMethod.TOKEN, "", "default", lambda: DigestMD5Server(lookup, nonce, qualities))


def token_initiator(qualities=(QualityOfProtection.AUTH,), secret=SECRET):
    return SASLInitiator({AuthMethod.TOKEN: lambda _auth: DigestMD5Client(secret, "c" * 40, qualities)})


def a_client(initiator=None, user=ALICE):
    return ClientConnection(
        APPLICATION_CLIENT.name, user, CLIENT_ID, caller_context=CallerContext("CLI"), initiator=initiator
    )


def of_type(kind, events):
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_calls_are_answered_out_of_order(piece):
    pair = ConnectionPair(a_client(), ServerConnection([SIMPLE_OFFER]), piece_bytes=piece)
    pair.connect()
    for call_id in range(3):
        pair.client.call(REQUEST, call_id=call_id)
    pair.exchange()

    calls = [event.call for event in of_type(CallReceived, pair.server_events)]
    for call in reversed(calls):
        pair.server.answer(call, bytes([call.call_id]) * 200)
    pair.exchange()

    answers = [event.answer for event in of_type(AnswerReceived, pair.client_events)]
    assert [(answer.call_id, answer.payload_untrusted) for answer in answers] == [
        (call_id, bytes([call_id]) * 200) for call_id in (2, 1, 0)
    ]
    assert calls[0].client_id == CLIENT_ID


@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("piece", [1, 11, 1 << 20])
def test_a_token_logs_in_and_calls_travel_in_every_quality_of_protection(quality, piece):
    server = ServerConnection([token_offer([quality])])
    pair = ConnectionPair(a_client(token_initiator([quality])), server, piece_bytes=piece)
    pair.client.call(REQUEST, call_id=5)
    pair.connect()
    (call,) = (event.call for event in of_type(CallReceived, pair.server_events))
    pair.server.answer(call, b"answer" * 1000)
    pair.server.fail(call, Failure(JavaClass.YARN, "no"))
    pair.exchange()

    (context,) = of_type(ContextReceived, pair.server_events)
    assert context.method is AuthMethod.TOKEN
    assert context.effective_user_untrusted == ""
    assert base64.b64decode(context.identity) == SECRET.identifier
    assert server.state is ServerState.OPEN_AUTHENTICATED
    first, second = (event.answer for event in of_type(AnswerReceived, pair.client_events))
    assert first.payload_untrusted == b"answer" * 1000
    assert second.failure == Failure(JavaClass.YARN, "no")


def test_protected_frames_are_not_readable_on_the_way():
    offer, initiator = token_offer([QualityOfProtection.AUTH_CONF]), token_initiator([QualityOfProtection.AUTH_CONF])
    pair = ConnectionPair(a_client(initiator), ServerConnection([offer]))
    pair.connect()
    pair.client.call(REQUEST, call_id=0)

    assert b"getNewApplication" not in pair.client.data_to_send()


@pytest.mark.parametrize("offers", [[SIMPLE_OFFER], [token_offer(), SIMPLE_OFFER]], ids=["only", "too"])
def test_a_client_that_must_be_sure_refuses_a_server_that_believes_names(offers):
    pair = ConnectionPair(a_client(SASLInitiator({})), ServerConnection(offers))
    pair.connect()

    assert pair.client.state is ClientState.ENDED
    assert len(of_type(ConnectionEnded, pair.client_events)) == 1


def test_a_wrong_token_ends_with_the_reason_at_both_ends():
    initiator = token_initiator(secret=TokenSecret(b"another", b"password"))
    pair = ConnectionPair(a_client(initiator), ServerConnection([token_offer()]))
    pair.connect()

    (ended,) = of_type(ConnectionEnded, pair.client_events)
    assert ended.failure is not None
    assert ended.failure.java_class == JavaClass.INVALID_TOKEN
    assert pair.server.state is ServerState.ENDED


def test_a_server_of_tokens_refuses_a_client_without_sasl():
    pair = ConnectionPair(a_client(), ServerConnection([token_offer()]))
    pair.connect()

    (ended,) = of_type(ConnectionEnded, pair.client_events)
    assert ended.failure is not None
    assert ended.failure.message == "SIMPLE authentication is not enabled.  Available:[TOKEN]"


def test_a_proxy_user_names_both_users():
    pair = ConnectionPair(a_client(user=UserIdentity("alice", "heddle")), ServerConnection([SIMPLE_OFFER]))
    pair.connect()

    (context,) = of_type(ContextReceived, pair.server_events)
    assert (context.effective_user_untrusted, context.real_user_untrusted) == ("alice", "heddle")


def test_a_relay_negotiates_twice_and_learns_who_calls_before_the_real_login():
    """The first challenge is thrown away once it told the token's identifier; the second comes from upstream."""
    pair = ConnectionPair(a_client(token_initiator()), ServerConnection(None))
    thrown_away, upstream = token_offer(nonce="t" * 40), DigestMD5Server(lookup, "u" * 40)
    pair.connect()

    def negotiate(session):
        auth = thrown_away.message()
        auth.challenge = session.step(b"")
        pair.server.send_sasl(RpcSaslProto(state=SASLState.NEGOTIATE, auths=[auth]))
        pair.exchange()
        return of_type(SASLReceived, pair.server_events)[-1].message_untrusted

    first = negotiate(DigestMD5Server(lookup, "t" * 40))
    assert read_response(first.token).identifier_untrusted == SECRET.identifier
    second = negotiate(upstream)
    pair.server.send_sasl(RpcSaslProto(state=SASLState.SUCCESS, token=upstream.step(second.token)))
    pair.server.settle(AuthMethod.TOKEN, upstream.identity)
    pair.exchange()

    assert of_type(Established, pair.client_events) == [Established(AuthMethod.TOKEN)]
    (context,) = of_type(ContextReceived, pair.server_events)
    assert context.identity == upstream.identity


def test_a_ping_is_told_and_not_answered():
    pair = ConnectionPair(a_client(), ServerConnection([SIMPLE_OFFER]))
    pair.connect()
    pair.client.ping()
    pair.exchange()

    assert of_type(PingReceived, pair.server_events) == [PingReceived()]
    assert of_type(AnswerReceived, pair.client_events) == []


def test_a_refused_context_reaches_the_client_and_ends_the_connection():
    pair = ConnectionPair(a_client(), ServerConnection([SIMPLE_OFFER]))
    pair.connect()
    pair.server.refuse(Failure(JavaClass.AUTHORIZATION, "User: x is not allowed to impersonate alice"))
    pair.exchange()

    (ended,) = of_type(ConnectionEnded, pair.client_events)
    assert ended.failure is not None
    assert ended.failure.java_class == JavaClass.AUTHORIZATION
    with pytest.raises(LocalProtocolError):
        pair.client.call(REQUEST, call_id=1)


def test_an_answer_for_another_client_ends_the_connection():
    pair = ConnectionPair(a_client(), ServerConnection([SIMPLE_OFFER]))
    pair.connect()
    pair.client.call(REQUEST, call_id=0)
    pair.exchange()
    (event,) = of_type(CallReceived, pair.server_events)
    event.call.client_id = b"somebody else"
    pair.server.answer(event.call, b"")
    pair.exchange()

    assert len(of_type(ConnectionEnded, pair.client_events)) == 1


@pytest.mark.parametrize("length", [b"\x80\x00\x00\x00", b"\xff\xff\xff\xff", b"\x00\x00\x01\x01"])
def test_a_client_keeps_nothing_of_a_frame_that_is_too_long(length):
    client = ClientConnection(APPLICATION_MASTER.name, UserIdentity("alice"), CLIENT_ID, max_frame_bytes=256)
    client.connect()

    (ended,) = client.receive(length)

    assert isinstance(ended, ConnectionEnded)
    assert client.receive(b"\x00" * 1000) == []


def test_an_unauthenticated_peer_cannot_make_a_server_keep_more_than_the_set_up_limit():
    connection = ServerConnection([SIMPLE_OFFER])
    connection.receive(bytes.fromhex("68727063090000"))

    (ended,) = connection.receive((2 * 1024 * 1024).to_bytes(4, "big"))

    assert isinstance(ended, ConnectionEnded)
    assert ended.failure is None


def test_wrapped_frames_inside_wrapped_frames_are_refused():
    pair = ConnectionPair(
        a_client(token_initiator([QualityOfProtection.AUTH_INT])),
        ServerConnection([token_offer([QualityOfProtection.AUTH_INT])]),
    )
    pair.connect()
    numbers = pair.client._layer._layer._out
    first = numbers._number
    numbers._number = first + 1  # what is inside is opened second
    pair.client.call(REQUEST, call_id=0)
    inner = pair.client.data_to_send()
    numbers._number = first
    pair.client._send(inner)
    pair.exchange()

    (ended,) = of_type(ConnectionEnded, pair.server_events)
    assert ended.failure is not None
    assert ended.failure.message == "Server is not wrapping data"


def test_an_open_connection_takes_larger_frames_than_a_stranger_may_send():
    pair = ConnectionPair(a_client(), ServerConnection([SIMPLE_OFFER]))
    pair.connect()
    large = bytes(MAX_SET_UP_BYTES + 1)
    pair.client.call(HadoopRequest(APPLICATION_CLIENT.name, "submitApplication", large), call_id=0)
    pair.exchange()

    (event,) = of_type(CallReceived, pair.server_events)
    assert event.call.payload_untrusted == large


def test_the_table_says_for_every_state_what_every_message_means():
    silent = {ServerState.AWAITS_HEADER, ServerState.AWAITS_VERDICT, ServerState.ENDED}

    assert set(SERVER_TABLE) == set(ServerState)
    for state, row in SERVER_TABLE.items():
        assert set(row) & FROM_CLIENT == (set() if state in silent else FROM_CLIENT), state


@pytest.mark.parametrize(
    ("table", "first"), [(SERVER_TABLE, ServerState.AWAITS_HEADER), (CLIENT_TABLE, ClientState.NEW)]
)
def test_every_state_can_be_reached_and_left_but_the_last(table, first):
    reached, ahead = set(), [first]
    while ahead:
        state = ahead.pop()
        if state not in reached:
            reached.add(state)
            ahead += [following for following in table[state].values() if isinstance(following, type(first))]
    assert reached == set(table) == set(type(first))
    for state, row in table.items():
        onward = {following for following in row.values() if isinstance(following, type(first))} - {state}
        assert onward or state.name == "ENDED", state


@pytest.mark.parametrize("module", [client_module, server_module])
def test_a_state_is_changed_by_the_table_alone(module):
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    assigning = [
        function.name
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and any(ast.unparse(target).endswith(".state") for target in node.targets)
    ]
    assert assigning == ["__init__", "_advance"]


def test_an_input_that_the_table_does_not_have_is_refused_to_the_owner():
    with pytest.raises(LocalProtocolError, match="the owner's word on a login can come now: the connection open"):
        next_state(ServerState.OPEN, ServerInput.CONFIRMED)


def test_only_a_relay_may_send_its_own_sasl_messages():
    connection = ServerConnection([SIMPLE_OFFER])
    with pytest.raises(LocalProtocolError):
        connection.send_sasl(RpcSaslProto(state=SASLState.SUCCESS))
    with pytest.raises(LocalProtocolError):
        connection.settle(AuthMethod.TOKEN, "x")


def test_a_client_may_begin_once():
    client = a_client()
    client.connect()
    with pytest.raises(LocalProtocolError):
        client.connect()
