import dataclasses
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from shim.lab.hadoop_conf import FrontAddresses, Surroundings, client_files, cluster_files, node_files, to_xml
from shim.lab.layout import lay_out
from shim.lab.spec import ClusterSpec, LabNode, LabSpec, NodeCondition, Tuning

AROUND = Surroundings(Path("/lab/east"), Path("/cache/3.4.2"), ("weaver",))


def properties(text):
    return {row.findtext("name"): row.findtext("value") for row in ET.fromstring(text)}  # noqa: S314 - our own file


def east(**arguments):
    spec = LabSpec.of(clusters=1, **arguments)
    (layout,) = lay_out(spec, base_port=21_000, first_octet=10)
    return spec.clusters[0], layout


def yarn_site(**arguments):
    return properties(cluster_files(*east(**arguments), AROUND)["yarn-site.xml"])


def test_what_is_written_is_read_back_whatever_it_holds():
    table = {"a.b": "<&>\"'", "empty": "", "unicode": "Wëbstuhl"}
    read = properties(to_xml(table))
    assert {name: value or "" for name, value in read.items()} == table


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("yarn.resourcemanager.webapp.address", "127.0.0.1:21088"),
        ("yarn.resourcemanager.address", "127.0.0.1:21032"),
        ("yarn.resourcemanager.cluster-id", "east"),
        ("yarn.resourcemanager.epoch", "1000"),
        ("yarn.resourcemanager.recovery.enabled", "true"),
        ("yarn.node-labels.enabled", "true"),
        ("yarn.webapp.api-service.enable", "false"),
        ("yarn.resourcemanager.connect.retry-interval.ms", "500"),
        ("yarn.scheduler.fair.user-as-default-queue", "false"),
    ],
)
def test_a_resource_manager_is_configured_to_recover_and_be_told_apart(name, value):
    assert yarn_site()[name] == value


def test_handlers_are_few_but_where_a_resource_manager_is_measured():
    measured = dataclasses.replace(AROUND, tuning=Tuning.THROUGHPUT)
    name = "yarn.resourcemanager.scheduler.client.thread-count"
    assert yarn_site()[name] == "8"
    assert name not in properties(cluster_files(*east(), measured)["yarn-site.xml"])


@pytest.mark.parametrize(
    "name",
    [
        "yarn.resourcemanager.fs.state-store.uri",
        "yarn.node-labels.fs-store.root-dir",
        "yarn.node-attribute.fs-store.root-dir",
    ],
)
def test_what_a_resource_manager_keeps_lies_in_its_clusters_own_folder(name):
    assert yarn_site()[name].startswith(f"file://{AROUND.folder}/")


def test_a_pair_has_each_address_twice_and_no_automatic_failover():
    site = yarn_site(standby=True)
    assert site["yarn.resourcemanager.ha.rm-ids"] == "rm1,rm2"
    assert site["yarn.resourcemanager.ha.automatic-failover.enabled"] == "false"
    assert site["yarn.resourcemanager.webapp.address.rm1"] == "127.0.0.1:21088"
    assert site["yarn.resourcemanager.webapp.address.rm2"] == "127.0.0.1:21098"
    assert "yarn.resourcemanager.webapp.address" not in site


def test_each_of_a_pair_knows_which_it_is():
    files = cluster_files(*east(standby=True), AROUND, ha_id="rm2")
    assert properties(files["yarn-site.xml"])["yarn.resourcemanager.ha.id"] == "rm2"


@pytest.mark.parametrize("kind", ["capacity", "fair"])
def test_the_scheduler_is_the_one_asked_for(kind):
    assert kind in yarn_site(scheduler=kind)["yarn.resourcemanager.scheduler.class"]


def test_both_schedulers_have_the_three_queues():
    files = cluster_files(*east(), AROUND)
    capacity = properties(files["capacity-scheduler.xml"])
    fair = ET.fromstring(files["fair-scheduler.xml"])  # noqa: S314 - our own file
    queues = ["default", "prod", "dev"]
    assert capacity["yarn.scheduler.capacity.root.queues"].split(",") == queues
    assert sum(float(capacity[f"yarn.scheduler.capacity.root.{queue}.capacity"]) for queue in queues) == 100
    assert [queue.get("name") for queue in fair] == queues


