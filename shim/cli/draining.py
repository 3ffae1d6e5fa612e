"""Waiting until a drained cluster is empty, with progress on the terminal's error stream."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console

from shim.telemetry import escape

__all__ = ["drain_progress", "wait_until_drained"]

_LOOK_EVERY_S = 1.0


def wait_until_drained(
    look: Callable[[], dict[str, Any]],
    *,
    timeout_s: float,
    sleep: Callable[[float], None] = time.sleep,
    now_s: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """Look until nothing runs on a cluster, and say on standard error what is left whenever that changes.

    Args:
        look: Asks for `clusters/ID/drainage`.
        timeout_s: Seconds to wait at most; 0 for ever.
        sleep: Waits so many seconds.
        now_s: A clock that only goes forward.

    Returns:
        The last answer; `is_drained` tells whether the cluster is empty.
    """
    console = Console(stderr=True, highlight=False)
    until_s = now_s() + timeout_s if timeout_s else float("inf")
    shown = ""
    while True:
        drainage = look()
        progress = drain_progress(drainage)
        if progress != shown:
            console.print(escape(progress), markup=False)
            shown = progress
        left_s = until_s - now_s()
        if not drainage["still_running"] or drainage["admission"] == "open" or left_s <= 0:
            return drainage
        sleep(min(_LOOK_EVERY_S, left_s))


def drain_progress(drainage: Mapping[str, Any]) -> str:
    """One line for people: what is left on a cluster."""
    spanning: Mapping[str, int] = drainage["spanning"]
    homed = len(drainage["still_running"]) - len(spanning)
    if drainage["admission"] == "open":
        return f"{drainage['id']} takes applications again: another operator has ended the drain"
    return (
        f"{drainage['id']}: {homed} applications with their ApplicationMaster there, {sum(spanning.values())} "
        f"containers of {len(spanning)} applications of other clusters"
    )
