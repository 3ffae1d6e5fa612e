"""The client RPC server over a federation in memory: every method has its way, and what is away is not hidden."""

import asyncio
import gc
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from adapters.yarn.rm_rpc import DualResourceManager
from shim.calls.client import CallSettings, ClientCalls
from shim.concurrency.fair_turns import FairTurns
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.resources import ResourceVector
from shim.domain.roles import Role
from shim.domain.submissions import NOWHERE, HomeDecision, SubmissionRecord, SubmissionState
from shim.errors import ResourceRequestError
from shim.federation.core.federation_view import Part
from shim.federation.view_rights import ViewRights
from shim.identity.delegation_tokens import DelegationTokens, TokenLimits
from shim.identity.rates import CallRates, Rate, RateLimits
from shim.identity.service import Caller, IdentityRules, IdentityService, ProxyRule
from shim.ports.resource_manager_rpc import RPCAnswer
from shim.protocol.hrpc import (
    AuthMethod,
    CallerContext,
    ContextReceived,
    Failure,
    HadoopCall,
    JavaClass,
    RPCErrorCode,
)
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import (
    ApplicationAttemptIdProto,
    ApplicationReportProto,
    ApplicationsRequestScopeProto,
    ApplicationSubmissionContextProto,
    CancelDelegationTokenRequestProto,
    ContainerIdProto,
    GetApplicationReportRequestProto,
    GetApplicationReportResponseProto,
    GetApplicationsRequestProto,
    GetApplicationsResponseProto,
    GetClusterMetricsRequestProto,
    GetClusterMetricsResponseProto,
    GetClusterNodesResponseProto,
    GetDelegationTokenRequestProto,
    GetDelegationTokenResponseProto,
    GetNewApplicationResponseProto,
    GetQueueUserAclsInfoRequestProto,
    GetQueueUserAclsInfoResponseProto,
    KillApplicationRequestProto,
    KillApplicationResponseProto,
    MoveApplicationAcrossQueuesRequestProto,
    QueueACLProto,
    QueueUserACLInfoProto,
    RenewDelegationTokenRequestProto,
    RenewDelegationTokenResponseProto,
    SignalContainerRequestProto,
    SubmitApplicationRequestProto,
    YarnApplicationStateProto,
)
from shim.protocol.yarn import application_message, application_of
from shim.queues.admission import AdmissionQueue
from shim.queues.core.entitle import ShareSettings
from shim.server.rights import CLIENT
from shim.server.rpc import ClientService, ClientUseCases
from shim.server.rpc.asked import failure_of
from shim.server.rpc.client_methods import CLIENT_METHODS
from shim.server.rpc.kept_answers import KeptRPCAnswers
from shim.server.ways import RouteKey, Way
from shim.simulation.stores import InMemoryTokenStore
from shim.submission.application_ids import ApplicationIds
from tests.doubles.builders import a_submission
from tests.doubles.federation import ScriptedFederation
from tests.doubles.misbehaviours import IsNeverReached, IsPaused, RejectsSubmissions
from tests.doubles.reports import a_queue_report, a_report
from tests.doubles.resource_manager_rpc import ScriptedRPC
from tests.doubles.settings import usual
from tests.support.roles import ROLES, may, user_of, with_required

ALICE = Caller("alice", "alice")
APP = ApplicationId(1_800_000_000_000, 7)


class ClientServiceFixture:
    """A server with everything behind it."""

    def __init__(
        self,
        federation: ScriptedFederation,
        *,
        is_shared: bool = True,
        rules: IdentityRules | None = None,
        is_limited: bool = True,
    ) -> None:
        self.federation = federation
        self.rules = rules
        self.is_limited = is_limited
        self.is_shared = is_shared
        self.guarded = frozenset[SubClusterId]() if is_shared else frozenset(federation.managers)
        self.rpcs = {name: ScriptedRPC(manager) for name, manager in federation.managers.items()}

    async def open(self) -> "ClientServiceFixture":
        federation = self.federation
        both = {name: DualResourceManager(manager, self.rpcs[name]) for name, manager in federation.managers.items()}
        federation.managers = both  # type: ignore[assignment]  # the Heddle calls both servers of each
        self.heddle = await federation.start()
        heddle, clock = self.heddle, federation.clock
        calls = ClientCalls(
            rpcs=self.rpcs,
            routing=heddle.routing,
            control=heddle.control,
            listing=heddle.listing,
            view=heddle.view,
            clock=clock,
            settings=usual(CallSettings, guarded=self.guarded),
            turns=FairTurns(lambda work: asyncio.get_running_loop().call_soon(work), each_pass=1),
        )
        rules = usual(
            IdentityRules, admins=("operator",), proxy_users={"oozie": ProxyRule(hosts=("*",), users=("alice",))}
        )
        identity = IdentityService(self.rules or rules, secret=b"s" * 32, clock=clock)
        self.rates = CallRates(RateLimits(user=Rate(1.0, 2), user_calls=8), clock)
        self.server = ClientService(
            ClientUseCases(
                calls=calls,
                ids=ApplicationIds(federation.store),
                submissions=heddle.submissions,
                identity=identity,
                tokens=DelegationTokens(b"s" * 32, clock, InMemoryTokenStore(), usual(TokenLimits)),
                kept=KeptRPCAnswers(heddle.view, clock, staleness_s=1.0, is_shared=self.is_shared),
                rights=ViewRights(heddle.use_cases.backend.applications, identity),
                access=heddle.use_cases.backend.applications.access,
                maximum_allocation=lambda _: ResourceVector(4096, 4),
                max_submission_bytes=1024 * 1024,
                rates=self.rates if self.is_limited else None,
            )
        )
        return self

    async def ask(self, method, request, *, caller=ALICE):
        """The decoded answer, or the failure."""
        call = HadoopCall(
            1, b"client", 0, CallerContext("CLI"), APPLICATION_CLIENT.name, method, 1, request.SerializeToString()
        )
        told = await self.federation.wait_for(self.server.answer(call, caller))
        return told if isinstance(told, Failure) else APPLICATION_CLIENT.methods[method].answer.FromString(told)

    def asked(self, method):
        """How often sub-clusters were called so."""
        return sum(call.method == method for rpc in self.rpcs.values() for call in rpc.calls)

    def manager(self, name):
        return self.rpcs[SubClusterId(name)]._manager


@pytest.fixture
async def server() -> ClientServiceFixture:
    return await ClientServiceFixture(ScriptedFederation()).open()


@pytest.fixture
async def guarded() -> ClientServiceFixture:
    """One where what a list shows depends on who asks."""
    return await ClientServiceFixture(ScriptedFederation(), is_shared=False).open()


def report_of(application_id):
    payload = GetApplicationReportRequestProto(application_id=application_message(application_id)).SerializeToString()
    return HadoopCall(
        1, b"client", 0, CallerContext("CLI"), APPLICATION_CLIENT.name, "getApplicationReport", 1, payload
    )


async def test_who_calls_too_fast_is_told_to_come_again_and_nobody_else_is(server):
    call = report_of(APP)
    for _ in range(2):
        assert server.server.answer_at_once(call, ALICE) is None
    for _ in range(3):
        refused = server.server.answer_at_once(call, ALICE)
        assert isinstance(refused, Failure)
        assert refused.java_class is JavaClass.RETRIABLE
    assert server.server.answer_at_once(call, Caller("bob", "bob")) is None
    await server.federation.clock.advance(1.0)
    assert server.server.answer_at_once(call, ALICE) is None


def submission(application_id=APP, name="pi"):
    context = ApplicationSubmissionContextProto(
        application_id=application_message(application_id), application_name=name, queue="default"
    )
    return SubmitApplicationRequestProto(application_submission_context=context)


