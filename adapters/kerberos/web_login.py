"""SPNEGO: logins at web services by Kerberos tickets, on both sides.

One exchange of tokens is enough for Kerberos: the client's ticket, and the server's proof that it could read it. A
mechanism that needs more is refused, as connections of HTTP carry no state of a login.

Source: RFC 4559, RFC 4178; `org.apache.hadoop.security.authentication.server.KerberosAuthenticationHandler`.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from adapters.kerberos.contexts import KerberosAcceptor, KerberosInitiator
from shim.protocol.hrpc.sasl import SASLError

_THREADS = 2


class WebTickets:
    """Accepts tickets for one web service; the library reads the keytab and a replay cache, so it runs in threads.

    Args:
        acceptor: Of the service `HTTP`.
    """

    def __init__(self, acceptor: KerberosAcceptor) -> None:
        self._acceptor = acceptor
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="spnego")

    async def accept(self, token: bytes) -> tuple[str, bytes]:
        """Take what a client sent: its principal, and what to answer.

        Raises:
            SASLError: It proves nothing.
        """
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._accept, token)

    def close(self) -> None:
        """End the threads; a login under way is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _accept(self, token: bytes) -> tuple[str, bytes]:
        context = self._acceptor.context()
        answer = context.step(token)
        if not context.is_complete:
            raise SASLError("SPNEGO: the login takes more than one exchange: only Kerberos tickets are taken")
        return context.peer, answer


class WebInitiator:
    """Gets what to show to web services; see `KerberosInitiator` for whose tickets.

    Args:
        principal: As whom; empty for whoever the ticket cache is of.
        keytab: File with the principal's key; None for a ticket cache.

    Raises:
        ConfigError: If the library is not installed.
    """

    def __init__(self, principal: str = "", keytab: Path | None = None) -> None:
        self._initiator = KerberosInitiator(principal, keytab)

    def token_for(self, host: str) -> bytes:
        """A token for `HTTP@host`, good for one request. It speaks with the KDC, which blocks.

        Raises:
            SASLError: If there is no ticket, and none can be had.
        """
        return WebProof(self._initiator, host).token


class WebProof:
    """A login at a web service that has to prove who it is, too. It speaks with the KDC, which blocks.

    Args:
        host: Of the service `HTTP@host`.

    Raises:
        SASLError: If there is no ticket, and none can be had.
    """

    def __init__(self, initiator: KerberosInitiator, host: str) -> None:
        self._context = initiator.negotiation("HTTP", host)
        self.token = self._context.step(b"")

    def check(self, answer: bytes) -> None:
        """Take the service's proof.

        Raises:
            SASLError: It is none.
        """
        if not answer:
            raise SASLError("SPNEGO: the service sent no proof of who it is")
        self._context.step(answer)
        if not self._context.is_complete:
            raise SASLError("SPNEGO: the service does not prove who it is")
