"""`ApplicationClientProtocol` of a modelled ResourceManager: as much of it as Heddle calls by itself.

Source: `ClientRMService`.
"""

from collections.abc import Callable

from shim.domain.ids import ApplicationId, SubClusterId
from shim.errors import BadRequestError, NoAnswerError
from shim.ports.resource_manager_rpc import RPCAnswer, RPCCall, RPCRefusal
from shim.protocol.hrpc import JavaClass
from shim.protocol.proto.messages import (
    ApplicationReportProto,
    ContainerIdProto,
    ContainerReportProto,
    ContainerStateProto,
    GetApplicationReportRequestProto,
    GetApplicationReportResponseProto,
    GetContainersRequestProto,
    GetContainersResponseProto,
    KillApplicationRequestProto,
    KillApplicationResponseProto,
    NodeIdProto,
    PriorityProto,
    SubmitApplicationRequestProto,
    SubmitApplicationResponseProto,
    YarnApplicationStateProto,
)
from shim.protocol.yarn import application_message, application_of
from shim.protocol.yarn.wire import attempt_message, attempt_of, resource_message, resource_of
from shim.simulation.cluster.applications import Application, Order
from shim.simulation.cluster.manager import ModelledResourceManager
from shim.simulation.cluster.master_service import token_of

_YARN_EXCEPTION = "org.apache.hadoop.yarn.exceptions.YarnException"


class ModelledClientService:
    """Implements `ResourceManagerRPC`."""

    def __init__(self, manager: ModelledResourceManager) -> None:
        self._manager = manager
        self._methods: dict[str, Callable[[bytes, str], RPCAnswer]] = {
            "submitApplication": self._submit,
            "getApplicationReport": self._report,
            "getContainers": self._containers,
            "forceKillApplication": self._kill,
        }

    @property
    def subcluster(self) -> SubClusterId:
        return self._manager.spec.name

    async def close(self) -> None:
        """Close nothing, as nothing is open."""

    async def call(self, call: RPCCall, *, timeout_s: float | None = None) -> RPCAnswer:  # noqa: ARG002 - the network's
        """A client's call.

        Raises:
            ResourceManagerError: The process is down, or died while the call was in its socket; also for a method
                that the model lacks.
        """
        await self._manager.reach()
        method = self._methods.get(call.method)
        if method is None:
            raise NoAnswerError(self.subcluster, f"the model has no {call.method}")
        return method(call.payload, call.user)

    def _submit(self, payload: bytes, user: str) -> RPCAnswer:
        context = SubmitApplicationRequestProto.FromString(payload).application_submission_context
        order = Order(
            id=application_of(context.application_id),
            user=user,
            name=context.application_name,
            queue=context.queue,
            program=" ".join(context.am_container_spec.command),
            master=resource_of(context.resource),
            kind=context.applicationType,
            tags=tuple(context.applicationTags),
            is_unmanaged=context.unmanaged_am,
            keeps_containers=context.keep_containers_across_application_attempts,
            most_attempts=context.maxAppAttempts or 2,
        )
        try:
            self._manager.submit(order)
        except BadRequestError as exc:
            return RPCAnswer(b"", RPCRefusal(_YARN_EXCEPTION, str(exc)))
        return RPCAnswer(SubmitApplicationResponseProto().SerializeToString())

    def _report(self, payload: bytes, user: str) -> RPCAnswer:  # noqa: ARG002 - the model has no access control
        name = application_of(GetApplicationReportRequestProto.FromString(payload).application_id)
        known = self._manager.applications.get(name)
        if known is None:
            return _not_found(name)
        report = ApplicationReportProto(
            applicationId=application_message(name),
            yarn_application_state=YarnApplicationStateProto.Value(known.state),
            diagnostics=known.diagnostics,
        )
        if known.order.is_unmanaged and known.state == "ACCEPTED" and not known.attempt.is_registered:
            report.am_rm_token.CopyFrom(token_of(known.attempt.id))
        return RPCAnswer(GetApplicationReportResponseProto(application_report=report).SerializePartialToString())

    def _containers(self, payload: bytes, user: str) -> RPCAnswer:  # noqa: ARG002 - the model has no access control
        asked = attempt_of(GetContainersRequestProto.FromString(payload).application_attempt_id)
        known = self._manager.applications.get(asked.application)
        if known is None:
            return _not_found(asked.application)
        return RPCAnswer(GetContainersResponseProto(containers=_reports(known)).SerializePartialToString())

    def _kill(self, payload: bytes, user: str) -> RPCAnswer:  # noqa: ARG002 - the model has no access control
        request = KillApplicationRequestProto.FromString(payload)
        name = application_of(request.application_id)
        if name not in self._manager.applications:
            return _not_found(name)
        self._manager.kill_application(name, request.diagnostics)
        return RPCAnswer(KillApplicationResponseProto(is_kill_completed=True).SerializeToString())


def _reports(known: Application) -> list[ContainerReportProto]:
    """The containers of an application's newest attempt, its ApplicationMaster's included."""
    return [
        ContainerReportProto(
            container_id=ContainerIdProto(app_attempt_id=attempt_message(name.attempt), id=name.number),
            node_id=NodeIdProto(host=held.node.host, port=held.node.port),
            priority=PriorityProto(priority=held.priority),
            resource=resource_message(held.resource),
            creation_time=held.given_ms,
            container_state=ContainerStateProto.C_RUNNING,
        )
        for name, held in known.live.items()
    ]


def _not_found(name: ApplicationId) -> RPCAnswer:
    told = f"Application with id '{name}' doesn't exist in RM. Please check that the job submission was successful."
    return RPCAnswer(b"", RPCRefusal(JavaClass.APPLICATION_NOT_FOUND, told))