def with_what_it_needs(message):
    """A message with its required fields set to something."""
    for field in message.DESCRIPTOR.fields:
        if field.is_required and field.message_type is not None:
            getattr(message, field.name).SetInParent()
            with_what_it_needs(getattr(message, field.name))
        elif field.is_required:
            setattr(message, field.name, field.default_value)
    return message


def report_request(application_id=APP):
    return GetApplicationReportRequestProto(application_id=application_message(application_id))


def a_context(effective="", real="", method=AuthMethod.SIMPLE, identity=""):
    return ContextReceived(effective, real, APPLICATION_CLIENT.name, method, identity, None)


def test_every_method_of_the_protocol_has_one_row():
    assert set(CLIENT_METHODS) == set(APPLICATION_CLIENT.methods)


@pytest.mark.parametrize(
    "method", [name for name, row in CLIENT_METHODS.items() if row.key not in (None, RouteKey.RESERVATION)]
)
def test_the_key_of_every_routed_method_is_found_in_its_request(method):
    request = APPLICATION_CLIENT.methods[method].request()

    assert CLIENT_METHODS[method].application(request) == ApplicationId(0, 0)


def test_every_own_method_has_code(server):
    assert {name for name, row in CLIENT_METHODS.items() if row.way is Way.OWN} == set(server.server._own)


async def test_new_ids_are_the_federations_own_and_grow(server):
    first = await server.ask("getNewApplication", GetApplicationsRequestProto())
    second = await server.ask("getNewApplication", GetApplicationsRequestProto())

    assert isinstance(first, GetNewApplicationResponseProto)
    assert application_of(first.application_id) < application_of(second.application_id)
    assert first.maximumCapability.memory == 4096
    assert {item.key for item in first.maximumCapability.resource_value_map} == {"memory-mb", "vcores"}


async def test_a_submission_is_in_one_home_byte_for_byte_and_as_its_user(server):
    await server.ask("submitApplication", submission())
    await server.ask("submitApplication", submission())

    (home,) = [name for name in ("east", "west") if APP in server.manager(name).applications]
    (sent,) = [call for call in server.rpcs[SubClusterId(home)].calls if call.method == "submitApplication"]
    assert sent.payload == submission().SerializeToString()
    assert sent.user == "alice"
    assert server.manager(home).applications[APP]["user"] == "alice"


async def test_the_same_id_with_another_content_is_refused(server):
    await server.ask("submitApplication", submission())
    await server.federation.wait_for(server.heddle.poll())

    refused = await server.ask("submitApplication", submission(name="another"))

    assert isinstance(refused, Failure)
    assert refused.java_class == JavaClass.YARN
    assert "another content" in refused.message


async def test_a_home_that_refuses_a_submission_is_quoted(server):
    for name in ("east", "west"):
        server.manager(name).behave(RejectsSubmissions())

    refused = await server.ask("submitApplication", submission())

    assert isinstance(refused, Failure)
    assert refused.java_class == JavaClass.YARN
    assert refused.message


def test_what_no_cluster_can_ever_start_is_an_invalid_resource_request():
    refused = failure_of(ResourceRequestError("Invalid resource request!"), CLIENT_METHODS["submitApplication"])
    assert refused == Failure(JavaClass.INVALID_RESOURCE_REQUEST, "Invalid resource request!")


@pytest.mark.parametrize("method", ["submitApplication", "getApplications", "getDelegationToken", "getClusterMetrics"])
def test_a_request_that_is_too_large_is_refused_before_it_is_decoded(server, method):
    undecodable = b"\xff" * (1024 * 1024 + 1)
    call = HadoopCall(1, b"client", 0, CallerContext("CLI"), APPLICATION_CLIENT.name, method, 1, undecodable)

    refused = server.server.answer_at_once(call, ALICE)

    assert isinstance(refused, Failure)
    assert "max_body_bytes" in refused.message


async def test_a_submission_that_is_too_large_for_the_store_is_refused(server):
    large = submission()
    large.application_submission_context.am_container_spec.tokens = b"x" * (1024 * 1024)
    refused = await server.ask("submitApplication", large)

    assert isinstance(refused, Failure)
    assert "max_body_bytes" in refused.message
    assert not server.heddle.view.applications.find(APP)


async def test_a_submission_without_an_id_is_refused(server):
    refused = await server.ask("submitApplication", SubmitApplicationRequestProto())

    assert isinstance(refused, Failure)
    assert "application id" in refused.message


async def test_a_submission_goes_to_the_other_cluster_when_the_first_refuses_connections(server):
    server.manager("east").behave(IsNeverReached())

    await server.ask("submitApplication", submission())

    assert APP in server.manager("west").applications


async def test_a_submission_to_a_frozen_home_is_acknowledged_and_reported_as_submitted(server):
    server.manager("east").behave(IsPaused())

    acknowledged = await server.ask("submitApplication", submission())
    report = await server.ask("getApplicationReport", report_request())

    assert not isinstance(acknowledged, Failure)
    assert isinstance(report, GetApplicationReportResponseProto)
    state = YarnApplicationStateProto.Name(report.application_report.yarn_application_state)
    assert state == "SUBMITTED"
    assert APP not in server.manager("west").applications


async def test_a_report_comes_from_the_home_itself(server):
    server.manager("west").add_application(APP, user="alice", name="elsewhere")

    report = await server.ask("getApplicationReport", report_request())

    assert report.application_report.diagnostics == "told by its home"
    assert report.application_report.name == "elsewhere"


async def test_an_unknown_application_is_refused_in_the_words_of_a_resource_manager(server):
    refused = await server.ask("getApplicationReport", report_request())

    assert refused == Failure(
        JavaClass.APPLICATION_NOT_FOUND,
        f"Application with id '{APP}' doesn't exist in RM. Please check that the job submission was successful.",
    )


async def test_a_list_has_the_applications_of_both_clusters(server):
    other = ApplicationId(APP.cluster_timestamp, 8)
    server.manager("east").add_application(APP)
    server.manager("west").add_application(other)

    listed = await server.ask("getApplications", GetApplicationsRequestProto())

    assert {application_of(report.applicationId) for report in listed.applications} == {APP, other}


async def test_a_list_has_each_application_as_its_home_tells_it(server):
    """One that was moved is still listed where it was; and a cluster is not believed about another one's."""
    server.manager("east").add_application(APP, "RUNNING", user="alice")
    await server.federation.wait_for(server.heddle.poll())
    server.manager("west").add_application(APP, "KILLED", user="mallory")

    listed = await server.ask("getApplications", GetApplicationsRequestProto())

    assert [(application_of(each.applicationId), each.user) for each in listed.applications] == [(APP, "alice")]


async def test_a_list_is_cut_at_its_limit_after_the_merge(server):
    for number in range(4):
        manager = server.manager("east" if number % 2 else "west")
        manager.add_application(ApplicationId(1, number))

    listed = await server.ask("getApplications", GetApplicationsRequestProto(limit=3))

    assert len(listed.applications) == 3


async def test_a_list_keeps_what_was_last_known_of_a_cluster_that_went_away(server):
    server.manager("west").add_application(APP, "RUNNING", user="alice")
    await server.federation.wait_for(server.heddle.poll())
    server.manager("west").behave(IsNeverReached())

    listed = await server.ask("getApplications", GetApplicationsRequestProto())
    of_others = await server.ask("getApplications", GetApplicationsRequestProto(users=["bob"]))

    assert [application_of(report.applicationId) for report in listed.applications] == [APP]
    assert not of_others.applications


async def test_a_report_is_the_last_known_one_when_its_home_went_away(server):
    server.manager("west").add_application(APP, "RUNNING", user="alice")
    await server.federation.wait_for(server.heddle.poll())
    server.manager("west").behave(IsNeverReached())

    report = await server.ask("getApplicationReport", report_request())

    assert report.application_report.user == "alice"
    assert report.application_report.yarn_application_state == YarnApplicationStateProto.RUNNING


