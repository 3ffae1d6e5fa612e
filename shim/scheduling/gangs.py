"""Gangs in plans: what a plan grants of one is granted of all of it, whatever the policy that placed it."""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from shim.scheduling.plan import Hold, Plan, Reason, ReasonCode
from shim.scheduling.snapshot import RequestColumn, Snapshot

__all__ = ["partial_gangs", "without_gangs", "without_grants"]


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
    """A snapshot in which some gangs do not wait."""
    requests = snapshot.requests
    is_in = np.isin(requests.numbers[RequestColumn.GANG][requests.live], list(gangs))
    return replace(snapshot, requests=replace(requests, live=requests.live[~is_in], distinct=None))


def without_grants(plan: Plan, snapshot: Snapshot, gangs: Collection[int]) -> Plan:
    """A plan that grants nothing of some gangs, and says so."""
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
