"""Metrics for Prometheus, in a registry of their own; a scrape renders at most once a second."""

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from shim.domain.ids import SubClusterId
from shim.domain.subclusters import SubClusterReport
from shim.errors import HeddleError
from shim.federation.core.federation_view import Applied
from shim.ports.clock import Clock
from shim.telemetry import definitions
from shim.telemetry.definitions import EVENT_LOOP_LAG_SECONDS, OVERTAKEN_APPLICATIONS, REPAIR_FAILING, REPAIR_GIVEN_UP

# a time for each series, which nobody asks for, would double the text
disable_created_metrics()  # type: ignore[no-untyped-call]  # it has no types

_SCRAPE_CACHE_S = 1.0
_CALLS_S = 10.0
"""After which a mean of calls begins anew: Hadoop's own period."""
_RPC = "RPC"


@dataclass(frozen=True, slots=True)
class SubClusterGauges:
    """Gauges of one sub-cluster at the time of a scrape.

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


@dataclass(frozen=True, slots=True)
class CallTimes:
    """Calls of clients by Hadoop RPC.

    Attributes:
        count: Since the start.
        mean_s: To answer one, in the last ten seconds or more.
        waited_s: Mean of how late the event loop was meanwhile: so long does a call wait.
    """

    count: int = 0
    mean_s: float = 0.0
    waited_s: float = 0.0


class Metrics:
    """Counts and times, by the names and labels of `definitions`.

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
        self._called, self._called_s = 0, 0.0
        self._calls_then = (clock.monotonic_s(), 0, 0.0, 0, 0.0)
        self._calls = CallTimes()
        self._timed: dict[tuple[Histogram, str, str], Histogram] = {}
        registry = self._registry
        self._requests = definitions.HTTP_REQUESTS.counter(registry)
        self._request_seconds = definitions.HTTP_REQUEST_SECONDS.histogram(registry)
        self._rm_seconds = definitions.RM_REQUEST_SECONDS.histogram(registry)
        self._rate_limited = definitions.RATE_LIMITED.counter(registry)
        self._background_failures = definitions.BACKGROUND_FAILURES.counter(registry)
        self._left_out = definitions.ROWS_LEFT_OUT.counter(registry)
        self._polls = definitions.POLLS.counter(registry)
        self._submissions = definitions.SUBMISSIONS.counter(registry)
        self._store_seconds = definitions.STORE_SECONDS.histogram(registry)
        definitions.BUILD_INFO.gauge(registry).labels(version).set(1)
        self.relay = RelayMetrics(registry)
        self.lag = LoopLag(registry)
        ProcessCollector(registry=registry)
        registry.register(_SubClusterCollector(subclusters))

    def register(self, collector: Collector) -> None:
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
        if method == _RPC:
            self._called += 1
            self._called_s += duration_s

    def calls(self) -> CallTimes:
        """Times of calls by Hadoop RPC."""
        now_s = self._clock.monotonic_s()
        at_s, called, called_s, late, late_s = self._calls_then
        if now_s - at_s >= _CALLS_S:
            mean_s = (self._called_s - called_s) / max(1, self._called - called)
            waited_s = (self.lag.sum_s - late_s) / max(1, self.lag.count - late)
            self._calls = CallTimes(self._called, mean_s, waited_s)
            self._calls_then = (now_s, self._called, self._called_s, self.lag.count, self.lag.sum_s)
        return replace(self._calls, count=self._called)

    def rate_limited(self, by: str) -> None:
        """Count a call that a limit refused: by its `user`, from its `address`, or as one of too many `user_calls`."""
        self._rate_limited.labels(by).inc()

    def exchange(self, subcluster: str, outcome: str, duration_s: float) -> None:
        """Count an exchange with a ResourceManager: `answered`, or the name of the error."""
        self._series(self._rm_seconds, subcluster, outcome).observe(duration_s)

    def poll(self, subcluster: str, outcome: str) -> None:
        """Count a poll: `reported`, or the name of the error."""
        self._polls.labels(subcluster, outcome).inc()

    def left_out(self, subcluster: str, what: str, count: int) -> None:
        """Count rows of a poll that are more than is taken in."""
        self._left_out.labels(subcluster, what).inc(count)

    def submission(self, outcome: str, home: str) -> None:
        """Count a submission: `allowed`, `refused` or `failed`; `home` is empty if it is not known."""
        self._submissions.labels(outcome, home).inc()

    def store(self, operation: str, outcome: str, duration_s: float) -> None:
        """Count a store operation: `done`, or the name of the error."""
        self._series(self._store_seconds, operation, outcome).observe(duration_s)

    def background_failure(self, part: str, count: int = 1) -> None:
        """Count a failure of work that runs by itself; 0 when it begins, so that the first one is seen as a rise."""
        self._background_failures.labels(part).inc(count)

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
        ages = {(row.subcluster,): row.age_s for row in rows if row.age_s is not None}
        nodes = {(row.subcluster,): row.nodes for row in rows if row.nodes is not None}
        live = {(row.subcluster,): row.live_applications for row in rows if row.live_applications is not None}
        yield definitions.SUBCLUSTER_AGE_SECONDS.gauges(ages)
        yield definitions.SUBCLUSTER_STATE.gauges({(row.subcluster, row.state): 1 for row in rows})
        yield definitions.SUBCLUSTER_ADMISSION.gauges({(row.subcluster, row.admission): 1 for row in rows})
        yield definitions.SUBCLUSTER_NODES.gauges(nodes)
        yield definitions.SUBCLUSTER_LIVE_APPLICATIONS.gauges(live)


