"""Kerberos put together: from `[security.kerberos]` to what the servers of Hadoop RPC and of the web offer."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from adapters.kerberos import (
    KerberosLogin,
    WebTickets,
    host_of_this_machine,
    kdc_ahead_s,
    open_acceptor,
    service_of,
    with_host,
)
from shim.config.kerberos import KerberosConfig
from shim.config.loader import Config, is_loopback
from shim.errors import ConfigError
from shim.federation.doctor import KerberosFacts
from shim.identity.principals import PrincipalRules
from shim.ports.clock import Clock
from shim.protocol.hrpc import QualityOfProtection, SASLSession
from shim.protocol.hrpc.gssapi import GSSAPIServer
from shim.protocol.hrpc.sasl import SASLError
from shim.server.rpc import TicketLogin

_KDC_WITHIN_S = 10.0
_kdc_thread = ThreadPoolExecutor(1, thread_name_prefix="heddle-kdc")
"""However often a silent KDC is asked, it holds up one thread."""
_QUALITIES: Mapping[str, QualityOfProtection] = {
    "authentication": QualityOfProtection.AUTH,
    "integrity": QualityOfProtection.AUTH_INT,
    "privacy": QualityOfProtection.AUTH_CONF,
}


def open_kerberos(config: KerberosConfig) -> TicketLogin | None:
    """Open the login of clients by ticket; None where names are believed.

    Raises:
        ConfigError: If the library is missing, or the keytab cannot be used.
    """
    if not config.principal:
        return None
    if config.keytab is None:
        raise ConfigError("the configuration", "security.kerberos.keytab", "is missing: the principal's key is in it")
    principal = with_host(config.principal, host_of_this_machine())
    acceptor = open_acceptor(principal, config.keytab)
    qualities = tuple(_QUALITIES[name] for name in config.protection) or (QualityOfProtection.AUTH,)
    service, host = service_of(principal)

    def start() -> SASLSession:
        return GSSAPIServer(acceptor.context(), qualities)

    return TicketLogin(
        service=service,
        host=host,
        start=start,
        principals=principals_of(config),
        qualities=qualities,
        allow_simple=config.allow_simple,
    )


def open_web_tickets(config: KerberosConfig) -> WebTickets | None:
    """The acceptor of tickets at the web services; None where names are believed there.

    Raises:
        ConfigError: If the library is missing, or the keytab cannot be used.
    """
    if not config.web_principal:
        return None
    key, keytab = "security.kerberos.web_keytab", config.web_keytab or config.keytab
    if keytab is None:
        raise ConfigError("the configuration", key, "is missing: the principal's key is in it")
    principal = with_host(config.web_principal, host_of_this_machine())
    return WebTickets(open_acceptor(principal, keytab, key=key, negotiates=True))


def principals_of(config: KerberosConfig) -> PrincipalRules:
    return PrincipalRules(frozenset((config.principal.rpartition("@")[2], *config.realms)))


def open_login(config: KerberosConfig) -> KerberosLogin | None:
    """Open Heddle's own login at ResourceManagers that ask for tickets; None if it has no principal.

    Raises:
        ConfigError: If the library is missing.
    """
    if not config.principal or config.keytab is None:
        return None
    return KerberosLogin(with_host(config.principal, host_of_this_machine()), config.keytab)


def trouble_with(config: KerberosConfig) -> str:
    """Say why clients cannot log in by ticket now; empty if they can, or need not."""
    try:
        open_kerberos(config)
        tickets = open_web_tickets(config)
    except ConfigError as exc:
        return str(exc)
    if tickets is not None:
        tickets.close()
    return ""


async def kerberos_facts(config: Config, clock: Clock) -> KerberosFacts | None:
    """Facts of the keytab as it is now, which may have changed since the start, and of the KDC."""
    kerberos, rest, is_by_provider = config.security.kerberos, config.server.rest, bool(config.security.oidc.issuer)
    if not kerberos.principal:
        return None
    web = "" if is_loopback(rest) or kerberos.web_principal or is_by_provider else rest
    trouble = await asyncio.to_thread(trouble_with, kerberos)
    ticket_trouble, ahead_s = ("", None) if trouble else await _ask_kdc(kerberos, clock)
    return KerberosFacts(
        kerberos.principal,
        trouble,
        kerberos.allow_simple,
        web,
        ticket_trouble=ticket_trouble,
        kdc_ahead_s=ahead_s,
    )


async def _ask_kdc(config: KerberosConfig, clock: Clock) -> tuple[str, float | None]:
    """The KDC's reason to give Heddle no ticket, empty if it gives one; and the lead of its clock, None if unknown.

    Whoever waits behind another question to a silent KDC gives up, too, and asks nothing.
    """
    if config.keytab is None:
        return "", None
    principal = with_host(config.principal, host_of_this_machine())
    try:
        async with asyncio.timeout(_KDC_WITHIN_S):
            asked = asyncio.get_running_loop().run_in_executor(
                _kdc_thread, kdc_ahead_s, principal, config.keytab, clock.now_s
            )
            return "", await asked
    except TimeoutError:
        return f"the KDC of {principal} has not answered within {_KDC_WITHIN_S:.0f} s", None
    except (ConfigError, SASLError) as exc:
        return str(exc), None
