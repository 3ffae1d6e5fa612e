"""A plan while it is made: what is granted so far, and what is left of each request."""

from collections.abc import Sequence
from dataclasses import replace

from shim.domain.messages import Need
from shim.scheduling.job_table import Column
from shim.scheduling.placements import CellSearch, CycleState, Matcher
from shim.scheduling.plan import Hold, Plan, PlannedGrant, Reason, ReasonCode, Turn
from shim.scheduling.policy import CellChoice, Policy
from shim.scheduling.ranks import rank_of
from shim.scheduling.snapshot import OfferedRoom, RequestColumn, Scope, Snapshot
from shim.scheduling.sweep import Sweep
from shim.scheduling.tag_bounds import TagHeadroom

__all__ = ["Draft"]

_OFFERED = Reason(ReasonCode.OFFERED)


class Draft:
    """Grants and holds of one cycle.

    Args:
        snapshot: What the cycle starts from.
        policy: How it places.
        state: Of the cycle.
        turns: The requests in their order.
    """

    def __init__(self, snapshot: Snapshot, policy: Policy, state: CycleState, turns: Sequence[Turn]) -> None:
        self._snapshot = snapshot
        self._policy = policy
        self._turns = turns
        self._needs = snapshot.requests.needs
        self._counts: list[int] = snapshot.requests.numbers[RequestColumn.COUNT].tolist()
        self._granted: dict[int, int] = {}
        self._grants: list[PlannedGrant] = []
        self._holds: list[Hold] = []
        self._declined: list[int] = []
        self._used_offers = 0
        self._kept = policy.commitment.kept_of(len(snapshot.nodes))
        self._full_for_long = set[Need]()
        self._tags = TagHeadroom(snapshot.requests.tag_bounds)
        self._gangs = self._members()
        has_room = snapshot.nodes.has_room_for
        self._placeable = {need for need in snapshot.requests.distinct_needs() if has_room(need.demand)}
        self._matcher: Matcher = (
            Sweep(snapshot, policy.placement.scope)
            if policy.placement.cells is CellChoice.BY_ROOM
            else CellSearch(snapshot.nodes, policy.placement, state, snapshot.requests)
        )

    @property
    def has_room(self) -> bool:
        """Tell whether anything that waits may still fit somewhere."""
        return bool(self._placeable)

    def plan(self) -> Plan:
        """Return the plan of all decisions so far."""
        return Plan(self._grants, self._holds, (), (), self._declined, self._used_offers, self._turns)

    def left(self, request: int) -> int:
        """Count the containers of a request that are not granted yet."""
        return self._counts[request] - self._granted.get(request, 0)

    # ------------------------------------------------------------------ offers

    def use_offer(self, offer: OfferedRoom) -> None:
        """Grant on offered room what needs it most, unless the runner-up needs it more."""
        room, is_used = list(offer.room), False
        for turn in self._turns:
            count = self.left(turn.request)
            if not count or turn.request in self._tags:
                continue
            if offer.is_for_short and turn.is_long:
                continue
            if offer.runner_up is not None and rank_of(self._policy, turn) > offer.runner_up:
                break
            need = self._needs[turn.request]
            if need.admits(offer.properties):
                count = min(count, _fitting(need.demand, room))
                if count:
                    is_used = True
                    self._add(PlannedGrant(turn.request, count, Scope.NODE, offer.node, _OFFERED, offer=offer.number))
                    room = [have - count * amount for have, amount in zip(room, need.demand, strict=True)]
                    if not any(room):
                        break
        if is_used:
            self._used_offers += 1
        else:
            self._declined.append(offer.number)

    # ------------------------------------------------------------------ free room

    def place(self, turn: Turn) -> None:
        """Place a request in its turn: all of a gang, or as much as fits."""
        request = turn.request
        gang = self._gangs.get(request)
        if gang is not None:
            if gang[0] == request:
                self._place_gang(gang)
        elif self._needs[request] in self._placeable:
            if not turn.is_long:
                self._place_some(request, self.left(request))
            elif self._needs[request] not in self._full_for_long:
                self._place_long(request)

    def _place_long(self, request: int) -> None:
        """Place tasks that run long, but not on the last free nodes: short ones need not wait for these."""
        need = self._needs[request]
        free = self._snapshot.nodes.count_fitting(need.demand) - sum(self._granted.values()) - self._kept
        if self.left(request) >= free:
            self._full_for_long.add(need)
        self._place_some(request, min(self.left(request), free))

    def _place_some(self, request: int, count: int) -> None:
        need = self._needs[request]
        if count <= 0:
            return
        grants = self._matcher.fill(request, need, count)
        if request in self._tags:
            grants = self._within_tags(grants)
        self._grants += grants
        found = sum([grant.count for grant in grants])  # a list: one of ten numbers is made faster than it is iterated
        self._granted[request] = self._granted.get(request, 0) + found
        if found < count:
            if self._matcher.is_exhausted(need):
                self._placeable.discard(need)
            else:
                self.hold(request, ReasonCode.LIMITED)

    def _within_tags(self, grants: Sequence[PlannedGrant]) -> Sequence[PlannedGrant]:
        """So much of the grants of a request as its placement constraint allows; what it does not stays free."""
        kept: list[PlannedGrant] = []
        for grant in grants:
            at_node = grant.scope is Scope.NODE
            nodes = self._snapshot.nodes
            cluster = nodes.cells[nodes.cell_of(grant.place)].cluster if at_node else grant.place
            most = int(self._tags.at_clusters(grant.request)[cluster])
            if at_node:
                most = min(most, self._tags.at(grant.request, cluster, grant.place))
            count = min(grant.count, most)
            if count > 0:
                self._tags.take(grant.request, cluster, count, grant.place if at_node else None)
                kept.append(replace(grant, count=count))
        return kept

    def _place_gang(self, members: Sequence[int]) -> None:
        """Place all that waits of a gang, or undo what was placed."""
        mark, found = self._matcher.mark(), list[PlannedGrant]()
        for request in members:
            found += self._matcher.fill(request, self._needs[request], self.left(request))
        n_wanted, n_found = sum(map(self.left, members)), sum(grant.count for grant in found)
        if n_found == n_wanted:
            for grant in found:
                self._add(grant)
            return
        self._matcher.undo(mark)
        reason = Reason(ReasonCode.GANG, (("count", n_wanted), ("found", n_found)))
        self._holds += [Hold(request, self.left(request), reason) for request in members]

    def _add(self, grant: PlannedGrant) -> None:
        self._grants.append(grant)
        self._granted[grant.request] = self._granted.get(grant.request, 0) + grant.count

    def hold(self, request: int, code: ReasonCode) -> None:
        """Let a request wait, and say why."""
        queue = int(self._snapshot.jobs[Column.QUEUE, self._snapshot.requests.numbers[RequestColumn.JOB, request]])
        name = self._snapshot.queues.names[queue] if queue >= 0 else ""
        self._holds.append(Hold(request, self.left(request), Reason(code, (("queue", name),))))

    def _members(self) -> dict[int, Sequence[int]]:
        """Requests of a gang with all of their kind, in their order."""
        numbers = self._snapshot.requests.numbers[RequestColumn.GANG]
        if not numbers.any():
            return {}
        by_gang: dict[int, list[int]] = {}
        for turn in self._turns:
            gang = int(numbers[turn.request])
            if gang:
                by_gang.setdefault(gang, []).append(turn.request)
        return {request: members for members in by_gang.values() for request in members}


def _fitting(demand: Sequence[int], room: Sequence[int]) -> int:
    """Count the containers that fit."""
    return min((have // amount for have, amount in zip(room, demand, strict=True) if amount > 0), default=0)
