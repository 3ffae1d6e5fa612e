"""Plans of one queue by a policy: what a cycle grants of what waits, and where the rest may wait.

A planner remembers what its policy handed on from cycle to cycle, so that two of them may look at the same tables: one
whose plans are carried out, and one in its shadow.

The first in line at each sub-cluster, among those that wait there: only they may wait in its scheduler's queue.

Look ahead of policies that place by themselves: who is asked for before there is room.

Between the end of a container and the next cycle's placement lie seconds in which a place of short tasks stays free. So
schedulers are asked for those next in the policy's own rank as well, for as many containers as come free meanwhile.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeVar

from shim.domain.allocations import PendingRequest, RequestPlan
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.domain.launches import WorkEstimate
from shim.domain.placement_rules import NO_RULES, PlacementRules
from shim.domain.resources import ResourceVector
from shim.scheduling.capacity import Capacity
from shim.scheduling.cycle import CycleState, entitle, order, run_cycle
from shim.scheduling.global_master.waiting_table import WaitingTable
from shim.scheduling.job_outlines import JobOutline, OutlineOf, known_graphs, outlines_of
from shim.scheduling.knowledge import NOTHING_KNOWN, Knowledge
from shim.scheduling.node_index import SharedNodes
from shim.scheduling.placements import PolicyRandom
from shim.scheduling.plan import MadeBy, Plan
from shim.scheduling.policies.orders import FIFO
from shim.scheduling.policy import Fact, Policy, Problem
from shim.scheduling.queue_policies import queue_policy
from shim.scheduling.queue_rows import QueueRows, RowKey, kept_near
from shim.scheduling.sampled_clusters import SampledClusters
from shim.scheduling.snapshot import NOTHING_RUNS, Column, Scope, Snapshot
from shim.scheduling.solving import StatedProblems
from shim.scheduling.tag_constraints import is_service, service_facts, services_among

_MOST_NAMED = 16


_Place = tuple[SubClusterId, str]


class Spot(NamedTuple):
    """Nodes of one label in some sub-clusters: where a request waits, or may have its containers."""

    subclusters: frozenset[SubClusterId]
    label: str


@dataclass(slots=True)
class ComingFree:
    """Containers that come free at each sub-cluster soon, and those who want them in their order.

    Attributes:
        soon: Containers that come free at each sub-cluster before whoever is next could be told; none where it has no
            entry.
        before: Containers that those in line so far want, by sub-cluster and label of nodes.
    """

    soon: Mapping[SubClusterId, float] = field(default_factory=dict)
    before: dict[_Place, float] = field(default_factory=dict)

    @property
    def is_any(self) -> bool:
        return any(int(count) for count in self.soon.values())

    def is_left(self, place: _Place) -> bool:
        return self.before.get(place, 0.0) < int(self.soon.get(place[0], 0.0))

    def join(self, place: _Place, count: float) -> None:
        """Put whoever wants so many containers at the end of the line."""
        self.before[place] = self.before.get(place, 0.0) + count

    def take(self, spot: Spot, count: int) -> Mapping[SubClusterId, int]:
        """Put a request at the end of the line, and give it what is left of what comes free, up to so many in all."""
        found: dict[SubClusterId, int] = {}
        left = {name: self.left((name, spot.label)) for name in spot.subclusters}
        for name in sorted(left, key=lambda name: (-left[name], name)):
            taken = min(left[name], count - sum(found.values()))
            if taken > 0:
                found[name] = taken
                self.join((name, spot.label), taken)
        return found

    def left(self, place: _Place) -> int:
        """Count what comes free there beyond what those in line want."""
        return int(self.soon.get(place[0], 0.0)) - math.ceil(self.before.get(place, 0.0))


@dataclass(slots=True)
class FirstInLine:
    """The attempts that go first at each sub-cluster, on nodes of each label, among those that wait there.

    Where containers come free faster than news of it, the first alone would leave them idle: the next ones may wait in
    the scheduler's queue, too, as long as those before them want fewer containers than come free meanwhile.

    Nobody asks a scheduler for more than comes free soon: an ask that waits there stands before what comes later, in a
    scheduler that serves by arrival even before ApplicationMasters that could start. The first in line asks for one.
    There nobody waits that arrived before somebody who goes first here: that one would never have its turn.

    Attributes:
        by_arrival: Sub-clusters that serve the queue's applications in the order of their ids.
        waiting: Attempts in their order, with where each waits for something.
    """

    soon: Mapping[SubClusterId, float] = field(default_factory=dict)
    by_arrival: Collection[SubClusterId] = ()
    waiting: list[tuple[ApplicationAttemptId, Spot]] = field(default_factory=list)
    _line: ComingFree = field(init=False)
    _newest: dict[_Place, ApplicationId] = field(default_factory=dict)
    _known: set[ApplicationAttemptId] = field(default_factory=set)
    _firsts: dict[ApplicationAttemptId, set[_Place]] = field(default_factory=dict)
    _full: set[Spot] = field(default_factory=set)
    _open: dict[Spot, frozenset[SubClusterId]] = field(default_factory=dict)
    _names: dict[Spot, tuple[str, ...]] = field(default_factory=dict)
    _most: dict[tuple[ApplicationAttemptId, _Place], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._line = ComingFree(self.soon)

    def note(self, attempt: ApplicationAttemptId, spot: Spot, count: int = 1) -> None:
        """Take in where an attempt waits for how many containers; attempts come in their order."""
        self.waiting.append((attempt, spot))
        self._known.add(attempt)
        if spot in self._full:  # somebody is first at each of these, and wants all that comes free
            return
        mine, each = self._firsts.get(attempt, set()), max(1, count) / max(1, len(spot.subclusters))
        for name in spot.subclusters:
            place = name, spot.label
            if self._is_open(place) and not self._would_overtake(attempt, place):
                self._firsts.setdefault(attempt, mine).add(place)
                self._most[attempt, place] = max(1, self._line.left(place))
            self._line.join(place, each)
            self._newest[place] = max(self._newest.get(place, attempt.application), attempt.application)
        if not any(self._is_open((name, spot.label)) for name in spot.subclusters):
            self._full.add(spot)

    def __contains__(self, attempt: ApplicationAttemptId) -> bool:
        """True if an attempt is in line anywhere."""
        return attempt in self._known

    def _is_open(self, place: _Place) -> bool:
        """True if nobody waits there, or those who do want less than comes free soon."""
        return place not in self._line.before or self._line.is_left(place)

    def _would_overtake(self, attempt: ApplicationAttemptId, place: _Place) -> bool:
        """True if a scheduler would serve an attempt before one that is in line there already."""
        return place[0] in self.by_arrival and attempt.application < self._newest.get(place, attempt.application)

    def may_queue(self, attempt: ApplicationAttemptId, spot: Spot) -> frozenset[SubClusterId]:
        """Name the sub-clusters at which no other goes before an attempt that waits for something there."""
        found = self._open.get(spot)
        if found is None:
            found = self._open[spot] = frozenset(name for name in spot.subclusters if self._is_open((name, spot.label)))
        if self.by_arrival:
            found = frozenset(name for name in found if not self._would_overtake(attempt, (name, spot.label)))
        mine = self._firsts.get(attempt)
        if mine is None:
            return found
        return found | {name for name in spot.subclusters if (name, spot.label) in mine}

    def at_most(self, attempt: ApplicationAttemptId, spot: Spot) -> Mapping[SubClusterId, int]:
        """Count the containers that an attempt may ask each of those schedulers for before there is room."""
        places = ((name, spot.label) for name in self.may_queue(attempt, spot))
        return {place[0]: self._most.get((attempt, place)) or max(1, self._line.left(place)) for place in places}

    def names(self, attempt: ApplicationAttemptId, spot: Spot) -> tuple[str, ...]:
        names = self._names.get(spot)
        if names is None:
            matching = (
                str(each.application)
                for each, there in self.waiting
                if there.label == spot.label and not there.subclusters.isdisjoint(spot.subclusters)
            )
            names = self._names[spot] = tuple(islice(dict.fromkeys(matching), _MOST_NAMED))
        own = str(attempt.application)
        return names[: names.index(own)] if own in names else names


def spot_of(request: PendingRequest) -> Spot:
    """Nodes that a request may have its containers on."""
    return Spot(request.may_use, request.key.label)


def waits_at(request: PendingRequest, closed: frozenset[SubClusterId] = frozenset()) -> Spot:
    """Nodes where a request goes before later ones: it is allocated something there, or could have what it lacks.

    It lacks nothing that it could have where it is `closed` by its placement constraint.
    """
    promised = frozenset(request.tentative)
    places = (request.may_use - closed) | promised if request.unallocated else promised
    return Spot(places - request.unresponsive if request.unresponsive else places, request.key.label)


class Place(NamedTuple):
    """Place in the line of those that wait.

    Attributes:
        spot: Where a request may have its containers.
        is_kept: Whether it waits on purpose: it stays before those after it, and no scheduler is asked for it.
    """

    spot: Spot
    is_kept: bool


def asked_ahead(
    policy: Policy,
    snapshot: Snapshot,
    state: CycleState,
    plan: Plan,
    coming: ComingFree,
    place_of: Callable[[int], Place | None],
) -> Mapping[int, Mapping[SubClusterId, int]]:
    """Count containers of each request that schedulers are asked for before there is room; by row.

    Args:
        policy: A policy with any placement; nothing is asked for ahead where it has no kernel.
        coming: What comes free; what is asked for is taken from it.
        place_of: Where a request is in line, by its row; None for what no single place that comes free will do for.
    """
    if policy.placement.kernel is None or not coming.is_any:
        return {}
    rows = plan.turns.rows or order(snapshot, policy, entitle(snapshot)).rows
    found: dict[int, dict[SubClusterId, int]] = {}
    for row, count in policy.placement.rank(snapshot, state.memory, rows, plan):
        place = place_of(row)
        if place is None:
            continue
        taken = coming.take(place.spot, count)
        counts = {} if place.is_kept else found.setdefault(row, {})
        for name, more in taken.items():
            counts[name] = counts.get(name, 0) + more
    return {row: counts for row, counts in found.items() if counts}


QueuePlans = Mapping[ApplicationAttemptId, tuple[RequestPlan, ...]]
"""Plans of the requests of each attempt that waits; attempts in the order of the policy."""

_Counts = Mapping[SubClusterId, int]

_IN_A_ROUND = "services are placed together, in rounds"
_NO_NODE_LEFT = "there is no node that its placement constraint leaves for more of it"


class QueuePlanner:
    """Plans what waits in one queue.

    Args:
        attempts: Who waits; brought up to date here, and otherwise not written.
        soon_of: How many containers come free at each sub-cluster before whoever is next could be told, by the time.
        by_arrival: As of `FirstInLine`.
        rules_of: What operators want of places now.

    Attributes:
        again_at_s: When a policy wants another cycle even if nothing changes; None if it does not.
    """

    def __init__(
        self,
        attempts: WaitingTable,
        rows: QueueRows,
        rng: PolicyRandom,
        starvation_s: float = 0.0,
        outline_of: OutlineOf = lambda _: None,
        soon_of: Callable[[float], Mapping[SubClusterId, float]] = lambda _: {},
        by_arrival: Callable[[], Collection[SubClusterId]] = lambda: (),
        rules_of: Callable[[], PlacementRules] = lambda: NO_RULES,
    ) -> None:
        self._rules_of = rules_of
        self._soon_of = soon_of
        self._by_arrival = by_arrival
        self._outline_of = outline_of
        self._starvation_s = starvation_s
        self._attempts = attempts
        self._rows = rows
        self._states = {has_label: CycleState(rng) for has_label in (False, True)}
        self._ahead = FirstInLine()
        self._samples = SampledClusters(rng)
        self._before_room: dict[RowKey, _Counts] = {}
        self._overdue: ApplicationAttemptId | None = None
        self._earliest: dict[ApplicationAttemptId, float] = {}
        self.again_at_s: float | None = None

    def state_problems(self, capacity: Capacity, order: str, at_s: float) -> StatedProblems | None:
        """State what a solver may answer before the next cycle; None where the policy asks none, or has no choice.

        Args:
            order: A policy of `queue_policy`.
        """
        policy = queue_policy(order)
        if policy is None or policy.solver is None:
            return None
        nodes, problems, snapshots = self._rows.nodes(capacity), dict[bool, Problem](), dict[bool, Snapshot]()
        for has_label, snapshot in self._snapshots(nodes, capacity, policy, at_s, self._attempts.in_order(order, at_s)):
            if snapshot.requests.has_gangs and not policy.solves_gangs:
                continue
            state = self._states[has_label]
            if policy.is_solved_apart:  # the cycle that has the answer has its round yet
                state = replace(state, memory=dict(state.memory))
            greedy = run_cycle(snapshot, policy, state)
            problem = policy.solver.prepare(snapshot, greedy)
            if problem is not None:
                problems[has_label], snapshots[has_label] = problem, snapshot
        return StatedProblems.of(order, problems, snapshots, self._rows) if problems else None

    def plan(
        self,
        capacity: Capacity | None,
        order: str,
        at_s: float,
        *,
        only: ApplicationAttemptId | None = None,
        stated: StatedProblems | None = None,
        is_solving: bool = False,
    ) -> QueuePlans:
        """Plan what waits.

        Args:
            capacity: What is free; None where nothing new is to start.
            order: A policy of `queue_policy`; anything else leaves the order to the sub-clusters.
            only: The attempt to plan for, by itself; None for all of them. Who goes before it was last cycle's to say,
                unless that cycle did not know it: what its home does not hear with this call waits for the next one.
            stated: Problems with the answers of solvers; those of another order, or other nodes, are not looked at.
            is_solving: Whether services wait for a solver, where a policy lets the others go on.
        """
        policy = queue_policy(order)
        self._earliest = {}
        if capacity is not None and policy and policy.ordering.reads_shares:
            self._rows.nodes(capacity)
            self._attempts.note_shares(self._rows.total)
        attempts = self._attempts.in_order(order if policy else FIFO.name, at_s)
        if only is None or not self._rows.others_wait(only):
            self._ahead, self._before_room = self._look_ahead(attempts if policy else (), at_s), {}
            self._overdue = next((each for each in attempts[:1] if self._attempts.is_overdue(each)), None)
            if self._overdue is not None and policy and policy.goes_by(Fact.DEADLINES):
                due_s = (self._attempts.jobs.get(Column.DEADLINE_S, self._attempts.row_of(each)) for each in attempts)
                if any(each_s > at_s for each_s in due_s):
                    self._overdue = None  # a scheduler that serves by arrival would give all that comes free to it
        elif policy and policy.placement.kernel and self._rows.others_lack(only):
            capacity = None  # it weighs all that waits: what is new is the next cycle's
        elif policy and only not in self._ahead:
            self._ahead = self._look_ahead(attempts, at_s)
        if only is not None and policy and policy.plans_in_cycles:
            capacity = None
        planned = attempts if only is None else [only]
        first = self._kept_free_for(capacity)
        placing = planned if first is None else [each for each in planned if each == first]
        if policy and policy.placement.samples:
            self._samples.keep(self._rows.by_row().values())
            placing = [each for each in placing if any(request.gang for request in self._rows.of(each))]
        is_apart = policy is not None and policy.is_solved_apart and (is_solving or only is not None)
        left_out = services_among(map(self._rows.with_rows, planned)) if is_apart else frozenset[int]()
        if stated is not None and stated.order != order:
            stated = None
        placed = self._place(capacity, policy or FIFO, at_s, placing, stated, left_out)
        answer = partial(self._answer, policy, first, placed, at_s)
        return {
            attempt: answer(attempt, self._attempts.estimate(attempt, order, at_s) if policy else None)
            for attempt in planned
        }

    def _answer(
        self,
        policy: Policy | None,
        first: ApplicationAttemptId | None,
        placed: "PlacedRows",
        at_s: float,
        attempt: ApplicationAttemptId,
        estimate: WorkEstimate | None,
    ) -> tuple[RequestPlan, ...]:
        """Say of each request of an attempt what starts where, and where the rest may wait."""
        rest = partial(self._rest, policy, first, placed, attempt)
        return tuple(
            replace(
                kept_near(rest(request, row), self._rows.wait_for_data(row, request, at_s)),
                starts=placed.starts.get(row, {}),
                hosts=placed.hosts.get(row, {}) if policy and policy.goes_by(Fact.LOCALITY) else None,
                capacity=placed.capacities.get(row, {}),
                made_by=placed.made_by.get(row, MadeBy.GREEDY).value,
                estimate=estimate,
            )
            for request, row in self._rows.with_rows(attempt)
        )

    def _rest(
        self,
        policy: Policy | None,
        first: ApplicationAttemptId | None,
        placed: "PlacedRows",
        attempt: ApplicationAttemptId,
        request: PendingRequest,
        row: int,
    ) -> RequestPlan:
        """Decide where the rest of a request may wait: at a scheduler if nobody goes first there, else here."""
        rule, reason = policy.name if policy else "", placed.reasons.get(row, "")
        if request.gang:  # a scheduler would grant a part of it
            return RequestPlan(request.key, reason=reason, rule=rule)
        if first is not None and attempt != first:
            told = f"room is kept free for the gang of {first.application}, which others overtook for too long"
            return RequestPlan(request.key, reason=told, rule=rule)
        if policy and policy.placement.kernel:
            return self._kept_back(policy, attempt, request, reason, is_meant=row in placed.on_purpose)
        if policy and policy.placement.samples:
            return self._sampled(policy, attempt, request)
        may_queue = self._ahead.may_queue(attempt, spot_of(request))
        behind = () if may_queue == request.may_use else self._ahead.names(attempt, spot_of(request))
        told = _NO_NODE_LEFT if self._is_closed_by_tags(attempt, request) else ""
        at_most = self._ahead.at_most(attempt, spot_of(request)) if policy else {}
        return RequestPlan(request.key, may_queue=may_queue, at_most=at_most, behind=behind, reason=told, rule=rule)

    def _is_closed_by_tags(self, attempt: ApplicationAttemptId, request: PendingRequest) -> bool:
        """Return whether a request wants more than its placement constraint leaves to any sub-cluster."""
        return request.unallocated > 0 and request.may_use <= self._rows.closed_by_tags(attempt, request)

    def _kept_back(
        self, policy: Policy, attempt: ApplicationAttemptId, request: PendingRequest, reason: str, *, is_meant: bool
    ) -> RequestPlan:
        """Let schedulers be asked for what the policy would start next, as much of it as comes free soon."""
        may_queue = self._may_queue(policy, attempt, request, is_on_purpose=is_meant)
        before_room = self._before_room.get((attempt, request.key), {})
        bounded = {name: count for name, count in before_room.items() if name not in may_queue}
        if attempt == self._overdue:  # with a grant its time begins anew: more would be taken from who goes first
            bounded |= {name: max(1, before_room.get(name, 0)) for name in may_queue - request.avoided}
        told = "" if may_queue == request.may_use else reason or self._waits_for(policy, attempt, request)
        return RequestPlan(
            request.key, may_queue=may_queue.union(bounded), at_most=bounded, reason=told, rule=policy.name
        )

    def _sampled(self, policy: Policy, attempt: ApplicationAttemptId, request: PendingRequest) -> RequestPlan:
        """Let the schedulers of sub-clusters that are drawn be asked; all, where only named places will do."""
        if request.places:
            return RequestPlan(request.key, may_queue=request.may_use, rule=policy.name)
        since_s = self._rows.since_s(attempt, request.key)
        drawn = self._samples.of(attempt, request, since_s, policy.placement.samples)
        told = f"{' and '.join(sorted(drawn))}, as drawn, are asked at once: whichever grants first binds a container"
        return RequestPlan(request.key, may_queue=drawn, reason=told, rule=policy.name, is_late_bound=len(drawn) > 1)

    def _may_queue(
        self, policy: Policy, attempt: ApplicationAttemptId, request: PendingRequest, *, is_on_purpose: bool
    ) -> frozenset[SubClusterId]:
        """Name the schedulers that may choose though a policy places by itself: they serve by their own rules.

        That is where nobody is there to choose among, and nothing to wait for; for whoever was overtaken too long, and
        the longest; and where a scheduler did not grant what there was room for: it knows something that no report
        tells.
        """
        is_kept = self._waits_on_purpose(policy, attempt, request) or (
            policy.is_solved_apart and is_on_purpose and not request.queued
        )
        has_choice = self._rows.others_wait(attempt) or is_kept
        return request.avoided if has_choice and attempt != self._overdue else request.may_use

    def _waits_on_purpose(self, policy: Policy, attempt: ApplicationAttemptId, request: PendingRequest) -> bool:
        """Return whether no free place will do for a request: for its data's sake, or its job's."""
        goes_by_places = policy.goes_by(Fact.LOCALITY) and bool(request.named)
        return goes_by_places or self._has_earlier_stage(policy, attempt, request)

    def _waits_for(self, policy: Policy, attempt: ApplicationAttemptId, request: PendingRequest) -> str:
        """Say why a request waits that a policy did not place."""
        if self._is_closed_by_tags(attempt, request):
            return _NO_NODE_LEFT
        if self._has_earlier_stage(policy, attempt, request):
            return "another stage of this job waits that its plan wants earlier"
        return "nothing is free that it is the best choice for"

    def _has_earlier_stage(self, policy: Policy, attempt: ApplicationAttemptId, request: PendingRequest) -> bool:
        """True if a stage that the job's plan wants earlier waits, too: a scheduler serves by priorities alone."""
        outline = self._outline_of(attempt) if Fact.DAG in policy.needs else None
        if outline is None:
            return False
        if attempt not in self._earliest:
            waiting = (each.key.priority for each in self._rows.of(attempt) if each.unallocated)
            self._earliest[attempt] = max(map(outline.weight, waiting), default=0.0)
        return self._earliest[attempt] > outline.weight(request.key.priority)

    def _kept_free_for(self, capacity: Capacity | None) -> ApplicationAttemptId | None:
        """The attempt whose gang alone may start, as it was overtaken for too long; None if there is none."""
        attempt = self._overdue
        if attempt is None or capacity is None or self._starvation_s <= 0.0:
            return None
        overtaken_s = self._attempts.jobs.get(Column.PRIORITY, self._attempts.row_of(attempt))
        if int(overtaken_s / self._starvation_s) % 2 == 0:
            return None
        self._rows.nodes(capacity)
        return attempt if could_ever_start(self._rows.of(attempt), self._rows.total) else None

    def _look_ahead(self, attempts: Iterable[ApplicationAttemptId], at_s: float) -> FirstInLine:
        ahead = FirstInLine(self._soon_of(at_s), self._by_arrival())
        for attempt in attempts:
            for request in self._rows.of(attempt):
                ahead.note(attempt, waits_at(request, self._rows.closed_by_tags(attempt, request)), request.wanted)
        return ahead

    def _place(
        self,
        capacity: Capacity | None,
        policy: Policy,
        at_s: float,
        planned: Sequence[ApplicationAttemptId],
        stated: StatedProblems | None,
        left_out: frozenset[int],
    ) -> "PlacedRows":
        """Run the policy's cycle on what is free."""
        placed = PlacedRows(reasons=dict.fromkeys(left_out, _IN_A_ROUND), on_purpose=set(left_out))
        if capacity is None:
            return placed
        nodes = self._rows.nodes(capacity)
        answers = None if stated is None else stated.answers_for(self._rows)
        waiting = {row: (attempt, each) for attempt in planned for each, row in self._rows.with_rows(attempt)}
        named = {row: request.named for row, (_, request) in waiting.items()}
        coming, ends_s = ComingFree(self._soon_of(at_s)), list[float]()

        def place_of(row: int) -> Place | None:
            attempt, request = waiting[row]
            if request.gang or (policy.is_solved_apart and is_service(request)):
                return None
            return Place(spot_of(request), is_kept=self._waits_on_purpose(policy, attempt, request))

        for has_label, snapshot in self._snapshots(nodes, capacity, policy, at_s, planned, left_out):
            plan = run_cycle(snapshot, policy, self._states[has_label])
            if policy.solver is not None and answers is not None:
                plan = answers.improve(snapshot, policy.solver, plan, has_label=has_label)
            placed.read(plan, snapshot, tuple(capacity.nodes), named, self._rows.host)
            found = asked_ahead(policy, snapshot, self._states[has_label], plan, coming, place_of)
            self._before_room |= {(waiting[row][0], waiting[row][1].key): counts for row, counts in found.items()}
            ends_s += [hold.until_s for hold in plan.holds if hold.until_s is not None]
        for attempt in planned:
            for row in partial_rows(self._rows.with_rows(attempt), placed.starts):
                placed.starts.pop(row, None)
                placed.hosts.pop(row, None)
        waits = (self._rows.wait_for_data(row, request, at_s) for row, (_, request) in waiting.items())
        self.again_at_s = min([*ends_s, *(each.until_s for each in waits if each)], default=None)
        placed.capacities = self._rows.capacity_for(nodes, planned)
        return placed

    def _snapshots(
        self,
        nodes: SharedNodes,
        capacity: Capacity,
        policy: Policy,
        at_s: float,
        planned: Sequence[ApplicationAttemptId],
        left_out: frozenset[int] = frozenset(),
    ) -> Iterator[tuple[bool, Snapshot]]:
        """Make what a cycle starts from, for nodes without a label and for those with labels."""
        self._rows.bound_by_tags(nodes, planned, self._attempts.tagged(), left_out)
        container_s = None if policy.solver is None else self._attempts.container_s()
        outlines = outlines_of(self._outline_of, planned) if policy.goes_by(Fact.DAG) else {}
        knowledge = self._knowledge(policy, outlines, planned, nodes)
        runs = NOTHING_RUNS if container_s is None else self._rows.running(self._attempts.containers(), container_s)
        by_label = self._rows.snapshots(
            nodes, capacity, self._attempts.jobs, planned, at_s, policy, container_s, outlines
        )
        for has_label, snapshot in by_label.items():
            yield has_label, replace(snapshot, knowledge=knowledge, running=runs)

    def _knowledge(
        self,
        policy: Policy,
        outlines: Mapping[ApplicationAttemptId, JobOutline],
        planned: Sequence[ApplicationAttemptId],
        nodes: SharedNodes,
    ) -> Knowledge:
        """Knowledge of jobs beyond numbers: tags and constraints, deadlines and forecasts, or graphs."""
        if Fact.CONSTRAINTS in policy.needs:
            waiting = ((each, *told) for each in planned for told in self._rows.with_rows(each))
            names, tagged = self._rows.node_names(), self._attempts.tagged()
            return Knowledge(services=service_facts(waiting, tagged, names, self._rules_of(), nodes.cells))
        by_row = {self._attempts.row_of(attempt): outline for attempt, outline in outlines.items()}
        if not policy.goes_by(Fact.DEADLINES):
            if Fact.DAG not in policy.needs:
                by_row = {row: outline for row, outline in by_row.items() if outline.has_times}
            found = known_graphs(by_row, self._rows.n_types) if by_row else NOTHING_KNOWN
            return replace(found, wishes=self._attempts.wishes()) if policy.goes_by(Fact.DAG) else found
        told = self._attempts.knowledge()
        timed = {row: outline for row, outline in by_row.items() if outline.has_times and row in told.finished}
        if not timed:
            return told
        seen = known_graphs(timed, self._rows.n_types)
        return replace(
            told,
            graphs=seen.graphs,
            finished={**told.finished, **seen.finished},
            forecasts={**told.forecasts, **seen.forecasts},
            ran_s=seen.ran_s,
        )


