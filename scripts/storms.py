"""Play storms: random faults in virtual time, from seeds. Before a release: `python -m scripts.storms --hours 1`.

`--seed N` plays one storm and prints what happened in it; `--schedules N` plays as many, beginning with `--first`;
`--hours H` plays until the time is up; `--planted` breaks Heddle on purpose, one place after the other, and expects to
see each. Ends with exit code 1 if an invariant did not hold; the seed that is printed replays the run to the byte.
"""

import argparse
import itertools
import logging
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

import structlog

from tests.support.storms.planted import PLANTED, PlantedBug
from tests.support.storms.schedule import LARGE, SMALL, StormSetting, draw
from tests.support.storms.storm import StormResult, play_storm

_TOGETHER = 8
_MOST_STORMS_OF_A_BUG = 150


def main(arguments: Sequence[str] | None = None) -> int:
    """Play what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--seed", type=int, help="play one storm, and print its trace")
    what.add_argument("--schedules", type=int, help="play so many storms")
    what.add_argument("--hours", type=float, help="play storms for so long")
    what.add_argument("--planted", action="store_true", help="find each planted bug")
    parser.add_argument("--first", type=int, default=0, help="the first seed of several storms")
    parser.add_argument("--small", action="store_true", help="short storms, as the tests play them")
    given = parser.parse_args(arguments)
    _be_silent()
    setting = SMALL if given.small else LARGE
    if given.planted:
        return _find_planted(setting, given.first)
    if given.seed is not None:
        result = play_storm(draw(given.seed, setting))
        print(result.schedule, *result.trace, f"sha256 {result.digest}", sep="\n")
        return _told([result])
    return _told(_many(given.first, given.schedules, given.hours, setting))


def _be_silent() -> None:
    """Heddle's own log is not what is looked at here."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def _many(first: int, count: int | None, hours: float | None, setting: StormSetting) -> Iterator[StormResult]:
    end_s = time.monotonic() + hours * 3600.0 if hours is not None else None
    seeds = iter(range(first, first + count)) if count is not None else itertools.count(first)
    with ProcessPoolExecutor(os.cpu_count(), initializer=_be_silent) as pool:
        while batch := list(itertools.islice(seeds, _TOGETHER * (os.cpu_count() or 1))):
            yield from pool.map(play_storm, [draw(seed, setting) for seed in batch])
            if end_s is not None and time.monotonic() > end_s:
                return


def _told(results: Iterable[StormResult]) -> int:
    """Print what did not hold, and how many storms there were."""
    played = broken = 0
    virtual_s = 0.0
    for result in results:
        played += 1
        virtual_s += result.ended_s
        if result.broken:
            broken += 1
            print(result.schedule, *(f"  BROKEN {what}" for what in result.broken), sep="\n", flush=True)
    print(f"{played} storms of {virtual_s / 3600.0:.1f} hours of virtual time: {broken} broken")
    return 1 if broken else 0


def _find_planted(setting: StormSetting, first: int) -> int:
    """Break Heddle in each of the listed places, and look for a storm that shows it."""
    missed = 0
    for bug in PLANTED:
        seed, storms, what = _first_storm_of(bug, setting, first)
        missed += seed is None
        told = "NOT FOUND" if seed is None else f"seed {seed}: {what}"
        print(f"{bug.name}: {told} ({storms} storms)", flush=True)
    print(f"{len(PLANTED) - missed} of {len(PLANTED)} planted bugs were found")
    return 1 if missed else 0


def _first_storm_of(bug: PlantedBug, setting: StormSetting, first: int) -> tuple[int | None, int, str]:
    for count, seed in enumerate(range(first, first + _MOST_STORMS_OF_A_BUG), start=1):
        with bug.planted():
            result = play_storm(draw(seed, setting))
        if result.broken:
            return seed, count, result.broken[0]
    return None, _MOST_STORMS_OF_A_BUG, ""


if __name__ == "__main__":
    sys.exit(main())
