"""The admin RPC server over a federation in memory: changes reach all, and half a change is never hidden."""

import pytest

from shim.calls.admin import AdminCalls
from shim.domain.ids import SubClusterId
from shim.domain.roles import Role
from shim.federation.core.federation_view import FederationView, Part, ViewSettings
from shim.federation.documents import DocumentReading
from shim.federation.reading import ReadingSettings
from shim.identity.service import Caller, IdentityRules, IdentityService
from shim.ports.resource_manager_rpc import RPCRefusal
from shim.protocol.hrpc import AuthMethod, CallerContext, ContextReceived, Failure, HadoopCall, JavaClass, RPCErrorCode
from shim.protocol.proto import ADMINISTRATION, APPLICATION_CLIENT, HA_SERVICE
from shim.protocol.proto.messages import (
    AddToClusterNodeLabelsRequestProto,
    CheckForDecommissioningNodesRequestProto,
    CheckForDecommissioningNodesResponseProto,
    FederationQueueWeightProto,
    GetGroupsForUserRequestProto,
    GetGroupsForUserResponseProto,
    GetServiceStatusRequestProto,
    GetSubClustersRequestProto,
    HAStateChangeRequestInfoProto,
    NodeIdProto,
    NodeIdToLabelsProto,
    NodeResourceMapProto,
    NodesToAttributesMappingRequestProto,
    NodeToAttributesProto,
    RefreshNodesRequestProto,
    RefreshQueuesRequestProto,
    ReplaceLabelsOnNodeRequestProto,
    ResourceOptionProto,
    ResourceProto,
    SaveFederationQueuePolicyRequestProto,
    TransitionToActiveRequestProto,
    TransitionToObserverRequestProto,
    TransitionToStandbyRequestProto,
    UpdateNodeResourceRequestProto,
)
from shim.server.rights import ADMIN
from shim.server.rpc import AdminService
from shim.server.rpc.admin_service import ADMIN_METHODS
from shim.server.ways import Way
from tests.doubles.admin_rpc import IsAway, ObeysEveryOperator, RefusesOperators
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_node_report, a_report
from tests.doubles.settings import usual
from tests.support.roles import ROLES, may, user_of, with_required

ADA = Caller("ada", "ada")
NOBODY = Caller("dr.who", "dr.who", is_anonymous=True)
NOT_ADMIN = RPCRefusal(JavaClass.YARN, "org.apache.hadoop.security.AccessControlException: User ada doesn't have")
EAST, WEST = SubClusterId("east"), SubClusterId("west")
ALL = {**ADMINISTRATION.methods, **HA_SERVICE.methods}
BY_USER = HAStateChangeRequestInfoProto(reqSource=0)
FILLED = {
    "transitionToStandby": TransitionToStandbyRequestProto(reqInfo=BY_USER),
    "transitionToObserver": TransitionToObserverRequestProto(reqInfo=BY_USER),
    "saveFederationQueuePolicy": SaveFederationQueuePolicyRequestProto(
        queue="root", federationQueueWeight=FederationQueueWeightProto()
    ),
}
"""Requests with what is required in them."""


class Operators:
    """An admin RPC server with a federation behind it; each sub-cluster has one node."""

    def __init__(
        self,
        *,
        nodes=("east-n1:45454", "west-n1:45454"),
        rules: IdentityRules | None = None,
        **servers: ObeysEveryOperator,
    ) -> None:
        self.servers = {name: servers.get(name, ObeysEveryOperator(name)) for name in ("east", "west")}
        self.clock = FakeClock()
        self.view = FederationView((EAST, WEST), usual(ViewSettings))
        now_s = self.clock.now_s()
        for name, node in zip(self.servers, nodes, strict=True):
            self.view.apply(a_report(name, polled_at_s=now_s, nodes=(a_node_report(node),)))
        self.calls = AdminCalls(
            rpcs={server.subcluster: server for server in self.servers.values()},
            view=self.view,
            documents=DocumentReading(self.view, {}, self.clock, usual(ReadingSettings)),
            clock=self.clock,
        )
        identity = IdentityService(rules or usual(IdentityRules), secret=b"s" * 32, clock=self.clock)
        self.server = AdminService(self.calls, identity)

    async def ask(self, method, request, *, caller=ADA):
        """The decoded answer, or the failure."""
        protocol = HA_SERVICE if method in HA_SERVICE.methods else ADMINISTRATION
        payload = request.SerializeToString()
        call = HadoopCall(1, b"client", 0, CallerContext("CLI"), protocol.name, method, 1, payload)
        told = await self.server.answer(call, caller)
        return told if isinstance(told, Failure) else protocol.methods[method].answer.FromString(told)

    def told(self, name):
        """What a sub-cluster was told: method and payload."""
        return [(call.method, call.payload) for call in self.servers[name].calls]


