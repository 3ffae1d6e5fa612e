"""What the view tells of a queue's room on each cluster, and whether anything may span there."""

import json
from types import MappingProxyType

import pytest

from shim.domain.allocations import ConstraintHandling
from shim.domain.ids import SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, HaState
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.multicluster.capacity import ClusterCapacities, Epochs
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_node_report, a_queue_report, a_report
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")
GIB = ResourceVector(1024, 1)


def capacities_over(*reports, admissions=None, queue=None, may_span=lambda _: True, now_s=100.0, failed=()):
    view = FederationView((EAST, WEST), usual(ViewSettings))
    for report in reports:
        view.apply(report)
    for subcluster in failed:
        view.note_failure(subcluster, "connection refused", at_s=now_s)
    policy = SharePolicy((queue or FederatedQueue("root.default", span=True),))
    return ClusterCapacities(view, admissions or {}, FakeClock(now_s), lambda: policy, may_span)


def look(capacities, sessions=MappingProxyType({})):
    return {room.subcluster: room for room in capacities.look(EAST, "default", sessions)}


def test_a_room_is_what_the_queue_could_still_get_there():
    used = ResourceVector(3072, 3)
    report = a_report("west", queues=(a_queue_report(used=used),), used=ResourceVector(6144, 6))
    room = look(capacities_over(a_report("east"), report))[WEST]
    assert room.free == ResourceVector(2048, 2), "the cluster has less left than the queue"
    assert room.size == ResourceVector(8192, 8)
    assert room.largest == ResourceVector(8192, 8)
    assert (room.nodes, dict(room.racks)) == (1, {"n1": "/default-rack"})
    assert not room.is_home
    assert room.is_open


def spanning_by_need(reach, *, is_served):
    view = FederationView((EAST, WEST), usual(ViewSettings))
    for name in ("east", "west"):
        view.apply(a_report(name))
    policy = SharePolicy((FederatedQueue("root.default", spans_by_need=True),))
    told = ClusterCapacities(view, {}, FakeClock(100.0), lambda: policy, lambda _: True, reach=lambda _: reach)
    return {
        room.subcluster: (room.is_open, room.is_trial) for room in told.look(EAST, "default", {}, is_served=is_served)
    }


def test_an_application_that_its_home_serves_stays_there():
    assert spanning_by_need({WEST: False}, is_served=True) == {EAST: (True, False)}


def test_one_that_waits_asks_where_its_home_reaches():
    assert spanning_by_need({WEST: False}, is_served=False) == {EAST: (True, False), WEST: (True, False)}
    assert spanning_by_need({WEST: True}, is_served=False) == {EAST: (True, False), WEST: (True, True)}
    assert spanning_by_need({}, is_served=False) == {EAST: (True, False)}


def test_a_queue_that_holds_more_than_its_most_leaves_nothing():
    full = a_queue_report(used=ResourceVector(9000, 3), maximum=ResourceVector(8192, 8))
    assert look(capacities_over(a_report("west", queues=(full,))))[WEST].free == ResourceVector(0, 5)


def test_nodes_that_do_not_run_hold_nothing():
    nodes = (a_node_report("a:1", GIB), a_node_report("b:1", ResourceVector(4096, 4), state="LOST"))
    room = look(capacities_over(a_report("west", nodes=nodes)))[WEST]
    assert (room.nodes, dict(room.racks), room.largest) == (1, {"a": "/default-rack"}, GIB)


@pytest.mark.parametrize(
    "flaw",
    [
        {"reports": ()},
        {"reports": (a_report("west", ha_state=HaState.STANDBY),)},
        {"reports": (a_report("west", queues=(a_queue_report("root.other"),)),)},
        {"admissions": {WEST: Admission.DRAINING}},
        {"may_span": lambda _: False},
        {"sessions": {WEST: False}},
        {"now_s": 1000.0},
        {"failed": (WEST,)},
    ],
    ids=[
        "never reported",
        "standby",
        "no such queue",
        "draining",
        "no epoch",
        "given up",
        "silent",
        "its last poll failed",
    ],
)
def test_nothing_spans_to_a_cluster_that_is_not_well_and_the_home_stays_open(flaw):
    flaw = dict(flaw)
    reports, sessions = flaw.pop("reports", (a_report("west"),)), flaw.pop("sessions", {})
    capacities = look(capacities_over(*reports, **flaw), sessions)
    assert not capacities[WEST].is_open
    assert capacities[EAST].is_open


