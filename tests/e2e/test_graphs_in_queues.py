"""Real Tez DAGs in a queue that goes by graphs: their plans are read, and they run to their ends by that policy."""

import json
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from shim.lab import Lab
from tests.support.altruism_jobs import AltruismJobs, SleepingDag
from tests.support.heddle_process import HeddleProcess
from tests.support.spanning import spanning_secret

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

DAG = SleepingDag("wide and long", {"wide": (40, 1500), "long": (3, 9000), "end": (1, 500)}, {"end": ("wide", "long")})
POLICY = """
[shares]
interval_s = 0.5
[tez]
staging = ["{folder}/tez/staging"]
[[queue]]
name = "root.dev"
span = true
order = "fifo"
containers = "graphene"
"""


def test_dags_are_read_and_run_to_their_ends_by_the_policy_that_why_names(lab: Lab, tmp_path: Path) -> None:
    """What is asked for first is looked at in yarn-sim: here room is scarce for a moment alone."""
    ruled: set[int] = set()
    with spanning_secret(tmp_path), HeddleProcess(lab, tmp_path, more=POLICY.format(folder=tmp_path)) as heddle:
        jobs = AltruismJobs(lab, tmp_path, heddle)
        with jobs.asking() as http, ThreadPoolExecutor(1) as pool:
            for run in (1, 2):
                ending = pool.submit(jobs.dag, DAG, f"{DAG.name} {run}")
                while wait([ending], timeout=0.4).not_done:
                    for app in http.get("/heddle/v1/apps", params={"states": "RUNNING"}).json()["apps"]:
                        told = http.get(f"/heddle/v1/apps/{app['id']}/why").text
                        ruled |= {run} if '"graphene"' in told else set()
                ending.result()
        log = heddle.log.read_text().splitlines()
    read = [json.loads(line)["stages"] for line in log if "read a job's plan" in line]
    assert ruled == {1, 2}
    assert read == [len(DAG.stages)] * 2
