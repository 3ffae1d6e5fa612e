"""One scheduling cycle, from a snapshot to a plan: what decides in every world.

    1 snapshot   what is free, who waits, who holds what           `Snapshot`, which is handed in
    2 entitle    which queues are below their share                `entitle`
    3 order      whose request is next                             `order`
    4 place      where each request's containers go, in its turn   `place`
    5 commit     tentative allocations, which Local Masters verify  the shell carries the plan out
    6 repair     a rejection is an event of the next cycle; while somebody entitled waits, `reallocate`

Pure and deterministic: the same snapshot, policy, state and random source give the same plan. No step writes to the
snapshot.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shim.domain.resources import Need
from shim.scheduling.draft import Draft
from shim.scheduling.durations import FloatArray
from shim.scheduling.placements import CycleState
from shim.scheduling.plan import NO_PLAN, Hold, Plan, Reason, ReasonCode, TakeBack, Turns
from shim.scheduling.policy import PlacementKernel, Policy, QueueOrder, Reallocation
from shim.scheduling.ranks import rank_of
from shim.scheduling.snapshot import Column, Queues, RequestColumn, Snapshot

__all__ = [
    "CycleState",
    "entitle",
    "order",
    "partial_gangs",
    "place",
    "reallocate",
    "run_cycle",
    "without_gangs",
    "without_grants",
]


def run_cycle(snapshot: Snapshot, policy: Policy, state: CycleState) -> Plan:
    """Decide what starts where, what waits, and what is taken back.

    Args:
        snapshot: What is known now; to take it is step 1.
        policy: Ordering x placement x commitment x reallocation.
        state: What the last cycle handed on, and the random source.
    """
    if not can_decide(snapshot):
        return NO_PLAN
    standings = entitle(snapshot)
    turns = order(snapshot, policy, standings)
    plan = place(snapshot, policy, state, turns)
    return reallocate(snapshot, policy, plan, standings)


def can_decide(snapshot: Snapshot) -> bool:
    """True if there is anything to decide: room that fits something that waits, an offer, or shares to look at."""
    has_room = snapshot.nodes.has_room_for
    return bool(
        snapshot.offers
        or snapshot.queues.names
        or any(has_room(need.demand) for need in snapshot.requests.distinct_needs())
    )


def entitle(snapshot: Snapshot) -> "Standings | None":
    """Step 2: how queues stand against their shares; None where no queue has one."""
    return Standings(snapshot.queues) if snapshot.queues.names else None


def order(snapshot: Snapshot, policy: Policy, standings: "Standings | None") -> Turns:
    """Step 3: by request class, the job's priority, its queue's deficit, the policy's key, and arrival.

    A queue that holds its share takes no turn for a while after something was asked back of it.
    """
    requests, rows = snapshot.requests, snapshot.requests.live
    keys = policy.ordering.kernel(snapshot, rows)
    priorities = snapshot.of_job(Column.PRIORITY, rows)
    deficits = _deficits(snapshot, policy, standings)
    columns = [rows, keys, deficits, priorities, _are_long(snapshot, policy, rows)]
    if len(rows) > 1:  # half of all cycles have one alone: to sort it would cost as much as all else here
        criteria: list[FloatArray | NDArray[np.int64]] = [  # the last one is compared first
            requests.of(RequestColumn.PRIORITY, rows),
            requests.of(RequestColumn.JOB, rows),
            snapshot.of_job(Column.ARRIVED_S, rows),
            keys,
            deficits,
            -priorities,
            requests.of(RequestColumn.CLASS, rows),
        ]
        positions = np.lexsort(criteria)
        columns = [each[positions] for each in columns]
    turns = Turns(*[each.tolist() for each in columns])
    if not snapshot.queues.names or not snapshot.queues.is_patient.any():
        return turns
    return turns.at(
        [at for at in range(len(turns.rows)) if not _is_patient(snapshot, turns.rows[at], turns.deficits[at])]
    )


def _are_long(snapshot: Snapshot, policy: Policy, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which requests are of long tasks, as far as is known.

    That is known once a task has ended, or has run for so long. Until then it is as likely as among all jobs: the first
    task is tried, and more, if they are no more than the nodes that are kept for short ones.
    """
    if math.isinf(snapshot.long_from_s):
        return np.zeros(len(rows), dtype=np.bool_)
    jobs = snapshot.job_columns(rows)
    running, finished, expected_s = jobs[Column.RUNNING], jobs[Column.FINISHED], jobs[Column.EXPECTED_S]
    waiting, started_s = jobs[Column.WAITING], jobs[Column.STARTED_S]
    has_run_long = running * (snapshot.now_s - snapshot.long_from_s) >= started_s
    is_known = (finished > 0.0) | ((running > 0.0) & has_run_long)
    are_many = (running > 0.0) & (waiting > policy.commitment.kept_of(len(snapshot.nodes)))
    are_long: NDArray[np.bool_] = (is_known | are_many) & (expected_s >= snapshot.long_from_s)
    return are_long


