"""Asks matched with room, and each match verified by who knows the sub-cluster best.

    match on the view ─ propose ─ accepted ─ asked for there ─ granted
           ▲               └──── rejected: the view is corrected ──┐     not in time, or no room left: withdrawn
           └───────────────────────────────────────────────────────┴───────────┘

`Launches` is the other side: in one process the Local Masters' books themselves, else a belief about them and messages.
A proposal that is not answered at once is waited for, and its containers are asked for nowhere meanwhile; those for the
home go along with the call that is under way, as the next one may be a second away, and a rejection takes them back.

What nobody promises room for waits in the queues of the sub-clusters, in proportion to their sizes, as it would without
Heddle; it is promised as soon as there is room. What starves where it was promised is promised elsewhere, and taken
back. Where the view is too old to match on, `CapacitySplitter` splits.

Where the attempts of a queue have containers in an order, what has no promise is asked for only where no other attempt
goes first: the ResourceManager would serve by its own order. It waits in the ledger.
"""

from collections.abc import Mapping, Sequence

from shim.domain.allocations import AskKey
from shim.domain.ids import ContainerId, SubClusterId
from shim.domain.launches import LaunchVerdict, Waiting
from shim.multicluster.core.events import Effect
from shim.multicluster.core.launch_book import LaunchBook
from shim.multicluster.core.launch_groups import AskDecision, LaunchGroup, Weighed
from shim.multicluster.core.match_turn import Counts, Launches, MatchSettings, MatchTurn
from shim.multicluster.core.plan_events import PlanEvent
from shim.multicluster.core.splitter import (
    CapacitySplitter,
    ClusterCapacity,
    Demand,
    may_have,
    named_there,
    shares_of,
    sizes_of,
    split_strictly,
    why_too_old,
    why_unmatched,
)

__all__ = ["Launches", "MatchSettings", "MatchingSplitter"]

_ROUNDS = 3
_MOST_DECISIONS = 32
_IMPATIENT_AFTER = 2


