"""`allocate` and `registerApplicationMaster`, between bytes and values; what is not decided on stays bytes.

Serialized messages of one type, one after the other, are one message in which later single values win and lists are
joined: that is how parts from several schedulers become one answer.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType

from shim.domain.allocations import (
    ANY,
    AllocateAnswer,
    AllocateCall,
    Ask,
    AskKey,
    Ended,
    Grant,
    NodeNews,
    NodeToken,
    PreemptedContainer,
    SessionRequest,
    UpdateRequest,
)
from shim.domain.ids import NodeId
from shim.errors import BadRequestError, RemoteProtocolError
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    AllocateResponseProto,
    ContainerProto,
    ContainerStateProto,
    ContainerStatusProto,
    ExecutionTypeProto,
    ExecutionTypeRequestProto,
    NMTokenProto,
    NodeIdProto,
    NodeReportProto,
    NodeStateProto,
    PreemptionMessageProto,
    PriorityProto,
    RegisterApplicationMasterResponseProto,
    ResourceBlacklistRequestProto,
    ResourceProto,
    ResourceRequestProto,
    UpdateContainerRequestProto,
)
from shim.protocol.wire_values import text_of
from shim.protocol.yarn.placements import (
    ImposedConstraints,
    RegisteredConstraints,
    read_rejected,
    read_scheduling_request,
    rejected_message,
    scheduling_message,
)
from shim.protocol.yarn.wire import (
    container_message,
    container_of,
    read_message,
    resource_message,
    resource_of,
    told_resource,
)

_MOST_ASKS = 8000
_MOST_RELEASES = 10_000
_MOST_UPDATES = 2000
_MOST_PLACES = 20_000
_TAKEN_FROM_REQUEST = (
    "ask",
    "release",
    "blacklist_request",
    "response_id",
    "update_requests",
    "scheduling_requests",
)
_TAKEN_FROM_ANSWER = (
    "response_id",
    "allocated_containers",
    "completed_container_statuses",
    "nm_tokens",
    "limit",
    "num_cluster_nodes",
    "rejected_scheduling_requests",
)
_JOINED = ("updated_nodes", "preempt", "update_errors", "updated_containers")


_NO_CONSTRAINTS: RegisteredConstraints = MappingProxyType({})


_MOST_ANSWER_BYTES = 32 * 1024 * 1024
_MOST_TOLD = 20_000
"""Containers that one answer grants or ends, and nodes that it has tokens for: several times what an attempt may ask
for in one call."""
ANSWER_AT_ONCE_BYTES = 512 * 1024
"""A larger answer is to be read in a thread: each of its containers costs 10 us and more."""


def read_allocate_call(
    payload_untrusted: bytes, registered: RegisteredConstraints = _NO_CONSTRAINTS, imposed: ImposedConstraints = ()
) -> AllocateCall:
    """Read an ApplicationMaster's call.

    Args:
        payload_untrusted: An `AllocateRequestProto`.
        registered: Placement constraints with which the ApplicationMaster has registered.

    Raises:
        RemoteProtocolError: If the bytes are no `AllocateRequestProto`.
        BadRequestError: If it has more of something than is taken in one call.
    """
    message = read_message(AllocateRequestProto, payload_untrusted)
    blacklist = message.blacklist_request
    for count, most, what in (
        (len(message.ask), _MOST_ASKS, "resource requests"),
        (len(message.release), _MOST_RELEASES, "containers to release"),
        (len(message.update_requests), _MOST_UPDATES, "containers to update"),
        (len(message.scheduling_requests), _MOST_ASKS, "scheduling requests"),
        (len(blacklist.blacklist_additions) + len(blacklist.blacklist_removals), _MOST_PLACES, "blacklisted places"),
    ):
        if count > most:
            raise BadRequestError(f"{count} {what} in one call: at most {most} are taken")
    call = AllocateCall(
        response_id=message.response_id,
        asks=(
            *_asks_of(message.ask),
            *(read_scheduling_request(request, registered, imposed) for request in message.scheduling_requests),
        ),
        releases=tuple(container_of(container) for container in message.release),
        blacklist_additions=tuple(text_of(place) for place in blacklist.blacklist_additions),
        blacklist_removals=tuple(text_of(place) for place in blacklist.blacklist_removals),
        updates=tuple(
            UpdateRequest(container_of(update.container_id), update.SerializeToString())
            for update in message.update_requests
        ),
    )
    for name in _TAKEN_FROM_REQUEST:
        message.ClearField(name)  # type: ignore[arg-type]  # a field's name out of a table
    return replace(call, rest=message.SerializePartialToString())


def _asks_of(messages: Iterable[ResourceRequestProto]) -> Iterator[Ask]:
    """Read rows; those of one key that follow each other share it."""
    last: AskKey | None = None
    for message in messages:
        own = _key_of(message)
        key = last if last is not None and last == own else own
        place = text_of(message.resource_name)
        count = max(0, message.num_containers)  # less than nothing asks for nothing
        yield Ask(key, place, count, message.relax_locality, message.SerializePartialToString())
        last = key


def _key_of(message: ResourceRequestProto) -> AskKey:
    execution = message.execution_type_request.execution_type
    return AskKey(
        priority=message.priority.priority,
        allocation_request_id=message.allocation_request_id,
        is_opportunistic=execution == ExecutionTypeProto.OPPORTUNISTIC,
        resource=resource_of(message.capability),
        label=text_of(message.node_label_expression),
    )


def _ask_message(ask: Ask) -> ResourceRequestProto:
    """The row as the ApplicationMaster sent it, with the count of the session; one that it never sent is made.

    A row that is for other places than the ApplicationMaster's, or stricter, has the rest of what was sent.
    """
    if ask.raw:
        message = ResourceRequestProto.FromString(ask.raw)
        message.num_containers = ask.count
        if text_of(message.resource_name) != ask.place:
            message.resource_name = ask.place
        if message.relax_locality != ask.relaxes:
            message.relax_locality = ask.relaxes
        return message
    key = ask.key
    kind = ExecutionTypeProto.OPPORTUNISTIC if key.is_opportunistic else ExecutionTypeProto.GUARANTEED
    return ResourceRequestProto(
        priority=PriorityProto(priority=key.priority),
        resource_name=ask.place,
        capability=resource_message(key.resource),
        num_containers=ask.count,
        relax_locality=ask.relaxes,
        node_label_expression=key.label or None,
        execution_type_request=ExecutionTypeRequestProto(execution_type=kind),
        allocation_request_id=key.allocation_request_id,
    )


def write_session_request(request: SessionRequest) -> bytes:
    message = AllocateRequestProto(
        ask=[_ask_message(ask) for ask in request.asks if ask.key.placement is None],
        scheduling_requests=[scheduling_message(ask) for ask in request.asks if ask.key.placement is not None],
        release=[container_message(container) for container in request.releases],
        response_id=request.response_id,
        update_requests=[UpdateContainerRequestProto.FromString(update.raw) for update in request.updates],
    )
    if request.blacklist_additions or request.blacklist_removals:
        message.blacklist_request.CopyFrom(
            ResourceBlacklistRequestProto(
                blacklist_additions=request.blacklist_additions, blacklist_removals=request.blacklist_removals
            )
        )
    return message.SerializePartialToString() + request.rest


def read_allocate_answer(payload_untrusted: bytes) -> AllocateAnswer:
    """Read a scheduler's answer.

    Raises:
        RemoteProtocolError: If the bytes are no `AllocateResponseProto`, or tell of more than one answer does.
    """
    if len(payload_untrusted) > _MOST_ANSWER_BYTES:
        raise RemoteProtocolError(f"an answer of {len(payload_untrusted)} bytes to a request for containers")
    message = read_message(AllocateResponseProto, payload_untrusted)
    told = (message.allocated_containers, message.completed_container_statuses, message.nm_tokens)
    if any(len(each) > _MOST_TOLD for each in (*told, message.rejected_scheduling_requests)):
        raise RemoteProtocolError(f"an answer with more than {_MOST_TOLD} containers or nodes")
    joined = AllocateResponseProto(
        updated_nodes=message.updated_nodes,
        preempt=message.preempt if message.HasField("preempt") else None,
        update_errors=message.update_errors,
        updated_containers=message.updated_containers,
    ).SerializePartialToString()
    taken = AllocateAnswer(
        response_id=message.response_id,
        grants=tuple(_grant_of(container) for container in message.allocated_containers),
        ended=tuple(_ended_of(status) for status in message.completed_container_statuses),
        node_tokens=tuple(_token_of(token) for token in message.nm_tokens),
        headroom=told_resource(message.limit),
        nodes=message.num_cluster_nodes,
        rejected=tuple(read_rejected(each) for each in message.rejected_scheduling_requests),
    )
    for name in (*_TAKEN_FROM_ANSWER, *_JOINED):
        message.ClearField(name)  # type: ignore[arg-type]  # a field's name out of a table
    return replace(
        taken,
        joined=joined,
        rest=message.SerializePartialToString(),
        am_rm_token=message.am_rm_token.SerializePartialToString() if message.HasField("am_rm_token") else b"",
    )


def write_allocate_answer(answer: AllocateAnswer) -> bytes:
    """Write the answer to the ApplicationMaster."""
    message = AllocateResponseProto(
        response_id=answer.response_id,
        allocated_containers=[ContainerProto.FromString(grant.raw) for grant in answer.grants],
        completed_container_statuses=[_status_message(ended) for ended in answer.ended],
        nm_tokens=[NMTokenProto.FromString(token.raw) for token in answer.node_tokens],
        limit=resource_message(answer.headroom),
        num_cluster_nodes=answer.nodes,
        updated_nodes=[_news_message(news) for news in answer.news],
        rejected_scheduling_requests=[rejected_message(each) for each in answer.rejected],
    )
    if answer.asked_back:
        message.preempt.CopyFrom(preemption_message(answer.asked_back))
    return message.SerializePartialToString() + answer.joined + answer.rest


def read_registration(payload_untrusted: bytes) -> tuple[tuple[Grant, ...], tuple[NodeToken, ...]]:
    """The containers from before a registration, and the tokens for their nodes.

    Raises:
        RemoteProtocolError: If the bytes are no `RegisterApplicationMasterResponseProto`.
    """
    message = read_message(RegisterApplicationMasterResponseProto, payload_untrusted)
    grants = tuple(_grant_of(container) for container in message.containers_from_previous_attempts)
    return grants, tuple(_token_of(token) for token in message.nm_tokens_from_previous_attempts)


def with_containers(
    registration: bytes, grants: Iterable[Grant], tokens: Iterable[NodeToken], *, instead: bool = False
) -> bytes:
    """An answer to a registration with containers from before.

    Args:
        grants: Containers that run elsewhere.
        instead: Whether they stand in the place of those that the home told of.
    """
    message = RegisterApplicationMasterResponseProto.FromString(registration)
    if instead:
        message.ClearField("containers_from_previous_attempts")
        message.ClearField("nm_tokens_from_previous_attempts")
    message.containers_from_previous_attempts.extend(ContainerProto.FromString(grant.raw) for grant in grants)
    message.nm_tokens_from_previous_attempts.extend(NMTokenProto.FromString(token.raw) for token in tokens)
    return message.SerializePartialToString()


def _grant_of(message: ContainerProto) -> Grant:
    return Grant(
        container=container_of(message.id),
        node=NodeId(text_of(message.nodeId.host), message.nodeId.port),
        priority=message.priority.priority,
        allocation_request_id=message.allocation_request_id,
        resource=told_resource(message.resource),
        raw=message.SerializePartialToString(),
        tags=frozenset(text_of(tag) for tag in message.allocation_tags),
    )


def _ended_of(message: ContainerStatusProto) -> Ended:
    return Ended(
        container_of(message.container_id),
        message.exit_status,
        text_of(message.diagnostics),
        message.SerializePartialToString(),
    )


def _token_of(message: NMTokenProto) -> NodeToken:
    return NodeToken(NodeId(text_of(message.nodeId.host), message.nodeId.port), message.SerializePartialToString())


def _status_message(ended: Ended) -> ContainerStatusProto:
    if ended.raw:
        return ContainerStatusProto.FromString(ended.raw)
    return ContainerStatusProto(
        container_id=container_message(ended.container),
        state=ContainerStateProto.C_COMPLETE,
        diagnostics=ended.diagnostics,
        exit_status=ended.exit_status,
    )


def _news_message(news: NodeNews) -> NodeReportProto:
    return NodeReportProto(
        nodeId=NodeIdProto(host=news.node.host, port=news.node.port),
        httpAddress=f"{news.node.host}:0",
        rackName="/default-rack",
        used=ResourceProto(memory=0, virtual_cores=0),
        capability=ResourceProto(memory=0, virtual_cores=0),
        numContainers=0,
        node_state=NodeStateProto.NS_LOST if news.is_lost else NodeStateProto.NS_RUNNING,
        health_report="its sub-cluster is lost" if news.is_lost else "",
        last_health_report_time=0,
    )


# Messages by which an ApplicationMaster is asked to give containers back.


def preemption_message(asked_back: Sequence[PreemptedContainer]) -> PreemptionMessageProto:
    """Both contracts: what will go, and what may be replaced by something of the same size.

    Source: `ApplicationMasterService`'s `generatePreemptionMessage`.
    """
    message = PreemptionMessageProto()
    for each in asked_back:
        contract = message.strictContract if each.is_strict else message.contract
        contract.container.add(id=container_message(each.container))
        if not each.is_strict and each.grant is not None:
            message.contract.resource.add(resource=_replacement(each.grant))
    return message


def _replacement(grant: Grant) -> ResourceRequestProto:
    return ResourceRequestProto(
        priority=PriorityProto(priority=grant.priority),
        resource_name=ANY,
        capability=resource_message(grant.resource),
        num_containers=1,
        relax_locality=True,
    )
