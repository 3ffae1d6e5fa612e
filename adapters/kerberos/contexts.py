"""Both sides of a Kerberos login as `SecurityContext`s of the mechanism GSSAPI.

Source: RFC 4121, RFC 4752; `org.apache.hadoop.security.SaslRpcServer`, `SaslRpcClient`; `gss_acquire_cred_from` of MIT
krb5.

The library `gssapi`, loaded when Kerberos is first used; its errors become ours here.

Source: error tables of MIT krb5 1.20 (`krb5_err.et`, `gssapi_err_krb5.et`).
"""

import importlib
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from shim.errors import ConfigError
from shim.protocol.hrpc.gssapi import SecurityContext
from shim.protocol.hrpc.sasl import SASLError

_T = TypeVar("_T")
_caches = itertools.count(1)
_SPNEGO = "1.3.6.1.5.5.2"
"""The mechanism that negotiates others; web browsers and Java speak it at web services."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Names of an attempt to log in, for messages.

    Attributes:
        has_keytab: Whether keys are at hand, and tickets come from them.
        told: What the peer hears of a failure, which may name files of this machine; empty for all of it.
    """

    what: str
    has_keytab: bool = True
    told: str = ""

    def run(self, library: Any, work: Callable[[], _T]) -> _T:
        """Do a part of it.

        Raises:
            SASLError: If the library refuses.
        """
        try:
            return work()
        except library.exceptions.GSSError as exc:
            message = f"GSSAPI: {self.what}: {reason_of(exc, has_keytab=self.has_keytab)}"
            raise SASLError(message, told=self.told) from exc


_REFUSED = "GSS initiate failed"  # as Java's servers say it
_PROTECTS = _Attempt("a message to protect")
_OPENS = _Attempt("a message of the peer")


class KerberosContext:
    """Implements `SecurityContext` over a context of the library.

    Args:
        library: The module `gssapi`.
    """

    def __init__(self, library: Any, context: Any, attempt: _Attempt) -> None:
        # by default the library tells a failure one call later, to send the mechanism's word on it first
        context.__DEFER_STEP_ERRORS__ = False
        self._library = library
        self._context = context
        self._attempt = attempt

    @property
    def is_complete(self) -> bool:
        return bool(self._context.complete)

    @property
    def peer(self) -> str:
        is_initiator = self._context.usage == "initiate"
        return str(self._context.target_name if is_initiator else self._context.initiator_name)

    def step(self, token: bytes) -> bytes:
        return self._attempt.run(self._library, lambda: self._context.step(token or None) or b"")

    def wrap(self, data: bytes, *, is_encrypted: bool) -> bytes:
        wrapped = _PROTECTS.run(self._library, lambda: self._context.wrap(data, is_encrypted))
        if is_encrypted and not wrapped.encrypted:
            raise SASLError("GSSAPI: the context does not encrypt: both sides need an encryption type in common")
        return bytes(wrapped.message)

    def unwrap(self, data: bytes, *, is_encrypted: bool) -> bytes:
        opened = _OPENS.run(self._library, lambda: self._context.unwrap(data))
        if is_encrypted and not opened.encrypted:
            raise SASLError("GSSAPI: Privacy not provided: the peer sent a message that is not encrypted")
        return bytes(opened.message)


class KerberosAcceptor:
    """Accepts clients as one service; the keytab is read again for each, so that a new key needs no restart.

    Args:
        principal: `service/host@REALM`.
        negotiates: Whether tickets come in tokens of SPNEGO, as at web services; else in Kerberos's own.

    Raises:
        ConfigError: If the library is not installed.
        SASLError: If the keytab cannot be read or has no key of the principal.
    """

    def __init__(self, principal: str, keytab: Path, *, negotiates: bool = False) -> None:
        self._library = load_library()
        self._attempt = _Attempt(f"to accept a client as {principal} with {keytab}", told=_REFUSED)
        library = self._library
        self._credentials = self._attempt.run(
            library,
            lambda: library.Credentials(
                name=library.Name(principal, library.NameType.kerberos_principal),
                usage="accept",
                mechs=_mechanisms(library, negotiates=negotiates),
                store={"keytab": f"FILE:{keytab}"},
            ),
        )

    def context(self) -> SecurityContext:
        context = self._library.SecurityContext(creds=self._credentials, usage="accept")
        return KerberosContext(self._library, context, self._attempt)


