"""Recalls of the Global Master from an attempt of a queue above its share: fewer asks, and containers back.

An ApplicationMaster sees what a ResourceManager that preempts would show it: longer waits, a `PreemptionMessage`, and
at last containers that ended with exit status -102.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shim.domain.allocations import AskKey, Ended, PendingRequest, PreemptedContainer
from shim.domain.ids import ContainerId, SubClusterId
from shim.domain.preemption import PREEMPTED_DIAGNOSTICS, PREEMPTED_EXIT_STATUS
from shim.domain.resources import ResourceVector
from shim.errors import InvariantViolationError
from shim.multicluster.core.asks import AskBook
from shim.multicluster.core.containers import Container, ContainerBook, ContainerState
from shim.multicluster.core.events import (
    DemandCap,
    HeldBack,
    PreemptionCancelled,
    PreemptionRequested,
    Recall,
    ReleaseOrder,
)
from shim.multicluster.core.session import Conversations, Session
from shim.multicluster.core.splitter import may_have

_HELD = frozenset({ContainerState.QUEUED, ContainerState.GIVEN})


@dataclass(frozen=True, slots=True)
class AttemptHoldings:
    """Containers and wants of an attempt.

    Attributes:
        held: Containers that it has or is about to have, with those that are being released.
        wants: What it asks for and no scheduler has granted.
        withheld: The part of it that no scheduler is asked for.
        places: Sub-clusters that may be asked.
        asks: Containers of each ask that no scheduler has granted, held back or not.
        held_back: Those of them that stay here, as the job puts them off; they are in neither of the amounts above.
        movable: How many containers the first sub-cluster is asked for that could as well be had on the second.
    """

    held: tuple[Container, ...] = ()
    wants: ResourceVector = field(default_factory=ResourceVector)
    withheld: ResourceVector = field(default_factory=ResourceVector)
    places: frozenset[SubClusterId] = frozenset()
    movable: Mapping[tuple[SubClusterId, SubClusterId], int] = field(default_factory=dict)
    asks: Mapping[AskKey, int] = field(default_factory=dict)
    held_back: Mapping[AskKey, int] = field(default_factory=dict)


class Recalls:
    """The ledger's part in preemption."""

    def __init__(self, asks: AskBook, containers: ContainerBook, talk: Conversations) -> None:
        self._asks = asks
        self._containers = containers
        self._talk = talk
        self._asked: dict[ContainerId, bool] = {}

    def holdings(self) -> AttemptHoldings:
        """Containers and wants of the attempt now; containers of unknown size are left out."""
        held = tuple(each for each in self._containers if each.grant is not None and self._is_held(each))
        places = frozenset(room.subcluster for room in self._talk.capacities if room.is_open)
        asks = {group.key: group.wanted for group in self._asks.groups if group.wanted}
        return AttemptHoldings(held, *self._asks.open_amounts(), places, self._movable(), asks, self._asks.held_back())

    def _movable(self) -> Mapping[tuple[SubClusterId, SubClusterId], int]:
        """Count asks at one sub-cluster that could be moved to another."""
        found: Counter[tuple[SubClusterId, SubClusterId]] = Counter()
        for group in self._asks.groups:
            if group.is_strict or not group.wanted:
                continue
            request = PendingRequest(group.key, group.wanted, refused=frozenset(group.refused))
            could_be = [room.subcluster for room in self._talk.capacities if may_have(room, request)]
            for name, count in group.targets.items():
                found.update({(name, other): count for other in could_be if other != name})
        return found

    def handle(self, event: Recall) -> None:
        """Take in what the Global Master wants; asks are to be split anew afterwards."""
        match event:
            case DemandCap(amount):
                self._asks.allowance = amount
            case HeldBack(counts):
                self._asks.hold_back(counts)
            case PreemptionRequested(containers, is_strict):
                self._asked |= dict.fromkeys(containers, is_strict)
            case PreemptionCancelled(containers):
                self._forget(containers)
            case ReleaseOrder(containers):
                self._forget(containers)
                self._take_back(containers)
            case _:
                raise InvariantViolationError(f"nobody knows what {event} means")

    def _forget(self, containers: Sequence[ContainerId]) -> None:
        for name in containers:
            self._asked.pop(name, None)

    def _take_back(self, containers: Sequence[ContainerId]) -> None:
        """Have these released; the ApplicationMaster hears that they were preempted."""
        for name in containers:
            container = self._containers.find(name)
            if container is None or container.state not in _HELD:
                continue  # it has ended by itself
            if container.state is ContainerState.QUEUED:  # the ApplicationMaster never hears of it, and still wants it
                if container.key is not None:
                    self._asks.give_back(container.key)
                container.become_surplus()
            else:
                self._containers.end(container, Ended(name, PREEMPTED_EXIT_STATUS, PREEMPTED_DIAGNOSTICS))
            self._talk.of(container.subcluster).releases[name] = None

    def told(self) -> tuple[PreemptedContainer, ...]:
        """Return the preemption messages of the next answer."""
        known = {name: self._containers.find(name) for name in self._asked}
        self._asked = {
            name: is_strict
            for name, is_strict in self._asked.items()
            if (found := known[name]) is not None and found.state is ContainerState.GIVEN
        }
        return tuple(
            PreemptedContainer(name, is_strict, found.grant)
            for name, is_strict in self._asked.items()
            if (found := known[name]) is not None
        )

    def _is_held(self, container: Container) -> bool:
        session = self._talk.find(container.subcluster)
        return container.state in _HELD or (session is not None and _is_releasing(session, container.id))


def _is_releasing(session: Session, container: ContainerId) -> bool:
    under_way = session.in_flight.releases if session.in_flight is not None else ()
    return container in session.releases or container in under_way