async def test_a_kill_goes_to_the_home_and_what_is_read_afterwards_is_fetched(server):
    server.manager("west").add_application(APP)
    await server.federation.wait_for(server.heddle.poll())
    request = KillApplicationRequestProto(application_id=application_message(APP))

    first = await server.ask("forceKillApplication", request)
    second = await server.ask("forceKillApplication", request)

    assert isinstance(first, KillApplicationResponseProto)
    assert second.is_kill_completed
    assert server.manager("west").applications[APP]["state"] == "KILLED"
    assert server.heddle.view.applications.is_outdated(APP)


async def test_a_kill_whose_home_went_away_asks_the_client_to_try_again(server):
    server.manager("west").add_application(APP)
    await server.federation.wait_for(server.heddle.poll())
    server.manager("west").behave(IsNeverReached())

    refused = await server.ask(
        "forceKillApplication", KillApplicationRequestProto(application_id=application_message(APP))
    )

    assert isinstance(refused, Failure)
    assert refused.java_class == JavaClass.RETRIABLE


async def test_nodes_of_both_clusters_are_one_list(server):
    answer = await server.ask("getClusterNodes", GetApplicationsRequestProto())

    assert isinstance(answer, GetClusterNodesResponseProto)
    assert {report.nodeId.host for report in answer.nodeReports} == {"east-n1", "west-n1"}


async def test_counts_are_added(server):
    answer = await server.ask("getClusterMetrics", GetApplicationsRequestProto())

    assert answer.cluster_metrics.num_node_managers == 2


METRICS = HadoopCall(1, b"", 0, None, APPLICATION_CLIENT.name, "getClusterMetrics", 1, b"")
LIST = replace(METRICS, method="getApplications")
REPORT = replace(METRICS, method="getApplicationReport", payload_untrusted=report_request().SerializeToString())
BOB = Caller("bob", "bob")
NEW = HadoopCall(1, b"", 0, None, APPLICATION_CLIENT.name, "getNewApplication", 1, b"")


async def test_a_merged_answer_is_kept_and_given_at_once(server):
    assert server.server.answer_at_once(METRICS, ALICE) is None
    told = await server.federation.wait_for(server.server.answer(METRICS, ALICE))

    assert server.server.answer_at_once(METRICS, Caller("bob", "bob")) == told
    assert server.asked("getClusterMetrics") == 2


async def test_an_answer_is_not_kept_for_another_request(server):
    await server.federation.wait_for(server.server.answer(METRICS, ALICE))

    assert server.server.answer_at_once(replace(METRICS, payload_untrusted=b"\x7a\x00"), ALICE) is None
    assert server.server.answer_at_once(replace(METRICS, method="getClusterNodes"), ALICE) is None


async def test_who_asks_meanwhile_gets_the_same_answer(server):
    asking = [asyncio.create_task(server.server.answer(METRICS, ALICE)) for _ in range(8)]
    told = [await server.federation.wait_for(asyncio.wait_for(each, None)) for each in asking]

    assert len(set(told)) == 1
    assert server.asked("getClusterMetrics") == 2


async def test_a_kept_answer_ends_when_it_is_too_old(server):
    await server.federation.wait_for(server.server.answer(METRICS, ALICE))
    await server.federation.clock.advance(0.99)
    assert server.server.answer_at_once(METRICS, ALICE) is not None
    await server.federation.clock.advance(0.02)
    assert server.server.answer_at_once(METRICS, ALICE) is None


async def test_a_kept_answer_ends_with_a_change_made_through_heddle(server):
    await server.federation.wait_for(server.server.answer(METRICS, ALICE))
    server.heddle.view.mark_touched(SubClusterId("east"), Part.NODES, at_s=server.federation.clock.now_s())
    assert server.server.answer_at_once(METRICS, ALICE) is None


async def test_a_kept_answer_ends_when_a_cluster_goes_missing(server):
    await server.federation.wait_for(server.server.answer(METRICS, ALICE))
    server.heddle.view.note_failure(SubClusterId("east"), "is away", at_s=server.federation.clock.now_s())
    assert server.server.answer_at_once(METRICS, ALICE) is None


async def test_an_answer_that_lacks_a_cluster_unexpectedly_is_not_kept(server):
    server.manager("east").behave(IsNeverReached())
    await server.federation.wait_for(server.server.answer(METRICS, ALICE))
    assert server.server.answer_at_once(METRICS, ALICE) is None


async def test_what_a_missing_cluster_last_told_stays_in_a_count(server):
    def managers(answer):
        return GetClusterMetricsResponseProto.FromString(answer).cluster_metrics.num_node_managers

    whole = await server.federation.wait_for(server.server.answer(METRICS, ALICE))
    server.heddle.view.note_failure(SubClusterId("east"), "is away", at_s=server.federation.clock.now_s())
    assert managers(await server.federation.wait_for(server.server.answer(METRICS, BOB))) == managers(whole) > 1

    server.heddle.view.retire([SubClusterId("east")])
    assert managers(await server.federation.wait_for(server.server.answer(METRICS, ALICE))) < managers(whole)


def listed(answer):
    told = GetApplicationsResponseProto.FromString(answer)
    return {application_of(report.applicationId) for report in told.applications}


async def test_a_list_is_kept_for_who_asked_and_for_nobody_else_where_there_are_access_lists(guarded):
    guarded.manager("east").add_application(APP)
    told = await guarded.federation.wait_for(guarded.server.answer(LIST, ALICE))

    assert listed(told) == {APP}
    assert guarded.server.answer_at_once(LIST, ALICE) == told
    assert guarded.server.answer_at_once(LIST, BOB) is None
    assert guarded.server.answer_at_once(replace(LIST, payload_untrusted=b"\x12\x01x"), ALICE) is None


async def test_a_list_is_kept_for_every_user_where_there_are_none(server):
    server.manager("east").add_application(APP, user="carol")
    told = await server.federation.wait_for(server.server.answer(LIST, ALICE))

    assert listed(told) == {APP}
    assert server.server.answer_at_once(LIST, BOB) == told
    assert server.asked("getApplications") == 2


async def test_a_list_of_ones_own_is_for_nobody_else(server):
    own = GetApplicationsRequestProto(scope=ApplicationsRequestScopeProto.OWN)
    asked = replace(LIST, payload_untrusted=own.SerializeToString())
    await server.federation.wait_for(server.server.answer(asked, ALICE))

    assert server.server.answer_at_once(asked, BOB) is None
    assert server.server.answer_at_once(asked, ALICE) is not None


async def test_whoever_has_a_live_application_is_given_a_list_of_his_own(server):
    server.manager("east").add_application(APP, user="bob", unmanagedApplication=True)
    await server.federation.wait_for(server.heddle.poll())
    of_alice = await server.federation.wait_for(server.server.answer(LIST, ALICE))

    assert server.server.answer_at_once(LIST, BOB) is None
    assert tokens(await server.federation.wait_for(server.server.answer(LIST, BOB))) == [b"bob"]
    assert tokens(of_alice) == []
    assert server.server.answer_at_once(LIST, ALICE) == of_alice


def tokens(answer):
    """The passwords of the tokens that a list holds."""
    told = GetApplicationsResponseProto.FromString(answer)
    return [report.am_rm_token.password for report in told.applications if report.HasField("am_rm_token")]


