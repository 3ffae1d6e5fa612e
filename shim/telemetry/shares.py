"""What is told of queues with shares at a scrape."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from shim.telemetry.definitions import PREEMPTION_ACTS, QUEUE_SHARE, QUEUE_WAITING_APPLICATIONS

__all__ = ["QueueGauges", "ShareCollector"]


@dataclass(frozen=True, slots=True)
class QueueGauges:
    """How one queue stands.

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

    def __init__(self, queues: Callable[[], Iterable[QueueGauges]]) -> None:
        self._queues = queues

    def collect(self) -> Iterator[Metric]:
        """The families."""
        queues = list(self._queues())
        parts = {(each.queue, kind): part for each in queues for kind, part in each.parts.items()}
        acts = {(each.queue, stage): count for each in queues for stage, count in each.acts.items()}
        yield QUEUE_WAITING_APPLICATIONS.gauges({(each.queue,): each.waiting for each in queues})
        yield QUEUE_SHARE.gauges(parts)
        yield PREEMPTION_ACTS.counters(acts)