@pytest.fixture
def operators() -> Operators:
    return Operators()


def labels(*nodes, label="gpu"):
    named = [NodeIdToLabelsProto(nodeId=NodeIdProto(host=host, port=port), nodeLabels=[label]) for host, port in nodes]
    return ReplaceLabelsOnNodeRequestProto(nodeToLabels=named, failOnUnknownNodes=True)


def test_every_method_of_both_protocols_has_one_row():
    assert set(ADMIN_METHODS) == set(ALL)
    assert len(ALL) == len(ADMINISTRATION.methods) + len(HA_SERVICE.methods)


def test_every_own_method_has_code(operators):
    assert {name for name, row in ADMIN_METHODS.items() if row.way is Way.OWN} == set(operators.server._own_answers)


@pytest.mark.parametrize("method", [name for name, row in ADMIN_METHODS.items() if row.way is Way.SPREAD])
async def test_what_concerns_all_is_told_to_all_byte_for_byte_and_as_the_operator(operators, method):
    request = RefreshNodesRequestProto(decommissionTimeout=7) if method == "refreshNodes" else ALL[method].request()

    answer = await operators.ask(method, request)

    assert not isinstance(answer, Failure)
    for name in ("east", "west"):
        assert operators.told(name) == [(method, request.SerializeToString())]
        (call,) = operators.servers[name].calls
        assert (call.user, call.caller_context) == ("ada", "CLI")


async def test_a_request_for_one_subcluster_is_told_to_that_one(operators):
    await operators.ask("refreshQueues", RefreshQueuesRequestProto(sub_cluster_id="west"))

    assert not operators.told("east")
    assert len(operators.told("west")) == 1


async def test_a_request_for_an_unknown_subcluster_names_those_that_there_are(operators):
    refused = await operators.ask("refreshQueues", RefreshQueuesRequestProto(sub_cluster_id="wset"))

    assert isinstance(refused, Failure)
    assert "'wset'" in refused.message
    assert "east, west" in refused.message


async def test_half_a_change_is_told_for_each_subcluster_in_one_line():
    operators = Operators(west=IsAway("west"))

    failure = await operators.ask("refreshQueues", RefreshQueuesRequestProto())

    assert isinstance(failure, Failure)
    assert failure.java_class == JavaClass.YARN  # Java clients repeat a RetriableException for a quarter of an hour
    assert "done at east" in failure.message
    assert "west does not answer: cannot be reached" in failure.message
    assert "\n" not in failure.message


async def test_one_refusal_among_several_is_told_with_its_subcluster_and_class():
    operators = Operators(east=RefusesOperators("east", NOT_ADMIN))

    failure = await operators.ask("refreshQueues", RefreshQueuesRequestProto())

    assert isinstance(failure, Failure)
    assert "done at west" in failure.message
    assert f"east refuses: {NOT_ADMIN.message}" in failure.message


async def test_a_refusal_in_which_all_agree_is_theirs_word_for_word():
    refusing = {name: RefusesOperators(name, NOT_ADMIN) for name in ("east", "west")}
    operators = Operators(**refusing)

    failure = await operators.ask("refreshQueues", RefreshQueuesRequestProto())

    assert failure == Failure(NOT_ADMIN.java_class, NOT_ADMIN.message)


