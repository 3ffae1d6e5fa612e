"""When a report tells the end of an application, and will not change any more."""

import json
from dataclasses import replace

import pytest

from shim.protocol.proto.messages import (
    ApplicationReportProto,
    GetApplicationReportResponseProto,
    LogAggregationStatusProto,
    YarnApplicationStateProto,
)
from shim.protocol.yarn import report_of, tells_an_end
from shim.testing.reports import a_document


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
    report = report_of(replace(known, raw=json.dumps({"amRPCAddress": address}).encode()))
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
    report = report_of(replace(a_document(1, "east"), raw=raw))
    named = report.currentApplicationAttemptId
    assert (named.attemptId, named.application_id) == (attempt, report.applicationId)
    used = report.app_resource_Usage
    wanted = (-1, -1, -1) if attempt == -1 else (2, 2048, 0)
    assert (used.num_used_containers, used.used_resources.memory, used.reserved_resources.memory) == wanted
    (timeout,) = report.appTimeouts
    assert (timeout.application_timeout.expire_time, timeout.application_timeout.remaining_time) == ("UNLIMITED", -1)
    assert (report.appNodeLabelExpression, report.amNodeLabelExpression) == ("<Not set>", "<Not set>")
