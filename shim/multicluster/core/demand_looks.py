"""The grounds of a split: one demand beside the sub-clusters as they are now, and where its rest may queue.

Pure functions for `PlannedSplitter` (`planned.py`), which keeps the books and tells of what changes in them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from shim.domain.ids import SubClusterId
from shim.domain.requests import PendingRequest, RequestPlan
from shim.multicluster.core.ask_decisions import AskDecision, Weighed
from shim.multicluster.core.cluster_capacity import ClusterCapacity
from shim.multicluster.core.constrained import most_by_nodes, places_of, queue_by_tags
from shim.multicluster.core.splitter import Demand, data_in, may_have, shares_of, sizes_of, split_strictly
from shim.multicluster.core.tentative import AllocationGroup

__all__ = ["DemandLook", "decision_on", "look_at", "queue_at_each", "queue_rest", "row_of"]

_UNBOUNDED: Mapping[SubClusterId, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class DemandLook:
    """One demand, and the sub-clusters as they are known now.

    Attributes:
        eligible: Those that may be asked.
        most_at: Containers that a placement constraint leaves to the nodes of each; none where nothing bounds them.
    """

    demand: Demand
    eligible: Mapping[SubClusterId, ClusterCapacity]
    home: SubClusterId
    most_at: Mapping[SubClusterId, int] = field(default_factory=lambda: _UNBOUNDED)

    @property
    def is_placed(self) -> bool:
        """Tell whether the demand has a placement constraint."""
        return self.demand.key.placement is not None


def look_at(demand: Demand, capacities: Sequence[ClusterCapacity], home: SubClusterId) -> DemandLook:
    """Look at who can be asked: with a placement, who can judge the constraint and has not rejected it."""
    able = [room for room in capacities if may_have(room, demand)]
    if demand.key.placement is None:
        return DemandLook(demand, {room.subcluster: room for room in able}, home)
    able = [room for room in able if not room.is_trial]
    judges = {room.subcluster for room in places_of(demand, capacities)} - demand.rejected
    eligible = {room.subcluster: room for room in able if room.subcluster in judges}
    held = {} if demand.tags is None else demand.tags.held
    most = {name: most_by_nodes(room, demand, held) for name, room in eligible.items()}
    return DemandLook(demand, eligible, home, {name: max(0, each) for name, each in most.items() if each is not None})


def queue_at_each(group: AllocationGroup, look: DemandLook) -> None:
    """Queue all that has no tentative allocation at each scheduler that the newest plan has drawn."""
    left = min(group.planned, look.demand.total) - group.committed()
    if left > 0:
        group.queued.update(dict.fromkeys((name for name in _known(look) if name in group.may_queue), left))


def _known(look: DemandLook) -> list[SubClusterId]:
    """Those that may be asked for more than the one container that tries."""
    return [name for name, room in look.eligible.items() if not room.is_trial]


def queue_rest(group: AllocationGroup, look: DemandLook) -> None:
    """Queue the rest, which has no tentative allocation, at schedulers where the newest plan allows it."""
    missing = min(group.planned, look.demand.total) - group.committed()
    capacities = [room for name, room in look.eligible.items() if name in group.may_queue and not room.is_trial]
    if missing <= 0 or not capacities:
        return
    if look.demand.is_strict:
        bounds = split_strictly(look.demand, tuple(look.eligible.values()), look.home)
        bounds = {room.subcluster: bounds.get(room.subcluster, 0) for room in capacities}
    elif look.is_placed:
        group.queued.update(queue_by_tags(look.demand, capacities, look.most_at, group.asked(), missing))
        group.tidy()
        return
    else:
        bounds = sizes_of(capacities, look.demand)
    asked, weights = group.asked(), {room.subcluster: room.weight for room in capacities}
    left = {name: max(0, bound - asked[name]) for name, bound in bounds.items()}
    left |= {name: min(left[name], most) for name, most in group.may_still_queue().items() if name in left}
    for name, share in shares_of(missing, left, lambda name: weights[name]).items():
        group.queued[name] += share
        missing -= share
    unbounded = {name: bound for name, bound in bounds.items() if name not in group.at_most}
    if unbounded and not look.demand.is_strict:
        group.queued[max(unbounded, key=lambda name: unbounded[name])] += missing
    group.tidy()


def row_of(group: AllocationGroup, look: DemandLook, avoided: frozenset[SubClusterId], patience: int) -> PendingRequest:
    """Make the row for the queue's next cycle.

    Args:
        group: What is allocated and queued.
        look: What is wanted, and where it may be.
        avoided: Sub-clusters where nothing new is to start.
        patience: Beats without a grant after which a sub-cluster counts as unresponsive.
    """
    local = dict(data_in(tuple(look.eligible.values()), look.demand))
    weights = {name: room.weight for name, room in look.eligible.items()}
    if look.is_placed and look.home in local:
        local[look.home] = look.demand.total
    row = group.row(look.demand, local, weights, avoided, patience)
    return replace(row, most_at=look.most_at) if look.most_at else row


def decision_on(group: AllocationGroup, look: DemandLook, latest: RequestPlan | None) -> AskDecision:
    """Tell people of a split; `latest` is the newest plan, if it is another than the group's."""
    plan = latest or group.plan or RequestPlan(group.key)
    missing = max(0, look.demand.total - group.committed())
    return AskDecision(
        key=group.key,
        wanted=look.demand.total,
        asked=dict(group.asked()),
        promised=dict(group.verified()),
        by="capacity" if group.reason else "heddle",
        reason=group.reason or plan.reason,
        gang="" if look.demand.gang is None else look.demand.gang.text,
        candidates=tuple(Weighed(name, plan.capacity.get(name, 0), room.age_s) for name, room in look.eligible.items()),
        verdicts=tuple(group.verdicts),
        repairs=group.repairs,
        withheld=missing,
        behind=plan.behind,
        estimate=plan.estimate,
        rule="" if group.reason else plan.rule,
    )
