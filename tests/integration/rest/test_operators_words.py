"""What the web services tell once operators have drained or retired a cluster."""

import pytest

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.domain.subclusters import Admission
from shim.federation.inspection import ClusterStatus, SubClusterDescription
from shim.identity.service import IdentityRules
from shim.ports.multicluster_store import RemoteSession
from shim.server.rest.inspection_shown import cluster_gauges
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer, body_of

EAST, WEST = SubClusterId("east"), SubClusterId("west")
ONE = ApplicationId(1_700_000_000_000, 1)
CLUSTERS = "/heddle/v1/clusters"


@pytest.fixture
async def server() -> ScriptedServer:
    opened = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True, admins=("queen",)))
    await opened.poll()
    return opened


async def test_a_drain_tells_containers_of_applications_of_other_homes(server: ScriptedServer) -> None:
    server.federation["west"].add_application(ONE)
    await server.poll()
    await server.spans.save_session(RemoteSession(ONE, EAST, WEST, "ada"))
    await server.spans.give(ONE, EAST, [ContainerId(ApplicationAttemptId(ONE, 1), 7)], "1")
    would = body_of(await server.ask("POST", f"{CLUSTERS}/east/drain?user.name=queen&dryRun=true"))
    assert (would["still_running"], would["spanning"]) == ([str(ONE)], {str(ONE): 1})
    assert server.administration.current == {}
    told = body_of(await server.ask("POST", f"{CLUSTERS}/east/drain?user.name=queen"))
    assert (told["was"], told["admission"], told["still_running"]) == ("open", "draining", [str(ONE)])
    drainage = body_of(await server.ask("GET", f"{CLUSTERS}/east/drainage?user.name=queen"))
    assert (drainage["is_drained"], drainage["spanning"]) == (False, {str(ONE): 1})
    await server.spans.remove_session(ONE, EAST)
    assert body_of(await server.ask("GET", f"{CLUSTERS}/east/drainage?user.name=queen"))["is_drained"]


async def test_what_still_runs_is_told_to_operators(server: ScriptedServer) -> None:
    assert (await server.ask("GET", f"{CLUSTERS}/east/drainage?user.name=eve")).status == 403
    assert (await server.ask("GET", f"{CLUSTERS}/north/drainage?user.name=queen")).status == 404
    server.spans.is_away = True
    assert (await server.ask("GET", f"{CLUSTERS}/east/drainage?user.name=queen")).status == 503


async def test_a_retired_cluster_is_in_no_sum(server: ScriptedServer) -> None:
    before = body_of(await server.get("/metrics"))["clusterMetrics"]
    assert (before["totalMB"], before["activeNodes"]) == (16384, 2)
    assert len(body_of(await server.get("/nodes"))["nodes"]["node"]) == 2
    await server.administration.declare(EAST, is_dead=True, by="queen")
    after = body_of(await server.get("/metrics"))["clusterMetrics"]
    assert (after["totalMB"], after["activeNodes"]) == (8192, 1)
    assert [node["id"] for node in body_of(await server.get("/nodes"))["nodes"]["node"]] == ["west-n1:45454"]
    rows = body_of(await server.ask("GET", CLUSTERS))["clusters"]
    assert [(row["id"], row["state"], row["nodes"]) for row in rows] == [("east", "RETIRED", 0), ("west", "RUNNING", 1)]
    queues = body_of(await server.ask("GET", "/heddle/v1/queues"))["queues"]
    assert {part["cluster"] for queue in queues for part in queue["parts"]} == {"west"}


@pytest.mark.parametrize(
    ("admission", "told"), [(Admission.DRAINING, (900.0, 2, 3)), (Admission.RETIRED, (None, None, None))]
)
def test_no_alert_for_silence_fires_for_a_retired_cluster(admission: Admission, told: object) -> None:
    status = ClusterStatus(EAST, SubClusterDescription(()), "LOST", admission, 900.0, "3.4.2", "capacity", 3, 2, "")
    gauges = cluster_gauges(status)
    assert (gauges.age_s, gauges.nodes, gauges.live_applications) == told
    assert (gauges.state, gauges.admission) == ("LOST", admission.value)
