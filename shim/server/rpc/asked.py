"""A call of a Hadoop client with what is known of it, and the ways in which answers and errors become Java's."""

from collections.abc import Callable
from dataclasses import dataclass

from google.protobuf.message import Message

from shim.calls.client import Gathered
from shim.errors import (
    ForbiddenError,
    HeddleError,
    NotAuthenticatedError,
    NotFoundError,
    NotPlacedError,
    NoUsableSubClusterError,
    ResourceRequestError,
    UserError,
)
from shim.identity.delegation_tokens import DelegationTokenError
from shim.identity.service import Caller
from shim.ports.resource_manager_rpc import RPCAnswer, RPCCall, RPCRefusal
from shim.protocol.hrpc import Failure, HadoopCall, JavaClass
from shim.server.rpc.client_methods import Row

MethodAnswer = Message | bytes | Failure
"""An answer message, or its bytes as a ResourceManager sent them, or a failure."""

_FAILURES: tuple[tuple[type[HeddleError], JavaClass], ...] = (
    (DelegationTokenError, JavaClass.INVALID_TOKEN),
    (ForbiddenError, JavaClass.ACCESS_CONTROL),
    (NotAuthenticatedError, JavaClass.ACCESS_CONTROL),
    (ResourceRequestError, JavaClass.INVALID_RESOURCE_REQUEST),
    (UserError, JavaClass.YARN),
    (HeddleError, JavaClass.RETRIABLE),
)
"""What an error is called towards a Java client, most specific first; what may pass by itself is worth a retry."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call, decoded."""

    call: HadoopCall
    request: Message
    row: Row
    caller: Caller

    def passed_on(self) -> RPCCall:
        """The same call, to a ResourceManager: the request as it was read, written anew."""
        return passed_on(self.call, self.caller, self.request.SerializeToString())

    def with_queue(self, name: str) -> RPCCall:
        """The same call with another name of the queue that it names."""
        request = type(self.request)()
        request.CopyFrom(self.request)
        setattr(request, self.row.queue, name)
        return passed_on(self.call, self.caller, request.SerializeToString())


def passed_on(call: HadoopCall, caller: Caller, payload: bytes | None = None) -> RPCCall:
    """A client's call, to a ResourceManager, in the client's name.

    Args:
        payload: What to send in the place of the bytes that came.
    """
    context = call.caller_context
    return RPCCall(
        call.protocol,
        call.method,
        (call.payload_untrusted or b"") if payload is None else payload,
        user=caller.user,
        caller_context=_on_one_line(context.context) if context is not None else "",
    )


def _on_one_line(text_untrusted: str) -> str:
    """A text that goes into audit logs, whose fields are ended by tabs and whose records by line ends."""
    if text_untrusted.isprintable():
        return text_untrusted
    return "".join(each if each.isprintable() else " " for each in text_untrusted)


def told(answer: RPCAnswer) -> bytes | Failure:
    """A ResourceManager's answer as ours."""
    return answer.payload if answer.refusal is None else as_failure(answer.refusal)


def as_failure(refusal: RPCRefusal) -> Failure:
    """A ResourceManager's exception as ours."""
    return Failure(refusal.java_class, refusal.message)


def problem_of(gathered: Gathered) -> Failure | None:
    """Reason why nothing can be merged, if nothing can.

    Raises:
        NoUsableSubClusterError: If nobody answered at all.
    """
    if gathered.payloads:
        return None
    if gathered.refusal is not None:
        return as_failure(gathered.refusal)
    raise NoUsableSubClusterError(f"no sub-cluster answers ({', '.join(sorted(gathered.missing))})")


def failure_of(exc: HeddleError, row: Row) -> Failure:
    """An error of ours by the name that Java clients act on."""
    if isinstance(exc, NotFoundError):
        return Failure(row.unknown, str(exc))
    if isinstance(exc, NotPlacedError) and row.without_home is not None:
        return Failure(row.without_home, f"{exc}: it has no attempt")
    java_class = next(java_class for kind, java_class in _FAILURES if isinstance(exc, kind))
    return Failure(java_class, str(exc))


# Facts of an answered call: for metrics, the audit and the log.


@dataclass(slots=True)
class AnsweredCall:
    """One answered call."""

    call: HadoopCall
    caller: Caller
    peer: str
    failure: Failure | None
    duration_s: float


CallObserver = Callable[[AnsweredCall], None]
