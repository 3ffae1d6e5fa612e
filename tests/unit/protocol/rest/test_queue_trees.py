import json

import pytest

from shim.domain.queues import PartitionReport, QueueState, QueueUser
from shim.domain.resources import ResourceVector
from shim.errors import RemoteProtocolError
from shim.protocol.rest.queue_trees import open_scheduler, read_scheduler
from tests.doubles.recorded import recorded_exchange, recorded_exchanges
from tests.support.loop_watch import too_long_at_once

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


@pytest.mark.parametrize(
    ("percent", "effective", "capacity_told"),
    [
        (25.0, None, ResourceVector(2048, 2, {"gpu": 1})),
        (12.5, None, ResourceVector(1024, 1)),
        (100, None, ResourceVector(8192, 8, {"gpu": 4})),
        (150.0, None, ResourceVector(8192, 8, {"gpu": 4})),
        (0, None, ResourceVector()),
        (-5, None, ResourceVector()),
        (50.0, {"memory": 1000, "vCores": 3}, ResourceVector(1000, 3)),
        (50.0, {"memory": 0, "vCores": 0}, ResourceVector()),
    ],
)
def test_an_amount_is_what_the_scheduler_computed_or_else_its_percentage_of_every_type(
    percent, effective, capacity_told
):
    leaf = {"type": "capacitySchedulerLeafQueueInfo", "queueName": "a", "absoluteCapacity": percent}
    if effective is not None:
        leaf["minEffectiveCapacity"] = effective
    total = ResourceVector(8192, 8, {"gpu": 4})
    queues = {queue.path: queue for queue in read_scheduler(capacity(leaf), total).queues}
    told = queues["root.a"].capacity
    assert (told.memory_mib, told.vcores) == (capacity_told.memory_mib, capacity_told.vcores)
    assert {name: amount for name, amount in told.others.items() if amount} == dict(capacity_told.others)


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


def test_a_queue_in_a_state_of_a_newer_hadoop_is_sent_nothing():
    _, queues = read(capacity({"queueName": "a", "state": "SLEEPING"}, {"queueName": "b", "state": "RUNNING"}))
    assert (queues["root.a"].state, queues["root.b"].state) == (QueueState.STOPPED, QueueState.RUNNING)


ODD_QUEUES: list[object] = [
    5,
    None,
    "a",
    [],
    {"queueName": {"x": 1}},
    {"queueName": ""},
    {"queueName": None},
    {"capacity": 50.0},
    {"queueName": "odd", "resourcesUsed": "much"},
    {"queueName": "odd", "state": ["RUNNING"]},
    {"queueName": "odd", "nodeLabels": {"a": 1}},
    {"queueName": "odd", "users": 5},
]


@pytest.mark.parametrize("odd", ODD_QUEUES)
def test_a_queue_that_cannot_be_read_costs_itself_and_what_is_below_it(odd):
    below = odd | {"queues": {"queue": [{"queueName": "child"}]}} if isinstance(odd, dict) else odd
    good = {"queueName": "b", "queues": {"queue": [{"queueName": "c"}]}}
    _, (count, rows), _ = open_scheduler(capacity(below, good), TOTAL)
    paths = [queue.path for queue in rows]
    assert paths == ["root", "root.b", "root.b.c"]
    assert count > len(paths), "what is lost is counted"


def test_nulls_of_a_queue_are_as_if_nothing_were_told():
    nulls = dict.fromkeys(("type", "state", "numApplications", "nodeLabels", "autoCreateChildQueueEnabled", "queues"))
    _, queues = read(capacity({"queueName": "a"} | nulls))
    assert queues["root.a"].state is QueueState.RUNNING


