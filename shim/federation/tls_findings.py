"""Findings of TLS: at the web services, towards sub-clusters, between masters. Pure, as the doctor is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shim.federation.findings import Finding, Level

_NOTABLE_DAYS = 21
_DAY_S = 86_400.0
_RENEW = "put a new one into its file: it is read again without a restart"
_BEFORE = "until then what the files held before is used, and Heddle does not start again"


@dataclass(frozen=True, slots=True)
class TLSFacts:
    """Facts of TLS at the web services.

    Attributes:
        has_certificate: Whether they are configured to speak it.
        plain_address: Where other machines reach them without it; else empty.
        trouble: Why the files cannot be used now; empty if they can.
        ends_in_s: Until the certificate expires; negative if it has.
        refused: Why clients that believe its CA refuse the certificate; empty if they do not.
        asked_for: Names that clients may write; empty if one of them is among those.
    """

    has_certificate: bool = False
    plain_address: str = ""
    trouble: str = ""
    ends_in_s: float = 0.0
    file: str = ""
    refused: str = ""
    is_for: tuple[str, ...] = ()
    asked_for: tuple[str, ...] = ()


NO_TLS = TLSFacts()
"""Web services that speak plain HTTP, on loopback."""


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """Life of a file's certificates.

    Attributes:
        what: Whose they are, for messages.
        ends_in_s: Until the certificate expires, of several CAs the last; negative if it has.
    """

    what: str
    file: str
    ends_in_s: float


@dataclass(frozen=True, slots=True)
class ClusterTLSFacts:
    """Facts of https towards one sub-cluster's web servers.

    Attributes:
        is_verified: Whether its servers have to prove who they are.
        plain: Its addresses without https, though files for https are named.
        trouble: Why the files cannot be used now; empty if they can.
    """

    id: str
    is_verified: bool
    plain: tuple[str, ...] = ()
    trouble: str = ""
    certificates: tuple[CertificateFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class MasterTLSFacts:
    """Facts of links between masters.

    Attributes:
        plain: Addresses of masters on other machines that are reached without TLS.
        trouble: Why the files cannot be used now; empty if they can, or there are none.
        refused: Why other masters refuse it, as one that dials or that listens; empty if they do not.
    """

    plain: tuple[str, ...] = ()
    trouble: str = ""
    certificates: tuple[CertificateFacts, ...] = ()
    file: str = ""
    refused: str = ""


def tls_findings(
    web: TLSFacts, clusters: Sequence[ClusterTLSFacts], masters: MasterTLSFacts | None
) -> Iterator[Finding]:
    yield from _of_web(web)
    for each in clusters:
        yield from _of_cluster(each)
    if masters is not None:
        yield from _of_masters(masters)


def _of_web(tls: TLSFacts) -> Iterator[Finding]:
    if tls.plain_address:
        message = f"the web services at {tls.plain_address} are not encrypted, and other machines reach them"
        yield Finding("tls", Level.WARNING, "", message, "set server.tls.certificate and key, or bind to loopback")
    elif tls.trouble:
        yield Finding("tls", Level.ERROR, "", tls.trouble, _BEFORE)
    elif tls.has_certificate:
        life = _life(CertificateFacts("the certificate of the web services", tls.file, tls.ends_in_s), "")
        if tls.refused and tls.ends_in_s > 0:
            message = f"clients refuse the certificate of the web services ({tls.file}): {tls.refused}"
            yield Finding("tls", Level.ERROR, "", message, _RENEW)
        else:
            yield life
        if tls.asked_for:
            yield _misnamed(tls)


def _misnamed(tls: TLSFacts) -> Finding:
    names = ", ".join(tls.is_for) or "no name (it needs a subjectAltName)"
    message = (
        f"the certificate of the web services ({tls.file}) is for {names}, and for none of {', '.join(tls.asked_for)}: "
        "clients that write one of these refuse it"
    )
    return Finding(
        "tls",
        Level.WARNING,
        "",
        message,
        "let one be issued for the name that clients write, and name that in server.host_names",
    )


def _of_cluster(tls: ClusterTLSFacts) -> Iterator[Finding]:
    if not tls.is_verified:
        message = "the certificates of its web servers are not checked (verify_tls = false): anybody can pose as it"
        yield Finding("tls", Level.WARNING, tls.id, message, "name its CA in ca_file, and take verify_tls away")
    if tls.plain:
        message = f"files for https are named, and {', '.join(tls.plain)} is asked in clear text"
        yield Finding("tls", Level.WARNING, tls.id, message, "write https:// in web, or yarn.http.policy in its conf")
    yield from _of_files(tls.trouble, tls.certificates, tls.id)


def _of_masters(tls: MasterTLSFacts) -> Iterator[Finding]:
    for address in tls.plain:
        message = f"a master on another machine is reached at {address} without TLS: its calls can be read on the way"
        yield Finding("tls", Level.WARNING, "", message, "write [masters.tls]; see docs/operators/security/tls.md")
    yield from _of_files(tls.trouble, tls.certificates, "")
    if tls.refused and all(each.ends_in_s > 0 for each in tls.certificates):  # else that is told
        message = f"other masters refuse the certificate of this one ({tls.file}): {tls.refused}"
        yield Finding("tls", Level.ERROR, "", message, "let the CA of masters issue one for servers and clients")


def _of_files(trouble: str, certificates: Sequence[CertificateFacts], subject: str) -> Iterator[Finding]:
    if trouble:
        yield Finding("tls", Level.ERROR, subject, trouble, _BEFORE)
    else:
        yield from (_life(each, subject) for each in certificates)


def _life(certificate: CertificateFacts, subject: str) -> Finding:
    days = certificate.ends_in_s / _DAY_S
    named = f"{certificate.what} ({certificate.file})" if certificate.file else certificate.what
    if days <= 0:
        return Finding("tls", Level.ERROR, subject, f"{named} has expired", _RENEW)
    level, advice = (Level.WARNING, _RENEW) if days < _NOTABLE_DAYS else (Level.OK, "")
    return Finding("tls", level, subject, f"{named} is good for {days:.0f} more days", advice)
