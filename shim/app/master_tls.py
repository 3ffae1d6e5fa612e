"""TLS between masters: certificate, key and CA in files that may change while Heddle runs.

Both contexts live as long as the process. Before a link is made or taken the files are looked at, once a second at
most; what is new and good is loaded into them, and what is not leaves them as they were.
"""

import ssl
from collections.abc import Callable
from pathlib import Path

import structlog
from cryptography import x509

from shim.app.tls_files import TLSFiles, refusal
from shim.config.masters import MastersConfig
from shim.errors import ConfigError
from shim.protocol.peers import URI_PREFIX

_LOOK_EVERY_S = 1.0
_SECTION = "masters.tls"
_log = structlog.get_logger("heddle.masters")


class MasterTLS:
    """TLS of one master; implements `adapters.peers.LinkTLS`.

    Args:
        files: Certificate, key, and the CA of all masters.

    Raises:
        ConfigError: If the files cannot be used now, or the certificate names somebody else.
    """

    def __init__(self, files: TLSFiles, speaker: str, monotonic_s: Callable[[], float]) -> None:
        self._files = files
        self._speaker = speaker
        self._monotonic_s = monotonic_s
        self._stamp = files.stamp()
        self._looked_at_s = monotonic_s()
        self._listens, self._dials = self._made()

    def listening(self) -> ssl.SSLContext:
        self._look()
        return self._listens

    def dialling(self) -> ssl.SSLContext:
        self._look()
        return self._dials

    def _look(self) -> None:
        if self._monotonic_s() - self._looked_at_s < _LOOK_EVERY_S:
            return
        self._looked_at_s = self._monotonic_s()
        stamp = self._files.stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._made()  # a certificate that is replaced before its key must not be loaded by half
            for context in (self._listens, self._dials):
                _load(context, self._files)
        except ConfigError as exc:
            _log.error("the changed TLS files of masters cannot be used: those of before are", reason=str(exc))
        else:
            _log.info("the TLS files of masters have changed, and are used for new links")

    def _made(self) -> tuple[ssl.SSLContext, ssl.SSLContext]:
        listens, dials = _contexts(self._files)
        _check_name(self._files.certificate, self._speaker)
        return listens, dials


def open_master_tls(masters: MastersConfig, speaker: str, monotonic_s: Callable[[], float]) -> MasterTLS | None:
    """Make TLS as `[masters.tls]` says; None if it says nothing.

    Raises:
        ConfigError: If the files cannot be used, or the certificate names somebody else.
    """
    files = master_tls_files(masters)
    return None if files is None else MasterTLS(files, speaker, monotonic_s)


def master_tls_files(masters: MastersConfig) -> TLSFiles | None:
    """Files that `[masters.tls]` names; None if it names nothing."""
    tls = masters.tls
    if tls.certificate is None or tls.key_file is None or tls.ca is None:
        return None
    return TLSFiles(tls.certificate, tls.key_file, tls.ca, section=_SECTION)


def refused_by_masters(files: TLSFiles) -> str:
    """Shake hands once, in memory, with a master of the same files; returns why one end refuses, empty if none does.

    Raises:
        ConfigError: If a file cannot be used.
    """
    return refusal(*_contexts(files))


def _contexts(files: TLSFiles) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """For who listens, and for who dials."""
    listens = files.context()
    dials = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    dials.check_hostname = False  # masters move between machines: the name of the master is checked, not the host's
    _load(dials, files)
    listens.minimum_version = dials.minimum_version = ssl.TLSVersion.TLSv1_3
    return listens, dials


def _load(context: ssl.SSLContext, files: TLSFiles) -> None:
    try:
        context.load_cert_chain(files.certificate, files.key, password="")
        context.load_verify_locations(files.client_ca)
    except (OSError, ValueError) as exc:  # ssl.SSLError is an OSError
        raise ConfigError(str(files.certificate), f"{_SECTION}.certificate", f"cannot be used: {exc}") from exc


def _check_name(certificate: Path, speaker: str) -> None:
    """A certificate of another name would be refused by every other master, each with a line of its own in the log."""
    try:
        read = x509.load_pem_x509_certificate(certificate.read_bytes())
        names = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        uris = [uri for uri in names.get_values_for_type(x509.UniformResourceIdentifier) if uri.startswith(URI_PREFIX)]
    except (OSError, ValueError, x509.ExtensionNotFound) as exc:
        message = f"names nobody, and has to name this master: URI:{URI_PREFIX}{speaker}"
        raise ConfigError(str(certificate), f"{_SECTION}.certificate", message) from exc
    if uris != [URI_PREFIX + speaker]:
        message = f"names {', '.join(uris) or 'no master'}, and has to name this one: URI:{URI_PREFIX}{speaker}"
        raise ConfigError(str(certificate), f"{_SECTION}.certificate", message)
