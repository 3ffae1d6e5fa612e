"""The library `gssapi`, loaded when Kerberos is first used; its errors become ours here.

Source: error tables of MIT krb5 1.20 (`krb5_err.et`, `gssapi_err_krb5.et`).
"""

import importlib
from collections.abc import Mapping
from typing import Any

from shim.errors import ConfigError

__all__ = ["load_library", "reason_of"]

_CODE_BITS = 0xFFFFFFFF
_KRB5 = -1765328384
_KINIT = "get a ticket: kinit PRINCIPAL"
_KEYTAB = "write the key anew: kadmin ktadd -k KEYTAB PRINCIPAL"
_CONF = "name the realm's KDC in krb5.conf (KRB5_CONFIG), and see that it runs"

_ADVICE: Mapping[int, str] = {
    code & _CODE_BITS: advice
    for code, advice in (
        (_KRB5 + 6, "make the principal at the KDC: kadmin addprinc"),
        (_KRB5 + 7, "make the service's principal at the KDC (SERVICE/HOST@REALM, the host in lower case)"),
        (_KRB5 + 24, _KEYTAB),
        (_KRB5 + 31, _KEYTAB),
        (_KRB5 + 32, _KINIT),
        (_KRB5 + 35, "the client asked for another service: compare the principals of both sides"),
        (_KRB5 + 37, "synchronise the clocks"),
        (_KRB5 + 41, _KEYTAB),
        (_KRB5 + 44, _KEYTAB),
        (_KRB5 + 45, _KEYTAB),
        (_KRB5 + 141, _KINIT),  # no such ticket in the cache
        (_KRB5 + 144, "the client asked for another service: compare the principals of both sides"),
        (_KRB5 + 154, _CONF),  # no such realm
        (_KRB5 + 156, _CONF),  # no KDC answers
        (_KRB5 + 181, _KEYTAB),  # no such key
        (_KRB5 + 195, _KINIT),  # no ticket cache
        (_KRB5 + 213, _KEYTAB),  # no keytab at all
        (39756032, _KINIT),  # a cache of another principal
        (39756033, _KEYTAB),  # no key of that principal
        (39756044, _KINIT),  # an empty cache
    )
}
"""What to do, by the minor code of a failure."""


def load_library() -> Any:
    """The module `gssapi`.

    Raises:
        ConfigError: If the extra, or the C library below it, is not installed.
    """
    try:
        return importlib.import_module("gssapi")
    except (ImportError, OSError) as exc:
        message = f"needs the library gssapi ({exc}): pip install '.[kerberos]', with libkrb5-dev of the system"
        raise ConfigError("the installation", "security.kerberos", message) from exc


def reason_of(error: Any, *, has_keytab: bool) -> str:
    """Message of a `GSSError`, with what to do about it; whoever has a keytab needs no other ticket."""
    code = error.min_code & _CODE_BITS
    told = list(error.get_all_statuses(error.min_code, False)) if code else []  # noqa: FBT003 - the library's signature
    text = "; ".join(told or error.get_all_statuses(error.maj_code, True))  # noqa: FBT003 - the library's signature
    advice = _ADVICE.get(code)
    if advice == _KINIT and has_keytab:
        advice = _KEYTAB
    return f"{text}: {advice}" if advice else text
