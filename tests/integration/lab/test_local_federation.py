"""`heddle.testing` on real clusters: a stock job, faults and their healing, and clusters that are used again."""

import json
import os
import shutil
import subprocess
import sys
import time

import pytest

import heddle
from heddle.testing import FederationError, LocalFederation, Settings

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]


def own():
    """One that stays when it is closed."""
    return LocalFederation(Settings(toml="[limits]\n"), reuse=True, name=f"own tests {os.getpid()}")


@pytest.fixture(scope="module")
def federation():
    with own() as started:
        folder = started.folder
        yield started
    subprocess.run([sys.executable, heddle.__path__[0], "lab", "down", "--dir", folder / "lab"], check=True)
    shutil.rmtree(folder)
    folder.with_suffix(".lock").unlink()


def test_a_stock_job_runs_and_its_logs_are_there(federation):
    (federation.shared / "in").mkdir()
    (federation.shared / "in" / "text").write_text("a b a\n")
    (examples,) = federation.jars.glob("hadoop-mapreduce-examples-[0-9]*.jar")
    folders = [(federation.shared / name).as_uri() for name in ("in", "out")]

    job = federation.submit(federation.java("org.apache.hadoop.util.RunJar", str(examples), "wordcount", *folders))
    job.wait()

    assert (federation.shared / "out" / "part-r-00000").read_text() == "a\t2\nb\t1\n"
    assert job.cluster in federation.clusters
    assert "org.apache.hadoop.mapreduce.v2.app.MRAppMaster" in job.logs()
    with pytest.raises(FederationError, match=r"ended SUCCEEDED, not FAILED"):
        job.wait(status="FAILED")


def test_faults_are_seen_by_heddle_and_healed(federation):
    def state():
        return {each["id"]: each["state"] for each in federation.get("/heddle/v1/clusters")["clusters"]}

    federation.kill("east-rm")
    federation.pause("west-nm1")
    ends_at = time.monotonic() + 120
    while state()["east"] == "RUNNING":
        assert time.monotonic() < ends_at
    federation.kill("heddle")
    with pytest.raises(FederationError, match="Heddle does not answer"):
        state()
    federation.heal()
    assert state() == {"east": "RUNNING", "west": "RUNNING"}


def test_a_node_that_is_cut_off_hears_nothing(federation):
    if not json.loads(federation.lab("where"))["hasHosts"]:
        with pytest.raises(FederationError, match="has no host of its own"):
            federation.partition("east-nm1")
        return
    rows = json.loads(federation.lab("status", "-o", "json"))
    web = next(row["web"] for row in rows if row["name"] == "east-nm1")
    ask = ["curl", "--silent", "--max-time", "2", "--output", "/dev/null", f"http://{web}/ws/v1/node/info"]
    assert subprocess.run(ask, check=False).returncode == 0
    federation.partition("east-nm1")
    assert subprocess.run(ask, check=False).returncode != 0
    federation.heal()
    assert subprocess.run(ask, check=False).returncode == 0


def test_the_next_one_of_the_same_settings_finds_it_running(federation):
    before = (federation.folder / "heddle.pid").read_text()
    federation.close()
    with own() as again:
        assert again.url == federation.url
        assert (again.folder / "heddle.pid").read_text() == before
        with own() as beside:  # while somebody uses it, another one is started
            assert beside.url != again.url
            beside.reuse = False
        assert not beside.folder.exists()
