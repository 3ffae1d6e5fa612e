"""When a report tells the end of an application, and will not change any more."""

import json

import pytest

from shim.domain.allocations import Grant, RunningContainer
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from shim.domain.resources import ResourceVector
from shim.errors import RemoteProtocolError
from shim.protocol.proto.messages import (
    ApplicationAttemptIdProto,
    ApplicationIdProto,
    ApplicationReportProto,
    ContainerIdProto,
    ContainerReportProto,
    ContainerStateProto,
    GetApplicationReportResponseProto,
    GetContainersRequestProto,
    GetContainersResponseProto,
    LogAggregationStatusProto,
    NodeIdProto,
    PriorityProto,
    ResourceInformationProto,
    ResourceProto,
    TokenProto,
    YarnApplicationStateProto,
)
from shim.protocol.yarn import attempt_message, attempt_of, report_of, tells_an_end
from shim.protocol.yarn.reports import as_seen, hidden_report, read_running, running_message
from shim.protocol.yarn.submit_times import reports_in, written_report
from tests.doubles.reports import a_document


def an_answer(state: str, *, finish_time: int = 1_700_000_000_000, logs: str = "") -> bytes:
    report = ApplicationReportProto(
        yarn_application_state=YarnApplicationStateProto.Value(state), finishTime=finish_time
    )
    if logs:
        report.log_aggregation_status = LogAggregationStatusProto.Value(logs)
    return GetApplicationReportResponseProto(application_report=report).SerializeToString()


@pytest.mark.parametrize("state", ["FINISHED", "FAILED", "KILLED"])
@pytest.mark.parametrize("logs", ["", "LOG_DISABLED", "LOG_SUCCEEDED", "LOG_FAILED", "LOG_TIME_OUT"])
def test_what_has_ended_with_its_logs_collected_changes_no_more(state, logs):
    assert tells_an_end(an_answer(state, logs=logs))


@pytest.mark.parametrize("state", ["NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"])
def test_what_lives_has_not_ended(state):
    assert not tells_an_end(an_answer(state, finish_time=0))


def test_an_application_whose_master_said_goodbye_and_still_runs_has_not_ended():
    assert not tells_an_end(an_answer("FINISHED", finish_time=0))


@pytest.mark.parametrize("logs", ["LOG_NOT_START", "LOG_RUNNING", "LOG_RUNNING_WITH_FAILURE"])
def test_logs_that_are_still_collected_are_told_of_later(logs):
    assert not tells_an_end(an_answer("FINISHED", logs=logs))


def test_an_answer_without_a_report_tells_no_end():
    assert not tells_an_end(b"")


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("node-7.east:41234", "node-7.east", 41234),
        ("fd00::1:41234", "fd00::1", 41234),
        (None, "N/A", -1),
        ("", "N/A", -1),
        ("node-7.east", "N/A", -1),
        ("node-7.east:-1", "N/A", -1),
        ("node-7.east:0", "N/A", -1),
        ("node-7.east:65536", "N/A", -1),
        ("node-7.east:\u0664", "N/A", -1),
        ("a b:1", "N/A", -1),
        (":41234", "N/A", -1),
        (41234, "N/A", -1),
    ],
)
def test_a_report_that_is_made_of_a_document_tells_where_the_master_listens(address, host, port):
    known = a_document(1, "east")
    report = report_of(known.but(told=json.dumps({"amRPCAddress": address}).encode()))
    assert (report.host, report.rpc_port) == (host, port)


LOGS = "http://node-7.east:8042/node/containerlogs/{}/alice"


@pytest.mark.parametrize(
    ("logs", "attempt"),
    [
        (LOGS.format("container_e17_1700000000000_0001_03_000001"), 3),
        (LOGS.format("container_1700000000000_0001_01_000001"), 1),
        (LOGS.format("container_x"), -1),
        ("", -1),
        (None, -1),
        (["a"], -1),
    ],
)
def test_a_report_that_is_made_of_a_document_tells_the_attempt_or_minus_one_as_a_manager_does(logs, attempt):
    uses = {"allocatedMB": 2048, "runningContainers": 2} if attempt != -1 else {"allocatedMB": 0}
    raw = json.dumps({"amContainerLogs": logs} | uses).encode()
    report = report_of(a_document(1, "east").but(told=raw))
    named = report.currentApplicationAttemptId
    assert (named.attemptId, named.application_id) == (attempt, report.applicationId)
    used = report.app_resource_Usage
    wanted = (-1, -1, -1) if attempt == -1 else (2, 2048, 0)
    assert (used.num_used_containers, used.used_resources.memory, used.reserved_resources.memory) == wanted
    (timeout,) = report.appTimeouts
    assert (timeout.application_timeout.expire_time, timeout.application_timeout.remaining_time) == ("UNLIMITED", -1)
    assert (report.appNodeLabelExpression, report.amNodeLabelExpression) == ("<Not set>", "<Not set>")


