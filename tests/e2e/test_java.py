"""Java programs over Hadoop's client libraries, unmodified, with Heddle's addresses."""

import re

import pytest

from tests.support.client_jars import compile_program, unmanaged_am_jars
from tests.support.scheduler_calls import calls_of_masters
from tests.support.stock_client import StockClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

LAUNCHER = "org.apache.hadoop.yarn.applications.unmanagedamlauncher.UnmanagedAMLauncher"


@pytest.fixture(scope="module")
def client(lab, heddle, tmp_path_factory):
    return StockClient(lab, tmp_path_factory.mktemp("java"), heddle)


def test_a_program_over_yarn_client_reads_submits_changes_and_kills(client, tmp_path):
    program = compile_program("YarnClientTour", [client.jars], tmp_path)

    printed = client.run("YarnClientTour", class_path=str(program), user="grace")

    told = dict(re.findall(r"^([a-z ]+) (\S.*)$", printed, re.MULTILINE))
    assert told["managers"] == told["nodes"] == "4"
    assert told["queues"] == told["root"] == "3"
    assert told["queue"] == "default"
    assert int(told["largest"]) >= 4096
    assert told["user"] == "grace"
    assert told["same master"] == told["same container"] == told["same attempt"] == told["listed"] == "true"
    assert told["moved"].endswith("dev")
    assert told["priority"] == "0"
    assert told["lifetime"].startswith(("2098-12-31", "2099-01-01"))
    assert "the tour is over" in told["end"]


def test_the_launcher_of_unmanaged_masters_gives_one_its_token_and_its_containers(heddle, client, tmp_path):
    program = compile_program("UnmanagedMaster", [client.jars], tmp_path)
    before = calls_of_masters(heddle)
    master = " ".join(client.command("UnmanagedMaster", class_path=str(program)))

    printed = client.run(
        LAUNCHER, "-appname", "unmanaged", "-cmd", master, class_path=f"{unmanaged_am_jars()}/*", user="grace"
    )

    assert "held 2" in printed
    assert len(set(re.findall(r"granted (container_\S+)", printed))) == 2
    (application,) = set(re.findall(r"application_\d+_\d+", printed))
    assert "Final-State : SUCCEEDED" in client.yarn("application", "-status", application)
    assert {method for method, _ in calls_of_masters(heddle) - before} >= {"registerApplicationMaster", "allocate"}
