"""Allocate calls between bytes and values: what is not decided on arrives as it was sent."""

from dataclasses import replace

import pytest

from shim.domain.allocations import (
    ANY,
    AllocateAnswer,
    Ask,
    AskKey,
    Ended,
    Grant,
    NodeNews,
    PreemptedContainer,
    SessionRequest,
)
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from shim.domain.resources import ResourceVector
from shim.errors import RemoteProtocolError
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    AllocateResponseProto,
    ApplicationAttemptIdProto,
    ApplicationIdProto,
    ContainerIdProto,
    ContainerProto,
    ContainerStatusProto,
    NMTokenProto,
    NodeIdProto,
    NodeReportProto,
    NodeStateProto,
    PreemptionContainerProto,
    PreemptionMessageProto,
    PriorityProto,
    RegisterApplicationMasterResponseProto,
    ResourceBlacklistRequestProto,
    ResourceProto,
    ResourceRequestProto,
    SchedulingRequestProto,
    StrictPreemptionContractProto,
    TokenProto,
    UpdateContainerRequestProto,
)
from shim.protocol.yarn.allocations import (
    _news_message,
    preemption_message,
    read_allocate_answer,
    read_allocate_call,
    read_registration,
    with_containers,
    write_allocate_answer,
    write_session_request,
)
from shim.protocol.yarn.wire import container_message, resource_message

ATTEMPT = ApplicationAttemptIdProto(application_id=ApplicationIdProto(id=7, cluster_timestamp=5), attemptId=2)
CONTAINER = ContainerIdProto(app_attempt_id=ATTEMPT, id=(200 << 40) | 3)
CONTAINER_ID = ContainerId(ApplicationAttemptId(ApplicationId(5, 7), 2), (200 << 40) | 3)
NEWER = b"\xfa\x3f\x03new"
"""Field 1023 with three bytes: what a newer Hadoop may add to any message."""

ROW = ResourceRequestProto(
    priority=PriorityProto(priority=20),
    resource_name="*",
    capability=ResourceProto(memory=1024, virtual_cores=1),
    num_containers=9,
    relax_locality=True,
)


def a_call():
    return AllocateRequestProto(
        ask=[ResourceRequestProto.FromString(ROW.SerializeToString() + NEWER)],
        release=[CONTAINER],
        blacklist_request=ResourceBlacklistRequestProto(blacklist_additions=["bad"], blacklist_removals=["good"]),
        response_id=4,
        progress=0.5,
        update_requests=[UpdateContainerRequestProto(container_version=1, container_id=CONTAINER, update_type=0)],
        scheduling_requests=[SchedulingRequestProto(allocationRequestId=3)],
        tracking_url="http://am",
    )


def test_a_call_is_read_and_said_again_with_other_counts_and_everything_else_as_it_was():
    call = read_allocate_call(a_call().SerializeToString() + NEWER)
    assert call.response_id == 4
    assert call.releases == (CONTAINER_ID,)
    assert (call.blacklist_additions, call.blacklist_removals) == (("bad",), ("good",))
    ask, placed = call.asks
    assert ask.key == AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))
    assert (ask.place, ask.count, ask.relaxes) == (ANY, 9, True)

    again = SessionRequest(
        1,
        11,
        (Ask(ask.key, ask.place, 2, ask.relaxes, ask.raw), replace(placed, count=5)),
        call.releases,
        call.blacklist_additions,
        call.blacklist_removals,
        call.updates,
        call.rest,
    )
    said = AllocateRequestProto.FromString(write_session_request(again))
    wanted = AllocateRequestProto.FromString(a_call().SerializeToString() + NEWER)
    wanted.response_id = 11
    wanted.ask[0].num_containers = 2
    wanted.scheduling_requests[0].resourceSizing.numAllocations = 5
    assert said == wanted
    assert NEWER in write_session_request(again)


def test_a_row_may_be_for_another_place_and_stricter_than_it_was_sent():
    sent = ResourceRequestProto(
        priority={"priority": 7},
        resource_name="*",
        num_containers=4,
        relax_locality=True,
        node_label_expression="gpu",
        capability={"memory": 1024, "virtual_cores": 1},
    )
    (ask,) = read_allocate_call(AllocateRequestProto(ask=[sent]).SerializePartialToString()).asks
    stricter = replace(ask, place="/rack", count=2, relaxes=False)
    request = SessionRequest(1, 0, asks=(stricter, ask))
    told = AllocateRequestProto.FromString(write_session_request(request)).ask
    assert [(row.resource_name, row.num_containers, row.relax_locality) for row in told] == [
        ("/rack", 2, False),
        ("*", 4, True),
    ]
    assert {(row.priority.priority, row.node_label_expression) for row in told} == {(7, "gpu")}