def _is_patient(snapshot: Snapshot, request: int, deficit: float) -> bool:
    queue = _queue_of(snapshot, request)
    return queue >= 0 and deficit >= HOLDS_ITS_SHARE and bool(snapshot.queues.is_patient[queue])


def _deficits(snapshot: Snapshot, policy: Policy, standings: "Standings | None") -> FloatArray:
    """Compute the deficit of each request's queue: smallest first."""
    rows = snapshot.requests.live
    deficits: FloatArray = np.full(len(rows), HOLDS_ITS_SHARE)
    if standings is not None and policy.ordering.queues is not QueueOrder.NONE:
        queues = snapshot.of_job(Column.QUEUE, rows).astype(np.int64).tolist()
        for position, (row, queue) in enumerate(zip(rows.tolist(), queues, strict=True)):
            deficits[position] = standings.deficit(queue, snapshot.requests.needs[row], policy.ordering.queues)
    return deficits


def place(snapshot: Snapshot, policy: Policy, state: CycleState, turns: Turns) -> Plan:
    """Step 4: what is offered goes first to whom it was offered for; then each request in its turn.

    A policy that places by a kernel of its own bids for nothing, and leaves what is offered.
    """
    kernel = policy.placement.kernel
    if kernel is not None:
        plan = _by_kernel(kernel, snapshot, state, turns.rows)
        return replace(plan, declined=[offer.number for offer in snapshot.offers], turns=turns)
    draft = Draft(snapshot, policy, state, turns)
    for offer in snapshot.offers:
        draft.use_offer(offer)
    if len(turns.rows) < len(snapshot.requests.live):
        for request in set(snapshot.requests.live.tolist()).difference(turns.rows):
            draft.hold(request, ReasonCode.ABOVE_SHARE)
    for request, is_long in zip(turns.rows, turns.are_long, strict=True):
        if not draft.has_room:
            break
        draft.place(request, is_long=is_long)
    return draft.plan()


def _by_kernel(kernel: PlacementKernel, snapshot: Snapshot, state: CycleState, turns: Sequence[int]) -> Plan:
    """Place by a policy's own kernel, which need know nothing of gangs.

    A gang of which it places a part leaves its room to the others, which are then placed once more.
    """
    plan = kernel(snapshot, state.memory, turns)
    partial = partial_gangs(plan, snapshot)
    if not partial:
        return plan
    others = without_gangs(snapshot, partial)
    left = frozenset(others.requests.live.tolist())
    again = kernel(others, state.memory, [row for row in turns if row in left])
    again = without_grants(again, others, partial_gangs(again, others))
    held = without_grants(plan, snapshot, partial)
    return replace(again, holds=[*again.holds, *(hold for hold in held.holds if hold.request not in left)])


def reallocate(snapshot: Snapshot, policy: Policy, plan: Plan, standings: "Standings | None") -> Plan:
    """Step 6, while somebody entitled waits: what is taken back for him."""
    if standings is None or policy.reallocation is Reallocation.NONE:
        return plan
    return replace(plan, take_backs=take_back_for_shares(snapshot, policy, plan, standings))


