"""Metrics of the scheduler server: ApplicationMasters that are logged in, what they call, what Heddle adds to it."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from shim.telemetry import definitions

__all__ = ["RelayMetrics", "SessionMetrics"]


class RelayMetrics:
    """Counts by sub-cluster."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._sessions = definitions.AM_SESSIONS.gauge(registry)
        self._logins = definitions.AM_LOGINS.counter(registry)
        self._calls = definitions.AM_CALLS.counter(registry)
        self._added = definitions.AM_ADDED_SECONDS.histogram(registry)

    def session(self, subcluster: str) -> "SessionMetrics":
        """Count a login."""
        self._logins.labels(subcluster).inc()
        return SessionMetrics(
            self._sessions.labels(subcluster), self._calls, self._added.labels(subcluster), subcluster
        )


class SessionMetrics:
    """Counts what one connection does."""

    __slots__ = ("_added", "_calls", "_sessions", "_subcluster")

    def __init__(self, sessions: Gauge, calls: Counter, added: Histogram, subcluster: str) -> None:
        self._sessions = sessions
        self._calls = calls
        self._added = added
        self._subcluster = subcluster
        sessions.inc()

    def called(self, method: str) -> None:
        """Count a call."""
        self._calls.labels(self._subcluster, method).inc()

    def added(self, duration_s: float) -> None:
        """Count the work on some bytes."""
        self._added.observe(duration_s)

    def left(self) -> None:
        """The ApplicationMaster has gone."""
        self._sessions.dec()
