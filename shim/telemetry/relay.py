"""Metrics of the scheduler server: ApplicationMasters that are logged in, what they call, what Heddle adds to it."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

__all__ = ["RelayMetrics", "SessionMetrics"]

_ADDED = (0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05)


class RelayMetrics:
    """Counts by sub-cluster; the names are in docs/operations.md."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._sessions = Gauge(
            "heddle_am_sessions", "ApplicationMasters that are logged in", ("subcluster",), registry=registry
        )
        self._logins = Counter(
            "heddle_am_logins", "Logins of ApplicationMasters that succeeded", ("subcluster",), registry=registry
        )
        self._calls = Counter(
            "heddle_am_calls", "Calls of ApplicationMasters", ("subcluster", "method"), registry=registry
        )
        self._added = Histogram(
            "heddle_am_added_seconds",
            "Work on passing on one read of either side",
            ("subcluster",),
            buckets=_ADDED,
            registry=registry,
        )

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
