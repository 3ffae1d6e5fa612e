import json
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import ApplicationId, NodeId
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.federation.doctor_facts import FederationFacts
from shim.federation.findings import Finding, Level
from shim.federation.inspection import DoctorRounds, capacity_excess
from shim.federation.tls_findings import CertificateFacts, ClusterTLSFacts, MasterTLSFacts, TLSFacts
from shim.ports.resource_manager import RestAnswer, RestRequest
from tests.doubles.misbehaviours import IsNeverReached
from tests.doubles.resource_manager import ScriptedResourceManager
from tests.support.scripted_server import ScriptedServer

AMOUNTS = st.integers(-10, 10**9)


def nodes(*totals: ResourceVector) -> list[NodeReport]:
    nothing = ResourceVector()
    return [NodeReport(NodeId("n", number), "/r", "RUNNING", total, nothing) for number, total in enumerate(totals)]


@given(st.lists(st.builds(ResourceVector, AMOUNTS, AMOUNTS), max_size=5), AMOUNTS, AMOUNTS)
def test_each_amount_beyond_the_sum_of_nodes_is_told_and_no_other(totals, memory_mib, vcores):
    found = capacity_excess(ResourceVector(memory_mib, vcores), nodes(*totals))
    has_memory = memory_mib > sum(max(0, each.memory_mib) for each in totals)
    has_vcores = vcores > sum(max(0, each.vcores) for each in totals)
    assert [each.partition(":")[0] for each in found] == ["memory MiB"] * has_memory + ["vcores"] * has_vcores


def test_both_amounts_are_named():
    told = capacity_excess(ResourceVector(4096, 2), nodes(ResourceVector(1024, 1), ResourceVector(1024, 1)))
    assert told == ("memory MiB: 4096, of nodes 2048",)


@dataclass
class TellsConfiguration:
    """Healthy, and answers `/conf` as it is told."""

    status: int
    body: bytes

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        if request.path != "/conf":
            return manager.take(request)
        assert timeout_s == 2.0
        return RestAnswer(self.status, (("Content-Type", "application/json"),), self.body)


def configured(**settings: str) -> bytes:
    properties = [{"key": key.replace("_", "."), "value": value, "isFinal": True} for key, value in settings.items()]
    return json.dumps({"properties": properties}).encode()


WITHOUT_PROXY = configured(yarn_acl_enable="true")
WITH_PROXY = configured(hadoop_proxyuser_heddle_hosts="*", hadoop_proxyuser_heddle_users="*")


@pytest.mark.parametrize(
    ("behaviour", "is_told"),
    [
        (TellsConfiguration(200, WITHOUT_PROXY), True),
        (TellsConfiguration(200, WITH_PROXY), True),
        (TellsConfiguration(500, WITHOUT_PROXY), False),
        (TellsConfiguration(401, WITHOUT_PROXY), False),
        (TellsConfiguration(200, b"<configuration/>"), False),
        (IsNeverReached(), False),
    ],
)
async def test_the_settings_of_a_resource_manager_are_what_it_tells_where_it_tells_any(behaviour, is_told):
    """By a finding that follows from them alone: whom its configuration lets Heddle speak for."""
    server = ScriptedServer(["east"])
    await server.poll()
    inspection = server.use_cases.inspection
    descriptions = {name: replace(each, proxy_user="heddle") for name, each in inspection.descriptions.items()}
    server.federation["east"].behave(behaviour)
    seen = []

    def noted(facts: FederationFacts) -> list[Finding]:
        seen.extend(each.manager_settings for each in facts.subclusters)
        return []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shim.federation.inspection.examine", noted)
        await server.federation.wait_for(replace(inspection, descriptions=descriptions).doctor())
    (settings,) = seen
    told = None if not is_told else {each["key"]: each for each in json.loads(behaviour.body)["properties"]}
    assert (settings is None) is (told is None)
    if told is not None:
        assert {key: (each.value, each.is_final) for key, each in settings.items()} == {
            key: (each["value"], each["isFinal"]) for key, each in told.items()
        }


DAY_S = 86_400.0


async def test_a_round_counts_what_is_wrong_and_knows_when_certificates_end():
    server = ScriptedServer()
    clock = server.federation.clock
    await server.poll()
    inspection = server.use_cases.inspection
    settings = replace(
        inspection.settings,
        tls=lambda: TLSFacts(has_certificate=True, ends_in_s=-DAY_S, file="/etc/heddle/tls.pem"),
        cluster_tls=lambda: [
            ClusterTLSFacts("east", is_verified=True, certificates=(CertificateFacts("its CA", "/etc/ca.pem", DAY_S),))
        ],
        master_tls=lambda: MasterTLSFacts(certificates=(CertificateFacts("this master", "/etc/gm.pem", 2 * DAY_S),)),
    )
    rounds = DoctorRounds(replace(inspection, settings=settings), clock)
    assert (rounds.counts, rounds.certificates()) == ({}, {})

    await server.federation.wait_for(rounds.round())

    ends = {("the web services", "tls.pem"): -DAY_S, ("its CA", "ca.pem"): DAY_S, ("this master", "gm.pem"): 2 * DAY_S}
    assert {key: round(value / DAY_S) * DAY_S for key, value in rounds.certificates().items()} == ends
    assert {level for _, level in rounds.counts} <= {"warning", "error"}
    assert rounds.counts["tls", "error"] >= 1


async def test_the_doctor_tells_what_an_order_by_arrival_costs_by_what_ended_in_the_queue():
    server = ScriptedServer()
    manager, start_ms = server.federation["east"], int(server.federation.clock.now_s() * 1000) - 3_600_000
    capacity_mib = 8192
    for number in range(31):  # a giant of ten minutes, and behind it thirty of a second
        works_s, ends_s = (600, 600) if number == 0 else (1, 600 + number)
        manager.add_application(
            ApplicationId(start_ms, number + 1),
            "FINISHED",
            startedTime=start_ms + number,
            launchTime=start_ms + number,
            finishedTime=start_ms + 1000 * ends_s,
            memorySeconds=works_s * capacity_mib,
        )
    await server.poll()
    found = await server.federation.wait_for(server.use_cases.inspection.doctor())
    costs = [each for each in found if each.check == "order of a queue"]
    assert [(each.subject, each.level) for each in costs] == [("east", Level.WARNING)]
    assert "queue root.default" in costs[0].message
    assert "by its last 31, which took 615 s in the mean, that costs about 565 s of each" in costs[0].message
