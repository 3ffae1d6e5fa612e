"""Figures of queues with shares at a scrape."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from shim.domain.credits import Credits
from shim.telemetry.definitions import (
    ALTRUISM_SECONDS,
    ALTRUISM_USER_MIB_SECONDS,
    PREEMPTION_ACTS,
    QUEUE_SHARE,
    QUEUE_WAITING_APPLICATIONS,
)

_KINDS = ("given", "received")


@dataclass(frozen=True, slots=True)
class QueueGauges:
    """Figures of one queue.

    Attributes:
        parts: Parts of the federation, by what they are: `share`, `entitlement`, `used`, `held`, ...
        acts: How often something was done so that others get their share, by stage of preemption.
    """

    queue: str
    waiting: int
    parts: dict[str, float]
    acts: dict[str, int] = field(default_factory=dict)


class ShareCollector(Collector):
    """Asked at each scrape."""

    def __init__(
        self,
        queues: Callable[[], Iterable[QueueGauges]],
        altruism: Callable[[], Mapping[str, Credits]] = dict,
        users: Callable[[], Mapping[str, Credits]] = dict,
    ) -> None:
        """Remember whom to ask.

        Args:
            altruism: Tells what the jobs of each altruistic queue gave and received.
        """
        self._queues = queues
        self._altruism = altruism
        self._users = users

    def collect(self) -> Iterator[Metric]:
        queues = list(self._queues())
        parts = {(each.queue, kind): part for each in queues for kind, part in each.parts.items()}
        acts = {(each.queue, stage): count for each in queues for stage, count in each.acts.items()}
        yield QUEUE_WAITING_APPLICATIONS.gauges({(each.queue,): each.waiting for each in queues})
        yield QUEUE_SHARE.gauges(parts)
        yield PREEMPTION_ACTS.counters(acts)
        yield ALTRUISM_SECONDS.counters(_by_kind(self._altruism(), "s"))
        yield ALTRUISM_USER_MIB_SECONDS.counters(_by_kind(self._users(), "mib_s"))


def _by_kind(sums: Mapping[str, Credits], unit: str) -> dict[tuple[str, ...], float]:
    return {(name, kind): getattr(each, f"{kind}_{unit}") for name, each in sums.items() for kind in _KINDS}
