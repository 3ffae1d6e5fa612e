"""Metrics of one Global Master among several, read off when somebody asks.

An audit line for each submission that another Global Master passed on to this one.

The line at the Global Master that the client talked to names the client; this one names that Global Master as the
caller, and the same user and application. What this one passed on itself is in the line of its own server.
"""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from shim.multicluster.splitters import MatchingStatus
from shim.peers.overview import MastersStatus
from shim.peers.passing_on import PassedOn
from shim.protocol.peers import OutcomeKind
from shim.scheduling.shadow_report import ShadowReport
from shim.telemetry import AuditEntry, AuditTrail, definitions


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


# Metrics of how containers of spanning applications are matched, read off when somebody asks.


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
        status = self._status()
        verdicts = {(name, verdict.value): count for (name, verdict), count in status.verdicts.items()}
        yield definitions.LAUNCH_VERDICTS.counters(verdicts)
        conflicts = {(name, kind.value): count for (name, kind), count in status.conflicts.items()}
        yield definitions.LAUNCH_CONFLICTS.counters(conflicts)
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


_ENDINGS = {
    OutcomeKind.DELIVERED: ("allowed", 202),
    OutcomeKind.TAKEN: ("allowed", 202),
    OutcomeKind.REFUSED: ("refused", 400),
    OutcomeKind.CONFLICT: ("refused", 409),
    OutcomeKind.FORBIDDEN: ("refused", 403),
    OutcomeKind.BAD_REQUEST: ("refused", 400),
    OutcomeKind.TOO_LARGE: ("refused", 400),
    OutcomeKind.NO_HOME: ("failed", 503),
    OutcomeKind.UNAVAILABLE: ("failed", 503),
}


class ForwardedAuditObserver:
    """Writes audit lines.

    Args:
        me: Role of this Global Master, `gm/<id>`.
    """

    def __init__(self, audit: AuditTrail, me: str) -> None:
        self._audit = audit
        self._me = me

    def __call__(self, passed: PassedOn) -> None:
        if passed.outcome is None or passed.owner != self._me:
            return
        result, status = _ENDINGS[passed.outcome]
        self._audit.record(
            AuditEntry(
                request_id=f"{passed.sender}#{passed.number}",
                operation="app.submit",
                call="submission passed on",
                real_user=passed.sender,
                effective_user=passed.user,
                address=passed.address,
                result=result,
                status=status,
                subcluster=passed.home_subcluster,
                target=str(passed.application_id),
                reason=passed.reason,
            )
        )
