"""TetriSched: what starts now is chosen together with what starts later, so that deadlines are met.

Each request is a gang of its count for its expected time, worth `deadline_value` up to its deadline, or less and less
if it has none. All starts within the window are one program (`strl.py`); what it starts now is granted, the rest is
planned again. Without an answer, who has least slack goes first, and nothing is planned ahead.

Source: Tumanov et al., EuroSys 2016.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shim.scheduling.open_room import OpenRoom
from shim.scheduling.orderings import first_come
from shim.scheduling.parameters import parameter
from shim.scheduling.plan import MadeBy, Plan, Reason, ReasonCode, Turn
from shim.scheduling.policy import CellChoice, Fact, NodeChoice, Ordering, Placement, Policy, Problem
from shim.scheduling.ranking import waiting_after
from shim.scheduling.snapshot import IntArray, RequestColumn, RequestTime, Snapshot
from shim.scheduling.strl import Most, NodesFor, compile_requests

__all__ = ["TETRISCHED", "SpaceTimeRules", "tetrisched"]

_LATER = Reason(ReasonCode.POLICY, (("text", "a later start leaves more deadlines met"),))
_NO_ROOM = Reason(ReasonCode.NO_ROOM)
_CHOSEN, _GAP, _MOST_NODES = 0.5, 0.05, 20


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
    starts: tuple[int, ...] = (0, 1, 2, 3, 4, 6, 8, 10)


@dataclass(frozen=True, slots=True)
class SpaceTime:
    """Kernel and solver of the policy."""

    rules: SpaceTimeRules

    def __call__(self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[Turn]) -> Plan:  # noqa: ARG002
        """Start whole requests, who has a deadline first, by slack."""
        room = OpenRoom(snapshot)
        self._start(snapshot, room, self._urgent_first(snapshot, [turn.request for turn in turns]))
        return room.plan()

    def rank(
        self,
        snapshot: Snapshot,
        memory: dict[str, object],  # noqa: ARG002 - the signature of ranks
        turns: Sequence[Turn],
        plan: Plan,
    ) -> Sequence[tuple[int, int]]:
        """Rank what waits as it would start; see `RankKernel`.

        Nothing while a deadline is to be met: what comes free may be for a start that is planned for later.
        """
        left = {turn.request: count for turn, count in waiting_after(snapshot, turns, plan)}
        if any(_slack_s(snapshot, row) < math.inf for row in snapshot.requests.live.tolist()):
            return ()
        return list(left.items())

    def prepare(self, snapshot: Snapshot, greedy: Plan) -> Problem | None:
        """State the program of the most urgent; None if nothing is gained by planning ahead.

        That is if all of them have started already, if nothing fits now, and where neither a deadline is to be met nor
        a gang waits: whatever a later start keeps free then would only stay idle.
        """
        waiting = [turn.request for turn in greedy.turns]
        if not any(self._is_planned(snapshot, row) for row in waiting):
            return None
        rows = self._urgent_first(snapshot, waiting)[: self.rules.most_requests]
        started = greedy.granted()
        counts = snapshot.requests.numbers[RequestColumn.COUNT]
        room = OpenRoom(snapshot)
        if all(started.get(row, 0) == counts[row] for row in rows) or not any(room.has_room(row) for row in rows):
            return None
        available = self._available(snapshot, room, rows)
        leaves = [Most(tuple(self._leaves(snapshot, room, row, available[0]))) for row in rows]
        arrays, chosen = compile_requests([each for each in leaves if each.parts], available)
        arrays = {**arrays, "gap": _GAP, "nodes": _MOST_NODES}
        return Problem("mixed-integer", greedy, arrays, tuple((leaf.tag, leaf.start, at) for leaf, at in chosen))

    def finish(self, now: Snapshot, problem: Problem, answer: object | None) -> Plan:
        """Grant what starts in the first quantum; what is planned for later waits, if all together is worth more."""
        n_variables = len(np.asarray(problem.arrays["value"]))
        if not isinstance(answer, np.ndarray) or answer.shape != (n_variables + 1,) or not np.isfinite(answer).all():
            return problem.greedy
        value = float(np.dot(np.asarray(problem.arrays["value"]), answer[:-1]))
        if not isinstance(problem.notes, tuple) or value < self._worth(now, problem.greedy):
            return problem.greedy
        starts = {row: start for row, start, variable in problem.notes if answer[variable] > _CHOSEN}
        room = OpenRoom(now)
        self._start(now, room, [row for row in starts if not starts[row]])
        self._wait(now, room, {row: start for row, start in starts.items() if start})
        if not any(starts.values()):
            others = [turn.request for turn in problem.greedy.turns if turn.request not in starts]
            self._start(now, room, self._urgent_first(now, others))
        found = room.plan()
        return Plan(found.grants, found.holds, made_by=MadeBy.BOUNDED, objective=value, bound=float(answer[-1]))

    def _start(self, snapshot: Snapshot, room: OpenRoom, rows: Sequence[int]) -> None:
        for row in rows:
            if snapshot.requests.numbers[RequestColumn.GANG, row]:
                if not (room.has_room(row) and room.together([row])):
                    room.hold(row, _NO_ROOM)
            elif room.has_room(row):
                room.fill(row, np.flatnonzero(room.slots(row)), room.left(row), Reason(ReasonCode.ROOM))

    def _wait(self, snapshot: Snapshot, room: OpenRoom, starts: Mapping[int, int]) -> None:
        """Hold what is planned for later; what need not start together has what is left, the next one before others."""
        is_first = not any(snapshot.requests.numbers[RequestColumn.GANG, row] for row in starts)
        for row in sorted(starts, key=starts.__getitem__):
            if is_first:
                self._start(snapshot, room, [row])
                is_first = not room.left(row)
            room.hold(row, _LATER, snapshot.now_s + starts[row] * self.rules.quantum_s)

    def _is_planned(self, snapshot: Snapshot, row: int) -> bool:
        """Tell whether a request may gain by what is planned ahead."""
        return bool(snapshot.requests.numbers[RequestColumn.GANG, row]) or _slack_s(snapshot, row) < math.inf

    def _urgent_first(self, snapshot: Snapshot, rows: Sequence[int]) -> list[int]:
        """Sort requests by slack; those that have none to lose stay in their turn."""
        return sorted(rows, key=lambda row: _slack_s(snapshot, row))

    def _leaves(self, snapshot: Snapshot, room: OpenRoom, row: int, available: IntArray) -> list[NodesFor]:
        """Every start that is planned of a request: of all of it if it is a gang, else of so many at most.

        `available` has the shape (n_quanta, n_types). Now it starts only if it fits on nodes: of many small pieces the
        sum would be enough for a large container, too.
        """
        count, gang = snapshot.requests.numbers[[RequestColumn.COUNT, RequestColumn.GANG], row].tolist()
        size = snapshot.requests.needs[row].demand
        most = min((int(has) // amount for has, amount in zip(available.max(axis=0), size, strict=True) if amount > 0))
        count = count if gang else min(count, most)
        first = 0 if count <= int(room.slots(row).sum()) else 1
        starts = [start for start in self.rules.starts if first <= start < self.rules.quanta]
        length = max(1, math.ceil(float(snapshot.requests.times[RequestTime.EXPECTED_S, row]) / self.rules.quantum_s))
        amounts = tuple(map(float, size))
        return [NodesFor((0,), count, at, length, self._value(snapshot, row, at), row, amounts) for at in starts]

    def _value(self, snapshot: Snapshot, row: int, start: int) -> float:
        times = snapshot.requests.times
        ends_s = snapshot.now_s + start * self.rules.quantum_s + float(times[RequestTime.EXPECTED_S, row])
        if ends_s <= float(times[RequestTime.DEADLINE_S, row]) < math.inf:
            return self.rules.deadline_value * (1.0 - 1e-3 * start)
        waited_s = max(0.0, snapshot.now_s - float(times[RequestTime.SINCE_S, row]))
        return (1.0 + waited_s / self.rules.quantum_s) * (1.0 - start / (2.0 * self.rules.quanta))

    def _worth(self, snapshot: Snapshot, plan: Plan) -> float:
        counts = snapshot.requests.numbers[RequestColumn.COUNT]
        started = plan.granted()
        return sum(self._value(snapshot, row, 0) for row, count in started.items() if count == counts[row])

    def _available(self, snapshot: Snapshot, room: OpenRoom, rows: Sequence[int]) -> IntArray:
        """Count what is free of each resource type, and what is expected to come free, by quantum.

        Of each node as much as any of the requests could use: int64 array of shape (1, n_quanta, n_types). Places of
        one size would count small containers as large ones.
        """
        needs = snapshot.requests.needs
        usable = [np.multiply.outer(room.slots(row), np.array(needs[row].demand, dtype=np.int64)) for row in rows]
        free: IntArray = np.max(usable, axis=0).sum(axis=0)
        found = np.tile(free, (self.rules.quanta, 1))
        running = snapshot.running
        ends_s = np.maximum(running.since_s + running.expected_s, snapshot.now_s + 1.0) - snapshot.now_s
        for end, demand in zip(np.ceil(ends_s / self.rules.quantum_s).tolist(), running.demand, strict=True):
            if end < self.rules.quanta:
                found[int(end) :] += demand
        return found[np.newaxis]


def _slack_s(snapshot: Snapshot, row: int) -> float:
    """Seconds for which a request may wait and meet its deadline yet; infinite without one.

    A deadline that is lost is none: it is no reason to hurry, nor to keep anything free.
    """
    deadline_s, needs_s = snapshot.requests.times[[RequestTime.DEADLINE_S, RequestTime.EXPECTED_S], row].tolist()
    left_s = float(deadline_s - snapshot.now_s - needs_s)
    return left_s if left_s >= 0.0 else math.inf


def tetrisched(rules: SpaceTimeRules) -> Policy:
    """TetriSched with another window or other values."""
    both = SpaceTime(rules)
    return Policy(
        "tetrisched",
        Ordering(first_come),
        Placement(CellChoice.BY_ROOM, NodeChoice.PACK, kernel=both, rank=both.rank),
        summary="what starts now is chosen together with what starts later, so that deadlines are met",
        source="Tumanov et al., EuroSys 2016",
        needs=frozenset({Fact.DEADLINES, Fact.ESTIMATES}),
        solver=both,
        solves_gangs=True,
        rules=rules,
        remake=tetrisched,
    )


TETRISCHED = tetrisched(SpaceTimeRules())
