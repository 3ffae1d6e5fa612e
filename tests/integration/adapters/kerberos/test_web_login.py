"""SPNEGO with tickets of a real KDC: who proves what to a web service."""

import base64

import pytest

from adapters.kerberos import KerberosInitiator, WebInitiator, WebTickets, open_acceptor
from shim.protocol.hrpc import SASLError
from tests.support.kdc import LOCALHOST, OTHER_REALM, REALM

HTTP, RM = f"HTTP/{LOCALHOST}@{REALM}", f"rm/{LOCALHOST}@{REALM}"
ADA, BOB = f"ada@{REALM}", f"bob@{OTHER_REALM}"


@pytest.fixture(scope="module")
def keytabs(kdc):
    return {principal: kdc.keytab(principal) for principal in (HTTP, RM, ADA, BOB)}


@pytest.fixture
def tickets(kerberos, keytabs):
    opened = WebTickets(open_acceptor(HTTP, keytabs[HTTP], negotiates=True))
    yield opened
    opened.close()


@pytest.mark.parametrize("principal", [ADA, BOB])
async def test_a_token_names_its_principal_and_is_answered(tickets, keytabs, principal):
    told, answer = await tickets.accept(WebInitiator(principal, keytabs[principal]).token_for(LOCALHOST))
    assert told == principal
    assert answer


async def test_a_bare_ticket_of_kerberos_counts_too(tickets, keytabs):
    """As `curl` and Python's clients send it."""
    context = KerberosInitiator(ADA, keytabs[ADA]).context("HTTP", LOCALHOST)
    assert (await tickets.accept(context.step(b"")))[0] == ADA


async def test_a_ticket_cache_does_as_well_as_a_keytab(tickets, kdc, keytabs, monkeypatch):
    monkeypatch.setenv("KRB5CCNAME", str(kdc.ticket(ADA, keytabs[ADA])))
    assert (await tickets.accept(WebInitiator().token_for(LOCALHOST)))[0] == ADA


async def test_a_token_is_good_once(tickets, keytabs):
    token = WebInitiator(ADA, keytabs[ADA]).token_for(LOCALHOST)
    await tickets.accept(token)
    with pytest.raises(SASLError, match="eplay"):
        await tickets.accept(token)


NTLM = base64.b64decode("TlRMTVNTUAABAAAAB4IIogAAAAAAAAAAAAAAAAAAAAAKALpHAAAADw==")


@pytest.mark.parametrize("token", [b"", b"\x60", b"\x60\x82" + bytes(300), bytes(60_000), NTLM])
async def test_what_is_no_ticket_is_refused(tickets, token):
    with pytest.raises(SASLError) as refused:
        await tickets.accept(token)
    assert "keytab" not in refused.value.told


async def test_a_ticket_for_another_service_is_refused(tickets, keytabs):
    context = KerberosInitiator(ADA, keytabs[ADA]).negotiation("rm", LOCALHOST)
    with pytest.raises(SASLError):
        await tickets.accept(context.step(b""))
