"""The admin RPC server: what `yarn rmadmin` and its like call, each method by its row of the table.

Operators wait for an answer: what cannot be done now is told at once, by an exception that their tools do not repeat.

The table of the admin RPC server: every method of ResourceManagerAdministrationProtocol and HAServiceProtocol.

Its ways are those of `shim.server.ways`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from google.protobuf.message import Message

from shim.calls.admin import AdminCalls, AdminOutcome
from shim.domain.ids import SubClusterId
from shim.errors import BadRequestError, ForbiddenError, HeddleError, NotAuthenticatedError
from shim.federation.core.federation_view import Part, SubClusterView
from shim.identity.service import Caller, IdentityService, ImpersonationError, with_groups
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.hrpc import ContextReceived, Failure, HadoopCall, JavaClass, SASLOffer, method_of, request_of
from shim.protocol.proto import ADMINISTRATION, HA_SERVICE, Method
from shim.protocol.proto.messages import (
    FederationSubClusterProto,
    GetServiceStatusResponseProto,
    GetSubClustersResponseProto,
    HAServiceStateProto,
    MonitorHealthResponseProto,
    TransitionToActiveResponseProto,
)
from shim.protocol.yarn import ADMIN_MERGES, named_subcluster, split_by_node
from shim.protocol.yarn.texts import text_rejection
from shim.server.rights import ADMIN, rights_of
from shim.server.rpc.asked import AnsweredCall, CallObserver, as_failure, passed_on
from shim.server.rpc.logins import Logins, TicketLogin
from shim.server.ways import Way


@dataclass(frozen=True, slots=True)
class AdminRow:
    """One method.

    Attributes:
        touches: What sub-clusters tell differently afterwards.
        needs_all: Whether half an answer is none: a change that clusters must have in common, a merged answer that
            somebody waits for.
        reason: Why it is refused.
        refusal: Exception of a refusal.
        audit: What the audit calls a change; the same name for the endpoint that does the same.
    """

    way: Way
    touches: tuple[Part, ...] = ()
    needs_all: bool = False
    reason: str = ""
    refusal: JavaClass = JavaClass.YARN
    audit: str = ""

    @property
    def writes(self) -> bool:
        """Return whether it changes something, or was meant to."""
        return self.way in {Way.SPREAD, Way.SPLIT, Way.REFUSE}


def _spread(audit: str, *touches: Part, needs_all: bool = False) -> AdminRow:
    return AdminRow(Way.SPREAD, touches, needs_all, audit=audit)


def _refused(audit: str, reason: str, refusal: JavaClass = JavaClass.YARN) -> AdminRow:
    return AdminRow(Way.REFUSE, reason=reason, refusal=refusal, audit=audit)


def _of_nodes(audit: str) -> AdminRow:
    return AdminRow(Way.SPLIT, (Part.NODES,), audit=audit)


_OWN = AdminRow(Way.OWN)
_POLICY = _refused(
    "federation.policy",
    "queues are distributed over sub-clusters by Heddle's own configuration, not by stored policies",
)
_ALWAYS_ACTIVE = _refused(
    "ha.transition",
    "Heddle is always active; a sub-cluster's ResourceManagers take this at their own admin addresses",
    JavaClass.SERVICE_FAILED,
)

ADMIN_METHODS: Mapping[str, AdminRow] = {
    "refreshQueues": _spread("admin.refresh-queues", Part.SCHEDULER),
    "refreshNodes": _spread("admin.refresh-nodes", Part.NODES),
    "refreshNodesResources": _spread("admin.refresh-nodes-resources", Part.NODES),
    "refreshSuperUserGroupsConfiguration": _spread("admin.refresh-super-user-groups-configuration"),
    "refreshUserToGroupsMappings": _spread("admin.refresh-user-to-groups-mappings"),
    "refreshAdminAcls": _spread("admin.refresh-admin-acls"),
    "refreshServiceAcls": _spread("admin.refresh-service-acls"),
    "refreshClusterMaxPriority": _spread("admin.refresh-cluster-max-priority"),
    "addToClusterNodeLabels": _spread("labels.add", Part.NODES, needs_all=True),
    "removeFromClusterNodeLabels": _spread("labels.remove", Part.NODES, needs_all=True),
    "updateNodeResource": _of_nodes("node.resource"),
    "replaceLabelsOnNodes": _of_nodes("node.labels"),
    "mapAttributesToNodes": _of_nodes("node.attributes"),
    "getGroupsForUser": AdminRow(Way.MERGE),
    "checkForDecommissioningNodes": AdminRow(Way.MERGE, needs_all=True),
    "getFederationSubClusters": _OWN,
    "deregisterSubCluster": _refused(
        "cluster.deregister",
        "a sub-cluster is taken out of Heddle's configuration; `heddle cluster drain` keeps new applications away",
    ),
    "deleteFederationApplication": _refused(
        "app.forget-home", "the homes of applications are kept as long as clients may ask for them"
    ),
    "saveFederationQueuePolicy": _POLICY,
    "batchSaveFederationQueuePolicies": _POLICY,
    "listFederationQueuePolicies": _POLICY,
    "deleteFederationPoliciesByQueues": _POLICY,
    "getServiceStatus": _OWN,
    "monitorHealth": _OWN,
    "transitionToActive": _OWN,
    "transitionToStandby": _ALWAYS_ACTIVE,
    "transitionToObserver": _ALWAYS_ACTIVE,
}
"""By the method's name; the two protocols have none in common."""