def test_a_queue_may_have_another_name_elsewhere_and_prefer_a_cluster():
    queue = FederatedQueue("root.default", span=True, prefers={WEST: 2.0}, names={WEST: "root.prod"})
    capacities = capacities_over(a_report("west", queues=(a_queue_report("root.prod"),)), queue=queue)
    assert look(capacities)[WEST].is_open
    assert look(capacities)[WEST].weight == 2.0
    assert capacities.queue_at(WEST, "default") == "root.prod"
    assert capacities.queue_at(EAST, "default") is None
    assert [capacities.called_at(each, "default") for each in (EAST, WEST)] == ["default", "root.prod"]


def test_a_cluster_of_an_older_hadoop_is_told_a_queue_by_its_last_name():
    report = a_report("west", queues=(a_queue_report("root.default"),), version="3.1.1")
    assert capacities_over(report).called_at(WEST, "default") == "default"
    assert capacities_over(a_report("west")).called_at(WEST, "default") == "root.default"


def test_a_queue_that_spans_no_more_keeps_what_it_has_elsewhere_and_gets_nothing_more_there():
    capacities = capacities_over(a_report("west"), queue=FederatedQueue("root.default"))
    assert look(capacities).keys() == {EAST}
    seen = look(capacities, {WEST: True})
    assert seen[EAST].is_open
    assert not seen[WEST].is_open


def test_what_is_known_of_nodes_follows_the_view():
    capacities = capacities_over(a_report("west"))
    assert look(capacities)[WEST].nodes == 1
    two = (a_node_report("a:1"), a_node_report("b:1"))
    capacities._view.apply(a_report("west", 2, nodes=two, documents={"nodes": b'{"new": 1}'}))
    assert look(capacities)[WEST].nodes == 2


class Conf(ResourceManager):
    """Implements `ResourceManager` for `/conf`."""

    def __init__(self, epoch: str | None, status: int = 200, constraints: str = "") -> None:
        properties = [{"key": "other", "value": "1"}]
        if epoch is not None:
            properties.append({"key": "yarn.resourcemanager.epoch", "value": epoch})
        if constraints:
            handler = "yarn.resourcemanager.placement-constraints.handler"
            properties.append({"key": handler, "value": constraints})
        self.answer = RestAnswer(status, (), json.dumps({"properties": properties}).encode())
        self.asked = 0

    async def forward(self, request: RestRequest, *, timeout_s: float | None = None) -> RestAnswer:
        del request, timeout_s
        self.asked += 1
        return self.answer


async def test_only_a_cluster_with_an_epoch_of_its_own_may_be_spanned_to():
    east, west, north = SubClusterId("east"), SubClusterId("west"), SubClusterId("north")
    managers = {east: Conf("1000"), west: Conf("2000"), north: Conf(None)}
    epochs = Epochs(managers)
    assert not epochs.may_span(east), "it has not told"
    await epochs.ask()
    await epochs.ask()
    assert [epochs.may_span(name) for name in (east, west, north)] == [True, True, False]
    assert [manager.asked for manager in managers.values()] == [1, 1, 1]
    assert epochs.is_complete
    assert epochs.homes_only == (north,)
    assert not epochs.clashes


@pytest.mark.parametrize("handling", ConstraintHandling)
async def test_a_cluster_tells_how_it_takes_constraints_and_takes_none_unless_it_says_so(handling):
    east, west = SubClusterId("east"), SubClusterId("west")
    managers = {east: Conf("1000", constraints=handling.value), west: Conf("2000")}
    epochs = Epochs(managers)
    assert epochs.constraints(east) is None, "it has not told"
    await epochs.ask()
    assert epochs.constraints(east) is handling
    assert epochs.constraints(west) is ConstraintHandling.NONE


@pytest.mark.parametrize("body", [b'{"a":' + b"[" * 100_000, b'{"properties":[{"key":"\xff"}]}', b"[]", b""])
async def test_what_cannot_be_read_is_asked_for_again_and_keeps_nobody_elses_epoch_away(body):
    managers = {EAST: Conf("5"), WEST: Conf("7")}
    managers[EAST].answer = RestAnswer(200, (), body)
    epochs = Epochs(managers)
    await epochs.ask()
    assert (epochs.may_span(EAST), epochs.may_span(WEST)) == (False, True)
    managers[EAST].answer = Conf("5").answer
    await epochs.ask()
    assert epochs.is_complete


async def test_equal_epochs_clash_and_those_that_do_not_tell_are_asked_again():
    managers = {name: Conf("5") for name in (EAST, WEST)}
    silent = SubClusterId("north")
    managers[silent] = Conf("9", status=500)
    epochs = Epochs(managers)
    await epochs.ask()
    assert epochs.clashes == {EAST: 5, WEST: 5}
    assert not epochs.may_span(EAST)
    assert not epochs.is_complete
    managers[silent].answer = Conf("9").answer
    await epochs.ask()
    assert epochs.may_span(silent)