async def test_a_list_that_holds_a_token_is_for_its_owner_alone_though_no_poll_has_told_of_it(server):
    server.manager("east").add_application(APP, user="bob", unmanagedApplication=True)  # after the last poll
    told = await asyncio.gather(*(server.server.answer(LIST, caller) for caller in (BOB, ALICE, BOB, ALICE)))

    assert [tokens(answer) for answer in told] == [[b"bob"], [], [b"bob"], []]
    assert tokens(server.server.answer_at_once(LIST, BOB)) == [b"bob"]
    assert tokens(server.server.answer_at_once(LIST, ALICE)) == []
    assert tokens(server.server.answer_at_once(LIST, Caller("carol", "carol"))) == []


@pytest.mark.parametrize("change", ["submitApplication", "forceKillApplication"])
async def test_a_kept_list_ends_with_a_change_made_through_heddle(server, change):
    server.manager("east").add_application(APP)
    await server.federation.wait_for(server.heddle.poll())
    await server.federation.wait_for(server.server.answer(LIST, ALICE))
    new = ApplicationId(APP.cluster_timestamp, 9)
    requests = {
        "submitApplication": submission(new),
        "forceKillApplication": KillApplicationRequestProto(application_id=application_message(APP)),
    }

    await server.ask(change, requests[change])

    assert server.server.answer_at_once(LIST, ALICE) is None
    again = await server.federation.wait_for(server.server.answer(LIST, ALICE))
    assert listed(again) == ({APP, new} if change == "submitApplication" else {APP})


async def test_a_kept_list_ends_when_it_is_too_old(server):
    await server.federation.wait_for(server.server.answer(LIST, ALICE))
    await server.federation.clock.advance(1.01)

    assert server.server.answer_at_once(LIST, ALICE) is None


async def test_others_than_the_owner_share_the_question_for_a_report(server):
    server.manager("west").add_application(APP, "RUNNING", user="alice", unmanagedApplication=True)
    await server.federation.wait_for(server.heddle.poll())
    callers = [Caller(name, name) for name in ("bob", "alice", "carol", "alice", "bob", "dave")]

    told = await asyncio.gather(*(server.server.answer(REPORT, caller) for caller in callers))

    calls = [call for rpc in server.rpcs.values() for call in rpc.calls if call.method == "getApplicationReport"]
    assert sorted(call.user for call in calls) == ["alice", "bob"]
    assert [b"YARN_AM_RM_TOKEN" in answer for answer in told] == [caller.user == "alice" for caller in callers]


async def test_who_asks_for_a_report_meanwhile_shares_the_question_and_nobody_else(guarded):
    server = guarded
    server.manager("west").add_application(APP, "RUNNING", user="alice")
    await server.federation.wait_for(server.heddle.poll())
    callers = [ALICE] * 8 + [BOB] * 8

    told = await asyncio.gather(*(server.server.answer(REPORT, caller) for caller in callers))

    assert len(set(told)) == 1
    calls = [call for rpc in server.rpcs.values() for call in rpc.calls if call.method == "getApplicationReport"]
    assert sorted(call.user for call in calls) == ["alice", "bob"]


async def test_a_report_of_what_is_to_start_is_asked_for_each_time(server):
    server.manager("west").add_application(APP, "ACCEPTED", user="alice")
    await server.federation.wait_for(server.heddle.poll())
    await server.ask("getApplicationReport", report_request())
    server.manager("west").move(APP, "RUNNING")

    report = await server.ask("getApplicationReport", report_request())

    assert report.application_report.yarn_application_state == YarnApplicationStateProto.RUNNING


async def test_the_report_of_what_runs_is_kept_for_a_second_for_its_owner_and_with_its_token(server):
    server.manager("west").add_application(APP, "RUNNING", user="alice", unmanagedApplication=True)
    await server.federation.wait_for(server.heddle.poll())

    told = await server.federation.wait_for(server.server.answer(REPORT, ALICE))

    assert b"YARN_AM_RM_TOKEN" in told
    assert server.server.answer_at_once(REPORT, ALICE) == told
    assert server.server.answer_at_once(REPORT, BOB) is None
    await server.federation.clock.advance(1.01)
    assert server.server.answer_at_once(REPORT, ALICE) is None


@pytest.mark.parametrize("state", ["SUBMITTED", "ACCEPTED"])
async def test_an_owner_who_waits_for_the_start_is_told_of_it_at_once(server, state):
    server.manager("west").add_application(APP, state, user="alice")
    await server.federation.wait_for(server.heddle.poll())

    await server.federation.wait_for(server.server.answer(REPORT, ALICE))

    assert server.server.answer_at_once(REPORT, ALICE) is None


async def test_the_kept_report_of_an_owner_ends_with_a_change_made_through_heddle(server):
    server.manager("west").add_application(APP, "RUNNING", user="alice")
    await server.federation.wait_for(server.heddle.poll())
    await server.federation.wait_for(server.server.answer(REPORT, ALICE))
    assert server.server.answer_at_once(REPORT, ALICE) is not None

    server.heddle.listing.mark_written(APP)

    assert server.server.answer_at_once(REPORT, ALICE) is None


async def test_a_report_of_what_lives_is_kept_for_a_second_for_others_than_its_owner(server):
    server.manager("west").add_application(APP, "RUNNING", user="alice", unmanagedApplication=True)
    await server.federation.wait_for(server.heddle.poll())

    told = await server.federation.wait_for(server.server.answer(REPORT, BOB))

    assert server.server.answer_at_once(REPORT, Caller("carol", "carol")) == told
    assert server.server.answer_at_once(REPORT, ALICE) is None
    assert b"YARN_AM_RM_TOKEN" in await server.federation.wait_for(server.server.answer(REPORT, ALICE))
    assert b"YARN_AM_RM_TOKEN" not in server.server.answer_at_once(REPORT, BOB)
    await server.federation.clock.advance(1.01)
    assert server.server.answer_at_once(REPORT, BOB) is None


async def test_a_kept_report_of_what_lives_ends_with_a_change_made_through_heddle(server):
    server.manager("west").add_application(APP, "RUNNING", user="alice")
    await server.federation.wait_for(server.heddle.poll())
    await server.federation.wait_for(server.server.answer(REPORT, BOB))
    assert server.server.answer_at_once(REPORT, BOB) is not None

    server.heddle.listing.mark_written(APP)

    assert server.server.answer_at_once(REPORT, BOB) is None


async def test_no_report_of_what_lives_is_kept_for_all_where_there_are_access_lists(guarded):
    guarded.manager("west").add_application(APP, "RUNNING", user="alice")
    await guarded.federation.wait_for(guarded.heddle.poll())
    await guarded.federation.wait_for(guarded.server.answer(REPORT, BOB))

    assert guarded.server.answer_at_once(REPORT, BOB) is None
    assert guarded.server.answer_at_once(REPORT, Caller("carol", "carol")) is None


async def test_a_question_that_began_before_a_change_is_not_shared_after_it(server):
    server.manager("west").add_application(APP, "RUNNING", user="alice")
    await server.federation.wait_for(server.heddle.poll())
    before = asyncio.create_task(server.server.answer(REPORT, ALICE))
    await asyncio.sleep(0)  # it is under way
    server.heddle.listing.mark_written(APP)

    after = asyncio.create_task(server.server.answer(REPORT, ALICE))
    await asyncio.gather(before, after)

    assert server.asked("getApplicationReport") == 2


async def test_the_report_of_an_end_is_kept_for_who_asked_where_there_are_access_lists(guarded):
    guarded.manager("west").add_application(APP, "FINISHED", user="alice")
    await guarded.federation.wait_for(guarded.heddle.poll())

    told = await guarded.federation.wait_for(guarded.server.answer(REPORT, ALICE))
    await guarded.federation.clock.advance(100)

    assert guarded.server.answer_at_once(REPORT, ALICE) == told
    assert guarded.server.answer_at_once(REPORT, BOB) is None


