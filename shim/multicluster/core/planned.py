"""Carries out what the cycles of a queue plan for one attempt.

The cycle decides over everything that waits in the queue; this splitter turns its plans into what each session is asked
for, and its own state into the rows of the next cycle. It is synchronous and reaches nothing: proposals, withdrawals
and rows are effects (`events.py`), plans and verdicts are events.

What no plan allocates waits in the queues of schedulers where the plan allows it, in proportion to their sizes;
elsewhere it waits here. What starves where it was allocated is given up there, and is the next cycle's to place.

What it keeps for one ask key is in its `AskGroup` (`ask_group.py`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from shim.domain.allocations import AskKey, PendingRequest, RequestPlan, TaggedSpot
from shim.domain.ids import ContainerId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.errors import InvariantViolationError
from shim.multicluster.core.ask_group import AskGroup, TentativeAllocation
from shim.multicluster.core.events import (
    AllocationsExpired,
    AllocationsVerified,
    ClusterCapacity,
    ContainerBegan,
    ContainerEnded,
    ContainerGranted,
    ExpiredAllocation,
    LedgerEffect,
    LeftQueue,
    PlanEvent,
    Planned,
    Propose,
    PublishRequests,
    SettleAllocation,
)
from shim.multicluster.core.splitter import (
    AskDecision,
    CapacitySplitter,
    SplitSettings,
    Weighed,
    data_in,
    may_have,
    most_by_nodes,
    places_of,
    queue_by_tags,
    shares_of,
    sizes_of,
    split_constrained,
    split_strictly,
    why_too_old,
    why_unmatched,
)


def _note_eligible(group: AskGroup, request: PendingRequest, capacities: Sequence[ClusterCapacity]) -> None:
    """Note who can be asked: with a placement, who can judge the constraint and has not rejected it."""
    able = [room for room in capacities if may_have(room, request)]
    group.request, group.is_split, group.most_at = request, True, {}
    if request.key.placement is not None:
        judges = {room.subcluster for room in places_of(request, capacities)} - request.rejected
        able = [room for room in able if room.subcluster in judges and not room.is_trial]
        held = {} if request.tags is None else request.tags.held
        most = {room.subcluster: most_by_nodes(room, request, held) for room in able}
        group.most_at = {name: max(0, each) for name, each in most.items() if each is not None}
    group.eligible = {room.subcluster: room for room in able}


def queue_at_each(group: AskGroup) -> None:
    """Queue all that has no tentative allocation at each scheduler that the newest plan has drawn."""
    if group.missing > 0:
        drawn = (room.subcluster for room in _queueable(group))
        group.queued.update(dict.fromkeys(drawn, group.missing))


def _queueable(group: AskGroup) -> list[ClusterCapacity]:
    """Those where the newest plan lets something queue, and that may be asked for more than the one that tries."""
    return [room for name, room in group.eligible.items() if name in group.may_queue and not room.is_trial]


def queue_rest(group: AskGroup, home: SubClusterId) -> None:
    """Queue the rest, which has no tentative allocation, at schedulers where the newest plan allows it."""
    request, missing, capacities = group.request, group.missing, _queueable(group)
    if missing <= 0 or not capacities:
        return
    if request.is_strict:
        bounds = split_strictly(request, tuple(group.eligible.values()), home)
        bounds = {room.subcluster: bounds.get(room.subcluster, 0) for room in capacities}
    elif request.key.placement is not None:
        group.queued.update(queue_by_tags(request, capacities, group.most_at, group.asked(), missing))
        group.tidy()
        return
    else:
        bounds = sizes_of(capacities, request)
    asked, weights = group.asked(), {room.subcluster: room.weight for room in capacities}
    left = {name: max(0, bound - asked[name]) for name, bound in bounds.items()}
    left |= {name: min(left[name], most) for name, most in group.may_still_queue().items() if name in left}
    for name, share in shares_of(missing, left, lambda name: weights[name]).items():
        group.queued[name] += share
        missing -= share
    unbounded = {name: bound for name, bound in bounds.items() if name not in group.at_most}
    if unbounded and not request.is_strict:
        group.queued[max(unbounded, key=lambda name: unbounded[name])] += missing
    group.tidy()


def decision_on(group: AskGroup, latest: RequestPlan | None) -> AskDecision:
    """Tell people of a split; `latest` is the newest plan, if it is another than the group's."""
    plan = latest or group.plan or RequestPlan(group.key)
    missing = max(0, group.request.wanted - group.committed())
    return AskDecision(
        key=group.key,
        wanted=group.request.wanted,
        asked=dict(group.asked()),
        promised=dict(group.verified()),
        by="capacity" if group.reason else "heddle",
        reason=group.reason or plan.reason,
        gang="" if group.request.gang is None else group.request.gang.text,
        candidates=tuple(
            Weighed(name, plan.capacity.get(name, 0), room.age_s) for name, room in group.eligible.items()
        ),
        verdicts=tuple(group.verdicts),
        repairs=group.repairs,
        withheld=missing,
        behind=plan.behind,
        estimate=plan.estimate,
        rule="" if group.reason else plan.rule,
    )