class KerberosInitiator:
    """Logs in at services as one principal. It speaks with the KDC, which blocks: use it from a thread.

    Args:
        principal: As whom; empty for whoever the ticket cache is of.
        keytab: File with the principal's key, from which tickets are got and renewed; None for a ticket cache.
        cache: Ticket cache (`FILE:PATH`); empty for the process's own (`KRB5CCNAME`).

    Raises:
        ConfigError: If the library is not installed.
    """

    def __init__(self, principal: str = "", keytab: Path | None = None, cache: str = "") -> None:
        self._library = load_library()
        self._principal = principal
        self._store: dict[str, str] = {}
        if keytab is not None:
            # tickets of a keytab are kept apart from those of whoever runs the process
            self._store = {"client_keytab": f"FILE:{keytab}", "ccache": f"MEMORY:heddle-{next(_caches)}"}
        if cache:
            self._store["ccache"] = cache
        source = f" with {keytab}" if keytab is not None else ""
        self._what = f"to log in{f' as {principal}' if principal else ''}{source}"

    def context(self, service: str, host: str) -> SecurityContext:
        """Towards `service@host`, whose realm krb5.conf tells.

        Raises:
            SASLError: If there is no ticket, and none can be had.
        """
        library = self._library
        return self._towards(library.Name(f"{service}@{host}", library.NameType.hostbased_service))

    def negotiation(self, service: str, host: str) -> SecurityContext:
        """The same as web services take it: in a token of SPNEGO.

        Raises:
            SASLError: If there is no ticket, and none can be had.
        """
        library = self._library
        target = library.Name(f"{service}@{host}", library.NameType.hostbased_service)
        return self._towards(target, library.OID.from_int_seq(_SPNEGO))

    def context_to(self, principal: str) -> SecurityContext:
        """Towards `service/host@REALM`.

        Raises:
            SASLError: If there is no ticket, and none can be had.
        """
        library = self._library
        return self._towards(library.Name(principal, library.NameType.kerberos_principal))

    def get_ticket(self) -> None:
        """Have a ticket that others are got with; the KDC is asked if there is none.

        Raises:
            SASLError: If there is none to be had.
        """
        attempt = _Attempt(self._what, has_keytab="client_keytab" in self._store)
        attempt.run(self._library, lambda: self._credentials().lifetime)

    def _towards(self, target: Any, mechanism: Any = None) -> SecurityContext:
        library, flag = self._library, self._library.RequirementFlag
        attempt = _Attempt(f"{self._what} at {target}", has_keytab="client_keytab" in self._store)
        context = attempt.run(
            library,
            lambda: library.SecurityContext(
                name=target,
                creds=self._credentials(),
                mech=mechanism or library.MechType.kerberos,
                flags=[
                    flag.mutual_authentication,
                    flag.replay_detection,
                    flag.out_of_sequence_detection,
                    flag.integrity,
                    flag.confidentiality,
                ],
                usage="initiate",
            ),
        )
        return KerberosContext(library, context, attempt)

    def _credentials(self) -> Any:
        library = self._library
        name = library.Name(self._principal, library.NameType.kerberos_principal) if self._principal else None
        mechanisms = _mechanisms(library, negotiates=True)
        return library.Credentials(name=name, usage="initiate", mechs=mechanisms, store=self._store or None)


def _mechanisms(library: Any, *, negotiates: bool) -> list[Any]:
    kerberos = library.MechType.kerberos
    return [kerberos, library.OID.from_int_seq(_SPNEGO)] if negotiates else [kerberos]


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
