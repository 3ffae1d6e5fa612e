"""Delay scheduling: a request that could not start at its data is passed by for a while, instead of starting far away.

A request waits for a node that it named, then for a rack, each for so many seconds or so many *skips* (nodes with room
that were passed by), whichever ends first. Once it has started at a level it may go on there; nearer resets it.

Source: Zaharia et al., EuroSys 2010, algorithm 2 and section 4.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shim.scheduling.durations import FloatArray
from shim.scheduling.free_capacity import FreeCapacity
from shim.scheduling.locality import Nearness, Places, places_of
from shim.scheduling.parameters import parameter
from shim.scheduling.plan import Plan, Reason, ReasonCode
from shim.scheduling.policy import CellChoice, Fact, Ordering, Placement, Policy, fewest_running
from shim.scheduling.snapshot import Column, IntArray, RequestColumn, RequestTime, Snapshot

_NAME = "delay"
_PREFERRED, _ROOM = Reason(ReasonCode.PREFERRED), Reason(ReasonCode.ROOM)
_MOST_OF_A_TASK = 0.5


@dataclass(frozen=True, slots=True)
class DelayRules:
    """Waits of a request."""

    node_s: float = parameter(
        5.0,
        unit="s",
        section="section 4 (W1)",
        meaning="How long it waits for a named node; never more than half of what a container is expected to run.",
    )
    rack_s: float = parameter(5.0, unit="s", section="section 4 (W2)", meaning="How much longer for a named rack.")
    node_skips: float = parameter(
        math.inf,
        unit="nodes",
        section="algorithm 2 (D1)",
        meaning="Nodes with free capacity that it passes by for a named one.",
    )
    rack_skips: float = parameter(
        math.inf, unit="nodes", section="section 3.5 (D2)", meaning="Nodes more that it lets pass for a named rack."
    )


@dataclass(slots=True)
class _Wait:
    """Standing of one request; `of` tells it from a later one in the same row."""

    of: tuple[float, ...]
    level: int = Nearness.NODE
    since_s: float | None = None
    skips: int = 0

    def reset(self, level: int) -> None:
        self.level, self.since_s, self.skips = level, None, 0


@dataclass(frozen=True, slots=True)
class _Kernel:
    """See the module."""

    rules: DelayRules

    def __call__(self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[int]) -> Plan:
        room, before = FreeCapacity(snapshot), memory.get(_NAME)
        waits = before if isinstance(before, dict) else {}
        kept: dict[int, _Wait] = {}
        for row in turns:
            identity = _identity(snapshot, row)
            wait = waits.get(row)
            if not isinstance(wait, _Wait) or wait.of != identity:
                wait = _Wait(identity)
            kept[row] = wait
            if room.has_room(row):
                places = places_of(snapshot, snapshot.requests.prefers(row))
                self._place(snapshot, room, row, places, wait)
        memory[_NAME] = kept
        return room.plan()

    def _place(self, snapshot: Snapshot, room: FreeCapacity, request: int, places: Places, wait: _Wait) -> None:
        is_strict = bool(snapshot.requests.numbers[RequestColumn.STRICT, request])
        if places.is_empty and not is_strict:
            room.fill(request, np.flatnonzero(room.slots(request)), room.left(request), _ROOM)
            return
        for node, count in zip(places.nodes.tolist(), places.counts.tolist(), strict=True):
            if room.grant(request, node, min(count, room.left(request)), _PREFERRED):
                wait.reset(Nearness.NODE)
        limits = self._limits(snapshot, request)
        if wait.since_s is not None:
            wait.since_s = min(wait.since_s, snapshot.now_s)  # the clock may have been set back
        for level, nodes in ((Nearness.RACK, places.near), (Nearness.ANY, np.arange(len(snapshot.nodes)))):
            if is_strict and level == Nearness.ANY:
                break
            self._beyond(snapshot, room, request, nodes, wait, level, limits[self._level(wait, places) : level])
        if room.left(request) and wait.since_s is not None:
            ends_s = wait.since_s + np.cumsum(limits[self._level(wait, places) :, 0])
            self._hold(snapshot, room, request, ends_s.tolist())

    def _hold(self, snapshot: Snapshot, room: FreeCapacity, request: int, ends_s: Sequence[float]) -> None:
        """Let the rest wait: until the next level counts, and for the last one at most."""
        left_s = max(0.0, ends_s[-1] - snapshot.now_s) if ends_s else 0.0
        later = (end_s for end_s in ends_s if snapshot.now_s < end_s < math.inf)
        room.hold(request, Reason(ReasonCode.WAITS_FOR_PLACE, (("left_s", left_s),)), next(later, None))

    def _beyond(
        self,
        snapshot: Snapshot,
        room: FreeCapacity,
        request: int,
        nodes: IntArray,
        wait: _Wait,
        level: int,
        limits: FloatArray,
    ) -> None:
        """Start what is left farther from its data, on the nodes that come after it has waited long enough.

        `limits` are those of the levels that it has to wait for: float64 array of shape (n_levels, 2).
        """
        found = nodes[room.slots(request)[nodes] > 0]
        if not room.left(request) or not found.size:
            return
        if len(limits):
            if wait.since_s is None:
                wait.since_s = snapshot.now_s
            waited_s, skips = limits.sum(axis=0)
            if snapshot.now_s - wait.since_s < waited_s:
                n_passed = int(min(len(found), max(0.0, skips - wait.skips)))
                if level == Nearness.ANY:
                    wait.skips += n_passed
                found = found[n_passed:]
        if room.fill(request, found, room.left(request), _PREFERRED if level == Nearness.RACK else _ROOM):
            wait.reset(level)

    def _level(self, wait: _Wait, places: Places) -> int:
        """Return how near it has to be by now; whoever names no node that is known has none to wait for."""
        return max(wait.level, Nearness.NODE if places.nodes.size else Nearness.RACK)

    def _limits(self, snapshot: Snapshot, request: int) -> FloatArray:
        """[seconds, skips] for a node and for a rack: float64 array of shape (2, 2)."""
        rules = self.rules
        limits = np.array([[rules.node_s, rules.node_skips], [rules.rack_s, rules.rack_skips]])
        expected_s = float(snapshot.requests.times[RequestTime.EXPECTED_S, request])
        total_s = float(limits[:, 0].sum())
        if math.isfinite(total_s) and 0.0 < _MOST_OF_A_TASK * expected_s < total_s:
            limits[:, 0] *= _MOST_OF_A_TASK * expected_s / total_s
        return limits


def _identity(snapshot: Snapshot, request: int) -> tuple[float, ...]:
    numbers = snapshot.requests.numbers
    job = int(numbers[RequestColumn.JOB, request])
    return (job, snapshot.jobs[Column.ARRIVED_S, job], float(numbers[RequestColumn.PRIORITY, request]))


def delay_scheduling(rules: DelayRules) -> Policy:
    return Policy(
        _NAME,
        Ordering(fewest_running),
        Placement(CellChoice.BY_ROOM, kernel=_Kernel(rules)),
        summary="waits for a node that holds the data, then for its rack, before it starts elsewhere",
        source="Zaharia et al., EuroSys 2010",
        needs=frozenset({Fact.LOCALITY}),
        rules=rules,
        remake=delay_scheduling,
    )


DELAY = delay_scheduling(DelayRules())
