"""Logins with tickets of a real KDC: who proves what to whom, and what is said when it goes wrong."""

import time

import pytest

from adapters.kerberos import KerberosInitiator, open_acceptor
from shim.errors import ConfigError
from shim.protocol.hrpc import (
    AnswerReceived,
    AuthMethod,
    CallReceived,
    ClientConnection,
    ConnectionEnded,
    ContextReceived,
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
from tests.support.kdc import LOCALHOST, OTHER_REALM, REALM
from tests.support.loop_watch import LoopWatch, too_long

RM = f"rm/{LOCALHOST}@{REALM}"
ADA, BOB = f"ada@{REALM}", f"bob@{OTHER_REALM}"
AUTH, INTEGRITY, PRIVACY = QualityOfProtection


@pytest.fixture(scope="module")
def keytabs(kdc):
    return {principal: kdc.keytab(principal) for principal in (RM, ADA, BOB)}


@pytest.fixture
def acceptor(kerberos, keytabs):
    return open_acceptor(RM, keytabs[RM])


@pytest.fixture
def ada(kerberos, keytabs):
    return KerberosInitiator(ADA, keytabs[ADA])


def authenticate(initiator, acceptor, service="rm", host=LOCALHOST):
    """What the service learns of the client's name; what the client learns of the service's."""
    client = GSSAPIClient(initiator.context(service, host))
    server = GSSAPIServer(acceptor.context(), [AUTH])
    token = b""
    while not (client.is_complete and server.is_complete):
        token = server.step(client.step(token))
    return server.identity, client.identity


def joined(initiator, acceptor, quality):
    """Both ends of a connection that has been opened, or refused."""
    offer = SASLOffer(AuthMethod.KERBEROS, "rm", LOCALHOST, lambda: GSSAPIServer(acceptor.context(), [quality]))
    login = SASLInitiator(
        {
            AuthMethod.KERBEROS: lambda auth: GSSAPIClient(
                initiator.context(auth.protocol, auth.serverId), tuple(QualityOfProtection)
            )
        }
    )
    both = ConnectionPair(
        ClientConnection("protocol", UserIdentity(ADA), bytes(16), initiator=login), ServerConnection([offer])
    )
    both.connect()
    return both


def test_a_ticket_proves_both_sides(ada, acceptor):
    assert authenticate(ada, acceptor) == (ADA, RM)


def test_a_ticket_cache_does_as_well_as_a_keytab(kerberos, keytabs, acceptor):
    cache = kerberos.ticket(ADA, keytabs[ADA])

    assert authenticate(KerberosInitiator(cache=f"FILE:{cache}"), acceptor) == (ADA, RM)


def test_the_service_may_be_named_by_its_principal(ada, acceptor):
    client, server = GSSAPIClient(ada.context_to(RM)), GSSAPIServer(acceptor.context(), [AUTH])
    server.step(client.step(b""))

    assert server.identity == ADA


def test_a_principal_of_another_realm_comes_with_its_realm(kerberos, keytabs, acceptor):
    assert authenticate(KerberosInitiator(BOB, keytabs[BOB]), acceptor) == (BOB, RM)


@pytest.mark.parametrize("quality", QualityOfProtection)
def test_calls_travel_in_each_quality_of_protection(ada, acceptor, quality):
    both = joined(ada, acceptor, quality)
    both.client.call(HadoopRequest("protocol", "method", b"question" * 1000), call_id=1)
    seen = both.client.data_to_send()
    both.server_events += both.server.receive(seen)
    (received,) = (event for event in both.server_events if isinstance(event, CallReceived))
    both.server.answer(received.call, b"answer" * 1000)
    answered = both.server.data_to_send()
    both.client_events += both.client.receive(answered)

    (context,) = (event for event in both.server_events if isinstance(event, ContextReceived))
    (answer,) = (event for event in both.client_events if isinstance(event, AnswerReceived))
    assert (context.method, context.identity) == (AuthMethod.KERBEROS, ADA)
    assert received.call.payload_untrusted == b"question" * 1000
    assert answer.answer.payload_untrusted == b"answer" * 1000
    assert (b"question" in seen, b"answer" in answered) == (quality is not PRIVACY,) * 2


@pytest.mark.parametrize("quality", [INTEGRITY, PRIVACY])
def test_a_call_that_was_changed_on_the_way_ends_the_connection(ada, acceptor, quality):
    both = joined(ada, acceptor, quality)
    both.client.call(HadoopRequest("protocol", "method", b"question"), call_id=1)
    sent = bytearray(both.client.data_to_send())
    sent[-5] ^= 1
    (ended,) = both.server.receive(bytes(sent))

    assert isinstance(ended, ConnectionEnded)


@pytest.mark.parametrize("quality", [INTEGRITY, PRIVACY])
async def test_the_largest_call_that_is_opened_does_not_hold_the_loop(ada, acceptor, quality):
    client = GSSAPIClient(ada.context("rm", LOCALHOST), (quality,))
    server = GSSAPIServer(acceptor.context(), [quality])
    token = b""
    while not (client.is_complete and server.is_complete):
        token = server.step(client.step(token))

    async def attempt() -> float:
        watch, largest = LoopWatch(), client.wrap(b"a" * (MAX_MESSAGE_BYTES - 1024))  # none is opened twice
        watch.measure(lambda: list(server.unwrap_steps(largest)))
        return watch.longest_s

    assert await too_long(attempt) is None


@pytest.mark.parametrize("quality", [INTEGRITY, PRIVACY])
def test_a_call_that_is_sent_twice_ends_the_connection(ada, acceptor, quality):
    both = joined(ada, acceptor, quality)
    both.client.call(HadoopRequest("protocol", "method", b"question"), call_id=1)
    sent = both.client.data_to_send()
    events = both.server.receive(sent + sent)

    assert [type(event) for event in events] == [CallReceived, ConnectionEnded]


def test_a_login_that_is_sent_twice_is_refused(ada, acceptor):
    token = ada.context("rm", LOCALHOST).step(b"")
    acceptor.context().step(token)

    with pytest.raises(SASLError, match="replay"):
        acceptor.context().step(token)


def test_a_client_that_fails_hears_no_more_than_from_hadoop(kerberos, keytabs, ada):
    other = f"nn/{LOCALHOST}@{REALM}"
    both = joined(ada, open_acceptor(other, kerberos.keytab(other)), AUTH)

    (ended,) = (event for event in both.client_events if isinstance(event, ConnectionEnded))
    (logged,) = (event for event in both.server_events if isinstance(event, ConnectionEnded))
    assert ended.reason == "javax.security.sasl.SaslException: GSS initiate failed"
    assert "asked for another service" in logged.reason


def test_what_is_no_token_is_refused(acceptor):
    with pytest.raises(SASLError, match="to accept a client as rm/"):
        acceptor.context().step(b"rubbish")


def test_a_new_key_of_the_service_needs_no_restart(kerberos, keytabs):
    principal = f"rotated/{LOCALHOST}@{REALM}"
    keytab = kerberos.keytab(principal)
    acceptor = open_acceptor(principal, keytab)
    renewed = kerberos.keytab(principal)
    early = KerberosInitiator(ADA, keytabs[ADA])
    with pytest.raises(SASLError, match="write the key anew"):
        authenticate(early, acceptor, service="rotated")
    renewed.replace(keytab)

    assert authenticate(early, acceptor, service="rotated")[0] == ADA


def test_without_a_ticket_there_is_no_login(kerberos, acceptor):
    with pytest.raises(SASLError, match=r"to log in at rm@.*: .*: get a ticket: kinit"):
        authenticate(KerberosInitiator(), acceptor)


def test_an_expired_ticket_is_no_ticket(kerberos, keytabs, acceptor):
    cache = kerberos.ticket(ADA, keytabs[ADA], options=["-l", "1s"])
    time.sleep(2)

    with pytest.raises(SASLError, match="expired: get a ticket: kinit"):
        authenticate(KerberosInitiator(cache=f"FILE:{cache}"), acceptor)


def test_a_keytab_of_somebody_else_gets_no_ticket(kerberos, keytabs, acceptor):
    with pytest.raises(SASLError, match=f"to log in as {ADA} with .*: write the key anew"):
        authenticate(KerberosInitiator(ADA, keytabs[BOB]), acceptor)


def test_an_old_key_gets_no_ticket(kerberos, acceptor):
    principal = f"carl@{REALM}"
    old = kerberos.keytab(principal)
    kerberos.keytab(principal)

    with pytest.raises(SASLError, match="write the key anew"):
        authenticate(KerberosInitiator(principal, old), acceptor)


def test_a_service_that_nobody_made_is_named(ada, acceptor):
    with pytest.raises(SASLError, match=f"Server hdfs/{LOCALHOST}@{REALM} not found.*make the service's principal"):
        authenticate(ada, acceptor, service="hdfs")


def test_a_keytab_without_the_services_key_is_found_before_anybody_comes(kerberos, keytabs):
    with pytest.raises(ConfigError, match=f"No key table entry found for {RM}: write the key anew"):
        open_acceptor(RM, keytabs[ADA])


def test_a_keytab_that_is_none_is_found_before_anybody_comes(kerberos, tmp_path):
    keytab = tmp_path / "notes.txt"
    keytab.write_text("not a keytab")
    keytab.chmod(0o600)

    with pytest.raises(ConfigError, match=r"notes\.txt: security\.kerberos\.keytab: cannot be used: .*format version"):
        open_acceptor(RM, keytab)


def test_a_keytab_that_is_not_there_is_found_before_anybody_comes(kerberos, tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        open_acceptor(RM, tmp_path / "none.keytab")


def test_a_keytab_that_others_can_read_is_not_used(kerberos, keytabs, tmp_path):
    keytab = tmp_path / "open.keytab"
    keytab.write_bytes(keytabs[RM].read_bytes())
    keytab.chmod(0o640)

    with pytest.raises(ConfigError, match=r"others may read .*0640.*: chmod 600"):
        open_acceptor(RM, keytab)
