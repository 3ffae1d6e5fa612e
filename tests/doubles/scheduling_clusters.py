"""ResourceManagers for applications that span, scripted: YARN's order of calls at both servers, grants on the spot.

Limits: one attempt an application, no queues, no time; each ask is granted in the answer to it, as far
as `may_grant` allows.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.errors import NoAnswerError
from shim.ports.attempt_calls import ALLOCATE, FINISH, REGISTER
from shim.ports.resource_manager_rpc import RPCAnswer, RPCCall, RPCRefusal
from shim.protocol.hrpc import JavaClass
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    AllocateResponseProto,
    ApplicationAttemptIdProto,
    ApplicationReportProto,
    ContainerIdProto,
    ContainerProto,
    ContainerReportProto,
    ContainerStateProto,
    ContainerStatusProto,
    FinishApplicationMasterResponseProto,
    GetApplicationReportRequestProto,
    GetApplicationReportResponseProto,
    GetContainersRequestProto,
    GetContainersResponseProto,
    KillApplicationRequestProto,
    KillApplicationResponseProto,
    NMTokenProto,
    NodeIdProto,
    PriorityProto,
    RegisterApplicationMasterResponseProto,
    ResourceProto,
    SubmitApplicationRequestProto,
    TokenProto,
    YarnApplicationStateProto,
)
from shim.protocol.yarn import application_message, application_of

_ACCEPTED, _RUNNING = YarnApplicationStateProto.Value("ACCEPTED"), YarnApplicationStateProto.Value("RUNNING")
_FINISHED, _KILLED = YarnApplicationStateProto.Value("FINISHED"), YarnApplicationStateProto.Value("KILLED")
_EPOCH_SHIFT = 40
_CREATED_MS = 1_700_000_123_000


@dataclass
class _Application:
    state: int = _ACCEPTED
    response_id: int = 0
    is_registered: bool = False
    asked: Counter[tuple[int, str]] = field(default_factory=Counter)
    live: dict[int, ContainerProto] = field(default_factory=dict)
    hidden: dict[int, ContainerProto] = field(default_factory=dict)
    to_release: set[int] = field(default_factory=set)
    fresh: list[ContainerProto] = field(default_factory=list)
    gone: list[ContainerStatusProto] = field(default_factory=list)
    cached: AllocateResponseProto | None = None
    nodes: set[str] = field(default_factory=set)


@dataclass
class SchedulingCluster:
    """One cluster; implements `ResourceManagerRPC` for clients, and hears masters by `master_call`.

    Attributes:
        may_grant: How many containers it still has.
        is_away: Whether it answers nothing.
        refuses: What it answers to submissions, if it wants none.
        calls: Methods that were called, in order.
        submissions: As they came.
        rolls: Whether the next answer to `allocate` has another token; it is False afterwards.
        refuses_old_tokens: Whether a login with a token from before that is refused.
        heard: What a master said last, if it was in order.
        rolled: The newest token, once there was another than the first.
    """

    name: SubClusterId
    epoch: int
    may_grant: int = 100
    is_away: bool = False
    refuses: RPCRefusal | None = None
    calls: list[str] = field(default_factory=list)
    submissions: list[SubmitApplicationRequestProto] = field(default_factory=list)
    rolls: bool = False
    refuses_old_tokens: bool = False
    rolled: TokenProto | None = None
    heard: AllocateRequestProto | None = None
    applications: dict[ApplicationId, _Application] = field(default_factory=dict)
    _count: int = 1  # of containers that it gave: an ApplicationMaster's own is the first

    @property
    def subcluster(self) -> SubClusterId:
        """Sub-cluster of this ResourceManager."""
        return self.name

    async def close(self) -> None:
        """Close nothing, as nothing is open."""

    async def call(self, call: RPCCall, *, timeout_s: float | None = None) -> RPCAnswer:  # noqa: ARG002 - the port's
        """A client's call."""
        self._hear(call.method)
        return getattr(self, f"_{call.method}")(call.payload)  # type: ignore[no-any-return]

    def master_call(self, application: ApplicationId, method: str, payload: bytes) -> RPCAnswer:
        """A master's call."""
        self._hear(method)
        known = self.applications.get(application)
        if known is None or known.state in (_FINISHED, _KILLED):
            return _refusal(JavaClass.INVALID_TOKEN, "not found in AMRMTokenSecretManager")
        if method == REGISTER:
            return self._register(known)
        if not known.is_registered:
            return _refusal(JavaClass.APPLICATION_MASTER_NOT_REGISTERED, "not registered")
        if method == FINISH:
            known.state = _FINISHED
            return RPCAnswer(FinishApplicationMasterResponseProto(isUnregistered=True).SerializeToString())
        assert method == ALLOCATE
        return self._allocate(application, known, AllocateRequestProto.FromString(payload))

    def restart(self, *, is_before_its_nodes: bool = False) -> None:
        """Forget who is registered and what was asked for; containers go on, unknown until their nodes are back."""
        for known in self.applications.values():
            known.is_registered, known.cached = False, None
            known.asked.clear()
            if is_before_its_nodes:
                known.live, known.hidden = {}, known.live

    def nodes_come_back(self) -> None:
        """Know their containers again; those that were to be released meanwhile are."""
        for known in self.applications.values():
            found, known.hidden = known.hidden, {}
            known.live |= {number: each for number, each in found.items() if number not in known.to_release}

    def end(self, application: ApplicationId, status: int = 0) -> None:
        """Every container of an application ends."""
        known = self.applications[application]
        known.gone += [ContainerStatusProto(container_id=each.id, exit_status=status) for each in known.live.values()]
        known.live.clear()

    def _hear(self, method: str) -> None:
        self.calls.append(method)
        if self.is_away:
            raise NoAnswerError(self.name, "away")

    def _submitApplication(self, payload: bytes) -> RPCAnswer:  # noqa: N802 - the method's name
        if self.refuses is not None:
            return RPCAnswer(b"", self.refuses)
        request = SubmitApplicationRequestProto.FromString(payload)
        self.submissions.append(request)
        self.applications.setdefault(
            application_of(request.application_submission_context.application_id), _Application()
        )
        return RPCAnswer(b"")

    def _getApplicationReport(self, payload: bytes) -> RPCAnswer:  # noqa: N802 - the method's name
        application = application_of(GetApplicationReportRequestProto.FromString(payload).application_id)
        known = self.applications.get(application)
        if known is None:
            return _refusal(JavaClass.APPLICATION_NOT_FOUND, f"{application} is not known")
        report = ApplicationReportProto(
            applicationId=application_message(application), yarn_application_state=known.state
        )
        if known.state == _ACCEPTED:
            report.am_rm_token.CopyFrom(_token(application, b"p"))
        return RPCAnswer(GetApplicationReportResponseProto(application_report=report).SerializeToString())

    def _getContainers(self, payload: bytes) -> RPCAnswer:  # noqa: N802 - the method's name
        """List the live containers, with the master's own, whether or not the master has been given it."""
        attempt = GetContainersRequestProto.FromString(payload).application_attempt_id
        first = ContainerProto(id=ContainerIdProto(app_attempt_id=attempt, id=(self.epoch << _EPOCH_SHIFT) | 1))
        live = self.applications[application_of(attempt.application_id)].live.values()
        reports = [
            ContainerReportProto(
                container_id=each.id,
                node_id=each.nodeId,
                priority=each.priority,
                resource=each.resource,
                creation_time=_CREATED_MS,
                container_state=ContainerStateProto.C_RUNNING,
            )
            for each in (first, *live)
        ]
        return RPCAnswer(GetContainersResponseProto(containers=reports).SerializeToString())

    def _forceKillApplication(self, payload: bytes) -> RPCAnswer:  # noqa: N802 - the method's name
        application = application_of(KillApplicationRequestProto.FromString(payload).application_id)
        self.applications[application].state = _KILLED
        return RPCAnswer(KillApplicationResponseProto(is_kill_completed=True).SerializeToString())

    def _register(self, known: _Application) -> RPCAnswer:
        known.state, known.is_registered, known.response_id, known.cached = _RUNNING, True, 0, None
        tokens = [NMTokenProto(nodeId=each.nodeId) for each in known.live.values()]
        if known.live:  # and only then: as a ResourceManager does it
            known.nodes = {each.nodeId.host for each in known.live.values()}
        answer = RegisterApplicationMasterResponseProto(
            queue="default",
            containers_from_previous_attempts=list(known.live.values()),
            nm_tokens_from_previous_attempts=tokens,
        )
        return RPCAnswer(answer.SerializeToString())

    def _allocate(self, application: ApplicationId, known: _Application, request: AllocateRequestProto) -> RPCAnswer:
        if request.response_id + 1 == known.response_id and known.cached is not None:
            return RPCAnswer(known.cached.SerializeToString())
        if request.response_id != known.response_id:
            said = f"expect responseId to be {known.response_id} but get {request.response_id}"
            return _refusal(JavaClass.INVALID_APPLICATION_MASTER_REQUEST, said)
        self.heard = request
        if "*" in request.blacklist_request.blacklist_additions:
            return _refusal(JavaClass.INVALID_RESOURCE_BLACKLIST_REQUEST, "Cannot add * to the blacklist!")
        for ask in request.ask:
            known.asked[ask.priority.priority, ask.resource_name] = ask.num_containers
        for container in request.release:
            if known.live.pop(container.id, None) is not None:
                known.gone.append(ContainerStatusProto(container_id=container, exit_status=-100))
            else:
                known.to_release.add(container.id)
        self._grant(application, known)
        known.response_id += 1
        known.cached = AllocateResponseProto(
            response_id=known.response_id,
            allocated_containers=known.fresh,
            completed_container_statuses=known.gone,
            limit=ResourceProto(memory=1024 * self.may_grant, virtual_cores=self.may_grant),
            num_cluster_nodes=1,
            nm_tokens=[NMTokenProto(nodeId=each.nodeId) for each in known.fresh if each.nodeId.host not in known.nodes],
        )
        if self.rolls:
            self.rolls, self.rolled = False, _token(application, b"rolled")
            known.cached.am_rm_token.CopyFrom(self.rolled)
        known.nodes |= {each.nodeId.host for each in known.fresh}
        known.fresh, known.gone = [], []
        return RPCAnswer(known.cached.SerializeToString())

    def _grant(self, application: ApplicationId, known: _Application) -> None:
        for (priority, place), count in list(known.asked.items()):
            if place != "*":
                continue
            granted = min(count, self.may_grant)
            self.may_grant -= granted
            known.asked[priority, place] = count - granted
            for _ in range(granted):
                container = self._container(application, priority)
                known.live[container.id.id] = container
                known.fresh.append(container)

    def _container(self, application: ApplicationId, priority: int) -> ContainerProto:
        self._count += 1
        attempt = ApplicationAttemptIdProto(application_id=application_message(application), attemptId=1)
        return ContainerProto(
            id=ContainerIdProto(app_attempt_id=attempt, id=(self.epoch << _EPOCH_SHIFT) | self._count),
            nodeId=NodeIdProto(host=f"{self.name}-1", port=1),
            priority=PriorityProto(priority=priority),
            resource=ResourceProto(memory=1024, virtual_cores=1),
            allocation_request_id=-1,
        )