_MOST_DECISIONS = 32
_ANYWHERE: Mapping[str, int] = MappingProxyType({})


class PlannedSplitter:
    """Implements `AskSplitter` for one attempt.

    Args:
        settings: How long a request waits, and how old a view may be.

    Attributes:
        fallbacks: Splits by capacity alone, as a view was too old.
        decided: Plans that were taken in.
        repairs: Containers whose tentative allocation was not honoured in time.
    """

    takes_constraints = True

    def __init__(self, settings: SplitSettings) -> None:
        self._settings = settings
        self._fallback = CapacitySplitter(self._settings.move_after_beats)
        self.groups: dict[AskKey, AskGroup] = {}
        self._changed: dict[AskKey, None] = {}
        self._dropped: dict[AskKey, None] = {}
        self._effects: list[LedgerEffect] = []
        self._numbers = 0
        self.fallbacks = 0
        self.decided = 0
        self.repairs = 0

    # ------------------------------------------------------------------ what the ledger tells

    @property
    def awaits_plan(self) -> bool:
        return any(group.is_new for group in self.groups.values())

    def drain(self) -> Sequence[LedgerEffect]:
        effects, self._effects = self._effects, []
        rows = tuple(row for key in self._changed if (row := self.groups[key].published) is not None)
        if rows or self._dropped:
            # Before the first proposal: a verdict that is there at once publishes a newer row. What follows a proposal
            # stays behind it: the same call may withdraw a part of what it has proposed.
            proposals = (at for at, effect in enumerate(effects) if isinstance(effect, Propose))
            published = PublishRequests(rows, tuple(self._dropped), is_urgent=self.awaits_plan)
            effects.insert(next(proposals, len(effects)), published)
        self._changed.clear()
        self._dropped.clear()
        return effects

    def split(self, request: PendingRequest, capacities: Sequence[ClusterCapacity]) -> Mapping[SubClusterId, int]:
        """Split a request over the sub-clusters by the newest plan."""
        home = next(room.subcluster for room in capacities if room.is_home)
        group = self.groups.setdefault(request.key, AskGroup(request.key))
        _note_eligible(group, request, capacities)
        if request.is_withheld:
            return self._withhold(group)
        group.reason = self._why_not(group)
        if group.reason:
            waits = request.gang is not None and not why_unmatched(request, group.eligible)
            return dict(group.asked()) if waits else self._split_by_capacity(group, capacities)
        group.planned = min(group.planned, request.wanted)
        self._leave_closed(group)
        avoided = self._give_up_starving(group)
        if group.may_have_spares:
            group.queued.clear()
            self._trim(group)
            queue_at_each(group)
        else:
            self._trim(group)
            queue_rest(group, home)
        self._publish(group, avoided)
        return dict(group.asked())

    def pins(self, key: AskKey) -> Mapping[SubClusterId, Mapping[str, int]]:
        group = self.groups.get(key)
        return {} if group is None else group.planned_hosts()

    def has_spares(self, key: AskKey) -> bool:
        group = self.groups.get(key)
        return group is not None and group.may_have_spares

    def granted(self, key: AskKey, subcluster: SubClusterId, host: str = "") -> None:
        """See `AskSplitter`: the oldest tentative allocation for that host is honoured, else the oldest there."""
        group = self.groups.get(key)
        found = None if group is None else group.granted(subcluster, host)
        self._effects.append(ContainerGranted(subcluster, key, is_unplanned=found is None))
        if found is not None:
            self._settle(found)

    def drop(self, key: AskKey) -> None:
        group = self.groups.get(key)
        if group is None or not group.is_split:
            return
        for each in group.allocations:
            self._withdraw(each, each.count)
        self._unpublish(group)
        group.forget_plan()

    def begin_anew(self) -> None:
        for key in tuple(self.groups):
            self.drop(key)

    def clear(self) -> None:
        self.begin_anew()
        self._effects.append(LeftQueue())

    def begun(
        self,
        container: ContainerId,
        since_s: float | None,
        resource: ResourceVector | None = None,
        spot: TaggedSpot | None = None,
    ) -> None:
        self._effects.append(ContainerBegan(container, since_s, resource, spot))

    def ended(self, container: ContainerId, *, is_whole: bool) -> None:
        self._effects.append(ContainerEnded(container, is_whole))

    # ------------------------------------------------------------------ what cycles and Local Masters tell

    def take(self, event: PlanEvent) -> None:
        """Take in a plan, verdicts, or that allocations stand no more. The ledger splits anew after it."""
        match event:
            case Planned(plans):
                for plan in plans:
                    self._take_plan(plan)
            case AllocationsVerified(verdicts):
                for verdict in verdicts:
                    any(group.hear(verdict) for group in self.groups.values())
            case AllocationsExpired(expired):
                for each in expired:
                    self._expire(each)
            case _:
                raise InvariantViolationError(f"no splitter knows what {event} means")

    def _take_plan(self, plan: RequestPlan) -> None:
        """Propose what starts. A plan that was made before the newest grants starts no more than is still wanted."""
        group = self.groups.get(plan.key)
        if group is None or not group.is_split or group.reason or group.request.is_withheld:
            return
        self.decided += 1
        group.plan, group.planned = plan, group.request.wanted
        group.may_queue, group.at_most = plan.may_queue, dict(plan.at_most)
        left = group.request.wanted - sum(group.tentative().values())
        for name, count in plan.starts.items():
            starts = min(count, left, self._most_at(name, group))
            left -= starts
            hosts = {} if group.request.is_strict else (plan.hosts or {}).get(name, {})
            pinned = min(starts, sum(hosts.values()))
            self._propose(group, name, pinned, hosts=hosts)
            moved = min(starts - pinned, group.queued[name])  # it stays asked for there, and is allocated now
            group.queued[name] -= moved
            self._propose(group, name, starts - pinned, was_queued=moved)
        group.keep_to(plan)

    def _most_at(self, name: SubClusterId, group: AskGroup) -> int:
        """Containers that may start at a sub-cluster: one alone, where it is the first to try."""
        room = group.eligible.get(name)
        if room is None or not room.is_trial:
            return 0 if room is None else group.request.wanted
        return int(not any(name in each.tentative() or each.queued[name] for each in self.groups.values()))

    def _propose(
        self,
        group: AskGroup,
        name: SubClusterId,
        count: int,
        *,
        was_queued: int = 0,
        hosts: Mapping[str, int] = _ANYWHERE,
    ) -> None:
        """Propose what is asked for by now, and what is not, each by itself: the latter may have to await its verdict.

        What is meant for the home goes along with the call that is under way, as the next one may be a second away.
        """
        is_home = name in group.eligible and group.eligible[name].is_home
        for part, is_asked, queued in ((was_queued, True, was_queued), (count - was_queued, is_home, 0)):
            if part > 0:
                self._numbers += 1
                group.allocations.append(
                    TentativeAllocation(
                        self._numbers, name, part, part, was_queued=queued, is_asked=is_asked, hosts=Counter(hosts)
                    )
                )
                places = group.request.places if group.request.is_strict else tuple(sorted(hosts))
                self._effects.append(Propose(name, self._numbers, group.key, part, places))

    def _expire(self, expired: ExpiredAllocation) -> None:
        for group in self.groups.values():
            for each in group.allocations:
                if (each.subcluster, each.number) == (expired.subcluster, expired.number) and not each.is_pending:
                    self._break(group, each, min(each.count, expired.count))
            group.tidy()

    # ------------------------------------------------------------------ the steps of a split

    def _why_not(self, group: AskGroup) -> str:
        """Say why the queue's cycle does not plan this request; empty if it does."""
        if said := why_unmatched(group.request, group.eligible):
            return said
        said = why_too_old(group.eligible, self._settings.oldest_view_s)
        self.fallbacks += bool(said)
        return said

    def _split_by_capacity(self, group: AskGroup, capacities: Sequence[ClusterCapacity]) -> Mapping[SubClusterId, int]:
        if group.request.key.placement is not None:
            asked = dict(split_constrained(group.request, capacities, self._settings.move_after_beats))
        else:
            asked = dict(self._fallback.split(group.request, capacities))
        for each in reversed(group.allocations):
            surplus = max(0, group.tentative()[each.subcluster] - asked.get(each.subcluster, 0))
            self._withdraw(each, min(each.count, surplus))
        group.ask_for(asked, group.request.wanted)
        self._unpublish(group)
        return asked

    def _withhold(self, group: AskGroup) -> Mapping[SubClusterId, int]:
        """Ask for nothing of a gang now: the queue's cycle gives to others what was kept for it."""
        for each in group.allocations:
            self._withdraw(each, each.count)
        group.tidy()
        group.begin_anew()
        self._unpublish(group)
        return {}

    def _leave_closed(self, group: AskGroup) -> None:
        for each in group.allocations:
            if each.subcluster not in group.eligible:
                self._withdraw(each, each.count)
        group.queued = Counter({name: count for name, count in group.queued.items() if name in group.eligible})
        group.tidy()

    def _give_up_starving(self, group: AskGroup) -> frozenset[SubClusterId]:
        """Tentative allocations that are not honoured in time; the sub-clusters where nothing new is to start."""
        move_after_beats = self._settings.move_after_beats
        starving = group.count_silence(move_after_beats)
        for each in group.allocations:
            if each.subcluster in starving and not each.is_pending:
                group.unresponsive[each.subcluster] = move_after_beats
                self._break(group, each, each.count, stays_queued=True)
        group.unresponsive = +group.unresponsive
        group.tidy()
        return starving

    def _trim(self, group: AskGroup) -> None:
        """Ask for no more than is wanted: what is queued goes first, then what has the least capacity."""
        capacity = group.plan.capacity if group.plan else {}
        surplus = group.trim_queued(group.committed() - group.request.wanted)
        for is_asked in (False, True):
            for name in sorted(group.eligible, key=lambda name: capacity.get(name, 0)):
                for each in group.newest(name, is_asked=is_asked):
                    taken = max(0, min(surplus, each.count))
                    self._withdraw(each, taken)
                    surplus -= taken
        group.tidy()

    # ------------------------------------------------------------------ books

    def _publish(self, group: AskGroup, avoided: frozenset[SubClusterId]) -> None:
        rooms = tuple(group.eligible.values())
        local = dict(data_in(rooms, group.request))
        if group.request.key.placement is not None:
            local |= {room.subcluster: group.request.wanted for room in rooms if room.is_home}
        row = group.row(local, avoided, self._settings.move_after_beats)
        if row != group.published:
            group.published = row
            self._changed[group.key] = None
            self._dropped.pop(group.key, None)

    def _unpublish(self, group: AskGroup) -> None:
        if group.published is not None:
            group.published = None
            self._dropped[group.key] = None

    def _break(
        self, group: AskGroup, allocation: TentativeAllocation, count: int, *, stays_queued: bool = False
    ) -> None:
        """An allocation was not honoured; the scheduler may still be asked, as nobody knows better."""
        group.repairs += count
        self.repairs += count
        if stays_queued and allocation.subcluster in group.may_queue:
            group.queued[allocation.subcluster] += count
        self._withdraw(allocation, count)

    def _withdraw(self, allocation: TentativeAllocation, count: int) -> None:
        if count > 0:
            allocation.count -= count
            allocation.withdrawn += count
            self._settle(allocation)

    def _settle(self, allocation: TentativeAllocation) -> None:
        self._effects.append(
            SettleAllocation(allocation.subcluster, allocation.number, allocation.honoured, allocation.withdrawn)
        )

    def decisions(self, latest: Mapping[AskKey, RequestPlan]) -> Sequence[AskDecision]:
        """Return the decisions behind the newest split of each of the newest keys, for people.

        Args:
            latest: The newest plan for each key, also where it changed nothing.
        """
        groups = [group for group in self.groups.values() if group.is_split][-_MOST_DECISIONS:]
        return tuple(decision_on(group, latest.get(group.key)) for group in groups)
