"""The federation as preemption needs to know it: what reports say of queues, and what attempts have and want."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from shim.domain.ids import ContainerId, SubClusterId
from shim.domain.preemption import AskingAttempt, HeldContainer, QueueShare, ShareSnapshot, WaitingWork
from shim.domain.queues import FederatedQueue, QueueReport, SharePolicy
from shim.domain.resources import ResourceVector
from shim.federation.core.federation_view import SubClusterView
from shim.multicluster.core import AttemptHoldings
from shim.multicluster.core.containers import ContainerState
from shim.ports.attempt_calls import Attempt
from shim.queues.core.preemption_sizes import NOTHING, count_fitting, part_of
from shim.queues.core.share_load import FederationLoad, owner_of
from shim.queues.core.share_round import Division

_RUNNING = "RUNNING"
_ASSUMED = ResourceVector(1024, 1)

Movable = Mapping[tuple[SubClusterId, SubClusterId], int]
"""How many containers wait on the first sub-cluster that could as well be had on the second."""


@dataclass(frozen=True, slots=True)
class _Untold:
    """Containers that an attempt wants and no scheduler was told of, and where it may have them: at its home first."""

    places: Sequence[SubClusterId]
    unit: ResourceVector
    count: int


@dataclass(frozen=True, slots=True)
class RelayedAttempt:
    """An attempt whose calls Heddle reads, with what it has and wants."""

    attempt: Attempt
    holdings: AttemptHoldings


@dataclass(frozen=True, slots=True)
class FederationNow:
    """Contents of reports.

    Attributes:
        at_s: Now; seconds since the epoch.
    """

    at_s: float
    policy: SharePolicy
    load: FederationLoad
    division: Division
    looks: Sequence[SubClusterView]
    late: frozenset[SubClusterId]

    @property
    def usable(self) -> list[SubClusterView]:
        """Sub-clusters whose capacity is divided and that have just told how they are, with all their nodes."""
        told = [seen for seen in self.looks if seen.subcluster in self.load.counted and not seen.awaits_nodes]
        return [seen for seen in told if seen.subcluster not in self.late]


def take_snapshot(
    now: FederationNow,
    relayed: Iterable[RelayedAttempt],
    seen_s: Mapping[ContainerId, float],
    lent: Collection[ContainerId] = frozenset(),
) -> ShareSnapshot:
    """Put it together."""
    usable = {seen.subcluster for seen in now.usable}
    found = [(each, queue) for each in relayed if (queue := now.policy.find(each.attempt.queue)) is not None]
    return ShareSnapshot(
        at_s=now.at_s,
        capacity=now.division.scarce,
        queues=tuple(_share(now, queue, found) for queue in now.policy.sharing),
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
                is_lent=held.id in lent,
            )
            for each, queue in found
            for held in each.holdings.held
            if held.grant is not None
        ),
        attempts=tuple(
            AskingAttempt(each.attempt.id, queue.path, each.holdings.wants, each.holdings.places)
            for each, queue in found
        ),
        as_of_s={seen.subcluster: now.at_s - seen.age_s for seen in now.usable},
        is_fresh=usable == set(now.load.counted),
    )


def _movable(relayed: Iterable[tuple[RelayedAttempt, FederatedQueue]], queue: FederatedQueue) -> Movable:
    """Containers that attempts of a queue ask one sub-cluster for and could have on another."""
    found: Counter[tuple[SubClusterId, SubClusterId]] = Counter()
    for each, its_queue in relayed:
        if its_queue.path == queue.path:
            found.update(each.holdings.movable)
    return found


def _untold(relayed: Iterable[RelayedAttempt], looks: Collection[SubClusterId]) -> Iterator[_Untold]:
    """What attempts want and no scheduler was told of: reports show none of it, as long as an order holds it back."""
    for each in relayed:
        unit = max((key.resource for key in each.holdings.asks), key=lambda size: size.memory_mib, default=NOTHING)
        home = each.attempt.home_subcluster
        places = sorted(each.holdings.places & set(looks), key=lambda name: (name != home, name))
        if places and unit.memory_mib > 0 and each.holdings.withheld.memory_mib > 0:
            yield _Untold(places, unit, max(1, count_fitting(each.holdings.withheld, unit, slack=0.0)))


def _share(
    now: FederationNow, queue: FederatedQueue, found: Sequence[tuple[RelayedAttempt, FederatedQueue]]
) -> QueueShare:
    scarce = now.division.scarce
    movable = _movable(found, queue)
    its_own = [each for each, its_queue in found if its_queue.path == queue.path]
    return QueueShare(
        path=queue.path,
        entitled=part_of(now.division.entitled[queue.path], scarce),
        used=part_of(now.division.used[queue.path], scarce),
        waiting=_waiting(now, queue, movable, its_own),
        may_be_taken_from=queue.preemptable,
        budget=queue.preempted_per_minute,
    )


@dataclass(frozen=True, slots=True)
class _Pending:
    """Demand of a queue that waits on a sub-cluster.

    Attributes:
        unit: Size of the largest kind of container.
    """

    unit: ResourceVector
    count: int
    within: int

    def more(self, unit: ResourceVector, count: int, within: int) -> "_Pending":
        """Add containers, of which some are within the scheduler's limits."""
        larger = max(self.unit, unit, key=lambda size: size.memory_mib)
        return _Pending(larger, self.count + count, self.within + within)