def test_a_further_scheduler_hears_nothing_that_is_meant_for_the_home():
    call = read_allocate_call(a_call().SerializeToString())
    said = AllocateRequestProto.FromString(write_session_request(SessionRequest(1, 0, call.asks[:1])))
    assert not said.tracking_url
    assert not said.scheduling_requests
    assert not said.HasField("blacklist_request")


def test_an_ask_that_nobody_sent_can_be_taken_back():
    key = AskKey(5, 8, is_opportunistic=True, resource=ResourceVector(2048, 2), label="ssd")
    (row,) = AllocateRequestProto.FromString(write_session_request(SessionRequest(1, 0, (Ask(key, ANY, 0),)))).ask
    assert (row.priority.priority, row.allocation_request_id, row.num_containers) == (5, 8, 0)
    assert (row.capability.memory, row.node_label_expression) == (2048, "ssd")
    assert read_allocate_call(AllocateRequestProto(ask=[row]).SerializeToString()).asks[0].key == key


def an_answer(**more):
    values = {
        "response_id": 5,
        "allocated_containers": [
            ContainerProto(
                id=CONTAINER,
                nodeId=NodeIdProto(host="n1", port=4),
                priority=PriorityProto(priority=20),
                resource=ResourceProto(memory=1024, virtual_cores=1),
                container_token=TokenProto(identifier=b"i", password=b"p", kind="k", service="s"),
                allocation_request_id=-1,
            )
        ],
        "completed_container_statuses": [ContainerStatusProto(container_id=CONTAINER, exit_status=1, state=3)],
        "limit": ResourceProto(memory=4096, virtual_cores=4),
        "updated_nodes": [NodeReportProto(httpAddress="n1:1")],
        "num_cluster_nodes": 2,
        "nm_tokens": [NMTokenProto(nodeId=NodeIdProto(host="n1", port=4))],
        "application_priority": PriorityProto(priority=3),
    } | more
    return AllocateResponseProto(**values)


def test_an_answer_that_nothing_joins_is_the_homes_own():
    sent = AllocateResponseProto.FromString(an_answer().SerializeToString() + NEWER)
    answer = read_allocate_answer(sent.SerializeToString())
    written = write_allocate_answer(answer)
    again = AllocateResponseProto.FromString(written)
    assert NEWER in written
    del again.limit.resource_value_map[:]  # the same amounts in the newer form, too
    assert again == sent


def test_answers_of_two_schedulers_become_one():
    token = TokenProto(identifier=b"new", password=b"p", kind="k", service="")
    home = read_allocate_answer(an_answer(allocated_containers=[], am_rm_token=token).SerializeToString())
    other = read_allocate_answer(an_answer(updated_nodes=[NodeReportProto(httpAddress="n2:1")]).SerializeToString())
    assert other.grants[0].container == CONTAINER_ID
    assert other.grants[0].node == NodeId("n1", 4)
    assert home.am_rm_token
    merged = AllocateAnswer(
        9, other.grants, home.ended, other.node_tokens, home.headroom, 4, home.joined + other.joined, home.rest
    )
    said = AllocateResponseProto.FromString(write_allocate_answer(merged))
    assert said.response_id == 9
    assert [report.httpAddress for report in said.updated_nodes] == ["n1:1", "n2:1"]
    assert said.allocated_containers[0].container_token.password == b"p"
    assert said.am_rm_token.identifier == b"new", "the home's new token is the ApplicationMaster's"
    assert said.num_cluster_nodes == 4


def test_what_is_asked_back_stands_beside_what_the_home_itself_asks_back():
    own = PreemptionMessageProto(
        strictContract=StrictPreemptionContractProto(container=[PreemptionContainerProto(id=ContainerIdProto(id=77))])
    )
    home = read_allocate_answer(an_answer(preempt=own).SerializeToString())
    first, second = (ContainerId(CONTAINER_ID.attempt, number) for number in (5, 6))
    asked = (
        PreemptedContainer(first, is_strict=True),
        PreemptedContainer(second, is_strict=False, grant=home.grants[0]),
    )
    said = AllocateResponseProto.FromString(write_allocate_answer(replace(home, asked_back=asked))).preempt
    assert [each.id.id for each in said.strictContract.container] == [5, 77]
    assert [each.id.id for each in said.contract.container] == [6]
    (instead,) = (each.resource for each in said.contract.resource)
    assert (instead.num_containers, instead.resource_name) == (1, ANY)
    assert instead.capability.memory == home.grants[0].resource.memory_mib


