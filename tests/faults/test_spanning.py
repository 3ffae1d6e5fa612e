"""What breaks while one job has containers in two clusters: the job succeeds, and nothing of it stays behind."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shim.lab import Lab
from tests.support.constrained import constrained_client, shell
from tests.support.heddle_process import HeddleProcess, until
from tests.support.spanning import SpanningApplication, end_first_master, spanning_heddle
from tests.support.stock_client import StockClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_MAPS = 12
_SLEEPERS = 6
_RUN_JAR = "org.apache.hadoop.util.RunJar"


@pytest.fixture
def heddle(fault_lab: Lab, tmp_path: Path) -> Iterator[HeddleProcess]:
    with spanning_heddle(fault_lab, tmp_path) as running:
        yield running


@pytest.fixture
def patient_heddle(monkeypatch: pytest.MonkeyPatch, fault_lab: Lab, tmp_path: Path) -> Iterator[HeddleProcess]:
    """Gives nobody up while the test runs."""
    monkeypatch.setenv("HEDDLE_SPAN_LOST_AFTER_S", "600")
    with spanning_heddle(fault_lab, tmp_path) as running:
        yield running


@contextmanager
def a_spanning_job(
    lab: Lab, heddle: HeddleProcess, folder: Path, user: str, *, succeeds: bool = True
) -> Iterator[SpanningApplication]:
    """MapReduce's pi, once it runs in both clusters; at the end nothing of it is anywhere."""
    client = StockClient(
        lab,
        folder / "client",
        heddle,
        more={"yarn.client.nodemanager-connect.max-wait-ms": "2000"},  # else it is 3 min before a lost node is given up
    )
    with client.running(
        _RUN_JAR, client.jar("hadoop-mapreduce-examples"), "pi", str(_MAPS), "10", user=user
    ) as running:
        spanned = SpanningApplication.of(lab, heddle, running.stdout)
        spanned.waits_for_places(2)
        yield spanned
        if succeeds:
            for _ in running.stdout or ():  # it must not wait for somebody to read
                pass
            spanned.has_succeeded()
    spanned.has_ended_everywhere()


def away(spanned: SpanningApplication) -> str:
    """The cluster that is not the home."""
    return next(name for name in spanned.lab.clusters if name != spanned.home)


def test_a_job_goes_on_when_heddle_is_killed_and_started_again(fault_lab, heddle, tmp_path):
    with a_spanning_job(fault_lab, heddle, tmp_path, "niklaus") as spanned:
        heddle.kill()
        heddle.start()
        until(lambda: heddle.calls()["registerApplicationMaster"] == 1, "its master says everything once more")
    assert len(spanned.attempts()) == 1


def test_a_killed_heddle_that_comes_back_after_the_end_leaves_nothing_behind(fault_lab, heddle, tmp_path):
    with a_spanning_job(fault_lab, heddle, tmp_path, "kristen", succeeds=False) as spanned:
        home, other = spanned.home, away(spanned)
        heddle.kill()
        spanned.kill_at(home)
        until(lambda: (spanned.at(home) or {})["state"] == "KILLED", "it is killed at home")
        assert (spanned.at(other) or {})["state"] == "RUNNING", "YARN itself does not end it"
        heddle.start()
        until(lambda: (spanned.at(other) or {})["state"] == "KILLED", "Heddle finds it and ends it")


def test_a_job_goes_on_when_the_scheduler_elsewhere_starts_again(fault_lab, patient_heddle, tmp_path):
    with a_spanning_job(fault_lab, patient_heddle, tmp_path, "frances") as spanned:
        fault_lab.kill(f"{away(spanned)}-rm")
        fault_lab.start(f"{away(spanned)}-rm")
        fault_lab.wait_ready()
    assert len(spanned.attempts()) == 1


def test_containers_live_on_whose_nodes_come_back_later_than_their_scheduler(fault_lab, patient_heddle, tmp_path):
    """A ResourceManager knows a container once its node has registered again, and tells no ApplicationMaster then."""
    client = constrained_client(fault_lab, patient_heddle, tmp_path / "client")
    with client.running(*shell(client, 40, "-num_containers", str(_SLEEPERS)), user="radia") as running:
        spanned = SpanningApplication.of(fault_lab, patient_heddle, running.stdout)
        until(lambda: sum(spanned.places().values()) == _SLEEPERS + 1, "all of them run")
        before, other = spanned.places(), away(spanned)
        fault_lab.pause(f"{other}-nm1")
        try:
            fault_lab.kill(f"{other}-rm")
            fault_lab.start(f"{other}-rm")
            registered_again = '"application spans"'
            until(lambda: patient_heddle.log.read_text().count(registered_again) == 2, "Heddle has registered again")
        finally:
            fault_lab.resume(f"{other}-nm1")
        for _ in running.stdout:
            pass
        spanned.has_succeeded()
    assert spanned.places() == before, "none was taken for lost and run once more"


def test_a_job_goes_on_when_a_whole_cluster_elsewhere_dies(fault_lab, heddle, tmp_path):
    with a_spanning_job(fault_lab, heddle, tmp_path, "radia") as spanned:
        lost = away(spanned)
        daemons = [each.name for each in fault_lab.status() if each.name.startswith(f"{lost}-")]
        try:
            for name in daemons:
                fault_lab.kill(name)
            spanned.has_succeeded(within_s=300)  # one cluster does what two began
        finally:
            for name in daemons:
                fault_lab.start(name)
            fault_lab.wait_ready()
    assert len(spanned.attempts()) == 1


def test_a_second_attempt_succeeds_and_nothing_of_the_first_stays_anywhere(fault_lab, heddle, tmp_path):
    with a_spanning_job(fault_lab, heddle, tmp_path, "barbara") as spanned:
        end_first_master(spanned.application)
        until(lambda: len(spanned.attempts()) == 2, "a second attempt")
