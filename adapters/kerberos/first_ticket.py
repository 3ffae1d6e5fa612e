"""A new ticket from the KDC, as a test of the keytab, of the KDC and of its clock."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from adapters.kerberos.contexts import KerberosInitiator
from adapters.kerberos.files import KerberosFileError, issued_at_s
from shim.protocol.hrpc.sasl import SASLError

__all__ = ["kdc_ahead_s"]


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
