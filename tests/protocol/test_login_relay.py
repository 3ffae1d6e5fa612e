"""A login that passes through `LoginRelay`: the client is named before the server is chosen, and nothing is forged."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.protocol.hrpc import (
    AuthMethod,
    CallReceived,
    ClientConnection,
    ConnectionEnded,
    ContextReceived,
    Established,
    Failure,
    HadoopRequest,
    JavaClass,
    QualityOfProtection,
    RPCErrorCode,
    SASLError,
    SASLInitiator,
    SASLOffer,
    SASLReceived,
    SASLState,
    ServerConnection,
    UserIdentity,
)
from shim.protocol.hrpc.digest_md5 import DigestMD5Client, DigestMD5Server, TokenSecret, read_response
from shim.protocol.hrpc.envelopes import encode_set_up, encode_success
from shim.protocol.hrpc.framing import frame
from shim.protocol.hrpc.passing import LoggedIn, LoginRelay, LoginStage, Named, Offered
from shim.protocol.proto import APPLICATION_MASTER
from shim.protocol.proto.messages import IpcConnectionContextProto, RpcSaslProto, UserInformationProto

SECRET = TokenSecret(b"\x0a\x08attempt", b"only the two ends know")
OTHER = TokenSecret(b"\x0a\x07another", b"another password")
CLIENT_ID = bytes(range(16))
QUALITIES = list(QualityOfProtection)
HEADER = b"hrpc\x09\x00\xdf"
NEGOTIATE = encode_set_up(RpcSaslProto(state=SASLState.NEGOTIATE).SerializeToString(), call_id=-33)


class Line:
    """An ApplicationMaster, a relay and a ResourceManager; the test says when the relay connects."""

    def __init__(self, *, secret=SECRET, qualities=(QualityOfProtection.AUTH,), wanted=None, piece=1 << 20):
        wanted = qualities if wanted is None else wanted
        initiator = SASLInitiator({AuthMethod.TOKEN: lambda _: DigestMD5Client(secret, "c" * 40, wanted)})
        self.master = ClientConnection(APPLICATION_MASTER.name, UserIdentity(""), CLIENT_ID, initiator=initiator)
        self.relay = LoginRelay(APPLICATION_MASTER.name, "throw away" * 4, bytes(16))
        offer = SASLOffer(AuthMethod.TOKEN, "", "default", lambda: DigestMD5Server(self._password, "n" * 40, qualities))
        self.manager = ServerConnection([offer])
        self.events, self.told, self.seen = [], [], []
        self.passed_up = b""
        self._piece = piece
        self.master.connect()

    def _password(self, identifier):
        if identifier != SECRET.identifier:
            raise SASLError("not found in AMRMTokenSecretManager.", java_class=JavaClass.INVALID_TOKEN)
        return SECRET.password

    def run(self):
        """Move bytes until nobody has anything to say, or the login is over: what follows is its owner's."""
        is_talking = True
        while is_talking and self.relay.stage is not LoginStage.DONE:
            up, on = self.master.data_to_send(), self.relay.above.data_to_send()
            self.passed_up += on
            self._feed(self.relay.receive_below, up, self.events)
            self._feed(self.manager.receive, on, self.seen)
            back, down = self.manager.data_to_send(), self.relay.below.data_to_send()
            self._feed(self.relay.receive_above, back, self.events)
            self._feed(self.master.receive, down, self.told)
            is_talking = any((up, on, back, down))
        self._feed(self.master.receive, self.relay.below.data_to_send(), self.told)

    def _feed(self, receive, data, events):
        for start in range(0, len(data), self._piece):
            events += receive(data[start : start + self._piece])


@pytest.mark.parametrize("piece", [1, 5, 1 << 20])
def test_a_client_is_named_then_its_server_chosen_then_it_logs_in_there(piece):
    line = Line(piece=piece)
    line.run()
    assert line.events == [Named(SECRET.identifier)]
    assert line.relay.stage is LoginStage.SERVER

    line.relay.connect()
    line.run()
    assert line.events[1:] == [Offered(), LoggedIn(QualityOfProtection.AUTH)]
    assert line.told == [Established(AuthMethod.TOKEN)]
    assert not [event for event in line.seen if isinstance(event, ConnectionEnded)]


def test_the_server_gets_what_java_clients_write():
    line = Line()
    line.run()
    line.relay.connect()
    line.run()
    assert line.passed_up.startswith(HEADER + NEGOTIATE)