async def test_refusals_for_different_reasons_are_all_told():
    other = RPCRefusal(JavaClass.IO, "the file cannot be read")
    operators = Operators(east=RefusesOperators("east", NOT_ADMIN), west=RefusesOperators("west", other))

    failure = await operators.ask("refreshQueues", RefreshQueuesRequestProto())

    assert isinstance(failure, Failure)
    assert failure.java_class == JavaClass.YARN
    assert "done nowhere" in failure.message
    assert NOT_ADMIN.message in failure.message
    assert other.message in failure.message


async def test_an_unknown_admin_address_is_said_with_the_remedy(operators):
    del operators.calls._rpcs[WEST]

    failure = await operators.ask("refreshQueues", RefreshQueuesRequestProto())

    assert isinstance(failure, Failure)
    assert "west does not answer: its admin RPC address is not known: set admin_rpc" in failure.message


async def test_labels_that_clusters_share_are_changed_everywhere_or_nowhere(operators):
    await operators.clock.advance(60.0)  # nobody was polled since: all are late

    failure = await operators.ask("addToClusterNodeLabels", AddToClusterNodeLabelsRequestProto())

    assert isinstance(failure, Failure)
    assert "nothing was changed anywhere" in failure.message
    assert not operators.told("east")


async def test_each_subcluster_is_told_what_concerns_its_own_nodes(operators):
    option = ResourceOptionProto(resource=ResourceProto(memory=1024, virtual_cores=1), over_commit_timeout=-1)
    maps = [
        NodeResourceMapProto(node_id=NodeIdProto(host=f"{name}-n1", port=45454), resource_option=option)
        for name in ("east", "west")
    ]

    answer = await operators.ask("updateNodeResource", UpdateNodeResourceRequestProto(node_resource_map=maps))

    assert not isinstance(answer, Failure)
    for name, own in zip(("east", "west"), maps, strict=True):
        ((_, payload),) = operators.told(name)
        assert UpdateNodeResourceRequestProto.FromString(payload).node_resource_map == [own]


async def test_a_host_without_a_port_is_found_and_the_rest_of_the_request_is_kept(operators):
    await operators.ask("replaceLabelsOnNodes", labels(("west-n1", 0)))

    assert operators.told("west") == [("replaceLabelsOnNodes", labels(("west-n1", 0)).SerializeToString())]
    assert not operators.told("east")


async def test_attributes_of_nodes_go_to_their_subclusters(operators):
    request = NodesToAttributesMappingRequestProto(nodeToAttributes=[NodeToAttributesProto(node="east-n1")])

    await operators.ask("mapAttributesToNodes", request)

    assert operators.told("east") == [("mapAttributesToNodes", request.SerializeToString())]
    assert not operators.told("west")


@pytest.mark.parametrize(("host", "port"), [("nowhere", 0), ("east-n1", 1)])
async def test_a_node_that_nobody_has_is_refused_before_anything_is_changed(operators, host, port):
    failure = await operators.ask("replaceLabelsOnNodes", labels(("east-n1", 45454), (host, port)))

    assert isinstance(failure, Failure)
    assert f"no sub-cluster has a node {host}" in failure.message
    assert not operators.told("east")


async def test_a_node_that_two_subclusters_have_is_refused_with_their_names():
    operators = Operators(nodes=("twin:45454", "twin:45454"))

    failure = await operators.ask("replaceLabelsOnNodes", labels(("twin", 0)))

    assert isinstance(failure, Failure)
    assert "twin is in east and west" in failure.message


async def test_groups_are_those_of_any_subcluster_each_once(operators):
    for name, groups in (("east", ["staff", "dev"]), ("west", ["dev", "ops"])):
        operators.servers[name].payload = GetGroupsForUserResponseProto(groups=groups).SerializeToString()

    answer = await operators.ask("getGroupsForUser", GetGroupsForUserRequestProto(user="ada"), caller=NOBODY)

    assert list(answer.groups) == ["staff", "dev", "ops"]


async def test_nobody_is_told_that_decommissioning_is_over_while_a_subcluster_is_silent():
    operators = Operators(west=IsAway("west"))

    failure = await operators.ask("checkForDecommissioningNodes", CheckForDecommissioningNodesRequestProto())

    assert isinstance(failure, Failure)
    assert "west does not answer" in failure.message