async def test_the_report_of_an_end_is_kept_for_all_who_are_not_its_owner(server):
    server.manager("west").add_application(APP, "FINISHED", user="alice")
    await server.federation.wait_for(server.heddle.poll())

    told = await server.federation.wait_for(server.server.answer(REPORT, BOB))

    assert server.server.answer_at_once(REPORT, Caller("carol", "carol")) == told


async def test_the_kept_report_of_an_end_ends_when_the_id_gets_another_home(server):
    server.manager("west").add_application(APP, "FAILED", user="alice")
    await server.federation.wait_for(server.server.answer(REPORT, ALICE))
    assert server.server.answer_at_once(REPORT, ALICE) is not None

    await server.ask("submitApplication", submission())

    assert server.server.answer_at_once(REPORT, ALICE) is None


@pytest.mark.parametrize("method", ["getQueueUserAcls", "getQueueInfo", "listReservations"])
def test_what_depends_on_the_caller_is_not_kept(method):
    assert CLIENT_METHODS[method].tells is None


async def test_an_id_that_is_there_is_given_at_once(server):
    assert server.server.answer_at_once(NEW, ALICE) is None
    slow = await server.federation.wait_for(server.server.answer(NEW, ALICE))
    ready = server.server.answer_at_once(NEW, ALICE)

    first, second = (GetNewApplicationResponseProto.FromString(told) for told in (slow, ready))
    assert second.application_id.id == first.application_id.id + 1
    assert second.maximumCapability == first.maximumCapability


async def test_a_request_that_is_not_empty_is_decoded_before_an_id_is_given(server):
    await server.federation.wait_for(server.server.answer(NEW, ALICE))

    assert server.server.answer_at_once(replace(NEW, payload_untrusted=b"\xff\xff"), ALICE) is None
    assert server.server.answer_at_once(replace(NEW, payload_untrusted=None), ALICE) is None


async def test_the_caller_context_travels_to_the_audit_of_the_home(server):
    server.manager("east").add_application(APP)
    await server.ask("getApplicationReport", report_request())

    assert server.rpcs[SubClusterId("east")].calls[-1].caller_context == "CLI"


async def test_a_method_that_no_cluster_knows_is_refused_as_the_clusters_refuse_it(server):
    refused = await server.ask("getResourceProfiles", GetApplicationsRequestProto())

    assert isinstance(refused, Failure)
    assert refused.java_class == JavaClass.NO_SUCH_METHOD


@pytest.mark.parametrize("method", ["getClusterMetrics", "getApplications"])
async def test_without_any_cluster_the_client_is_asked_to_try_again(server, method):
    for name in ("east", "west"):
        server.manager(name).behave(IsNeverReached())

    refused = await server.ask(method, GetApplicationsRequestProto())

    assert isinstance(refused, Failure)
    assert refused.java_class == JavaClass.RETRIABLE


@pytest.mark.parametrize(
    ("protocol", "method", "version", "code"),
    [
        ("org.example.Nothing", "getApplications", 1, RPCErrorCode.NO_SUCH_PROTOCOL),
        (APPLICATION_CLIENT.name, "getNothing", 1, RPCErrorCode.NO_SUCH_METHOD),
        (APPLICATION_CLIENT.name, "getApplications", 2, RPCErrorCode.RPC_VERSION_MISMATCH),
    ],
)
async def test_a_call_of_something_else_is_refused_at_once(server, protocol, method, version, code):
    refused = server.server.answer_at_once(HadoopCall(1, b"", 0, None, protocol, method, version, b""), ALICE)

    assert isinstance(refused, Failure)
    assert refused.code is code


async def test_a_request_that_cannot_be_decoded_is_refused(server):
    call = HadoopCall(1, b"", 0, None, APPLICATION_CLIENT.name, "getApplicationReport", 1, b"\xff\xff")

    refused = await server.server.answer(call, ALICE)

    assert isinstance(refused, Failure)
    assert refused.java_class == JavaClass.INVALID_PROTOCOL_BUFFER


async def test_a_name_is_believed_and_a_proxy_user_needs_leave(server):
    admitted = server.server.admit(a_context("alice"), "10.0.0.1")
    proxied = server.server.admit(a_context("alice", "oozie"), "10.0.0.1")
    refused = server.server.admit(a_context("alice", "mallory"), "10.0.0.1")

    assert isinstance(admitted, Caller)
    assert admitted.user == "alice"
    assert isinstance(proxied, Caller)
    assert (proxied.user, proxied.real_user) == ("alice", "oozie")
    assert refused == Failure(
        JavaClass.AUTHORIZATION, "User: mallory is not allowed to impersonate alice", RPCErrorCode.UNAUTHORIZED
    )


@pytest.mark.parametrize(("user", "passes"), [("alice", True), ("operator", True), ("mallory", False)])
async def test_containers_are_signalled_by_owners_and_operators_alone(server, user, passes):
    server.manager("west").add_application(APP, user="alice", name="hers")
    await server.federation.wait_for(server.heddle.poll())
    attempt = ApplicationAttemptIdProto(application_id=application_message(APP), attemptId=1)
    container = ContainerIdProto(app_attempt_id=attempt, id=2)

    signal = SignalContainerRequestProto(container_id=container, command=1)
    told = await server.ask("signalToContainer", signal, caller=Caller(user, user))

    (home,) = [rpc for rpc in server.rpcs.values() if rpc.subcluster == "west"]
    assert [call.method for call in home.calls].count("signalToContainer") == int(passes)
    assert isinstance(told, Failure)
    assert (told.java_class == JavaClass.ACCESS_CONTROL) is not passes


@pytest.mark.parametrize(("user", "passes"), [("alice", True), ("operator", True), ("mallory", False)])
async def test_a_container_of_an_application_that_is_new_here_is_its_owners(server, user, passes):
    server.manager("west").add_application(APP, user="alice", name="hers")  # no poll has told of it yet
    attempt = ApplicationAttemptIdProto(application_id=application_message(APP), attemptId=1)
    signal = SignalContainerRequestProto(container_id=ContainerIdProto(app_attempt_id=attempt, id=2), command=1)

    told = await server.ask("signalToContainer", signal, caller=Caller(user, user))

    assert server.asked("signalToContainer") == int(passes)
    assert isinstance(told, Failure)
    assert (told.java_class == JavaClass.ACCESS_CONTROL) is not passes


async def test_a_container_of_an_unknown_application_is_nobodys(server):
    attempt = ApplicationAttemptIdProto(application_id=application_message(APP), attemptId=1)
    signal = SignalContainerRequestProto(container_id=ContainerIdProto(app_attempt_id=attempt, id=2), command=1)

    told = await server.ask("signalToContainer", signal)

    assert isinstance(told, Failure)
    assert told.java_class == JavaClass.APPLICATION_NOT_FOUND
    assert server.asked("signalToContainer") == 0


async def test_a_callers_context_forges_no_record_of_an_audit_log(server):
    context = CallerContext("x\r\nUSER=root\tOPERATION=Kill\u2028RESULT=SUCCESS")
    payload = APPLICATION_CLIENT.methods["getClusterMetrics"].request().SerializeToString()
    call = HadoopCall(1, b"client", 0, context, APPLICATION_CLIENT.name, "getClusterMetrics", 1, payload)

    await server.federation.wait_for(server.server.answer(call, ALICE))

    told = [
        call.caller_context for rpc in server.rpcs.values() for call in rpc.calls if call.method == "getClusterMetrics"
    ]
    assert set(told) == {"x  USER=root OPERATION=Kill RESULT=SUCCESS"}


def with_numbers(message, number):
    """A message whose numbers are all as near to one as their width lets them be, in every message inside."""
    for field in message.DESCRIPTOR.fields:
        if field.is_repeated:
            continue
        if field.message_type is not None and field.message_type.name.endswith("IdProto"):
            with_numbers(getattr(message, field.name), number)
            getattr(message, field.name).SetInParent()
        elif field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_INT64):
            bits = 31 if field.cpp_type == field.CPPTYPE_INT32 else 63
            setattr(message, field.name, max(-(2**bits), min(2**bits - 1, number)))
    return message


