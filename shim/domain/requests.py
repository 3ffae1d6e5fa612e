"""Pending requests of one attempt as rows of its queue's cycle, and the plan that a cycle makes of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shim.domain.allocations import AskKey
from shim.domain.ids import SubClusterId
from shim.domain.launches import WorkEstimate

NEAR_DATA = "read_across_s"
"""With this begins the reason of a plan that keeps a request to sub-clusters near its data, all of it asked for or not;
it is the name of the key that says for how long."""


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """Containers of one ask key of one attempt that no scheduler has granted.

    Attributes:
        wanted: How many.
        tentative: Those of them with a tentative allocation, by sub-cluster; verdicts that are on their way count.
        queued: Those that a scheduler is asked for without one.
        may_use: Sub-clusters that can be asked at all.
        avoided: Sub-clusters that granted nothing for too long: nothing new starts there.
        unresponsive: Sub-clusters that grant nothing although there is capacity: this request goes before no other
            there.
        local: How many are wanted at named hosts of each sub-cluster, or at racks that tell sub-clusters apart.
        places: Hosts and racks that alone will do; empty for any.
        named: How many are wanted at each host and rack that the asks name.
        weights: How much the queue prefers each sub-cluster; 1 for those that are not in here.
        held: Containers that the attempt has, of whatever kind.
        gang: How many containers of the attempt are placed together, with any of its keys; 0 where each is by itself.
        most_at: How many containers with its tags a placement constraint leaves to each sub-cluster, beside those that
            the attempt has; no entry where it bounds nothing. Tentative allocations are not taken off.
    """

    key: AskKey
    wanted: int
    tentative: Mapping[SubClusterId, int] = field(default_factory=dict)
    queued: Mapping[SubClusterId, int] = field(default_factory=dict)
    may_use: frozenset[SubClusterId] = frozenset()
    avoided: frozenset[SubClusterId] = frozenset()
    unresponsive: frozenset[SubClusterId] = frozenset()
    local: Mapping[SubClusterId, int] = field(default_factory=dict)
    places: tuple[str, ...] = ()
    named: Mapping[str, int] = field(default_factory=dict)
    weights: Mapping[SubClusterId, float] = field(default_factory=dict)
    held: int = 0
    gang: int = 0
    most_at: Mapping[SubClusterId, int] = field(default_factory=dict)

    @property
    def unallocated(self) -> int:
        """Containers without a tentative allocation."""
        return max(0, self.wanted - sum(self.tentative.values()))

    @property
    def withheld(self) -> int:
        """Containers that no scheduler is asked for, as other attempts go first."""
        return max(0, self.wanted - sum(self.tentative.values()) - sum(self.queued.values()))


@dataclass(frozen=True, slots=True)
class RequestPlan:
    """Decision of a cycle on one request.

    Attributes:
        starts: Containers to be allocated tentatively, by sub-cluster, beyond those that are.
        may_queue: Sub-clusters whose scheduler may be asked for the rest: no other attempt goes first there.
        at_most: Containers that such a scheduler may be asked for without a tentative allocation; all of the rest where
            it has no entry.
        behind: Applications that go first somewhere, the first of them first.
        capacity: Containers that each sub-cluster had capacity for.
        reason: For people; empty where `behind` and `capacity` say it all.
        made_by: `exact`, `bounded` or `greedy`.
        estimate: What the order expects of the attempt, if it goes by learnt durations.
        rule: The policy that decided, by the name that the queue's configuration has for it.
        hosts: Containers of `starts` that are for one host, by sub-cluster and host; None where the policy leaves hosts
            to the schedulers.
        is_late_bound: Whether each of `may_queue` is asked for all of the rest at once. Whichever grants first binds a
            container, and the others are asked for one less.
    """

    key: AskKey
    starts: Mapping[SubClusterId, int] = field(default_factory=dict)
    may_queue: frozenset[SubClusterId] = frozenset()
    at_most: Mapping[SubClusterId, int] = field(default_factory=dict)
    behind: tuple[str, ...] = ()
    capacity: Mapping[SubClusterId, int] = field(default_factory=dict)
    reason: str = ""
    made_by: str = "greedy"
    estimate: WorkEstimate | None = None
    rule: str = ""
    hosts: Mapping[SubClusterId, Mapping[str, int]] | None = None
    is_late_bound: bool = False
