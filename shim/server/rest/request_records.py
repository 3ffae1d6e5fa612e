"""Records of requests: gathered while one is answered, told when it is."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

import structlog

from shim.errors import HeddleError
from shim.identity.service import Caller
from shim.protocol.rest.errors import remote_exception_of
from shim.server.rest.messages import Headers, Request, SessionChange

_LOG = structlog.get_logger("heddle.rest")
_LONGEST_REASON = 1000  # characters of what a client sent may be in it
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class RequestResponse:
    """Facts of an answered request: for logs, audit and metrics.

    Attributes:
        request_id: Heddle's own.
        operation: Method and path of the row, or what the path begins with.
        audit: What the audit calls a change; empty for what has no name.
    """

    request_id: str
    operation: str
    caller: Caller | None
    peer: str
    status: int
    duration_s: float
    is_change: bool
    subcluster: str = ""
    target: str = ""
    reason: str = ""
    client_request_id: str = ""
    audit: str = ""


AuditSink = Callable[[RequestResponse], None]


@dataclass(slots=True)
class RequestRecord:
    """Facts learnt of a request while it is answered.

    Attributes:
        login: Headers of the answer that are this caller's alone: they are put on last, and never kept.
    """

    request_id: str
    client_request_id: str = ""
    operation: str = ""
    caller: Caller | None = None
    is_change: bool = False
    subcluster: str = ""
    target: str = ""
    reason: str = ""
    audit: str = ""
    login: Headers = ()

    def take(self, change: SessionChange) -> None:
        """The request changes a session: the audit names whose, at which provider, and why not."""
        self.is_change, self.audit, self.target, self.reason = True, change.operation, change.provider, change.reason
        self.caller = Caller(change.user, change.user) if change.user else None

    def fail(self, error: Exception) -> None:
        """The request ends in an error; one that nobody expected goes into the log, as its answer says."""
        named = str(error) if isinstance(error, HeddleError) else f"{type(error).__name__}: {error}"
        self.reason = named[:_LONGEST_REASON]
        if remote_exception_of(error).status == HTTPStatus.INTERNAL_SERVER_ERROR:
            _LOG.error(
                "a request failed inside Heddle",
                request_id=self.request_id,
                client_request_id=self.client_request_id,
                operation=self.operation,
                exc_info=error,
            )

    def span_attributes(self, status: int) -> dict[str, object]:
        """Attributes of its span, by the names of OpenTelemetry's conventions, or `heddle.`."""
        return {
            "http.response.status_code": status,
            "heddle.target": self.target,
            "heddle.cluster": self.subcluster,
            "heddle.request": self.request_id,
        }

    def told(self, peer: str, status: int, duration_s: float) -> RequestResponse:
        return RequestResponse(
            self.request_id,
            self.operation,
            self.caller,
            peer,
            status,
            duration_s,
            self.is_change,
            self.subcluster,
            self.target,
            self.reason,
            self.client_request_id,
            self.audit,
        )


def client_request_id(request: Request) -> str:
    """The client's own id of its request, which it may choose at will: never that of a record of Heddle's."""
    given = request.header("x-request-id")
    return given if given is not None and _REQUEST_ID.fullmatch(given) else ""
