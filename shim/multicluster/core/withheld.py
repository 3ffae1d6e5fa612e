"""What is kept from an ApplicationMaster for others' sake or for its own: recalls, and gangs that are not whole yet.

Recalls of the Global Master from an attempt of a queue above its share: fewer asks, and containers back.

An ApplicationMaster sees what a ResourceManager that preempts would show it: longer waits, a `PreemptionMessage`, and
at last containers that ended with exit status -102.

The gang of an attempt: its first containers are given to the ApplicationMaster all at once, or not at all.

A ResourceManager grants one container after the other, and may grant a part. What is granted is held here until all of
it is there. A try that has not got all in time gives back what it holds, so that two gangs that hold a half each do not
wait for one another for ever.

    too few are asked for ──▶ placed by the queue's cycle ──▶ tried ──▶ given
              ▲                        ▲                       │
              └────────────────────────┴────── pause ◀─────────┘ not in time, or rejected

Times are told with the events, in seconds by one clock that is never set.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shim.domain.allocations import AskKey, Ended, GangDemand, Grant, PendingRequest, PreemptedContainer
from shim.domain.gangs import Gang
from shim.domain.ids import ApplicationAttemptId, ContainerId, SubClusterId
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


_SOON_S = 1.0
"""The first pause after a Local Master rejected a part: the next report may show room for all."""
_PAUSES_A_LIMIT = 8
"""The first pause after a try that was not in time is this part of its limit; each later one is twice as long."""
_LONGEST_DOUBLING = 3
_GOLDEN_RATIO = 0.6180339887498949


class GangTries:
    """Times of a gang: from when it may be tried, and until when.

    Args:
        place: Where pauses lie between once and twice their length, in [0, 1): those of two gangs differ.
    """

    def __init__(self, gang: Gang, place: float) -> None:
        self.gang = gang
        self.is_over = False
        self.n_failed = 0
        self._place = place
        self._now_s = 0.0
        self._short_since_s: float | None = None
        self._tried_since_s: float | None = None
        self._again_at_s: float | None = None

    def pass_time(self, at_s: float, n_asked: int) -> bool:
        """Take in the time, and how many the ApplicationMaster asks for; return whether the try is over in vain.

        An ApplicationMaster that asks for too few for as long as a try may take is served as any other: it asks for the
        next only when it has some, and would wait for ever.
        """
        self._now_s = max(self._now_s, at_s)
        if self._again_at_s is not None and self._now_s >= self._again_at_s:
            self._again_at_s = None
        if n_asked == 0 or n_asked >= self.gang.count:
            self._short_since_s = None
        elif self._short_since_s is None:
            self._short_since_s = self._now_s
        elif self._now_s - self._short_since_s >= self.gang.limit_s:
            self.is_over = True
            return False
        return self._tried_since_s is not None and self._now_s - self._tried_since_s >= self.gang.limit_s

    def most(self, n_asked: int, n_held: int) -> int:
        """Give how many schedulers may be asked for, beside those that are held."""
        if self._again_at_s is not None or n_asked < self.gang.count:
            return 0
        return max(0, self.gang.count - n_held)

    def begin(self) -> None:
        """Note that a scheduler is asked for a part: the try lasts from the first of these."""
        if self._tried_since_s is None:
            self._tried_since_s = self._now_s

    def fail(self, *, is_rejected: bool) -> None:
        """End a try in vain; the next one begins after a pause."""
        self.n_failed += 1
        shortest_s = _SOON_S if is_rejected else self.gang.limit_s / _PAUSES_A_LIMIT
        doublings = min(self.n_failed - 1, _LONGEST_DOUBLING)
        self._again_at_s = self._now_s + shortest_s * 2**doublings * (1.0 + self._place)
        self._tried_since_s = None

    def text(self, n_asked: int, n_held: int) -> str:
        """Say where it stands, for people."""
        count, failed = self.gang.count, f"; {self.n_failed} tries had not all in time" if self.n_failed else ""
        if n_asked < count:
            return f"a gang of {count}: its ApplicationMaster asks for {n_asked} so far{failed}"
        if self._again_at_s is not None:
            left_s = self._again_at_s - self._now_s
            return f"a gang of {count}: what was granted of it is given back; tried again in {left_s:.0f} s{failed}"
        if self._tried_since_s is None:
            return f"a gang of {count}: none is asked for before there is room for all{failed}"
        left_s = self._tried_since_s + self.gang.limit_s - self._now_s
        return f"a gang of {count}: {n_held} are granted and held, for {left_s:.0f} s more at most{failed}"


class GangHold:
    """The ledger's part in a gang.

    Args:
        gang: None if it has none: then nothing is ever held.
    """

    def __init__(
        self,
        attempt: ApplicationAttemptId,
        gang: Gang | None,
        asks: AskBook,
        containers: ContainerBook,
        talk: Conversations,
    ) -> None:
        place = attempt.application.sequence * _GOLDEN_RATIO % 1.0
        self._tries = None if gang is None else GangTries(gang, place)
        self._asks = asks
        self._containers = containers
        self._talk = talk

    @property
    def is_pending(self) -> bool:
        return self._tries is not None and not self._tries.is_over

    @property
    def has_gang(self) -> bool:
        """Return whether the attempt has one, given by now or not: then the store knows what was given at home, too."""
        return self._tries is not None

    def held(self) -> Sequence[Container]:
        queued = self._containers.in_state(ContainerState.QUEUED) if self.is_pending else ()
        return [each for each in queued if each.key is not None and each.key.placement is None]

    def begun(self) -> None:
        """The ApplicationMaster was given its gang by an earlier ledger."""
        if self._tries is not None:
            self._tries.is_over = True
            self._asks.gang = None

    def pass_time(self, at_s: float) -> bool:
        """Take in the time; return whether something was given back."""
        if self._tries is None or self._tries.is_over:
            return False
        if not self._tries.pass_time(at_s, self._n_asked()):
            return False
        self._give_back(is_rejected=False)
        return True

    def demand(self) -> None:
        tries = self._tries
        if tries is None or tries.is_over:
            self._asks.gang = None
            return
        n_asked, n_held = self._n_asked(), len(self.held())
        self._asks.gang = GangDemand(tries.most(n_asked, n_held), tries.text(n_asked, n_held))

    def was_split(self) -> None:
        """Note whether a scheduler is asked for a part."""
        if (
            self._tries is not None
            and self.is_pending
            and any(sum(each.targets.values()) for each in self._asks.groups if each.key.placement is None)
        ):
            self._tries.begin()

    def rejected(self) -> None:
        """A Local Master has no room for a part: the rest is withdrawn, unless some is granted and held by now."""
        if self.is_pending and not self.held():
            self._give_back(is_rejected=True)

    def holds_back(self) -> bool:
        """Return whether the next answer gives nothing, as something is lacking; a gang that was all there is over."""
        tries = self._tries
        if tries is None or tries.is_over:
            return False
        held = self.held()
        if len(held) < tries.gang.count:
            return True
        self.begun()
        self._containers.begin_anew(held)
        return False

    def lost(self, container: Container) -> bool:
        """A held container has ended before the ApplicationMaster heard of it: it is wanted again. Else False."""
        if not self.is_pending or container.state is not ContainerState.QUEUED or container.key is None:
            return False
        if container.key.placement is not None:
            return False
        self._want_again(container)
        self._containers.forget([container])
        return True

    def doubt_home(self) -> None:
        """The home may have restarted, and know nothing of what it granted last: that is given back unheard."""
        home = self._talk.home
        for container in self.held():
            if container.subcluster == home.subcluster:
                self._containers.forget([container])
                home.releases[container.id] = None

    def _n_asked(self) -> int:
        return sum(group.wanted for group in self._asks.groups if group.key.placement is None) + len(self.held())

    def _give_back(self, *, is_rejected: bool) -> None:
        for container in self.held():
            self._want_again(container)
            container.become_surplus()
            self._talk.of(container.subcluster).releases[container.id] = None
        self._asks.forgive()
        if self._tries is not None:
            self._tries.fail(is_rejected=is_rejected)

    def _want_again(self, container: Container) -> None:
        if container.key is not None:
            self._asks.give_back(container.key, self._places(container, container.grant))

    def _places(self, container: Container, grant: Grant | None) -> tuple[str, ...]:
        if grant is None:
            return ()
        return (grant.node.host, self._talk.rack(container.subcluster, grant.node))
