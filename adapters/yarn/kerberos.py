"""Kerberos contexts for the mechanism GSSAPI, by the library `gssapi`: the optional extra `kerberos`.

Source: RFC 4752; `org.apache.hadoop.security.SaslRpcServer`, `SaslRpcClient`.
"""

import importlib
from collections.abc import Callable
from typing import Any

from shim.errors import ConfigError
from shim.protocol.hrpc.gssapi import SecurityContext
from shim.protocol.hrpc.sasl import SASLError

__all__ = ["KerberosContext", "accepting_context", "initiating_context"]


class KerberosContext:
    """Implements `SecurityContext` over a context of the library; its errors become ours here."""

    def __init__(self, context: Any, failure: type[Exception]) -> None:
        self._context = context
        self._failure = failure

    @property
    def is_complete(self) -> bool:
        """Whether the context is established."""
        return bool(self._context.complete)

    @property
    def peer(self) -> str:
        """Principal of the other side."""
        is_initiator = self._context.usage == "initiate"
        return str(self._context.target_name if is_initiator else self._context.initiator_name)

    def step(self, token: bytes) -> bytes:
        """Take the peer's token, give the next; empty when there is none."""
        return self._translated(lambda: self._context.step(token or None) or b"")

    def wrap(self, data: bytes, *, is_encrypted: bool) -> bytes:
        """Protect a message."""
        return self._translated(lambda: self._context.wrap(data, is_encrypted).message)

    def unwrap(self, data: bytes) -> bytes:
        """Check and open a message."""
        return self._translated(lambda: self._context.unwrap(data).message)

    def _translated(self, work: Callable[[], bytes]) -> bytes:
        try:
            return work()
        except self._failure as exc:
            raise SASLError(f"GSSAPI: {exc}") from exc


def initiating_context(service: str, host: str) -> SecurityContext:
    """A context towards `service@host` with the ticket in the credential cache.

    Raises:
        ConfigError: If the extra is not installed.
    """
    library = _library()
    name = library.Name(f"{service}@{host}", library.NameType.hostbased_service)
    context = library.SecurityContext(name=name, usage="initiate")
    return KerberosContext(context, library.exceptions.GSSError)


def accepting_context() -> SecurityContext:
    """A context that accepts with the machine's keytab (`KRB5_KTNAME`).

    Raises:
        ConfigError: If the extra is not installed.
    """
    library = _library()
    context = library.SecurityContext(creds=library.Credentials(usage="accept"), usage="accept")
    return KerberosContext(context, library.exceptions.GSSError)


def _library() -> Any:
    try:
        return importlib.import_module("gssapi")
    except ImportError as exc:
        message = "Kerberos needs the library gssapi: install heddle-yarn[kerberos] (and libkrb5)"
        raise ConfigError("the installation", "kerberos", message) from exc
