"""GSSAPI over a context whose cryptography is a letter: the order of tokens and the choice of layers."""

import pytest

from shim.protocol.hrpc import (
    AuthMethod,
    CallReceived,
    ClientConnection,
    HadoopRequest,
    QualityOfProtection,
    SASLError,
    SASLInitiator,
    SASLOffer,
    ServerConnection,
    UserIdentity,
)
from shim.protocol.hrpc.gssapi import MAX_MESSAGE_BYTES, GSSAPIClient, GSSAPIServer
from tests.doubles.connection_pair import ConnectionPair

AUTH, INTEGRITY, PRIVACY = QualityOfProtection
EVERY = [
    pytest.param(client, server, agreed, id=f"{'+'.join(client)} with {'+'.join(server)}")
    for client, server, agreed in (
        ([AUTH], [AUTH], AUTH),
        ([INTEGRITY], [AUTH, INTEGRITY], INTEGRITY),
        ([PRIVACY, AUTH], [AUTH], AUTH),
        ([PRIVACY, AUTH], [AUTH, PRIVACY], PRIVACY),
    )
]


class LetterContext:
    """Two sides that exchange `hello` and `welcome`; what is wrapped begins with `i` (signed) or `c` (encrypted)."""

    def __init__(self, *, is_server, peer="peer@REALM"):
        self._is_server = is_server
        self._steps = 0
        self.peer = peer

    @property
    def is_complete(self):
        return self._steps == (1 if self._is_server else 2)

    def step(self, token):
        self._steps += 1
        if self._is_server:
            if token != b"hello":
                raise SASLError("GSSAPI: no ticket")
            return b"welcome"
        return b"hello" if self._steps == 1 else b""

    def wrap(self, data, *, is_encrypted):
        return (b"c" if is_encrypted else b"i") + bytes(byte ^ 0x55 if is_encrypted else byte for byte in data)

    def unwrap(self, data, *, is_encrypted):
        if data[:1] not in (b"c", b"i"):
            raise SASLError("GSSAPI: a message was changed on the way")
        if is_encrypted and data[:1] != b"c":
            raise SASLError("GSSAPI: Privacy not provided")
        return bytes(byte ^ 0x55 if data[:1] == b"c" else byte for byte in data[1:])


def pair(client, server):
    return (
        GSSAPIClient(LetterContext(is_server=False, peer="yarn/rm@REALM"), client),
        GSSAPIServer(LetterContext(is_server=True, peer="alice@REALM"), server),
    )


def authenticate(client, server):
    token = b""
    while not (client.is_complete and server.is_complete):
        token = server.step(client.step(token))


@pytest.mark.parametrize(("client", "server", "agreed"), EVERY)
def test_both_sides_agree_on_the_first_layer_that_the_client_wants(client, server, agreed):
    one, other = pair(client, server)
    authenticate(one, other)

    assert one.quality is agreed
    assert other.quality is agreed
    assert other.identity == "alice@REALM"
    assert other.unwrap(one.wrap(b"data")) == b"data"
    assert one.wrap(b"data")[:1] == {AUTH: b"d", INTEGRITY: b"i", PRIVACY: b"c"}[agreed]


def test_without_a_common_layer_the_client_gives_up():
    with pytest.raises(SASLError, match="no common protection level"):
        authenticate(*pair([PRIVACY], [AUTH]))


@pytest.mark.parametrize(
    "choice", [b"\x02\x00\x00\x00", b"\x00\x00\x00\x00", b"\x01", b"", b"\x01\x00\x00\x00bob"], ids=repr
)
def test_a_choice_that_was_not_offered_is_refused(choice):
    _, server = pair([AUTH], [AUTH])
    server.step(b"hello")
    server.step(b"")

    with pytest.raises(SASLError):
        server.step(b"i" + choice)
    assert not server.is_complete


def test_an_offer_of_another_length_is_refused():
    client, _ = pair([AUTH], [AUTH])
    client.step(b"")
    client.step(b"welcome")

    with pytest.raises(SASLError, match="four octets"):
        client.step(b"i\x01\x00")


def test_a_server_that_goes_on_after_the_end_is_refused():
    client, server = pair([AUTH], [AUTH])
    authenticate(client, server)

    assert client.step(b"") == b""
    with pytest.raises(SASLError, match="after the end"):
        client.step(b"more")


def test_a_first_token_that_was_made_before_is_sent_once():
    client, server = pair([PRIVACY], [PRIVACY])
    client.prepare()
    assert client._context._steps == 1
    authenticate(client, server)

    assert client.quality is PRIVACY


@pytest.mark.parametrize("quality", QualityOfProtection)
def test_a_connection_logs_in_and_calls_by_kerberos(quality):
    offer = SASLOffer(AuthMethod.KERBEROS, "yarn", "rm", lambda: GSSAPIServer(LetterContext(is_server=True), [quality]))
    initiator = SASLInitiator(
        {AuthMethod.KERBEROS: lambda _offer: GSSAPIClient(LetterContext(is_server=False), [quality])}
    )
    client = ClientConnection("protocol", UserIdentity("alice"), bytes(16), initiator=initiator)
    both = ConnectionPair(client, ServerConnection([offer]))
    both.connect()
    both.client.call(HadoopRequest("protocol", "method", b"payload"), call_id=1)
    both.exchange()

    (received,) = (event for event in both.server_events if isinstance(event, CallReceived))
    assert received.call.payload_untrusted == b"payload"


class CountingContext(LetterContext):
    """Tells how much was opened."""

    opened = 0

    def unwrap(self, data, *, is_encrypted):
        self.opened += len(data)
        return super().unwrap(data, is_encrypted=is_encrypted)


@pytest.mark.parametrize("quality", [INTEGRITY, PRIVACY])
def test_a_message_that_is_too_large_is_not_opened(quality):
    context = CountingContext(is_server=True)
    server = GSSAPIServer(context, [quality])
    authenticate(GSSAPIClient(LetterContext(is_server=False), [quality]), server)
    context.opened = 0
    with pytest.raises(SASLError, match="at most"):
        next(server.unwrap_steps(b"c" * (MAX_MESSAGE_BYTES + 1)))
    assert context.opened == 0
