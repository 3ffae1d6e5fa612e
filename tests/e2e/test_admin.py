"""`yarn rmadmin` and its like, unmodified, with Heddle's admin address in the place of a ResourceManager's."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from shim.lab import Lab
from tests.e2e.conftest import HeddleThread
from tests.support.stock_client import StockClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_OPERATOR = "olga"
_LABEL = "operated"
_MEMORY = re.compile(r"Memory-Capacity : (\d+)MB")
_REFRESHES = {
    "-refreshQueues": "refreshQueues",
    "-refreshNodes": "refreshNodes",
    "-refreshNodesResources": "refreshNodesResources",
    "-refreshSuperUserGroupsConfiguration": "refreshSuperUserGroupsConfiguration",
    "-refreshUserToGroupsMappings": "refreshUserToGroupsMappings",
    "-refreshAdminAcls": "refreshAdminAcls",
    "-refreshClusterMaxPriority": "refreshClusterMaxPriority",
}
"""Options of the tool, and what a ResourceManager's audit log calls them."""


@pytest.fixture(scope="module")
def client(lab, heddle, tmp_path_factory):
    return StockClient(
        lab, tmp_path_factory.mktemp("operator"), address=heddle.client_rpc, admin_address=heddle.admin_rpc
    )


@pytest.fixture(scope="module")
def of_two(lab, heddle, tmp_path_factory):
    """A client that takes Heddle for one of several ResourceManagers of a federation."""
    ids = {
        "yarn.federation.enabled": "true",
        "yarn.resourcemanager.cluster-id": "heddles",
        "yarn.resourcemanager.ha.enabled": "true",
        "yarn.resourcemanager.ha.automatic-failover.enabled": "false",
        "yarn.resourcemanager.ha.rm-ids": "h1",
        "yarn.resourcemanager.admin.address.h1": heddle.admin_rpc,
    }
    return StockClient(lab, tmp_path_factory.mktemp("of-two"), more=ids)


@pytest.fixture(scope="module")
def of_half(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StockClient]:
    """A client of a Heddle whose second sub-cluster cannot be reached."""
    folder: Path = tmp_path_factory.mktemp("half")
    text = f"""
        [server]
        allow_remote = true
        rest = "{lab.host}:0"
        client_rpc = ""
        scheduler_rpc = ""
        admin_rpc = "{lab.host}:0"
        [store]
        url = "sqlite:///{folder}/heddle.db"
        [[subcluster]]
        id = "east"
        conf = "{lab.cluster("east").conf_dir}"
        [[subcluster]]
        id = "gone"
        web = "http://127.0.0.1:9"
        admin_rpc = "127.0.0.1:9"
        """
    with HeddleThread(text) as running:
        yield StockClient(lab, folder / "client", admin_address=running.admin_rpc)


def operations(lab: Lab, cluster: str) -> set[str]:
    """What a ResourceManager's audit log says that the operator has done."""
    audit = lab.log(f"{cluster}-rm").read_text("utf-8", "replace")
    return set(re.findall(rf"USER={_OPERATOR}\t.*OPERATION=(\w+)\t.*RESULT=SUCCESS", audit))


def memory_of(client: StockClient, node: str) -> int:
    found = _MEMORY.search(client.yarn("node", "-status", node))
    assert found is not None
    return int(found[1])


def test_a_refresh_reaches_every_resource_manager_in_the_operators_name(lab, client):
    for option in _REFRESHES:
        client.yarn("rmadmin", option, user=_OPERATOR)

    assert operations(lab, "east") >= set(_REFRESHES.values())
    assert operations(lab, "west") >= set(_REFRESHES.values())


def test_what_resource_managers_refuse_is_refused_in_their_words(client):
    done = client.try_yarn("rmadmin", "-refreshServiceAcl")

    assert done.returncode != 0
    assert (
        "refreshServiceAcl: java.io.IOException: Service Authorization (hadoop.security.authorization) not enabled"
        in (done.stdout)
    )


def test_groups_of_a_user_are_shown(client):
    assert "root : root" in client.yarn("rmadmin", "-getGroups", "root")


def test_a_node_is_labelled_at_its_own_cluster_by_its_host_alone(lab, client):
    host = lab.cluster("west").record.layout.nodes[0].host

    client.yarn("rmadmin", "-addToClusterNodeLabels", _LABEL)
    try:
        client.yarn("rmadmin", "-replaceLabelsOnNode", f"{host}={_LABEL}", "-failOnUnknownNodes")
        labels = client.yarn("cluster", "--list-node-labels")
        nodes = client.yarn("node", "-list", "-showDetails")
    finally:
        client.yarn("rmadmin", "-replaceLabelsOnNode", f"{host}=")
        client.yarn("rmadmin", "-removeFromClusterNodeLabels", _LABEL)

    assert f"<{_LABEL}:exclusivity=true>" in labels
    assert nodes.count(f"Node-Labels : {_LABEL}") == 1
    assert _LABEL not in client.yarn("cluster", "--list-node-labels")


def test_a_nodes_resources_are_changed_at_its_own_cluster(lab, client):
    node = str(lab.cluster("west").record.layout.nodes[0].rpc)
    had = memory_of(client, node)

    client.yarn("rmadmin", "-updateNodeResource", node, str(had - 512), "4")
    try:
        assert memory_of(client, node) == had - 512
    finally:
        client.yarn("rmadmin", "-updateNodeResource", node, str(had), "4")
    assert memory_of(client, node) == had


def test_a_node_that_nobody_has_is_refused(client):
    done = client.try_yarn("rmadmin", "-updateNodeResource", "10.9.8.7:45454", "1024", "1")

    assert done.returncode != 0
    assert "no sub-cluster has a node 10.9.8.7:45454" in done.stdout


def test_half_a_refresh_names_who_has_it_and_who_has_not(lab, of_half):
    done = of_half.try_yarn("rmadmin", "-refreshQueues")

    assert done.returncode != 0
    assert "refreshQueues: done at east; gone does not answer: cannot be reached" in done.stdout


def test_heddle_is_an_active_resource_manager_that_cannot_be_deposed(of_two):
    state = of_two.yarn("rmadmin", "-getServiceState", "h1")
    of_two.yarn("rmadmin", "-checkHealth", "h1")
    deposed = of_two.try_yarn("rmadmin", "-transitionToStandby", "h1")

    assert state.rstrip().endswith("active")
    assert deposed.returncode != 0
    assert "Operation failed: transitionToStandby: Heddle is always active" in deposed.stdout


def test_the_routers_tool_lists_the_sub_clusters(of_two):
    printed = of_two.yarn("routeradmin", "-subCluster", "-getSubClusters")

    assert re.search(r"east\s.*SC_RUNNING", printed)
    assert re.search(r"west\s.*SC_RUNNING", printed)
