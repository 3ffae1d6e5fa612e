"""Keeps former runs of recurring jobs in the store, so that a restart of Heddle, or another owner of a queue, has them.

What is kept is a prediction's ground, not a promise: what cannot be read is as if the job had never run.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import structlog

from shim.errors import StoreError
from shim.ports.clock import Clock
from shim.ports.queue_stores import FormerRunStore, KeptRun
from shim.scheduling.durations import FormerRun, FormerRuns, KnownRun
from shim.scheduling.former_runs import FormerStage

_log = structlog.get_logger("heddle.queues")
_TURN_S = 10.0
_LISTEN_EVERY_S = 60.0
_FORGET_EVERY_S = 3600.0
_OVERLAP_MS = 120_000
"""Clocks of other processes may be behind by as much: what they wrote meanwhile is read twice."""
RUNS_KEPT_FOR_MS = 400 * 24 * 3_600_000
MOST_KEPT = 16 * 1024
_Key = tuple[str, str]


class FormerRunKeeping:
    """Writes what was learnt, and reads what others wrote. `run` does it for ever, `turn` once.

    Args:
        runs: Of all queues.
        store: Where they are kept.
        clock: For times.
    """

    def __init__(self, runs: FormerRuns, store: FormerRunStore, clock: Clock) -> None:
        self._runs = runs
        self._store = store
        self._clock = clock
        self._due: dict[_Key, KnownRun] = {}
        self._read_to_ms = 0
        self._listen_at_s = float("-inf")
        self._forget_at_s = float("-inf")

    async def run(self) -> None:
        """Keep until cancelled."""
        while True:
            await self.turn()
            await self._clock.sleep(_TURN_S)

    async def turn(self) -> None:
        """Write what has changed, and now and then read; what the store does not take now is written later."""
        now_s = self._clock.now_s()
        now_ms = int(now_s * 1000)
        self._due |= self._runs.changed()
        due = self._due = dict(list(self._due.items())[-MOST_KEPT:])
        try:
            if due:
                await self._store.keep([_kept(key, known, now_ms) for key, known in due.items()])
                self._due = {}
            if now_s >= self._listen_at_s:
                await self._listen(now_ms)
                self._listen_at_s = now_s + _LISTEN_EVERY_S
            if now_s >= self._forget_at_s:
                await self._store.forget(now_ms - RUNS_KEPT_FOR_MS, MOST_KEPT)
                self._forget_at_s = now_s + _FORGET_EVERY_S
        except StoreError as exc:
            _log.warning("former runs of jobs are not kept, or not read, yet", runs=len(self._due), reason=str(exc))

    async def _listen(self, now_ms: int) -> None:
        for kept in await self._store.since(self._read_to_ms, MOST_KEPT):
            for key, known in _read(kept.text):
                self._runs.restore(key, known)
        self._read_to_ms = max(self._read_to_ms, now_ms - _OVERLAP_MS)


def _kept(key: _Key, known: KnownRun, now_ms: int) -> KeptRun:
    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()
    run = None if known.run is None else [known.run.containers, known.run.container_s, known.run.runs]
    stages = [
        [stage.durations_s, stage.n_tasks, stage.parents, stage.queued_s, stage.begins_s, stage.ends_s]
        for stage in known.stages
    ]
    return KeptRun(name, now_ms, json.dumps({"queue": key[0], "job": key[1], "run": run, "stages": stages}))


def _read(text: str) -> Iterator[tuple[_Key, KnownRun]]:
    """What a text says, if it says anything: rows of the store may be of any hand."""
    try:
        told = json.loads(text)
        run = None if told["run"] is None else _run(told["run"])
        stages = tuple(_stage(number, row) for number, row in enumerate(told["stages"]))
        key = str(told["queue"]), str(told["job"])
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError):
        _log.warning("a former run that is kept cannot be read", beginning=text[:100])
        return
    yield key, KnownRun(run, stages)


def _run(row: Sequence[Any]) -> FormerRun:
    containers, container_s, runs = int(row[0]), _seconds(row[1]), int(row[2])
    if containers < 1 or runs < 1:
        raise ValueError("a run has a container at least")
    return FormerRun(containers, container_s, runs)


def _stage(number: int, row: Sequence[Any]) -> FormerStage:
    durations_s, n_tasks = tuple(map(_seconds, row[0])), int(row[1])
    parents = tuple(map(int, row[2]))
    if not durations_s or n_tasks < 1 or any(not 0 <= parent < number for parent in parents):
        raise ValueError("a stage has a task at least, and comes after its parents")
    return FormerStage(durations_s, n_tasks, parents, *map(_seconds, row[3:6]))


def _seconds(value: Any) -> float:
    found = float(value)
    if not math.isfinite(found) or found < 0.0:
        raise ValueError("a length of time is a number, and not below 0")
    return found
