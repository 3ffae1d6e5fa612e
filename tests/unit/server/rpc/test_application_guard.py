"""`security.application_acls` over Hadoop RPC: who sees and changes which application."""

import pytest

from shim.app.assembly import Overrides
from shim.app.use_cases import assemble
from shim.calls.client import CallSettings, ClientCalls
from shim.domain.access_lists import ApplicationACLs
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.resources import ResourceVector
from shim.federation.poller import PollSchedule, SubClusterPoller, ViewIntake
from shim.federation.view_rights import ViewRights
from shim.identity.delegation_tokens import DelegationTokens, TokenLimits
from shim.identity.service import Caller, IdentityRules, IdentityService
from shim.protocol.hrpc import CallerContext, Failure, HadoopCall
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto import messages as m
from shim.protocol.yarn import application_message
from shim.server.rpc import ClientService, ClientUseCases
from shim.server.rpc.kept_answers import KeptRPCAnswers
from shim.simulation.stores import InMemoryTokenStore
from shim.submission.application_ids import ApplicationIds
from shim.submission.lost_time import NOTHING_LOST
from tests.doubles.federation import ScriptedFederation, a_runtime, in_memory_clusters
from tests.doubles.resource_manager_rpc import ScriptedRPC
from tests.doubles.settings import usual

APP = ApplicationId(1_800_000_000_000, 7)
ATTEMPT = m.ApplicationAttemptIdProto(application_id=application_message(APP), attemptId=1)
CONTAINER = m.ContainerIdProto(app_attempt_id=ATTEMPT, id=2)
SECRET = "told by its home"
USERS = ("alice", "vera", "mo", "quinn", "queen", "eve")
VIEWERS = frozenset({"alice", "vera", "quinn", "queen"})
MODIFIERS = frozenset({"alice", "mo", "quinn", "queen"})
POLICY = SharePolicy((FederatedQueue("root", administer=("quinn",)), FederatedQueue("root.default", weight=1.0)))


class GuardedServer:
    """A server whose one sub-cluster has an application of Alice's, with lists that name Vera and Mo."""

    async def open(self) -> "GuardedServer":
        self.federation = federation = ScriptedFederation(("east",))
        clock = federation.clock
        runtime = a_runtime(
            in_memory_clusters(federation.managers),
            clock,
            stores=federation.stores,
            config="[security]\napplication_acls = true\n",
        )
        rules = usual(IdentityRules, admins=("queen",))
        made = assemble(runtime, overrides=Overrides(past=NOTHING_LOST, policy=POLICY, rules=rules))
        backend = made.backend
        identity = IdentityService(rules, secret=b"s" * 32, clock=clock)
        self.access = backend.applications.access
        self.rpc = ScriptedRPC(federation["east"])
        federation["east"].add_application(APP, "RUNNING", user="alice", queue="root.default")
        intake = ViewIntake(runtime.view, clock)
        await federation.wait_for(SubClusterPoller(federation["east"], intake, clock, usual(PollSchedule)).poll())
        self.access.book.note(APP, ApplicationACLs(view="vera", modify="mo"))
        self.server = ClientService(
            ClientUseCases(
                calls=ClientCalls(
                    rpcs={SubClusterId("east"): self.rpc},
                    routing=backend.routing,
                    control=backend.control,
                    listing=backend.applications,
                    view=runtime.view,
                    clock=clock,
                    settings=usual(CallSettings),
                ),
                ids=ApplicationIds(federation.store),
                submissions=made.submissions,
                identity=identity,
                tokens=DelegationTokens(b"s" * 32, clock, InMemoryTokenStore(), usual(TokenLimits)),
                kept=KeptRPCAnswers(runtime.view, clock, staleness_s=1.0, is_shared=True),
                rights=ViewRights(backend.applications, identity),
                access=self.access,
                maximum_allocation=lambda _: ResourceVector(4096, 4),
                max_submission_bytes=1024 * 1024,
            )
        )
        return self

    async def ask(self, method, request, user):
        """The decoded answer, or the failure; what is kept is given as a connection does."""
        payload = request.SerializeToString()
        call = HadoopCall(1, b"client", 0, CallerContext("CLI"), APPLICATION_CLIENT.name, method, 1, payload)
        caller = Caller(user, user)
        told = self.server.answer_at_once(call, caller)
        if told is None:
            told = await self.federation.wait_for(self.server.answer(call, caller))
        return told if isinstance(told, Failure) else APPLICATION_CLIENT.methods[method].answer.FromString(told)


@pytest.fixture
async def server() -> GuardedServer:
    return await GuardedServer().open()


async def test_a_report_tells_the_secret_to_viewers_alone_also_when_it_was_kept(server: GuardedServer):
    request = m.GetApplicationReportRequestProto(application_id=application_message(APP))
    for users in (USERS, reversed(USERS)):
        for user in users:
            report = (await server.ask("getApplicationReport", request, user)).application_report
            assert (report.user, report.name != "") == ("alice", True)
            assert report.diagnostics == (SECRET if user in VIEWERS else "N/A"), user
            assert (report.rpc_port == -1) or user in VIEWERS


