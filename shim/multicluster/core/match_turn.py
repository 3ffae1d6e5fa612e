"""What a split of matched asks works on: the other side of its proposals, and where everything stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shim.domain.allocations import AskKey
from shim.domain.ids import SubClusterId
from shim.domain.launches import LaunchVerdict, Waiting, WorkEstimate
from shim.multicluster.core.containers import ContainerWatch
from shim.multicluster.core.launch_groups import LaunchGroup
from shim.multicluster.core.splitter import ClusterCapacity, Demand

__all__ = ["Counts", "Launches", "MatchSettings", "MatchTurn"]

Counts = dict[SubClusterId, int]


class Launches(ContainerWatch, Protocol):
    """Proposals for the containers of one attempt."""

    def room(self, subcluster: SubClusterId, key: AskKey, places: tuple[str, ...] = ()) -> int:
        """How many such containers could be had there, as far as is known: less what was promised to whomever.

        Where containers are in an order, also less what those before this attempt wait for and could have there.

        Args:
            subcluster: Where.
            key: Which.
            places: Hosts and racks that alone will do; empty for any.
        """
        ...

    @property
    def is_ordered(self) -> bool:
        """Whether attempts have containers in an order, so that a place in a scheduler's queue is worth nothing."""
        ...

    def before(self, subcluster: SubClusterId, key: AskKey) -> Sequence[str]:
        """Attempts that go before this one with what could stand in its way there, the first of them first."""
        ...

    def wait(self, key: AskKey, waiting: Waiting) -> None:
        """Say what is wanted, for the order among attempts."""
        ...

    def granted(self) -> None:
        """Say that a scheduler granted a container."""
        ...

    def estimate(self) -> WorkEstimate | None:
        """What the order expects of this attempt; None if it does not go by learnt durations."""
        ...

    def took(self, subcluster: SubClusterId, key: AskKey) -> None:
        """Say that a scheduler granted a container that nobody had promised."""
        ...

    def lost(self, subcluster: SubClusterId, number: int) -> int:
        """How many containers of a proposal lost their allocation: it is too old, or others were granted the room."""
        ...

    def leave(self) -> None:
        """Say that nothing is wanted any more."""
        ...

    def propose(
        self, subcluster: SubClusterId, key: AskKey, count: int, places: tuple[str, ...] = ()
    ) -> tuple[int, LaunchVerdict | None]:
        """Ask for a tentative allocation; gives the proposal's number, and the verdict if it is there at once."""
        ...

    def tell(self, subcluster: SubClusterId, number: int, *, honoured: int, withdrawn: int) -> None:
        """Say what became of a proposal so far."""
        ...


@dataclass(frozen=True, slots=True)
class MatchSettings:
    """How asks are matched.

    Attributes:
        patience: Beats without a grant after which an ask may move.
        oldest_s: A view that is older is not matched on.
    """

    patience: int = 10
    oldest_s: float = 5.0


@dataclass(frozen=True, slots=True)
class MatchTurn:
    """One demand while it is split.

    Attributes:
        kept: How many each eligible sub-cluster is asked for; changes.
        starving: Sub-clusters that have granted nothing for too long: nothing moves there before they grant something.
        local: How many are wanted at each one's hosts.
        before: Who goes first in each, if what is wanted has no promise there.
    """

    demand: Demand
    group: LaunchGroup
    capacities: Mapping[SubClusterId, ClusterCapacity]
    home: SubClusterId
    kept: Counts
    starving: frozenset[SubClusterId]
    local: Mapping[SubClusterId, int]
    before: dict[SubClusterId, Sequence[str]] = field(default_factory=dict)

    @property
    def is_settled(self) -> bool:
        """Whether all that is wanted has a tentative allocation, and nobody starves."""
        kept = self.kept
        is_whole = sum(kept.values()) + self.group.awaited() == self.demand.total
        return is_whole and not any(kept[name] and (name in self.starving or self.waiting(name)) for name in kept)

    def waiting(self, subcluster: SubClusterId) -> int:
        """How many a sub-cluster is asked for without having promised them."""
        return max(0, self.kept[subcluster] - self.group.matched(subcluster))

    @property
    def places(self) -> tuple[str, ...]:
        """Hosts and racks that alone will do; empty for any."""
        return self.demand.allowed if self.demand.is_strict else ()

    def starved(self, subcluster: SubClusterId) -> int:
        """For how many beats a sub-cluster has granted nothing of what it is asked for."""
        return self.group.starved(subcluster, self.demand)

    def unpromised(self) -> int:
        """How many are wanted that nobody has promised and nobody is asked to promise."""
        matched = sum(self.group.matched(name) for name in self.kept)
        return max(0, self.demand.total - matched - self.group.awaited())

    def missing(self) -> int:
        """How many are wanted that nobody is asked for."""
        return self.demand.total - sum(self.kept.values()) - self.group.awaited()

    def behind(self) -> tuple[str, ...]:
        """Attempts that go first somewhere, the first of them first."""
        return tuple(dict.fromkeys(name for names in self.before.values() for name in names))
