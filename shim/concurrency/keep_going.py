"""Keeps work going that runs by itself: a failure is told, counted, and followed by another beginning."""

from collections.abc import Awaitable, Callable

import structlog

from shim.ports.clock import Clock

__all__ = ["Work", "keep_going"]

Work = Callable[[], Awaitable[None]]
_log = structlog.get_logger("heddle")

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
_IS_WELL_S = 300.0
"""A part that ran for so long has got over what it failed by: the next pause is short again."""


async def keep_going(name: str, work: Work, clock: Clock, failed: Callable[[str], None] = lambda _: None) -> None:
    """Do work that ends only when it is cancelled; if it fails, say so and begin it again, after ever longer pauses.

    What comes from a cluster, a peer or the store may be such as nobody thought of. It must not end what serves
    everybody else, nor keep it from starting again.

    Args:
        name: For the log and the count.
        work: What to do; called again after a failure.
        clock: The machine's.
        failed: Told the name at each failure.
    """
    pause_s = _FIRST_PAUSE_S
    while True:
        began_s = clock.monotonic_s()
        try:
            await work()
        except Exception:  # noqa: BLE001 - the boundary of a task: a bug is told, and ends neither process nor part
            failed(name)
            if clock.monotonic_s() - began_s > _IS_WELL_S:
                pause_s = _FIRST_PAUSE_S
            _log.exception("a part failed, and begins again", part=name, pause_s=pause_s)
        else:
            return
        await clock.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
