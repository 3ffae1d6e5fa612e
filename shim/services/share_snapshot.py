"""The federation as preemption needs to know it: what reports say of queues, and what attempts have and want."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shim.domain.ids import ContainerId, SubClusterId
from shim.domain.preemption import AskingAttempt, HeldContainer, QueueShare, ShareSnapshot, WaitingWork
from shim.domain.queues import QueueReport
from shim.domain.resources import ResourceVector
from shim.domain.shares import FederatedQueue, SharePolicy
from shim.global_master.preemption_sizes import NOTHING, count_fitting, part_of
from shim.global_master.share_load import FederationLoad, owner_of
from shim.global_master.share_round import Division
from shim.global_master.subcluster_view import SubClusterView
from shim.ports.attempt_calls import Attempt
from shim.relay import Standing
from shim.relay.containers import ContainerState

__all__ = ["FederationNow", "RelayedAttempt", "take_snapshot"]

_RUNNING = "RUNNING"
_ASSUMED = ResourceVector(1024, 1)


@dataclass(frozen=True, slots=True)
class RelayedAttempt:
    """An attempt whose calls Heddle reads, with what it has and wants."""

    attempt: Attempt
    standing: Standing


@dataclass(frozen=True, slots=True)
class FederationNow:
    """What reports say.

    Attributes:
        at_s: Now; seconds since the epoch.
        load: What queues hold.
        division: What they are entitled to.
        looks: The sub-clusters.
        late: Those that do not tell how they are at this moment.
    """

    at_s: float
    policy: SharePolicy
    load: FederationLoad
    division: Division
    looks: Sequence[SubClusterView]
    late: frozenset[SubClusterId]

    @property
    def usable(self) -> list[SubClusterView]:
        """Sub-clusters whose capacity is divided and that have just told how they are."""
        return [
            seen for seen in self.looks if seen.subcluster in self.load.counted and seen.subcluster not in self.late
        ]


def take_snapshot(
    now: FederationNow, relayed: Iterable[RelayedAttempt], seen_s: Mapping[ContainerId, float]
) -> ShareSnapshot:
    """Put it together.

    Args:
        now: What reports say.
        relayed: What is known of attempts.
        seen_s: When each of their containers was first seen.
    """
    usable = {seen.subcluster for seen in now.usable}
    found = [(each, queue) for each in relayed if (queue := now.policy.find(each.attempt.queue)) is not None]
    return ShareSnapshot(
        at_s=now.at_s,
        capacity=now.division.scarce,
        queues=tuple(_share(now, queue) for queue in now.policy.sharing),
        containers=tuple(
            HeldContainer(
                id=held.id,
                queue=queue.path,
                subcluster=held.subcluster,
                node=held.grant.node,
                resource=held.grant.resource,
                since_s=seen_s.get(held.id, now.at_s),
                is_given=held.state is ContainerState.GIVEN and held.subcluster in usable,
                is_home=held.subcluster == each.attempt.home_subcluster,
            )
            for each, queue in found
            for held in each.standing.held
            if held.grant is not None
        ),
        attempts=tuple(
            AskingAttempt(each.attempt.id, queue.path, each.standing.wants, each.standing.places)
            for each, queue in found
        ),
        as_of_s={seen.subcluster: now.at_s - seen.age_s for seen in now.usable},
        is_fresh=usable == set(now.load.counted),
    )


def _share(now: FederationNow, queue: FederatedQueue) -> QueueShare:
    scarce = now.division.scarce
    waiting = {seen.subcluster: work for seen in now.usable if (work := _waiting(now.policy, queue, seen)) is not None}
    return QueueShare(
        path=queue.path,
        entitled=part_of(now.division.entitled[queue.path], scarce),
        used=part_of(now.division.used[queue.path], scarce),
        waiting=waiting,
        may_be_taken_from=queue.preemptable,
        budget=queue.preempted_per_minute,
    )


def _waiting(policy: SharePolicy, queue: FederatedQueue, seen: SubClusterView) -> WaitingWork | None:
    """What its leaf queues on a sub-cluster wait for, within what the scheduler there lets them have."""
    unit, count = NOTHING, 0
    for report in seen.queues.values():
        is_mine = report.is_leaf and owner_of(policy, seen.subcluster, report.path) is queue
        if not is_mine or report.pending.memory_mib <= 0:
            continue
        size, pending = _containers_of(report)
        unit = size if size.memory_mib > unit.memory_mib else unit
        count += min(pending, count_fitting(report.maximum - report.used, size, slack=0.0))
    if count == 0:
        return None
    free = sum(count_fitting(node.total - node.used, unit, slack=0.0) for node in seen.nodes if node.state == _RUNNING)
    return WaitingWork(unit, count, free)


def _containers_of(report: QueueReport) -> tuple[ResourceVector, int]:
    """The mean size of the containers that a queue waits for, and how many they are."""
    pending, count = report.pending, report.pending_containers
    if count == 0:
        return _ASSUMED, max(1, count_fitting(pending, _ASSUMED, slack=0.0))
    others = {name: amount // count for name, amount in pending.others.items()}
    return ResourceVector(pending.memory_mib // count, pending.vcores // count, others), count
