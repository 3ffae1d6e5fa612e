"""What a federation in containers refuses before any is started, and what it hands to each."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from heddle.testing import FederationError, Settings, containers
from heddle.testing.containers import (
    FederationContainer,
    HdfsContainer,
    HeddleContainer,
    NodeManagerContainer,
    ResourceManagerContainer,
)


@pytest.fixture(autouse=True)
def no_daemon(monkeypatch, tmp_path):
    """A daemon that answers and has nothing; scratch folders go where the test's are."""
    nothing = SimpleNamespace(list=lambda **_: [], prune=lambda **_: None)
    daemon = SimpleNamespace(containers=nothing, networks=nothing)
    monkeypatch.setattr(containers, "find_docker", lambda: daemon)
    monkeypatch.setattr("testcontainers.core.container.DockerClient", lambda **_: daemon)
    monkeypatch.setattr(containers.tempfile, "gettempdir", lambda: str(tmp_path))


@pytest.mark.parametrize("version", ["east=3.3.6", "east=3.3.6,north=3.5.0"])
def test_versions_by_cluster_name_each_of_them(version):
    with pytest.raises(FederationError, match="shall name each of the clusters east, west"):
        FederationContainer(version=version).start_up()


def test_there_are_names_for_so_many_clusters():
    with pytest.raises(FederationError, match="there are names for 10 clusters: east, west"):
        FederationContainer(clusters=11)


def test_containers_that_ryuk_would_remove_cannot_stay(monkeypatch):
    monkeypatch.setattr(containers.testcontainers_config, "ryuk_disabled", False)
    with pytest.raises(FederationError, match="set TESTCONTAINERS_RYUK_DISABLED=true"):
        FederationContainer(reuse=True).start_up()


def test_a_folder_that_somebody_else_put_there_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setattr(containers.testcontainers_config, "ryuk_disabled", True)
    monkeypatch.setattr(containers.shutil, "rmtree", lambda *_, **__: None)  # it is not ours to remove
    federation = FederationContainer(reuse=True, name="mine")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(containers, "hadoop_image", lambda *_: pytest.fail("it went on"))
    with pytest.raises(pytest.fail.Exception, match="it went on"):
        federation.start_up()
    federation.shared.rename(tmp_path / "away")
    federation.shared.symlink_to(elsewhere)
    with pytest.raises(FederationError, match="cannot be made; remove what is there: File exists"):
        federation.start_up()
    assert list(elsewhere.iterdir()) == []


def test_roles_know_their_resource_manager():
    manager = ResourceManagerContainer("west", number=2, image="hadoop", properties={"yarn.acl.enable": "true"})
    assert manager.env == {
        "YARN-SITE.XML_yarn.resourcemanager.hostname": "west-rm",
        "YARN-SITE.XML_yarn.resourcemanager.cluster-id": "west",
        "YARN-SITE.XML_yarn.resourcemanager.epoch": "2000",
        "YARN-SITE.XML_yarn.acl.enable": "true",
    }
    node = NodeManagerContainer("west", number=3, image="hadoop")
    assert node.env["YARN-SITE.XML_yarn.resourcemanager.hostname"] == "west-rm"
    heddle = HeddleContainer("/etc/mine.toml", image="heddle")
    assert heddle.volumes == {"/etc/mine.toml": {"bind": "/etc/heddle/heddle.toml", "mode": "ro"}}


def test_servers_of_hdfs_are_daemons_and_clients_write_there(monkeypatch, tmp_path):
    monkeypatch.setattr(containers, "hdfs_jars", lambda: tmp_path)
    name_node, data_node = (HdfsContainer(name, image="any") for name in HdfsContainer.NAMES)
    assert {each.env["CORE-SITE.XML_fs.defaultFS"] for each in (name_node, data_node)} == {"hdfs://namenode:8020"}
    assert (list(name_node.ports), list(data_node.ports)) == (["9870"], [])
    federation = FederationContainer(hdfs=True)
    assert (federation.files, federation.file_servers) == ("hdfs://namenode:8020", ("namenode", "datanode"))
    federation = FederationContainer()
    assert (federation.files, federation.file_servers) == ("file:///", ())


def test_a_folder_of_roots_home_is_refused(monkeypatch):
    monkeypatch.setattr(
        containers, "Network", lambda **_: SimpleNamespace(create=lambda: SimpleNamespace(id="1", name="n"))
    )
    daemon = containers.find_docker()
    daemon.networks = SimpleNamespace(list=lambda **_: [], prune=lambda **_: None, get=lambda _: None)
    federation = FederationContainer(Settings(folders=(Path("/", "root", "jars"),)), images={"3.4.2": "hadoop"})
    with pytest.raises(FederationError, match="jars: containers have a /root of their own"):
        federation.start_up()
    assert not federation.shared.exists()