@pytest.mark.parametrize("number", [-(2**63), -1, 0, 2**40, 2**63 - 1])
@pytest.mark.parametrize("method", [name for name, row in CLIENT_METHODS.items() if row.key is not None])
async def test_absurd_ids_are_answered_by_a_failure_of_java(server, method, number):
    request = with_numbers(with_what_it_needs(APPLICATION_CLIENT.methods[method].request()), number)

    told = await server.ask(method, request)

    assert isinstance(told, Failure)
    assert "internal" not in told.message.lower()


@pytest.mark.parametrize("method", [name for name, row in CLIENT_METHODS.items() if row.writes])
async def test_s1_no_row_is_changed_by_nobody(server, method):
    nobody = server.server.admit(a_context(), "10.0.0.1")
    assert isinstance(nobody, Caller)
    request = with_what_it_needs(APPLICATION_CLIENT.methods[method].request())

    refused = await server.ask(method, request, caller=nobody)

    assert isinstance(refused, Failure)
    assert refused.java_class == JavaClass.ACCESS_CONTROL
    assert not any(rpc.calls for rpc in server.rpcs.values())


@pytest.mark.parametrize(("user", "may"), [("mallory", False), ("alice", True), ("operator", True)])
async def test_s13_a_move_to_a_queue_with_an_access_list_is_for_those_on_it(server, user, may):
    restricted(server)
    await server.ask("submitApplication", submission())
    request = MoveApplicationAcrossQueuesRequestProto(application_id=application_message(APP), target_queue="prod")

    told = await server.ask("moveApplicationAcrossQueues", request, caller=Caller(user, user))

    assert server.asked("moveApplicationAcrossQueues") == int(may)
    assert (isinstance(told, Failure) and told.java_class == JavaClass.ACCESS_CONTROL) is not may


@pytest.mark.parametrize("user", ["alice", "operator"])
@pytest.mark.parametrize(
    ("version", "queue", "name"),
    [
        ("3.4.2", "root.prod", "root.production"),
        ("3.4.2", "prod", "root.production"),
        ("3.4.2", "root.default", "root.default"),
        ("3.4.2", "nosuch", "nosuch"),
        ("3.2.4", "root.prod", "production"),
        ("3.2.4", "root.default", "default"),
        ("3.2.4", "root.nosuch", "root.nosuch"),
    ],
)
async def test_a_home_is_told_its_own_name_of_the_queue_of_a_move(server, user, version, queue, name):
    homes, now_s = server.heddle.view.subclusters, server.federation.clock.now_s()
    with_room(server, FederatedQueue("root.prod", submit=("alice",), names=dict.fromkeys(homes, "root.production")))
    queues = tuple(a_queue_report(path) for path in ("root.default", "root.production"))
    for home in homes:
        began_ms = server.manager(home).started_on_ms
        told = a_report(home, 9, polled_at_s=now_s, started_on_ms=began_ms, version=version, queues=queues)
        server.heddle.view.apply(told)
    await server.ask("submitApplication", submission())
    request = MoveApplicationAcrossQueuesRequestProto(application_id=application_message(APP), target_queue=queue)

    await server.ask("moveApplicationAcrossQueues", request, caller=Caller(user, user))

    (call,) = [
        each for rpc in server.rpcs.values() for each in rpc.calls if each.method == "moveApplicationAcrossQueues"
    ]
    assert call.user == user
    request.target_queue = name
    assert call.payload == request.SerializeToString()


@pytest.mark.parametrize(
    ("method", "field", "version", "queue", "name"),
    [
        ("getQueueInfo", "queueName", "3.4.2", "root.prod", "root.a.batch"),
        ("getQueueInfo", "queueName", "3.4.2", "root.default", "root.default"),
        ("getQueueInfo", "queueName", "3.2.4", "prod", "batch"),
        ("getQueueInfo", "queueName", "3.2.4", "root.a", "a"),
        ("getQueueInfo", "queueName", "3.2.4", "root.nosuch", "root.nosuch"),
        ("listReservations", "queue", "3.4.2", "root.prod", "batch"),
        ("listReservations", "queue", "3.2.4", "default", "default"),
        ("submitReservation", "queue", "3.4.2", "root.prod", "batch"),
        ("submitReservation", "queue", "3.4.2", "root.default", "default"),
    ],
)
async def test_every_question_about_a_queue_names_it_as_its_cluster_does(server, method, field, version, queue, name):
    homes = server.heddle.view.subclusters
    with_room(server, FederatedQueue("root.prod", names=dict.fromkeys(homes, "root.a.batch")))
    paths = {"root.default": True, "root.a": False, "root.a.batch": True}
    queues = tuple(a_queue_report(path, is_leaf=is_leaf) for path, is_leaf in paths.items())
    for home in homes:
        server.heddle.view.apply(
            a_report(home, 9, polled_at_s=server.federation.clock.now_s(), version=version, queues=queues)
        )
    request: Any = with_what_it_needs(APPLICATION_CLIENT.methods[method].request())
    setattr(request, field, queue)

    await server.ask(method, request)

    calls = [each for rpc in server.rpcs.values() for each in rpc.calls if each.method == method]
    assert len(calls) == (1 if method == "submitReservation" else len(homes))
    setattr(request, field, name)
    assert {each.payload for each in calls} == {request.SerializeToString()}


def with_room(server, queue):
    """Have a queue of Heddle's own; what waits there."""
    policy = SharePolicy((queue,))
    room = server.heddle.control._room = AdmissionQueue(
        policy=lambda: policy,
        view=server.heddle.view,
        admissions={},
        store=server.federation.store,
        clock=server.federation.clock,
        groups_of=lambda _: frozenset(),
        settings=usual(ShareSettings),
    )
    return room


def restricted(server):
    """Have a queue that alice alone may submit to."""
    with_room(server, FederatedQueue("root.prod", submit=("alice",)))
    for name in ("east", "west"):
        server.manager(name).reservations = {"reservation_5_0001": "prod", "reservation_5_0002": "dev"}


@pytest.mark.parametrize(("user", "may"), [("mallory", False), ("alice", True), ("operator", True)])
@pytest.mark.parametrize("method", ["submitReservation", "updateReservation", "deleteReservation"])
async def test_s13_a_reservation_in_a_queue_with_an_access_list_is_for_those_on_it(server, method, user, may):
    restricted(server)
    request: Any = with_what_it_needs(APPLICATION_CLIENT.methods[method].request())
    request.reservation_id.cluster_timestamp, request.reservation_id.id = 5, 1
    if method == "submitReservation":
        request.queue, request.reservation_id.id = "prod", 2

    told = await server.ask(method, request, caller=Caller(user, user))

    assert (isinstance(told, Failure) and told.java_class == JavaClass.ACCESS_CONTROL) is not may
    assert server.asked(method) == int(may)


async def test_a_new_reservation_is_of_the_first_that_is_set_up_for_them(server):
    east, west = server.manager("east"), server.manager("west")
    west.started_on_ms += 5
    request = APPLICATION_CLIENT.methods["getNewReservation"].request()

    async def issued_by() -> Any:
        made = await server.ask("getNewReservation", request)
        return made if isinstance(made, Failure) else made.reservation_id.cluster_timestamp

    assert await issued_by() == east.started_on_ms
    east.makes_reservations = False
    assert await issued_by() == west.started_on_ms
    east.behave(IsNeverReached())
    assert await issued_by() == west.started_on_ms
    west.makes_reservations = False
    refused = await issued_by()
    assert isinstance(refused, Failure)
    assert "Reservation is not enabled" in refused.message
    west.behave(IsNeverReached())
    assert isinstance(await issued_by(), Failure)


