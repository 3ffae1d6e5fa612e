"""Taking back while somebody entitled waits: step 6 of a cycle (Megha, algorithm 2)."""

from collections.abc import Mapping

from fairness import FloatArray
from shim.scheduling.entitlement import Standings
from shim.scheduling.job_table import Column
from shim.scheduling.plan import Plan, Reason, ReasonCode, TakeBack, Turn
from shim.scheduling.policy import Policy
from shim.scheduling.ranks import rank_of
from shim.scheduling.snapshot import RequestColumn, Snapshot

_MOST_TAKE_BACKS = 8
"""Containers that one cycle asks back at most."""


def take_back_for_shares(snapshot: Snapshot, policy: Policy, plan: Plan, standings: Standings) -> list[TakeBack]:
    """Ask containers back of the queues that are furthest above their share, for those that are owed.

    What was asked back counts as given: so no more is asked than is missing. The Local Master picks and verifies.
    """
    numbers, granted = snapshot.requests.numbers, plan.granted()
    _count_grants(snapshot, granted, standings)
    left_at, taken = snapshot.queues.held_at.copy(), list[TakeBack]()
    for turn in plan.turns:
        if len(taken) >= _MOST_TAKE_BACKS:
            break
        taker = _queue_of(snapshot, turn)
        left = int(numbers[RequestColumn.COUNT, turn.request]) - granted.get(turn.request, 0)
        for _ in range(min(left, _MOST_TAKE_BACKS - len(taken))):
            wish = _ask_back(snapshot, policy, standings, left_at, turn, taker)
            if wish is None:
                break
            taken.append(wish)
    return taken


def _ask_back(
    snapshot: Snapshot, policy: Policy, standings: Standings, left_at: FloatArray, turn: Turn, taker: int
) -> TakeBack | None:
    """Ask one container back, of the queue that is furthest above its share, where it holds most."""
    need = snapshot.requests.needs[turn.request]
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
    return TakeBack(victim, cluster, need, turn.request, rank_of(policy, turn), reason)


def _count_grants(snapshot: Snapshot, granted: Mapping[int, int], standings: Standings) -> None:
    """Count what this plan grants as held."""
    for request, count in granted.items():
        job = snapshot.requests.numbers[RequestColumn.JOB, request]
        queue = int(snapshot.jobs[Column.QUEUE, job])
        if queue >= 0:
            standings.hold(queue, snapshot.requests.needs[request], count)


def _queue_of(snapshot: Snapshot, turn: Turn) -> int:
    return int(snapshot.jobs[Column.QUEUE, snapshot.requests.numbers[RequestColumn.JOB, turn.request]])
