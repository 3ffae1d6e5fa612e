"""Asks matched with room, and each match verified by who knows the sub-cluster best.

    match on the view ─ propose ─ accepted ─ asked for there ─ granted
           ▲               └──── rejected: the view is corrected ──┐     not in time: withdrawn
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
from shim.domain.ids import SubClusterId
from shim.domain.launches import LaunchVerdict, Waiting
from shim.relay.launch_groups import AskDecision, Launch, LaunchGroup, Weighed
from shim.relay.match_turn import Counts, Launches, MatchSettings, MatchTurn
from shim.relay.splitter import (
    CapacitySplitter,
    Demand,
    Room,
    may_have,
    named_there,
    shares_of,
    sizes_of,
    split_strictly,
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
        repairs: Promises that were not kept in time; `fallbacks` likewise counts splits that the other one made.
    """

    def __init__(self, launches: Launches, settings: MatchSettings | None = None) -> None:
        self._launches = launches
        self._settings = settings or MatchSettings()
        self._fallback = CapacitySplitter(self._settings.patience)
        self._groups: dict[AskKey, LaunchGroup] = {}
        self._decisions: dict[AskKey, AskDecision] = {}
        self.repairs = 0
        self.fallbacks = 0

    @property
    def decisions(self) -> Sequence[AskDecision]:
        """The newest decision on each of the newest keys."""
        return tuple(self._decisions.values())

    # ------------------------------------------------------------------ what the ledger tells

    def split(self, demand: Demand, rooms: Sequence[Room]) -> Mapping[SubClusterId, int]:
        """See `AskSplitter`."""
        home = next(room.subcluster for room in rooms if room.is_home)
        eligible = {room.subcluster: room for room in rooms if may_have(room, demand)}
        group = self._groups.setdefault(demand.key, LaunchGroup())
        why_not = self._why_not(demand, eligible)
        if why_not:
            asked = dict(self._fallback.split(demand, rooms))
            self._launches.wait(demand.key, Waiting())
            self._withdraw_surplus(group, asked)
            self._decide(demand, group, self._weigh(demand, eligible), asked, reason=why_not)
            return asked
        turn = self._begin(demand, group, eligible, home)
        if demand.is_strict:
            self._stay(turn)
        if turn.is_settled:  # most calls: nothing is looked at, nothing decided
            self._line_up(turn)
            return {subcluster: count for subcluster, count in turn.kept.items() if count}
        self._take_back(turn)
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

    def _weigh(self, demand: Demand, eligible: Mapping[SubClusterId, Room]) -> tuple[Weighed, ...]:
        places = demand.allowed if demand.is_strict else ()
        return tuple(
            Weighed(name, self._launches.room(name, demand.key, places), room.age_s) for name, room in eligible.items()
        )

    def granted(self, key: AskKey, subcluster: SubClusterId) -> None:
        """See `AskSplitter`: the oldest promise there is honoured."""
        self._launches.granted()
        group = self._groups.get(key)
        if group is not None:
            group.hears(subcluster)
        found = None if group is None else next((each for each in group.at(subcluster) if each.count), None)
        if group is not None and found is not None:
            found.count -= 1
            found.honoured += 1
            self._tell(found)
            group.tidy()

    def drop(self, key: AskKey) -> None:
        """See `AskSplitter`."""
        group = self._groups.pop(key, None)
        if group is not None:
            self._launches.wait(key, Waiting())
            for launch in group.launches:
                self._withdraw(launch, launch.count)

    def clear(self) -> None:
        """See `AskSplitter`."""
        for key in tuple(self._groups):
            self.drop(key)
        self._launches.leave()

    # ------------------------------------------------------------------ what Local Masters tell

    def judge(self, verdict: LaunchVerdict) -> bool:
        """Take in the verdict on a proposal; return whether the asks are to be split again."""
        for group in self._groups.values():
            for launch in group.launches:
                if launch.is_pending and (launch.subcluster, launch.number) == (verdict.subcluster, verdict.number):
                    group.take(launch, verdict)
                    group.tidy()
                    return True
        return False

    # ------------------------------------------------------------------ the steps of a split

    def _why_not(self, demand: Demand, eligible: Mapping[SubClusterId, Room]) -> str:
        """Why these asks are not matched; empty if they are."""
        if not eligible:
            return "no sub-cluster can have it: the home says so in its own words"
        if demand.is_strict and not demand.allowed:
            return "only the named places will do, and none is named"
        if demand.key.is_opportunistic:
            return "such containers queue at nodes"
        old = [room for room in eligible.values() if room.age_s > self._settings.oldest_s]
        if old:
            self.fallbacks += 1
            return "the view is too old: " + ", ".join(f"{each.subcluster} {each.age_s:.1f} s" for each in old)
        return ""

    def _begin(
        self, demand: Demand, group: LaunchGroup, eligible: Mapping[SubClusterId, Room], home: SubClusterId
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
        self._withdraw_surplus(group, kept)
        starving = {name for name in kept if group.starved(name, demand) >= self._settings.patience}
        local = {name: named_there(room, demand) for name, room in eligible.items()}
        return MatchTurn(demand, group, eligible, home, kept, frozenset(starving), local)

    def _withdraw_surplus(self, group: LaunchGroup, asked: Mapping[SubClusterId, int]) -> None:
        """Launches that are not asked for any more, the newest first."""
        for name in {launch.subcluster for launch in group.launches}:
            surplus = group.matched(name) - asked.get(name, 0)
            for launch in reversed(group.at(name)):
                taken = min(launch.count, max(0, surplus))
                surplus -= taken
                self._withdraw(launch, taken)
        group.tidy()

    def _take_back(self, turn: MatchTurn) -> None:
        """What was promised and not granted in time is promised no longer; it goes on waiting, or elsewhere."""
        for name in turn.starving:
            for launch in turn.group.at(name):
                if not launch.is_pending:
                    turn.group.repairs += launch.count
                    turn.group.deaf[name] = self._settings.patience
                    self.repairs += launch.count
                    self._withdraw(launch, launch.count)
        turn.group.tidy()

    def _line_up(self, turn: MatchTurn) -> None:
        """Say what has no promise, and where it could be had: not where nothing is granted though there is room."""
        if not self._launches.is_ordered:
            return
        demand, deaf = turn.demand, turn.group.deaf
        hears = frozenset(
            name
            for name, room in turn.rooms.items()
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
        eligible = tuple(turn.rooms.values())
        turn.kept.update(dict.fromkeys(turn.kept, 0) | dict(split_strictly(turn.demand, eligible, turn.home)))
        self._withdraw_surplus(turn.group, turn.kept)

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
                self._propose(turn, name, count, stands=True)

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
        self._withdraw_surplus(group, kept)

    def _launch(self, turn: MatchTurn) -> None:
        """Ask for more: first where the named hosts are, then wherever there is room."""
        for name, named in turn.local.items():
            count = min(turn.missing(), max(0, named - turn.kept[name]))
            if count and name not in turn.starving:
                self._propose(turn, name, min(count, self._room(turn, name)))
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
            shares = shares_of(count, room, lambda name: turn.rooms[name].weight)
            count -= sum(self._propose(turn, name, share) for name, share in shares.items())

    def _wait(self, turn: MatchTurn) -> None:
        """What nobody promised room for waits where it would without Heddle, but for where others go first."""
        missing = turn.missing()
        rooms = [room for name, room in turn.rooms.items() if not turn.before.get(name)]
        if missing <= 0 or not rooms:
            return
        sizes = sizes_of(rooms, turn.demand)
        left = {name: max(0, size - turn.kept[name]) for name, size in sizes.items()}
        for name, share in shares_of(missing, left, lambda name: turn.rooms[name].weight).items():
            turn.kept[name] += share
        largest = max(sizes, key=lambda name: sizes[name])
        turn.kept[largest] += max(0, turn.missing())

    # ------------------------------------------------------------------ proposals

    def _room(self, turn: MatchTurn, name: SubClusterId) -> int:
        return self._launches.room(name, turn.demand.key, turn.places)

    def _awaited(self, turn: MatchTurn, name: SubClusterId) -> int:
        launches = turn.group.launches
        return sum(each.count for each in launches if each.subcluster == name and not each.is_told)

    def _propose(self, turn: MatchTurn, name: SubClusterId, count: int, *, stands: bool = False) -> int:
        """Propose; return how many containers are promised, or may yet be.

        Args:
            turn: Whose.
            name: Where.
            count: How many.
            stands: Whether these are asked for there already.
        """
        if count <= 0:
            return 0
        number, verdict = self._launches.propose(name, turn.demand.key, count, turn.places)
        is_told = stands or verdict is not None or name == turn.home
        launch = Launch(number, name, count, count, is_pending=verdict is None, is_told=False, stands=stands)
        if verdict is not None:
            turn.group.take(launch, verdict)
        launch.is_told = is_told
        if launch.count:
            turn.group.launches.append(launch)
        if is_told and not stands:
            turn.kept[name] += launch.count
        return launch.count

    def _withdraw(self, launch: Launch, count: int) -> None:
        if count:
            launch.count -= count
            launch.withdrawn += count
            self._tell(launch)

    def _tell(self, launch: Launch) -> None:
        self._launches.tell(launch.subcluster, launch.number, honoured=launch.honoured, withdrawn=launch.withdrawn)

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
        )
        while len(self._decisions) > _MOST_DECISIONS:
            del self._decisions[next(iter(self._decisions))]
