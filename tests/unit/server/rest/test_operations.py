"""Operations that Heddle answers itself: from the view, until when they may be told others, and by merging."""

import json
from typing import Any

import pytest

from shim.domain.access_lists import Viewer
from shim.domain.ids import ApplicationId, SubClusterId
from shim.errors import NoUsableSubClusterError
from shim.federation.core.federation_view import Part, PartDocument
from shim.identity.service import Caller, IdentityRules
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.queries import parse_query
from shim.server.rest.answers import Document
from shim.server.rest.endpoints import ENDPOINTS, Operation
from shim.server.rest.messages import Request
from shim.server.rest.operations import Call, Operations, Outcome
from tests.doubles.misbehaviours import IsNeverReached
from tests.doubles.resource_manager import ScriptedResourceManager
from tests.doubles.settings import usual
from tests.support.scripted_server import BASE, ScriptedServer

LIVE, ENDED = ApplicationId(1, 1), ApplicationId(1, 2)
ALICE = Caller("alice", "alice")


@pytest.fixture
async def server() -> ScriptedServer:
    made = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True), staleness_s=1.5)
    made.federation["east"].add_application(LIVE, "RUNNING", user="alice")
    made.federation["west"].add_application(ENDED, "FINISHED", user="alice")
    await made.poll()
    return made


async def run(server: ScriptedServer, operation: Operation, query: str = "", **parameters: str) -> Outcome:
    """What an operation of its own answers: the row of the table that has it, asked by alice."""
    endpoint = next(each for each in ENDPOINTS if each.operation is operation)
    path = BASE + endpoint.path.format(**parameters)
    request = Request(endpoint.method, path, query, (("host", "front:8088"),), b"", "127.0.0.1")
    made = Operations(server.backend, login_user="heddle", staleness_s=1.5)
    call = Call(request, endpoint, parameters, parse_query(query), ALICE, parameters, Viewer("alice"))
    outcome = await server.federation.wait_for(made.run(call))
    assert isinstance(outcome, Outcome)
    return outcome


def body(outcome: Outcome) -> Any:
    assert isinstance(outcome.document, Document)
    return json.loads(outcome.document.body)


async def test_a_live_application_is_told_others_for_as_long_as_it_is_young_and_one_that_ended_for_ever(server):
    live = await run(server, Operation.APPLICATION, application=str(LIVE))
    ended = await run(server, Operation.APPLICATION, application=str(ENDED))
    assert [body(each)["app"]["id"] for each in (live, ended)] == [str(LIVE), str(ENDED)]
    assert live.good_until_s == server.view.applications.find(LIVE).as_of_s + 1.5
    assert ended.good_until_s == float("inf")
    for each in (live, ended):
        assert (each.part, each.is_single, each.freshness.missing) == (Part.APPLICATIONS, True, ())


async def test_members_that_are_not_wanted_are_left_out_of_one_application(server):
    whole = body(await run(server, Operation.APPLICATION, application=str(LIVE)))["app"]
    less = body(await run(server, Operation.APPLICATION, "deSelects=resourceRequests", application=str(LIVE)))["app"]
    assert less == {key: value for key, value in whole.items() if key != "resourceRequests"}


async def test_an_application_that_nobody_knows_is_named_as_it_was_asked_for(server):
    with pytest.raises(JavaError, match="app with id: application_1_0099 not found") as caught:
        await run(server, Operation.APPLICATION, application="application_1_0099")
    assert caught.value.exception.status == 404
    with pytest.raises(JavaError):
        await run(server, Operation.APPLICATION, application="application_x")


async def test_lists_and_sums_are_of_the_part_that_they_are_made_of_and_as_old_as_that(server):
    for operation, part in (
        (Operation.APPLICATIONS, Part.APPLICATIONS),
        (Operation.STATISTICS, Part.APPLICATIONS),
        (Operation.METRICS, Part.METRICS),
        (Operation.SCHEDULER, Part.SCHEDULER),
        (Operation.NODES, Part.NODES),
        (Operation.INFO, Part.INFO),
    ):
        outcome = await run(server, operation)
        assert (outcome.part, outcome.good_until_s, outcome.is_single) == (part, float("inf"), False)
        assert outcome.freshness.missing == ()
        assert Operations.part_of(operation) is part
    assert Operations.part_of(Operation.USER_INFO) is None


