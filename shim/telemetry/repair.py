"""Metrics of applications that cannot be brought to their homes, at a scrape."""

from collections.abc import Callable, Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from shim.telemetry.definitions import REPAIR_FAILING, REPAIR_GIVEN_UP

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
        yield REPAIR_FAILING.gauges({(): self._failing()})
        yield REPAIR_GIVEN_UP.counters({(): self._given_up()})
