"""Real Tez DAGs in a queue that goes by graphs: its stages are asked for in the order of their job's plan."""

from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from shim.lab import Lab
from tests.support.altruism_jobs import AltruismJobs, SleepingDag
from tests.support.heddle_process import HeddleProcess
from tests.support.spanning import spanning_secret

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

# Tez asks for the wide stage first: its number in the graph is smaller
DAG = SleepingDag("wide and long", {"wide": (40, 1500), "long": (3, 9000), "end": (1, 500)}, {"end": ("wide", "long")})
EARLIER = "another stage of this job waits that its plan wants earlier"
POLICY = """
[shares]
interval_s = 0.5
[tez]
staging = ["{folder}/tez/staging"]
[[queue]]
name = "root.dev"
span = true
containers = "graphene"
"""


def test_a_wide_stage_waits_for_a_long_one_once_a_run_has_taught_how_long_that_is(lab: Lab, tmp_path: Path) -> None:
    reasons: dict[int, set[str]] = {1: set(), 2: set()}
    with spanning_secret(tmp_path), HeddleProcess(lab, tmp_path, more=POLICY.format(folder=tmp_path)) as heddle:
        jobs = AltruismJobs(lab, tmp_path, heddle)
        with jobs.asking() as http, ThreadPoolExecutor(1) as pool:
            for run in reasons:
                ending = pool.submit(jobs.dag, DAG, f"{DAG.name} {run}")
                while wait([ending], timeout=0.4).not_done:
                    for app in http.get("/heddle/v1/apps", params={"states": "RUNNING"}).json()["apps"]:
                        told = http.get(f"/heddle/v1/apps/{app['id']}/why").text
                        reasons[run] |= {name for name in (EARLIER, '"graphene"') if name in told}
                ending.result()
    assert reasons[2] == {EARLIER, '"graphene"'}, reasons
    assert '"graphene"' in reasons[1], "the first run is planned by graphene, too"
