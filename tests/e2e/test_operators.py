"""The verbs of `heddle` against a Heddle in front of real clusters."""

import json
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from shim.cli.front import ExitCode
from shim.cli.main import app
from tests.support.heddle_process import until

pytestmark = pytest.mark.lab

CONTEXT = {
    "application-name": "operators",
    "am-container-spec": {"commands": {"command": "sleep 1"}},
    "resource": {"memory": 256, "vCores": 1},
    "unmanaged-AM": True,
}


@pytest.fixture
def cli(heddle_url):
    """Run a verb; returns its result, and fails unless the exit code is the expected one."""

    def run(*words, code=0, text=None):
        result = CliRunner().invoke(app, [*words, "--server", heddle_url, "--user", "ada"], input=text)
        assert result.exit_code == code, f"{words}: {result.output}"
        return result

    return run


@pytest.fixture
def submitted(cli):
    """An application of ada that is killed after the test."""
    ids = []

    def submit(*words):
        row = json.loads(cli("submit", "-", "-o", "json", *words, text=json.dumps(CONTEXT)).stdout)
        ids.append(row["id"])
        return row

    yield submit
    for id_ in ids:
        CliRunner().invoke(app, ["app", "kill", id_])


def test_cluster_list_tells_what_programs_need(cli, lab):
    rows = json.loads(cli("cluster", "list", "-o", "json").stdout)
    assert [row["id"] for row in rows] == list(lab.clusters)
    for row in rows:
        cluster = lab.cluster(row["id"])
        assert set(row) >= {"id", "web", "client_rpc", "scheduler_rpc", "version", "state", "age_s", "running"}
        assert row["web"] == cluster.url
        assert row["client_rpc"] == cluster.client_rpc
        assert row["scheduler_rpc"] == cluster.scheduler_rpc
        assert row["version"] == cluster.version
        assert row["state"] == "RUNNING"
        assert isinstance(row["age_s"], float)


def test_every_format_tells_the_same(cli):
    rows = json.loads(cli("cluster", "list", "-o", "json").stdout)
    told = yaml.safe_load(cli("cluster", "list", "-o", "yaml").stdout)
    assert [row["id"] for row in told] == [row["id"] for row in rows]
    table = cli("cluster", "list").stdout
    assert table.splitlines()[0].startswith("CLUSTER")
    assert all(row["web"] in table for row in rows)


@pytest.mark.main_promise
def test_an_application_is_submitted_listed_explained_and_killed(cli, submitted):
    row = submitted()
    listed = json.loads(cli("app", "list", "-o", "json").stdout)
    (found,) = [each for each in listed if each["id"] == row["id"]]
    assert found["cluster"] == row["cluster"]
    assert {"user", "name", "queue", "state", "finalStatus", "applicationType"} <= set(found)
    assert found["user"] == "ada"

    why = json.loads(cli("app", "why", row["id"], "-o", "json").stdout)
    assert why["home"] == row["cluster"]
    assert {candidate["cluster"] for candidate in why["candidates"]} == {"east", "west"}

    assert "would kill" in cli("app", "kill", row["id"], "--dry-run").stdout
    assert json.loads(cli("app", "status", row["id"], "-o", "json").stdout)["finalStatus"] == "UNDEFINED"
    cli("app", "kill", row["id"])
    listed = json.loads(cli("app", "list", "--cluster", row["cluster"], "-o", "json").stdout)
    assert row["id"] in {each["id"] for each in listed}


def test_a_drained_cluster_gets_no_application_until_it_is_undrained(cli, submitted):
    would = json.loads(cli("cluster", "drain", "east", "--dry-run", "-o", "json").stdout)
    assert (would["admission"], would["dry_run"]) == ("draining", True)
    assert json.loads(cli("cluster", "list", "-o", "json").stdout)[0]["state"] == "RUNNING"
    cli("cluster", "drain", "east")
    try:
        assert json.loads(cli("cluster", "list", "-o", "json").stdout)[0]["state"] == "DRAINING"
        choice = json.loads(cli("submit", "-", "--dry-run", "-o", "json", text=json.dumps(CONTEXT)).stdout)
        assert choice["home"] == "west"
        assert submitted()["cluster"] == "west"
    finally:
        cli("cluster", "undrain", "east")
    assert json.loads(cli("cluster", "list", "-o", "json").stdout)[0]["state"] == "RUNNING"


