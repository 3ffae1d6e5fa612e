"""TLS of the web services put together, and what the doctor says of it."""

from cryptography import x509

from shim.app.tls_files import ReloadedContext, TLSFiles
from shim.config.loader import is_loopback
from shim.config.sections import ServerConfig
from shim.errors import ConfigError
from shim.federation.doctor import TLSFacts
from shim.ports.clock import Clock
from shim.server.rest.tls_greeting import TLSOffer

__all__ = ["check_tls_files", "offered_tls", "tls_facts"]


def offered_tls(server: ServerConfig, clock: Clock) -> TLSOffer | None:
    """Offer to clients as `[server.tls]` says; None without a certificate.

    Raises:
        ConfigError: If the files cannot be used.
    """
    files = _files_of(server)
    if files is None:
        return None
    return TLSOffer(ReloadedContext(files, clock.monotonic_s).now, server.tls.hsts_s)


def check_tls_files(server: ServerConfig) -> None:
    """See whether a server could start with them.

    Raises:
        ConfigError: If the files cannot be used.
    """
    files = _files_of(server)
    if files is not None:
        files.context()


def tls_facts(server: ServerConfig, clock: Clock) -> TLSFacts:
    """Facts of it now, by the files as they are."""
    files = _files_of(server)
    if files is None:
        return TLSFacts(plain_address="" if is_loopback(server.rest) else server.rest)
    try:
        files.context()
        certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    except (ConfigError, OSError, ValueError) as exc:
        return TLSFacts(has_certificate=True, trouble=str(exc))
    return TLSFacts(has_certificate=True, ends_in_s=certificate.not_valid_after_utc.timestamp() - clock.now_s())


def _files_of(server: ServerConfig) -> TLSFiles | None:
    tls = server.tls
    if tls.certificate is None or tls.key_file is None:
        return None
    return TLSFiles(tls.certificate, tls.key_file, tls.client_ca)