async def test_who_asks_is_told_beside_whom_heddle_runs_as(server):
    outcome = await run(server, Operation.USER_INFO)
    assert body(outcome) == {"rmLoginUser": "heddle", "requestedUser": "alice"}
    assert outcome.part is None


async def test_the_cluster_is_heddle_with_the_rest_of_the_first_resource_manager(server):
    told = body(await run(server, Operation.INFO))["clusterInfo"]
    founded = await server.federation.wait_for(server.backend.ids.founded_ms())
    assert [told[name] for name in ("id", "startedOn", "state", "haState")] == [founded, founded, "STARTED", "ACTIVE"]
    assert told["hadoopVersion"] == "3.4.2"


class TellsLabels:
    """Healthy, and has one label."""

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        del manager, request, timeout_s
        labels = {"nodeLabelInfo": [{"name": "gpu", "exclusivity": True}]}
        return RestAnswer(200, (("Content-Type", "application/json"),), json.dumps(labels).encode())


async def test_what_is_gathered_names_the_clusters_that_did_not_answer():
    server = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True))
    await server.poll()
    for each in ("east", "west"):
        server.federation[each].behave(TellsLabels())
    assert (await run(server, Operation.NODE_LABELS)).freshness.missing == ()
    server.federation["west"].behave(IsNeverReached())
    assert (await run(server, Operation.NODE_LABELS)).freshness.missing == ("west",)
    server.federation["east"].behave(IsNeverReached())
    with pytest.raises(NoUsableSubClusterError):
        await run(server, Operation.NODE_LABELS)


async def test_before_anything_was_heard_there_is_nothing_to_sum():
    with pytest.raises(NoUsableSubClusterError, match="no sub-cluster has answered yet"):
        await run(ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True)), Operation.METRICS)


ELSEWHERE = {
    Operation.ROUTED,
    Operation.STATE,
    Operation.CONTAINERS,
    Operation.CONTAINER,
    Operation.SIGNAL,
    Operation.MOVE,
    Operation.QUEUE_ACCESS,
}


@pytest.mark.parametrize("operation", dict.fromkeys(each.operation for each in ENDPOINTS), ids=lambda each: each.name)
async def test_the_operations_that_are_answered_here_are_known(server, operation):
    made = Operations(server.backend, login_user="heddle", staleness_s=1.5)
    assert made.knows(operation) is (operation not in ELSEWHERE)


async def test_what_the_view_has_is_at_hand_and_what_is_old_or_unknown_is_not(server):
    made = Operations(server.backend, login_user="heddle", staleness_s=1.5)
    known, unknown = {"application": str(LIVE)}, {"application": "application_1_0099"}
    parts = (Operation.METRICS, Operation.SCHEDULER, Operation.NODES, Operation.APPLICATIONS)
    assert all(made.is_at_hand(each, {}) for each in parts)
    assert made.is_at_hand(Operation.APPLICATION, known)
    assert not made.is_at_hand(Operation.APPLICATION, unknown)
    assert not made.is_at_hand(Operation.USER_INFO, {})
    assert not made.is_at_hand(Operation.NODE_LABELS, {})
    assert not made.is_at_hand(Operation.INFO, {}), "when the federation was founded is asked for first"
    await server.federation.wait_for(server.backend.ids.founded_ms())
    assert made.is_at_hand(Operation.INFO, {})
    server.view.mark_touched(SubClusterId("west"), Part.NODES, at_s=server.federation.clock.now_s())
    assert [made.is_at_hand(each, {}) for each in parts] == [True, True, False, True]
    await server.federation.clock.advance(60.0)
    assert not made.is_at_hand(Operation.APPLICATION, known)


@pytest.mark.parametrize(
    ("operation", "part"),
    [(Operation.METRICS, Part.METRICS), (Operation.NODES, Part.NODES), (Operation.SCHEDULER, Part.SCHEDULER)],
)
async def test_what_cannot_be_merged_is_left_out_and_named(server, operation, part):
    def odd(home):
        server.view.note_part(SubClusterId(home), part, PartDocument(b"[1]", server.federation.clock.now_s()))

    odd("west")
    outcome = await run(server, operation)
    assert isinstance(outcome.document, Document)
    assert body(outcome)
    assert (outcome.freshness.missing, outcome.part) == (("west",), None), "it is given to nobody else"
    odd("east")
    with pytest.raises(NoUsableSubClusterError, match="no sub-cluster's document"):
        await run(server, operation)
