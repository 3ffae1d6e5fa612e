"""Turns what the server says of each answer into a count, a log line and, for a change, a line of the audit."""

from collections.abc import Callable

import structlog

from shim.domain.ids import ApplicationId, MalformedIdError, SubClusterId
from shim.server.rest.endpoints import BASE, ENDPOINTS
from shim.server.rest.request_records import RequestResponse
from shim.telemetry import AuditEntry, AuditTrail, Metrics

_OTHER = "other"
_SITE = frozenset({"", "cluster", "conf", "heddle", "isActive", "jmx", "metrics", "proxy", "static"})
_KNOWN = frozenset({f"{BASE}{endpoint.path}" for endpoint in ENDPOINTS} | _SITE)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})
_RESULTS = {1: "allowed", 2: "allowed", 3: "allowed", 4: "refused", 5: "failed"}
_SUBMIT = f"POST {BASE}/apps"

HomeOf = Callable[[ApplicationId], SubClusterId | None]


class RequestObserver:
    """Sees every answer of the server that was not given from its cache.

    Args:
        home_of: Where an application runs, as far as the view knows.
    """

    def __init__(self, metrics: Metrics, audit: AuditTrail, home_of: HomeOf) -> None:
        self._log = structlog.get_logger("heddle.rest").bind()  # once: to find the settings costs more than not to log
        self._metrics = metrics
        self._audit = audit
        self._home_of = home_of

    def tell(self, exchange: RequestResponse) -> None:
        method, _, path = exchange.operation.partition(" ")
        # a label for every path that somebody thinks of would fill the memory
        endpoint = path if path in _KNOWN else _OTHER
        self._metrics.request(endpoint, method if method in _METHODS else _OTHER, exchange.status, exchange.duration_s)
        subcluster = exchange.subcluster or self._home(exchange.target)
        if exchange.operation == _SUBMIT:
            self._metrics.submission(_RESULTS[exchange.status // 100], subcluster)
        if exchange.is_change:
            self._audit.record(_entry(exchange, subcluster))
        self._log.debug(
            "answered",
            request_id=exchange.request_id,
            client_request_id=exchange.client_request_id,
            operation=exchange.operation,
            status=exchange.status,
            took_s=round(exchange.duration_s, 6),
            reason=exchange.reason,
        )

    def _home(self, target: str) -> str:
        """Home of an application, if the target is one, and Heddle knows."""
        try:
            return self._home_of(ApplicationId.parse(target)) or ""
        except MalformedIdError:
            return ""


def _entry(exchange: RequestResponse, subcluster: str) -> AuditEntry:
    caller = exchange.caller
    return AuditEntry(
        request_id=exchange.request_id,
        operation=exchange.audit or exchange.operation,
        call=exchange.operation,
        real_user="" if caller is None or caller.is_anonymous else caller.real_user,
        effective_user="" if caller is None else caller.user,
        address=exchange.peer,
        result=_RESULTS[exchange.status // 100],
        status=exchange.status,
        subcluster=subcluster,
        target=exchange.target,
        reason=exchange.reason,
        client_request_id=exchange.client_request_id,
    )
