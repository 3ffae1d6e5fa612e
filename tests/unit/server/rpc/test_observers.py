"""The observer of the client RPC server: changes are audited with user, target and result; reads are counted."""

import json

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.identity.service import Caller
from shim.protocol.hrpc import Failure, HadoopCall, JavaClass
from shim.protocol.proto import ADMINISTRATION, APPLICATION_CLIENT
from shim.protocol.proto.messages import (
    ApplicationSubmissionContextProto,
    GetApplicationReportRequestProto,
    KillApplicationRequestProto,
    SubmitApplicationRequestProto,
)
from shim.protocol.yarn import application_message
from shim.server.rpc.admin_service import ADMIN_METHODS
from shim.server.rpc.asked import AnsweredCall
from shim.server.rpc.observers import AdminObserver, ClientObserver
from shim.telemetry import AuditTrail, Metrics
from tests.doubles.clock import FakeClock

APP = ApplicationId(1_700_000_000_000, 7)
KILL = KillApplicationRequestProto(application_id=application_message(APP))
SUBMIT = SubmitApplicationRequestProto(
    application_submission_context=ApplicationSubmissionContextProto(application_id=application_message(APP))
)
READ = GetApplicationReportRequestProto(application_id=application_message(APP))


def told(tmp_path, method, message, failure=None):
    """Lines of the audit after one answered call."""
    clock = FakeClock()
    metrics = Metrics(clock, version="0", subclusters=lambda: ())
    file = tmp_path / "audit.log"
    audit = AuditTrail(clock, file)
    observer = ClientObserver(metrics, audit, lambda _id: SubClusterId("east"), request_prefix="c")
    call = HadoopCall(1, b"", 0, None, APPLICATION_CLIENT.name, method, 1, message.SerializeToString())
    observer(AnsweredCall(call, Caller("alice", "oozie"), "10.0.0.1", failure, 0.001))
    audit.close()
    return [json.loads(line) for line in file.read_text().splitlines()], metrics.scrape()


@pytest.mark.parametrize(("method", "message"), [("forceKillApplication", KILL), ("submitApplication", SUBMIT)])
def test_a_change_is_in_the_audit_with_user_target_and_home(tmp_path, method, message):
    (line,), _ = told(tmp_path, method, message)

    assert str(APP) in json.dumps(line)
    assert {"alice", "oozie", "10.0.0.1", "east", f"RPC {method}", "allowed"} <= {str(value) for value in line.values()}


@pytest.mark.parametrize(
    ("failure", "result"),
    [(Failure(JavaClass.ACCESS_CONTROL, "no"), "refused"), (Failure(JavaClass.RETRIABLE, "later"), "failed")],
)
def test_a_change_that_was_not_made_is_there_with_the_reason(tmp_path, failure, result):
    (line,), _ = told(tmp_path, "forceKillApplication", KILL, failure)

    assert result in line.values()
    assert any(failure.message in str(value) for value in line.values())


def test_a_read_is_counted_and_not_in_the_audit(tmp_path):
    lines, scraped = told(tmp_path, "getApplicationReport", READ)

    assert lines == []
    assert b"getApplicationReport" in (scraped if isinstance(scraped, bytes) else str(scraped).encode())


def test_a_change_that_cannot_be_decoded_has_no_target(tmp_path):
    class Garbage:
        def SerializeToString(self):  # noqa: N802 - a message's method
            return b"\xff\xff"

    (line,), _ = told(tmp_path, "forceKillApplication", Garbage(), Failure(JavaClass.INVALID_PROTOCOL_BUFFER, "?"))

    assert str(APP) not in json.dumps(line)


@pytest.mark.parametrize(
    ("method", "lines"), [("refreshQueues", 1), ("transitionToStandby", 1), ("getGroupsForUser", 0)]
)
def test_what_operators_change_or_mean_to_is_in_the_audit_too(tmp_path, method, lines):
    metrics = Metrics(FakeClock(), version="0", subclusters=lambda: ())
    file = tmp_path / "audit.log"
    audit = AuditTrail(FakeClock(), file)
    call = HadoopCall(1, b"", 0, None, ADMINISTRATION.name, method, 1, b"")

    AdminObserver(metrics, audit)(AnsweredCall(call, Caller("ada", "ada"), "10.0.0.1", None, 0.001))
    audit.close()

    told = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(line["call"], line["effective_user"]) for line in told] == [(f"RPC {method}", "ada")] * lines
    assert [line["operation"] for line in told] == [ADMIN_METHODS[method].audit] * lines
    assert method.encode() in metrics.scrape()
