"""What is told of queues with shares at a scrape."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

__all__ = ["QueueGauges", "ShareCollector"]


@dataclass(frozen=True, slots=True)
class QueueGauges:
    """How one queue stands.

    Attributes:
        parts: Parts of the federation, by what they are: `share`, `entitlement`, `used`, `held`, ...
    """

    queue: str
    waiting: int
    parts: dict[str, float]


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
        for queue in self._queues():
            waiting.add_metric((queue.queue,), queue.waiting)
            for kind, part in queue.parts.items():
                shares.add_metric((queue.queue, kind), part)
        yield waiting
        yield shares