async def test_decommissioning_nodes_are_those_of_all(operators):
    for name in ("east", "west"):
        node = NodeIdProto(host=f"{name}-n1", port=1)
        answer = CheckForDecommissioningNodesResponseProto(decommissioningNodes=[node])
        operators.servers[name].payload = answer.SerializeToString()

    whole = await operators.ask("checkForDecommissioningNodes", CheckForDecommissioningNodesRequestProto())

    assert [node.host for node in whole.decommissioningNodes] == ["east-n1", "west-n1"]


@pytest.mark.parametrize("method", [name for name, row in ADMIN_METHODS.items() if row.way is Way.REFUSE])
async def test_what_has_no_meaning_here_is_refused_with_the_reason(operators, method):
    failure = await operators.ask(method, FILLED.get(method, ALL[method].request()))

    assert isinstance(failure, Failure)
    assert ADMIN_METHODS[method].reason in failure.message
    assert not operators.told("east")


async def test_heddle_is_active_and_stays_it(operators):
    status = await operators.ask("getServiceStatus", GetServiceStatusRequestProto())
    activated = await operators.ask("transitionToActive", TransitionToActiveRequestProto(reqInfo=BY_USER))
    deposed = await operators.ask("transitionToStandby", TransitionToStandbyRequestProto(reqInfo=BY_USER))

    assert (status.state, status.readyToBecomeActive) == (1, True)
    assert not isinstance(activated, Failure)
    assert isinstance(deposed, Failure)
    assert deposed.java_class == JavaClass.SERVICE_FAILED


async def test_subclusters_are_listed_with_state_and_age(operators):
    answer = await operators.ask("getFederationSubClusters", GetSubClustersRequestProto())

    assert [(item.subClusterId, item.subClusterState) for item in answer.subClusters] == [
        ("east", "SC_RUNNING"),
        ("west", "SC_RUNNING"),
    ]
    assert all(item.lastHeartBeatTime.endswith("ago") for item in answer.subClusters)


@pytest.mark.parametrize("admins", [(), ("*",)], ids=["", "all administer"])
@pytest.mark.parametrize("method", [name for name, row in ADMIN_METHODS.items() if row.writes])
async def test_a_change_by_nobody_is_refused(method: str, admins: tuple[str, ...]) -> None:
    operators = Operators(rules=usual(IdentityRules, admins=admins))

    refused = await operators.ask(method, with_required(ALL[method].request()), caller=NOBODY)

    assert isinstance(refused, Failure)
    assert refused.java_class == JavaClass.ACCESS_CONTROL
    assert "not authenticated" in refused.message
    assert not operators.told("east")


async def test_what_was_changed_is_read_anew(operators):
    view = operators.view

    await operators.ask("refreshQueues", RefreshQueuesRequestProto())

    assert view.is_touched(EAST, Part.SCHEDULER)
    assert view.is_touched(WEST, Part.SCHEDULER)
    assert not view.is_touched(EAST, Part.NODES)


def test_clients_of_other_protocols_are_told_so(operators):
    call = HadoopCall(1, b"client", 0, None, APPLICATION_CLIENT.name, "getApplications", 1, b"")

    failure = operators.server.answer_at_once(call, ADA)

    assert isinstance(failure, Failure)
    assert failure.code is RPCErrorCode.NO_SUCH_PROTOCOL


def test_names_are_believed_and_tokens_are_not_offered(operators):
    context = ContextReceived("ada", "", ADMINISTRATION.name, AuthMethod.SIMPLE, "", None)

    assert [offer.method for offer in operators.server.offers()] == [AuthMethod.SIMPLE]
    admitted = operators.server.admit(context, "10.0.0.1")
    assert isinstance(admitted, Caller)
    assert admitted.user == "ada"


WRITES = sorted(name for name, row in ADMIN_METHODS.items() if row.writes)


