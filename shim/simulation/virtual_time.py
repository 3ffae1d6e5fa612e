"""An asyncio event loop whose time jumps to the next timer: a day of a federation in seconds, the same each time.

The loop has no selector, no thread and no socket. Callbacks run in the order in which they were scheduled, and timers
in the order of their times. When nothing is ready, the time becomes that of the earliest timer. What a thread pool
would run is run at once.

The same program with the same seed therefore makes the same steps on any machine, as long as nothing in it reads a real
clock, true randomness, or the order of a set of strings.

A process of Heddle in virtual time: its tasks, and the gate before everything that is outside of it.

A process that is killed does nothing any more that anybody could see: its tasks are cancelled, and what they would do
in leaving (write to the store, call a cluster) is refused at the gate. One that is stopped (SIGSTOP) gets no further
than the gate until it goes on.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, Never, TypeVar

from shim.errors import InvariantViolationError, NeverReachedError, NoAnswerError
from shim.ports.clock import Clock

T = TypeVar("T")

EPOCH_S = 1_800_000_000.0
"""What the wall clock of a run shows at its start, in seconds since 1970."""
_RESOLUTION_S = 1e-9


class _NoEvents:
    """Stands where the loop expects a selector: waiting takes no time but that of the run."""

    def __init__(self, loop: "VirtualTimeLoop") -> None:
        self._loop = loop

    def select(self, timeout_s: float | None) -> list[Never]:
        """No event; the time moves on by as much as the loop would have waited."""
        if timeout_s is None:
            raise InvariantViolationError("every task waits for something that no timer brings: the run is stuck")
        self._loop.move_on(timeout_s)
        return []


class VirtualTimeLoop(asyncio.BaseEventLoop):
    """An event loop in virtual time, beginning at 0.

    Attributes:
        turns: How many times callbacks were run: a measure of the work of a run that is the same on any machine.
    """

    def __init__(self) -> None:
        super().__init__()
        self._now_s = 0.0
        self.turns = 0
        self._selector = _NoEvents(self)
        self._clock_resolution = _RESOLUTION_S

    def time(self) -> float:
        """Seconds of virtual time since the loop was made."""
        return self._now_s

    def move_on(self, duration_s: float) -> None:
        """Let time pass; called by the loop itself when nothing is ready."""
        self.turns += 1
        self._now_s += duration_s

    def run_in_executor(  # type: ignore[override]  # a future that is done already
        self, executor: object, func: Callable[..., T], *args: Any
    ) -> "asyncio.Future[T]":
        """The outcome of `func`, run now: a thread would end at a moment that no seed decides."""
        del executor
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as exc:  # noqa: BLE001 - whatever it is belongs to whoever awaits it
            done.set_exception(exc)
        return done

    def _process_events(self, event_list: list[Never]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Wake nobody, as nobody calls from another thread."""


class VirtualClock:
    """The port `Clock` over the time of the running loop.

    Attributes:
        step_s: By how much the wall clock was set since the start; a fault schedule changes it.
    """

    def __init__(self, epoch_s: float = EPOCH_S) -> None:
        self._epoch_s = epoch_s
        self.step_s = 0.0

    def now_s(self) -> float:
        return self._epoch_s + self.step_s + self.monotonic_s()

    def monotonic_s(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(max(0.0, duration_s))


def run_in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    """Run a program to its end in a loop of its own, and return its outcome."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


_OWNER: ContextVar["ProcessGate | None"] = ContextVar("owner", default=None)


class ProcessGate:
    """One life of one process."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_dead = False
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._goes = asyncio.Event()
        self._goes.set()

    @property
    def goes_on(self) -> bool:
        """Neither stopped nor dead."""
        return self._goes.is_set() and not self.is_dead

    def spawn(self, work: Coroutine[Any, Any, T], name: str) -> "asyncio.Task[T]":
        """Begin a task of the process; what it begins belongs to the process, too."""
        context = copy_context()
        context.run(_OWNER.set, self)
        return asyncio.get_running_loop().create_task(work, name=name, context=context)

    def adopt(self, task: "asyncio.Task[Any]") -> None:
        self._tasks[task] = None
        task.add_done_callback(self._forget)
        if self.is_dead:
            task.cancel()

    def _forget(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.pop(task, None)

    async def through(self) -> None:
        """Pass the gate, at once or when the process goes on.

        Raises:
            CancelledError: It is dead.
        """
        while not self._goes.is_set():
            await self._goes.wait()
        if self.is_dead:
            raise asyncio.CancelledError(f"{self.name} is dead")

    def pause(self) -> None:
        """Stop it (SIGSTOP)."""
        if not self.is_dead:
            self._goes.clear()

    def resume(self) -> None:
        self._goes.set()

    def kill(self) -> None:
        """End it (SIGKILL)."""
        self.is_dead = True
        self._goes.set()
        for task in tuple(self._tasks):
            task.cancel()

    async def serve(self, work: Callable[[], Coroutine[Any, Any, T]], name: str) -> T:
        """Have the process do something for a client of it, who is told of a death.

        Raises:
            NeverReachedError: It is dead already.
            NoAnswerError: It died meanwhile.
        """
        if self.is_dead:
            raise NeverReachedError(self.name, "connection refused")
        task = self.spawn(work(), name)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled() or self.is_dead:
                raise NoAnswerError(self.name, "the connection broke") from None
            task.cancel()  # the client went away
            raise


class GatedClock:
    """The port `Clock` of one process.

    Attributes:
        step_s: By how much the machine's wall clock is off.
    """

    def __init__(self, clock: Clock, gate: ProcessGate) -> None:
        self._clock = clock
        self._gate = gate
        self.step_s = 0.0

    def now_s(self) -> float:
        return self._clock.now_s() + self.step_s

    def monotonic_s(self) -> float:
        return self._clock.monotonic_s()

    async def sleep(self, duration_s: float) -> None:
        """Wait; longer, if the process is stopped meanwhile."""
        await self._gate.through()
        await self._clock.sleep(duration_s)
        await self._gate.through()


def own_tasks(loop: asyncio.AbstractEventLoop, work: Any, *, context: Context | None = None) -> "asyncio.Task[Any]":
    """Task factory of a loop: each task belongs to the process that began it."""
    task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, context=context)
    owner = _OWNER.get() if context is None else context.get(_OWNER)
    if owner is not None:
        owner.adopt(task)
    return task