VICTIM = TokenSecret(b"\x0a\x06victim", b"")
TWO_READERS = {
    "a blank of one reader alone, then what the other passes over": b'\x0cusername="VICTIM",\xc3\xa9=1,RESPONSE',
    "what cannot be read ends the reading": b'username="VICTIM",\xc3\xa9=1,RESPONSE',
    "a name in other letters": b'username="VICTIM",RESPONSE',
    "upper case": b'USERNAME="VICTIM",RESPONSE',
    "a long s": b'u\xc5\xbfername="VICTIM",RESPONSE',
    "behind the end": b'RESPONSE,username="VICTIM"',
    "behind the end, after what cannot be read": b'RESPONSE,\x00=1,username="VICTIM"',
    "a vertical tab before the name": b'\x0busername="VICTIM",RESPONSE',
    "a file separator before the name": b'\x1cusername="VICTIM",RESPONSE',
    "a blank of Unicode": b'\xc2\xa0username="VICTIM",RESPONSE',
    "no comma between": b'username="VICTIM" RESPONSE',
    "inside quotes that are not closed": b'RESPONSE,x="username=VICTIM',
    "a quote in a plain value": b'x=a",username="VICTIM",y="b,RESPONSE',
    "an escape in a plain value": b'x=a\\,username="VICTIM",RESPONSE',
    "no value": b'x=,username="VICTIM",RESPONSE',
    "a value without a name": b'="x",username="VICTIM",RESPONSE',
    "acting for another": b'RESPONSE,authzid="VICTIM"',
    "bytes that are no text": b'x="\xff",username="VICTIM",RESPONSE',
    "a null within quotes": b'x="\x00",username="VICTIM",RESPONSE',
}


def _named(line):
    """The line where its client has named its own token, and the server has offered."""
    line.run()
    line.relay.connect()
    line.manager.receive(line.relay.above.data_to_send())
    offered = line.manager.data_to_send()
    line.relay.receive_above(offered)
    line.relay.below.data_to_send()
    return DigestMD5Server(lambda _: b"", "n" * 40).step(b"")


def _initiate(token, **more):
    message = RpcSaslProto(state=SASLState.INITIATE, token=token, **more)
    return encode_set_up(message.SerializeToString(), call_id=-33)


def _disguised(pattern, response):
    return pattern.replace(b"RESPONSE", response).replace(b"VICTIM", base64.b64encode(VICTIM.identifier))


@pytest.mark.parametrize("pattern", TWO_READERS.values(), ids=TWO_READERS)
def test_no_response_names_one_to_the_relay_and_another_to_the_server(pattern):
    response = DigestMD5Client(SECRET, "c" * 40).step(DigestMD5Server(lambda _: b"", "t" * 40).step(b""))
    relay = LoginRelay(APPLICATION_MASTER.name, "t" * 40, bytes(16))
    (ended,) = relay.receive_below(HEADER + NEGOTIATE + _initiate(_disguised(pattern, response)))
    assert isinstance(ended, ConnectionEnded)

    line = Line()
    response = DigestMD5Client(SECRET, "c" * 40).step(_named(line))
    (ended,) = line.relay.receive_below(_initiate(_disguised(pattern, response)))
    assert isinstance(ended, ConnectionEnded)
    assert line.relay.above.data_to_send() == b""


@pytest.mark.parametrize("end", [b"", b",", b" , ,\t\r\n", b',x="y"', b',not-known="username=\\"VICTIM\\""'])
def test_a_response_is_passed_on_as_it_was_understood_and_still_proves(end):
    line = Line()
    response = DigestMD5Client(SECRET, "c" * 40).step(_named(line))
    shuffled = b",\t".join(reversed(response.split(b","))) + end
    line.relay.receive_below(_initiate(shuffled))
    passed = line.relay.above.data_to_send()
    assert passed == _initiate(response, auths=[TOKEN_AUTH])
    line.relay.receive_above(_said(line.manager, passed))
    assert line.relay.stage is LoginStage.DONE


def _said(manager, data):
    manager.receive(data)
    return manager.data_to_send()


TOKEN_AUTH = RpcSaslProto.SaslAuth(method="TOKEN", mechanism="DIGEST-MD5", protocol="", serverId="default")
KERBEROS = RpcSaslProto.SaslAuth(method="KERBEROS", mechanism="GSSAPI", protocol="rm", serverId="host")


@pytest.mark.parametrize(
    "more",
    [
        RpcSaslProto(state=SASLState.INITIATE, auths=[KERBEROS]).SerializeToString(),
        RpcSaslProto(state=SASLState.INITIATE, auths=[KERBEROS, TOKEN_AUTH], version=7).SerializeToString(),
        b"\xa0\x06\x01",
    ],
    ids=["another method", "two methods and a version", "a field that nobody knows"],
)
def test_what_stands_beside_a_response_is_not_passed_on(more):
    line = Line()
    response = DigestMD5Client(SECRET, "c" * 40).step(_named(line))
    message = RpcSaslProto(state=SASLState.INITIATE, token=response).SerializeToString() + more
    line.relay.receive_below(encode_set_up(message, call_id=-33))
    assert line.relay.above.data_to_send() == _initiate(response, auths=[TOKEN_AUTH])