def test_a_node_has_its_own_address_folders_and_shuffle_port():
    spec, layout = east()
    first, second = (node_files(spec, layout, node, AROUND) for node in layout.nodes)
    site, other = (properties(files["yarn-site.xml"]) for files in (first, second))
    for name in ("hostname", "address", "local-dirs", "log-dirs"):
        assert site[f"yarn.nodemanager.{name}"] != other[f"yarn.nodemanager.{name}"]
    assert site["yarn.nodemanager.log-dirs"].startswith("/")
    # the shuffle handler reads its port from mapred-site.xml alone
    shuffle = "mapreduce.shuffle.port"
    assert properties(first["mapred-site.xml"])[shuffle] != properties(second["mapred-site.xml"])[shuffle]


def test_overrides_replace_and_add_in_every_daemons_files():
    overrides = {"yarn-site.xml": {"yarn.acl.enable": "true", "yarn.scheduler.minimum-allocation-mb": "64"}}
    spec, layout = east(overrides=overrides)
    for files in (cluster_files(spec, layout, AROUND), node_files(spec, layout, layout.nodes[0], AROUND)):
        site = properties(files["yarn-site.xml"])
        assert site["yarn.acl.enable"] == "true"
        assert site["yarn.scheduler.minimum-allocation-mb"] == "64"


def test_whoever_runs_heddle_may_act_for_its_users():
    core = properties(cluster_files(*east(), AROUND)["core-site.xml"])
    assert core["hadoop.proxyuser.weaver.hosts"] == "*"
    assert core["hadoop.proxyuser.weaver.groups"] == "*"


def test_a_client_knows_heddle_and_no_resource_manager():
    site = properties(client_files(FrontAddresses(rest="127.0.0.1:22088").at("127.0.0.1"), AROUND)["yarn-site.xml"])
    assert site["yarn.resourcemanager.webapp.address"] == "127.0.0.1:22088"
    assert site["yarn.resourcemanager.address"] == "127.0.0.1:8032"


def test_nodes_of_one_cluster_may_differ_and_be_unwell():
    kinds = (LabNode(memory_mib=2048, vcores=2, properties={"a": "b"}), LabNode(condition=NodeCondition.UNHEALTHY))
    spec = ClusterSpec(
        "east", nodes=3, node_specs=kinds, overrides={"resource-types.xml": {"yarn.resource-types": "gpu"}}
    )
    (layout,) = lay_out(LabSpec((spec,)), base_port=21_000, first_octet=10)
    files = [node_files(spec, layout, node, AROUND) for node in layout.nodes]
    sites = [properties(each["yarn-site.xml"]) for each in files]
    memory = "yarn.nodemanager.resource.memory-mb"
    assert [site[memory] for site in sites] == ["2048", "4096", "4096"]
    assert [site.get("a") for site in sites] == ["b", None, None]
    assert [site.get("yarn.nodemanager.health-checker.script.path", "") for site in sites] == [
        "",
        "/lab/east/east-nm2/conf/health.sh",
        "",
    ]
    assert ["health.sh" in each for each in files] == [False, True, False]
    assert properties(files[0]["resource-types.xml"]) == {"yarn.resource-types": "gpu"}
    assert "resource-types.xml" not in node_files(*east(), layout.nodes[0], AROUND)


def test_a_cluster_from_which_a_node_leaves_has_a_list_of_those_who_do():
    leaving = (LabNode(condition=NodeCondition.DECOMMISSIONING),)
    spec = ClusterSpec("east", node_specs=leaving, fair_allocations="<allocations/>")
    (layout,) = lay_out(LabSpec((spec,)), base_port=21_000, first_octet=10)
    files = cluster_files(spec, layout, AROUND)
    assert properties(files["yarn-site.xml"])["yarn.resourcemanager.nodes.exclude-path"] == "/lab/east/exclude"
    assert files["fair-scheduler.xml"] == "<allocations/>"
    assert "exclude-path" not in cluster_files(*east(), AROUND)["yarn-site.xml"]
