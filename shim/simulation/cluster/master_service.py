"""`ApplicationMasterProtocol` of a modelled ResourceManager, in its own bytes: register, allocate, finish.

Sources: `ApplicationMasterService`, `DefaultAMSProcessor`.
"""

from dataclasses import dataclass

from shim.domain.allocations import ANY
from shim.domain.ids import ApplicationAttemptId, NodeId
from shim.ports.attempt_calls import ALLOCATE, FINISH, REGISTER
from shim.ports.resource_manager_rpc import RPCAnswer, RPCRefusal
from shim.protocol.hrpc import JavaClass
from shim.protocol.proto.messages import (
    AllocateResponseProto,
    ApplicationAttemptIdProto,
    ContainerIdProto,
    ContainerProto,
    ContainerStateProto,
    ContainerStatusProto,
    FinalApplicationStatusProto,
    FinishApplicationMasterRequestProto,
    FinishApplicationMasterResponseProto,
    NMTokenProto,
    NodeIdProto,
    PriorityProto,
    RegisterApplicationMasterResponseProto,
    TokenProto,
)
from shim.protocol.yarn import application_message
from shim.protocol.yarn.allocations import read_allocate_call
from shim.protocol.yarn.wire import resource_message
from shim.simulation.cluster.applications import (
    Application,
    ContainerEnd,
    ModelledAttempt,
    ModelledContainer,
    ModelledContainerState,
)
from shim.simulation.cluster.manager import ModelledResourceManager

_RELEASED_EXIT_STATUS = -100
_STATUS = {1: "SUCCEEDED", 2: "FAILED", 3: "KILLED"}


def token_of(attempt: ApplicationAttemptId) -> TokenProto:
    """The AMRMToken of an attempt; its identifier names the attempt."""
    return TokenProto(identifier=str(attempt).encode(), password=b"modelled", kind="YARN_AM_RM_TOKEN", service="")


def life_of(container: ContainerProto) -> int:
    """Start of the ResourceManager that has issued a container's token."""
    return int(container.container_token.password)


