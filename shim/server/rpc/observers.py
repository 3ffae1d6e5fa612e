"""Turns what the servers say of each answer into a count and, for a change, a line of the audit."""

import itertools
from collections.abc import Callable

from google.protobuf.message import DecodeError

from shim.domain.ids import ApplicationId, SubClusterId
from shim.protocol.hrpc import Failure, JavaClass
from shim.protocol.proto import APPLICATION_CLIENT
from shim.server.rpc.admin_service import ADMIN_METHODS
from shim.server.rpc.asked import AnsweredCall
from shim.server.rpc.client_methods import CLIENT_METHODS
from shim.telemetry import AuditEntry, AuditTrail, Metrics

_OK, _REFUSED, _FAILED = 200, 400, 503
_RESULTS = {_OK: "allowed", _REFUSED: "refused", _FAILED: "failed"}
_METHOD = "RPC"


class _Lines:
    """Writes changes into the audit, each with a request id of its own.

    Args:
        prefix: Beginning of the ids, different for every process and server.
    """

    def __init__(self, audit: AuditTrail, prefix: str) -> None:
        self._audit = audit
        self._prefix = prefix
        self._numbers = itertools.count(1)

    def write(self, exchange: AnsweredCall, operation: str, *, subcluster: str = "", target: str = "") -> None:
        caller, failure, status = exchange.caller, exchange.failure, _status(exchange.failure)
        self._audit.record(
            AuditEntry(
                request_id=f"{self._prefix}-{next(self._numbers):x}",
                operation=operation,
                call=f"{_METHOD} {exchange.call.method}",
                real_user="" if caller.is_anonymous else caller.real_user,
                effective_user=caller.user,
                address=exchange.peer,
                result=_RESULTS[status],
                status=status,
                subcluster=subcluster,
                target=target,
                reason="" if failure is None else str(failure),
            )
        )


class ClientObserver:
    """Sees every answer of the client RPC server.

    Args:
        home_of: Where an application runs, as far as the view knows.
        request_prefix: Beginning of request ids, different for every process.
    """

    def __init__(
        self,
        metrics: Metrics,
        audit: AuditTrail,
        home_of: Callable[[ApplicationId], SubClusterId | None],
        *,
        request_prefix: str = "c",
    ) -> None:
        self._metrics = metrics
        self._lines = _Lines(audit, request_prefix)
        self._home_of = home_of

    def __call__(self, exchange: AnsweredCall) -> None:
        method, status = exchange.call.method, _status(exchange.failure)
        self._metrics.request(method, _METHOD, status, exchange.duration_s)
        row = CLIENT_METHODS[method]
        if not row.writes:
            return
        target = _target(exchange)
        subcluster = (self._home_of(target) or "") if target is not None else ""
        if method == "submitApplication":
            self._metrics.submission(_RESULTS[status], subcluster)
        self._lines.write(exchange, row.audit, subcluster=subcluster, target="" if target is None else str(target))


class AdminObserver:
    """Sees every answer of the admin RPC server.

    Args:
        request_prefix: Beginning of request ids, different for every process.
    """

    def __init__(self, metrics: Metrics, audit: AuditTrail, *, request_prefix: str = "a") -> None:
        self._metrics = metrics
        self._lines = _Lines(audit, request_prefix)

    def __call__(self, exchange: AnsweredCall) -> None:
        method = exchange.call.method
        self._metrics.request(method, _METHOD, _status(exchange.failure), exchange.duration_s)
        row = ADMIN_METHODS[method]
        if row.writes:
            self._lines.write(exchange, row.audit)


def _status(failure: Failure | None) -> int:
    """The status that the web services would answer, for one scale in metrics and audit."""
    if failure is None:
        return _OK
    return _FAILED if failure.java_class == JavaClass.RETRIABLE else _REFUSED


def _target(exchange: AnsweredCall) -> ApplicationId | None:
    row, call = CLIENT_METHODS[exchange.call.method], exchange.call
    if not row.field or row.field == "reservation_id":
        return None
    try:
        request = APPLICATION_CLIENT.methods[call.method].request.FromString(call.payload_untrusted or b"")
    except DecodeError:
        return None
    return row.application(request)
