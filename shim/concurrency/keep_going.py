"""Work that runs by itself: none dies unseen.

What lasts is kept going: a failure is told, counted, and followed by another beginning. What is begun once, and waited
for by nobody, has its failure told.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import structlog

from shim.ports.clock import Clock

T = TypeVar("T")
Work = Callable[[], Awaitable[None]]
_log = structlog.get_logger("heddle")

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
_IS_WELL_S = 300.0
"""A part that ran for so long has got over what it failed by: the next pause is short again."""


async def keep_going(name: str, work: Work, clock: Clock, failed: Callable[[str], None] = lambda _: None) -> None:
    """Do work that ends only when it is cancelled; if it does otherwise, say so and begin it again, after pauses.

    What comes from a cluster, a peer or the store may be such as nobody thought of. It must not end what serves
    everybody else, nor keep it from starting again.

    Args:
        work: What to do; called again after a failure, and after an end that it should not have. Pauses get longer.
        clock: The machine's.
    """
    pause_s = _FIRST_PAUSE_S
    while True:
        began_s = clock.monotonic_s()
        try:
            await work()
            error: Exception | None = None
        except Exception as exc:  # noqa: BLE001 - the boundary of a task: a bug is told, and ends neither process nor part
            error = exc
        failed(name)
        if clock.monotonic_s() - began_s > _IS_WELL_S:
            pause_s = _FIRST_PAUSE_S
        told = "a part ended by itself, and begins again" if error is None else "a part failed, and begins again"
        _log.error(told, part=name, pause_s=pause_s, exc_info=error)
        await clock.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def aside(name: str, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
    """Begin work that nobody waits for; its failure is told at once, in one line with its name.

    Whoever begins it keeps the task, and cancels it at the end.
    """
    task = asyncio.get_running_loop().create_task(work, name=name)
    task.add_done_callback(_tell)
    return task


def _tell(task: "asyncio.Task[T]") -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _log.error("work beside others failed", work=task.get_name(), exc_info=error)
