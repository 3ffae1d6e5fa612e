"""Metrics of how containers of spanning applications are matched, read off when somebody asks."""

from collections.abc import Callable, Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from shim.multicluster.splitters import MatchingStatus
from shim.telemetry import definitions

__all__ = ["MatchingCollector"]


class MatchingCollector(Collector):
    """Planned asks as `heddle top` shows them, for Prometheus.

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
        verdicts = {(name, verdict.value): count for (name, verdict), count in status.verdicts.items()}
        yield definitions.LAUNCH_VERDICTS.counters(verdicts)
        yield definitions.LAUNCH_REPAIRS.counters({(): status.repairs})
        yield definitions.LAUNCH_FALLBACKS.counters({(): status.fallbacks})
        yield definitions.PROMISED_CONTAINERS.gauges({(name,): count for name, count in status.promised.items()})
        yield definitions.SOLVER_PROBLEMS.counters({(outcome,): count for outcome, count in status.solves.items()})
