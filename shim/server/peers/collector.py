"""Metrics of one Global Master among several, read off when somebody asks."""

from collections.abc import Callable, Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from shim.peers.overview import MastersStatus
from shim.telemetry import definitions

__all__ = ["MastersCollector"]


class MastersCollector(Collector):
    """The masters as `heddle top` shows them, for Prometheus.

    Args:
        status: How this Global Master sees all masters now.
    """

    def __init__(self, status: Callable[[], MastersStatus]) -> None:
        self._status = status

    def describe(self) -> Iterator[Metric]:
        """Describe nothing: registering must not ask for masters that are not there yet."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """See `Collector`."""
        status = self._status()
        verdicts = {(name, verdict.value): count for (name, verdict), count in status.verdicts.items()}
        owned = sum(queue.owner == status.name for queue in status.queues)
        yield definitions.HOME_VERDICTS.counters(verdicts)
        yield definitions.INCONSISTENCIES.counters({(): status.inconsistencies})
        yield definitions.REPAIRS.counters({(): status.repairs})
        yield definitions.PASSED_ON.counters({(way,): count for way, count in status.passed_on.items()})
        yield definitions.LINK_UP.gauges({(link.subcluster,): link.is_linked for link in status.links})
        yield definitions.LINK_REPORTS.counters({(link.subcluster,): link.reports for link in status.links})
        yield definitions.LINK_RESYNCS.counters({(link.subcluster,): link.resyncs for link in status.links})
        yield definitions.QUEUES_OWNED.gauges({(): owned})
        yield definitions.LEASE_SECONDS.gauges({(each.name,): each.remaining_s for each in status.masters})