@pytest.mark.parametrize("method", WRITES)
async def test_a_proxy_user_for_everybody_operates_nothing_as_somebody_else(operators, method):
    request = FILLED.get(method) or ALL[method].request()

    answer = await operators.ask(method, request, caller=Caller("yarn", "knox"))

    assert isinstance(answer, Failure)
    assert answer.java_class == JavaClass.AUTHORIZATION
    assert not operators.told("east") + operators.told("west")


@pytest.mark.parametrize(
    "method", [name for name, row in ADMIN_METHODS.items() if row.way not in (Way.OWN, Way.REFUSE)]
)
async def test_a_text_without_end_goes_nowhere(operators, method):
    request = FILLED.get(method, ALL[method].request())
    for field in request.DESCRIPTOR.fields:
        if field.type != field.TYPE_STRING:
            continue
        long = type(request)()
        long.CopyFrom(request)
        if field.is_repeated:
            getattr(long, field.name).append("x" * 100_000)
        else:
            setattr(long, field.name, "x" * 100_000)
        assert isinstance(await operators.ask(method, long), Failure)
    assert not operators.told("east") + operators.told("west")


async def test_a_label_without_end_goes_nowhere(operators):
    nested = AddToClusterNodeLabelsRequestProto()
    nested.nodeLabels.add(name="x" * 100_000)
    for method, request in (
        ("addToClusterNodeLabels", nested),
        ("replaceLabelsOnNodes", labels(("east-n1", 45454), label="x" * 100_000)),
    ):
        refused = await operators.ask(method, request)
        assert isinstance(refused, Failure)
        assert "node label" in refused.message
    assert not operators.told("east") + operators.told("west")


def filled(message, number, text, depth=0):
    """A message with something in every field of it, in lists too."""
    for field in message.DESCRIPTOR.fields:
        if field.message_type is not None:
            if depth < 4:
                inner = getattr(message, field.name)
                filled(inner.add() if field.is_repeated else inner, number, text, depth + 1)
                if not field.is_repeated:
                    inner.SetInParent()
            continue
        bits = {field.CPPTYPE_INT32: 31, field.CPPTYPE_INT64: 63}.get(field.cpp_type)
        value = field.default_value if not field.is_repeated else None
        if bits is not None:
            value = max(-(2**bits), min(2**bits - 1, number))
        elif field.cpp_type == field.CPPTYPE_STRING:
            value = text if field.type == field.TYPE_STRING else text.encode()
        if field.is_repeated and value is not None:
            getattr(message, field.name).append(value)
        elif not field.is_repeated:
            setattr(message, field.name, value)
    return message


@pytest.mark.parametrize("text", ["", "\x00", "..", "root.\u00e9\n", "x" * 5000])
@pytest.mark.parametrize("number", [-(2**63), -1, 2**63 - 1])
@pytest.mark.parametrize("method", sorted(ALL))
async def test_absurd_values_are_answered_and_end_nothing(operators, method, number, text):
    request = filled(ALL[method].request(), number, text)

    told = await operators.ask(method, request)

    assert not isinstance(told, Failure) or "internal" not in told.message.lower()


def test_a_request_that_is_too_large_is_refused_before_it_is_decoded(operators):
    large = bytes(4 * 1024 * 1024 + 1)
    call = HadoopCall(1, b"client", 0, CallerContext("CLI"), ADMINISTRATION.name, "refreshNodes", 1, large)

    assert isinstance(operators.server.answer_at_once(call, ADA), Failure)


@pytest.mark.parametrize("method", ADMIN_METHODS)
async def test_each_role_may_what_its_right_says_and_nothing_else(method: str) -> None:
    operators = Operators(rules=ROLES)
    for role in Role:
        user, told = user_of(role), len(operators.told("east"))
        answer = await operators.ask(method, with_required(ALL[method].request()), caller=Caller(user, user))
        refused = isinstance(answer, Failure) and "takes the role" in answer.message
        assert refused is not may(role, ADMIN[method]), role
        assert not refused or (answer.java_class, len(operators.told("east"))) == (JavaClass.ACCESS_CONTROL, told)


def test_every_method_has_a_right() -> None:
    assert set(ADMIN) == set(ADMIN_METHODS)