def test_a_context_is_passed_on_without_what_was_not_read():
    line = Line()
    line.run()
    line.relay.connect()
    line.run()
    user = UserInformationProto(effectiveUser="victim", realUser="mallory")
    context = IpcConnectionContextProto(userInfo=user, protocol="another").SerializeToString()
    (event,) = line.relay.below.receive(encode_set_up(context + b"\xa0\x06\x01", call_id=-3))
    line.relay.above.tell_context(event.caller_context)
    (seen,) = line.manager.receive(line.relay.above.data_to_send())
    assert (seen.effective_user_untrusted, seen.real_user_untrusted) == ("", "")
    assert seen.protocol_untrusted == APPLICATION_MASTER.name


@pytest.mark.parametrize(
    "text", ["CmF0dGVtcHQ", "CmF0dGVtcHR=", "CmF0dGVtcHQ==", " CmF0dGVtcHQ=", "CmF0dGVt cHQ=", "Cm-_"]
)
def test_an_identifier_is_written_in_one_way_alone(text):
    assert read_response(b'username="CmF0dGVtcHQ="').identifier_untrusted == b"\nattempt"
    with pytest.raises(SASLError, match="base64"):
        read_response(f'username="{text}"'.encode())


@given(st.binary(max_size=120))
def test_whatever_is_read_reads_the_same_when_it_is_written_anew(response):
    try:
        read = read_response(b'username="Cg==",' + response)
    except SASLError:
        return
    assert read_response(read.anew) == read


def test_calls_of_the_client_can_be_read_and_calls_of_the_relay_made_once_it_is_in():
    line = Line()
    line.run()
    line.relay.connect()
    line.run()
    line.master.call(HadoopRequest(APPLICATION_MASTER.name, "allocate", b"asks"), call_id=3)
    events = line.relay.below.receive(line.master.data_to_send())
    (context,) = (event for event in events if isinstance(event, ContextReceived))
    (call,) = (event.call for event in events if isinstance(event, CallReceived))
    assert (call.method, call.payload_untrusted) == ("allocate", b"asks")

    line.relay.above.tell_context(context.caller_context)
    line.relay.above.call(HadoopRequest(APPLICATION_MASTER.name, "allocate", b"other asks"), call_id=0)
    seen = line.manager.receive(line.relay.above.data_to_send())
    (passed,) = (event.call for event in seen if isinstance(event, CallReceived))
    assert passed.payload_untrusted == b"other asks"


@pytest.mark.parametrize("quality", QUALITIES)
def test_every_quality_of_protection_is_agreed_on_between_the_two_ends(quality):
    line = Line(qualities=(quality,))
    line.run()
    line.relay.connect()
    line.run()
    assert line.events[-1] == LoggedIn(quality)


def test_a_client_that_accepts_only_the_strongest_takes_the_throw_away_challenge_too():
    line = Line(qualities=QUALITIES, wanted=(QualityOfProtection.AUTH_CONF,))
    line.run()
    line.relay.connect()
    line.run()
    assert line.events[-1] == LoggedIn(QualityOfProtection.AUTH_CONF)


@pytest.mark.parametrize(
    ("secret", "java_class"),
    [(TokenSecret(SECRET.identifier, b"guessed"), JavaClass.SASL), (OTHER, JavaClass.INVALID_TOKEN)],
    ids=["a wrong password", "a token of another"],
)
def test_what_the_server_refuses_the_client_hears_in_the_servers_words(secret, java_class):
    line = Line(secret=secret)
    line.run()
    line.relay.connect()
    line.run()
    (told,) = line.told
    assert isinstance(told, ConnectionEnded)
    assert told.failure is not None
    assert told.failure.java_class == java_class
    assert told.failure.code is RPCErrorCode.UNAUTHORIZED
    assert isinstance(line.events[-1], ConnectionEnded)


def test_the_owner_can_refuse_a_client_that_nobody_knows():
    line = Line()
    line.run()
    refusal = Failure(JavaClass.INVALID_TOKEN, "never heard of", RPCErrorCode.UNAUTHORIZED)
    assert line.relay.refuse(refusal) == ConnectionEnded(refusal, str(refusal))
    assert line.master.receive(line.relay.below.data_to_send()) == [ConnectionEnded(refusal, str(refusal))]


def test_another_server_can_be_tried_until_one_has_answered():
    line = Line()
    line.run()
    line.relay.connect()
    line.relay.above.data_to_send()  # to one that says nothing
    line.relay.connect()
    line.run()
    assert line.events[-1] == LoggedIn(QualityOfProtection.AUTH)


