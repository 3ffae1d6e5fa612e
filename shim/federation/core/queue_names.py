"""Meaning of a queue's name in a sub-cluster, by the rules of its scheduler."""

from collections.abc import Mapping

from shim.domain.queues import QueueReport, SchedulerType
from shim.domain.shares import parent_of
from shim.federation.core.subcluster_view import SubClusterView


def by_short_name(queues: Mapping[str, QueueReport]) -> dict[str, list[QueueReport]]:
    """Queues by the last part of their path, in the order in which they were told."""
    names: dict[str, list[QueueReport]] = {}
    for path, queue in queues.items():
        names.setdefault(path.rpartition(".")[2], []).append(queue)
    return names


def find_queue(subcluster: SubClusterView, name: str) -> QueueReport | None:
    """The queue that a submission's queue name means there, by the rules of that scheduler.

    A capacity scheduler takes a full path or the name of a leaf; a fair scheduler reads `x` as `root.x` and makes the
    queues that it lacks; a fifo scheduler has one queue for everything. A queue that would be made is reported as its
    nearest existing parent.
    """
    if subcluster.scheduler == "fifoScheduler":
        return next(iter(subcluster.queues.values()), None)
    exact = subcluster.queues.get(name)
    if exact is not None:
        return exact
    if subcluster.scheduler == SchedulerType.FAIR:
        full = name if name.startswith("root.") else f"root.{name}"
        return subcluster.queues.get(full) or subcluster.queues.get(parent_of(full, subcluster.queues))
    names = by_short_name(subcluster.queues) if subcluster.short_names is None else subcluster.short_names
    short = names.get(name)
    if short:
        return next((queue for queue in short if queue.is_leaf), short[0])
    parent = subcluster.queues.get(name.rpartition(".")[0])
    return parent if parent is not None and parent.creates_children else None
