"""Certificate, key and CA in files that may change while Heddle runs: of its web services, and towards clusters.

Each connection asks for the context of now; the files are looked at once a second at most. What cannot be used leaves
the context as it was: a certificate that is replaced before its key is a matter of moments.
"""

import contextlib
import ssl
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import structlog

from shim.errors import ConfigError, reason_of

_LOOK_EVERY_S = 1.0
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_log = structlog.get_logger("heddle.tls")

_Stamp = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class TLSFiles:
    """Files of a server's identity.

    Attributes:
        certificate: In PEM form, with those between it and its CA.
        key: Of the certificate, for its owner alone.
        client_ca: CA that clients need a certificate of; None if they need none.
        section: Of the configuration that names them, for messages.
    """

    certificate: Path
    key: Path
    client_ca: Path | None = None
    section: str = "server.tls"

    def context(self) -> ssl.SSLContext:
        """A new context of what the files hold now.

        Raises:
            ConfigError: If one cannot be used, or others may read the key.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        _show(context, self.certificate, self.key, self.section)
        if self.client_ca is not None:
            _want_clients_of(context, self.client_ca, f"{self.section}.client_ca")
        return context

    def stamp(self) -> _Stamp:
        """Changes when a file does; empty while one is missing."""
        return _stamp_of(self.certificate, self.key, self.client_ca)

    def refused(self) -> str:
        """Shake hands once, in memory, with a client that believes its CA; returns why that refuses, empty if not.

        Raises:
            ConfigError: If a file cannot be used.
        """
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.check_hostname = False  # under which name one comes, is known outside alone
        client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        server = replace(self, client_ca=None).context()
        try:
            client.load_verify_locations(self.certificate)
        except OSError as exc:
            return exc.strerror or str(exc)
        return refusal(server, client)


@dataclass(frozen=True, slots=True)
class ClientTLSFiles:
    """Files by which a client knows servers, and they know it.

    Attributes:
        is_verified: Whether a server has to prove who it is.
        ca: Certificates to trust, in PEM form; None for the machine's.
        certificate: Its own, for servers that ask for one, with those between it and its CA.
        key: Of the certificate, for its owner alone; None without one.
        section: Of the configuration that names them, for messages.
        whom: What they lead to, for messages.
    """

    is_verified: bool
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    section: str = "subcluster"
    whom: str = ""

    @property
    def names_any(self) -> bool:
        return any(file is not None for file in (self.ca, self.certificate, self.key))

    def context(self) -> ssl.SSLContext:
        """A new context of what the files hold now: TLS 1.2 or newer, chains and names are checked.

        Raises:
            ConfigError: If one cannot be used, others may read the key, or one of certificate and key is missing.
        """
        try:
            context = ssl.create_default_context(cafile=None if self.ca is None else str(self.ca))
        except OSError as exc:
            message = f"cannot be used: {exc}; {self.whom} needs certificates in PEM form there"
            raise ConfigError(str(self.ca), f"{self.section}.ca_file", message) from exc
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.certificate is not None and self.key is not None:
            _show(context, self.certificate, self.key, self.section)
        elif self.certificate is not None or self.key is not None:
            lacking = "certificate" if self.certificate is None else "key"
            message = "is missing: a certificate and its key go together"
            raise ConfigError(self.whom, f"{self.section}.{lacking}", message)
        if not self.is_verified:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def stamp(self) -> _Stamp:
        """Changes when a file does; empty while one is missing."""
        return _stamp_of(self.ca, self.certificate, self.key)


class _ContextFiles(Protocol):
    """Files that make a context; `TLSFiles` and `ClientTLSFiles` do."""

    def context(self) -> ssl.SSLContext: ...

    def stamp(self) -> _Stamp: ...


class ReloadedContext:
    """The context for the next connection.

    Args:
        files: Where certificate, key and CA are.

    Raises:
        ConfigError: If the files cannot be used now.
    """

    def __init__(self, files: _ContextFiles, monotonic_s: Callable[[], float]) -> None:
        self._files = files
        self._monotonic_s = monotonic_s
        self._stamp = files.stamp()
        self._context = files.context()
        self._looked_at_s = monotonic_s()

    def now(self) -> ssl.SSLContext:
        """By the files as they were within the last second."""
        if self._monotonic_s() - self._looked_at_s >= _LOOK_EVERY_S:
            self._looked_at_s = self._monotonic_s()
            self._look()
        return self._context

    def _look(self) -> None:
        stamp = self._files.stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._context = self._files.context()
        except ConfigError as exc:
            _log.error("the changed TLS files cannot be used: what was in them before is", reason=str(exc))
        else:
            _log.info("the TLS files have changed, and are used for new connections")


def refusal(server: ssl.SSLContext, client: ssl.SSLContext) -> str:
    """Have two ends shake hands once, in memory; returns why one of them refuses, empty if neither does."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(back, there), server.wrap_bio(there, back, server_side=True)]
    try:
        while ends:
            for end in tuple(ends):
                with contextlib.suppress(ssl.SSLWantReadError):
                    end.do_handshake()
                    ends.remove(end)
    except ssl.SSLCertVerificationError as exc:
        return exc.verify_message
    except OSError as exc:
        return exc.strerror or str(exc)
    return ""


def _stamp_of(*files: Path | None) -> _Stamp:
    with contextlib.suppress(OSError):
        statuses = [file.stat() for file in files if file is not None]
        return tuple((status.st_ino, status.st_size, status.st_mtime_ns) for status in statuses)
    return ()


def _show(context: ssl.SSLContext, certificate: Path, key: Path, section: str) -> None:
    """Show a certificate to the other side.

    Raises:
        ConfigError: If a file cannot be used, or others may read the key.
    """
    _check_key(key, section)
    try:
        context.load_cert_chain(certificate, key, password=_no_passphrase)
    except (OSError, ValueError) as exc:  # ssl.SSLError is an OSError
        message = f"cannot be used with the key {key}: {exc}"
        raise ConfigError(str(certificate), f"{section}.certificate", message) from exc


def _check_key(key: Path, section: str) -> None:
    try:
        mode = stat.S_IMODE(key.stat().st_mode)
    except OSError as exc:
        raise ConfigError(str(key), f"{section}.key", f"cannot be read: {reason_of(exc)}") from exc
    if mode & _OTHERS:
        message = f"others may read or write it (mode {mode:04o}): chmod 600 {key}"
        raise ConfigError(str(key), f"{section}.key", message)


def _want_clients_of(context: ssl.SSLContext, ca: Path, key: str) -> None:
    """Let in only clients with a certificate of a CA; each proves it anew, as a ticket would outlive the CA's word.

    Args:
        ca: Certificates in PEM form.
        key: Of the configuration that names them, for messages.

    Raises:
        ConfigError: If the file has no certificates.
    """
    context.verify_mode = ssl.CERT_REQUIRED
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    try:
        context.load_verify_locations(ca)
    except OSError as exc:
        message = f"cannot be used: {exc}; certificates in PEM form are needed there"
        raise ConfigError(str(ca), key, message) from exc


def _no_passphrase() -> str:
    """Keeps the library from asking at the terminal."""
    raise ValueError("the key has a passphrase, and nobody is there to type it")