def _waiting(
    now: FederationNow, queue: FederatedQueue, movable: Movable, relayed: Sequence[RelayedAttempt] = ()
) -> dict[SubClusterId, WaitingWork]:
    """Waiting demand of a queue, within what schedulers let it have, and the places where it could be had as well.

    What a scheduler's limits forbid where it waits counts as waiting where it could be.
    """
    looks = {seen.subcluster: seen for seen in now.usable}
    pending = {name: _pending(now.policy, queue, seen) for name, seen in looks.items()}
    movable = Counter(movable)
    for each in _untold(relayed, looks):
        first, *further = each.places
        left = _allowed(now.policy, queue, looks[first], each.unit) - pending[first].within
        pending[first] = pending[first].more(each.unit, each.count, min(each.count, max(0, left)))
        movable.update({(first, other): each.count for other in further})
    unit = max((each.unit for each in pending.values()), key=lambda unit: unit.memory_mib, default=NOTHING)
    counts = {name: each.within for name, each in pending.items()}
    forbidden = {name: each.count - each.within for name, each in pending.items()}
    elsewhere: dict[SubClusterId, dict[SubClusterId, int]] = {name: {} for name in looks}
    for (name, other), count in sorted(movable.items()):
        if name not in looks or other not in looks or not pending[name].count:
            continue
        left = max(0, _allowed(now.policy, queue, looks[other], pending[name].unit) - counts[other])
        moved = min(forbidden[name], count, left)
        forbidden[name] -= moved
        counts[other] += moved
        elsewhere[name][other] = min(pending[name].within, count - moved, left - moved)
    could_be = {other for others in elsewhere.values() for other, count in others.items() if count}
    found = {}
    for name, seen in looks.items():
        if counts[name] or name in could_be:
            size = pending[name].unit if pending[name].count else unit
            others = {other: count for other, count in elsewhere[name].items() if count}
            found[name] = WaitingWork(size, counts[name], _free(seen, size), others)
    return found


def _pending(policy: SharePolicy, queue: FederatedQueue, seen: SubClusterView) -> _Pending:
    unit, count, within = NOTHING, 0, 0
    for report in _leaves(policy, queue, seen):
        if report.pending.memory_mib > 0:
            size, pending = _containers_of(report)
            unit = size if size.memory_mib > unit.memory_mib else unit
            count += pending
            within += min(pending, count_fitting(report.maximum - report.used, size, slack=0.0))
    return _Pending(unit, count, within)


def _leaves(policy: SharePolicy, queue: FederatedQueue, seen: SubClusterView) -> list[QueueReport]:
    return [
        report
        for report in seen.queues.values()
        if report.is_leaf and owner_of(policy, seen.subcluster, report.path) is queue
    ]


def _allowed(policy: SharePolicy, queue: FederatedQueue, seen: SubClusterView, unit: ResourceVector) -> int:
    """Number of containers that the scheduler's limits there still let a queue have."""
    leaves = _leaves(policy, queue, seen)
    return sum(count_fitting(report.maximum - report.used, unit, slack=0.0) for report in leaves)


def _free(seen: SubClusterView, unit: ResourceVector) -> int:
    """Number of containers of a size that fit into what nobody has."""
    running = (node for node in seen.nodes if node.state == _RUNNING)
    return sum(count_fitting(node.total - node.used, unit, slack=0.0) for node in running)


def _containers_of(report: QueueReport) -> tuple[ResourceVector, int]:
    pending, count = report.pending, report.pending_containers
    if count == 0:
        return _ASSUMED, max(1, count_fitting(pending, _ASSUMED, slack=0.0))
    others = {name: amount // count for name, amount in pending.others.items()}
    return ResourceVector(pending.memory_mib // count, pending.vcores // count, others), count
