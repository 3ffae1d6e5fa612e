"""Findings of Kerberos: at Heddle's servers, at the KDC, towards sub-clusters. Pure, as the doctor is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shim.federation.findings import Finding, Level

SKEW_NOTABLE_S = 30.0
SKEW_REFUSED_S = 300.0
"""Beyond this Kerberos refuses tickets, unless krb5.conf says otherwise (`clockskew`)."""

_IMPERSONATE = "not allowed to impersonate"


@dataclass(frozen=True, slots=True)
class KerberosFacts:
    """Facts of Kerberos at Heddle's own servers.

    Attributes:
        trouble: Why nobody can log in by ticket; empty if clients can.
        web: Address of the web services, which believe names, if other machines reach it; else empty.
        ticket_trouble: Why the KDC gives Heddle no ticket; empty if it does.
        kdc_ahead_s: How far the KDC's clock is ahead of Heddle's; None if it is not known.
    """

    principal: str
    trouble: str = ""
    allow_simple: bool = False
    web: str = ""
    ticket_trouble: str = ""
    kdc_ahead_s: float | None = None


@dataclass(frozen=True, slots=True)
class ActingFacts:
    """Outcome of a call that Heddle made at a ResourceManager by ticket, over RPC, for another user.

    Attributes:
        id: Of the sub-cluster.
        user: Heddle's own there.
        told: Its refusal, or why it was not asked; empty if it takes the call.
        is_limited: Whether its rule names hosts, groups or users: for others than who was tried it may be otherwise.
    """

    id: str
    user: str
    told: str = ""
    is_limited: bool = False


def kerberos_findings(kerberos: KerberosFacts | None, acting: Sequence[ActingFacts]) -> Iterator[Finding]:
    """Look at all of it; nothing where Heddle has no principal."""
    if kerberos is not None:
        yield from _servers(kerberos)
        yield from _kdc(kerberos)
        for each in acting:
            yield _right_to_act(each)


def _servers(kerberos: KerberosFacts) -> Iterator[Finding]:
    if kerberos.trouble:
        advice = "until then nobody logs in by ticket; heddle serve --check looks again"
        yield Finding("kerberos", Level.ERROR, "", kerberos.trouble, advice)
    else:
        yield Finding("kerberos", Level.OK, "", f"clients can log in by ticket at {kerberos.principal}")
    if kerberos.allow_simple:
        message = "names are believed without a ticket, too (security.kerberos.allow_simple)"
        yield Finding("kerberos", Level.WARNING, "", message, "switch it off when all clients have tickets")
    if kerberos.web:
        message = f"the web services at {kerberos.web} believe names: whoever reaches them needs no ticket"
        advice = "bind server.rest to loopback, behind a gateway that authenticates"
        yield Finding("kerberos", Level.WARNING, "", message, advice)


def _kdc(kerberos: KerberosFacts) -> Iterator[Finding]:
    if kerberos.ticket_trouble:
        advice = "until then Heddle logs in at no ResourceManager that asks for tickets"
        yield Finding("kdc", Level.ERROR, "", kerberos.ticket_trouble, advice)
    elif kerberos.kdc_ahead_s is not None:
        yield _kdc_clock(kerberos.kdc_ahead_s)


def _kdc_clock(ahead_s: float) -> Finding:
    skew_s = abs(ahead_s)
    if skew_s <= SKEW_NOTABLE_S:
        return Finding("kdc", Level.OK, "", "the KDC gives Heddle tickets, and its clock agrees")
    level = Level.ERROR if skew_s > SKEW_REFUSED_S else Level.WARNING
    message = f"the KDC's clock is {skew_s:.0f} s {'ahead of' if ahead_s > 0 else 'behind'} Heddle's"
    advice = f"synchronise the clocks: tickets are refused beyond {SKEW_REFUSED_S:.0f} s"
    return Finding("kdc", level, "", message, advice)


def _right_to_act(acting: ActingFacts) -> Finding:
    check = "proxy rights"
    if not acting.told:
        return Finding(check, Level.OK, acting.id, f"its ResourceManager lets {acting.user} act for others over RPC")
    if _IMPERSONATE not in acting.told:
        advice = "as long as this holds, Heddle does nothing there for its callers"
        return Finding(check, Level.ERROR, acting.id, acting.told, advice)
    rule = f"hadoop.proxyuser.{acting.user}"
    if acting.is_limited:
        message = f"{acting.told}; {rule} there names whom it may act for, and from where"
        return Finding(check, Level.WARNING, acting.id, message, "see that Heddle's host and its callers are named")
    advice = (
        f"set {rule}.hosts and {rule}.groups in its core-site.xml; yarn rmadmin -refreshSuperUserGroupsConfiguration"
    )
    return Finding(check, Level.ERROR, acting.id, acting.told, advice)