def test_an_answer_by_which_nothing_is_asked_back_says_nothing_of_it():
    answer = read_allocate_answer(an_answer().SerializeToString())
    assert not AllocateResponseProto.FromString(write_allocate_answer(answer)).HasField("preempt")


def test_an_end_that_no_scheduler_told_has_the_form_of_one():
    answer = AllocateAnswer(1, ended=(Ended(CONTAINER_ID, -100, "lost"),))
    (status,) = AllocateResponseProto.FromString(write_allocate_answer(answer)).completed_container_statuses
    assert status.container_id == CONTAINER
    assert (status.exit_status, status.diagnostics, status.state) == (-100, "lost", 3)


def test_nodes_that_are_lost_with_their_cluster_are_reported_as_a_scheduler_would():
    news = (NodeNews(NodeId("n1", 4), is_lost=True), NodeNews(NodeId("n2", 4), is_lost=False))
    told = AllocateResponseProto.FromString(write_allocate_answer(AllocateAnswer(1, news=news))).updated_nodes
    assert [(report.nodeId.host, report.node_state) for report in told] == [("n1", 5), ("n2", 2)]


def test_a_registration_can_be_said_again_with_the_containers_of_others():
    (container,) = an_answer().allocated_containers
    told = RegisterApplicationMasterResponseProto(
        queue="default",
        containers_from_previous_attempts=[container],
        nm_tokens_from_previous_attempts=[NMTokenProto(nodeId=NodeIdProto(host="n1", port=4))],
    ).SerializeToString()
    grants, tokens = read_registration(told)
    assert [grant.container for grant in grants] == [CONTAINER_ID]
    more = RegisterApplicationMasterResponseProto.FromString(with_containers(told, grants, tokens))
    assert len(more.containers_from_previous_attempts) == len(more.nm_tokens_from_previous_attempts) == 2
    none = RegisterApplicationMasterResponseProto.FromString(with_containers(told, (), (), instead=True))
    assert none.queue == "default"
    assert not none.containers_from_previous_attempts
    assert not none.nm_tokens_from_previous_attempts


@pytest.mark.parametrize("read", [read_allocate_call, read_allocate_answer, read_registration])
def test_bytes_that_are_no_message_are_refused(read):
    with pytest.raises(RemoteProtocolError):
        read(b"\xff\xff\xff")


def test_news_of_a_node_are_a_report_of_a_node_without_anything():
    for is_lost, state, why in (
        (True, NodeStateProto.NS_LOST, "its sub-cluster is lost"),
        (False, NodeStateProto.NS_RUNNING, ""),
    ):
        nothing = ResourceProto(memory=0, virtual_cores=0)
        assert _news_message(NodeNews(NodeId("n1", 7), is_lost)) == NodeReportProto(
            nodeId=NodeIdProto(host="n1", port=7),
            httpAddress="n1:0",
            rackName="/default-rack",
            used=nothing,
            capability=nothing,
            numContainers=0,
            node_state=state,
            health_report=why,
            last_health_report_time=0,
        )


@pytest.mark.parametrize("has_grant", [True, False])
def test_what_is_asked_back_stands_in_the_contract_that_it_is_of(has_grant):
    first, second = (ContainerId(ApplicationAttemptId(ApplicationId(1, 1), 1), number) for number in (5, 6))
    grant = Grant(first, NodeId("n1", 7), 3, 9, ResourceVector(512, 2)) if has_grant else None
    asked = [
        PreemptedContainer(first, is_strict=False, grant=grant),
        PreemptedContainer(second, is_strict=True, grant=grant),
    ]
    message = preemption_message(asked)
    assert [each.id for each in message.strictContract.container] == [container_message(second)]
    assert [each.id for each in message.contract.container] == [container_message(first)]
    replacement = ResourceRequestProto(
        priority=PriorityProto(priority=3),
        resource_name="*",
        capability=resource_message(ResourceVector(512, 2)),
        num_containers=1,
        relax_locality=True,
    )
    assert [each.resource for each in message.contract.resource] == ([replacement] if has_grant else [])
    assert preemption_message([]) == PreemptionMessageProto()
