"""Which queue of a sub-cluster a name means, by the rules of its scheduler."""

from shim.domain.queues import QueueReport
from shim.domain.shares import parent_of
from shim.federation.core.subcluster_view import SubClusterView

__all__ = ["find_queue"]


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
    short = [queue for path, queue in subcluster.queues.items() if path.rpartition(".")[2] == name]
    leaves = [queue for queue in short if queue.is_leaf]
    if subcluster.scheduler == "fairScheduler":
        full = name if name.startswith("root.") else f"root.{name}"
        return subcluster.queues.get(full) or subcluster.queues.get(parent_of(full, subcluster.queues))
    if short:
        return (leaves or short)[0]
    parent = subcluster.queues.get(name.rpartition(".")[0])
    return parent if parent is not None and parent.creates_children else None