@dataclass(slots=True)
class PlacedRows:
    """Placements of a cycle, by row.

    Attributes:
        reasons: Why the rest of a request waits on purpose.
        made_by: What the plan of the row is worth.
        on_purpose: Rows that wait for a time, or for a solver, and not for room.
    """

    starts: dict[int, dict[SubClusterId, int]] = field(default_factory=dict)
    hosts: dict[int, dict[SubClusterId, dict[str, int]]] = field(default_factory=dict)
    capacities: Mapping[int, Mapping[SubClusterId, int]] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    made_by: dict[int, MadeBy] = field(default_factory=dict)
    on_purpose: set[int] = field(default_factory=set)

    def read(
        self,
        plan: Plan,
        snapshot: Snapshot,
        names: Sequence[SubClusterId],
        named: Mapping[int, Mapping[str, int]],
        host_of: Callable[[int], str],
    ) -> None:
        """Take in a plan."""
        cells = snapshot.nodes.cells
        for grant in plan.grants:
            at_node = grant.scope is Scope.NODE
            name = names[cells[snapshot.nodes.cell_of(grant.place)].cluster if at_node else grant.place]
            _count(self.starts.setdefault(grant.request, {}), name, grant.count)
            if at_node and (host := host_of(grant.place)) in named[grant.request]:
                _count(self.hosts.setdefault(grant.request, {}).setdefault(name, {}), host, grant.count)
        self.reasons |= {hold.request: hold.reason.text for hold in plan.holds}
        self.on_purpose |= {hold.request for hold in plan.holds if hold.until_s is not None}
        self.made_by |= dict.fromkeys(snapshot.requests.live.tolist(), plan.made_by)


_KeyT = TypeVar("_KeyT")


def _count(counts: dict[_KeyT, int], key: _KeyT, count: int) -> None:
    counts[key] = counts.get(key, 0) + count


def could_ever_start(requests: Iterable[PendingRequest], total: ResourceVector) -> bool:
    """Return whether an attempt waits for a gang that all nodes together, if they were empty, could hold."""
    parts = [request for request in requests if request.gang and request.unallocated]
    wanted = sum((request.key.resource.times(request.unallocated) for request in parts), ResourceVector())
    return bool(parts) and wanted.fits_in(total)


def partial_rows(
    rows: Iterable[tuple[PendingRequest, int]], starts: Mapping[int, Mapping[SubClusterId, int]]
) -> Sequence[int]:
    """Rows of an attempt's gang if only a part of it would start: by a solver, or on nodes of one label alone.

    Args:
        starts: Containers by row and sub-cluster, of all cycles of the queue together.
    """
    gang = [(request, row) for request, row in rows if request.gang]
    found = sum(sum(starts.get(row, {}).values()) for _, row in gang)
    return [row for _, row in gang] if 0 < found < sum(request.unallocated for request, _ in gang) else ()
