"""After a layer was negotiated only what is wrapped counts, and no frame, however large, is worked on in one go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.protocol.hrpc import (
    SIMPLE_OFFER,
    AnswerReceived,
    AuthMethod,
    CallReceived,
    ClientConnection,
    ConnectionEnded,
    ContextReceived,
    Established,
    Failure,
    HadoopRequest,
    JavaClass,
    LoginProven,
    PingReceived,
    QualityOfProtection,
    RPCErrorCode,
    SASLError,
    SASLInitiator,
    SASLOffer,
    SASLState,
    ServerConnection,
    ServerState,
    UserIdentity,
)
from shim.protocol.hrpc.digest_md5 import (
    ConfidentialityLayer,
    DigestMD5Client,
    DigestMD5Server,
    IntegrityLayer,
    SessionKeys,
    TokenSecret,
)
from shim.protocol.hrpc.envelopes import encode_call, encode_failure, encode_set_up, encode_success
from shim.protocol.hrpc.gssapi import GSSAPIClient, GSSAPIServer
from shim.protocol.hrpc.headers import (
    CONNECTION_CONTEXT_CALL_ID,
    PING_CALL_ID,
    SASL_CALL_ID,
    ConnectionHeader,
    RPCStatus,
)
from shim.protocol.hrpc.server import MAX_SET_UP_FRAMES
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import IpcConnectionContextProto, RpcSaslProto, UserInformationProto
from tests.doubles.connection_pair import ConnectionPair
from tests.unit.protocol.hrpc.test_gssapi import LetterContext

CLIENT_ID = bytes(range(16))
SECRET = TokenSecret(b"\x08\x01attempt", b"password of the token")
REQUEST = HadoopRequest(APPLICATION_CLIENT.name, "getNewApplication", b"")
LAYERS = [QualityOfProtection.AUTH_INT, QualityOfProtection.AUTH_CONF]
MIB = 1024 * 1024


def by_token(quality, **of_server):
    offer = SASLOffer(
        AuthMethod.TOKEN, "", "default", lambda: DigestMD5Server(lambda _: SECRET.password, "n" * 40, [quality])
    )
    initiator = SASLInitiator({AuthMethod.TOKEN: lambda _: DigestMD5Client(SECRET, "c" * 40, [quality])})
    return joined(offer, initiator, **of_server)


def by_ticket(quality, **of_server):
    offer = SASLOffer(
        AuthMethod.KERBEROS,
        "rm",
        "node",
        lambda: GSSAPIServer(LetterContext(is_server=True, peer="alice@REALM"), [quality]),
    )
    session = GSSAPIClient(LetterContext(is_server=False, peer="rm/node@REALM"), [quality])
    return joined(offer, SASLInitiator({AuthMethod.KERBEROS: lambda _: session}), **of_server)


def joined(offer, initiator, **of_server):
    client = ClientConnection(APPLICATION_CLIENT.name, UserIdentity("alice"), CLIENT_ID, initiator=initiator)
    pair = ConnectionPair(client, ServerConnection([offer], **of_server))
    pair.connect()
    assert any(isinstance(event, Established) for event in pair.client_events)
    assert pair.server.state is ServerState.OPEN_AUTHENTICATED
    return pair


CONTEXT = IpcConnectionContextProto(
    userInfo=UserInformationProto(effectiveUser="root"), protocol=APPLICATION_CLIENT.name
).SerializeToString()
FROM_SOMEBODY = {
    "a call": encode_call(REQUEST, call_id=3, client_id=CLIENT_ID),
    "a ping": encode_set_up(None, call_id=PING_CALL_ID, client_id=CLIENT_ID),
    "a context": encode_set_up(CONTEXT, call_id=CONNECTION_CONTEXT_CALL_ID, client_id=CLIENT_ID),
    "a negotiation": encode_set_up(RpcSaslProto(state=SASLState.NEGOTIATE).SerializeToString(), call_id=SASL_CALL_ID),
}
FATAL = Failure(JavaClass.INVALID_TOKEN, "gone", RPCErrorCode.UNAUTHORIZED)
TO_SOMEBODY = {
    "an answer": encode_success(b"forged", call_id=7, client_id=CLIENT_ID),
    "a failure": encode_failure(
        Failure(JavaClass.YARN, "no"), RPCStatus.ERROR, call_id=7, client_id=CLIENT_ID, retry_count=0
    ),
    "a fatal failure": encode_failure(FATAL, RPCStatus.FATAL, call_id=-1),
    "a fatal answer to a login": encode_failure(FATAL, RPCStatus.FATAL, call_id=SASL_CALL_ID),
}


@pytest.mark.parametrize("quality", LAYERS)
@pytest.mark.parametrize("login", [by_token, by_ticket])
@pytest.mark.parametrize("what", FROM_SOMEBODY)
def test_a_server_takes_nothing_beside_the_layer(login, quality, what):
    pair = login(quality)

    events = pair.server.receive(FROM_SOMEBODY[what])

    assert [type(event) for event in events] == [ConnectionEnded]
    assert pair.server.state is ServerState.ENDED


@pytest.mark.parametrize("quality", LAYERS)
@pytest.mark.parametrize("login", [by_token, by_ticket])
@pytest.mark.parametrize("what", TO_SOMEBODY)
def test_a_client_takes_nothing_beside_the_layer_not_even_a_failure(login, quality, what):
    pair = login(quality)
    pair.client.call(REQUEST, call_id=7)

    (ended,) = pair.client.receive(TO_SOMEBODY[what])

    assert isinstance(ended, ConnectionEnded)
    assert ended.failure is None, "whoever waits hears that the connection broke, and no forged reason"


@pytest.mark.parametrize("quality", LAYERS)
def test_a_client_refuses_a_wrapped_message_inside_a_wrapped_message(quality):
    pair = by_ticket(quality)
    layer = pair.server._layered._session
    assert layer is not None
    inner = encode_success(
        RpcSaslProto(state=SASLState.WRAP, token=layer.wrap(TO_SOMEBODY["an answer"])).SerializeToString(),
        call_id=SASL_CALL_ID,
    )
    pair.server._send(inner)
    (ended,) = pair.client.receive(pair.server.data_to_send())

    assert isinstance(ended, ConnectionEnded)


def test_a_message_that_is_only_signed_is_none_where_privacy_was_agreed_on():
    pair = by_ticket(QualityOfProtection.AUTH_CONF)
    signed = b"i" + FROM_SOMEBODY["a call"]
    wrapped = RpcSaslProto(state=SASLState.WRAP, token=signed).SerializeToString()

    events = pair.server.receive(encode_set_up(wrapped, call_id=SASL_CALL_ID))

    assert [type(event) for event in events] == [ConnectionEnded]


@given(st.lists(st.tuples(st.sampled_from(sorted(FROM_SOMEBODY)), st.booleans()), max_size=8))
def test_whatever_is_mixed_into_a_protected_connection_only_wrapped_calls_count(sent):
    pair = by_token(QualityOfProtection.AUTH_INT)
    counted, is_beside = 0, False
    for what, is_wrapped in sent:
        is_beside = is_beside or not is_wrapped
        if is_wrapped and what == "a call":
            pair.client.call(REQUEST, call_id=9)
            events = pair.server.receive(pair.client.data_to_send())
            counted += not is_beside
        elif not is_wrapped:
            events = pair.server.receive(FROM_SOMEBODY[what])
        else:
            continue
        calls = [event for event in events if isinstance(event, CallReceived | ContextReceived | PingReceived)]
        assert len(calls) == (is_wrapped and not is_beside)


# -- how much is done in one go ---------------------------------------------------------------------------------------


def turns(connection, events):
    """What is told in each turn, until nothing is left."""
    told = [events]
    while connection.has_more:
        told.append(connection.go_on())
    return told


def test_many_small_calls_are_read_in_turns_and_in_order():
    server = ServerConnection([SIMPLE_OFFER], frames_per_turn=10)
    client = ClientConnection(APPLICATION_CLIENT.name, UserIdentity("alice"), CLIENT_ID)
    client.connect()
    for number in range(95):
        client.call(REQUEST, call_id=number)

    told = turns(server, server.receive(client.data_to_send()))

    assert max(map(len, told)) == 10
    calls = [event.call.call_id for turn in told for event in turn if isinstance(event, CallReceived)]
    assert calls == list(range(95))


def test_whoever_never_comes_to_the_point_is_hung_up_on():
    server = ServerConnection([SIMPLE_OFFER], frames_per_turn=10)
    flood = ConnectionHeader().serialize() + encode_set_up(None, call_id=PING_CALL_ID, client_id=b"") * 10_000

    told = [event for turn in turns(server, server.receive(flood)) for event in turn]

    assert len(told) == MAX_SET_UP_FRAMES + 1
    assert isinstance(told[-1], ConnectionEnded)


def test_a_header_that_takes_long_to_decode_is_not_decoded():
    server = ServerConnection([SIMPLE_OFFER])
    client = ClientConnection(APPLICATION_CLIENT.name, UserIdentity("alice"), CLIENT_ID)
    client.connect()
    server.receive(client.data_to_send())
    long = encode_set_up(None, call_id=PING_CALL_ID, client_id=bytes(70_000))

    (ended,) = server.receive(long)

    assert isinstance(ended, ConnectionEnded)


@pytest.mark.parametrize("quality", LAYERS)
def test_a_large_wrapped_call_is_opened_piece_by_piece(quality):
    pair = by_token(quality, frames_per_turn=64)
    payload = bytes(range(256)) * (16 * MIB // 256 - 64)
    pair.client.call(HadoopRequest(APPLICATION_CLIENT.name, "submitApplication", payload), call_id=0)

    told = turns(pair.server, pair.server.receive(pair.client.data_to_send()))

    assert len(told) >= 8, "at most two MiB are opened in one turn"
    (call,) = (event.call for turn in told for event in turn if isinstance(event, CallReceived))
    assert call.payload_untrusted == payload


@pytest.mark.parametrize("quality", LAYERS)
@pytest.mark.parametrize("login", [by_token, by_ticket])
def test_a_large_answer_is_wrapped_piece_by_piece(login, quality):
    pair = login(quality)
    pair.client.call(REQUEST, call_id=0)
    pair.exchange()
    (call,) = (event.call for event in pair.server_events if isinstance(event, CallReceived))
    payload = bytes(range(251)) * (4 * MIB // 251)
    pair.server.answer(call, payload)
    pieces = []
    while pair.server.has_to_send:
        pieces.append(pair.server.data_to_send(MIB))

    assert len(pieces) >= 4
    assert max(map(len, pieces)) < 1.2 * MIB
    events = [event for piece in pieces for event in pair.client.receive(piece)]
    (answer,) = (event.answer for event in events if isinstance(event, AnswerReceived))
    assert answer.payload_untrusted == payload


@pytest.mark.parametrize("kind", [IntegrityLayer, ConfidentialityLayer])
@given(
    clear=st.binary(min_size=1, max_size=2000) | st.integers(262_130, 262_160).map(bytes),
    at=st.integers(0, 1 << 20),
    bit=st.integers(0, 7),
)
def test_a_protected_message_opens_as_it_was_and_not_with_one_bit_changed(kind, clear, at, bit):
    sender = kind(SessionKeys.derive(b"h" * 16, is_server=False))
    receivers = [kind(SessionKeys.derive(b"h" * 16, is_server=True)) for _ in range(2)]
    sealed = bytearray(sender.wrap(clear))
    assert receivers[0].unwrap(bytes(sealed)) == clear
    sealed[at % len(sealed)] ^= 1 << bit
    with pytest.raises(SASLError):
        receivers[1].unwrap(bytes(sealed))


# -- a verdict --------------------------------------------------------------------------------------------------------


def proving():
    """A client whose login waits for a verdict, and what it has told so far."""
    offer = SASLOffer(
        AuthMethod.TOKEN,
        "",
        "default",
        lambda: DigestMD5Server(lambda _: SECRET.password, "n" * 40, [QualityOfProtection.AUTH_CONF]),
        needs_verdict=True,
    )
    initiator = SASLInitiator(
        {AuthMethod.TOKEN: lambda _: DigestMD5Client(SECRET, "c" * 40, [QualityOfProtection.AUTH_CONF])}
    )
    client = ClientConnection(APPLICATION_CLIENT.name, UserIdentity("alice"), CLIENT_ID, initiator=initiator)
    pair = ConnectionPair(client, ServerConnection([offer]))
    pair.client.call(REQUEST, call_id=0)
    pair.connect()
    return pair


def test_a_login_that_needs_a_verdict_waits_for_it():
    pair = proving()
    assert [type(event) for event in pair.server_events] == [LoginProven]
    assert pair.server.is_behind
    assert not pair.server.has_more, "there is nothing to go on with"
    assert pair.server.receive(FROM_SOMEBODY["a call"]) == [], "nothing is read before the verdict"


def test_a_confirmed_login_goes_on():
    pair = proving()
    pair.server_events += pair.server.confirm()
    pair.exchange()
    assert [type(event) for event in pair.server_events] == [LoginProven, ContextReceived, CallReceived]


def test_a_login_that_is_not_confirmed_hears_why():
    pair = proving()
    pair.server.refuse(FATAL, call_id=SASL_CALL_ID)
    pair.exchange()
    (ended,) = pair.client_events
    assert isinstance(ended, ConnectionEnded)
    assert ended.failure == FATAL
    assert pair.server.state is ServerState.ENDED


CONF = QualityOfProtection.AUTH_CONF
CHALLENGE = DigestMD5Server(lambda _: SECRET.password, "n" * 40, [CONF]).step(b"")
TOKEN_AUTH = RpcSaslProto.SaslAuth(method="TOKEN", mechanism="DIGEST-MD5", protocol="", serverId="default")
TICKET_AUTH = RpcSaslProto.SaslAuth(method="KERBEROS", mechanism="GSSAPI", protocol="rm", serverId="node")
HEADER = b"hrpc\x09\x00\xdf"


def by_digest(challenge=CHALLENGE, quality=CONF):
    return DigestMD5Client(SECRET, "c" * 40, [quality]).step(challenge)


def says(state, *auths, token=None):
    return RpcSaslProto(state=state, auths=auths, token=token)


NEGOTIATES = says(SASLState.NEGOTIATE)
LESS = CHALLENGE.replace(b'qop="auth-conf"', b'qop="auth,auth-int,auth-conf"')


def by_ticket_of(peer):
    """Tokens of a login by ticket, one after the other."""
    client = GSSAPIClient(LetterContext(is_server=False, peer="rm/node@REALM"), [CONF])
    server, told = GSSAPIServer(LetterContext(is_server=True, peer=peer), [CONF]), b""
    said = []
    while not server.is_complete:
        said.append(client.step(told))
        told = server.step(said[-1])
    return said


STEPS = by_ticket_of("mallory@REALM")
MIXED = {
    "a token's answer as a ticket": [NEGOTIATES, says(SASLState.INITIATE, TICKET_AUTH, token=by_digest())],
    "a ticket as a token's answer": [NEGOTIATES, says(SASLState.INITIATE, TOKEN_AUTH, token=b"hello")],
    "a token's answer after a ticket": [
        NEGOTIATES,
        says(SASLState.INITIATE, TICKET_AUTH, token=b"hello"),
        says(SASLState.RESPONSE, token=by_digest()),
    ],
    "a ticket that is called a token": [
        NEGOTIATES,
        says(SASLState.INITIATE, TICKET_AUTH, token=b""),
        says(SASLState.INITIATE, TOKEN_AUTH, token=b"hello"),
        says(SASLState.RESPONSE, token=b"\x07\x00\x10\x00\x04\x00\x00\x00"),
    ],
    "a ticket, half of it called a token": [
        NEGOTIATES,
        says(SASLState.INITIATE, TICKET_AUTH, token=STEPS[0]),
        says(SASLState.INITIATE, TOKEN_AUTH, token=STEPS[1]),
        *(says(SASLState.RESPONSE, token=each) for each in STEPS[2:]),
    ],
    "a ticket, the end of it called a token": [
        NEGOTIATES,
        says(SASLState.INITIATE, TICKET_AUTH, token=STEPS[0]),
        says(SASLState.RESPONSE, token=STEPS[1]),
        says(SASLState.INITIATE, TOKEN_AUTH, token=STEPS[2]),
    ],
    "less than is wanted": [
        NEGOTIATES,
        says(SASLState.INITIATE, TOKEN_AUTH, token=by_digest(LESS, QualityOfProtection.AUTH)),
    ],
    "signed, where encrypted is wanted": [
        NEGOTIATES,
        says(SASLState.INITIATE, TOKEN_AUTH, token=by_digest(LESS, QualityOfProtection.AUTH_INT)),
    ],
    "a quality that is not said": [
        NEGOTIATES,
        says(SASLState.INITIATE, TOKEN_AUTH, token=by_digest().replace(b",qop=auth-conf", b"")),
    ],
    "an answer to another challenge": [
        NEGOTIATES,
        says(SASLState.INITIATE, TOKEN_AUTH, token=by_digest(CHALLENGE.replace(b"n" * 40, b"m" * 40))),
    ],
    "both at once": [NEGOTIATES, says(SASLState.INITIATE, TOKEN_AUTH, TICKET_AUTH, token=by_digest())],
    "a name": [NEGOTIATES, says(SASLState.INITIATE, RpcSaslProto.SaslAuth(method="SIMPLE", mechanism=""))],
    "a name at once": [says(SASLState.INITIATE, RpcSaslProto.SaslAuth(method="SIMPLE", mechanism=""))],
    "a token by the other mechanism": [
        NEGOTIATES,
        says(SASLState.INITIATE, RpcSaslProto.SaslAuth(method="TOKEN", mechanism="GSSAPI"), token=by_digest()),
    ],
    "a ticket for another service": [
        NEGOTIATES,
        says(
            SASLState.INITIATE,
            RpcSaslProto.SaslAuth(method="KERBEROS", mechanism="GSSAPI", protocol="rm", serverId="other"),
            token=b"hello",
        ),
    ],
    "an answer before a question": [says(SASLState.RESPONSE, token=by_digest())],
    "success": [says(SASLState.SUCCESS)],
    "what is wrapped, before there is a layer": [NEGOTIATES, says(SASLState.WRAP, token=b"c" + b"x" * 20)],
    "another question": [NEGOTIATES, NEGOTIATES, says(SASLState.INITIATE, TOKEN_AUTH, token=by_digest())],
}


@pytest.mark.parametrize("said", MIXED.values(), ids=MIXED)
def test_tickets_mixed_with_tokens_or_less_than_was_wanted_lets_nobody_in(said):
    token = SASLOffer(
        AuthMethod.TOKEN, "", "default", lambda: DigestMD5Server(lambda _: SECRET.password, "n" * 40, [CONF])
    )
    ticket = SASLOffer(
        AuthMethod.KERBEROS,
        "rm",
        "node",
        lambda: GSSAPIServer(LetterContext(is_server=True, peer="mallory@REALM"), [CONF]),
    )
    server = ServerConnection([token, ticket])
    events = server.receive(HEADER)
    for each in (*said, None):
        last = encode_set_up(CONTEXT, call_id=CONNECTION_CONTEXT_CALL_ID, client_id=CLIENT_ID)
        told = last if each is None else encode_set_up(each.SerializePartialToString(), call_id=SASL_CALL_ID)
        events += server.receive(told)
        server.data_to_send()
        assert server.state not in (ServerState.AUTHENTICATED, ServerState.OPEN_AUTHENTICATED)
    events += server.receive(encode_call(REQUEST, call_id=3, client_id=CLIENT_ID))
    assert isinstance(events[-1], ConnectionEnded)
    assert not [each for each in events if isinstance(each, LoginProven | ContextReceived | CallReceived)]


def test_the_same_said_rightly_lets_in():
    """Else the conversations above would prove nothing."""
    token = SASLOffer(
        AuthMethod.TOKEN, "", "default", lambda: DigestMD5Server(lambda _: SECRET.password, "n" * 40, [CONF])
    )
    server = ServerConnection([token])
    events = server.receive(HEADER)
    for each in (NEGOTIATES, says(SASLState.INITIATE, TOKEN_AUTH, token=by_digest())):
        events += server.receive(encode_set_up(each.SerializePartialToString(), call_id=SASL_CALL_ID))
        server.data_to_send()
    assert (events, server.state) == ([], ServerState.AUTHENTICATED)