ID = ApplicationIdProto(cluster_timestamp=1, id=1)
WHOLE = ApplicationReportProto(
    applicationId=ID,
    user="alice",
    queue="root.default",
    name="sleeper",
    host="am-host",
    rpc_port=99,
    client_to_am_token=TokenProto(identifier=b"t", password=b"t", kind="YARN_CLIENT_TOKEN", service=""),
    am_rm_token=TokenProto(identifier=b"t", password=b"t", kind="YARN_AM_RM_TOKEN", service=""),
    trackingUrl="http://rm/proxy/application_1_1/",
    originalTrackingUrl="http://am/",
    diagnostics="secret",
    currentApplicationAttemptId=ApplicationAttemptIdProto(application_id=ID, attemptId=3),
    startTime=5,
)
LATER_FIELD = b"\xfa\x3f\x06secret"  # number 1023, of a later Hadoop


def test_a_hidden_report_tells_what_it_is_and_nothing_of_how_it_runs():
    told = hidden_report(ApplicationReportProto.FromString(WHOLE.SerializeToString() + LATER_FIELD))
    assert (told.user, told.queue, told.name, told.startTime) == ("alice", "root.default", "sleeper", 5)
    assert {told.host, told.trackingUrl, told.originalTrackingUrl, told.diagnostics} == {"N/A"}
    assert (told.rpc_port, told.currentApplicationAttemptId.attemptId) == (-1, -1)
    assert (told.app_resource_Usage.num_used_containers, told.app_resource_Usage.used_resources.memory) == (-1, -1)
    assert not told.HasField("am_rm_token")
    assert not told.HasField("client_to_am_token")
    assert b"secret" not in told.SerializeToString()


def test_an_entry_is_left_as_it_is_hidden_or_left_out():
    [(whole, report)] = reports_in(written_report(WHOLE))
    assert as_seen(whole, report, lambda *_: True) == whole
    assert as_seen(whole, report, lambda *_: False) == written_report(hidden_report(WHOLE))
    assert as_seen(whole, report, lambda *_: False, leaves_out=True) == b""


def test_what_cannot_be_read_is_shown_to_nobody():
    for entry in (b"\xff\xff", b"", ApplicationReportProto(user="alice").SerializeToString()):
        assert as_seen(b"\x0a" + bytes((len(entry),)) + entry, entry, lambda *_: True) == b""


ATTEMPT = ApplicationAttemptId(ApplicationId(1_700_000_000_000, 7), 1)


def a_report(number: int, state: int) -> ContainerReportProto:
    return ContainerReportProto(
        container_id=ContainerIdProto(app_attempt_id=attempt_message(ATTEMPT), id=number),
        resource=ResourceProto(
            memory=2048,
            virtual_cores=2,
            resource_value_map=[ResourceInformationProto(key="gpu", value=1, units="", type=0)],
        ),
        node_id=NodeIdProto(host="n1", port=45454),
        priority=PriorityProto(priority=20),
        creation_time=1_700_000_001_500,
        container_state=state,
    )


def test_an_attempt_is_asked_for_by_its_id():
    asked = GetContainersRequestProto.FromString(running_message(ATTEMPT))
    assert attempt_of(asked.application_attempt_id) == ATTEMPT


def test_what_runs_has_its_size_node_priority_and_age_and_what_has_ended_is_left_out():
    answer = GetContainersResponseProto(
        containers=[a_report(2, ContainerStateProto.C_RUNNING), a_report(3, ContainerStateProto.C_COMPLETE)]
    )
    size = ResourceVector(2048, 2, {"gpu": 1})
    grant = Grant(ContainerId(ATTEMPT, 2), NodeId("n1", 45454), 20, -1, size)
    assert read_running(answer.SerializeToString()) == (RunningContainer(grant, 1_700_000_001.5),)


def test_what_is_no_list_is_said_to_be_none():
    with pytest.raises(RemoteProtocolError, match="no GetContainersResponseProto"):
        read_running(b"\xff\xff")
