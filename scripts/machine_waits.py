"""How long work of this machine stood still for want of a processor, a disk or memory, and what its host took from it.

A test that fails only where this is much has met a slow machine. Sources: /proc/pressure (pressure stall information of
Linux) and the column `steal` of /proc/stat.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path

_PROC = Path("/proc")
_WANTS = {"cpu": "a processor", "io": "a disk", "memory": "memory"}
_STEAL_COLUMN = 8


def noted(proc: Path = _PROC) -> dict[str, float]:
    """Seconds by name: `now`, `steal`, and stalls of each kind since the machine started; without what it has not."""
    seconds = {"now": time.monotonic()}
    for kind in _WANTS:
        try:
            some = (proc / "pressure" / kind).read_text("ascii").splitlines()[0]
        except OSError:
            continue
        seconds[kind] = int(some.rpartition("total=")[2]) / 1e6
    steal = (proc / "stat").read_text("ascii").splitlines()[0].split()[_STEAL_COLUMN]
    return seconds | {"steal": int(steal) / os.sysconf("SC_CLK_TCK") / (os.cpu_count() or 1)}


def told(before: Mapping[str, float], after: Mapping[str, float]) -> str:
    """Shares of the time between two notes, for people."""
    passed_s = max(after["now"] - before["now"], 1e-9)
    share = {name: (after[name] - before[name]) / passed_s for name in after if name in before and name != "now"}
    waits = ", ".join(f"{share[kind]:.0%} for {what}" for kind, what in _WANTS.items() if kind in share)
    return f"of {passed_s:.0f} s something waited {waits or 'nobody knows how long'}; host took {share['steal']:.0%}"
