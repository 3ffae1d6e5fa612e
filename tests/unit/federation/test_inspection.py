from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import ApplicationId, NodeId
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.federation.findings import Level
from shim.federation.inspection import DoctorRounds, capacity_excess
from shim.federation.tls_findings import CertificateFacts, ClusterTLSFacts, MasterTLSFacts, TLSFacts
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
