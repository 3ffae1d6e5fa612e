"""Metrics for Prometheus, in a registry of their own; a scrape renders at most once a second."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shim.ports.clock import Clock
from shim.telemetry.lag import LoopLag
from shim.telemetry.relay import RelayMetrics

__all__ = ["Metrics", "SubClusterGauges"]


# a time for each series, which nobody asks for, would double the text
disable_created_metrics()  # type: ignore[no-untyped-call]  # it has no types

_FAST = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_SLOW = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SCRAPE_CACHE_S = 1.0


@dataclass(frozen=True, slots=True)
class SubClusterGauges:
    """What is told of one sub-cluster at the time of a scrape.

    Attributes:
        age_s: Of the newest heartbeat; None if there was none, and for a retired cluster: nobody waits for the next.
        state: `RUNNING`, `CORDONED`, `DRAINING`, `RECOVERING`, `LOST`, `RETIRED` or `NEW`.
        admission: Whether it takes applications: `open`, `cordoned`, `draining`, `retired`.
        nodes: None for a retired cluster, which counts in no sum; `live_applications` likewise.
    """

    subcluster: str
    age_s: float | None
    state: str
    admission: str
    nodes: int | None
    live_applications: int | None


class Metrics:
    """Counts and times; the names and labels are in docs/operations.md.

    Args:
        clock: For the age of a scrape.
        version: Heddle's.
        subclusters: Called at a scrape for the state of the sub-clusters.

    Attributes:
        relay: What ApplicationMasters do.
        lag: How late the event loop is; measures inside of `with`.
    """

    def __init__(self, clock: Clock, *, version: str, subclusters: Callable[[], Iterable[SubClusterGauges]]) -> None:
        self._clock = clock
        self._registry = CollectorRegistry()
        self._scrape: tuple[float, bytes] | None = None
        self._answered: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._timed: dict[tuple[Histogram, str, str], Histogram] = {}
        registry = self._registry
        self._requests = Counter(
            "heddle_http_requests", "Requests that were answered", ("endpoint", "method", "status"), registry=registry
        )
        self._request_seconds = Histogram(
            "heddle_http_request_seconds", "From request to answer", ("endpoint",), buckets=_FAST, registry=registry
        )
        self._rm_seconds = Histogram(
            "heddle_resourcemanager_request_seconds",
            "Exchanges with ResourceManagers",
            ("subcluster", "outcome"),
            buckets=_SLOW,
            registry=registry,
        )
        self._polls = Counter("heddle_polls", "Polls of sub-clusters", ("subcluster", "outcome"), registry=registry)
        self._submissions = Counter(
            "heddle_submissions", "Submissions by how they ended", ("outcome", "home"), registry=registry
        )
        self._store_seconds = Histogram(
            "heddle_store_seconds", "Store operations", ("operation", "outcome"), buckets=_SLOW, registry=registry
        )
        Gauge("heddle_build_info", "Always 1", ("version",), registry=registry).labels(version).set(1)
        self.relay = RelayMetrics(registry)
        self.lag = LoopLag(registry)
        ProcessCollector(registry=registry)
        registry.register(_SubClusterCollector(subclusters))

    def register(self, collector: Collector) -> None:
        """Have what another part tells at a scrape in the text, too."""
        self._registry.register(collector)

    def request(self, endpoint: str, method: str, status: int, duration_s: float) -> None:
        """Count an answered request; `endpoint` is a path pattern, never a path with ids."""
        key = (endpoint, method, status)
        series = self._answered.get(key)
        if series is None:  # to find them by their labels costs as much as to count
            requests = self._requests.labels(endpoint, method, str(status))
            series = self._answered[key] = (requests, self._request_seconds.labels(endpoint))
        series[0].inc()
        series[1].observe(duration_s)

    def exchange(self, subcluster: str, outcome: str, duration_s: float) -> None:
        """Count an exchange with a ResourceManager: `answered`, or the name of the error."""
        self._series(self._rm_seconds, subcluster, outcome).observe(duration_s)

    def poll(self, subcluster: str, outcome: str) -> None:
        """Count a poll: `reported`, or the name of the error."""
        self._polls.labels(subcluster, outcome).inc()

    def submission(self, outcome: str, home: str) -> None:
        """Count a submission: `allowed`, `refused` or `failed`; `home` is empty if it is not known."""
        self._submissions.labels(outcome, home).inc()

    def store(self, operation: str, outcome: str, duration_s: float) -> None:
        """Count a store operation: `done`, or the name of the error."""
        self._series(self._store_seconds, operation, outcome).observe(duration_s)

    def _series(self, times: Histogram, first: str, second: str) -> Histogram:
        series = self._timed.get((times, first, second))
        if series is None:  # to find it by its labels costs as much as to count
            series = self._timed[times, first, second] = times.labels(first, second)
        return series

    def scrape(self) -> bytes:
        """The text for `/metrics`, at most a second old."""
        now_s = self._clock.monotonic_s()
        if self._scrape is None or now_s - self._scrape[0] >= _SCRAPE_CACHE_S:
            self._scrape = (now_s, generate_latest(self._registry))
        return self._scrape[1]


class _SubClusterCollector(Collector):
    """Gauges that are read off the view when somebody asks, so that an age is an age."""

    def __init__(self, subclusters: Callable[[], Iterable[SubClusterGauges]]) -> None:
        self._subclusters = subclusters

    def describe(self) -> Iterator[Metric]:
        # registering must not ask for a view that is not there yet
        return iter(())

    def collect(self) -> Iterator[Metric]:
        rows = list(self._subclusters())
        age = GaugeMetricFamily("heddle_subcluster_age_seconds", "Age of the newest heartbeat", labels=["subcluster"])
        state = GaugeMetricFamily("heddle_subcluster_state", "1 for the state it is in", labels=["subcluster", "state"])
        admission = GaugeMetricFamily(
            "heddle_subcluster_admission", "1 for what an operator said", labels=["subcluster", "admission"]
        )
        nodes = GaugeMetricFamily("heddle_subcluster_nodes", "NodeManagers listed", labels=["subcluster"])
        live = GaugeMetricFamily("heddle_subcluster_live_applications", "Not final", labels=["subcluster"])
        for row in rows:
            if row.age_s is not None:
                age.add_metric([row.subcluster], row.age_s)
            state.add_metric([row.subcluster, row.state], 1)
            admission.add_metric([row.subcluster, row.admission], 1)
            if row.nodes is not None:
                nodes.add_metric([row.subcluster], row.nodes)
            if row.live_applications is not None:
                live.add_metric([row.subcluster], row.live_applications)
        return iter((age, state, admission, nodes, live))
