"""The `yarn` command's subcommands, unmodified, on an application that runs for the whole module."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from typer.testing import CliRunner

from shim.cli.main import app
from tests.support.stock_client import StockClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_SHELL = "org.apache.hadoop.yarn.applications.distributedshell.Client"
_OWNER = "lois"


@dataclass(frozen=True, slots=True)
class Running:
    """A DistributedShell whose container sleeps."""

    application: str
    attempt: str
    container: str
    node: str


@pytest.fixture(scope="module")
def client(lab, heddle, tmp_path_factory):
    return StockClient(lab, tmp_path_factory.mktemp("yarn"), heddle, admin_address=heddle.admin_rpc)


@pytest.fixture(scope="module")
def running(client) -> Iterator[Running]:
    """From when its container runs."""
    jar = client.jar("hadoop-yarn-applications-distributedshell")
    arguments = ["-jar", jar, "-shell_command", "sleep 600", "-num_containers", "1", "-appname", "sleeps"]
    with client.running(_SHELL, *arguments, user=_OWNER) as process:
        assert process.stdout is not None
        application = next(found[0] for line in process.stdout if (found := re.search(r"application_\d+_\d+", line)))
        yield _found(client, application)
        client.yarn("application", "-kill", application, user=_OWNER)


def _found(client: StockClient, application: str) -> Running:
    """Its attempt, and its second container as soon as it runs; each look takes a second."""
    attempts = listed = ""
    for _ in range(90):
        attempts = client.try_yarn("applicationattempt", "-list", application, user=_OWNER).stdout
        attempt = re.search(r"appattempt_\d+_\d+_\d+", attempts)
        listed = client.try_yarn("container", "-list", attempt[0], user=_OWNER).stdout if attempt else ""
        container = re.search(r"(container_\w+_000002)\s.*?(\d+\.\d+\.\d+\.\d+:\d+)", listed)
        if attempt and container:
            return Running(application, attempt[0], container[1], container[2])
    raise AssertionError(f"{application} has no container: {attempts}{listed}")


@pytest.mark.main_promise
def test_applications_are_listed_by_their_type_and_owner(client, running):
    printed = client.yarn("application", "-list", "-appTypes", "YARN", "-appStates", "RUNNING")

    (line,) = [line for line in printed.splitlines() if line.startswith(running.application)]
    assert {"sleeps", _OWNER, "RUNNING"} <= set(line.split())


@pytest.mark.main_promise
def test_logs_of_a_running_container_are_printed_by_heddle(heddle, running):
    arguments = [
        "app",
        "logs",
        running.application,
        "--server",
        heddle.url,
        "--user",
        _OWNER,
        "--file",
        "prelaunch.out",
    ]
    for _ in range(60):  # a container runs for its ResourceManager before its node has begun it
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
        if f"== {running.container} on " in done.output and done.output.count("Launching container") > 1:
            return
        time.sleep(0.5)
    raise AssertionError(done.output)


def test_logs_of_a_running_container_are_followed_and_searched(heddle, running):
    wanted = ["--follow", "--file", "prelaunch.out", "--grep", "Launching container"]
    named = ["--server", heddle.url, "--user", _OWNER]
    command = [sys.executable, "-m", "shim", "app", "logs", running.container, *wanted, *named]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(2)]
        process.terminate()
    assert lines == [f"== {running.container} prelaunch.out\n", "Launching container\n"]


def test_an_attempt_is_shown(client, running):
    printed = client.yarn("applicationattempt", "-status", running.attempt)

    assert f"ApplicationAttempt-Id : {running.attempt}" in printed
    assert "State : RUNNING" in printed


def test_a_container_is_shown_where_it_runs(client, running):
    printed = client.yarn("container", "-status", running.container)

    assert f"Container-Id : {running.container}" in printed
    assert f"Host : {running.node}" in printed


@pytest.mark.main_promise
def test_a_container_is_signalled_by_its_owner(client, running):
    assert "Signalling container" in client.yarn(
        "container", "-signal", running.container, "OUTPUT_THREAD_DUMP", user=_OWNER
    )


def test_logs_of_a_running_container_are_fetched_from_its_node(client, running):
    which = ["-containerId", running.container, "-log_files", "prelaunch.out"]
    printed = client.yarn("logs", "-applicationId", running.application, *which, user=_OWNER)

    assert "Launching container" in printed


def test_an_applications_priority_and_queue_are_changed(client, running):
    client.yarn("application", "-updatePriority", "0", "-appId", running.application, user=_OWNER)
    moved = client.yarn("application", "-movetoqueue", running.application, "-queue", "dev", user=_OWNER)

    assert "Successfully completed move" in moved
    assert re.search(r"Queue : (root\.)?dev", client.yarn("application", "-status", running.application))


def test_the_node_of_a_container_is_shown(client, running):
    printed = client.yarn("node", "-status", running.node)

    assert f"Node-Id : {running.node}" in printed
    assert "Node-State : RUNNING" in printed


def test_queues_are_listed_once_each(client):
    printed = client.yarn("queue", "-list", "all")

    assert "3 queues were found" in printed
    assert sorted(re.findall(r"\|\s+(default|dev|prod)\s+\|", printed)) == ["default", "dev", "prod"], printed


def test_attributes_and_labels_of_nodes_are_listed(client):
    assert "Node Labels" in client.yarn("cluster", "--list-node-labels")
    client.yarn("cluster", "--list-node-attributes")


def test_top_shows_one_cluster_of_all_nodes(client, running):
    with client.running("org.apache.hadoop.yarn.client.cli.TopCLI", "-rows", "20", "-cols", "120") as process:
        assert process.stdout is not None
        shown = []
        for line in process.stdout:
            shown.append(line)
            if running.application in line:
                break

    text = "".join(shown)
    assert "YARN top" in text, text
    assert re.search(r"NodeManager\(s\): 4 total, 4 active", text), text
