"""Shares over two real clusters with what users run: DistributedShell and MapReduce, begun on different clusters."""

from pathlib import Path

import pytest

from shim.lab import Lab
from tests.support.share_trial import Jobs, Plan, through_heddle

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

# eight jobs of a master and a container fill both clusters
PLAN = Plan(
    first=Jobs(shells=4, maps=0),
    backlog={"prod": Jobs(shells=48, maps=3), "dev": Jobs(shells=16, maps=1)},
    containers=1,
    container_mib=1024,
    seconds=12,
)


def test_queues_that_begin_on_different_clusters_come_to_hold_3_to_1(lab: Lab, tmp_path: Path) -> None:
    with through_heddle(lab, tmp_path, PLAN) as trial:
        trial.until_shared(over_s=20, near=0.05, within_s=420)