ADMIN_RIGHTS = rights_of(ADMIN_METHODS, ADMIN)
"""What each method takes, by its name."""


_MAX_REQUEST_BYTES = 4 * 1024 * 1024
"""Labels of 50,000 nodes; to decode a request takes a time and memory that grow with it."""
_CLASSES: Mapping[type[HeddleError], JavaClass] = {
    NotAuthenticatedError: JavaClass.ACCESS_CONTROL,
    ImpersonationError: JavaClass.AUTHORIZATION,
    ForbiddenError: JavaClass.ACCESS_CONTROL,
}
_PROTOCOLS = {protocol.name: protocol for protocol in (ADMINISTRATION, HA_SERVICE)}


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call, decoded."""

    call: HadoopCall
    method: Method
    request: Message
    row: AdminRow
    caller: Caller


class AdminService:
    """Answers operators' tools as a ResourceManager.

    Args:
        calls: The ResourceManagers' admin RPC servers.
        kerberos: How operators log in by ticket; None where names are believed.
    """

    def __init__(
        self,
        calls: AdminCalls,
        identity: IdentityService,
        observer: CallObserver = lambda _: None,
        kerberos: TicketLogin | None = None,
    ) -> None:
        self._calls = calls
        self._identity = identity
        self._logins = Logins(identity, kerberos=kerberos)  # a ResourceManager takes no delegation token here either
        self._observer = observer
        self._ways: Mapping[Way, Callable[[_Asked], Awaitable[Message | bytes | Failure]]] = {
            Way.OWN: self._own,
            Way.MERGE: self._merge,
            Way.SPREAD: self._spread,
            Way.SPLIT: self._split,
            Way.REFUSE: self._refuse,
        }
        self._own_answers: Mapping[str, Callable[[], Message]] = {
            "getFederationSubClusters": self._subclusters,
            "getServiceStatus": _service_status,
            "monitorHealth": MonitorHealthResponseProto,
            "transitionToActive": TransitionToActiveResponseProto,  # it is
        }

    def offers(self) -> Sequence[SASLOffer]:
        """Tickets, or names that are believed."""
        return self._logins.offers()

    def admit(self, context: ContextReceived, address: str) -> Caller | Failure:
        return self._logins.admit(context, address)

    def answer_at_once(self, call: HadoopCall, caller: Caller) -> bytes | Failure | None:  # noqa: ARG002 - the server's signature
        """Refuse a faulty call at once."""
        method = method_of(call, _PROTOCOLS)
        if isinstance(method, Failure):
            return method
        size = len(call.payload_untrusted or b"")
        if size > _MAX_REQUEST_BYTES:
            return Failure(JavaClass.YARN, f"the request has {size} bytes, more than {_MAX_REQUEST_BYTES}")
        return None

    async def answer(self, call: HadoopCall, caller: Caller) -> bytes | Failure:
        method = method_of(call, _PROTOCOLS)
        if isinstance(method, Failure):
            return method
        request = request_of(call, method)
        if isinstance(request, Failure):
            return request
        asked = _Asked(call, method, request, ADMIN_METHODS[call.method], caller)
        try:
            answer = await with_groups(lambda: self._allowed(asked))
        except HeddleError as exc:
            return Failure(_CLASSES.get(type(exc), JavaClass.YARN), str(exc))
        return answer.SerializeToString() if isinstance(answer, Message) else answer

    async def _allowed(self, asked: _Asked) -> Message | bytes | Failure:
        self._identity.require(asked.caller, ADMIN_RIGHTS[asked.call.method])
        if said := text_rejection(asked.request):
            raise BadRequestError(said)
        if asked.row.writes:
            self._identity.refuse_wildcard_operator(asked.caller)
        # written anew: nothing is passed on that a ResourceManager may read by other rules
        own = replace(asked.call, payload_untrusted=asked.request.SerializeToString())
        return await self._ways[asked.row.way](replace(asked, call=own))

    def tell(self, exchange: AnsweredCall) -> None:
        """Pass an answered call on to the observer."""
        self._observer(exchange)

    # -- ways --------------------------------------------------------------------------------------------------------

    async def _own(self, asked: _Asked) -> Message:
        return self._own_answers[asked.call.method]()

    async def _refuse(self, asked: _Asked) -> Failure:
        return Failure(asked.row.refusal, f"{asked.call.method}: {asked.row.reason}")

    async def _merge(self, asked: _Asked) -> Message | bytes | Failure:
        targets = self._calls.chosen(named_subcluster(asked.request))
        outcome = await self._calls.tell(dict.fromkeys(targets, passed_on(asked.call, asked.caller)))
        if not outcome.payloads or (asked.row.needs_all and not outcome.is_whole):
            return _failure(asked.call.method, outcome)
        payloads = list(outcome.payloads.values())
        return payloads[0] if len(targets) == 1 else ADMIN_MERGES[asked.call.method](payloads)

    async def _spread(self, asked: _Asked) -> Message | bytes | Failure:
        targets = self._calls.chosen(named_subcluster(asked.request))
        if asked.row.needs_all:
            self._calls.check_present(targets)
        return await self._told(asked, dict.fromkeys(targets, passed_on(asked.call, asked.caller)))

    async def _split(self, asked: _Asked) -> Message | bytes | Failure:
        name = named_subcluster(asked.request)
        if name:
            return await self._spread(asked)
        parts: dict[SubClusterId, Message] = split_by_node(asked.request, self._calls.owner_of)
        calls = {
            item: passed_on(asked.call, asked.caller, part.SerializeToString(deterministic=True))
            for item, part in parts.items()
        }
        return await self._told(asked, calls)

    async def _told(self, asked: _Asked, calls: Mapping[SubClusterId, RPCCall]) -> Message | bytes | Failure:
        """Make the calls; what one sub-cluster alone answers is passed on as it is."""
        outcome = await self._calls.tell(calls, touches=asked.row.touches)
        if outcome.is_whole:
            return next(iter(outcome.payloads.values()), asked.method.answer())
        return _failure(asked.call.method, outcome)

    # -- own answers -------------------------------------------------------------------------------------------------

    def _subclusters(self) -> Message:
        return GetSubClustersResponseProto(subClusters=[_subcluster(look) for look in self._calls.looks()])


def _failure(method: str, outcome: AdminOutcome) -> Failure:
    """Describe, in one line, which clusters did it and why others did not: tools show no more.

    A refusal in which all agree is theirs, word for word.
    """
    if not outcome.payloads and not outcome.silent and len(set(outcome.refusals.values())) == 1:
        return as_failure(next(iter(outcome.refusals.values())))
    done = f"done at {', '.join(outcome.payloads)}" if outcome.payloads else "done nowhere"
    refused = [f"{item} refuses: {refusal.message}" for item, refusal in outcome.refusals.items()]
    silent = [f"{item} does not answer: {reason}" for item, reason in outcome.silent.items()]
    classes = {refusal.java_class for refusal in outcome.refusals.values()}
    java_class = classes.pop() if len(classes) == 1 and not silent else JavaClass.YARN
    return Failure(java_class, f"{method}: {'; '.join((done, *refused, *silent))}")


def _service_status() -> Message:
    return GetServiceStatusResponseProto(state=HAServiceStateProto.Value("ACTIVE"), readyToBecomeActive=True)


def _subcluster(look: SubClusterView) -> FederationSubClusterProto:
    heard = look.age_s < float("inf")
    return FederationSubClusterProto(
        subClusterId=look.subcluster,
        lastHeartBeatTime=f"{look.age_s:.0f} s ago" if heard else "never",
        subClusterState=look.state.value,
    )
