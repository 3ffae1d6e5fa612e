"""A model of YARN's FairScheduler: leaf queues below `root`, each with its instantaneous fair share.

A heartbeat of a node gives one container (`assignmultiple` is off, and so is continuous scheduling): to the queue with
the least use for its weight, and there to the application with the least memory (`FairSharePolicy`); among equals to
the one that arrived first. Queues without demand have no share. ApplicationMasters of a queue may hold `am_share` of
its fair share, and none starts above it, not even the first. There are no user limits: a queue for each user, as
Hadoop makes by default, is what divides users.

Sources: `FairScheduler.attemptScheduling`, `FSParentQueue.assignContainer`, `FSLeafQueue.{assignContainer,
computeMaxAMResource,canRunAppAM}`, `FairSharePolicy.FairShareComparator`, `ComputeFairShares`.

Left out: minimum shares, preemption (off by default), weights by size, reservations of nodes.
"""

from shim.domain.allocations import AskKey
from shim.domain.ids import ApplicationAttemptId, NodeId
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.scheduler import Allocation, CapacityScheduler, ModelledNode, ModelledQueue


class FairScheduler(CapacityScheduler):
    """Queues, nodes and asks of one cluster, as a FairScheduler shares them; `percent` of a queue is its weight."""

    def heartbeat(self, node: NodeId) -> list[Allocation]:
        """See `CapacityScheduler`: one container at most."""
        found = self._next(self.nodes[node])
        return [] if found is None else [found]

    def fair_share(self, queue: ModelledQueue) -> ResourceVector:
        """Instantaneous share of a queue: what its weight is among those that want or hold something.

        What a queue does not want is divided among the others, as `ComputeFairShares` does.
        """
        active = [each for each in self.queues.values() if each is queue or self._demand_mib(each) > 0]
        own = next(number for number, each in enumerate(active) if each is queue)
        left, total = set(range(len(active))), self._capacity.memory_mib
        wants = [self._demand_mib(each) if each is not queue else total for each in active]
        while left:
            weight = sum(active[number].spec.percent for number in left)
            sated = {number for number in left if wants[number] <= total * active[number].spec.percent / weight}
            if not sated or own in sated:
                part = total * queue.spec.percent / weight / max(1, self._capacity.memory_mib)
                return self.share(100.0 * part)
            total -= sum(wants[number] for number in sated)
            left -= sated
        return self._capacity

    def steady_share(self, queue: ModelledQueue) -> ResourceVector:
        weights = sum(each.spec.percent for each in self.queues.values())
        return self.share(100.0 * queue.spec.percent / weights)

    def may_start_master(self, queue: str, amount: ResourceVector) -> bool:
        """True if one more ApplicationMaster is within the part for them of the queue's fair share, by memory."""
        state = self.queues[queue]
        return state.masters.memory_mib + amount.memory_mib <= self.room_for_masters(state).memory_mib

    def room_for_masters(self, queue: ModelledQueue) -> ResourceVector:
        """See `CapacityScheduler`: of the fair share that the queue has now."""
        share = self.fair_share(queue)
        part = queue.spec.am_share
        return ResourceVector(int(share.memory_mib * part), int(share.vcores * part))

    def headroom(self, attempt: ApplicationAttemptId) -> ResourceVector:
        """Amount that an attempt may still have: its queue's fair share, and what nodes have free."""
        known = self._attempts.get(attempt)
        if known is None:
            return ResourceVector()
        share, used = self.fair_share(known.queue), known.queue.used
        free = self._capacity.memory_mib - sum(each.used.memory_mib for each in self.nodes.values())
        return ResourceVector(max(0, min(share.memory_mib - used.memory_mib, free)), max(0, share.vcores - used.vcores))

    def _demand_mib(self, queue: ModelledQueue) -> int:
        return queue.used.memory_mib + sum(_mib(key, count) for key, count in self.pending_in(queue.path))

    def _next(self, node: ModelledNode) -> Allocation | None:
        if node.free.memory_mib <= 0:
            return None
        for queue in sorted(self.queues.values(), key=lambda each: each.used.memory_mib / max(each.spec.percent, 1e-9)):
            for attempt in self._in_order(queue):
                found = self._of(attempt, node)
                if found is not None:
                    return found
        return None


def _mib(key: AskKey, count: int) -> int:
    return key.resource.memory_mib * count
