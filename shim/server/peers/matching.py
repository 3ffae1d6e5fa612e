"""Metrics of how containers of spanning applications are matched, read off when somebody asks."""

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shim.multicluster.splitters import MatchingStatus

__all__ = ["MatchingCollector"]


class MatchingCollector(Collector):
    """What `heddle top` shows of matched asks, for Prometheus; names and labels are in docs/operations.md.

    Args:
        status: How matching went so far.
    """

    def __init__(self, status: Callable[[], MatchingStatus]) -> None:
        self._status = status

    def describe(self) -> Iterator[Metric]:
        """Nothing: registering must not ask."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """See `Collector`."""
        status = self._status()
        verdicts = CounterMetricFamily(
            "heddle_launch_verdicts", "What Local Masters said to proposed containers", labels=["subcluster", "verdict"]
        )
        for (subcluster, verdict), count in status.verdicts.items():
            verdicts.add_metric([subcluster, verdict.value], count)
        promised = GaugeMetricFamily(
            "heddle_promised_containers", "Containers that are promised and not granted", labels=["subcluster"]
        )
        for subcluster, count in status.promised.items():
            promised.add_metric([subcluster], count)
        yield verdicts
        yield CounterMetricFamily(
            "heddle_launch_repairs",
            "TentativelyAllocated containers that were not granted in time",
            value=status.repairs,
        )
        yield CounterMetricFamily(
            "heddle_launch_fallbacks", "Splits by free capacity, as a view was too old", value=status.fallbacks
        )
        yield promised
