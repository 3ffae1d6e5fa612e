"""Metrics of how containers of spanning applications are matched, read off when somebody asks."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from shim.multicluster.splitters import MatchingStatus
from shim.scheduling.shadow_report import ShadowReport
from shim.telemetry import definitions

__all__ = ["MatchingCollector"]


class MatchingCollector(Collector):
    """Planned asks as `heddle top` shows them, for Prometheus.

    Args:
        status: How matching went so far.
        shadows: Where policies in the shadow of queues differ from those in force.
    """

    def __init__(
        self, status: Callable[[], MatchingStatus], shadows: Callable[[], Mapping[str, ShadowReport]] = dict
    ) -> None:
        self._status = status
        self._shadows = shadows

    def describe(self) -> Iterator[Metric]:
        """Describe no metric: registering must not ask."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """See `Collector`."""
        status = self._status()
        verdicts = {(name, verdict.value): count for (name, verdict), count in status.verdicts.items()}
        yield definitions.LAUNCH_VERDICTS.counters(verdicts)
        conflicts = {(name, kind.value): count for (name, kind), count in status.conflicts.items()}
        yield definitions.LAUNCH_CONFLICTS.counters(conflicts)
        fates = {(name, fate): count for name, each in status.offers.items() for fate, count in asdict(each).items()}
        yield definitions.ROOM_OFFERS.counters(fates)
        yield definitions.LAUNCH_REPAIRS.counters({(): status.repairs})
        yield definitions.LAUNCH_FALLBACKS.counters({(): status.fallbacks})
        yield definitions.PROMISED_CONTAINERS.gauges({(name,): count for name, count in status.promised.items()})
        yield definitions.SOLVER_PROBLEMS.counters({(outcome,): count for outcome, count in status.solves.items()})
        shadows = self._shadows()
        cycles = {(queue, "compared"): each.cycles for queue, each in shadows.items()}
        skipped = {(queue, "skipped"): each.skipped for queue, each in shadows.items()}
        yield definitions.SHADOW_CYCLES.counters(cycles | skipped)
        kinds = {(queue, kind.value): n for queue, each in shadows.items() for kind, n in each.counts.items()}
        yield definitions.SHADOW_DIFFERENCES.counters(kinds)
