"""TetriSched: what starts now is chosen together with what starts later, in space and time.

Each request is an expression of what it would take where and when, and what that is worth to it, which
`request_wizard` makes of its deadline, the places that it names and its wishes. All starts within the window are one
program (`strl.py`); what it starts now is granted, the rest is planned again. Without an answer, who has least slack
goes first, at its preferred places as far as there is room, and nothing is planned ahead.

`alsched` is the same without time (`policies/alsched.py`).

Source: Tumanov et al., EuroSys 2016.

Partitions of nodes: those that no request tells apart, and what each of them has free, quantum by quantum.

A request tells nodes apart by the hosts (or else racks) that it names, and by their clusters.

alsched: soft constraints as utilities; what is free now is divided so that all together have most of it.

A request is worth its budget at the places that it names, and that divided by its slowdown elsewhere. So scarce places
go to those who would lose most without them; nobody waits while any place will do. An ask whose locality is not relaxed
has a hard constraint, one that names no place has none. It is TetriSched without time: the same expressions by the same
wizard, and the same program over one quantum.

Source: Tumanov et al., SoCC 2012.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shim.domain.wishes import NO_WISHES, GangShape, JobWishes
from shim.scheduling.durations import FloatArray
from shim.scheduling.free_capacity import FreeCapacity
from shim.scheduling.locality import places_of
from shim.scheduling.parameters import parameter
from shim.scheduling.plan import MadeBy, Plan, Reason, ReasonCode
from shim.scheduling.policy import CellChoice, Fact, Ordering, Placement, Policy, Problem, first_come
from shim.scheduling.ranking import waiting_after
from shim.scheduling.request_wizard import PlanHorizon, SpaceTimeRequest, expression_of, value_of_end
from shim.scheduling.snapshot import IntArray, RequestColumn, RequestTime, Snapshot
from shim.scheduling.strl import CompiledLeaf, compile_requests


def preferred_nodes(snapshot: Snapshot, row: int) -> Mapping[int, int]:
    """Nodes that a request names, each with how many containers are wanted there; without hosts, those of its racks."""
    named = snapshot.requests.prefers(row)
    if not named:
        return {}
    places = places_of(snapshot, named)
    if places.nodes.size:
        found: dict[int, int] = {}
        for node, count in zip(places.nodes.tolist(), places.counts.tolist(), strict=True):
            found[node] = found.get(node, 0) + count
        return found
    return dict.fromkeys(places.near.tolist(), np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True, eq=False)
class NodePartitions:
    """See the module.

    Attributes:
        of_node: Number of each node's partition: int64 array of shape (N,).
        preferred: Partitions that each request prefers, by its row; no entry where all are alike to it.
    """

    of_node: IntArray
    preferred: Mapping[int, tuple[int, ...]]
    clusters: tuple[tuple[int, ...], ...]

    @property
    def count(self) -> int:
        return int(self.of_node.max(initial=0)) + 1

    @classmethod
    def of(cls, snapshot: Snapshot, rows: Sequence[int], most: int) -> "NodePartitions":
        """Divide the nodes by what requests prefer, the first of them first, into about `most` partitions at most.

        Requests whose preferences would make more of them have none.
        """
        n_nodes = len(snapshot.nodes)
        sizes = [cell.size for cell in snapshot.nodes.cells]
        cluster: IntArray = np.repeat([cell.cluster for cell in snapshot.nodes.cells], sizes).astype(np.int64)
        parts, liked = _numbered(cluster), dict[int, NDArray[np.bool_]]()
        for row in rows:
            is_liked = np.zeros(n_nodes, dtype=np.bool_)
            is_liked[list(preferred_nodes(snapshot, row))] = True
            if not is_liked.any() or is_liked.all():
                continue
            finer = _numbered(2 * parts + is_liked)
            if int(finer.max(initial=0)) < max(most, int(parts.max(initial=0)) + 1):
                parts, liked[row] = finer, is_liked
        preferred = {row: tuple(np.unique(parts[is_liked]).tolist()) for row, is_liked in liked.items()}
        clusters = tuple(tuple(np.unique(parts[cluster == each]).tolist()) for each in np.unique(cluster))
        return cls(parts, preferred, clusters)

    def nodes(self, parts: Sequence[int]) -> IntArray:
        return np.flatnonzero(np.isin(self.of_node, parts)).astype(np.int64)

    def available(
        self, snapshot: Snapshot, room: FreeCapacity, rows: Sequence[int], n_quanta: int, quantum_s: float
    ) -> IntArray:
        """Count what is free of each resource type, and what is expected to come free, by partition and quantum.

        Of each node as much as any of the requests could use: places of one size would count small containers as large
        ones. What runs where nobody knows comes free in the largest partition. What runs for longer than it was
        expected to ends with the first quantum.

        Returns:
            int64 array of shape (n_partitions, n_quanta, n_types).
        """
        needs = snapshot.requests.needs
        usable = [np.multiply.outer(room.slots(row), np.array(needs[row].demand, dtype=np.int64)) for row in rows]
        on_nodes: IntArray = np.max(usable, axis=0)
        free = np.zeros((self.count, on_nodes.shape[1]), dtype=np.int64)
        np.add.at(free, self.of_node, on_nodes)
        found = np.repeat(free[:, np.newaxis], n_quanta, axis=1)
        running = snapshot.running
        largest = int(np.argmax(np.bincount(self.of_node, minlength=1)))
        ends_s = np.maximum(running.since_s + running.expected_s, snapshot.now_s + 1.0) - snapshot.now_s
        ends = np.ceil(ends_s / quantum_s).tolist()
        for node, end, demand in zip(running.node.tolist(), ends, running.demand, strict=True):
            if end < n_quanta:
                found[int(self.of_node[node]) if 0 <= node < len(self.of_node) else largest, int(end) :] += demand
        return found


def _numbered(keys: IntArray) -> IntArray:
    """Numbers from 0 for equal keys."""
    numbers: IntArray = np.unique(keys, return_inverse=True)[1].astype(np.int64).reshape(keys.shape)
    return numbers


_LATER = Reason(ReasonCode.POLICY, (("text", "a later start is worth more to all together"),))
_CHOSEN = Reason(ReasonCode.POLICY, (("text", "{place} is worth most to all together"),))
_NO_ROOM = Reason(ReasonCode.NO_ROOM)
_LIKELY, _GAP, _MOST_NODES, _MOST_PARTITIONS = 0.5, 0.05, 20, 40


@dataclass(frozen=True, slots=True)
class SpaceTimeRules:
    """Window and values."""

    quanta: int = parameter(
        12,
        unit="quanta",
        least=1,
        most=1000,
        section="sections 4 and 5",
        meaning="How many are planned ahead, this one included; 1 plans nothing ahead.",
    )
    quantum_s: float = parameter(10.0, unit="s", least=0.1, section="sections 4 and 5", meaning="Length of a quantum.")
    most_requests: int = parameter(
        40,
        unit="requests",
        least=1,
        most=10_000,
        meaning="So many of the most urgent are planned; the others wait for their turn.",
    )
    deadline_value: float = parameter(
        1000.0, meaning="Worth of a request whose deadline is met; of one without, about 1."
    )
    slowdown: float = parameter(
        1.5,
        least=1.0,
        most=1000.0,
        meaning="Run time away from the hosts that an ask names, as a multiple, where no tag `heddle-slowdown` says "
        "it; 1 if it does not matter where.",
    )
    starts: tuple[int, ...] = (0, 1, 2, 3, 4, 6, 8, 10)


_Chosen = tuple[CompiledLeaf, Sequence[int]]
"""A leaf that a program chose, and how many nodes of each of its partitions it takes."""


@dataclass(frozen=True, slots=True)
class _Notes:
    """What the variables of a program mean."""

    leaves: Sequence[CompiledLeaf]
    partitions: NodePartitions
    requests: Mapping[int, SpaceTimeRequest]
    horizon: PlanHorizon
    available: IntArray


@dataclass(frozen=True, slots=True)
class SpaceTime:
    """Kernel and solver of the policy.

    Attributes:
        has_time: Whether ends count; else a place is worth its speed, and nothing is planned ahead.
        solves: Whether a program is solved; else the greedy plan stands.
    """

    rules: SpaceTimeRules
    has_time: bool = True
    solves: bool = True

    def __call__(self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[int]) -> Plan:  # noqa: ARG002
        """Start whole requests, who has a deadline first, by slack."""
        room = FreeCapacity(snapshot)
        self._start(snapshot, room, self._urgent_first(snapshot, turns))
        return room.plan()

    def rank(
        self,
        snapshot: Snapshot,
        memory: dict[str, object],  # noqa: ARG002 - the signature of ranks
        turns: Sequence[int],
        plan: Plan,
    ) -> Sequence[tuple[int, int]]:
        """Rank what waits as it would start; see `RankKernel`.

        Nothing while a deadline is to be met: what comes free may be for a start that is planned for later.
        """
        left = dict(waiting_after(snapshot, turns, plan))
        if self.has_time and any(_slack_s(snapshot, row) < math.inf for row in snapshot.requests.live.tolist()):
            return ()
        return list(left.items())

    def prepare(self, snapshot: Snapshot, greedy: Plan) -> Problem | None:
        """State the program of the most urgent; None if nothing is gained by it.

        That is if all of them have started already where they would rather be, if nothing fits now, and where neither a
        deadline is to be met, nor a gang waits, nor is a place preferred: whatever a later start keeps free then would
        only stay idle.
        """
        waiting = greedy.turns.rows
        if not self.solves or not any(self._is_planned(snapshot, row) for row in waiting):
            return None
        rows = self._urgent_first(snapshot, waiting)[: self.rules.most_requests]
        counts, started = snapshot.requests.numbers[RequestColumn.COUNT], greedy.granted()
        room = FreeCapacity(snapshot)
        if not any(room.has_room(row) for row in rows):
            return None
        if all(started.get(row, 0) == counts[row] for row in rows) and not self._is_elsewhere(snapshot, greedy):
            return None
        partitions = NodePartitions.of(snapshot, rows, _MOST_PARTITIONS)
        quanta = self.rules.quanta if self.has_time else 1
        available = partitions.available(snapshot, room, rows, quanta, self.rules.quantum_s)
        requests = {row: self._request(snapshot, room, row, partitions, available) for row in rows}
        horizon = self._horizon(requests.values())
        made = (expression_of(each, horizon) for each in requests.values())
        arrays, leaves = compile_requests(
            [each for each in made if each is not None],
            available,
            {row: each.count for row, each in requests.items() if not each.is_gang},
        )
        arrays = {**arrays, "gap": _GAP, "nodes": _MOST_NODES}
        return Problem("mixed-integer", greedy, arrays, _Notes(leaves, partitions, requests, horizon, available))

    def finish(self, now: Snapshot, problem: Problem, answer: object | None) -> Plan:
        """Grant what starts in the first quantum; what is planned for later waits, if all together is worth more."""
        n_variables, notes = len(np.asarray(problem.arrays["value"])), problem.notes
        if not isinstance(answer, np.ndarray) or answer.shape != (n_variables + 1,) or not np.isfinite(answer).all():
            return problem.greedy
        value = float(np.dot(np.asarray(problem.arrays["value"]), answer[:-1]))
        if not isinstance(notes, _Notes) or value < self._worth(now, problem.greedy, notes):
            return problem.greedy
        room = FreeCapacity(now)
        leaves = [(leaf, [round(float(answer[each])) for each in leaf.taken]) for leaf in notes.leaves]
        self._carry_out(
            now, room, [each for each in leaves if answer[each[0].chosen] > _LIKELY and any(each[1])], problem
        )
        found = room.plan()
        return Plan(found.grants, found.holds, made_by=MadeBy.BOUNDED, objective=value, bound=float(answer[-1]))

    # ------------------------------------------------------------------ what is started

    def _start(self, snapshot: Snapshot, room: FreeCapacity, rows: Sequence[int]) -> None:
        """Start requests as far as there is room, first where they would rather be; gangs whole."""
        for row in rows:
            is_gang, mark = snapshot.requests.numbers[RequestColumn.GANG, row], len(room.grants)
            if room.has_room(row):
                everywhere = np.flatnonzero(room.slots(row))
                self._fill(snapshot, room, row, everywhere, room.left(row))
            if is_gang and room.left(row):
                room.undo(mark)
                room.hold(row, _NO_ROOM)

    def _fill(self, snapshot: Snapshot, room: FreeCapacity, row: int, nodes: IntArray, count: int) -> int:
        """Grant on some nodes, first on those that the request names, as many there as it names them for."""
        placed = 0
        for node, wanted in preferred_nodes(snapshot, row).items():
            if node in nodes:
                placed += room.grant(row, node, min(wanted, count - placed), _CHOSEN)
        return placed + room.fill(row, nodes, count - placed, Reason(ReasonCode.ROOM))

    def _carry_out(self, now: Snapshot, room: FreeCapacity, leaves: Sequence[_Chosen], problem: Problem) -> None:
        """Grant what starts now, hold what is planned for later, and let the others start in between."""
        notes, later = problem.notes, dict[int, list[_Chosen]]()
        if not isinstance(notes, _Notes):
            return
        left = notes.available.astype(np.float64)
        for leaf, counts in leaves:
            if room.left(leaf.nodes.tag):  # else nobody wants it any more
                _take(left, leaf, counts)
                if leaf.nodes.start:
                    later.setdefault(leaf.nodes.tag, []).append((leaf, counts))
                else:
                    self._begin(now, room, leaf, counts, notes)
        for row in self._urgent_first(now, problem.greedy.turns.rows):
            if not self._is_choosy(now, row):
                for leaf, counts in later.get(row, ()):
                    _take(left, leaf, counts, -1)
                self._fill_gaps(now, room, row, left, notes)
                for leaf, counts in later.get(row, ()) if room.left(row) else ():
                    _take(left, leaf, counts)
        for row, planned in later.items():
            start = min(leaf.nodes.start for leaf, _ in planned)
            room.hold(row, _LATER, now.now_s + start * self.rules.quantum_s)

    def _begin(
        self, snapshot: Snapshot, room: FreeCapacity, leaf: CompiledLeaf, counts: Sequence[int], notes: _Notes
    ) -> None:
        """Grant what a leaf takes of each of its partitions; of a gang all of it, or nothing."""
        row, mark = leaf.nodes.tag, len(room.grants)
        wanted = min(sum(counts), room.left(row))
        placed = 0
        for partition, count in zip(leaf.nodes.partitions, counts, strict=True):
            nodes = notes.partitions.nodes([partition])
            placed += self._fill(snapshot, room, row, nodes, min(count, room.left(row)))
        if placed < wanted:  # pieces of several partitions that are too small
            nodes = notes.partitions.nodes(leaf.nodes.partitions)
            placed += self._fill(snapshot, room, row, nodes, wanted - placed)
        if notes.requests[row].is_gang and placed < leaf.nodes.count:
            room.undo(mark)
            room.hold(row, _NO_ROOM)

    def _fill_gaps(self, snapshot: Snapshot, room: FreeCapacity, row: int, left: FloatArray, notes: _Notes) -> None:
        """Start what may start anywhere and container by container, as far as it is in no planned start's way.

        A solver leaves a few hundredths of what all is worth, which is more than anything without a deadline.
        """
        size = np.array(snapshot.requests.needs[row].demand, dtype=np.float64)
        takes_s = float(snapshot.requests.times[RequestTime.EXPECTED_S, row]) or self.rules.quantum_s
        until = notes.horizon.quanta_of(takes_s)
        needs = size > 0.0
        for partition in range(notes.partitions.count) if needs.any() else ():
            fits = left[partition, :until, needs] / size[needs, np.newaxis]
            count = min(room.left(row), int(fits.min()))
            if count > 0 and room.has_room(row):
                placed = self._fill(snapshot, room, row, notes.partitions.nodes([partition]), count)
                left[partition, :until] -= placed * size

    # ------------------------------------------------------------------ what is wanted

    def _is_choosy(self, snapshot: Snapshot, row: int) -> bool:
        """Return whether a request starts whole, or would rather be somewhere."""
        is_gang = bool(snapshot.requests.numbers[RequestColumn.GANG, row])
        return is_gang or (self._slowdown(snapshot, row) > 1.0 and bool(preferred_nodes(snapshot, row)))

    def _is_planned(self, snapshot: Snapshot, row: int) -> bool:
        """Return whether a request may gain by being planned together with others."""
        return self._is_choosy(snapshot, row) or (self.has_time and _slack_s(snapshot, row) < math.inf)

    def _is_elsewhere(self, snapshot: Snapshot, plan: Plan) -> bool:
        """Return whether a plan starts anything away from where it would rather be, or a gang that wants a shape."""
        return any(_wishes(snapshot, row).shape is not GangShape.ANY for row in plan.granted()) or any(
            self._is_choosy(snapshot, grant.request)
            and (liked := preferred_nodes(snapshot, grant.request))
            and grant.place not in liked
            for grant in plan.grants
        )

    def _urgent_first(self, snapshot: Snapshot, rows: Sequence[int]) -> list[int]:
        """Sort requests by slack; those that have none to lose stay in their turn."""
        return sorted(rows, key=lambda row: _slack_s(snapshot, row)) if self.has_time else list(rows)

    def _slowdown(self, snapshot: Snapshot, row: int) -> float:
        return _wishes(snapshot, row).slowdown or self.rules.slowdown

    def _request(
        self, snapshot: Snapshot, room: FreeCapacity, row: int, partitions: NodePartitions, available: IntArray
    ) -> SpaceTimeRequest:
        """Put a request into the words of the wizard.

        Of what need not start together so many are planned as the window could hold.
        """
        numbers, times, size = snapshot.requests.numbers, snapshot.requests.times, snapshot.requests.needs[row].demand
        count, is_gang = int(numbers[RequestColumn.COUNT, row]), bool(numbers[RequestColumn.GANG, row])
        total = available.sum(axis=0).max(axis=0)
        most = min((int(has) // amount for has, amount in zip(total, size, strict=True) if amount > 0), default=0)
        slots, slowdown = room.slots(row), self._slowdown(snapshot, row)
        may = tuple(np.unique(partitions.of_node[slots > 0]).tolist()) if not self.has_time else ()
        anywhere = may or tuple(range(partitions.count))
        preferred = partitions.preferred.get(row, ()) if slowdown > 1.0 else ()
        waited_s = max(0.0, snapshot.now_s - float(times[RequestTime.SINCE_S, row]))
        wishes = _wishes(snapshot, row)
        return SpaceTimeRequest(
            tag=row,
            count=count if is_gang else max(1, min(count, most)),
            size=tuple(map(float, size)),
            is_gang=is_gang,
            duration_s=float(times[RequestTime.EXPECTED_S, row]) or self.rules.quantum_s,
            slowdown=slowdown,
            preferred=tuple(each for each in preferred if each in anywhere),
            anywhere=anywhere,
            clusters=partitions.clusters,
            fits_now=tuple(
                np.bincount(partitions.of_node, weights=slots, minlength=partitions.count).astype(int).tolist()
            ),
            weight=wishes.budget * (1.0 + waited_s / self.rules.quantum_s),
            left_s=_left_s(snapshot, row),
            wishes=wishes,
        )

    def _horizon(self, requests: Iterable[SpaceTimeRequest]) -> PlanHorizon:
        """The window; the worth of what has no deadline falls to nothing well after all of it has ended."""
        rules = self.rules
        if not self.has_time:
            return PlanHorizon((0,), 1, rules.quantum_s, 0.0, 0.0)
        longest_s = max((each.duration_s * each.slowdown for each in requests), default=0.0)
        ends_s = 2.0 * (rules.quanta * rules.quantum_s + longest_s)
        return PlanHorizon(rules.starts, rules.quanta, rules.quantum_s, rules.deadline_value, ends_s)

    def _worth(self, snapshot: Snapshot, plan: Plan, notes: _Notes) -> float:
        """Worth of what a plan starts, by the same values; of a gang only whole."""
        near, granted = dict[int, int](), plan.granted()
        for grant in plan.grants:
            liked = preferred_nodes(snapshot, grant.request)
            near[grant.request] = near.get(grant.request, 0) + (grant.count if grant.place in liked else 0)
        return sum(
            self._worth_of(each, granted[row], near[row], notes)
            for row, each in notes.requests.items()
            if row in granted
        )

    def _worth_of(self, request: SpaceTimeRequest, count: int, near: int, notes: _Notes) -> float:
        fast, slow = request.duration_s, request.duration_s * request.slowdown
        there = value_of_end(request, fast, notes.horizon)
        is_alike = not request.preferred and request.wishes.shape is GangShape.ANY
        elsewhere = there if is_alike else value_of_end(request, slow, notes.horizon, is_preferred=False)
        if request.is_gang:
            whole = count >= request.count
            return (there if near >= count else elsewhere) if whole else 0.0
        near = min(near, count)
        return (near * there + (count - near) * elsewhere) / request.count


def _take(left: FloatArray, leaf: CompiledLeaf, counts: Sequence[int], sign: int = 1) -> None:
    """Take what a leaf uses off what is left, quantum by quantum; or give it back."""
    nodes = leaf.nodes
    for partition, count in zip(nodes.partitions, counts, strict=True):
        left[partition, nodes.start : nodes.start + nodes.length] -= sign * count * np.array(nodes.size)


def _wishes(snapshot: Snapshot, row: int) -> JobWishes:
    return snapshot.knowledge.wishes.get(int(snapshot.requests.numbers[RequestColumn.JOB, row]), NO_WISHES)


def _left_s(snapshot: Snapshot, row: int) -> float:
    """Seconds to a deadline that can be met, or missed by no more than is tolerated; else infinite."""
    deadline_s, needs_s = snapshot.requests.times[[RequestTime.DEADLINE_S, RequestTime.EXPECTED_S], row].tolist()
    left_s = float(deadline_s - snapshot.now_s)
    return left_s if left_s - needs_s + _wishes(snapshot, row).tolerance_s >= 0.0 else math.inf


def _slack_s(snapshot: Snapshot, row: int) -> float:
    """Seconds for which a request may wait and meet its deadline yet; infinite without one.

    A deadline that is lost is none: it is no reason to hurry, nor to keep anything free.
    """
    left_s = _left_s(snapshot, row)
    return left_s if math.isinf(left_s) else left_s - float(snapshot.requests.times[RequestTime.EXPECTED_S, row])


def tetrisched(rules: SpaceTimeRules) -> Policy:
    """TetriSched with another window or other values."""
    both = SpaceTime(rules)
    return Policy(
        "tetrisched",
        Ordering(first_come),
        Placement(CellChoice.BY_ROOM, kernel=both, rank=both.rank),
        summary="what starts now is chosen together with what starts later, so that deadlines are met",
        source="Tumanov et al., EuroSys 2016",
        needs=frozenset({Fact.DEADLINES, Fact.ESTIMATES}),
        uses=frozenset({Fact.LOCALITY}),
        solver=both,
        solves_gangs=True,
        plans_in_cycles=True,
        rules=rules,
        remake=tetrisched,
    )


TETRISCHED = tetrisched(SpaceTimeRules())


@dataclass(frozen=True, slots=True)
class UtilityRules:
    """What is worth how much."""

    slowdown: float = parameter(
        1.5,
        least=1.0,
        most=1000.0,
        meaning="How much less a place that an ask does not name is worth, where no tag `heddle-slowdown` says it.",
    )
    solves: bool = parameter(
        default=True,
        meaning="Whether the utility of all together is made as large as can be; else requests choose one by one.",
    )
    most_requests: int = parameter(
        40,
        unit="requests",
        least=1,
        most=10_000,
        meaning="So many of the first are weighed together; the others have what is left.",
    )


def alsched(rules: UtilityRules) -> Policy:
    both = SpaceTime(
        SpaceTimeRules(quanta=1, most_requests=rules.most_requests, slowdown=rules.slowdown),
        has_time=False,
        solves=rules.solves,
    )
    return Policy(
        "alsched",
        Ordering(first_come),
        Placement(CellChoice.BY_ROOM, kernel=both, rank=both.rank),
        summary="scarce places go to those who would lose most without them; the others start elsewhere at once",
        source="Tumanov et al., SoCC 2012",
        needs=frozenset({Fact.LOCALITY}),
        uses=frozenset({Fact.DEADLINES}),
        solver=both,
        solves_gangs=True,
        plans_in_cycles=rules.solves,
        rules=rules,
        remake=alsched,
    )


ALSCHED = alsched(UtilityRules())
