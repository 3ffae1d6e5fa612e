"""Faults while a stock MapReduce job's ApplicationMaster speaks through Heddle: the job succeeds all the same."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from shim.lab import Lab
from tests.support.heddle_process import HeddleProcess, until
from tests.support.stock_client import StockClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_MAPS = 9
_OK = 200
_RUN_JAR = "org.apache.hadoop.util.RunJar"
_ONCE = ("-Dmapreduce.map.speculative=false", "-Dmapreduce.reduce.speculative=false")


@dataclass(frozen=True, slots=True)
class Job:
    """A job that is under way, with what its home's ResourceManager says of it."""

    heddle: HeddleProcess
    lab: Lab
    application: str
    home: str

    @property
    def app(self) -> dict[str, Any]:
        """As its home tells it."""
        app: dict[str, Any] = self._ask(f"apps/{self.application}")["app"]
        return app

    @property
    def attempts(self) -> list[dict[str, Any]]:
        """Its attempts."""
        attempts: list[dict[str, Any]] = self._ask(f"apps/{self.application}/appattempts")["appAttempts"]["appAttempt"]
        return attempts

    def allocates(self, count: int) -> None:
        """Wait until its ApplicationMaster has called so often."""
        until(lambda: self.heddle.calls()["allocate"] >= count, f"{count} calls of allocate")

    def has_maps_running(self) -> None:
        """Wait until it holds containers beside the one of its ApplicationMaster."""
        until(lambda: self.app["runningContainers"] > 1, "containers run")

    def log(self, attempt: int = 1) -> str:
        """What an attempt's ApplicationMaster logged."""
        found = sorted(
            self.lab.cluster(self.home).folder.glob(f"*/containers/{self.application}/*_{attempt:02d}_000001")
        )
        return "".join((folder / "syslog").read_text() for folder in found if (folder / "syslog").exists())

    def _ask(self, path: str) -> Any:
        """The document of whichever of its home's ResourceManagers is active; waits for one."""
        answers: list[Any] = []

        def is_answered() -> bool:
            for manager in self.lab.cluster(self.home).record.layout.resource_managers:
                with suppress(httpx.HTTPError):
                    answer = httpx.get(f"http://{manager.web}/ws/v1/cluster/{path}", trust_env=False, timeout=30)
                    if answer.status_code == _OK:
                        answers.append(answer.json())
            return bool(answers)

        until(is_answered, f"an active ResourceManager answers {path}")
        return answers[0]


@contextmanager
def a_job(lab: Lab, heddle: HeddleProcess, folder: Path, *more: str) -> Iterator[Job]:
    """MapReduce's pi; at the end it has succeeded, and computed pi."""
    client = StockClient(lab, folder / "client", heddle)
    user = re.sub(r"\W", "", folder.name)[-20:]  # of its own: staging folders belong to whoever runs the tests
    arguments = (_RUN_JAR, client.jar("hadoop-mapreduce-examples"), "pi", *_ONCE, *more, str(_MAPS), "10")
    with client.running(*arguments, user=user) as running:
        assert running.stdout is not None
        lines = iter(running.stdout)
        application = next(found[0] for line in lines if (found := re.search(r"application_\d+_\d+", line)))
        home = next(
            id_
            for id_, cluster in lab.clusters.items()
            if httpx.get(f"{cluster.url}/ws/v1/cluster/apps/{application}", trust_env=False, timeout=30).status_code
            == 200
        )
        job = Job(heddle, lab, application, home)
        yield job
        printed = "".join(lines)
    until(lambda: job.app["state"] == "FINISHED", "the job is over")
    assert job.app["finalStatus"] == "SUCCEEDED", job.app["diagnostics"]
    # a client that asks after its ApplicationMaster has gone needs a history server
    assert "Estimated value of Pi is 3." in printed or "ClientServiceDelegate" in printed, printed


@pytest.fixture
def heddle(fault_lab: Lab, tmp_path: Path) -> Iterator[HeddleProcess]:
    with HeddleProcess(fault_lab, tmp_path) as running:
        yield running


def test_a_job_goes_on_when_heddle_is_killed_and_started_again(fault_lab, heddle, tmp_path):
    with a_job(fault_lab, heddle, tmp_path) as job:
        job.has_maps_running()
        heddle.kill()
        heddle.start()
        job.allocates(2)  # of the new process: the same ApplicationMaster logged in again
    assert len(job.attempts) == 1
    assert heddle.calls()["registerApplicationMaster"] == 1, "it tells all that it wants once more: YARN's own resync"
    assert not re.findall(r"attempt_\d+_\d+_[mr]_\d+_[1-9]", job.log()), "no task was started twice"


def test_a_job_goes_on_when_heddle_is_killed_before_its_master_has_registered(fault_lab, heddle, tmp_path):
    with a_job(fault_lab, heddle, tmp_path) as job:
        heddle.kill()
        until(lambda: job.app["state"] == "ACCEPTED" and job.app["runningContainers"] == 1, "the master runs")
        heddle.start()
        job.allocates(1)
    assert len(job.attempts) == 1


def test_a_job_goes_on_when_its_home_is_started_again(fault_lab, heddle, tmp_path):
    with a_job(fault_lab, heddle, tmp_path) as job:
        job.has_maps_running()
        fault_lab.kill(f"{job.home}-rm")
        fault_lab.start(f"{job.home}-rm")
        fault_lab.wait_ready()
        registered = heddle.calls()["registerApplicationMaster"]
    assert len(job.attempts) == 1
    assert heddle.calls()["registerApplicationMaster"] >= registered >= 1
    assert "ApplicationMaster is out of sync with ResourceManager" in job.log(), "YARN's own resync was used"


def test_a_job_goes_on_when_its_home_fails_over(fresh_lab, tmp_path):
    lab = fresh_lab(clusters=1, standby=True)
    with HeddleProcess(lab, tmp_path) as heddle, a_job(lab, heddle, tmp_path) as job:
        job.has_maps_running()
        lab.kill("east-rm1")
        lab.make_active("east-rm2")
    assert len(job.attempts) == 1
    assert "ApplicationMaster is out of sync with ResourceManager" in job.log(), "YARN's own resync was used"


def test_a_second_attempt_works_when_the_first_ones_master_is_killed(fault_lab, heddle, tmp_path):
    with a_job(fault_lab, heddle, tmp_path) as job:
        job.has_maps_running()
        os.kill(master_of(job.application), signal.SIGKILL)
        until(lambda: len(job.attempts) == 2, "a second attempt")
    assert heddle.calls()["registerApplicationMaster"] == 2


def master_of(application: str) -> int:
    """The process id of an application's MapReduce master."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().split(b"\0")
            environment = (folder / "environ").read_bytes() if b"MRAppMaster" in command[-2] else b""
        except (OSError, IndexError):
            continue
        if command[0].endswith(b"java") and application.encode().partition(b"_")[2] in environment:
            return int(folder.name)
    raise AssertionError(f"no master of {application} runs")
