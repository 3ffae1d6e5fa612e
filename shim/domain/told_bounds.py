"""Bounds of what one sub-cluster may make Heddle keep and look at with each poll.

A ResourceManager that is somebody else's, or has lost its mind, tells of as much as fits into its answers. What is
beyond a bound is left out and counted: `heddle doctor`, the log and a metric name it. The bounds are several times what
the largest clusters that are known of have.
"""

from collections import Counter
from collections.abc import Generator, Iterator, Mapping

from shim.domain.ids import ApplicationId
from shim.domain.queues import QueueReport
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import ApplicationDocument, NodeReport

MOST = 2**53 - 1
"""Largest amount, count or time that is taken in: sums of a thousand still fit into a store's 64 bits, and every reader
of JSON has it exactly. Hadoop's own word for no limit, 2^63 - 1, becomes this one."""
MOST_APPLICATIONS = 50_000
"""In one list, and live at one time."""
MOST_NODES = 20_000
MOST_QUEUES = 20_000
MOST_TYPES = 100
"""Resource types of one amount."""
LONGEST_NAME = 1024
MOST_LABELS, MOST_USERS = 200, 10_000
"""Of one node or queue."""

_MOST_SUM = 2**62
_MIB = 1024 * 1024
MOST_LIVE_BYTES = 512 * _MIB
"""Of the documents of live applications together."""
LONGEST_DOCUMENT = _MIB
"""Bytes of an application's; diagnostics have 64 KiB."""
_SLICE = 1000
"""Rows that are counted before others have their turn: a millisecond of work."""
_MOST_TAGS = 1000


def is_application_bounded(document: ApplicationDocument) -> bool:
    """True if an application's document and names are short enough to be kept."""
    summary = document.summary
    is_short = len(document.told) <= LONGEST_DOCUMENT and len(summary.tags) <= _MOST_TAGS
    return is_short and max(len(summary.user), len(summary.queue)) <= LONGEST_NAME


def is_node_bounded(node: NodeReport) -> bool:
    """True if a node's names are short enough to be kept."""
    return len(node.rack) <= LONGEST_NAME and (not node.labels or _are_few(node.labels))


def is_queue_bounded(queue: QueueReport) -> bool:
    """True if a queue's names are short enough to be kept, and few."""
    is_short = len(queue.path) <= LONGEST_NAME and _are_few(queue.labels)
    return is_short and len(queue.users) <= MOST_USERS and len(queue.partitions) <= 2 * MOST_LABELS + 1


def _are_few(labels: tuple[str, ...]) -> bool:
    return len(labels) <= MOST_LABELS and all(len(label) <= LONGEST_NAME for label in labels)


def is_sound(vector: ResourceVector | None) -> bool:
    """True for amounts that an account can hold."""
    if vector is None:
        return True
    return are_amounts(vector.memory_mib, vector.vcores) and (
        not vector.others or (len(vector.others) <= MOST_TYPES and are_amounts(*vector.others.values()))
    )


def are_amounts(*numbers: int) -> bool:
    """True for numbers from 0 to a sum of several hundred times `MOST`."""
    return all(0 <= number <= _MOST_SUM for number in numbers)


def amounts_of(queue: QueueReport) -> Iterator[ResourceVector | None]:
    yield from (queue.capacity, queue.maximum, queue.used, queue.pending)
    yield from (queue.maximum_allocation, queue.masters_of_user)
    for part in queue.partitions:
        yield from (part.maximum, part.used, part.masters, part.masters_used)
    for user in queue.users:
        yield from (user.used, user.most, user.masters_used)


class LiveBudget:
    """Room for the documents of a sub-cluster's live applications: those that were there before go first."""

    def __init__(self) -> None:
        self._sizes: dict[ApplicationId, int] = {}

    def fit_steps(
        self, told: Mapping[ApplicationId, ApplicationDocument], live: frozenset[ApplicationId]
    ) -> Generator[None, None, tuple[dict[ApplicationId, ApplicationDocument], Counter[str]]]:
        """What of a list there is room for, and how many applications are left out; pauses after some rows.

        Args:
            told: Applications that the ResourceManager has told of.
        """
        untold = set(self._sizes).difference(told)  # by the hashes that both know
        sizes = {name: self._sizes[name] for name in untold if name in live}
        if (all_sizes := (yield from _all_fit(told, sizes))) is not None:
            self._sizes = all_sizes
            return dict(told), Counter()
        room = MOST_APPLICATIONS - len(sizes)
        room_bytes = MOST_LIVE_BYTES - sum(sizes.values())
        fitting: dict[ApplicationId, ApplicationDocument] = {}
        left_out: Counter[str] = Counter()
        for name in sorted(told, key=lambda each: each not in live):
            document = told[name]
            size = len(document.told)
            is_live = not document.summary.state.is_final
            if not is_application_bounded(document) or (is_live and (room < 1 or room_bytes < size)):
                left_out["applications"] += 1
                continue
            fitting[name] = document
            if is_live:
                sizes[name] = size
                room, room_bytes = room - 1, room_bytes - size
        self._sizes = sizes
        return {name: fitting[name] for name in told if name in fitting}, left_out


def _all_fit(
    told: Mapping[ApplicationId, ApplicationDocument], others: Mapping[ApplicationId, int]
) -> Generator[None, None, dict[ApplicationId, int] | None]:
    """Sizes of what lives if there is room for all that is told beside the others; None if there is not."""
    sizes = dict(others)
    for number, (name, document) in enumerate(told.items(), start=1):
        if number % _SLICE == 0:
            yield
        if not is_application_bounded(document):
            return None
        if not document.summary.state.is_final:
            sizes[name] = len(document.told)
    return sizes if len(sizes) <= MOST_APPLICATIONS and sum(sizes.values()) <= MOST_LIVE_BYTES else None
