"""Problems of the cycles of queues, solved one at a time for each queue while everything else goes on."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import structlog

from shim.ports.solver import Solve
from shim.scheduling.solving import StatedProblems

_log = structlog.get_logger("heddle.scheduling")

_LONGEST_PAUSE = 63
"""Cycles that go by their own plans at most before a solver that does not answer is asked again."""


class QueueSolves:
    """Problems and answers of the cycles of queues.

    A queue whose problems have no answer in time asks for none in its next cycle, then in the next 3, 7, ...: where a
    pool is too large for the solver, hardly any cycle waits for it.

    Args:
        solve: Reaches the solvers.
        limit_s: Seconds for each problem.
        is_due: The queue's cycle goes on: there is an answer, or there will be none.

    Attributes:
        unsolved: Problems without one in time.
    """

    def __init__(self, solve: Solve, limit_s: float, is_due: Callable[[str], None]) -> None:
        self._solve = solve
        self._limit_s = limit_s
        self._is_due = is_due
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._answered: dict[str, StatedProblems] = {}
        self._changed: set[str] = set()
        self._pauses: dict[str, int] = {}
        self._left: dict[str, int] = {}
        self.solved = 0
        self.unsolved = 0

    @property
    def solving(self) -> int:
        return len(self._busy)

    def is_busy(self, queue: str) -> bool:
        """Return whether the queue's cycle waits for an answer; another one is due then, as something has changed."""
        if queue in self._busy:
            self._changed.add(queue)
        return queue in self._busy

    def has_answer(self, queue: str) -> bool:
        """Return whether the queue's next cycle has an answer to go by."""
        return queue in self._answered

    def pauses(self, queue: str) -> bool:
        """Return whether the queue's cycle is to ask for nothing, as there was no answer lately; counts the cycle."""
        left = self._left.get(queue, 0)
        self._left[queue] = max(0, left - 1)
        return left > 0

    def begin(self, queue: str, stated: StatedProblems) -> None:
        self._busy[queue] = asyncio.create_task(self._run(queue, stated), name=f"solve {queue}")

    def take(self, queue: str) -> StatedProblems | None:
        """Hand over the answers for a queue, once; None if nothing was asked."""
        found = self._answered.pop(queue, None)
        if found is not None and queue in self._changed:
            self._changed.discard(queue)
            self._is_due(queue)
        return found

    def close(self) -> None:
        for each in self._busy.values():
            each.cancel()
        self._busy.clear()

    async def _run(self, queue: str, stated: StatedProblems) -> None:
        answers: dict[bool, object] = {}
        for has_label, problem in stated.problems.items():
            try:
                answer = await self._solve(problem.solver, problem.arrays, self._limit_s)
            except Exception:  # noqa: BLE001 - the task's boundary: else the queue would wait for ever
                _log.exception("a solver failed", queue=queue)
                answer = None
            if answer is not None:
                answers[has_label] = answer
        self._count(queue, len(answers), len(stated.problems) - len(answers))
        self._busy.pop(queue, None)
        self._answered[queue] = replace(stated, answers=answers)
        self._is_due(queue)

    def _count(self, queue: str, solved: int, unsolved: int) -> None:
        self.solved += solved
        self.unsolved += unsolved
        pause = min(2 * self._pauses.get(queue, 0) + 1, _LONGEST_PAUSE) if unsolved else 0
        self._pauses[queue] = self._left[queue] = pause