# Polls of ResourceManagers, counted by how they ended.


@dataclass(frozen=True, slots=True)
class PollCounter:
    """Counts polls by how they ended."""

    metrics: Metrics

    def reported(self, report: SubClusterReport, applied: Applied) -> None:  # noqa: ARG002 - the listener's signature
        self.metrics.poll(report.subcluster, "reported")
        for what, count in report.left_out.items():
            self.metrics.left_out(report.subcluster, what, count)

    def failed(self, subcluster: SubClusterId, error: HeddleError) -> None:
        self.metrics.poll(subcluster, type(error).__name__)


# Metrics of the scheduler server: ApplicationMasters that are logged in, what they call, what Heddle adds to it.


class RelayMetrics:
    """Counts by sub-cluster."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._sessions = definitions.AM_SESSIONS.gauge(registry)
        self._logins = definitions.AM_LOGINS.counter(registry)
        self._calls = definitions.AM_CALLS.counter(registry)
        self._added = definitions.AM_ADDED_SECONDS.histogram(registry)

    def session(self, subcluster: str) -> "SessionMetrics":
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
        self._calls.labels(self._subcluster, method).inc()

    def added(self, duration_s: float) -> None:
        self._added.observe(duration_s)

    def left(self) -> None:
        """The ApplicationMaster has gone."""
        self._sessions.dec()


# Lateness of the event loop: what nobody else sees when one piece of work keeps all others waiting.

_EVERY_S = 0.25


class LoopLag:
    """One timer that tells by how much it was late: `heddle_event_loop_lag_seconds`. Measures inside of `with`.

    A request that comes while the loop is busy waits as long. One measurement in `every_s` costs some microseconds.

    Attributes:
        count: Of measurements; `sum_s` is their sum.
    """

    def __init__(self, registry: CollectorRegistry, *, every_s: float = _EVERY_S) -> None:
        self._every_s = every_s
        self._timer: asyncio.TimerHandle | None = None
        self.count, self.sum_s = 0, 0.0
        self._seconds = EVENT_LOOP_LAG_SECONDS.histogram(registry)

    def __enter__(self) -> Self:
        """Measure the running loop from now on."""
        loop = asyncio.get_running_loop()
        self._wait(loop, loop.time() + self._every_s)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self, loop: asyncio.AbstractEventLoop, due_s: float) -> None:
        self._timer = loop.call_at(due_s, self._measure, loop, due_s)

    def _measure(self, loop: asyncio.AbstractEventLoop, due_s: float) -> None:
        now_s = loop.time()
        late_s = max(0.0, now_s - due_s)
        self.count, self.sum_s = self.count + 1, self.sum_s + late_s
        self._seconds.observe(late_s)
        self._wait(loop, now_s + self._every_s)


# Metrics of applications that cannot be brought to their homes, or do not start there, at a scrape.


class FindingCollector(Collector):
    """What the doctor finds on its rounds, at a scrape.

    Args:
        counts: Findings by check and level.
        certificates: Seconds until each ends, by whose it is and its file.
    """

    def __init__(
        self,
        counts: Callable[[], Mapping[tuple[str, str], int]],
        certificates: Callable[[], Mapping[tuple[str, str], float]],
    ) -> None:
        self._counts = counts
        self._certificates = certificates

    def collect(self) -> Iterator[Metric]:
        yield definitions.DOCTOR_FINDINGS.gauges(self._counts())
        yield definitions.CERTIFICATE_SECONDS.gauges(self._certificates())


class RepairCollector(Collector):
    """Asked at each scrape.

    Args:
        failing: How many acknowledged applications fail though their homes are well.
        given_up: How many were given up since the start.
        overtaken: How many others have overtaken elsewhere, by sub-cluster.
    """

    def __init__(
        self,
        failing: Callable[[], int],
        given_up: Callable[[], int],
        overtaken: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._failing = failing
        self._given_up = given_up
        self._overtaken = overtaken

    def collect(self) -> Iterator[Metric]:
        yield REPAIR_FAILING.gauges({(): self._failing()})
        yield OVERTAKEN_APPLICATIONS.gauges({(name,): count for name, count in self._overtaken().items()})
        yield REPAIR_GIVEN_UP.counters({(): self._given_up()})


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """A process of this Heddle beside the first: its number, its process id if it runs, how often it was begun."""

    number: int
    pid: int | None
    begun: int


class PollProcessCollector(Collector):
    """What processes that poll take, as the machine tells at a scrape."""

    def __init__(self, processes: Callable[[], Iterable[ProcessFacts]]) -> None:
        self._processes = processes

    def collect(self) -> Iterator[Metric]:
        known = list(self._processes())
        taken = {(str(each.number),): _taken(each.pid) for each in known if each.pid is not None}
        there = {labels: amounts for labels, amounts in taken.items() if amounts is not None}
        begins = {(str(each.number),): each.begun for each in known}
        yield definitions.POLL_PROCESS_BEGINS.counters(begins)
        yield definitions.POLL_PROCESS_CPU_SECONDS.counters({labels: cpu_s for labels, (cpu_s, _) in there.items()})
        yield definitions.POLL_PROCESS_RESIDENT_BYTES.gauges({labels: size for labels, (_, size) in there.items()})


def _taken(pid: int) -> tuple[float, int] | None:
    """Processor time in seconds and bytes in memory; None if it has gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    ticks = int(fields[11]) + int(fields[12])  # utime and stime: see proc(5), whose count begins two fields before
    return ticks / os.sysconf("SC_CLK_TCK"), int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
