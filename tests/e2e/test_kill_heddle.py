"""Heddle dies by SIGKILL at every step of a submission, a hundred times: nothing acknowledged is lost or doubled."""

from pathlib import Path

import pytest

from shim.lab import Lab
from shim.submission.crash_points import CrashPoint
from shim.testing.free_ports import free_port
from tests.support.kill_trials import KillTrials, TrialSettings, federation_toml

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("kills", [pytest.param(17, marks=pytest.mark.main_promise), 102])
async def test_what_was_acknowledged_runs_exactly_once_whatever_step_heddle_died_at(
    lab: Lab, tmp_path: Path, kills: int
) -> None:
    webs = {name: cluster.url for name, cluster in lab.clusters.items()}
    rest = f"127.0.0.1:{free_port()}"
    config = federation_toml(tmp_path, webs, rest=rest)
    history = await KillTrials(config, f"http://{rest}", webs, TrialSettings(kills=kills)).run()
    print(history.summary())  # noqa: T201 - the figures of the run
    assert history.lost() == []
    assert history.doubled() == []
    assert sum(history.deaths.values()) == kills
    assert {point.value for point in CrashPoint} - {CrashPoint.REHOMED.value} <= set(history.deaths)
    assert len(history.acknowledged) > kills
