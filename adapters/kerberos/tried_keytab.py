"""A keytab looked at before anybody needs it."""

import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from adapters.kerberos.contexts import KerberosAcceptor, KerberosInitiator
from adapters.kerberos.files import KerberosFileError, issued_at_s, principals_in
from shim.errors import ConfigError
from shim.protocol.hrpc.sasl import SASLError

__all__ = ["kdc_ahead_s", "open_acceptor"]

_KEY = "security.kerberos.keytab"
_SHOWN = 10
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def open_acceptor(principal: str, keytab: Path, *, key: str = _KEY, negotiates: bool = False) -> KerberosAcceptor:
    """Open the acceptor of a service's clients.

    Args:
        principal: `service/host@REALM`.
        keytab: File with its key.
        key: Of the configuration: who named the file.
        negotiates: Whether it is for web services; see `KerberosAcceptor`.

    Raises:
        ConfigError: If the library is missing, or the file is, is readable to others, or has no key of the principal.
    """
    try:
        mode = stat.S_IMODE(keytab.stat().st_mode)
        keytab.open("rb").close()
    except OSError as exc:
        raise ConfigError(str(keytab), key, f"cannot be read: {exc}") from exc
    if mode & _OTHERS:
        message = f"others may read or write it (mode {mode:04o}): chmod 600 {keytab}"
        raise ConfigError(str(keytab), key, message)
    try:
        return KerberosAcceptor(principal, keytab, negotiates=negotiates)
    except SASLError as exc:
        raise ConfigError(str(keytab), key, f"cannot be used: {exc}{_what_it_has(keytab, principal)}") from exc


def _what_it_has(keytab: Path, principal: str) -> str:
    """Principals of a keytab without the one needed, for a message: a wrong name of the machine is seen at once."""
    try:
        found = principals_in(keytab.read_bytes())
    except (OSError, KerberosFileError):
        return ""
    return "" if principal in found else f"; it has keys of {', '.join(found[:_SHOWN]) or 'nobody'}"


# A new ticket from the KDC, as a test of the keytab, of the KDC and of its clock.


def kdc_ahead_s(principal: str, keytab: Path, now_s: Callable[[], float]) -> float:
    """Lead of the KDC's clock over this machine's, in seconds, exact to a second. Blocks while it waits for the KDC.

    Args:
        principal: Whose ticket is asked for; what it has already is left alone.
        keytab: File with its key.
        now_s: This machine's clock.

    Raises:
        ConfigError: If the library is not installed.
        SASLError: If there is no ticket to be had.
    """
    with tempfile.TemporaryDirectory(prefix="heddle-ticket-") as folder:
        cache = Path(folder) / "cache"
        before_s = now_s()
        KerberosInitiator(principal, keytab, f"FILE:{cache}").get_ticket()
        after_s = now_s()
        try:
            issued_s = issued_at_s(cache.read_bytes())
        except (OSError, KerberosFileError) as exc:
            raise SASLError(f"GSSAPI: the ticket that the KDC gave cannot be read: {exc}") from exc
    # its second may have begun before we asked
    nearest_s = min(max(issued_s, before_s - 1), after_s)
    return issued_s - nearest_s