@pytest.mark.parametrize("odd", [5, None, {"queueName": None}, {"queueName": "root.odd", "usedResources": []}])
def test_of_a_fair_scheduler_too(odd):
    root = {"queueName": "root", "childQueues": {"queue": [odd, {"queueName": "root.b"}]}}
    info = {"type": "fairScheduler", "rootQueue": root}
    raw = json.dumps({"scheduler": {"schedulerInfo": info}}).encode()
    _, (count, rows), _ = open_scheduler(raw, TOTAL)
    assert [queue.path for queue in rows] == ["root", "root.b"]
    assert count == 3


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b"garbage",
        b'{"scheduler":{"schedulerInfo":{"type":"otherScheduler"}}}',
        b'{"scheduler":{"schedulerInfo":[]}}',
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


def test_limits_are_those_of_each_partition_and_user():
    _, queues = read(recorded_exchange("labels/scheduler_labelled.json").body)
    default, prod, eng = queues["root.default"], queues["root.prod"], queues["root.eng"]
    most, none = ResourceVector(4096, 4), ResourceVector()
    one = ResourceVector(256, 1)
    assert default.partitions == (
        PartitionReport("", most, ResourceVector(512, 3), ResourceVector(3200, 3), one),
        PartitionReport("fast", none),
        PartitionReport("ssd", none),
        PartitionReport("gpu", most, ResourceVector(640, 4), ResourceVector(3328, 4), one),
    )
    assert default.users == (
        QueueUser("root", 1, ResourceVector(896, 6), ResourceVector(3200, 4), one),
        QueueUser("dana", 1, ResourceVector(256, 1), ResourceVector(3200, 4), none),
    )
    assert (default.maximum_applications_of_user, prod.maximum_applications_of_user) == (10000, 3000)
    assert prod.masters_of_user == ResourceVector(1024, 1)
    assert {queue.maximum_allocation for queue in (default, prod, eng)} == {ResourceVector(8192, 4)}
    assert {(queue.counts_all, queue.most_running) for queue in queues.values()} == {(True, None)}


def test_limits_of_a_fair_queue_are_told():
    _, queues = read(recorded_exchange("fair/scheduler_apps.json").body)
    default = queues["root.default"]
    own = ResourceVector(1024, 1)
    assert default.partitions == (PartitionReport("", ResourceVector(4096, 4), own, ResourceVector(1024, 2), own),)
    assert (default.most_running, queues["root.fresh"].most_running) == (5, None)
    assert (default.maximum_allocation, default.counts_all) == (ResourceVector(4096, 4), True)


def test_hadoop_2_tells_the_share_of_application_masters_and_percentages():
    exchange = recorded_exchanges("2.10.2")["apps_one/scheduler.json"]
    default = read(exchange.body)[1]["root.default"]
    assert default.partitions[0].maximum == TOTAL
    assert (default.partitions[0].masters, default.partitions[0].masters_used) == (
        ResourceVector(6656, 7),
        ResourceVector(256, 1),
    )
    assert [(user.name, user.most) for user in default.users] == [("alice", ResourceVector(4096, 4))]


LEAF = {"type": "capacitySchedulerLeafQueueInfo", "queueName": "dev"}


@pytest.mark.parametrize(
    ("told", "is_fair"),
    [
        ({}, False),  # Hadoop 2 and 3.1 do not tell it
        ({"orderingPolicyInfo": "fifo"}, False),
        ({"orderingPolicyInfo": "fifo-with-partitions"}, False),
        ({"orderingPolicyInfo": "fair"}, True),
        ({"orderingPolicyInfo": "FairOrderingPolicy with sizeBasedWeight"}, True),
    ],
)
def test_the_order_of_a_leafs_applications_is_told_by_newer_versions(told, is_fair):
    assert read(capacity(LEAF | told))[1]["root.dev"].is_fair is is_fair


def test_queues_of_a_fair_scheduler_are_fair_unless_their_policy_is_by_arrival():
    body = recorded_exchange("fair/scheduler_apps.json").body
    assert read(body)[1]["root.default"].is_fair
    assert not read(body.replace(b'"schedulingPolicy":"fair"', b'"schedulingPolicy":"fifo"'))[1]["root.default"].is_fair


def in_partition(label, **fields):
    return {"capacities": {"queueCapacitiesByPartition": {"partitionName": label, **fields}}}


