"""Storms: schedules from seeds, runs that replay to the byte, and invariants that see what is broken."""

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

from tests.support.storms.planted import PLANTED
from tests.support.storms.schedule import SMALL, FaultKind, Schedule, draw
from tests.support.storms.storm import play_storm


def test_a_seed_draws_the_same_schedule_and_others_draw_others():
    assert draw(5) == draw(5)
    assert len({str(draw(seed)) for seed in range(50)}) == 50
    kinds = frozenset(kind for seed in range(200) for kind in draw(seed).kinds)
    assert kinds == frozenset(FaultKind)


def test_half_of_the_storms_have_several_global_and_local_masters():
    schedules = [draw(seed) for seed in range(400)]
    deployed = Counter((schedule.heddles, schedule.local_masters) for schedule in schedules)
    assert deployed.keys() == {(1, 0), (2, 1), (2, 2), (3, 1), (3, 2)}
    assert 150 < deployed[1, 0] < 250
    alone = frozenset(kind for schedule in schedules if not schedule.local_masters for kind in schedule.kinds)
    assert frozenset(FaultKind) - alone == {
        FaultKind.LOCAL_MASTER_KILLED,
        FaultKind.LOCAL_MASTER_PAUSED,
        FaultKind.LOCAL_MASTER_CUT,
        FaultKind.LINK_CUT,
    }


@pytest.mark.parametrize("seed", [0, 1, 2, 6, 10])
def test_a_storm_replays_to_the_byte(seed):
    first, second = play_storm(draw(seed, SMALL)), play_storm(draw(seed, SMALL))
    assert first == second
    assert first.digest == second.digest
    assert first.broken == ()


def test_a_storm_of_several_masters_is_the_same_in_a_process_that_hashes_otherwise():
    command = [sys.executable, "-m", "scripts.storms", "--small", "--seed", "6"]
    told = {
        subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": salt}, capture_output=True, check=True, text=True
        ).stdout
        for salt in ("1", "2")
    }
    assert len(told) == 1
    assert "3 Global Masters, 2 Local Masters a cluster" in told.pop()


def test_a_bug_that_is_planted_is_seen_and_is_gone_afterwards():
    bug = next(bug for bug in PLANTED if bug.name.startswith("a Global Master believes"))
    schedule = draw(10, SMALL)
    with bug.planted():
        assert any("is owned by" in what for what in play_storm(schedule).broken)
    assert play_storm(schedule).broken == ()


@pytest.mark.parametrize(("heddles", "local_masters"), [(1, 0), (2, 1), (3, 2)])
def test_without_faults_nothing_is_broken_and_every_job_ends(heddles, local_masters):
    result = play_storm(replace(Schedule(1, SMALL, ()), heddles=heddles, local_masters=local_masters))
    assert result.broken == ()
    assert sum("acknowledged" in line for line in result.trace) == SMALL.jobs