class MasterService:
    """Takes calls of ApplicationMasters."""

    def __init__(self, manager: ModelledResourceManager) -> None:
        self._manager = manager

    async def call(self, attempt: ApplicationAttemptId, method: str, payload: bytes) -> RPCAnswer:
        """One call, by an ApplicationMaster with the token of an attempt.

        Raises:
            ResourceManagerError: The process is down, or died while the call was in its socket.
        """
        await self._manager.reach()
        found = self._find(attempt)
        if found is None:
            return _refusal(JavaClass.INVALID_TOKEN, f"{attempt} not found in AMRMTokenSecretManager.")
        application, known = found
        known.heard_s = self._manager.clock.monotonic_s()
        if method == REGISTER:
            return self._register(application, known)
        if not known.is_registered:
            told = f"Application Master is not registered for known application: {attempt.application}"
            return _refusal(JavaClass.APPLICATION_MASTER_NOT_REGISTERED, told)
        if method == FINISH:
            return self._finish(application, payload)
        assert method == ALLOCATE  # noqa: S101 - there is no other
        return self._allocate(known, payload)

    def _find(self, attempt: ApplicationAttemptId) -> tuple[Application, ModelledAttempt] | None:
        application = self._manager.applications.get(attempt.application)
        if application is None or application.is_over or not application.attempts:
            return None
        known = application.attempt
        return (application, known) if known.id == attempt and not known.is_over else None

    def _register(self, application: Application, known: ModelledAttempt) -> RPCAnswer:
        order = application.order
        if known.is_registered and not (order.is_unmanaged and order.keeps_containers):
            told = f"Application Master is already registered : {application.order.id}"
            return _refusal(JavaClass.INVALID_APPLICATION_MASTER_REQUEST, told)
        known.is_registered, known.response_id, known.last_answer = True, 0, b""
        application.state = "RUNNING"
        kept: list[ModelledContainer] = []
        if application.order.keeps_containers:
            kept = [
                each
                for each in application.live.values()
                if not each.is_master and each.state is not ModelledContainerState.ALLOCATED
            ]
        nodes = {each.node for each in kept}
        known.known_nodes |= nodes
        answer = RegisterApplicationMasterResponseProto(
            queue=application.order.queue.rpartition(".")[2],
            maximumCapability=resource_message(self._manager.largest),
            containers_from_previous_attempts=[self._message(each) for each in kept],
            nm_tokens_from_previous_attempts=[_node_token(node) for node in sorted(nodes)],
        )
        return RPCAnswer(answer.SerializePartialToString())

    def _finish(self, application: Application, payload: bytes) -> RPCAnswer:
        request = FinishApplicationMasterRequestProto.FromString(payload)
        status = _STATUS.get(request.final_application_status, "UNDEFINED")
        self._manager.finish_application(application, status, request.diagnostics)
        return RPCAnswer(FinishApplicationMasterResponseProto(isUnregistered=True).SerializeToString())

    def _allocate(self, known: ModelledAttempt, payload: bytes) -> RPCAnswer:
        call = read_allocate_call(payload)
        if call.response_id + 1 == known.response_id and known.last_answer:
            return RPCAnswer(known.last_answer)
        if call.response_id != known.response_id:
            told = (
                f"Invalid responseId in AllocateRequest from application attempt: {known.id}, "
                f"expect responseId to be {known.response_id} but get {call.response_id}"
            )
            return _refusal(JavaClass.INVALID_APPLICATION_MASTER_REQUEST, told)
        if ANY in call.blacklist_additions:
            return _refusal(JavaClass.INVALID_RESOURCE_BLACKLIST_REQUEST, "Cannot add * to the blacklist!")
        manager = self._manager
        manager.scheduler.blacklist(known.id, call.blacklist_additions, call.blacklist_removals)
        manager.scheduler.ask(known.id, call.asks)
        for container in call.releases:
            manager.release(container, _RELEASED_EXIT_STATUS, "Container released by application")
        known.response_id += 1
        fresh, known.fresh = known.fresh, []
        gone, known.gone = known.gone, []
        known.told = gone
        for each in fresh:
            each.state, each.since_s = ModelledContainerState.ACQUIRED, manager.clock.monotonic_s()
        new_nodes = sorted({each.node for each in fresh} - known.known_nodes)
        known.known_nodes.update(new_nodes)
        known.last_answer = AllocateResponseProto(
            response_id=known.response_id,
            allocated_containers=[self._message(each) for each in fresh],
            completed_container_statuses=[_status(each) for each in gone],
            limit=resource_message(manager.scheduler.headroom(known.id)),
            num_cluster_nodes=len(manager.scheduler.nodes),
            nm_tokens=[_node_token(node) for node in new_nodes],
        ).SerializePartialToString()
        return RPCAnswer(known.last_answer)

    def _message(self, held: ModelledContainer) -> ContainerProto:
        life = str(self._manager.lives).encode()
        return ContainerProto(
            id=_id_message(held),
            nodeId=_node_message(held.node),
            node_http_address=f"{held.node.host}:8042",
            resource=resource_message(held.resource),
            priority=PriorityProto(priority=held.priority),
            allocation_request_id=held.request_id,
            container_token=TokenProto(identifier=b"c", password=life, kind="ContainerToken", service=""),
        )


@dataclass(frozen=True, slots=True)
class MasterLogin:
    """A login with the token of one attempt; implements `SchedulerLogin`, and `HomeSession` without a time limit."""

    service: MasterService
    attempt: ApplicationAttemptId

    @property
    def is_open(self) -> bool:
        return True

    async def call(self, method: str, payload: bytes) -> RPCAnswer:
        return await self.service.call(self.attempt, method, payload)


def _id_message(held: ModelledContainer | ContainerEnd) -> ContainerIdProto:
    attempt = held.id.attempt
    named = ApplicationAttemptIdProto(
        application_id=application_message(attempt.application), attemptId=attempt.attempt
    )
    return ContainerIdProto(app_attempt_id=named, id=held.id.number)


def _node_message(node: NodeId) -> NodeIdProto:
    return NodeIdProto(host=node.host, port=node.port)


def _node_token(node: NodeId) -> NMTokenProto:
    token = TokenProto(identifier=str(node).encode(), password=b"modelled", kind="NMToken", service="")
    return NMTokenProto(nodeId=_node_message(node), token=token)


def _status(ended: ContainerEnd) -> ContainerStatusProto:
    return ContainerStatusProto(
        container_id=_id_message(ended),
        state=ContainerStateProto.C_COMPLETE,
        diagnostics=ended.diagnostics,
        exit_status=ended.exit_status,
    )


def _refusal(java_class: str, message: str) -> RPCAnswer:
    return RPCAnswer(b"", RPCRefusal(java_class, message))


assert FinalApplicationStatusProto.Value("APP_SUCCEEDED") == 1  # noqa: S101 - `_STATUS` counts as the protocol does