@pytest.mark.parametrize(
    ("fields", "label", "maximum"),
    [
        ({"absoluteMaxCapacity": 10.0}, "", ResourceVector(819, 0)),
        ({"absoluteMaxCapacity": "NaN"}, "", None),
        ({"absoluteMaxCapacity": 0.0}, "", ResourceVector()),
        ({"maxEffectiveCapacity": {"memory": 409, "vCores": 0}}, "", ResourceVector(409, 0)),
        (in_partition("gpu", absoluteMaxCapacity=0.0), "gpu", ResourceVector()),
        (in_partition("gpu", absoluteMaxCapacity=50.0), "gpu", None),
        (in_partition("gpu", effectiveMaxResource={"memory": 512, "vCores": 1}), "gpu", ResourceVector(512, 1)),
        ({}, "ssd", None),
    ],
)
def test_the_most_of_a_partition_is_told_or_not(fields, label, maximum):
    _, queues = read(capacity(LEAF | fields))
    assert queues["root.dev"].in_partition(label).maximum == maximum


@pytest.mark.parametrize(
    ("masters", "percent", "counts_all"),
    [
        ({"memory": 2816, "vCores": 0}, 80.0, True),
        ({"memory": 2816, "vCores": 7}, 80.0, True),
        ({"memory": 2816, "vCores": 1}, 80.0, False),
        ({"memory": 2816, "vCores": 1}, 10.0, None),
        ({"memory": 0, "vCores": 0}, 80.0, None),
        (None, 80.0, None),
    ],
)
def test_whether_virtual_cores_count_is_seen_by_what_application_masters_may_hold(masters, percent, counts_all):
    leaf = LEAF | in_partition("", maxAMLimitPercentage=percent) | {"AMResourceLimit": masters}
    leaf["minEffectiveCapacity"] = {"memory": 4096, "vCores": 4}
    assert read(capacity(leaf))[1]["root.dev"].counts_all is counts_all


@pytest.mark.parametrize(
    ("told", "limit"), [(2**31 - 1, None), (None, None), (3, 3), ("3", 3), (0, 0), (-1, None), (2**40, None)]
)
def test_a_limit_of_running_applications_is_told_or_there_is_none(told, limit):
    assert read(capacity(LEAF | {"maxParallelApps": told}))[1]["root.dev"].most_running == limit
    fair = {"type": "fairScheduler", "rootQueue": {"queueName": "root", "maxApps": told}}
    assert read(json.dumps({"scheduler": {"schedulerInfo": fair}}).encode())[1]["root"].most_running == limit


@pytest.mark.parametrize("users", [None, "", {}, {"user": None}, {"user": {"username": "alice"}}])
def test_users_are_told_in_every_form_of_a_list(users):
    found = read(capacity(LEAF | {"users": users}))[1]["root.dev"].users
    assert [user.name for user in found] == (["alice"] if users and users.get("user") else [])


def test_the_default_label_of_a_queue_is_told():
    assert read(capacity(LEAF | {"defaultNodeLabelExpression": "gpu"}))[1]["root.dev"].default_label == "gpu"
    assert read(capacity(LEAF | {"defaultNodeLabelExpression": None}))[1]["root.dev"].default_label == ""


def odd_tree(count):
    odd = b'{"queueName":5,"queues":5,"junk":[%b0]}' % (b'{"a":null},' * count)
    queues = b'{"queueName":"a","capacity":50.0},' + odd
    root = b'"type":"capacityScheduler","capacity":100.0,"queueName":"root","queues":{"queue":[%b]}' % queues
    return b'{"scheduler":{"schedulerInfo":{%b}}}' % root


async def test_no_tree_with_an_odd_queue_holds_the_loop():
    """Each queue of such a tree is looked at by itself; one that is large is refused."""
    _, queues = read(odd_tree(100))
    assert set(queues) == {"root", "root.a"}
    held = await too_long_at_once(lambda: read(odd_tree(20_000)))
    assert held is None, held
    with pytest.raises(RemoteProtocolError, match="large, and not readable"):
        read(odd_tree(200_000))
