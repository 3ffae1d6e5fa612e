"""Tickets that are shown to web services which ask for them (SPNEGO)."""

from typing import Protocol


class TicketProof(Protocol):
    """One login: what to show, and whether the server's answer proves who it is; `adapters.kerberos.WebProof` does."""

    token: bytes

    def check(self, answer: bytes) -> None:
        """Raise `SASLError` if the answer does not prove that the server could read the ticket."""
        ...