# Gangs in plans: what a plan grants of one is granted of all of it, whatever the policy that placed it.


def partial_gangs(plan: Plan, snapshot: Snapshot) -> frozenset[int]:
    """Numbers of gangs of which a plan grants less than what waits."""
    rows, numbers = snapshot.requests.live, snapshot.requests.numbers
    if not snapshot.requests.has_gangs:
        return frozenset()
    gangs, granted = numbers[RequestColumn.GANG][rows], plan.granted()
    lacking = (
        int(gang)
        for row, gang in zip(rows.tolist(), gangs.tolist(), strict=True)
        if gang and granted.get(row, 0) < int(numbers[RequestColumn.COUNT, row])
    )
    return frozenset(lacking)


def without_gangs(snapshot: Snapshot, gangs: Collection[int]) -> Snapshot:
    requests = snapshot.requests
    is_in = np.isin(requests.numbers[RequestColumn.GANG][requests.live], list(gangs))
    return replace(snapshot, requests=replace(requests, live=requests.live[~is_in], distinct=None))


def without_grants(plan: Plan, snapshot: Snapshot, gangs: Collection[int]) -> Plan:
    if not gangs:
        return plan
    numbers, granted = snapshot.requests.numbers, plan.granted()
    members = [row for row in snapshot.requests.live.tolist() if int(numbers[RequestColumn.GANG, row]) in gangs]
    wanted, found = Counter[int](), Counter[int]()
    for row in members:
        gang = int(numbers[RequestColumn.GANG, row])
        wanted[gang] += int(numbers[RequestColumn.COUNT, row])
        found[gang] += granted.get(row, 0)
    held = [
        Hold(row, int(numbers[RequestColumn.COUNT, row]), _reason(wanted[gang], found[gang]))
        for row in members
        if (gang := int(numbers[RequestColumn.GANG, row]))
    ]
    dropped = frozenset(members)
    return replace(
        plan,
        grants=[grant for grant in plan.grants if grant.request not in dropped],
        holds=[*(hold for hold in plan.holds if hold.request not in dropped), *held],
    )


def _reason(count: int, found: int) -> Reason:
    return Reason(ReasonCode.GANG, (("count", count), ("found", found)))


# Queues below their share, and by how much: step 2 (Megha, algorithm 2).

HOLDS_ITS_SHARE = 1.0
"""Deficit of a queue that is owed nothing."""
_HALF = 0.5
_ENOUGH = 1e-9


def share_of(demand: tuple[int, ...], total: FloatArray) -> float:
    """Dominant share of one container of everything; types that there are none of do not count."""
    most = 0.0
    for amount, capacity in zip(demand, total.tolist(), strict=True):
        if capacity > 0:
            most = max(most, amount / capacity)
    return most