class MatchingSplitter:
    """Implements `AskSplitter` for one attempt.

    Args:
        launches: Where matches are verified.
        settings: How asks are matched.

    Attributes:
        fallbacks: Splits that the other splitter made.
        decided: Decisions that were made.
    """

    awaits_plan = False

    def __init__(self, launches: Launches, settings: MatchSettings | None = None) -> None:
        self._launches = launches
        self._settings = settings or MatchSettings()
        self._fallback = CapacitySplitter(self._settings.patience)
        self._book = LaunchBook(launches, self._settings.patience)
        self._decisions: dict[AskKey, AskDecision] = {}
        self.fallbacks = 0
        self.decided = 0

    @property
    def repairs(self) -> int:
        """Promises that were not kept."""
        return self._book.repairs

    @property
    def decisions(self) -> Sequence[AskDecision]:
        """The newest decision on each of the newest keys."""
        return tuple(self._decisions.values())

    # ------------------------------------------------------------------ what the ledger tells

    def drain(self) -> Sequence[Effect]:
        """See `AskSplitter`: it calls others itself."""
        return ()

    def take(self, event: PlanEvent) -> None:
        """See `AskSplitter`: nobody plans for it."""

    def split(self, demand: Demand, capacities: Sequence[ClusterCapacity]) -> Mapping[SubClusterId, int]:
        """See `AskSplitter`."""
        home = next(room.subcluster for room in capacities if room.is_home)
        eligible = {room.subcluster: room for room in capacities if may_have(room, demand)}
        group = self._book.group(demand.key)
        why_not = self._why_not(demand, eligible)
        if why_not:
            asked = dict(self._fallback.split(demand, capacities))
            self._launches.wait(demand.key, Waiting())
            self._book.withdraw_surplus(group, asked)
            self._decide(demand, group, self._weigh(demand, eligible), asked, reason=why_not)
            return asked
        turn = self._begin(demand, group, eligible, home)
        if demand.is_strict:
            self._stay(turn)
        if turn.is_settled:  # most calls: nothing is looked at, nothing decided
            self._line_up(turn)
            return {subcluster: count for subcluster, count in turn.kept.items() if count}
        self._book.take_back(turn)
        self._line_up(turn)
        weighed = self._weigh(demand, eligible)
        if demand.is_strict:
            self._promise_what_waits(turn)
            self._step_back(turn, weighed)
        else:
            self._step_back(turn, weighed)
            self._promise_what_waits(turn)
            self._move(turn)
            self._cut(turn)
            self._launch(turn)
            self._wait(turn)
        self._line_up(turn)
        asked = {subcluster: count for subcluster, count in turn.kept.items() if count}
        self._decide(demand, group, weighed, asked, behind=turn.behind(), withheld=turn.missing())
        return asked

    def _weigh(self, demand: Demand, eligible: Mapping[SubClusterId, ClusterCapacity]) -> tuple[Weighed, ...]:
        places = demand.allowed if demand.is_strict else ()
        return tuple(
            Weighed(name, self._launches.room(name, demand.key, places), room.age_s) for name, room in eligible.items()
        )

    def granted(self, key: AskKey, subcluster: SubClusterId) -> None:
        """See `AskSplitter`: the oldest promise there is honoured."""
        self._book.granted(key, subcluster)

    def drop(self, key: AskKey) -> None:
        """See `AskSplitter`."""
        self._book.drop(key)

    def begin_anew(self) -> None:
        """See `AskSplitter`."""
        self._book.clear()

    def clear(self) -> None:
        """See `AskSplitter`."""
        self._book.clear()
        self._launches.leave()

    def begun(self, container: ContainerId, since_s: float | None) -> None:
        """See `ContainerWatch`."""
        self._launches.begun(container, since_s)

    def ended(self, container: ContainerId, *, is_whole: bool) -> None:
        """See `ContainerWatch`."""
        self._launches.ended(container, is_whole=is_whole)

    def judge(self, verdict: LaunchVerdict) -> bool:
        """Take in what a Local Master said to a proposal; return whether the asks are to be split again."""
        return self._book.judge(verdict)

    # ------------------------------------------------------------------ the steps of a split

    def _why_not(self, demand: Demand, eligible: Mapping[SubClusterId, ClusterCapacity]) -> str:
        """Why these asks are not matched; empty if they are."""
        if said := why_unmatched(demand, eligible):
            return said
        said = why_too_old(eligible, self._settings.oldest_s)
        self.fallbacks += bool(said)
        return said

    def _begin(
        self, demand: Demand, group: LaunchGroup, eligible: Mapping[SubClusterId, ClusterCapacity], home: SubClusterId
    ) -> MatchTurn:
        """Where everything stands: grants and verdicts since the last split are in."""
        kept: Counts = {}
        for name in eligible:
            kept[name] = max(0, demand.standing.get(name, 0) - group.taken_back[name])
            for launch in group.launches:
                if launch.subcluster == name and not launch.is_told and not launch.is_pending:
                    launch.is_told = True
                    kept[name] += launch.count
        group.taken_back.clear()
        self._book.forget_lost(group)
        self._book.withdraw_surplus(group, kept)
        starving = {name for name in kept if group.starved(name, demand) >= self._settings.patience}
        local = {name: named_there(room, demand) for name, room in eligible.items()}
        return MatchTurn(demand, group, eligible, home, kept, frozenset(starving), local)

    def _line_up(self, turn: MatchTurn) -> None:
        """Say what has no promise, and where it could be had: not where nothing is granted though there is room."""
        if not self._launches.is_ordered:
            return
        demand, deaf = turn.demand, turn.group.deaf
        hears = frozenset(
            name
            for name, room in turn.capacities.items()
            if deaf[name] < self._settings.patience and (not turn.places or any(map(room.has_place, turn.places)))
        )
        waiting = Waiting(
            wanted=demand.total,
            unpromised=turn.unpromised(),
            withheld=max(0, turn.missing()),
            subclusters=hears,
            places=turn.places,
            promised_at=hears & {launch.subcluster for launch in turn.group.launches},
            held=demand.held,
        )
        self._launches.wait(demand.key, waiting)

    def _stay(self, turn: MatchTurn) -> None:
        """Ask where the only places are that will do: there is nothing to choose, but room may be promised there."""
        eligible = tuple(turn.capacities.values())
        turn.kept.update(dict.fromkeys(turn.kept, 0) | dict(split_strictly(turn.demand, eligible, turn.home)))
        self._book.withdraw_surplus(turn.group, turn.kept)

    def _step_back(self, turn: MatchTurn, weighed: Sequence[Weighed]) -> None:
        """What has no promise is asked for nowhere where others go first."""
        group, deaf = turn.group, turn.group.deaf
        for each in weighed:
            name = each.subcluster
            is_heard = not turn.starved(name) or not each.room
            deaf[name] = 0 if is_heard else deaf[name] + bool(turn.kept[name])
            turn.before[name] = self._launches.before(name, turn.demand.key)
            if turn.before[name] and turn.waiting(name):
                turn.kept[name] -= turn.waiting(name)
                group.forgiven[name] = turn.demand.starved.get(name, 0)

    def _promise_what_waits(self, turn: MatchTurn) -> None:
        """What waits in a queue is promised where it waits, once there is room."""
        for name in turn.kept:
            waiting = 0 if name in turn.starving else turn.waiting(name)
            if waiting:
                count = min(waiting, self._room(turn, name))
                self._book.propose(turn, name, count, stands=True)

    def _move(self, turn: MatchTurn) -> None:
        """Ask elsewhere for what starves, or waits where nothing is free; what is promised there is cut here next."""
        movable = -turn.group.awaited()
        impatient_after = 0 if self._launches.is_ordered else _IMPATIENT_AFTER
        for name in turn.kept:
            if name in turn.starving:
                movable += turn.kept[name]
            elif turn.starved(name) >= impatient_after:
                movable += max(0, turn.waiting(name) - turn.local[name])
        self._spread(turn, movable)

    def _cut(self, turn: MatchTurn) -> None:
        """Ask for no more than is wanted: what starves goes first, then what waits, then what has the least room."""
        group, kept = turn.group, turn.kept
        surplus = sum(kept.values()) - turn.demand.total
        if surplus <= 0:
            return
        for name in sorted(kept, key=lambda name: name not in turn.starving):
            taken = min(surplus, kept[name] if name in turn.starving else turn.waiting(name))
            kept[name] -= taken
            surplus -= taken
        for name in sorted(kept, key=lambda name: self._room(turn, name)):
            taken = min(surplus, kept[name])
            kept[name] -= taken
            surplus -= taken
        self._book.withdraw_surplus(group, kept)

    def _launch(self, turn: MatchTurn) -> None:
        """Ask for more: first where the named hosts are, then wherever there is room."""
        for name, named in turn.local.items():
            count = min(turn.missing(), max(0, named - turn.kept[name]))
            if count and name not in turn.starving:
                self._book.propose(turn, name, min(count, self._room(turn, name)))
            if count and name not in turn.starving and not turn.before.get(name):
                turn.kept[name] += min(turn.missing(), max(0, named - turn.kept[name] - self._awaited(turn, name)))
        self._spread(turn, turn.missing())

    def _spread(self, turn: MatchTurn, count: int) -> None:
        """Propose so many by room and weight; what is rejected is matched again on what the rejection told."""
        for _ in range(_ROUNDS):
            if count <= 0:
                return
            room = {name: self._room(turn, name) for name in turn.kept if name not in turn.starving}
            if not any(room.values()):
                return
            shares = shares_of(count, room, lambda name: turn.capacities[name].weight)
            count -= sum(self._book.propose(turn, name, share) for name, share in shares.items())

    def _wait(self, turn: MatchTurn) -> None:
        """What nobody promised room for waits where it would without Heddle, but for where others go first."""
        missing = turn.missing()
        capacities = [room for name, room in turn.capacities.items() if not turn.before.get(name)]
        if missing <= 0 or not capacities:
            return
        sizes = sizes_of(capacities, turn.demand)
        left = {name: max(0, size - turn.kept[name]) for name, size in sizes.items()}
        for name, share in shares_of(missing, left, lambda name: turn.capacities[name].weight).items():
            turn.kept[name] += share
        largest = max(sizes, key=lambda name: sizes[name])
        turn.kept[largest] += max(0, turn.missing())

    def _room(self, turn: MatchTurn, name: SubClusterId) -> int:
        return self._launches.room(name, turn.demand.key, turn.places)

    def _awaited(self, turn: MatchTurn, name: SubClusterId) -> int:
        launches = turn.group.launches
        return sum(each.count for each in launches if each.subcluster == name and not each.is_told)

    # ------------------------------------------------------------------ for people

    def _decide(
        self,
        demand: Demand,
        group: LaunchGroup,
        weighed: tuple[Weighed, ...],
        asked: Mapping[SubClusterId, int],
        *,
        reason: str = "",
        withheld: int = 0,
        behind: tuple[str, ...] = (),
    ) -> None:
        key = demand.key
        self.decided += 1
        self._decisions.pop(key, None)
        self._decisions[key] = AskDecision(
            key=key,
            wanted=demand.total,
            asked=asked,
            promised={each.subcluster: count for each in weighed if (count := group.promised(each.subcluster))},
            by="capacity" if reason else "heddle",
            reason=reason,
            candidates=weighed,
            verdicts=tuple(group.verdicts),
            repairs=group.repairs,
            withheld=max(0, withheld),
            behind=behind,
            estimate=self._launches.estimate(),
        )
        while len(self._decisions) > _MOST_DECISIONS:
            del self._decisions[next(iter(self._decisions))]
