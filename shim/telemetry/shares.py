"""What is told of queues with shares at a scrape."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from shim.domain.credits import Credits
from shim.telemetry.definitions import ALTRUISM_SECONDS, PREEMPTION_ACTS, QUEUE_SHARE, QUEUE_WAITING_APPLICATIONS

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

    def __init__(
        self,
        queues: Callable[[], Iterable[QueueGauges]],
        altruism: Callable[[], Mapping[str, Credits]] = dict,
    ) -> None:
        """Remember whom to ask.

        Args:
            queues: Tells how each queue with a share stands.
            altruism: Tells what the jobs of each altruistic queue gave and received.
        """
        self._queues = queues
        self._altruism = altruism

    def collect(self) -> Iterator[Metric]:
        """The families."""
        queues = list(self._queues())
        parts = {(each.queue, kind): part for each in queues for kind, part in each.parts.items()}
        acts = {(each.queue, stage): count for each in queues for stage, count in each.acts.items()}
        yield QUEUE_WAITING_APPLICATIONS.gauges({(each.queue,): each.waiting for each in queues})
        yield QUEUE_SHARE.gauges(parts)
        yield PREEMPTION_ACTS.counters(acts)
        sums = self._altruism()
        given = {(queue, "given"): total.given_s for queue, total in sums.items()}
        received = {(queue, "received"): total.received_s for queue, total in sums.items()}
        yield ALTRUISM_SECONDS.counters(given | received)
