"""The RPC server of a `ScriptedResourceManager`: the same applications, the same misbehaviour.

Every call becomes the request of the web services that means the same. Limits: the methods of `_METHODS`, and of
reports the fields that tests look at. As with a ResourceManager, the owner of a live application that YARN does not
manage finds its token in reports, and nobody else does.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.message import Message

from shim.domain.ids import ApplicationId, NodeId, SubClusterId
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.ports.resource_manager_rpc import RPCAnswer, RPCCall, RPCRefusal
from shim.protocol.hrpc import JavaClass
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import (
    ApplicationReportProto,
    ApplicationResourceUsageReportProto,
    GetApplicationReportResponseProto,
    GetApplicationsResponseProto,
    GetClusterMetricsResponseProto,
    GetClusterNodesResponseProto,
    KillApplicationResponseProto,
    NodeIdProto,
    NodeReportProto,
    SubmitApplicationResponseProto,
    TokenProto,
    YarnApplicationStateProto,
    YarnClusterMetricsProto,
)
from shim.protocol.yarn import application_message, application_of
from tests.doubles.resource_manager import ScriptedResourceManager

_BASE = "/ws/v1/cluster"
_ACCEPT = (("Accept", "application/json"),)
_FINAL = frozenset({"FINISHED", "FAILED", "KILLED"})
_REFUSED = 400

_Request = Callable[[Any, str], RestRequest]
_Answer = Callable[[Any], Message]


class ScriptedRPC:
    """Implements `ResourceManagerRPC` in memory.

    Attributes:
        calls: Every call that was made.
    """

    def __init__(self, manager: ScriptedResourceManager) -> None:
        self._manager = manager
        self.calls: list[RPCCall] = []

    @property
    def subcluster(self) -> SubClusterId:
        """Sub-cluster of this ResourceManager."""
        return self._manager.subcluster

    async def call(self, call: RPCCall, *, timeout_s: float | None = None) -> RPCAnswer:
        """Answer as the ResourceManager's behaviour of the hour does."""
        self.calls.append(call)
        row = _METHODS.get(call.method)
        if row is None:
            return RPCAnswer(b"", RPCRefusal(JavaClass.NO_SUCH_METHOD, f"Unknown method {call.method}"))
        to_request, to_answer = row
        request = APPLICATION_CLIENT.methods[call.method].request.FromString(call.payload)
        answer = await self._manager.forward(to_request(request, call.user), timeout_s=timeout_s)
        if answer.status >= _REFUSED:
            return RPCAnswer(b"", _refusal(answer))
        told = to_answer(json.loads(answer.body or b"{}"))
        self._add_tokens(told, call.user)
        return RPCAnswer(told.SerializeToString())

    def _add_tokens(self, told: Message, user: str) -> None:
        """`RMAppImpl.createAndGetApplicationReport`."""
        reports = list(told.applications) if isinstance(told, GetApplicationsResponseProto) else []
        if isinstance(told, GetApplicationReportResponseProto):
            reports.append(told.application_report)
        for report in reports:
            known = self._manager.applications[application_of(report.applicationId)]
            if known.get("unmanagedApplication") and known["user"] == user and known["state"] not in _FINAL:
                token = TokenProto(identifier=b"of", password=user.encode(), kind="YARN_AM_RM_TOKEN", service="")
                report.am_rm_token.CopyFrom(token)

    async def close(self) -> None:
        """Close nothing, as nothing is open."""


def _refusal(answer: RestAnswer) -> RPCRefusal:
    told = json.loads(answer.body)["RemoteException"]
    not_found = "NotFoundException" in told["exception"]
    return RPCRefusal(JavaClass.APPLICATION_NOT_FOUND if not_found else JavaClass.YARN, told["message"])


def _read(path: str) -> _Request:
    return lambda _request, user: RestRequest("GET", f"{_BASE}/{path}", user=user, headers=_ACCEPT)


def _read_application(request: Any, user: str) -> RestRequest:
    return RestRequest("GET", f"{_BASE}/apps/{application_of(request.application_id)}", user=user, headers=_ACCEPT)


def _kill(request: Any, user: str) -> RestRequest:
    path = f"{_BASE}/apps/{application_of(request.application_id)}/state"
    return RestRequest("PUT", path, user=user, headers=_ACCEPT, body=b'{"state":"KILLED"}')


def _submit(request: Any, user: str) -> RestRequest:
    context = request.application_submission_context
    told = {
        "application-id": str(application_of(context.application_id)),
        "application-name": context.application_name,
        "queue": context.queue,
        "application-type": context.applicationType,
    }
    body = json.dumps(told).encode()
    return RestRequest("POST", f"{_BASE}/apps", user=user, headers=_ACCEPT, body=body)


def _report(app: Mapping[str, Any]) -> ApplicationReportProto:
    return ApplicationReportProto(
        applicationId=application_message(ApplicationId.parse(app["id"])),
        user=app["user"],
        name=app["name"],
        queue=app["queue"],
        yarn_application_state=YarnApplicationStateProto.Value(app["state"]),
        startTime=app["startedTime"],
        finishTime=app["finishedTime"],
        diagnostics="told by its home",
        applicationTags=[tag for tag in app["applicationTags"].split(",") if tag],
        app_resource_Usage=ApplicationResourceUsageReportProto(
            num_used_containers=app["runningContainers"],
            memory_seconds=app["memorySeconds"],
            vcore_seconds=app["vcoreSeconds"],
        ),
    )


def _reports(document: Any) -> Message:
    apps = (document["apps"] or {}).get("app", [])
    return GetApplicationsResponseProto(applications=[_report(app) for app in apps])


def _nodes(document: Any) -> Message:
    ids = (NodeId.parse(node["id"]) for node in document["nodes"]["node"])
    reports = [NodeReportProto(nodeId=NodeIdProto(host=node.host, port=node.port)) for node in ids]
    return GetClusterNodesResponseProto(nodeReports=reports)


def _metrics(document: Any) -> Message:
    count = document["clusterMetrics"]["totalNodes"]
    return GetClusterMetricsResponseProto(cluster_metrics=YarnClusterMetricsProto(num_node_managers=count))


def _new_reservation(reservation: str) -> Any:
    made: Any = APPLICATION_CLIENT.methods["getNewReservation"].answer()
    made.reservation_id.cluster_timestamp, made.reservation_id.id = map(int, reservation.split("_")[1:])
    return made


_METHODS: Mapping[str, tuple[_Request, _Answer]] = {
    "getApplicationReport": (
        _read_application,
        lambda document: GetApplicationReportResponseProto(application_report=_report(document["app"])),
    ),
    "getApplications": (_read("apps"), _reports),
    "submitApplication": (_submit, lambda _: SubmitApplicationResponseProto()),
    "forceKillApplication": (
        _kill,
        lambda document: KillApplicationResponseProto(is_kill_completed=document["state"] in _FINAL),
    ),
    "getClusterNodes": (_read("nodes"), _nodes),
    "getClusterMetrics": (_read("metrics"), _metrics),
    "getNewReservation": (
        lambda _, user: RestRequest("POST", f"{_BASE}/reservation/new-reservation", user=user, headers=_ACCEPT),
        lambda document: _new_reservation(document["reservation-id"]),
    ),
}
