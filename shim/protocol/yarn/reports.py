"""Application reports made of the documents of the web services, for applications whose home does not answer.

The document is what Heddle keeps of every application; of the fields that a report has beside it, tokens stay unset.
Without an attempt its number and its use are -1, as a ResourceManager has them. Source: `AppInfo`,
`RMAppImpl.createAndGetApplicationReport`, `ApplicationReportPBImpl`.

Selection of applications for a `getApplications` that Heddle answers itself, by the ResourceManager's rules.

Source: `ClientRMService.getApplications`.

Reports of applications as they are told to whoever may not view them.

A field that is not listed here is left out, so that one of a later Hadoop is hidden until somebody lists it.

Source: `RMAppImpl.createAndGetApplicationReport` of Hadoop 3.4.2, recorded answers of 2.10.2 and 3.4.2.

Running containers of an attempt, asked as a client asks: the answer tells sizes, nodes and ages, and no tokens.

Source: `ClientRMService.getContainers`, `RMContainerImpl.createContainerReport`.
"""

import re
from collections.abc import Callable
from typing import Any, cast

import msgspec
from google.protobuf.message import DecodeError

from shim.domain.allocations import Grant, RunningContainer
from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationAttemptId, ApplicationId, NodeId
from shim.domain.subclusters import ApplicationDocument
from shim.protocol.proto.messages import (
    ApplicationAttemptIdProto,
    ApplicationReportProto,
    ApplicationResourceUsageReportProto,
    ApplicationTimeoutProto,
    ApplicationTimeoutTypeProto,
    AppTimeoutsMapProto,
    ContainerReportProto,
    ContainerStateProto,
    FinalApplicationStatusProto,
    GetApplicationReportResponseProto,
    GetApplicationsRequestProto,
    GetContainersRequestProto,
    GetContainersResponseProto,
    LogAggregationStatusProto,
    PriorityProto,
    ResourceProto,
    YarnApplicationStateProto,
)
from shim.protocol.wire_values import UNREADABLE, text_of
from shim.protocol.yarn.submit_times import written_report
from shim.protocol.yarn.wire import (
    application_message,
    application_of,
    attempt_message,
    container_of,
    read_message,
    told_resource,
)

_NO_HOST, _NO_PORT, _NONE = "N/A", -1, "N/A"
_ADDRESS = re.compile(r"(?P<host>[^\s/]{1,255}):(?P<port>[0-9]{1,5})", re.ASCII)
_LAST_PORT = 65535
_NO_ATTEMPT = -1  # RMAppImpl.UNKNOWN_APPLICATION_ATTEMPT_NUMBER
_NOT_SET = "<Not set>"  # NodeLabel.NODE_LABEL_EXPRESSION_NOT_SET
_OF_MASTER = re.compile(r"/container_(?:e[0-9]{1,10}_)?[0-9]{1,20}_[0-9]{1,10}_(?P<attempt>[0-9]{1,9})_[0-9]{1,20}/")
"""Part of the address of an ApplicationMaster's logs: the only place where a document tells the attempt."""
_NO_TIMEOUT = AppTimeoutsMapProto(
    application_timeout_type=ApplicationTimeoutTypeProto.APP_TIMEOUT_LIFETIME,
    application_timeout=ApplicationTimeoutProto(
        application_timeout_type=ApplicationTimeoutTypeProto.APP_TIMEOUT_LIFETIME,
        expire_time="UNLIMITED",
        remaining_time=-1,
    ),
)
_ENDED = frozenset(YarnApplicationStateProto.Value(state.name) for state in YarnApplicationState if state.is_final)
_LOGS_ARE_THERE = frozenset(
    LogAggregationStatusProto.Value(name) for name in ("LOG_DISABLED", "LOG_SUCCEEDED", "LOG_FAILED", "LOG_TIME_OUT")
)


class _Document(msgspec.Struct, rename="camel"):
    """The members of an application's document that a report holds; those of other types are not read."""

    diagnostics: Any = ""
    tracking_url: Any = _NONE
    progress: Any = 0.0
    launch_time: Any = 0
    priority: Any = 0
    allocated_mb: Any = msgspec.field(default=0, name="allocatedMB")
    allocated_v_cores: Any = 0
    running_containers: Any = 0
    memory_seconds: Any = 0
    vcore_seconds: Any = 0
    unmanaged_application: Any = False
    am_rpc_address: Any = msgspec.field(default="", name="amRPCAddress")
    am_container_logs: Any = ""
    app_node_label_expression: Any = ""
    am_node_label_expression: Any = ""