def test_whoever_names_one_token_and_then_proves_another_is_refused():
    line = Line()
    line.run()
    line.relay.connect()
    up = line.relay.above.data_to_send()
    line.manager.receive(up)
    line.relay.receive_above(line.manager.data_to_send())
    line.relay.below.data_to_send()

    offer = DigestMD5Server(lambda _: b"", "n" * 40).step(b"")
    proof = RpcSaslProto(state=SASLState.INITIATE, token=DigestMD5Client(OTHER, "c" * 40).step(offer))
    (ended,) = line.relay.receive_below(encode_set_up(proof.SerializeToString(), call_id=-33))
    assert isinstance(ended, ConnectionEnded)
    assert "one token first, then another" in ended.reason
    assert line.relay.above.data_to_send() == b""


@pytest.mark.parametrize("state", [SASLState.RESPONSE, SASLState.SUCCESS, SASLState.CHALLENGE, SASLState.INITIATE])
def test_out_of_turn_a_client_is_refused_and_hears_it(state):
    relay = LoginRelay(APPLICATION_MASTER.name, "n" * 40, bytes(16))
    (ended,) = relay.receive_below(
        HEADER + encode_set_up(RpcSaslProto(state=state, token=b"x").SerializeToString(), call_id=-33)
    )
    assert isinstance(ended, ConnectionEnded)
    assert ended.failure is not None
    assert ended.failure.java_class == JavaClass.SASL
    assert relay.below.data_to_send()


def test_while_its_server_is_sought_a_client_has_to_wait():
    line = Line()
    line.run()
    (ended,) = line.relay.receive_below(NEGOTIATE)
    assert isinstance(ended, ConnectionEnded)


def test_names_without_a_token_are_refused_as_by_a_resource_manager():
    relay = LoginRelay(APPLICATION_MASTER.name, "n" * 40, bytes(16))
    (ended,) = relay.receive_below(b"hrpc\x09\x00\x00")
    assert isinstance(ended, ConnectionEnded)
    assert b"SIMPLE authentication is not enabled.  Available:[TOKEN]" in relay.below.data_to_send()


@pytest.mark.parametrize("state", [SASLState.SUCCESS, SASLState.CHALLENGE])
def test_a_server_that_skips_the_proof_is_not_believed(state):
    line = Line()
    line.run()
    line.relay.connect()
    line.relay.above.data_to_send()
    server = ServerConnection(None)
    server.receive(HEADER)
    server.send_sasl(RpcSaslProto(state=state))
    (ended,) = line.relay.receive_above(server.data_to_send())
    assert isinstance(ended, ConnectionEnded)
    assert "order of a login" in ended.reason
    assert not [event for event in line.told if isinstance(event, SASLReceived | Established)]


def test_nobody_unknown_makes_a_relay_keep_much():
    relay = LoginRelay(APPLICATION_MASTER.name, "n" * 40, bytes(16))
    (ended,) = relay.receive_below(HEADER + (64 * 1024 + 1).to_bytes(4, "big"))
    assert isinstance(ended, ConnectionEnded)
    assert "65536 are taken" in ended.reason


@given(st.lists(st.one_of(st.binary(max_size=200), st.sampled_from([HEADER, NEGOTIATE])), max_size=6))
def test_nothing_that_a_client_sends_makes_it_fail(pieces):
    relay = LoginRelay(APPLICATION_MASTER.name, "n" * 40, bytes(16))
    for piece in pieces:
        relay.receive_below(piece)
        relay.receive_below(frame(piece))


STATES = st.sampled_from(list(SASLState))


@given(st.lists(st.tuples(STATES, st.binary(max_size=100)), max_size=5), st.binary(max_size=200))
def test_nothing_that_a_server_sends_makes_it_fail(messages, rest):
    line = Line()
    line.run()
    line.relay.connect()
    for state, token in messages:
        message = RpcSaslProto(state=state, token=token)
        line.relay.receive_above(encode_success(message.SerializeToString(), call_id=-33))
    line.relay.receive_above(rest)
    line.relay.receive_above(frame(rest))


@given(st.lists(st.tuples(STATES, st.binary(max_size=100)), max_size=5))
def test_whatever_a_client_answers_nothing_but_its_own_token_reaches_the_server(messages):
    line = Line()
    line.run()
    line.relay.connect()
    line.relay.above.data_to_send()
    offer = RpcSaslProto(state=SASLState.NEGOTIATE)
    line.relay.receive_above(encode_success(offer.SerializeToString(), call_id=-33))
    for state, token in messages:
        message = RpcSaslProto(state=state, token=token)
        line.relay.receive_below(encode_set_up(message.SerializeToString(), call_id=-33))
    assert line.relay.above.data_to_send() == b""
