"""TLS put together: the offer of the web services, and what the doctor says of every certificate."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from cryptography import x509

from shim.app.connections import cluster_tls_files
from shim.app.host_limits import own_host_names
from shim.app.master_tls import master_tls_files, refused_by_masters
from shim.app.tls_files import ReloadedContext, TLSFiles
from shim.config.loader import Config, is_loopback
from shim.config.masters import MastersConfig
from shim.config.sections import ServerConfig
from shim.config.subclusters import SubClusterConfig
from shim.domain.addresses import is_anywhere, split_address
from shim.errors import ConfigError
from shim.federation.findings import Finding, Level
from shim.federation.tls_findings import CertificateFacts, ClusterTLSFacts, MasterTLSFacts, TLSFacts, tls_findings
from shim.ports.clock import Clock
from shim.server.rest.tls_greeting import TLSOffer

_HTTPS = "https:"


def offered_tls(server: ServerConfig, clock: Clock) -> TLSOffer | None:
    """Offer to clients as `[server.tls]` says; None without a certificate.

    Raises:
        ConfigError: If the files cannot be used.
    """
    files = _files_of(server)
    if files is None:
        return None
    return TLSOffer(ReloadedContext(files, clock.monotonic_s).now, server.tls.hsts_s)


def check_tls_files(config: Config) -> None:
    """See whether the web services and a master could start with theirs.

    Raises:
        ConfigError: If the files cannot be used.
    """
    for files in (_files_of(config.server), master_tls_files(config.masters)):
        if files is not None:
            files.context()


def tls_facts(server: ServerConfig, now_s: float) -> TLSFacts:
    files = _files_of(server)
    if files is None:
        return TLSFacts(plain_address="" if is_loopback(server.rest) else server.rest)
    try:
        refused = files.refused()
        ends_at_s = _ends_at_s(files.certificate)
        is_for = _names_of(files.certificate)
    except (ConfigError, OSError, ValueError) as exc:
        return TLSFacts(has_certificate=True, trouble=str(exc))
    asked_for = _asked_for(server)
    return TLSFacts(
        has_certificate=True,
        ends_in_s=ends_at_s - now_s,
        file=str(files.certificate),
        refused=refused,
        is_for=is_for,
        asked_for=() if any(_is_named(each, is_for) for each in asked_for) else asked_for,
    )


def cluster_tls_facts(config: SubClusterConfig, web: Sequence[str], now_s: float) -> ClusterTLSFacts | None:
    """Facts of https towards a sub-cluster, by its files as they are; None where it has none of it.

    Args:
        web: Addresses of its ResourceManagers.
        now_s: Seconds since the epoch.
    """
    files = cluster_tls_files(config)
    is_encrypted = any(address.startswith(_HTTPS) for address in web)
    if not is_encrypted and not files.names_any:
        return None
    plain = tuple(address for address in web if not address.startswith(_HTTPS))
    is_verified = config.verify_tls or not is_encrypted
    named = (("the CA of its web servers", files.ca), ("Heddle's certificate for it", files.certificate))
    try:
        files.context()
        certificates = _lives(named, now_s)
    except (ConfigError, OSError, ValueError) as exc:
        return ClusterTLSFacts(config.id, is_verified, plain, trouble=str(exc))
    return ClusterTLSFacts(config.id, is_verified, plain, certificates=certificates)


def master_tls_facts(masters: MastersConfig, addresses: Iterable[str], now_s: float) -> MasterTLSFacts:
    """Facts of links to other masters, by the files as they are.

    Args:
        now_s: Seconds since the epoch.
    """
    files = master_tls_files(masters)
    if files is None:
        return MasterTLSFacts(plain=tuple(sorted({each for each in addresses if not is_loopback(each)})))
    try:
        refused = refused_by_masters(files)
        named = (("the certificate of this master", files.certificate), ("the CA of masters", files.client_ca))
        return MasterTLSFacts(certificates=_lives(named, now_s), file=str(files.certificate), refused=refused)
    except (ConfigError, OSError, ValueError) as exc:
        return MasterTLSFacts(trouble=str(exc))


def tls_warnings(config: Config, webs: Sequence[Sequence[str]], now_s: float) -> list[Finding]:
    """Trouble with any certificate, now or soon, before Heddle runs.

    Args:
        webs: Web addresses of each sub-cluster, in the order of the configuration.
        now_s: Seconds since the epoch.
    """
    pairs = zip(config.subclusters, webs, strict=True)
    clusters = [facts for each, web in pairs if (facts := cluster_tls_facts(each, web, now_s)) is not None]
    masters = master_tls_facts(config.masters, (config.masters.advertise or config.masters.listen,), now_s)
    found = tls_findings(tls_facts(config.server, now_s), clusters, masters)
    return [each for each in found if each.level is not Level.OK]


def _lives(named: Iterable[tuple[str, Path | None]], now_s: float) -> tuple[CertificateFacts, ...]:
    return tuple(CertificateFacts(what, str(file), _ends_at_s(file) - now_s) for what, file in named if file)


def _ends_at_s(file: Path) -> float:
    """End of the first certificate of a chain, or of the last of several CAs, in seconds since the epoch.

    A chain's first is a server's own; of CAs that follow each other one that is good is enough.
    """
    found = x509.load_pem_x509_certificates(file.read_bytes())
    ends = [each.not_valid_after_utc.timestamp() for each in found]
    return max(ends) if all(_is_ca(each) for each in found) else ends[0]


def _names_of(file: Path) -> tuple[str, ...]:
    """Names that a server's own certificate is for; that of its subject is no name to clients."""
    own = x509.load_pem_x509_certificates(file.read_bytes())[0]
    try:
        named = own.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    addresses = named.get_values_for_type(x509.IPAddress)
    return (*named.get_values_for_type(x509.DNSName), *map(str, addresses))


def _asked_for(server: ServerConfig) -> tuple[str, ...]:
    """Names that clients may write, as far as one knows here."""
    bound, _ = split_address(server.rest)
    told = [name for name in server.host_names if name != "*"]
    here = [] if is_anywhere(bound) else [bound]
    return tuple(dict.fromkeys([*told, *here, *([] if told else sorted(own_host_names()))]))


def _is_named(name: str, names: Sequence[str]) -> bool:
    wanted = name.lower()
    above = wanted.partition(".")[2]
    return any(each.lower() in (wanted, f"*.{above}") for each in names)


def _is_ca(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _files_of(server: ServerConfig) -> TLSFiles | None:
    tls = server.tls
    if tls.certificate is None or tls.key_file is None:
        return None
    return TLSFiles(tls.certificate, tls.key_file, tls.client_ca)
