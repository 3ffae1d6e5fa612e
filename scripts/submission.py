"""What each submission runs: `make test`, what is always tried, then the slices that are its turn or that it reaches.

    python -m scripts.submission --began SECONDS     of the clock of `date +%s`, when the whole run began
    python -m scripts.submission --plan              which slices would be chosen, without running anything

At most 40 minutes in all by its own clock: a slice begins only if its usual time, on a machine as slow as this one has
shown itself, still fits. What is left out is said at the end, and is the turn of one of the next submissions.
"""

import argparse
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

from scripts.change_reach import STAMP, changed_since, distances, imports_of, last_submission
from scripts.run_parts import OF_TEST, STATIC, Parts
from scripts.slices import ALWAYS, RELEASES, ROOT, SLICES, Slice, slice_named, slices_of_rounds

LIMIT_S = 40 * 60
_AT_ONCE = (STATIC, "unit", ALWAYS)
"""What has to pass the first time: code alone, and that nothing is lost or doubled."""
_MARGIN = 1.15
"""Of a slice's expected time: slices differ by so much from run to run."""


def in_order(number: int, reached: Mapping[str, int]) -> list[Slice]:
    """Return the slices to choose from, the ones whose turn it is first, then the nearest to the change."""
    turns = slices_of_rounds()
    turn = turns[number % len(turns)]
    others = [each for each in SLICES if each not in turn and each.name not in (ALWAYS, RELEASES)]
    near = [each for each in others if each.name in reached]
    return [*turn, *sorted(near, key=lambda each: (reached[each.name], each.usual_s))]


def pace_of(took_s: Mapping[str, float]) -> float:
    """Return how many times their usual seconds some parts took; at least 1."""
    usual_s = sum(slice_named(name).usual_s for name in took_s)
    return max(1.0, sum(took_s.values()) / usual_s) if took_s else 1.0


def _set_up(needs: Sequence[str]) -> None:
    if needs:
        subprocess.run(("scripts/setup.sh", "slice", *needs), cwd=ROOT, check=True)


def run(
    parts: Parts,
    order: Sequence[Slice],
    *,
    left_s: Callable[[], float],
    set_up: Callable[[Sequence[str]], None] = _set_up,
) -> list[str]:
    """Run what always runs, and then slices while they fit; return remarks.

    A run that is red already chooses nothing more: it has failed, and says so sooner. Where servers and clusters take
    part, a test or two that fail are tried again, alone; they are named as unsteady if they pass.
    """
    for name in (*OF_TEST, ALWAYS):
        part = parts.run(name)
        if name not in _AT_ONCE:
            parts.again(part)
    left = []
    for each in order:
        pace = pace_of({part.name: part.took_s for part in parts.done if part.name != STATIC})
        needed_s = each.usual_s * pace * _MARGIN
        if parts.has_failed:
            left.append(f"{each.name} (something is red)")
        elif needed_s > left_s():
            left.append(f"{each.name} (needs {needed_s:.0f} s of {max(0.0, left_s()):.0f})")
        else:
            set_up(each.needs)
            parts.again(parts.run(each.name))
    return [f"left: {'; '.join(left) or 'nothing that this change reaches'}"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what a submission runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--began", type=float, default=time.time(), help="when the run began (default: now)")
    parser.add_argument("--plan", action="store_true", help="only say what would be chosen")
    chosen = parser.parse_args(arguments)
    stamp = ROOT / STAMP
    number, base = int(stamp.read_text("ascii")) if stamp.is_file() else 0, last_submission()
    reached = distances(SLICES, changed_since(base), imports_of())
    order = in_order(number, reached)
    print(f"submission {number}, changes since {base[:12] or 'the beginning'}; slices in this order:")
    for each in order:
        print(f"  {each.name:<14} {each.usual_s:5} s  distance {reached.get(each.name, 'none: its turn')}")
    if chosen.plan:
        return 0
    parts = Parts(profile="quick")
    remarks = run(parts, order, left_s=lambda: LIMIT_S - (time.time() - chosen.began))
    return parts.end(*remarks, f"{time.time() - chosen.began:.0f} s of at most {LIMIT_S} s")


if __name__ == "__main__":
    raise SystemExit(main())