LONG = "root." + "a" * 1024 * 1024
TOO_LONG = {
    "queue": ApplicationSubmissionContextProto(queue=LONG),
    "queue of many parts": ApplicationSubmissionContextProto(queue=".".join("a" * 500)),
    "blank": ApplicationSubmissionContextProto(queue=" prod"),
    "name": ApplicationSubmissionContextProto(application_name="x" * 10_000),
    "type": ApplicationSubmissionContextProto(applicationType="x" * 10_000),
    "tag": ApplicationSubmissionContextProto(applicationTags=["x" * 10_000]),
    "tags": ApplicationSubmissionContextProto(applicationTags=["x"] * 1000),
    "deadline": ApplicationSubmissionContextProto(applicationTags=["heddle-deadline=soon"]),
    "label": ApplicationSubmissionContextProto(node_label_expression="x" * 10_000),
}


@pytest.mark.parametrize("context", TOO_LONG.values(), ids=TOO_LONG)
async def test_a_submission_that_no_resource_manager_should_be_given_goes_nowhere(server, context):
    whole = ApplicationSubmissionContextProto(application_id=application_message(APP))
    whole.MergeFrom(context)
    refused = await server.ask("submitApplication", SubmitApplicationRequestProto(application_submission_context=whole))
    assert isinstance(refused, Failure)
    assert await server.federation.store.find(APP) is None
    assert not server.asked("submitApplication")


@pytest.mark.parametrize("method", [name for name, row in CLIENT_METHODS.items() if row.way is not Way.OWN])
async def test_a_text_without_end_goes_nowhere_by_any_method(server, method):
    request = with_what_it_needs(APPLICATION_CLIENT.methods[method].request())
    texts = [field for field in request.DESCRIPTOR.fields if field.type == field.TYPE_STRING]
    for field in texts:
        long = type(request)()
        long.CopyFrom(request)
        if field.is_repeated:
            getattr(long, field.name).append(LONG)
        else:
            setattr(long, field.name, LONG)
        assert isinstance(await server.ask(method, long), Failure)
    assert not server.asked(method)


async def test_fields_that_stand_twice_are_sent_once(server):
    twice = MoveApplicationAcrossQueuesRequestProto(application_id=application_message(APP), target_queue="dev")
    await server.ask("submitApplication", submission())
    payload = (
        twice.SerializeToString()
        + MoveApplicationAcrossQueuesRequestProto(
            application_id=application_message(APP), target_queue="prod"
        ).SerializeToString()
    )
    call = HadoopCall(
        1, b"client", 0, CallerContext("CLI"), APPLICATION_CLIENT.name, "moveApplicationAcrossQueues", 1, payload
    )
    await server.federation.wait_for(server.server.answer(call, ALICE))
    (sent,) = [
        call.payload
        for rpc in server.rpcs.values()
        for call in rpc.calls
        if call.method == "moveApplicationAcrossQueues"
    ]
    plain = MoveApplicationAcrossQueuesRequestProto(application_id=application_message(APP), target_queue="prod")
    assert sent == plain.SerializeToString()


async def test_a_question_is_passed_on_as_it_was_read(server):
    """The rights of who asks are checked for what was read here, and nothing else goes to a ResourceManager."""
    await server.ask("submitApplication", submission())
    asked = GetApplicationReportRequestProto(application_id=application_message(APP)).SerializeToString()
    other = ApplicationId(APP.cluster_timestamp, APP.sequence + 1)
    twice = GetApplicationReportRequestProto(application_id=application_message(other)).SerializeToString() + asked
    call = HadoopCall(1, b"client", 0, None, APPLICATION_CLIENT.name, "getApplicationReport", 1, twice)
    await server.federation.wait_for(server.server.answer(call, ALICE))
    assert {each.payload for rpc in server.rpcs.values() for each in rpc.calls if each.method == call.method} == {asked}


async def test_a_delegation_token_speaks_for_its_owner_until_it_is_cancelled(server):
    issued = await server.ask("getDelegationToken", GetDelegationTokenRequestProto(renewer="alice"))
    assert isinstance(issued, GetDelegationTokenResponseProto)
    token = issued.token
    (offer, _) = server.server.offers()
    assert offer.start is not None

    renewed = await server.ask("renewDelegationToken", RenewDelegationTokenRequestProto(token=token))
    by_another = await server.ask(
        "renewDelegationToken", RenewDelegationTokenRequestProto(token=token), caller=Caller("bob", "bob")
    )
    assert server.server.logins._password_of(token.identifier) == token.password
    await server.ask("cancelDelegationToken", CancelDelegationTokenRequestProto(token=token))
    after = await server.ask("renewDelegationToken", RenewDelegationTokenRequestProto(token=token))

    assert isinstance(renewed, RenewDelegationTokenResponseProto)
    assert renewed.newExpiryTime > server.federation.clock.now_s() * 1000
    for refused, java_class in ((by_another, JavaClass.ACCESS_CONTROL), (after, JavaClass.INVALID_TOKEN)):
        assert isinstance(refused, Failure)
        assert refused.java_class == java_class


async def test_reports_and_lists_tell_what_an_application_uses_in_all_clusters(server):
    await server.ask("submitApplication", submission())
    for name in ("east", "west"):
        told = {"applicationTags": "heddle-span", "applicationType": "HEDDLE"} if name == "west" else {}
        server.manager(name).add_application(APP, memorySeconds=100, vcoreSeconds=3, runningContainers=2, **told)
    server.manager("east").add_application(ApplicationId(1_800_000_000_000, 8))
    await server.federation.clock.advance(1.0)
    await server.federation.wait_for(server.heddle.poll())

    report = (await server.ask("getApplicationReport", report_request())).application_report
    assert (report.app_resource_Usage.memory_seconds, report.app_resource_Usage.num_used_containers) == (200, 4)
    for request in (GetApplicationsRequestProto(), GetApplicationsRequestProto(limit=9)):
        listed = (await server.ask("getApplications", request)).applications
        assert {each.applicationId.id: each.app_resource_Usage.memory_seconds for each in listed} == {7: 200, 8: 1024}

    for name, memory in (("east", 150), ("west", 120)):
        server.manager(name).move(APP, "FINISHED")
        server.manager(name).applications[APP]["memorySeconds"] = memory
        await server.federation.clock.advance(1.5)
        await server.federation.wait_for(server.heddle.poll())
        expected = {"east": 250, "west": 270}[name]  # of the end, too, nothing is kept that would be wrong later
        report = (await server.ask("getApplicationReport", report_request())).application_report
        assert report.app_resource_Usage.memory_seconds == expected


BOB_TOO = Caller("bob", "bob")


async def test_what_is_guarded_and_away_is_shown_to_its_owner_alone(guarded):
    guarded.manager("east").add_application(APP, user="alice")
    await guarded.federation.wait_for(guarded.heddle.poll())
    guarded.manager("east").behave(IsNeverReached())
    await guarded.federation.clock.advance(2.0)

    mine = await guarded.ask("getApplicationReport", report_request())
    of_another = await guarded.ask("getApplicationReport", report_request(), caller=BOB_TOO)
    lists = [
        (await guarded.ask("getApplications", GetApplicationsRequestProto(), caller=caller)).applications
        for caller in (ALICE, BOB_TOO)
    ]

    assert mine.application_report.user == "alice"
    assert isinstance(of_another, Failure)
    assert [len(listed) for listed in lists] == [1, 0]


