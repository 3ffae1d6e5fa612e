"""Every container of an attempt, in exactly one state.

QUEUED ──▶ GIVEN ──▶ ENDED ──▶ TOLD ──▶ (forgotten)
   │                   ▲
   ├──▶ STILLBORN ─────┘        ended before the ApplicationMaster had it: it learns both at once
   └──▶ (forgotten)             its sub-cluster was lost before
SURPLUS ──▶ (forgotten)         the ApplicationMaster never hears of it
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from shim.domain.allocations import ENDED_BY_ITSELF, AskKey, Ended, Grant, PlacementConstraint, TaggedSpot
from shim.domain.ids import ContainerId, SubClusterId
from shim.domain.resources import ResourceVector

_MOST_REMEMBERED = 4096


class ContainerState(Enum):
    """Stage of a container between its scheduler and the ApplicationMaster."""

    QUEUED = "queued"
    """Granted, and in no answer yet."""
    STILLBORN = "stillborn"
    """Granted and ended, and in no answer yet."""
    GIVEN = "given"
    """In an answer."""
    ENDED = "ended"
    """Given, and its end is in no answer yet."""
    TOLD = "told"
    """Its end is in an answer that the ApplicationMaster has not acknowledged by its next call."""
    SURPLUS = "surplus"
    """Nobody wants it: released, and never told of."""


_MOVES: Mapping[ContainerState, frozenset[ContainerState]] = {
    ContainerState.QUEUED: frozenset({ContainerState.GIVEN, ContainerState.STILLBORN, ContainerState.SURPLUS}),
    ContainerState.STILLBORN: frozenset({ContainerState.TOLD}),
    ContainerState.GIVEN: frozenset({ContainerState.ENDED}),
    ContainerState.ENDED: frozenset({ContainerState.TOLD}),
    ContainerState.TOLD: frozenset(),
    ContainerState.SURPLUS: frozenset(),
}

_HAD = frozenset({ContainerState.QUEUED, ContainerState.GIVEN})
_UNHEARD = frozenset({ContainerState.QUEUED, ContainerState.SURPLUS})


@dataclass(slots=True)
class Container:
    """One container.

    Attributes:
        key: The asks that it was granted for; None if an earlier ledger was granted it.
        grant: As its scheduler gave it; None if an earlier ledger passed it on.
        since_s: When it was given, if its ResourceManager was asked; seconds since the epoch.
        is_hearsay: Whether this ledger knows it by asking alone: its scheduler may yet grant it.
        is_released: Whether the ApplicationMaster has given it back.
    """

    id: ContainerId
    subcluster: SubClusterId
    state: ContainerState
    key: AskKey | None = None
    grant: Grant | None = None
    ended: Ended | None = None
    since_s: float | None = None
    is_hearsay: bool = False
    is_released: bool = False
    is_returned: bool = False

    @property
    def spot(self) -> TaggedSpot | None:
        """The node where it is, with its tags, if it has some; None if no scheduler has told."""
        if self.grant is None:
            return None
        if not self.grant.tags:
            return TaggedSpot(self.grant.node, PlacementConstraint())
        wanted = None if self.key is None else self.key.placement
        return TaggedSpot(self.grant.node, wanted or PlacementConstraint(self.grant.tags))

    def move(self, state: ContainerState) -> None:
        """Go on to another state.

        Raises:
            ValueError: If there is no way there: a bug.
        """
        if state not in _MOVES[self.state]:
            raise ValueError(f"{self.id} cannot become {state.value}: it is {self.state.value}")
        self.state = state

    def become_surplus(self) -> None:
        """Leave a granted container to nobody: no ask is short of it any more."""
        self.move(ContainerState.SURPLUS)
        self.key = None


class ContainerWatch(Protocol):
    """Observer of how long containers run."""

    def begun(
        self,
        container: ContainerId,
        since_s: float | None,
        resource: ResourceVector | None = None,
        spot: TaggedSpot | None = None,
    ) -> None:
        """An attempt has a container.

        Args:
            since_s: Since when, in seconds since the epoch; None for since now.
        """
        ...

    def ended(self, container: ContainerId, *, is_whole: bool) -> None:
        """Note the end of a container; `is_whole`: it ran for as long as its ApplicationMaster wanted it."""
        ...


class ContainerBook:
    """The containers of an attempt that are not done with, and the names of those that were."""

    def __init__(self, watch: ContainerWatch) -> None:
        self._watch = watch
        self._containers: dict[ContainerId, Container] = {}
        self._done: OrderedDict[ContainerId, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._containers)

    def __iter__(self) -> Iterator[Container]:
        return iter(tuple(self._containers.values()))

    def find(self, container: ContainerId) -> Container | None:
        return self._containers.get(container)

    def is_done(self, container: ContainerId) -> bool:
        return container in self._done

    def add(self, container: Container) -> None:
        self._containers[container.id] = container
        if container.state in _HAD:
            grant = container.grant
            size = None if grant is None else grant.resource
            self._watch.begun(container.id, container.since_s, size, container.spot)

    def drop_hearsay(self, container: ContainerId) -> None:
        """Drop the belief that a container was given: its scheduler grants it only now."""
        known = self._containers.get(container)
        if known is not None and known.is_hearsay and known.state is ContainerState.GIVEN:
            del self._containers[container]

    def in_state(self, *states: ContainerState) -> list[Container]:
        """Containers in any of the states, in the order in which they came."""
        return [each for each in self._containers.values() if each.state in states]

    def of(self, subcluster: SubClusterId) -> list[Container]:
        return [each for each in self._containers.values() if each.subcluster == subcluster]

    def on_way(self) -> Counter[AskKey]:
        """Count the containers for each key that the ApplicationMaster has not been given."""
        waiting = self.in_state(ContainerState.QUEUED, ContainerState.STILLBORN)
        return Counter(each.key for each in waiting if each.key is not None)

    def tags(self) -> Mapping[SubClusterId, Mapping[frozenset[str], int]]:
        """Count the containers that the attempt has by their tags, by sub-cluster.

        One that it has given back is not counted: schedulers release before they place, and one that has restarted may
        never say that it has ended.
        """
        found: dict[SubClusterId, Counter[frozenset[str]]] = {}
        for each in self._containers.values():
            if each.state in _HAD and not each.is_released and each.grant is not None and each.grant.tags:
                found.setdefault(each.subcluster, Counter())[each.grant.tags] += 1
        return found

    def give_back(self, container: ContainerId, *, is_used: bool) -> None:
        """The ApplicationMaster wants it no more."""
        known = self._containers.get(container)
        if known is not None:
            known.is_released = True
            known.is_returned = known.is_returned or is_used

    def end(self, container: Container, ended: Ended) -> None:
        """Note the end of a container; only the first end counts."""
        if container.state is ContainerState.SURPLUS:
            self.forget([container])
        elif container.state in _HAD:
            is_whole = container.is_returned or ended.exit_status in ENDED_BY_ITSELF
            self._watch.ended(container.id, is_whole=is_whole)
            is_queued = container.state is ContainerState.QUEUED
            container.move(ContainerState.STILLBORN if is_queued else ContainerState.ENDED)
            container.ended = ended

    def begin_anew(self, containers: Iterable[Container]) -> None:
        """The attempt has them from now on: they were held until now."""
        for container in containers:
            grant = container.grant
            self._watch.begun(container.id, None, None if grant is None else grant.resource, container.spot)

    def forget(self, containers: Iterable[Container]) -> None:
        """Done with: only the name is remembered, so that a repeated word of it is known as such."""
        gone = tuple(containers)
        for container in gone:
            del self._containers[container.id]
            if container.state in _UNHEARD:
                self._watch.ended(container.id, is_whole=False)
        self.disown(each.id for each in gone)

    def disown(self, names: Iterable[ContainerId]) -> None:
        """Take note that whatever else is told of these concerns nobody."""
        self._done |= dict.fromkeys(names)
        while len(self._done) > _MOST_REMEMBERED:
            self._done.popitem(last=False)
