"""Hadoop's own clients, unmodified, with Heddle's address in the place of a ResourceManager's."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import HeddleThread
from tests.support.stock_client import StockClient

pytestmark = pytest.mark.lab

_CLI = "org.apache.hadoop.yarn.client.cli"


@pytest.fixture(scope="module")
def client(lab, heddle, tmp_path_factory):
    return StockClient(
        lab,
        tmp_path_factory.mktemp("client"),
        address=heddle.client_rpc,
        webapp_address=heddle.url.removeprefix("http://"),
    )


@pytest.fixture(scope="module")
def of_one(lab, tmp_path_factory):
    """A client of a Heddle in front of one cluster: its ApplicationMasters know where their scheduler is."""
    folder = tmp_path_factory.mktemp("one")
    east = lab.cluster("east")
    text = f"""
        [server]
        allow_remote = true
        rest = "{lab.host}:0"
        client_rpc = "{lab.host}:0"
        admin_rpc = "{lab.host}:0"
        scheduler_rpc = "{lab.host}:0"
        [store]
        url = "sqlite:///{folder}/heddle.db"
        [[subcluster]]
        id = "east"
        conf = "{east.conf_dir}"
        """
    with HeddleThread(text) as running:
        yield StockClient(lab, folder / "client", address=running.client_rpc, scheduler_address=east.scheduler_rpc)


@pytest.mark.main_promise
def test_node_list_shows_the_nodes_of_both_clusters(lab, client):
    printed = client.run(f"{_CLI}.NodeCLI", "-list", "-all")

    assert "Total Nodes:4" in printed
    assert {each.record.layout.nodes[number].rpc for each in lab.clusters.values() for number in (0, 1)} == set(
        re.findall(r"^\s*([\d.]+:\d+)\s+RUNNING", printed, re.MULTILINE)
    )


def test_queue_status_shows_a_queue_of_both_clusters(client):
    printed = client.run(f"{_CLI}.QueueCLI", "-status", "default")

    assert "Queue Name : default" in printed
    assert "State : RUNNING" in printed


def test_queue_status_of_an_unknown_queue_says_so(client):
    printed = client.try_run(f"{_CLI}.QueueCLI", "-status", "nosuch").stdout

    assert "Cannot get queue from RM by queueName = nosuch" in printed


def test_application_status_of_an_unknown_id_says_so(client):
    printed = client.try_run(f"{_CLI}.ApplicationCLI", "application", "-status", "application_1_0001").stdout

    assert "Application with id 'application_1_0001' doesn't exist" in printed


def test_map_reduce_computes_pi_and_the_home_knows_whose_job_it_was(lab, of_one):
    """A client that asks after its ApplicationMaster has gone needs a history server: Heddle tells instead."""
    done = of_one.try_run("org.apache.hadoop.util.RunJar", of_one.jar("hadoop-mapreduce-examples"), "pi", "2", "10")

    printed = done.stdout
    assert "Estimated value of Pi is 3.8" in printed or "ClientServiceDelegate" in printed, printed
    application = re.search(r"application_\d+_\d+", printed)
    assert application is not None
    status = of_one.run(f"{_CLI}.ApplicationCLI", "application", "-status", application[0])
    assert "User : ada" in status
    assert "Final-State : SUCCEEDED" in status
    listed = of_one.run(f"{_CLI}.ApplicationCLI", "application", "-list", "-appStates", "FINISHED")
    assert application[0] in listed
    audit = lab.log("east-rm").read_text("utf-8", "replace")
    submitted = [
        line
        for line in audit.splitlines()
        if "OPERATION=Submit Application Request" in line and f"APPID={application[0]}" in line
    ]
    assert len(submitted) == 1
    assert "USER=ada" in submitted[0]


def test_distributed_shell_runs_and_is_killed_through_heddle(lab, of_one):
    jar = of_one.jar("hadoop-yarn-applications-distributedshell")
    shell = "org.apache.hadoop.yarn.applications.distributedshell.Client"
    command = of_one.command(shell)
    arguments = ["-jar", jar, "-shell_command", "sleep 300", "-num_containers", "1", "-appname", "sleeps"]
    environment = os.environ | {"HADOOP_USER_NAME": "ada"}
    with subprocess.Popen(
        [*command, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        assert running.stdout is not None
        found = next(match for line in running.stdout if (match := re.search(r"application_\d+_\d+", line)))
        killed = of_one.run(f"{_CLI}.ApplicationCLI", "application", "-kill", found[0])
        printed = running.stdout.read()

    assert f"Killed application {found[0]}" in killed
    assert "KILLED" in printed


@pytest.mark.main_promise
def test_a_java_program_logs_in_with_a_delegation_token_until_it_is_cancelled(client):
    printed = client.run(str(Path(__file__).parent / "programs" / "DelegationToken.java"))

    assert "owner ada" in printed
    assert "nodes 4" in printed
    assert "renewed true" in printed
    assert "refused org.apache.hadoop.security.token.SecretManager$InvalidToken" in printed
