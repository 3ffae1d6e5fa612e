"""Bounds of what one sub-cluster may make Heddle keep and look at with each poll.

A ResourceManager that is somebody else's, or has lost its mind, tells of as much as fits into its answers. What is
beyond a bound is left out and counted: `heddle doctor`, the log and a metric name it. The bounds are several times what
the largest clusters that are known of have.
"""

from collections import Counter
from collections.abc import Mapping

from shim.domain.ids import ApplicationId
from shim.domain.queues import QueueReport
from shim.domain.subclusters import ApplicationDocument, NodeReport

__all__ = ["MOST_APPLICATIONS", "MOST_NODES", "MOST_QUEUES", "LiveRoom", "is_node_bounded", "is_queue_bounded"]

MOST_APPLICATIONS = 50_000
"""In one list, and live at one time."""
MOST_NODES = 20_000
MOST_QUEUES = 20_000

_MIB = 1024 * 1024
_MOST_BYTES = 512 * _MIB
"""Of the documents of live applications together."""
_LONGEST_DOCUMENT = _MIB
"""Bytes of an application's; diagnostics have 64 KiB."""
_LONGEST_NAME = 1024
_MOST_LABELS, _MOST_USERS = 200, 10_000


def is_node_bounded(node: NodeReport) -> bool:
    """True if a node's names are short enough to be kept."""
    return len(node.rack) <= _LONGEST_NAME and _are_few(node.labels)


def is_queue_bounded(queue: QueueReport) -> bool:
    """True if a queue's names are short enough to be kept, and few."""
    is_short = len(queue.path) <= _LONGEST_NAME and _are_few(queue.labels)
    return is_short and len(queue.users) <= _MOST_USERS and len(queue.partitions) <= _MOST_LABELS


def _are_few(labels: tuple[str, ...]) -> bool:
    return len(labels) <= _MOST_LABELS and all(len(label) <= _LONGEST_NAME for label in labels)


class LiveRoom:
    """Room for the documents of a sub-cluster's live applications: those that were there before go first."""

    def __init__(self) -> None:
        self._sizes: dict[ApplicationId, int] = {}

    def fit(
        self, told: Mapping[ApplicationId, ApplicationDocument], live: frozenset[ApplicationId]
    ) -> tuple[dict[ApplicationId, ApplicationDocument], Counter[str]]:
        """What of a list there is room for, and how many applications are left out.

        Args:
            told: Applications that the ResourceManager has told of.
            live: Those that were live before.
        """
        sizes = {name: size for name, size in self._sizes.items() if name in live and name not in told}
        room = MOST_APPLICATIONS - len(sizes)
        room_bytes = _MOST_BYTES - sum(sizes.values())
        fitting: dict[ApplicationId, ApplicationDocument] = {}
        left_out: Counter[str] = Counter()
        for name in sorted(told, key=lambda each: each not in live):
            document = told[name]
            size = len(document.raw)
            is_live = not document.summary.state.is_final
            if size > _LONGEST_DOCUMENT or (is_live and (room < 1 or room_bytes < size)):
                left_out["applications"] += 1
                continue
            fitting[name] = document
            if is_live:
                sizes[name] = size
                room, room_bytes = room - 1, room_bytes - size
        self._sizes = sizes
        return {name: fitting[name] for name in told if name in fitting}, left_out
