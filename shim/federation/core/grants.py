"""Limits of the size of one container, at every level that a sub-cluster tells of.

A ResourceManager refuses what is above its maximum allocation or its queue's. What is above the maximum capacity of the
queue or of one above it is taken, and never starts. What no node could hold waits for a larger node.

Sources: `SchedulerUtils.validateResourceRequest`, `CapacityScheduler.getMaximumResourceCapability`,
`AbstractCSQueue.accept`, `FSQueue.fitsInMaxShare`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from shim.domain.queues import QueueReport, SchedulerType, parent_of
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.federation.core.federation_view import SubClusterView, partitions_of

_MEMORY, _VCORES = "memory-mb", "vcores"


class Bound(Enum):
    """Fate of a container that is above a limit."""

    REFUSED = "refused"
    """The ResourceManager refuses it."""
    NEVER = "never"
    """It is taken, and never starts."""
    UNSURE = "unsure"
    """It is taken, and never starts if the scheduler counts that resource type, which is not told."""


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """One level's limit of the size of a container.

    Attributes:
        most: Largest amount by resource type; a type that is not in here is not limited, or not told of.
        amount: The same as it is told; `before` and `after` are the words around it.
    """

    most: Mapping[str, int]
    bound: Bound
    before: str
    amount: ResourceVector
    after: str = ""

    @property
    def whose(self) -> str:
        """The level, for people: what follows "is above"."""
        return f"{self.before}{told(self.amount)}{self.after}"

    def is_above(self, needed: ResourceVector) -> bool:
        """True if a container is larger in some type."""
        amounts = amounts_of(needed)
        return any(amount > self.most[name] for name, amount in amounts.items() if name in self.most)


def size_limits(
    seen: SubClusterView, queue: QueueReport | None, label: str, levels: Sequence[QueueReport] | None = None
) -> Iterator[SizeLimit]:
    """The limits of a queue's containers in a node partition, by configuration: that of the cluster first.

    Args:
        queue: The queue there; None for those of the cluster alone.
        label: Of the partition; empty for the nodes without one.
    """
    most = seen.maximum_allocation
    if most.memory_mib > 0:
        yield SizeLimit(_known(most), Bound.REFUSED, "its maximum allocation of ", most)
    levels = path_of(seen, queue) if levels is None else levels
    granting = next((level for level in levels if level.maximum_allocation.memory_mib > 0), None)
    if granting is not None:
        most, path = granting.maximum_allocation, granting.path
        yield SizeLimit(_known(most), Bound.REFUSED, f"the maximum allocation of queue {path}, ", most)
    if not nodes_of(seen, label):
        return  # a queue's part of no nodes is nothing, until they come
    for level in levels:
        yield from _capacity_limits(level, label)


def _capacity_limits(level: QueueReport, label: str) -> Iterator[SizeLimit]:
    maximum = level.in_partition(label).maximum
    if maximum is None or (not level.partitions and maximum.memory_mib <= 0):
        return
    where = f" of partition {label}" if label else ""
    words = ("the ", maximum, f"{where} that queue {level.path} may hold at most")
    amounts = amounts_of(maximum)
    if level.counts_all:
        yield SizeLimit(amounts, Bound.NEVER, *words)
        return
    yield SizeLimit({_MEMORY: amounts.pop(_MEMORY)}, Bound.NEVER, *words)
    if level.counts_all is None:
        yield SizeLimit(amounts, Bound.UNSURE, *words)


def grant_of(seen: SubClusterView, queue: QueueReport | None, label: str) -> ResourceVector:
    """The largest container that a queue's applications can get there now, type by type; empty if nothing is told.

    Without a queue it is what a ResourceManager tells with a new id: for all queues and node partitions.
    """
    limits = [limit.most for limit in size_limits(seen, queue, label) if limit.bound is not Bound.UNSURE]
    around = nodes_of(seen, label) if queue is not None or label else (node for node in seen.nodes if _is_running(node))
    nodes = [node.total for node in around]
    if not limits:
        return ResourceVector()
    names = dict.fromkeys((_MEMORY, _VCORES, *seen.maximum_allocation.others))
    if nodes:
        largest = {_MEMORY: max(each.memory_mib for each in nodes), _VCORES: max(each.vcores for each in nodes)}
        others = {name: max(each.others.get(name, 0) for each in nodes) for name in names if name not in largest}
        limits.append(largest | others)
    least = {name: min((limit[name] for limit in limits if name in limit), default=0) for name in names}
    return ResourceVector(least.pop(_MEMORY), least.pop(_VCORES), least)


def nodes_of(seen: SubClusterView, label: str) -> Sequence[NodeReport]:
    """RUNNING nodes of a node partition; schedulers without partitions have one of all."""
    partitions = partitions_of(seen.nodes) if seen.partitions is None else seen.partitions
    if seen.scheduler != SchedulerType.CAPACITY and not label and partitions.keys() != {""}:
        return [node for partition in partitions.values() for node in partition.nodes]
    found = partitions.get(label)
    return () if found is None else found.nodes


def freest_of(seen: SubClusterView, label: str) -> ResourceVector | None:
    """The most that some node of a partition has free, type by type; None where that is not at hand."""
    is_one = seen.scheduler == SchedulerType.CAPACITY or label or (seen.partitions or {}).keys() == {""}
    found = seen.partitions.get(label) if seen.partitions is not None and is_one else None
    return None if found is None else found.freest


def _is_running(node: NodeReport) -> bool:
    return node.state == "RUNNING"


def path_of(seen: SubClusterView, queue: QueueReport | None) -> list[QueueReport]:
    """The queue and those above it, as far as they are told."""
    levels = []
    while queue is not None:
        levels.append(queue)
        above = queue.path.rpartition(".")[0]
        queue = seen.queues.get(above) or (seen.queues.get(parent_of(above, seen.queues)) if "." in above else None)
    return levels


def amounts_of(resource: ResourceVector) -> dict[str, int]:
    return {_MEMORY: resource.memory_mib, _VCORES: resource.vcores, **resource.others}


def told(resource: ResourceVector) -> str:
    others = "".join(f", {amount} {name}" for name, amount in resource.others.items())
    return f"{resource.memory_mib} MiB and {resource.vcores} vcores{others}"


def _known(most: ResourceVector) -> dict[str, int]:
    """Amounts of the types that are told of: no version tells of virtual cores and grants none."""
    amounts = amounts_of(most)
    return amounts if most.vcores > 0 else {name: amount for name, amount in amounts.items() if name != _VCORES}


def least_of(grants: Sequence[ResourceVector]) -> ResourceVector:
    names = dict.fromkeys(name for grant in grants for name in amounts_of(grant))
    least = {name: min(amounts[name] for grant in grants if name in (amounts := amounts_of(grant))) for name in names}
    return ResourceVector(least.pop(_MEMORY, 0), least.pop(_VCORES, 0), least)