def report_of(document: ApplicationDocument) -> ApplicationReportProto:
    summary = document.summary
    try:
        told = msgspec.json.decode(document.raw, type=_Document)
    except UNREADABLE:
        told = _Document()
    host, port = _address(told.am_rpc_address)
    attempt = _attempt(told.am_container_logs)
    return ApplicationReportProto(
        applicationId=application_message(summary.application_id),
        user=summary.user,
        queue=summary.queue,
        name=summary.name,
        host=host,
        rpc_port=port,
        yarn_application_state=_state(summary.state),
        trackingUrl=_text(told.tracking_url) or _NONE,
        originalTrackingUrl=_text(told.tracking_url) or _NONE,
        diagnostics=_text(told.diagnostics),
        startTime=summary.started_at_ms,
        submitTime=summary.started_at_ms,
        launchTime=_number(told.launch_time),
        finishTime=summary.finished_at_ms,
        final_application_status=_final_status(summary.final_status),
        app_resource_Usage=_usage(told) if attempt != _NO_ATTEMPT or _number(told.running_containers) > 0 else NO_USAGE,
        currentApplicationAttemptId=ApplicationAttemptIdProto(
            application_id=application_message(summary.application_id), attemptId=attempt
        ),
        appTimeouts=[_NO_TIMEOUT],
        appNodeLabelExpression=_text(told.app_node_label_expression) or _NOT_SET,
        amNodeLabelExpression=_text(told.am_node_label_expression) or _NOT_SET,
        progress=_number(told.progress) / 100,
        applicationType=summary.application_type,
        applicationTags=summary.tags,
        unmanaged_application=told.unmanaged_application is True,
        priority=PriorityProto(priority=_number(told.priority)),
    )


_TOKEN_KINDS = (b"YARN_AM_RM_TOKEN", b"YARN_CLIENT_TOKEN")
"""`AMRMTokenIdentifier.KIND_NAME`, `ClientToAMTokenIdentifier.KIND_NAME`."""


def tells_an_end(answer: bytes) -> bool:
    """Return whether a ResourceManager's answer with a report will not change any more.

    An application is FINISHED as soon as its ApplicationMaster has said goodbye; when that is gone too, there is a time
    of its end. Its logs may be collected for long after that.
    """
    report = GetApplicationReportResponseProto.FromString(answer).application_report
    are_logs_there = not report.HasField("log_aggregation_status") or report.log_aggregation_status in _LOGS_ARE_THERE
    return report.yarn_application_state in _ENDED and report.finishTime > 0 and are_logs_there


def tells_of_running(answer: bytes) -> bool:
    """True for an answer with the report of an application whose ApplicationMaster has registered."""
    report = GetApplicationReportResponseProto.FromString(answer).application_report
    return report.yarn_application_state == YarnApplicationStateProto.RUNNING


def holds_token(answer: bytes) -> bool:
    """Return whether an answer with reports holds a token of an ApplicationMaster, or of a client for one.

    Every token names its kind; to look for the names takes a thousandth of the time that decoding a long list does. A
    name or a diagnostic that spells one of them makes the answer look secret, never the other way round.
    """
    return any(kind in answer for kind in _TOKEN_KINDS)


def _state(state: YarnApplicationState) -> int:
    return YarnApplicationStateProto.Value(state.name)


def _final_status(status: FinalStatus) -> int:
    return FinalApplicationStatusProto.Value(f"APP_{status.name}")


def _usage(told: _Document) -> ApplicationResourceUsageReportProto:
    memory, vcores = max(0, _number(told.allocated_mb)), max(0, _number(told.allocated_v_cores))
    return ApplicationResourceUsageReportProto(
        num_used_containers=max(0, _number(told.running_containers)),
        used_resources=ResourceProto(memory=memory, virtual_cores=vcores),
        reserved_resources=ResourceProto(memory=0, virtual_cores=0),
        needed_resources=ResourceProto(memory=memory, virtual_cores=vcores),
        memory_seconds=_number(told.memory_seconds),
        vcore_seconds=_number(told.vcore_seconds),
    )


