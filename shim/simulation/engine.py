"""A discrete-event engine: a queue of actions in simulated time, nothing else.

Contract

- Time is a float of seconds and never runs backwards. `Engine.now_s` is the only clock of a simulation.
- `at` and `after` put an action (any callable, with its arguments) into the queue. Actions run in the order of
  (time, sequence): two actions of the same instant run in the order in which they were put there. A run is therefore
  a function of its inputs and seeds: the same actions give the same run, on any machine.
- An action runs to its end before the next one starts, and may put further actions into the queue, also for the
  present instant. It may not put one into the past.
- `run` goes on until the queue is empty, `until_s` is reached, or an action called `stop`.
- The engine holds no random source. Whoever needs one makes `random.Random(seed)` or a numpy `Generator`, one for
  each purpose, so that drawing once more in one place does not change the numbers of another (`seeded`).

Periodic things (heartbeats) put their own next occurrence into the queue and stop doing so when the last job has
ended (`JobLedger.is_done`), else a run would never end.

A pure master (events in, effects out) is driven by a shell of a few lines: an action builds the event with `now_s`,
calls `handle`, and turns each effect into `Network.send` (a message to another master) or `Engine.after` (the end of
a task).
"""

import heapq
import random
from collections.abc import Callable

from shim.errors import InvariantViolationError

_Entry = tuple[float, int, Callable[..., object], tuple[object, ...]]


def seeded(seed: int, purpose: str) -> random.Random:
    """A random source of its own for one purpose of one run.

    The text is hashed by `random.Random` itself (SHA-512), which does not change between processes or versions.
    """
    return random.Random(f"{seed}/{purpose}")  # noqa: S311 - draws workloads and samples, guards nothing


class Engine:
    """Runs actions in the order of (time, sequence).

    Attributes:
        now_s: Simulated time in seconds; the time of the action that runs now, or of the last one.
    """

    __slots__ = ("_queue", "_sequence", "_stopped", "actions_run", "now_s")

    def __init__(self, start_s: float = 0.0) -> None:
        self.now_s = start_s
        self.actions_run = 0
        self._queue: list[_Entry] = []
        self._sequence = 0
        self._stopped = False

    def __len__(self) -> int:
        return len(self._queue)

    def at(self, at_s: float, action: Callable[..., object], *arguments: object) -> None:
        """Run `action(*arguments)` at the instant `at_s`.

        Raises:
            InvariantViolationError: If `at_s` lies in the past or is not a number.
        """
        if not at_s >= self.now_s:
            raise InvariantViolationError(f"an action was put at {at_s!r} s, but it is {self.now_s!r} s already")
        self._sequence += 1
        heapq.heappush(self._queue, (at_s, self._sequence, action, arguments))

    def after(self, delay_s: float, action: Callable[..., object], *arguments: object) -> None:
        """Run `action(*arguments)` when `delay_s` seconds have passed.

        Raises:
            InvariantViolationError: If `delay_s` is negative or not a number.
        """
        if not delay_s >= 0.0:
            raise InvariantViolationError(f"an action was put {delay_s!r} s ahead: a delay is zero or more")
        self._sequence += 1
        heapq.heappush(self._queue, (self.now_s + delay_s, self._sequence, action, arguments))

    def stop(self) -> None:
        """End `run` after the present action; what waits stays in the queue."""
        self._stopped = True

    def run(self, until_s: float = float("inf")) -> None:
        """Run actions until none is left, `stop` is called, or the next one lies beyond `until_s`."""
        queue = self._queue
        pop = heapq.heappop
        self._stopped = False
        while queue and not self._stopped:
            if queue[0][0] > until_s:
                self.now_s = until_s
                return
            self.now_s, _, action, arguments = pop(queue)
            action(*arguments)
            self.actions_run += 1
