"""What is told of queues with shares at a scrape."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

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
        waiting = GaugeMetricFamily(
            "heddle_queue_waiting_applications", "Applications that wait for their queue's turn", labels=("queue",)
        )
        shares = GaugeMetricFamily(
            "heddle_queue_share", "Parts of the federation, as dominant shares", labels=("queue", "kind")
        )
        acts = CounterMetricFamily(
            "heddle_preemption_acts",
            "Asks held back, and containers asked back, demanded, released and spared",
            labels=("queue", "stage"),
        )
        for queue in self._queues():
            for stage, count in queue.acts.items():
                acts.add_metric((queue.queue, stage), count)
            waiting.add_metric((queue.queue,), queue.waiting)
            for kind, part in queue.parts.items():
                shares.add_metric((queue.queue, kind), part)
        yield waiting
        yield shares
        yield acts
