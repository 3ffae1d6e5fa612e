import json

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.launches import Verdict
from shim.peers.following import LinkStatus
from shim.peers.overview import MastersStatus, MasterStatus, PassedOnCounts, QueueOwner
from shim.peers.passing_on import PassedOn
from shim.protocol.peers import OutcomeKind
from shim.server.peers import ForwardedAuditObserver, MastersCollector
from shim.telemetry import AuditTrail
from tests.doubles.clock import FakeClock

EAST = SubClusterId("east")
PASSED = PassedOn(
    number=7,
    sender="gm/a",
    owner="gm/b",
    application_id=ApplicationId(1, 2),
    user="alice",
    outcome=OutcomeKind.DELIVERED,
    home_subcluster="east",
    address="10.0.0.1",
)


@pytest.fixture
def written(tmp_path):
    """Tell a observer of `gm/b`, and read what it wrote."""
    file = tmp_path / "audit.log"
    audit = AuditTrail(FakeClock(), file)

    def tell(passed):
        ForwardedAuditObserver(audit, "gm/b")(passed)
        return [json.loads(line) for line in file.read_text().splitlines()]

    yield tell
    audit.close()


def test_what_was_taken_for_another_names_that_one_and_the_user(written):
    (line,) = written(PASSED)
    assert {key: line[key] for key in ("request_id", "real_user", "effective_user", "address", "target")} == {
        "request_id": "gm/a#7",
        "real_user": "gm/a",
        "effective_user": "alice",
        "address": "10.0.0.1",
        "target": "application_1_0002",
    }
    assert (line["result"], line["status"], line["subcluster"]) == ("allowed", 202, "east")


@pytest.mark.parametrize(
    ("outcome", "result"),
    [
        (OutcomeKind.TAKEN, "allowed"),
        (OutcomeKind.REFUSED, "refused"),
        (OutcomeKind.CONFLICT, "refused"),
        (OutcomeKind.FORBIDDEN, "refused"),
        (OutcomeKind.BAD_REQUEST, "refused"),
        (OutcomeKind.TOO_LARGE, "refused"),
        (OutcomeKind.NO_HOME, "failed"),
        (OutcomeKind.UNAVAILABLE, "failed"),
    ],
)
def test_every_outcome_has_its_result(written, outcome, result):
    (line,) = written(PassedOn(1, "gm/a", "gm/b", ApplicationId(1, 2), "alice", outcome, reason="because"))
    assert (line["result"], line["reason"]) == (result, "because")


def test_what_was_passed_on_from_here_is_in_the_line_of_its_own_server(written):
    assert written(PassedOn(1, "gm/b", "gm/c", ApplicationId(1, 2), "alice", OutcomeKind.DELIVERED)) == []
    assert written(PassedOn(1, "gm/a", "gm/b", ApplicationId(1, 2), "alice", None)) == []


def test_each_direction_is_counted():
    counts = PassedOnCounts("gm/b")
    counts.tell(PASSED)
    counts.tell(PassedOn(1, "gm/b", "gm/a", ApplicationId(1, 2), "alice", OutcomeKind.TAKEN))
    counts.tell(PassedOn(1, "gm/b", "gm/a", ApplicationId(1, 2), "alice", None))
    assert dict(counts.counts) == {"sent": 1, "taken": 1, "failed": 1}


def test_a_scrape_tells_how_it_is_now():
    status = MastersStatus(
        name="b",
        masters=(MasterStatus("gm/b", "b:1", 1, 2.5), MasterStatus("lm/east", "e:1", 3, 0.0)),
        queues=(QueueOwner("root.a", "b"), QueueOwner("root.b", "a")),
        links=(LinkStatus(EAST, is_linked=True, address="e:1", trouble="", reports=5, resyncs=1),),
        verdicts={(EAST, Verdict.ACCEPTED): 9, (EAST, Verdict.REJECTED): 2},
        repairs=2,
        passed_on={"sent": 4},
    )
    registry = CollectorRegistry()
    registry.register(MastersCollector(lambda: status))
    text = generate_latest(registry).decode()
    for line in (
        'heddle_home_verdicts_total{subcluster="east",verdict="rejected"} 2.0',
        "heddle_inconsistencies_total 2.0",
        "heddle_repairs_total 2.0",
        'heddle_passed_on_total{direction="sent"} 4.0',
        'heddle_link_up{subcluster="east"} 1.0',
        'heddle_link_reports_total{subcluster="east"} 5.0',
        "heddle_queues_owned 1.0",
        'heddle_lease_seconds{master="lm/east"} 0.0',
    ):
        assert line in text.splitlines()
