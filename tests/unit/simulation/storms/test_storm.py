"""Storms: schedules from seeds, runs that replay to the byte, and invariants that see what is broken."""

import pytest

from shim.simulation.storms.schedule import FaultKind, Schedule, StormSetting, draw
from shim.simulation.storms.storm import play_storm

SMALL = StormSetting(lasts_s=12.0, most_faults=4, jobs=2)


def test_a_seed_draws_the_same_schedule_and_others_draw_others():
    assert draw(5) == draw(5)
    assert len({str(draw(seed)) for seed in range(50)}) == 50
    kinds = frozenset(kind for seed in range(200) for kind in draw(seed).kinds)
    assert kinds == frozenset(FaultKind)


@pytest.mark.parametrize("seed", range(3))
def test_a_storm_replays_to_the_byte(seed):
    first, second = play_storm(draw(seed, SMALL)), play_storm(draw(seed, SMALL))
    assert first == second
    assert first.digest == second.digest
    assert first.broken == ()


def test_without_faults_nothing_is_broken_and_every_job_ends():
    result = play_storm(Schedule(1, SMALL, ()))
    assert result.broken == ()
    assert sum("acknowledged" in line for line in result.trace) == SMALL.jobs
