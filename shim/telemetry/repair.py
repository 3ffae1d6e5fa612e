"""Metrics of applications that cannot be brought to their homes, or do not start there, at a scrape."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from shim.telemetry.definitions import OVERTAKEN_APPLICATIONS, REPAIR_FAILING, REPAIR_GIVEN_UP

__all__ = ["RepairCollector"]


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
        """The families."""
        yield REPAIR_FAILING.gauges({(): self._failing()})
        yield OVERTAKEN_APPLICATIONS.gauges({(name,): count for name, count in self._overtaken().items()})
        yield REPAIR_GIVEN_UP.counters({(): self._given_up()})
