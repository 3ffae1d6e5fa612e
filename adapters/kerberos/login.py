"""Heddle's own logins at ResourceManagers that ask for Kerberos tickets.

Source: `org.apache.hadoop.ipc.Client`, `SaslRpcClient`; `SecurityUtil.getServerPrincipal`.

Principals of services: `service/host@REALM`, with `_HOST` for the machine's own name, as Hadoop has it.

Source: `org.apache.hadoop.security.SecurityUtil.getServerPrincipal`.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from adapters.kerberos.contexts import KerberosInitiator
from adapters.kerberos.web_login import WebProof
from shim.protocol.hrpc import AuthMethod, QualityOfProtection, SASLInitiator
from shim.protocol.hrpc.gssapi import GSSAPIClient

_QUALITIES = tuple(reversed(QualityOfProtection))
"""The strongest that the server offers."""
_THREADS = 2


class KerberosLogin:
    """Logs in as one service; tickets come from its keytab, and are kept until they expire.

    What asks the KDC runs in threads of its own, few of them: a KDC that is silent holds up logins and nothing else.

    Raises:
        ConfigError: If the library is not installed.
    """

    def __init__(self, principal: str, keytab: Path) -> None:
        self._initiator = KerberosInitiator(principal, keytab)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="kerberos")

    def at(self, service: str) -> Callable[[str], Awaitable[SASLInitiator]]:
        """The way to log in at a service; the coroutine takes the host that is connected to, which `_HOST` stands for.

        It raises `SASLError` if there is no ticket to be had.
        """

        async def log_in(host: str) -> SASLInitiator:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._prepared, service, host)

        return log_in

    async def at_web(self, host: str) -> WebProof:
        """A login at the web service `HTTP` of a host, for one request; an address stands for the name that it has.

        Raises:
            SASLError: If there is no ticket to be had.
        """
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.web_proof, host)

    def web_proof(self, host: str) -> WebProof:
        """The same at once: it speaks with the KDC, which blocks."""
        return WebProof(self._initiator, socket.getfqdn(host))

    def close(self) -> None:
        """End the threads; a login under way is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _prepared(self, service: str, host: str) -> SASLInitiator:
        """With the ticket at hand. The service is whom we know, not whom the server says that it is."""
        target = with_host(service, socket.getfqdn(host))
        session = GSSAPIClient(self._initiator.context_to(target), _QUALITIES)
        session.prepare()
        return SASLInitiator({AuthMethod.KERBEROS: lambda _: session})


_HOST = "_HOST"


def host_of_this_machine() -> str:
    """Full name of this machine, in lower case, as principals have it."""
    return socket.getfqdn().lower()


def with_host(principal: str, host: str) -> str:
    service, slash, rest = principal.partition("/")
    named, at, realm = rest.partition("@")
    return f"{service}{slash}{host.lower() if named == _HOST else named}{at}{realm}"


def service_of(principal: str) -> tuple[str, str]:
    """Service and host of `service/host@REALM`."""
    service, _, rest = principal.partition("/")
    return service, rest.partition("@")[0]
