"""Log lines, audit lines and metrics of Heddle itself. Knows the ports, and no service or server."""

from shim.telemetry.audit import AuditEntry, AuditTrail
from shim.telemetry.logs import configure_logs
from shim.telemetry.metrics import Metrics, SubClusterGauges
from shim.telemetry.observed import ObservedResourceManager, TracedRPC, observed_state_store
from shim.telemetry.redaction import REDACTED, escape, redact

__all__ = [
    "REDACTED",
    "AuditEntry",
    "AuditTrail",
    "Metrics",
    "ObservedResourceManager",
    "SubClusterGauges",
    "TracedRPC",
    "configure_logs",
    "escape",
    "observed_state_store",
    "redact",
]
