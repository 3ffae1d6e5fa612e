"""What a ResourceManager tells of containers that run, as values."""

import pytest

from shim.domain.allocations import Grant, RunningContainer
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from shim.domain.resources import ResourceVector
from shim.errors import RemoteProtocolError
from shim.protocol.proto.messages import (
    ContainerIdProto,
    ContainerReportProto,
    ContainerStateProto,
    GetContainersRequestProto,
    GetContainersResponseProto,
    NodeIdProto,
    PriorityProto,
    ResourceInformationProto,
    ResourceProto,
)
from shim.protocol.yarn import attempt_message, attempt_of
from shim.protocol.yarn.running import read_running, running_message

ATTEMPT = ApplicationAttemptId(ApplicationId(1_700_000_000_000, 7), 1)


def a_report(number: int, state: int) -> ContainerReportProto:
    return ContainerReportProto(
        container_id=ContainerIdProto(app_attempt_id=attempt_message(ATTEMPT), id=number),
        resource=ResourceProto(
            memory=2048,
            virtual_cores=2,
            resource_value_map=[ResourceInformationProto(key="gpu", value=1, units="", type=0)],
        ),
        node_id=NodeIdProto(host="n1", port=45454),
        priority=PriorityProto(priority=20),
        creation_time=1_700_000_001_500,
        container_state=state,
    )


def test_an_attempt_is_asked_for_by_its_id():
    asked = GetContainersRequestProto.FromString(running_message(ATTEMPT))
    assert attempt_of(asked.application_attempt_id) == ATTEMPT


def test_what_runs_has_its_size_node_priority_and_age_and_what_has_ended_is_left_out():
    answer = GetContainersResponseProto(
        containers=[a_report(2, ContainerStateProto.C_RUNNING), a_report(3, ContainerStateProto.C_COMPLETE)]
    )
    size = ResourceVector(2048, 2, {"gpu": 1})
    grant = Grant(ContainerId(ATTEMPT, 2), NodeId("n1", 45454), 20, -1, size)
    assert read_running(answer.SerializeToString()) == (RunningContainer(grant, 1_700_000_001.5),)


def test_what_is_no_list_is_said_to_be_none():
    with pytest.raises(RemoteProtocolError, match="list of containers"):
        read_running(b"\xff\xff")
