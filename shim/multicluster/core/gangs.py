"""The gang of an attempt: its first containers are given to the ApplicationMaster all at once, or not at all.

A ResourceManager grants one container after the other, and may grant a part. What is granted is held here until all of
it is there. A try that has not got all in time gives back what it holds, so that two gangs that hold a half each do not
wait for one another for ever.

    too few are asked for ──▶ placed by the queue's cycle ──▶ tried ──▶ given
              ▲                        ▲                       │
              └────────────────────────┴────── pause ◀─────────┘ not in time, or rejected

Times are told with the events, in seconds by one clock that is never set.
"""

from collections.abc import Sequence

from shim.domain.allocations import GangDemand, Grant
from shim.domain.gangs import Gang
from shim.domain.ids import ApplicationAttemptId
from shim.multicluster.core.asks import AskBook
from shim.multicluster.core.containers import Container, ContainerBook, ContainerState
from shim.multicluster.core.session import Conversations

_SOON_S = 1.0
"""The first pause after a Local Master rejected a part: the next report may show room for all."""
_PAUSES_A_LIMIT = 8
"""The first pause after a try that was not in time is this part of its limit; each later one is twice as long."""
_LONGEST_DOUBLING = 3
_GOLDEN_RATIO = 0.6180339887498949


class GangTries:
    """Times of a gang: from when it may be tried, and until when.

    Args:
        gang: What must be had together.
        place: Where pauses lie between once and twice their length, in [0, 1): those of two gangs differ.

    Attributes:
        is_over: Whether the gang has been given, or is none any more.
        n_failed: Tries that gave back what they held.
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
        attempt: Whose.
        gang: None if it has none: then nothing is ever held.
        asks: What it wants.
        containers: What it was granted.
        talk: What schedulers are told.
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
        """Return whether what is granted is held."""
        return self._tries is not None and not self._tries.is_over

    @property
    def has_gang(self) -> bool:
        """Return whether the attempt has one, given by now or not: then the store knows what was given at home, too."""
        return self._tries is not None

    def held(self) -> Sequence[Container]:
        """Containers that are granted and held."""
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
        """Have the next split ask for the gang as a whole, or for nothing of it."""
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
