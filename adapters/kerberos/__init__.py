"""Kerberos by the library `gssapi`, the optional extra `kerberos`: contexts for `shim.protocol.hrpc.gssapi`."""

from adapters.kerberos.contexts import KerberosAcceptor, KerberosInitiator
from adapters.kerberos.login import KerberosLogin, host_of_this_machine, service_of, with_host
from adapters.kerberos.tried_keytab import kdc_ahead_s, open_acceptor
from adapters.kerberos.web_login import WebInitiator, WebTickets

__all__ = [
    "KerberosAcceptor",
    "KerberosInitiator",
    "KerberosLogin",
    "WebInitiator",
    "WebTickets",
    "host_of_this_machine",
    "kdc_ahead_s",
    "open_acceptor",
    "service_of",
    "with_host",
]
