"""What there is to say of a request: gathered while it is answered, told when it is."""

from collections.abc import Callable
from dataclasses import dataclass

from shim.identity.service import Caller

__all__ = ["AuditSink", "RequestRecord", "RequestResponse"]


@dataclass(frozen=True, slots=True)
class RequestResponse:
    """What there is to say of a request when it is answered: for logs, audit and metrics.

    Attributes:
        request_id: Heddle's own.
        operation: Method and path of the row, or what the path begins with.
        audit: What the audit calls a change; empty for what has no name.
        duration_s: From the whole request to the answer.
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
    """What is learnt of a request while it is answered."""

    request_id: str
    client_request_id: str = ""
    operation: str = ""
    caller: Caller | None = None
    is_change: bool = False
    subcluster: str = ""
    target: str = ""
    reason: str = ""
    audit: str = ""

    def told(self, peer: str, status: int, duration_s: float) -> RequestResponse:
        """All of it, when the request is answered."""
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