@pytest.mark.parametrize("scope", [m.ApplicationsRequestScopeProto.ALL, m.ApplicationsRequestScopeProto.VIEWABLE])
async def test_a_list_hides_or_leaves_out_by_its_scope(server: GuardedServer, scope):
    request = m.GetApplicationsRequestProto(scope=scope)
    for users in (USERS, reversed(USERS)):
        for user in users:
            listed = (await server.ask("getApplications", request, user)).applications
            if user in VIEWERS:
                assert [each.diagnostics for each in listed] == [SECRET], user
            else:
                hidden = ["N/A"] if scope == m.ApplicationsRequestScopeProto.ALL else []
                assert [each.diagnostics for each in listed] == hidden, user


INSIDE = {
    "getApplicationAttempts": m.GetApplicationAttemptsRequestProto(application_id=application_message(APP)),
    "getApplicationAttemptReport": m.GetApplicationAttemptReportRequestProto(application_attempt_id=ATTEMPT),
    "getContainers": m.GetContainersRequestProto(application_attempt_id=ATTEMPT),
    "getContainerReport": m.GetContainerReportRequestProto(container_id=CONTAINER),
}
CHANGES = {
    "forceKillApplication": m.KillApplicationRequestProto(application_id=application_message(APP)),
    "failApplicationAttempt": m.FailApplicationAttemptRequestProto(application_attempt_id=ATTEMPT),
    "moveApplicationAcrossQueues": m.MoveApplicationAcrossQueuesRequestProto(
        application_id=application_message(APP), target_queue="default"
    ),
    "updateApplicationPriority": m.UpdateApplicationPriorityRequestProto(
        applicationId=application_message(APP), applicationPriority=m.PriorityProto(priority=1)
    ),
    "updateApplicationTimeouts": m.UpdateApplicationTimeoutsRequestProto(applicationId=application_message(APP)),
    "signalToContainer": m.SignalContainerRequestProto(container_id=CONTAINER, command=1),
}


@pytest.mark.parametrize("method", INSIDE)
async def test_what_is_inside_is_refused_in_a_resource_managers_words(server: GuardedServer, method: str):
    what = "attempt appattempt" if method == "getApplicationAttemptReport" else "application application"
    for user in USERS:
        before = len(server.rpc.calls)
        told = await server.ask(method, INSIDE[method], user)
        is_refused = isinstance(told, Failure) and f"User {user} does not have privilege to see this {what}" in str(
            told
        )
        assert is_refused == (user not in VIEWERS), (user, told)
        assert (len(server.rpc.calls) == before) == is_refused


@pytest.mark.parametrize("method", CHANGES)
async def test_changes_are_for_those_alone_who_may(server: GuardedServer, method: str):
    for user in sorted(USERS, key=MODIFIERS.__contains__):
        before = len(server.rpc.calls)
        told = await server.ask(method, CHANGES[method], user)
        words = f"java.security.AccessControlException: User {user} cannot perform operation MODIFY_APP on {APP}"
        is_refused = isinstance(told, Failure) and told.message == words
        assert is_refused == (user not in MODIFIERS), (user, told)
        assert (len(server.rpc.calls) == before) or not is_refused


async def test_of_an_application_that_no_poll_told_of_its_homes_word_on_the_owner_counts(server: GuardedServer):
    other = ApplicationId(1_800_000_000_000, 8)
    server.federation["east"].add_application(other, "RUNNING", user="alice", queue="root.default")
    request = m.GetApplicationAttemptsRequestProto(application_id=application_message(other))
    for user in ("alice", "eve"):
        told = await server.ask("getApplicationAttempts", request, user)
        assert (isinstance(told, Failure) and "privilege" in told.message) == (user == "eve")


async def test_a_report_that_is_kept_is_given_again_to_the_same_sight(server: GuardedServer):
    request = m.GetApplicationReportRequestProto(application_id=application_message(APP))
    await server.ask("getApplicationReport", request, "eve")
    calls = len(server.rpc.calls)
    await server.ask("getApplicationReport", request, "eve")
    assert len(server.rpc.calls) == calls


@pytest.mark.parametrize("bound", ["start_begin", "start_end", "finish_begin", "finish_end"])
async def test_a_range_of_times_leaves_out_what_is_hidden(server: GuardedServer, bound: str):
    """The home applies it to the times that it knows: to be listed, or not, would tell them."""
    request = m.GetApplicationsRequestProto()
    setattr(request, bound, 1)
    for user in USERS:
        listed = (await server.ask("getApplications", request, user)).applications
        assert [each.diagnostics for each in listed] == ([SECRET] if user in VIEWERS else []), user
