"""Kerberos tickets for the verbs: shown where a Heddle asks for one, as `curl --negotiate` does.

Source: RFC 4559.
"""

import base64
from collections.abc import Generator
from http import HTTPStatus

import httpx

from adapters.kerberos import WebInitiator
from shim.errors import ConfigError, HeddleError
from shim.protocol.hrpc import SASLError

__all__ = ["TicketMissingError", "TicketShown", "asks_for_ticket"]


class TicketMissingError(HeddleError):
    """A Heddle asks for a ticket, and there is none to show."""


class TicketShown(httpx.Auth):
    """Shows the ticket of whoever runs the verb, when asked; the cookie of the answer does after that."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send the request, and once more with a ticket if that is asked for."""
        answer = yield request
        if asks_for_ticket(answer):
            request.headers["Authorization"] = f"Negotiate {_ticket_for(request.url)}"
            yield request


def asks_for_ticket(answer: httpx.Response) -> bool:
    """True for an answer that asks for a ticket."""
    asked = answer.headers.get("WWW-Authenticate", "").lower()
    return answer.status_code == HTTPStatus.UNAUTHORIZED and asked.startswith("negotiate")


def _ticket_for(url: httpx.URL) -> str:
    server = f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"
    try:
        return base64.b64encode(WebInitiator().token_for(url.host)).decode()
    except SASLError as exc:
        hint = "and name Heddle by the host of its principal HTTP/HOST"
        raise TicketMissingError(f"{server} asks for a Kerberos ticket: {exc}, {hint}") from exc
    except ConfigError as exc:
        raise TicketMissingError(f"{server} asks for a Kerberos ticket: {exc}") from exc
