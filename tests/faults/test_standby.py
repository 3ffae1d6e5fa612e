"""The active ResourceManager of a pair dies and its standby takes over."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from shim.lab import Lab
from tests.faults.conftest import federation_over
from tests.faults.observing import everything_runs_once, is_whole, until

pytestmark = pytest.mark.lab


async def test_what_was_acknowledged_runs_once_under_the_standby(fresh_lab: Callable[..., Lab], tmp_path: Path) -> None:
    lab = await asyncio.to_thread(fresh_lab, clusters=1, standby=True)
    async with federation_over(lab, tmp_path) as federation:
        ids = [await federation.heddle.new_id() for _ in range(16)]
        for application_id in ids[:4]:
            assert (await federation.heddle.submit(application_id)).status == 202
        submissions = [asyncio.create_task(federation.heddle.submit(application_id)) for application_id in ids[4:]]
        await asyncio.wait(submissions, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.to_thread(lab.kill, "east-rm1")
        await asyncio.wait(submissions)
        assert {submission.result().status for submission in submissions} <= {202, 503}
        assert set(federation.heddle.acknowledged) <= await federation.heddle.ids()
        await asyncio.to_thread(lab.make_active, "east-rm2")
        await until(lambda: is_whole(federation))
        standby = lab.cluster("east").record.layout.resource_managers[1]
        federation.managers["east"].url = f"http://{standby.web}"
        await everything_runs_once(federation)
        assert (await federation.heddle.submit()).status == 202
