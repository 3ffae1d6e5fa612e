"""What is told of applications that cannot be brought to their homes, at a scrape."""

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

__all__ = ["RepairCollector"]


class RepairCollector(Collector):
    """Asked at each scrape.

    Args:
        failing: How many acknowledged applications fail though their homes are well.
        given_up: How many were given up since the start.
    """

    def __init__(self, failing: Callable[[], int], given_up: Callable[[], int]) -> None:
        self._failing = failing
        self._given_up = given_up

    def collect(self) -> Iterator[Metric]:
        """The families."""
        yield GaugeMetricFamily(
            "heddle_repair_failing",
            "Acknowledged applications that their homes do not take, though these are well",
            value=self._failing(),
        )
        yield CounterMetricFamily(
            "heddle_repair_given_up", "Applications that ran nowhere and were ended as FAILED", value=self._given_up()
        )