def _token(application: ApplicationId, password: bytes) -> TokenProto:
    return TokenProto(identifier=str(application).encode(), password=password, kind="k", service="")


def _refusal(java_class: str, message: str) -> RPCAnswer:
    return RPCAnswer(b"", RPCRefusal(java_class, message))


@dataclass
class _Login:
    """Implements `SchedulerLogin`; the token's identifier names the application."""

    cluster: SchedulingCluster
    application: ApplicationId
    token: TokenProto
    is_open: bool = True

    async def call(self, method: str, payload: bytes, *, timeout_s: float | None = None) -> RPCAnswer:  # noqa: ARG002
        """A master's call, with the token that it has logged in with."""
        newest = self.cluster.rolled
        if self.cluster.refuses_old_tokens and newest is not None and newest.password != self.token.password:
            return _refusal(JavaClass.INVALID_TOKEN, "Invalid AMRMToken")
        return self.cluster.master_call(self.application, method, payload)

    async def close(self) -> None:
        """Note that it was closed."""
        self.is_open = False


@dataclass
class HomeLogin:
    """Implements `HomeSession`: an ApplicationMaster's own login at its home."""

    cluster: SchedulingCluster
    application: ApplicationId
    is_open: bool = True

    async def call(self, method: str, payload: bytes) -> RPCAnswer:
        """Make a call."""
        return self.cluster.master_call(self.application, method, payload)


@dataclass
class SchedulingClusters:
    """Implements `SchedulerLogins` over some clusters; `logins` are all that there were."""

    clusters: Mapping[SubClusterId, SchedulingCluster]
    logins: list[_Login] = field(default_factory=list)

    def log_in(self, subcluster: SubClusterId, token: bytes) -> _Login:
        """A login by token."""
        told = TokenProto.FromString(token)
        login = _Login(self.clusters[subcluster], ApplicationId.parse(told.identifier.decode()), told)
        self.logins.append(login)
        return login

    def at_home(self, subcluster: SubClusterId, attempt: ApplicationAttemptId) -> HomeLogin:
        """The login of an application's own master; the home accepts it at the first."""
        cluster = self.clusters[subcluster]
        cluster.applications.setdefault(attempt.application, _Application())
        return HomeLogin(cluster, attempt.application)
