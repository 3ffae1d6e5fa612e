"""Each poll counts once, by how it ended."""

from shim.domain.ids import SubClusterId
from shim.errors import NoAnswerError
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.telemetry import Metrics
from shim.telemetry.polls import PollCounter
from shim.testing.clock import FakeClock
from shim.testing.reports import a_report
from shim.testing.settings import usual


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
