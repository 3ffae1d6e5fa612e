"""A process of Heddle in virtual time: its tasks, and the gate before everything that is outside of it.

A process that is killed does nothing any more that anybody could see: its tasks are cancelled, and what they would do
in leaving (write to the store, call a cluster) is refused at the gate. One that is stopped (SIGSTOP) gets no further
than the gate until it goes on.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar

from shim.errors import NeverReachedError, NoAnswerError
from shim.ports.clock import Clock

T = TypeVar("T")

_OWNER: ContextVar["ProcessGate | None"] = ContextVar("owner", default=None)


class ProcessGate:
    """One life of one process.

    Args:
        name: For messages.

    Attributes:
        is_dead: Whether it was killed.
    """

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
        """Know a task as one of the process."""
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
        """Let it go on (SIGCONT)."""
        self._goes.set()

    def kill(self) -> None:
        """End it (SIGKILL)."""
        self.is_dead = True
        self._goes.set()
        for task in tuple(self._tasks):
            task.cancel()

    async def serve(self, work: Callable[[], Coroutine[Any, Any, T]], name: str) -> T:
        """Have the process do something for a client of it, who hears of a death.

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
        """Seconds since 1970 by this machine."""
        return self._clock.now_s() + self.step_s

    def monotonic_s(self) -> float:
        """Seconds of virtual time."""
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
