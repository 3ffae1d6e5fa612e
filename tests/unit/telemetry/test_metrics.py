import asyncio
import time

from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from shim.domain.ids import SubClusterId
from shim.errors import NoAnswerError
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.telemetry import Metrics, SubClusterGauges
from shim.telemetry.metrics import CallTimes, LoopLag, PollCounter
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_report
from tests.doubles.settings import usual

EAST = SubClusterGauges(
    subcluster="east", age_s=0.5, state="SC_RUNNING", admission="open", nodes=2, live_applications=3
)


class HandClock:
    """A clock that the test moves."""

    def __init__(self):
        self.at_s = 100.0

    def now_s(self):
        return self.at_s

    def monotonic_s(self):
        return self.at_s

    async def sleep(self, duration_s):
        self.at_s += duration_s


def samples(metrics):
    families = text_string_to_metric_families(metrics.scrape().decode())
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value for family in families for sample in family.samples
    }


def test_counts_requests_by_endpoint_and_status():
    metrics = Metrics(HandClock(), version="1", subclusters=lambda: ())
    metrics.request("/ws/v1/cluster/apps", "GET", 200, 0.001)
    metrics.request("/ws/v1/cluster/apps", "GET", 200, 0.2)
    found = samples(metrics)
    label = ("endpoint", "/ws/v1/cluster/apps")
    assert found["heddle_http_requests_total", label, ("method", "GET"), ("status", "200")] == 2
    assert found["heddle_http_request_seconds_count", label] == 2
    assert found["heddle_http_request_seconds_bucket", label, ("le", "0.001")] == 1


def test_tells_of_each_sub_cluster_what_the_view_says_at_that_moment():
    rows = [EAST]
    clock = HandClock()
    metrics = Metrics(clock, version="1", subclusters=lambda: rows)
    assert samples(metrics)["heddle_subcluster_age_seconds", ("subcluster", "east")] == 0.5
    rows[:] = [SubClusterGauges("west", None, "SC_NEW", "cordoned", 0, 0)]
    clock.at_s += 1
    found = samples(metrics)
    assert ("heddle_subcluster_age_seconds", ("subcluster", "west")) not in found
    assert found["heddle_subcluster_state", ("state", "SC_NEW"), ("subcluster", "west")] == 1
    assert found["heddle_subcluster_admission", ("admission", "cordoned"), ("subcluster", "west")] == 1


def test_many_scrapes_within_a_second_render_once():
    clock, asked = HandClock(), []
    metrics = Metrics(clock, version="1", subclusters=lambda: asked.append(1) or ())
    first = metrics.scrape()
    clock.at_s += 0.9
    assert metrics.scrape() is first
    clock.at_s += 0.1
    assert metrics.scrape() is not first
    assert len(asked) == 2


def test_reports_and_failures_are_told_apart():
    clock = FakeClock()
    metrics = Metrics(clock, version="1", subclusters=lambda: ())
    counter = PollCounter(metrics)
    report = a_report("east", 1)
    counter.reported(report, FederationView((SubClusterId("east"),), usual(ViewSettings)).apply(report))
    for _ in range(2):
        counter.failed(SubClusterId("east"), NoAnswerError("east", "silent"))
    lines = [line for line in metrics.scrape().decode().splitlines() if line.startswith("heddle_polls")]
    assert [line.rpartition(" ")[2] for line in sorted(lines)] == ["2.0", "1.0"]
    assert "NoAnswerError" in min(lines)


async def test_work_that_does_not_give_way_is_seen_as_lag() -> None:
    registry = CollectorRegistry()
    with LoopLag(registry, every_s=0.01):
        time.sleep(0.3)  # noqa: ASYNC251 - to block the loop is the point
        await until_measured(registry, 1)
    assert told(registry, "_sum") >= 0.25
    assert told(registry, "_bucket", le="0.25") < told(registry, "_count")


async def test_a_loop_is_measured_again_and_again_and_not_after_the_end() -> None:
    registry = CollectorRegistry()
    with LoopLag(registry, every_s=0.005):
        await until_measured(registry, 3)
    measured = told(registry, "_count")
    await asyncio.sleep(0.05)
    assert told(registry, "_count") == measured


def told(registry: CollectorRegistry, suffix: str, **labels: str) -> float:
    return registry.get_sample_value(f"heddle_event_loop_lag_seconds{suffix}", labels) or 0.0


async def until_measured(registry: CollectorRegistry, times: int) -> None:
    async with asyncio.timeout(30):
        while told(registry, "_count") < times:  # noqa: ASYNC110 - a histogram tells nobody by itself
            await asyncio.sleep(0.005)


def test_times_of_calls_are_those_of_the_last_ten_seconds():
    clock = HandClock()
    metrics = Metrics(clock, version="1", subclusters=lambda: ())
    metrics.request("getApplications", "RPC", 200, 0.25)
    metrics.request("getNewApplication", "RPC", 200, 0.75)
    metrics.request("/ws/v1/cluster/apps", "GET", 200, 9.0)
    assert metrics.calls() == CallTimes(2, 0.0, 0.0), "the first ten seconds are not over"
    clock.at_s += 10
    assert metrics.calls() == CallTimes(2, 0.5, 0.0)
    metrics.request("getApplications", "RPC", 200, 1.0)
    assert metrics.calls() == CallTimes(3, 0.5, 0.0)
    clock.at_s += 11
    assert metrics.calls() == CallTimes(3, 1.0, 0.0)
    clock.at_s += 12
    assert metrics.calls() == CallTimes(3, 0.0, 0.0), "nobody called"
