"""What can be done to the daemons of a lab."""

import httpx
import pytest

from shim.errors import LabError
from shim.lab import Lab, LabSpec

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """One cluster of one node, shared by the tests below: each leaves it as it was."""
    with Lab(tmp_path_factory.mktemp("small-lab")) as lab:
        lab.up(LabSpec.of(clusters=1, nodes=1))
        yield lab


def state_of(lab, daemon):
    return next(row.state for row in lab.status() if row.name == daemon)


def ha_state(lab, within_s=180):
    url = f"{lab.cluster('east').url}/ws/v1/cluster/info"
    return httpx.get(url, timeout=within_s).json()["clusterInfo"]["haState"]


def test_a_paused_resource_manager_keeps_connections_and_answers_nothing(small):
    small.pause("east-rm")
    assert state_of(small, "east-rm") == "paused"
    with pytest.raises(httpx.ReadTimeout):
        ha_state(small, within_s=1)
    small.resume("east-rm")
    assert state_of(small, "east-rm") == "running"
    small.wait_ready()
    assert ha_state(small) == "ACTIVE"


def test_a_killed_resource_manager_recovers_its_applications_when_started_again(small, submit, reaches):
    url = small.cluster("east").url
    id_ = submit(url, "ada", "sleep 600")

    def state():
        return httpx.get(f"{url}/ws/v1/cluster/apps/{id_}", timeout=60).json()["app"]["state"]

    reaches(state, wanted="ACCEPTED")
    small.kill("east-rm")
    assert state_of(small, "east-rm") == "dead"
    with pytest.raises(httpx.ConnectError):
        ha_state(small)
    small.start("east-rm")
    small.wait_ready()
    reaches(state, wanted="ACCEPTED")
    killed = {"state": "KILLED"}
    httpx.put(f"{url}/ws/v1/cluster/apps/{id_}/state", json=killed, params={"user.name": "ada"}, timeout=30)
    reaches(state, wanted="KILLED")


def test_a_killed_node_comes_back_under_its_address(small):
    small.kill("east-nm1")
    assert state_of(small, "east-nm1") == "dead"
    small.start("east-nm1")
    small.wait_ready()
    (node,) = small.cluster("east").record.layout.nodes
    info = httpx.get(f"http://{node.web}/ws/v1/node/info", timeout=30).json()["nodeInfo"]
    assert info["id"] == node.rpc


def test_what_does_not_run_cannot_be_paused_and_what_runs_cannot_be_started(small):
    with pytest.raises(LabError, match="east-rm is running"):
        small.start("east-rm")
    small.kill("east-nm1")
    with pytest.raises(LabError, match="east-nm1 is not running: start it with `heddle lab start east-nm1`"):
        small.pause("east-nm1")
    small.start("east-nm1")
    small.wait_ready()


def test_a_daemon_or_cluster_that_is_not_there_is_said_with_those_that_are(small):
    with pytest.raises(LabError, match="no daemon 'west-rm' in this lab; it has east-rm, east-nm1"):
        small.pause("west-rm")
    with pytest.raises(LabError, match=r"no cluster .west. in the lab .* it has east"):
        small.cluster("west")


def test_one_alone_has_no_standby(small):
    with pytest.raises(LabError, match="east-rm has no standby: start the lab with --ha"):
        small.make_active("east-rm")


def test_the_standby_of_a_pair_takes_over_with_its_applications(fresh_lab, submit, reaches):
    lab = fresh_lab(clusters=1, standby=True)

    def states():
        return {name: report.ha_state for name, report in lab.reports("east").items()}

    def told(manager):
        return httpx.get(f"{manager}/ws/v1/cluster/apps/{id_}", trust_env=False, timeout=30).json()["app"]

    assert states() == {"east-rm1": "ACTIVE", "east-rm2": "STANDBY"}
    first, second = (f"http://{layout.web}" for layout in lab.cluster("east").record.layout.resource_managers)
    id_ = submit(first, "ada", "sleep 600")
    reaches(lambda: told(first)["state"], wanted="ACCEPTED")
    lab.make_active("east-rm2")
    reaches(states, wanted={"east-rm1": "STANDBY", "east-rm2": "ACTIVE"})
    reaches(lambda: told(second)["user"], wanted="ada")
    lab.kill("east-rm2")
    lab.make_active("east-rm1")
    reaches(lambda: lab.reports("east")["east-rm1"].ha_state, wanted="ACTIVE")