class Standings:
    """Standings of the queues with shares, as the cycle moves capacity among them.

    Attributes:
        excess: Dominant share less the share, by row; negative for a queue that is owed something.
    """

    def __init__(self, queues: Queues) -> None:
        self._share = queues.share.tolist()
        self._total = queues.total
        exists = queues.total > 0
        parts = queues.held[:, exists] / queues.total[exists]
        held = parts.max(axis=1, initial=0.0) if len(queues.names) else np.zeros(0)
        self.excess: list[float] = (held - queues.share).tolist()
        self._parts: dict[tuple[int, ...], float] = {}

    def part_of(self, need: Need) -> float:
        """Dominant share of one container."""
        part = self._parts.get(need.demand)
        if part is None:
            part = self._parts[need.demand] = share_of(need.demand, self._total)
        return part

    def is_owed(self, queue: int, need: Need) -> bool:
        """True if one more container brings a queue nearer to its share; never for one without a share (row -1)."""
        return queue >= 0 and self.excess[queue] + _HALF * self.part_of(need) < -_ENOUGH

    def exceeds(self, queue: int, need: Need) -> bool:
        """True if one container less brings a queue nearer to its share."""
        return self.excess[queue] - _HALF * self.part_of(need) > _ENOUGH

    def deficit(self, queue: int, need: Need, order: QueueOrder) -> float:
        """Sort key of a queue's requests, smallest first; `HOLDS_ITS_SHARE` for a queue that is owed nothing."""
        if not self.is_owed(queue, need):
            return HOLDS_ITS_SHARE
        share = self._share[queue]
        return (self.excess[queue] + share) / share if order is QueueOrder.MOST_OWED_FIRST else 0.0

    def hold(self, queue: int, need: Need, count: int) -> None:
        self.excess[queue] += count * self.part_of(need)

    def move(self, need: Need, *, giver: int, taker: int) -> None:
        """Count a container as moved from one queue to another."""
        part = self.part_of(need)
        self.excess[giver] -= part
        self.excess[taker] += part

    def furthest_above(self) -> int:
        """Row of the queue that is furthest above its share."""
        return max(range(len(self.excess)), key=self.excess.__getitem__)


# Taking back while somebody entitled waits: step 6 (Megha, algorithm 2).

_MOST_TAKE_BACKS = 8
"""Containers that one cycle asks back at most."""


def take_back_for_shares(snapshot: Snapshot, policy: Policy, plan: Plan, standings: Standings) -> list[TakeBack]:
    """Ask containers back of the queues that are furthest above their share, for those that are owed.

    What was asked back counts as given: so no more is asked than is missing. The Local Master picks and verifies.
    """
    numbers, granted = snapshot.requests.numbers, plan.granted()
    _count_grants(snapshot, granted, standings)
    left_at, taken = snapshot.queues.held_at.copy(), list[TakeBack]()
    turns = plan.turns
    for at, request in enumerate(turns.rows):
        if len(taken) >= _MOST_TAKE_BACKS:
            break
        left = int(numbers[RequestColumn.COUNT, request]) - granted.get(request, 0)
        for _ in range(min(left, _MOST_TAKE_BACKS - len(taken))):
            wish = _ask_back(snapshot, policy, standings, left_at, at, turns)
            if wish is None:
                break
            taken.append(wish)
    return taken


def _ask_back(
    snapshot: Snapshot, policy: Policy, standings: "Standings", left_at: FloatArray, at: int, turns: Turns
) -> TakeBack | None:
    """Ask one container back, of the queue that is furthest above its share, where it holds most."""
    request = turns.rows[at]
    need, taker = snapshot.requests.needs[request], _queue_of(snapshot, request)
    if not standings.is_owed(taker, need):
        return None
    victim = standings.furthest_above()
    if victim == taker or not standings.exceeds(victim, need):
        return None
    most = left_at[victim].max(axis=1, initial=0.0)
    cluster = int(most.argmax()) if most.size else -1
    if cluster < 0 or most[cluster] <= 0:
        return None
    left_at[victim, cluster] -= need.demand
    standings.move(need, giver=victim, taker=taker)
    names = snapshot.queues.names
    reason = Reason(ReasonCode.TAKEN_FOR_SHARE, (("victim", names[victim]), ("taker", names[taker])))
    rank = rank_of(policy, turns.keys[at], turns.deficits[at], turns.priorities[at])
    return TakeBack(victim, cluster, need, request, rank, reason)


def _count_grants(snapshot: Snapshot, granted: Mapping[int, int], standings: Standings) -> None:
    for request, count in granted.items():
        job = snapshot.requests.numbers[RequestColumn.JOB, request]
        queue = int(snapshot.jobs[Column.QUEUE, job])
        if queue >= 0:
            standings.hold(queue, snapshot.requests.needs[request], count)


def _queue_of(snapshot: Snapshot, request: int) -> int:
    return int(snapshot.jobs[Column.QUEUE, snapshot.requests.numbers[RequestColumn.JOB, request]])
