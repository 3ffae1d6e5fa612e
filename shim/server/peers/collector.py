"""Metrics of one Global Master among several, read off when somebody asks."""

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shim.peers.overview import MastersStatus

__all__ = ["MastersCollector"]


class MastersCollector(Collector):
    """What `heddle top` shows of the masters, for Prometheus; names and labels are in docs/operations.md.

    Args:
        status: How this Global Master sees all masters now.
    """

    def __init__(self, status: Callable[[], MastersStatus]) -> None:
        self._status = status

    def describe(self) -> Iterator[Metric]:
        """Nothing: registering must not ask for masters that are not there yet."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """See `Collector`."""
        status = self._status()
        verdicts = CounterMetricFamily(
            "heddle_home_verdicts", "What Local Masters said to proposed homes", labels=["subcluster", "verdict"]
        )
        for (subcluster, verdict), count in status.verdicts.items():
            verdicts.add_metric([subcluster, verdict.value], count)
        passed = CounterMetricFamily("heddle_passed_on", "Submissions between Global Masters", labels=["direction"])
        for direction, count in status.passed_on.items():
            passed.add_metric([direction], count)
        yield verdicts
        yield CounterMetricFamily(
            "heddle_inconsistencies", "Proposals that were rejected", value=status.inconsistencies
        )
        yield CounterMetricFamily("heddle_repairs", "Homes chosen again after a rejection", value=status.repairs)
        yield passed
        yield from _links(status)
        owned = sum(queue.owner == status.name for queue in status.queues)
        yield GaugeMetricFamily("heddle_queues_owned", "Queues whose lease this Global Master has", value=owned)
        lease = GaugeMetricFamily("heddle_lease_seconds", "Until the lease of a master ends", labels=["master"])
        for master in status.masters:
            lease.add_metric([master.name], master.remaining_s)
        yield lease


def _links(status: MastersStatus) -> Iterator[Metric]:
    up = GaugeMetricFamily("heddle_link_up", "1 while a Local Master is followed", labels=["subcluster"])
    reports = CounterMetricFamily("heddle_link_reports", "Reports that were applied", labels=["subcluster"])
    resyncs = CounterMetricFamily("heddle_link_resyncs", "Reports that were missing", labels=["subcluster"])
    for link in status.links:
        up.add_metric([link.subcluster], link.is_linked)
        reports.add_metric([link.subcluster], link.reports)
        resyncs.add_metric([link.subcluster], link.resyncs)
    return iter((up, reports, resyncs))
