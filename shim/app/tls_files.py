"""Certificate, key and CA of the web services, in files that may change while Heddle runs.

Each connection asks for the context of now; the files are looked at once a second at most. What cannot be used leaves
the context as it was: a certificate that is replaced before its key is a matter of moments.
"""

import contextlib
import ssl
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

from shim.errors import ConfigError

__all__ = ["ReloadedContext", "TLSFiles"]

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
        self._check_key()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        try:
            context.load_cert_chain(self.certificate, self.key, password=_no_passphrase)
        except (OSError, ValueError) as exc:  # ssl.SSLError is an OSError
            message = f"cannot be used with the key {self.key}: {exc}"
            raise ConfigError(str(self.certificate), f"{self.section}.certificate", message) from exc
        if self.client_ca is not None:
            _want_clients_of(context, self.client_ca)
        return context

    def stamp(self) -> _Stamp:
        """Changes when a file does; empty while one is missing."""
        files = (self.certificate, self.key, *([self.client_ca] if self.client_ca else []))
        with contextlib.suppress(OSError):
            return tuple((status.st_ino, status.st_size, status.st_mtime_ns) for status in map(Path.stat, files))
        return ()

    def _check_key(self) -> None:
        try:
            mode = stat.S_IMODE(self.key.stat().st_mode)
        except OSError as exc:
            raise ConfigError(str(self.key), f"{self.section}.key", f"cannot be read: {exc}") from exc
        if mode & _OTHERS:
            message = f"others may read or write it (mode {mode:04o}): chmod 600 {self.key}"
            raise ConfigError(str(self.key), f"{self.section}.key", message)


class ReloadedContext:
    """The context for the next connection.

    Args:
        files: Where certificate, key and CA are.
        monotonic_s: The clock that tells when to look again.

    Raises:
        ConfigError: If the files cannot be used now.
    """

    def __init__(self, files: TLSFiles, monotonic_s: Callable[[], float]) -> None:
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
            _log.error("the changed TLS files cannot be used: the certificate of before is shown", reason=str(exc))
        else:
            _log.info("the TLS files have changed, and are used for new connections")


def _want_clients_of(context: ssl.SSLContext, ca: Path) -> None:
    """Let in only clients with a certificate of a CA; each proves it anew, as a ticket would outlive the CA's word.

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
        raise ConfigError(str(ca), "server.tls.client_ca", message) from exc


def _no_passphrase() -> str:
    """Keeps the library from asking at the terminal."""
    raise ValueError("the key has a passphrase, and nobody is there to type it")