def _attempt(logs: Any) -> int:
    match = _OF_MASTER.search(f"{_text(logs)}/")
    return _NO_ATTEMPT if match is None else int(match["attempt"])


def _address(told: Any) -> tuple[str, int]:
    """Take apart the address of an ApplicationMaster: clients of Tez connect as soon as they read RUNNING."""
    match = _ADDRESS.fullmatch(_text(told))
    if match is None or not 0 < int(match["port"]) <= _LAST_PORT:
        return _NO_HOST, _NO_PORT
    return match["host"], int(match["port"])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0


_STATE = dict(YarnApplicationStateProto.items())


def filter_of(request: GetApplicationsRequestProto) -> Callable[[ApplicationSummary], bool]:
    """Predicate of the list that is asked for; fields that are not set filter nothing.

    A request may name millions of what it looks for: they are gone through once, not once for each application.
    """
    states, types = frozenset(request.application_states), frozenset(request.application_types)
    users, queues = frozenset(request.users), frozenset(request.queues)
    tags = frozenset(tag.lower() for tag in request.applicationTags)
    times = _times(request)
    name = request.name if request.HasField("name") else None

    def shows(application: ApplicationSummary) -> bool:
        queue = application.queue
        return (
            (not states or _STATE[application.state.name] in states)
            and (not types or application.application_type in types)
            and (not users or application.user in users)
            and (not queues or queue in queues or queue.rpartition(".")[2] in queues)
            and (not tags or not tags.isdisjoint(application.tags))
            and (name is None or name == application.name)
            and times(application)
        )

    return shows


def has_time_bounds(request: GetApplicationsRequestProto) -> bool:
    starts = request.HasField("start_begin") or request.HasField("start_end")
    return starts or request.HasField("finish_begin") or request.HasField("finish_end")


def _times(request: GetApplicationsRequestProto) -> Callable[[ApplicationSummary], bool]:
    started_from = request.start_begin if request.HasField("start_begin") else None
    started_to = request.start_end if request.HasField("start_end") else None
    finished_from = request.finish_begin if request.HasField("finish_begin") else None
    finished_to = request.finish_end if request.HasField("finish_end") else None

    def fits(application: ApplicationSummary) -> bool:
        started_ms, finished_ms = application.started_at_ms, application.finished_at_ms
        return (
            (started_from is None or started_from <= started_ms)
            and (started_to is None or started_ms <= started_to)
            and (finished_from is None or finished_from <= finished_ms)
            and (finished_to is None or finished_ms <= finished_to)
        )

    return fits


SeesReport = Callable[[ApplicationId, str, str], bool]
"""Tells whether somebody sees an application by its id, user and queue."""

_SHOWN = (
    *("applicationId", "user", "queue", "name", "yarn_application_state", "startTime", "finishTime"),
    *("final_application_status", "progress", "applicationType", "applicationTags", "log_aggregation_status"),
    *("unmanaged_application", "priority", "appNodeLabelExpression", "amNodeLabelExpression", "appTimeouts"),
    *("launchTime", "submitTime", "rmClusterId"),
)
_NONE_HIDDEN, _NO_NUMBER = "N/A", -1
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
        host=_NONE_HIDDEN,
        rpc_port=_NO_NUMBER,
        trackingUrl=_NONE_HIDDEN,
        originalTrackingUrl=_NONE_HIDDEN,
        diagnostics=_NONE_HIDDEN,
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


_NO_REQUEST_ID = -1  # a report tells none
_MS = 1000.0


def running_message(attempt: ApplicationAttemptId) -> bytes:
    return GetContainersRequestProto(application_attempt_id=attempt_message(attempt)).SerializeToString()


def read_running(payload_untrusted: bytes) -> tuple[RunningContainer, ...]:
    """The containers that run.

    Raises:
        RemoteProtocolError: If the bytes are no `GetContainersResponseProto`.
    """
    message = read_message(GetContainersResponseProto, payload_untrusted)
    return tuple(
        _running_of(report) for report in message.containers if report.container_state != ContainerStateProto.C_COMPLETE
    )


def _running_of(report: ContainerReportProto) -> RunningContainer:
    node = NodeId(text_of(report.node_id.host), report.node_id.port)
    grant = Grant(
        container_of(report.container_id),
        node,
        report.priority.priority,
        _NO_REQUEST_ID,
        told_resource(report.resource),
    )
    return RunningContainer(grant, report.creation_time / _MS)
