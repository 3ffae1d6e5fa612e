"""Principals of services: `service/host@REALM`, with `_HOST` for the machine's own name, as Hadoop has it.

Source: `org.apache.hadoop.security.SecurityUtil.getServerPrincipal`.
"""

import socket

__all__ = ["host_of_this_machine", "service_of", "with_host"]

_HOST = "_HOST"


def host_of_this_machine() -> str:
    """Full name of this machine, in lower case, as principals have it."""
    return socket.getfqdn().lower()


def with_host(principal: str, host: str) -> str:
    """A principal with `_HOST` replaced."""
    service, slash, rest = principal.partition("/")
    named, at, realm = rest.partition("@")
    return f"{service}{slash}{host.lower() if named == _HOST else named}{at}{realm}"


def service_of(principal: str) -> tuple[str, str]:
    """Service and host of `service/host@REALM`."""
    service, _, rest = principal.partition("/")
    return service, rest.partition("@")[0]
