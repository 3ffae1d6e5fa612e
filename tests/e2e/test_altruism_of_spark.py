"""A real Spark application: its stages are known while it runs, and it puts executors off that another job can have."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from shim.lab import Lab
from tests.support.altruism_jobs import AltruismJobs, policy_of
from tests.support.heddle_process import HeddleProcess
from tests.support.spanning import spanning_secret

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

ONE_NODE = {
    "yarn-site.xml": {
        "yarn.nodemanager.resource.memory-mb": "6144",
        "yarn.nodemanager.resource.cpu-vcores": "16",
    },
    "capacity-scheduler.xml": {"yarn.scheduler.capacity.maximum-am-resource-percent": "0.6"},
}
JOBS = 4
"""In one application. Spark numbers both stages of the join at random; only the last in its order is put off."""
_TRIES = 2


def test_stages_of_a_real_spark_job_are_known_and_executors_that_can_wait_are_put_off(
    fresh_lab: Callable[..., Lab], tmp_path: Path
) -> None:
    lab = fresh_lab(clusters=1, nodes=1, overrides=ONE_NODE)
    with (
        spanning_secret(tmp_path),
        HeddleProcess(lab, tmp_path, more=policy_of(tmp_path, altruism=1.0, span=False)) as heddle,
    ):
        jobs = AltruismJobs(lab, tmp_path, heddle)
        seen: list[dict[str, Any]] = []
        for number in range(_TRIES):
            seen += _meanwhile(jobs, number)
            if any(told["puts_off"] for told in seen):
                break

    known = [told for told in seen if told["graph_from"] == "the job's event log"]
    reasons = {told["unknown"] for told in seen}
    assert known, reasons
    assert len({told["graph"] for told in known}) > 1, "one job after the other"
    rows = [[(len(row["waits_for"]), row["tasks"]) for row in told["stages"]] for told in known]
    assert all(sorted(row) == [(0, 1), (0, 12), (2, 1)] for row in rows), rows
    assert any("counted by its ApplicationMaster" in row["sure"] for told in known for row in told["stages"])
    put_off = [row for told in seen for row in told["puts_off"]]
    assert put_off, (reasons, known[-1])


def _meanwhile(jobs: AltruismJobs, number: int) -> list[dict[str, Any]]:
    """What was told of the Spark application while it ran beside word counts."""
    found: list[dict[str, Any]] = []
    with jobs.asking() as http, ThreadPoolExecutor(2) as pool:
        running = [pool.submit(jobs.join_in_spark, "joins", JOBS, 14000, 12, 2000)]
        running += [pool.submit(jobs.word_count, f"words-{number}", 12, 1)]
        while wait(running, timeout=0.5).not_done:
            found += [told for name, told in jobs.told_of_altruism(http) if name == "joins"]
        for each in running:
            each.result()
    return found