class TellsRights(ScriptedRPC):
    """Tells each user the queue that is theirs, and that it is open to all."""

    async def call(self, call, *, timeout_s=None):
        if call.method != "getQueueUserAcls":
            return await super().call(call, timeout_s=timeout_s)
        await super().call(replace(call, method="getClusterMetrics"), timeout_s=timeout_s)
        acls = [QueueACLProto.QACL_SUBMIT_APPLICATIONS, QueueACLProto.QACL_ADMINISTER_QUEUE]
        right = QueueUserACLInfoProto(queueName=f"root.{self.subcluster}.{call.user}", userAcls=acls)
        return RPCAnswer(GetQueueUserAclsInfoResponseProto(queueUserAcls=[right]).SerializeToString())


async def test_what_a_cluster_that_is_away_last_told_one_user_is_not_told_another():
    made = ClientServiceFixture(ScriptedFederation())
    made.rpcs = {name: TellsRights(manager) for name, manager in made.federation.managers.items()}
    server = await made.open()
    request = GetQueueUserAclsInfoRequestProto()
    await server.ask("getQueueUserAcls", request)
    server.manager("east").behave(IsNeverReached())

    told = {}
    for caller in (ALICE, BOB_TOO):
        rights = (await server.ask("getQueueUserAcls", request, caller=caller)).queueUserAcls
        told[caller.user] = {each.queueName for each in rights}

    assert told == {"alice": {"root.east.alice", "root.west.alice"}, "bob": {"root.west.bob"}}


@pytest.mark.parametrize("user", ["alice", "mallory", "operator"])
async def test_s13_who_may_not_submit_is_not_told_that_he_may(user):
    made = ClientServiceFixture(ScriptedFederation())
    made.rpcs = {name: TellsRights(manager) for name, manager in made.federation.managers.items()}
    server = await made.open()
    with_room(server, FederatedQueue("root.prod", submit=("alice",), names={SubClusterId("east"): f"root.east.{user}"}))

    told = await server.ask("getQueueUserAcls", GetQueueUserAclsInfoRequestProto(), caller=Caller(user, user))

    may_submit = {
        each.queueName: QueueACLProto.QACL_SUBMIT_APPLICATIONS in each.userAcls for each in told.queueUserAcls
    }
    assert may_submit == {f"root.east.{user}": user != "mallory", f"root.west.{user}": True}
    assert all(QueueACLProto.QACL_ADMINISTER_QUEUE in each.userAcls for each in told.queueUserAcls)


@pytest.mark.parametrize("method", CLIENT_METHODS)
async def test_each_role_may_what_its_right_says_and_nothing_else(method: str) -> None:
    server = await ClientServiceFixture(ScriptedFederation(), rules=ROLES).open()
    for role in Role:
        user, asked = user_of(role), server.asked(method)
        told = await server.ask(
            method, with_required(APPLICATION_CLIENT.methods[method].request()), caller=Caller(user, user)
        )
        assert is_refused(told) is not may(role, CLIENT[method]), role
        assert may(role, CLIENT[method]) or server.asked(method) == asked, "nobody behind was asked"


async def test_what_was_kept_for_a_viewer_is_not_given_to_who_is_none() -> None:
    server = await ClientServiceFixture(ScriptedFederation(), rules=ROLES).open()
    call = HadoopCall(1, b"", 0, None, APPLICATION_CLIENT.name, "getClusterMetrics", 1, b"")
    await server.federation.wait_for(server.server.answer(call, Caller("a-viewer", "a-viewer")))
    assert isinstance(server.server.answer_at_once(call, Caller("a-viewer", "a-viewer")), bytes)
    assert is_refused(server.server.answer_at_once(call, Caller("a-nobody", "a-nobody")))


def is_refused(told: object) -> bool:
    """Whether an answer is the refusal of a role."""
    if not isinstance(told, Failure) or "takes the role" not in told.message:
        return False
    assert told.java_class is JavaClass.ACCESS_CONTROL
    return True


def test_every_method_has_a_right() -> None:
    assert set(CLIENT) == set(CLIENT_METHODS)


async def test_too_many_calls_of_a_user_at_one_time_are_worth_a_retry(server):
    request = GetClusterMetricsRequestProto()
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(server.rates.under_way(ALICE))
        refused = await server.ask("getClusterMetrics", request)
        assert (refused.java_class, refused.message) == (
            JavaClass.RETRIABLE,
            "8 calls of the user alice are under way already",
        )
        assert not isinstance(await server.ask("getClusterMetrics", request, caller=BOB), Failure)
    assert not isinstance(await server.ask("getClusterMetrics", request), Failure)


async def test_a_refused_submission_is_freed_without_the_collector(server):
    """The collector looks seldom, and submissions are large."""
    request = submission()
    request.application_submission_context.ClearField("application_id")
    payload = request.SerializeToString()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        call = HadoopCall(1, b"client", 0, None, APPLICATION_CLIENT.name, "submitApplication", 1, payload)
        answer = await server.federation.wait_for(server.server.answer(call, ALICE))
        assert isinstance(answer, Failure)
        del answer
        gc.collect()
        assert not [each for each in gc.garbage if isinstance(each, BaseException | bytes)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


async def test_what_waits_in_heddle_has_no_attempt_and_nobody_is_told_to_try_again(server):
    """A client that is told to repeat the call does so for minutes: `yarn logs` of what has not begun."""
    room = with_room(server, FederatedQueue("root.default", max_running=1))
    asked_for = a_submission(77, queue="default")
    waits = asked_for.application_id
    decision = HomeDecision(None, "its queue is full", ())
    room.note_waiting(SubmissionRecord(asked_for, b"", NOWHERE, 0, SubmissionState.WAITING, 1, decision))

    def request(method: str) -> Any:
        made: Any = with_what_it_needs(APPLICATION_CLIENT.methods[method].request())
        field = {"getContainerReport": "container_id.app_attempt_id", "getApplicationAttempts": ""}.get(
            method, "application_attempt_id"
        )
        at = made
        for name in filter(None, field.split(".")):
            at = getattr(at, name)
        at.application_id.CopyFrom(application_message(waits))
        return made

    assert not (await server.ask("getApplicationAttempts", request("getApplicationAttempts"))).application_attempts
    for method in ("getApplicationAttemptReport", "getContainers", "getContainerReport"):
        refused = await server.ask(method, request(method))
        assert isinstance(refused, Failure), method
        assert refused.java_class == JavaClass.APPLICATION_ATTEMPT_NOT_FOUND, method


class ListsMuch(ScriptedRPC):
    """Lists applications by the thousand."""

    listed = b""

    async def call(self, call, *, timeout_s=None):
        is_list = call.method == "getApplications"
        return RPCAnswer(self.listed) if is_list else await super().call(call, timeout_s=timeout_s)


@pytest.mark.parametrize("count", [10, 3000], ids=["put together on the loop", "put together beside it"])
async def test_one_list_is_made_long_before_the_hundreds_of_somebody_else(count):
    """Each of the flood has a field of its own, so that none is the answer to another."""
    report = ApplicationReportProto(applicationId=application_message(APP), name="n" * 500)
    ListsMuch.listed = GetApplicationsResponseProto(applications=[report] * count).SerializeToString()
    server = ClientServiceFixture(ScriptedFederation(), is_limited=False)
    server.rpcs = {name: ListsMuch(manager) for name, manager in server.federation.managers.items()}
    await server.open()
    told = []

    async def list_(user, number):
        payload = GetApplicationsRequestProto().SerializeToString() + b"\xfa\x7f\x02%02d" % number
        call = HadoopCall(1, b"client", 0, CallerContext("CLI"), APPLICATION_CLIENT.name, "getApplications", 1, payload)
        assert isinstance(await server.server.answer(call, Caller(user, user)), bytes)
        told.append(user)

    flood = [asyncio.create_task(list_("mallory", number)) for number in range(60)]
    await asyncio.sleep(0)
    await asyncio.gather(list_("alice", 99), *flood)
    assert told.index("alice") <= 3