@pytest.mark.parametrize("words", [("--dry-run",), ("--yes",)])
def test_a_cluster_that_is_there_is_not_declared_dead(cli, words):
    told = cli("cluster", "retire", "east", *words, code=ExitCode.FAILED).stderr
    assert "east cannot be retired: somebody holds its port" in told
    assert json.loads(cli("cluster", "list", "-o", "json").stdout)[0]["state"] == "RUNNING"


def test_nobody_retires_or_revives_what_is_not_there_or_not_retired(cli):
    assert "there are: east, west" in cli("cluster", "retire", "north", "--yes", code=ExitCode.NOT_FOUND).stderr
    assert "is not retired" in cli("cluster", "revive", "east", code=ExitCode.FAILED).stderr


def test_a_dry_submission_submits_nothing(cli):
    before = json.loads(cli("app", "list", "-o", "json", "--of", "ada").stdout)
    cli("submit", "--command", "sleep 1", "--queue", "root.prod", "--dry-run")
    assert len(json.loads(cli("app", "list", "-o", "json", "--of", "ada").stdout)) == len(before)
    nowhere = ("submit", "--command", "sleep 1", "--queue", "root.none", "--dry-run", "-o", "json")
    told = json.loads(cli(*nowhere, code=ExitCode.UNAVAILABLE).stdout)
    assert told["reason"].startswith("No cluster can take it in queue root.none: ")


def test_queues_are_told_together_and_apart(cli):
    rows = {row["queue"]: row for row in json.loads(cli("queue", "list", "-o", "json").stdout)}
    assert set(rows) == {"root.default", "root.prod", "root.dev"}
    prod = rows["root.prod"]
    assert [part["cluster"] for part in prod["parts"]] == ["east", "west"]
    assert prod["capacity_mib"] == sum(part["capacity_mib"] for part in prod["parts"]) > 0
    (found,) = json.loads(cli("queue", "status", "prod", "-o", "json").stdout)
    assert [part["cluster"] for part in found["parts"]] == ["east", "west"]


def test_the_doctor_finds_healthy_clusters_reachable(cli):
    findings: list[dict[str, Any]] = []

    def have_answered() -> bool:
        """Tells whether nobody was too late for the doctor, who is in a hurry."""
        findings[:] = json.loads(cli("doctor", "-o", "json").stdout)
        return {found["cluster"] for found in findings if found["check"] == "epochs"} == {"east", "west"}

    until(have_answered, "both clusters have told the doctor of their configuration")
    reached = {found["cluster"] for found in findings if found["check"] == "reachable" and found["level"] == "ok"}
    assert reached == {"east", "west"}
    epochs = {found["cluster"] for found in findings if found["check"] == "epochs" and found["level"] == "ok"}
    assert epochs == {"east", "west"}
    assert {found["check"] for found in findings} >= {"store", "versions", "clocks", "queues", "scheduler address"}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("app", "status", "application_1_9999"), ExitCode.NOT_FOUND),
        (("app", "status", "nonsense"), ExitCode.USAGE),
        (("queue", "status", "root.nowhere"), ExitCode.NOT_FOUND),
        (("cluster", "cordon", "nowhere"), ExitCode.NOT_FOUND),
        (("submit",), ExitCode.USAGE),
    ],
)
def test_the_exit_code_says_what_went_wrong(cli, words, code):
    cli(*words, code=code)


def test_no_heddle_has_an_exit_code_of_its_own():
    result = CliRunner().invoke(app, ["cluster", "list", "--server", "http://127.0.0.1:9"])
    assert result.exit_code == ExitCode.UNREACHABLE
    assert "heddle serve" in result.output
