"""What an attempt wants of one kind, from its ledger to the cycle of its queue, and what a cycle plans for it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from shim.domain.allocations import AskKey
from shim.domain.ids import SubClusterId
from shim.domain.launches import WorkEstimate
from shim.domain.resources import ResourceVector

NEAR_DATA = "read_across_s"
"""With this begins the reason of a plan that keeps a request to sub-clusters near its data, all of it asked for or not;
it is the name of the key that says for how long."""


HeldTags = Mapping[SubClusterId, Mapping[frozenset[str], int]]
"""How many containers the application has with exactly these tags, by sub-cluster."""


class SpokenFor:
    """Room that asks with a constraint are asked for: DistributedShell has one for each container."""

    def __init__(self) -> None:
        self._tags: dict[SubClusterId, Counter[frozenset[str]]] = {}
        self._amounts: dict[SubClusterId, ResourceVector] = {}

    def add(self, key: AskKey, targets: Mapping[SubClusterId, int], sign: int = 1) -> None:
        """Add what sub-clusters are asked for, or take it off."""
        tags = frozenset() if key.placement is None else key.placement.tags
        for name, count in targets.items():
            self._tags.setdefault(name, Counter())[tags] += sign * count
            self._amounts[name] = self.amount(name) + key.resource.times(sign * count)

    def tagged(self, subcluster: SubClusterId, tags: frozenset[str]) -> int:
        """Count the containers with all of these tags that a sub-cluster is asked for."""
        return count_tagged(self._tags.get(subcluster, {}), tags)

    def amount(self, subcluster: SubClusterId) -> ResourceVector:
        """Return what a sub-cluster is asked for, in all."""
        return self._amounts.get(subcluster, ResourceVector())


@dataclass(frozen=True, slots=True)
class TagCounts:
    """Containers that a constraint looks at.

    Attributes:
        held: What the application has.
        spoken: What its other asks are asked for.
    """

    held: HeldTags = field(default_factory=dict)
    spoken: SpokenFor = field(default_factory=SpokenFor)


def count_tagged(counts: Mapping[frozenset[str], int], tags: frozenset[str]) -> int:
    """Count the containers that have all of the tags."""
    return sum(count for each, count in counts.items() if tags <= each)


@dataclass(frozen=True, slots=True)
class GangDemand:
    """The part of a gang that is not granted yet, over all keys of its attempt.

    Attributes:
        count: How many schedulers may be asked for, together; 0 for none at present.
        text: Where the gang stands, for people.
    """

    count: int
    text: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """Containers of one ask key of one attempt that are wanted and that no scheduler has granted.

    The ledger makes it from what the ApplicationMaster asks for, and has it split over sub-clusters; the splitter adds
    what is allocated and where it may be, and publishes it to the queue's cycle. What only the split looks at makes no
    other request for the cycle, and is not compared.

    Attributes:
        wanted: How many may be had now.
        named: How many are wanted at each host and rack that the asks name; in a cycle, what is left of that.
        is_strict: Whether they may be at those places alone; `places` are then the hosts, and the racks that will do.
        standing: How many each session is asked for by now.
        starved: For how many beats each session has granted none of them.
        refused: Sub-clusters whose scheduler refused such an ask.
        rejected: Sub-clusters that found no place for containers with this placement.
        is_limited: Whether more is wanted than may be asked for: the rest is held back, or beyond an allowance.
        tags: What a placement constraint is judged by; None for nothing of the kind. It is looked at within a split.
        held: Containers that the attempt has, of whatever kind.
        gang: Where all that the attempt wants is to be had together, with any of its keys; None where each is by
            itself.
        tentative: Those of them with a tentative allocation, by sub-cluster; verdicts that are on their way count.
        queued: Those that a scheduler is asked for without one.
        may_use: Sub-clusters that can be asked at all.
        avoided: Sub-clusters that granted nothing for too long: nothing new starts there.
        unresponsive: Sub-clusters that grant nothing although there is capacity: this request goes before no other
            there.
        local: How many are wanted at named hosts of each sub-cluster, or at racks that tell sub-clusters apart.
        weights: How much the queue prefers each sub-cluster; 1 for those that are not in here.
        most_at: How many containers with its tags a placement constraint leaves to each sub-cluster, beside those that
            the attempt has; no entry where it bounds nothing. Tentative allocations are not taken off.
    """

    key: AskKey
    wanted: int
    named: Mapping[str, int] = field(default_factory=dict)
    is_strict: bool = False
    places: tuple[str, ...] = ()
    standing: Mapping[SubClusterId, int] = field(default_factory=dict, compare=False)
    starved: Mapping[SubClusterId, int] = field(default_factory=dict, compare=False)
    refused: frozenset[SubClusterId] = field(default=frozenset(), compare=False)
    rejected: frozenset[SubClusterId] = field(default=frozenset(), compare=False)
    is_limited: bool = field(default=False, compare=False)
    tags: TagCounts | None = field(default=None, compare=False)
    held: int = 0
    gang: GangDemand | None = None
    tentative: Mapping[SubClusterId, int] = field(default_factory=dict)
    queued: Mapping[SubClusterId, int] = field(default_factory=dict)
    may_use: frozenset[SubClusterId] = frozenset()
    avoided: frozenset[SubClusterId] = frozenset()
    unresponsive: frozenset[SubClusterId] = frozenset()
    local: Mapping[SubClusterId, int] = field(default_factory=dict)
    weights: Mapping[SubClusterId, float] = field(default_factory=dict)
    most_at: Mapping[SubClusterId, int] = field(default_factory=dict)

    @property
    def unallocated(self) -> int:
        """Containers without a tentative allocation."""
        return max(0, self.wanted - sum(self.tentative.values()))

    @property
    def withheld(self) -> int:
        """Containers that no scheduler is asked for, as other attempts go first."""
        return max(0, self.wanted - sum(self.tentative.values()) - sum(self.queued.values()))

    @property
    def is_withheld(self) -> bool:
        """Return whether nothing may be asked for at present: a part of a gang could be had, and not all of it."""
        return self.gang is not None and not self.gang.count


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
