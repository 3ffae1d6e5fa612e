"""What the doctor finds without being asked."""

from dataclasses import replace

from shim.federation.doctor_rounds import DoctorRounds
from shim.federation.tls_findings import CertificateFacts, ClusterTLSFacts, MasterTLSFacts, TLSFacts
from tests.support.scripted_server import ScriptedServer

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
