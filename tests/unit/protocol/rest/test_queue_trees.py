import json

import pytest

from shim.domain.queues import QueueState
from shim.domain.resources import ResourceVector
from shim.errors import RemoteProtocolError
from shim.protocol.rest.queue_trees import read_scheduler
from shim.testing.recorded import recorded_exchange, recorded_exchanges

TOTAL = ResourceVector(8192, 8)


def read(raw):
    document = read_scheduler(raw, TOTAL)
    return document, {queue.path: queue for queue in document.queues}


def test_a_capacity_tree_has_paths_leaves_amounts_and_labels():
    document, queues = read(recorded_exchange("labels/scheduler_labelled.json").body)
    assert document.kind == "capacityScheduler"
    assert document.maximum_allocation == ResourceVector(8192, 4)
    leaves = {path for path, queue in queues.items() if queue.is_leaf}
    assert {"root.default", "root.prod", "root.eng.dev", "root.eng.test"} <= leaves
    assert not {"root", "root.eng"} & leaves
    assert queues["root.default"].capacity == ResourceVector(1228, 1)
    pending = queues["root.default"].pending
    assert pending.memory_mib == 128 * pending.vcores > 0  # what a shell still wants: containers of 128 MiB, 1 vcore
    assert queues["root"].capacity == TOTAL


def test_a_fair_tree_has_shares_and_demand():
    document, queues = read(recorded_exchange("fair/scheduler_apps.json").body)
    assert document.kind == "fairScheduler"
    assert document.maximum_allocation == ResourceVector(4096, 4)
    leaves = [path for path, queue in queues.items() if queue.is_leaf]
    assert leaves == ["root.eng.dev", "root.eng.test", "root.default", "root.fresh"]
    assert queues["root.default"].used == ResourceVector(1024, 1)
    assert (queues["root.default"].applications, queues["root.default"].maximum_applications) == (1, 5)
    assert queues["root.eng.dev"].maximum_applications == 0


def test_a_fifo_scheduler_is_one_queue():
    document, queues = read(recorded_exchange("fifo/scheduler.json").body)
    assert document.maximum_allocation.memory_mib == 4096  # of the largest node
    assert queues["default"].is_leaf


def capacity(*queues, **root):
    info = {"type": "capacityScheduler", "queueName": "root", "queues": {"queue": list(queues)}} | root
    return json.dumps({"scheduler": {"schedulerInfo": info}}).encode()


def test_an_old_version_tells_percentages_and_names_only():
    leaf = {"type": "capacitySchedulerLeafQueueInfo", "queueName": "prod", "state": "STOPPED", "absoluteCapacity": 25.0}
    leaf |= {"absoluteMaxCapacity": "50.0", "resourcesUsed": {"memory": 10, "vCores": 1}, "nodeLabels": "*"}
    document, queues = read(capacity(leaf))
    prod = queues["root.prod"]
    assert (prod.capacity, prod.maximum) == (ResourceVector(2048, 2), ResourceVector(4096, 4))
    assert (prod.used, prod.state, prod.labels) == (ResourceVector(10, 1), QueueState.STOPPED, ("*",))
    assert document.maximum_allocation == ResourceVector()


def test_a_list_of_one_queue_may_be_unwrapped_and_no_queues_may_be_null():
    inner = {"queueName": "a", "queues": {"queue": {"queueName": "b", "queues": None}}}
    _, queues = read(capacity(inner))
    assert [(path, queue.is_leaf) for path, queue in queues.items()] == [
        ("root", False),
        ("root.a", False),
        ("root.a.b", True),
    ]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "", "x", None])
def test_a_share_that_is_no_number_is_none(value):
    leaf = {"queueName": "a", "type": "capacitySchedulerLeafQueueInfo", "absoluteCapacity": value}
    if value is None:
        del leaf["absoluteCapacity"]
    _, queues = read(capacity(leaf))
    assert queues["root.a"].capacity == ResourceVector()


@pytest.mark.parametrize("field", [{"autoCreateChildQueueEnabled": True}, {"autoCreationEligibility": "flexible"}])
def test_a_parent_that_makes_leaves_is_told_from_one_that_does_not(field):
    parent = {"queueName": "auto", "queueType": "parent"}
    _, queues = read(capacity(parent | field, {"queueName": "plain", "queueType": "parent"}))
    assert queues["root.auto"].creates_children
    assert not queues["root.plain"].creates_children
    assert not queues["root.auto"].is_leaf


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b"garbage",
        b'{"scheduler":{"schedulerInfo":{"type":"otherScheduler"}}}',
        capacity({"queueName": "a", "state": "SLEEPING"}),
    ],
)
def test_what_is_no_known_scheduler_is_refused(raw):
    with pytest.raises(RemoteProtocolError):
        read_scheduler(raw, TOTAL)


@pytest.mark.parametrize(
    ("told", "waiting"),
    [
        ({"type": "capacityScheduler", "queueName": "root", "numPendingApplications": 3}, 3),
        ({"type": "fairScheduler", "rootQueue": {"queueName": "root", "numPendingApps": 2, "numActiveApps": 4}}, 2),
        ({"type": "capacityScheduler", "queueName": "root"}, 0),
    ],
)
def test_applications_whose_masters_wait_are_told(told, waiting):
    _, queues = read(json.dumps({"scheduler": {"schedulerInfo": told}}).encode())
    assert queues["root"].waiting_applications == waiting


def test_every_recorded_tree_is_read():
    seen = set()
    for exchange in recorded_exchanges().values():
        is_tree = exchange.path.rstrip("/") == "/ws/v1/cluster/scheduler" and exchange.method == "GET"
        if is_tree and exchange.status == 200 and exchange.body.startswith(b"{"):
            seen.add(read_scheduler(exchange.body, TOTAL).kind)
    assert seen == {"capacityScheduler", "fairScheduler", "fifoScheduler"}
