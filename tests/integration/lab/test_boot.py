"""What a lab is when `up` returns."""

import os
import socket

import httpx
import pytest

from shim.errors import LabError
from shim.lab import SUPPORTED_VERSIONS, Lab, LabSpec
from shim.lab.allocation import first_taken
from shim.lab.processes import marked_processes

pytestmark = pytest.mark.lab


def get(cluster, path, **query):
    answer = httpx.get(f"{cluster.url}/ws/v1/cluster/{path}", params=query, timeout=30)
    return answer.raise_for_status().json()


def nodes_of(cluster):
    return get(cluster, "nodes")["nodes"]["node"]


def addresses(lab):
    return {address for cluster in lab.clusters.values() for address in cluster.record.layout.addresses()}


def test_every_node_runs_under_an_address_of_its_own(lab):
    hosts = []
    for cluster in lab.clusters.values():
        nodes = nodes_of(cluster)
        assert [node["state"] for node in nodes] == ["RUNNING", "RUNNING"]
        assert all(node["availMemoryMB"] > 0 for node in nodes)
        hosts += [node["nodeHostName"] for node in nodes]
    assert len(set(hosts)) == 4


def test_clusters_have_the_three_queues(lab):
    for cluster in lab.clusters.values():
        queues = get(cluster, "scheduler")["scheduler"]["schedulerInfo"]["queues"]["queue"]
        assert {queue["queueName"] for queue in queues} == {"default", "prod", "dev"}


def test_nodes_can_be_labelled_by_whoever_runs_the_lab(lab):
    web = f"{lab.cluster('east').url}/ws/v1/cluster"
    label = {"nodeLabelInfo": [{"name": "loom", "exclusivity": True}]}
    administrator = {"user.name": lab.administrator}
    taken = httpx.post(f"{web}/add-node-labels", json=label, params=administrator, timeout=30)
    assert taken.status_code == httpx.codes.OK
    # the lab is shared: it is left as it was found
    removed = httpx.post(f"{web}/remove-node-labels", params=administrator | {"labels": "loom"}, timeout=30)
    assert removed.status_code == httpx.codes.OK


def test_the_user_of_a_request_is_the_user_in_the_audit_log(lab, submit):
    east = lab.cluster("east")
    id_ = submit(east.url, "ada", "true")
    (line,) = [line for line in lab.log("east-rm").read_text().splitlines() if id_ in line and "Submit App" in line]
    assert "USER=ada" in line


def test_heddles_own_user_may_act_for_another(lab):
    query = {"user.name": "heddle", "doAs": "grace"}
    url = f"{lab.cluster('west').url}/ws/v1/cluster/apps/new-application"
    assert httpx.post(url, params=query, timeout=30).status_code == httpx.codes.OK
    forbidden = {"user.name": "mallory", "doAs": "grace"}
    assert httpx.post(url, params=forbidden, timeout=30).status_code == httpx.codes.FORBIDDEN


def test_a_folder_with_a_running_lab_is_refused(lab):
    with pytest.raises(LabError, match=r"a lab is running in .*east-rm"):
        Lab(lab.folder).up(LabSpec.of(clusters=1))
    assert {row.state for row in lab.status()} == {"running"}


def test_a_second_lab_lives_beside_the_first(lab, fresh_lab):
    other = fresh_lab(clusters=1)
    assert not addresses(lab) & addresses(other)
    assert len(nodes_of(other.cluster("east"))) == 1
    other.down()
    assert {row.state for row in lab.status()} == {"running"}


def test_down_leaves_no_process_and_no_port_not_even_a_containers(fresh_lab, submit, reaches):
    mortal = fresh_lab(clusters=1, hosts="loopback")
    east = mortal.cluster("east")
    submit(east.url, "ada", "sleep 600")
    reaches(lambda: "sleep\x00600\x00" in commands_of(mortal.folder), wanted=True)
    assert mortal.down() >= len(("rm", "nm", "sleep"))
    assert list(marked_processes(mortal.folder)) == []
    assert first_taken(east.record.layout.addresses()) is None
    assert mortal.down() == 0


def commands_of(folder):
    found = []
    for process in marked_processes(folder):
        try:
            with open(f"/proc/{process.pid}/cmdline") as file:  # noqa: PTH123 - a file of the kernel
                found.append(file.read())
        except OSError:
            continue
    return found


def test_a_daemon_that_dies_while_booting_is_said_with_the_end_of_its_log(tmp_path):
    broken = {"yarn-site.xml": {"yarn.resourcemanager.scheduler.class": "org.example.NoSuchScheduler"}}
    lab = Lab(tmp_path)
    with pytest.raises(LabError, match=r"(?s)east-rm ended\. Last lines of .*NoSuchScheduler"):
        lab.up(LabSpec.of(clusters=1, nodes=1, overrides=broken))
    assert list(marked_processes(tmp_path)) == []


def test_a_port_that_is_taken_is_said_before_anything_is_started(tmp_path):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        with pytest.raises(LabError, match=f"port 127.0.0.1:{port} is taken"):
            Lab(tmp_path).up(LabSpec.of(clusters=1, nodes=1, base_port=port - 88, hosts="loopback"))
    assert list(marked_processes(tmp_path)) == []


def test_a_lab_that_is_not_ready_in_time_is_ended(tmp_path):
    lab = Lab(tmp_path)
    with pytest.raises(LabError, match=r"not ready after 0 s: east has no active ResourceManager"):
        lab.up(LabSpec.of(clusters=1, nodes=1), timeout_s=0)
    assert list(marked_processes(tmp_path)) == []


def test_a_fair_scheduler_boots_too(fresh_lab):
    east = fresh_lab(clusters=1, scheduler="fair").cluster("east")
    assert get(east, "scheduler")["scheduler"]["schedulerInfo"]["type"] == "fairScheduler"


@pytest.mark.versions
@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_every_supported_version_boots_and_runs_an_application(version, cluster_of_version, submit, reaches):
    """All in one lab: so versions mix."""
    cluster = cluster_of_version[version]
    assert get(cluster, "info")["clusterInfo"]["resourceManagerVersion"] == version
    assert [node["version"] for node in nodes_of(cluster)] == [version]
    id_ = submit(cluster.url, os.environ.get("USER", "ada"), "sleep 0")
    # a master that ends without having registered has failed: its container has run, which is what is asked here
    reaches(lambda: get(cluster, f"apps/{id_}")["app"]["state"], wanted="FAILED")
    assert "exited with  exitCode: 0" in get(cluster, f"apps/{id_}")["app"]["diagnostics"]
