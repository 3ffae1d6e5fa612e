"""A keytab looked at before anybody needs it.

Readers of keytabs and ticket caches, for facts that the library does not give. Pure.

Source: "The keytab file format" (0x0502) and "The credential cache file format" (0x0504) of MIT krb5's documentation.
"""

import stat
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adapters.kerberos.contexts import KerberosAcceptor, KerberosInitiator
from shim.errors import ConfigError, HeddleError
from shim.protocol.hrpc.sasl import SASLError

_KEY = "security.kerberos.keytab"
_SHOWN = 10
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def open_acceptor(principal: str, keytab: Path, *, key: str = _KEY, negotiates: bool = False) -> KerberosAcceptor:
    """Open the acceptor of a service's clients.

    Args:
        principal: `service/host@REALM`.
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


_KEYTAB, _CACHE = b"\x05\x02", b"\x05\x04"


class KerberosFileError(HeddleError):
    """A file that is no keytab, or no ticket cache."""


@dataclass(slots=True)
class _Reader:
    """Numbers of network order and counted texts, one after the other."""

    data: bytes
    at: int = 0

    def take(self, length: int) -> bytes:
        """So many bytes."""
        taken = self.data[self.at : self.at + length]
        if length < 0 or len(taken) < length:
            raise KerberosFileError("the file ends in the middle of an entry")
        self.at += length
        return taken

    def number(self, form: str) -> int:
        (value,) = struct.unpack(f">{form}", self.take(struct.calcsize(form)))
        return int(value)

    def counted(self, form: str) -> bytes:
        """Bytes after their number, which is in a form of `struct`."""
        return self.take(self.number(form))

    @property
    def is_done(self) -> bool:
        return self.at >= len(self.data)


def principals_in(keytab: bytes) -> tuple[str, ...]:
    """Principals whose keys a keytab has, each once, in their order.

    Raises:
        KerberosFileError: If it is no keytab.
    """
    if not keytab.startswith(_KEYTAB):
        raise KerberosFileError("is no keytab")
    reader, found = _Reader(keytab, len(_KEYTAB)), []
    while not reader.is_done:
        length = reader.number("i")
        entry = reader.take(abs(length))
        if length > 0:  # else the hole that a deleted entry has left
            found.append(_principal_of(_Reader(entry)))
    return tuple(dict.fromkeys(found))


def _principal_of(entry: _Reader) -> str:
    parts = entry.number("H")
    realm = entry.counted("H")
    names = b"/".join(entry.counted("H") for _ in range(parts))
    return f"{names.decode(errors='replace')}@{realm.decode(errors='replace')}"


def issued_at_s(cache: bytes) -> int:
    """Time at which the KDC issued the first ticket of a cache, in Unix seconds of the KDC's clock.

    Raises:
        KerberosFileError: If it is no ticket cache, or has no ticket.
    """
    if not cache.startswith(_CACHE):
        raise KerberosFileError("is no ticket cache")
    reader = _Reader(cache, len(_CACHE))
    reader.counted("H")  # settings
    _skip_principal(reader)  # whose cache it is
    while not reader.is_done:
        issued_s = _credential(reader)
        if issued_s > 0:  # a setting of the library's lies in there as a ticket of no time
            return issued_s
    raise KerberosFileError("has no ticket")


def _credential(reader: _Reader) -> int:
    """Read over a credential, and return the time of its issue."""
    _skip_principal(reader)  # the client
    _skip_principal(reader)  # the service
    reader.number("H")  # type of the key
    reader.counted("I")
    issued_s = reader.number("I")
    reader.take(3 * 4 + 1 + 4)  # start, end, renewable until; whether it is a user's; flags
    for _ in range(2):  # addresses, authorisation
        for _ in range(reader.number("I")):
            reader.number("H")
            reader.counted("I")
    for _ in range(2):  # the ticket, a second one
        reader.counted("I")
    return issued_s


def _skip_principal(reader: _Reader) -> None:
    reader.number("I")  # its type
    for _ in range(reader.number("I") + 1):  # the realm is not counted
        reader.counted("I")
