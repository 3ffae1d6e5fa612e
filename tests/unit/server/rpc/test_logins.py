"""Who is let in at a server where clients log in by ticket."""

import pytest

from shim.errors import UnavailableError
from shim.identity.delegation_tokens import DelegationTokens, TokenLimits
from shim.identity.principals import PrincipalRules
from shim.identity.service import Caller, IdentityRules, IdentityService, ProxyRule
from shim.protocol.hrpc import (
    AuthMethod,
    CallerContext,
    ContextReceived,
    Failure,
    JavaClass,
    QualityOfProtection,
    RPCErrorCode,
)
from shim.protocol.hrpc.gssapi import GSSAPIServer
from shim.server.rpc.logins import Logins, TicketLogin
from shim.simulation.stores import InMemoryTokenStore
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual

ADA = "ada@HEDDLE.TEST"
OOZIE = "oozie/node@HEDDLE.TEST"
PLAIN = [QualityOfProtection.AUTH]
REFUSED = (JavaClass.AUTHORIZATION, RPCErrorCode.UNAUTHORIZED)


def never() -> GSSAPIServer:
    raise AssertionError("no login begins here")


def logins(*, allow_simple=False, has_tokens=True, is_on=True):
    clock = FakeClock()
    rules = usual(IdentityRules, proxy_users={"oozie": ProxyRule(hosts=("10.0.0.0/8",), users=("ada",))})
    kerberos = TicketLogin("rm", "node", never, PrincipalRules(frozenset({"HEDDLE.TEST"})), PLAIN, allow_simple)
    return Logins(
        IdentityService(rules, secret=b"s" * 32, clock=clock),
        DelegationTokens(b"s" * 32, clock, InMemoryTokenStore(), usual(TokenLimits)) if has_tokens else None,
        kerberos if is_on else None,
    )


def admitted(principal, effective="", *, address="10.1.2.3"):
    context = ContextReceived(effective, "", "protocol", AuthMethod.KERBEROS, principal, CallerContext("CLI"))
    told = logins().admit(context, address)
    if isinstance(told, Failure):
        return told.java_class, told.code
    assert told.has_ticket
    return told.user, told.real_user


@pytest.mark.parametrize(
    ("has", "offered"),
    [
        ({}, ["TOKEN", "KERBEROS"]),
        ({"allow_simple": True}, ["TOKEN", "KERBEROS", "SIMPLE"]),
        ({"has_tokens": False}, ["KERBEROS"]),
        ({"is_on": False}, ["TOKEN", "SIMPLE"]),
        ({"is_on": False, "has_tokens": False}, ["SIMPLE"]),
    ],
    ids=repr,
)
def test_names_are_believed_where_kerberos_is_off_or_that_is_configured(has, offered):
    assert [offer.method.name for offer in logins(**has).offers()] == offered


def test_a_ticket_is_asked_for_by_both_parts_of_the_principal():
    (offer,) = logins(has_tokens=False).offers()

    assert (offer.protocol, offer.server_id) == ("rm", "node")


@pytest.mark.parametrize("claimed", ["", "ada", ADA])
def test_a_principal_is_its_user_whatever_it_calls_itself(claimed):
    assert admitted(ADA, claimed) == ("ada", "ada")


@pytest.mark.parametrize("claimed", ["ada", ADA])
def test_a_proxy_user_acts_for_whom_it_may(claimed):
    assert admitted(OOZIE, claimed) == ("ada", "oozie")


@pytest.mark.parametrize(
    ("principal", "claimed", "address"),
    [
        (ADA, "root", "10.1.2.3"),
        (ADA, "ada@OTHER.TEST", "10.1.2.3"),
        (OOZIE, "root", "10.1.2.3"),
        (OOZIE, "ada", "192.168.0.1"),
        ("ada@OTHER.TEST", "", "10.1.2.3"),
        ("ada@OTHER.TEST", "ada@OTHER.TEST", "10.1.2.3"),
    ],
)
def test_nobody_acts_for_others_without_leave_or_comes_from_elsewhere(principal, claimed, address):
    assert admitted(principal, claimed, address=address) == REFUSED


def test_who_comes_by_name_has_no_ticket():
    context = ContextReceived("ada", "", "protocol", AuthMethod.SIMPLE, "", CallerContext("CLI"))
    told = logins(allow_simple=True).admit(context, "10.1.2.3")

    assert isinstance(told, Caller)
    assert (told.user, told.has_ticket) == ("ada", False)


def test_tokens_are_protected_as_tickets_are():
    kerberos = TicketLogin("rm", "node", never, PrincipalRules(frozenset()), [QualityOfProtection.AUTH_CONF])
    clock = FakeClock()
    identity = IdentityService(usual(IdentityRules), secret=b"s" * 32, clock=clock)
    offer = Logins(
        identity, DelegationTokens(b"s" * 32, clock, InMemoryTokenStore(), usual(TokenLimits)), kerberos
    ).offers()[0]

    assert offer.start is not None
    assert b'qop="auth-conf"' in offer.start().step(b"")


def test_who_cannot_be_judged_yet_is_asked_to_try_again():
    def slow(user):
        raise UnavailableError(f"the groups of {user} are not known yet")

    rules = usual(IdentityRules, proxy_users={"oozie": ProxyRule(hosts=("*",), groups=("staff",))})
    server = Logins(IdentityService(rules, secret=b"s" * 32, clock=FakeClock(), groups_of=slow), None, None)
    context = ContextReceived("ada", "oozie", "protocol", AuthMethod.SIMPLE, "", CallerContext("CLI"))
    told = server.admit(context, "10.1.2.3")
    assert isinstance(told, Failure)
    assert told.java_class == JavaClass.RETRIABLE
