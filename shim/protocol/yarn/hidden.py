"""Reports of applications as they are told to whoever may not view them.

A field that is not listed here is left out, so that one of a later Hadoop is hidden until somebody lists it.

Source: `RMAppImpl.createAndGetApplicationReport` of Hadoop 3.4.2, recorded answers of 2.10.2 and 3.4.2.
"""

from collections.abc import Callable
from typing import Any, cast

from google.protobuf.message import DecodeError

from shim.domain.ids import ApplicationId
from shim.protocol.hrpc.envelopes import text_of
from shim.protocol.proto.messages import (
    ApplicationAttemptIdProto,
    ApplicationReportProto,
    ApplicationResourceUsageReportProto,
    ResourceProto,
)
from shim.protocol.yarn.records import application_of
from shim.protocol.yarn.submit_times import written_report

__all__ = ["NO_USAGE", "SeesReport", "as_seen", "hidden_report"]

SeesReport = Callable[[ApplicationId, str, str], bool]
"""Tells whether somebody sees an application by its id, user and queue."""

_SHOWN = (
    *("applicationId", "user", "queue", "name", "yarn_application_state", "startTime", "finishTime"),
    *("final_application_status", "progress", "applicationType", "applicationTags", "log_aggregation_status"),
    *("unmanaged_application", "priority", "appNodeLabelExpression", "amNodeLabelExpression", "appTimeouts"),
    *("launchTime", "submitTime", "rmClusterId"),
)
_NONE, _NO_NUMBER = "N/A", -1
_NO_RESOURCE = ResourceProto(memory=_NO_NUMBER, virtual_cores=_NO_NUMBER)
NO_USAGE = ApplicationResourceUsageReportProto(
    num_used_containers=_NO_NUMBER,
    num_reserved_containers=_NO_NUMBER,
    used_resources=_NO_RESOURCE,
    reserved_resources=_NO_RESOURCE,
    needed_resources=_NO_RESOURCE,
    memory_seconds=0,
    vcore_seconds=0,
    preempted_memory_seconds=0,
    preempted_vcore_seconds=0,
)
"""`RMServerUtils.DUMMY_APPLICATION_RESOURCE_USAGE_REPORT`."""


def hidden_report(report: ApplicationReportProto) -> ApplicationReportProto:
    """A report without what only an application's viewers may know."""
    hidden = ApplicationReportProto(
        host=_NONE,
        rpc_port=_NO_NUMBER,
        trackingUrl=_NONE,
        originalTrackingUrl=_NONE,
        diagnostics=_NONE,
        app_resource_Usage=NO_USAGE,
        currentApplicationAttemptId=ApplicationAttemptIdProto(
            application_id=report.applicationId, attemptId=_NO_NUMBER
        ),
    )
    shown = ApplicationReportProto()
    shown.CopyFrom(report)
    for field, _ in report.ListFields():
        if field.name not in _SHOWN:
            cast("Any", shown).ClearField(field.name)
    shown.DiscardUnknownFields()
    shown.MergeFrom(hidden)
    return shown


def as_seen(whole: bytes, report: bytes, sees: SeesReport, *, leaves_out: bool = False) -> bytes:
    """An entry of an answer with reports, as one sees it to whom it is told.

    Args:
        whole: The entry, with its tag and length.
        report: Without.
        sees: Whether he sees it.
        leaves_out: Whether what he does not see is left out, not hidden.

    Returns:
        The entry; empty for one that is left out or cannot be read.
    """
    try:
        told = ApplicationReportProto.FromString(report)
    except DecodeError:
        return b""
    if not told.HasField("applicationId"):
        return b""
    if sees(application_of(told.applicationId), text_of(told.user), text_of(told.queue)):
        return whole
    return b"" if leaves_out else written_report(hidden_report(told))
