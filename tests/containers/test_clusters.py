"""The images of Hadoop and PostgreSQL alone."""

import json

import pytest

from shim.lab.processes import wait_until

# the first test waits for the images to be built
pytestmark = [pytest.mark.containers, pytest.mark.timeout(900)]


@pytest.mark.parametrize("cluster", ["east", "west"])
def test_a_cluster_of_containers_has_its_node_under_its_own_name(clusters, cluster):
    def running():
        answer = clusters.run(f"{cluster}-rm", "curl", "--silent", f"http://{cluster}-rm:8088/ws/v1/cluster/nodes")
        return [node for node in json.loads(answer)["nodes"].get("node", []) if node["state"] == "RUNNING"]

    assert wait_until(running, timeout_s=180)  # a NodeManager is healthy before it has registered
    (node,) = running()
    assert node["nodeHostName"] == f"{cluster}-nm1"


@pytest.mark.parametrize(("cluster", "epoch"), [("east", "1000"), ("west", "2000")])
def test_properties_come_from_the_environment(clusters, cluster, epoch):
    conf = clusters.run(f"{cluster}-rm", "curl", "--silent", f"http://{cluster}-rm:8088/conf")
    assert f"<name>yarn.resourcemanager.epoch</name><value>{epoch}</value>" in conf
    assert f"<name>yarn.resourcemanager.cluster-id</name><value>{cluster}</value>" in conf


def test_the_database_asks_for_its_password(clusters):
    query = ("-h", "postgres", "-U", "heddle", "-d", "heddle", "-t", "-c", "select current_user")
    assert clusters.run("postgres", "env", "PGPASSWORD=heddle", "psql", *query).strip() == "heddle"
    refused = clusters.run("postgres", "bash", "-c", f"PGPASSWORD=wrong psql {' '.join(query[:6])} 2>&1 || true")
    assert "password authentication failed" in refused


def test_nothing_runs_as_root(clusters):
    assert clusters.run("east-rm", "id", "-un").strip() == "hadoop"
    assert clusters.run("postgres", "id", "-un").strip() == "postgres"
