import json
from collections import Counter

import pytest

from shim.domain.queues import PartitionReport, QueueReport, QueueState, QueueUser
from shim.domain.resources import ResourceVector
from shim.domain.steps import at_once
from shim.domain.told_bounds import LONGEST_NAME, MOST_LABELS
from shim.errors import RemoteProtocolError
from shim.protocol.rest.queue_trees import (
    _by_name,
    _CapacityQueue,
    _CapacityQueues,
    _counts_all,
    _labels,
    _limit,
    _Partition,
    _Partitions,
    _User,
    open_scheduler,
    read_scheduler,
)
from shim.protocol.wire_values import WireResource
from tests.doubles.recorded import recorded_exchange, recorded_exchanges
from tests.support.loop_watch import too_long_at_once

TOTAL = ResourceVector(8192, 8)
LEAF = {"type": "capacitySchedulerLeafQueueInfo", "queueName": "dev"}


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


def opened(raw):
    """Paths of the queues that are read, and what is left out."""
    tree = at_once(open_scheduler(raw, TOTAL))
    paths = [queue.path for queue in tree.queues]
    return paths, +(tree.left_out + Counter(queues=tree.count - len(paths)))


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
    {"queueName": "odd", "maximumAllocation": {"memory": {}}},
]


def among(rows, odd, at):
    return [*rows[:at], odd, *rows[at:]]


@pytest.mark.parametrize("odd", ODD_QUEUES)
def test_a_queue_that_cannot_be_read_costs_itself_and_what_is_below_it(odd):
    below = odd | {"queues": {"queue": [{"queueName": "child"}]}} if isinstance(odd, dict) else odd
    good = {"queueName": "b", "queues": {"queue": [{"queueName": "c"}]}}
    paths, left_out = opened(capacity(below, good))
    assert paths == ["root", "root.b", "root.b.c"]
    assert left_out["queues"] == (2 if isinstance(odd, dict) else 1)


RESOURCES = [{"name": "memory-mb", "value": 512}, {"name": "gpu", "value": 4}]
USERS = [{"username": name, "numActiveApplications": 1} for name in ("alice", "bob")]
PARTITIONS = [{"partitionName": name, "effectiveMaxResource": {"memory": 100, "vCores": 1}} for name in ("", "gpu")]
USES = [{"partitionName": name, "used": {"memory": 60, "vCores": 1}} for name in ("", "gpu")]


def with_users(rows):
    return {"users": {"user": rows}}


def with_partitions(rows):
    return {"capacities": {"queueCapacitiesByPartition": rows}}


def with_uses(rows):
    return {"resources": {"resourceUsagesByPartition": rows}}


def with_types(rows):
    return {"maximumAllocation": {"memory": 512, "vCores": 1, "resourceInformations": {"resourceInformation": rows}}}


def with_labels(rows):
    return {"nodeLabels": rows}


NESTED = [
    (with_users, USERS, "users"),
    (with_partitions, PARTITIONS, "partitions"),
    (with_uses, USES, "partitions"),
    (with_types, RESOURCES, "resource types"),
    (with_labels, ["gpu", "ssd"], "labels"),
]


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("odd", [None, 5, [], {"a": []}], ids=str)
@pytest.mark.parametrize(("put", "rows", "noun"), NESTED)
def test_an_odd_row_within_a_queue_costs_itself(put, rows, noun, odd, at):
    tree = at_once(open_scheduler(capacity(LEAF | put(rows), {"queueName": "b"}), TOTAL))
    good = list(tree.queues)
    assert +tree.left_out == {}
    spoilt = at_once(open_scheduler(capacity(LEAF | put(among(rows, odd, at)), {"queueName": "b"}), TOTAL))
    found = list(spoilt.queues)
    assert [queue.path for queue in found] == ["root", "root.dev", "root.b"]
    assert found == good
    is_none = noun == "resource types" and isinstance(odd, dict)  # an amount of nothing says nothing
    assert +spoilt.left_out == ({} if is_none else {noun: 1})


@pytest.mark.parametrize("odd", [5, [], {"a": 1}], ids=str)
@pytest.mark.parametrize("member", ["state", "queueName", "orderingPolicyInfo"])
def test_an_odd_member_of_the_root_costs_itself(member, odd):
    assert opened(capacity(LEAF, **{member: odd})) == (["root", "root.dev"], {"queues": 1})
    root = {"queueName": "root", "maxResources": odd if odd != {"a": 1} else {"memory": []}}
    root |= {"childQueues": {"queue": [{"queueName": "root.b"}]}}
    raw = json.dumps({"scheduler": {"schedulerInfo": {"type": "fairScheduler", "rootQueue": root}}}).encode()
    assert opened(raw) == (["root", "root.b"], {"queues": 1})


@pytest.mark.parametrize("odd", [5, "x", [], True], ids=str)
@pytest.mark.parametrize(
    ("member", "noun"),
    [("users", "users"), ("capacities", "partitions"), ("resources", "partitions"), ("queues", "queues")],
)
def test_what_holds_rows_and_is_odd_costs_itself(member, noun, odd):
    tree = at_once(open_scheduler(capacity(LEAF | {member: odd}, {"queueName": "b"}), TOTAL))
    assert [queue.path for queue in tree.queues] == ["root", "root.dev", "root.b"]
    assert +tree.left_out == {noun: 1}


@pytest.mark.parametrize(
    ("put", "rows", "odd", "noun"),
    [
        (with_users, USERS, {"username": "alice", "numActiveApplications": 7}, "users"),
        (with_users, USERS, {"numActiveApplications": 7}, "users"),
        (with_users, USERS, {"username": "x" * 1025}, "users"),
        (with_users, USERS, {"username": "carol", "resourcesUsed": "much"}, "users"),
        (with_partitions, PARTITIONS, {"effectiveMaxResource": {"memory": 1, "vCores": 1}}, "partitions"),
        (with_partitions, PARTITIONS, {"partitionName": "gpu"}, "partitions"),
        (with_uses, USES, {"partitionName": "gpu", "used": {"memory": 7}}, "partitions"),
        (with_uses, USES, {"used": {"memory": 7}}, "partitions"),
        (with_labels, ["gpu", "ssd"], "x" * 1025, "labels"),
    ],
)
def test_a_row_without_a_name_of_its_own_costs_itself(put, rows, odd, noun):
    good = read(capacity(LEAF | put(rows)))[1]["root.dev"]
    tree = at_once(open_scheduler(capacity(LEAF | put([*rows, odd])), TOTAL))
    assert list(tree.queues)[1] == good
    assert +tree.left_out == {noun: 1}


def test_rows_within_a_queue_are_bounded():
    users = [{"username": f"user{number}"} for number in range(10_003)]
    labels = [f"label{number}" for number in range(205)]
    partitions = [{"partitionName": label} for label in labels]
    told = LEAF | with_users(users) | with_labels(labels) | with_partitions(partitions)
    tree = at_once(open_scheduler(capacity(told), TOTAL))
    queue = list(tree.queues)[1]
    assert (len(queue.users), len(queue.labels)) == (10_000, 200)
    assert +tree.left_out == {"users": 3, "labels": 5, "partitions": 5}


@pytest.mark.parametrize("again", ["dev", "root.dev"])
def test_of_queues_of_one_name_the_first_is_read(again):
    paths, left_out = opened(capacity(LEAF, {"queueName": again, "queues": {"queue": [{"queueName": "c"}]}}))
    assert (paths, left_out) == (["root", "root.dev"], {"queues": 2})


def test_nulls_of_a_queue_are_as_if_nothing_were_told():
    nulls = dict.fromkeys(("type", "state", "numApplications", "nodeLabels", "autoCreateChildQueueEnabled", "queues"))
    _, queues = read(capacity({"queueName": "a"} | nulls))
    assert queues["root.a"].state is QueueState.RUNNING


@pytest.mark.parametrize("odd", [5, None, {"queueName": None}, {"queueName": "root.odd", "usedResources": []}])
def test_of_a_fair_scheduler_too(odd):
    root = {"queueName": "root", "childQueues": {"queue": [odd, {"queueName": "root.b"}]}}
    info = {"type": "fairScheduler", "rootQueue": root}
    raw = json.dumps({"scheduler": {"schedulerInfo": info}}).encode()
    assert opened(raw) == (["root", "root.b"], {"queues": 1})


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


@pytest.mark.parametrize("name", ["", None])
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
def test_whether_virtual_cores_count_is_seen_by_what_application_masters_may_hold(masters, percent, counts_all, name):
    leaf = LEAF | in_partition(name, maxAMLimitPercentage=percent) | {"AMResourceLimit": masters}
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


@pytest.mark.parametrize(
    ("told", "kept", "left_out"),
    [
        ([], {}, 0),
        (["a", "b"], {"a": 0, "b": 1}, 0),
        (["a", "a", "b"], {"a": 0, "b": 2}, 1),
        (["", None, "a"], {"a": 2}, 2),
        (["x" * LONGEST_NAME, "x" * (LONGEST_NAME + 1)], {"x" * LONGEST_NAME: 0}, 1),
        (["a", "b", "c", "d"], {"a": 0, "b": 1, "c": 2}, 1),
    ],
)
def test_rows_of_users_are_found_by_their_names_the_first_of_each_and_so_many(told, kept, left_out):
    rows, counted = [_User(username=name or "") for name in told], Counter()
    assert _by_name(rows, "users", 3, counted) == {name: rows[at] for name, at in kept.items()}
    assert +counted == ({"users": left_out} if left_out else {})


def test_the_partition_without_a_name_is_one_and_one_of_which_none_is_told_is_none():
    rows, counted = [_Partition(partitionName=name) for name in ("", None, "gpu", "")], Counter()
    assert _by_name(rows, "partitions", 9, counted) == {"": rows[0], "gpu": rows[2]}
    assert counted == {"partitions": 2}


def test_of_labels_each_is_kept_once_that_is_short_and_so_many():
    long, most = "x" * (LONGEST_NAME + 1), [f"l{number}" for number in range(MOST_LABELS + 3)]
    for told, kept, left_out in (
        ([], (), 0),
        (["b", "a", "b"], ("b", "a"), 0),
        (["a", long, long[:-1]], ("a", long[:-1]), 1),
        (most, tuple(most[:MOST_LABELS]), 3),
        (most[:MOST_LABELS], tuple(most[:MOST_LABELS]), 0),
    ):
        counted = Counter()
        assert (_labels(told, counted), counted["labels"]) == (kept, left_out)


@pytest.mark.parametrize(
    ("told", "limit"),
    [
        *((None, None), (True, None), (False, None), (-1, None), ("-1", None), (" -7", None), ("many", None)),
        *((0, 0), (7, 7), ("7", 7), (2**31 - 2, 2**31 - 2), (2**31 - 1, None), (2**31, None), (2.0, 2)),
    ],
)
def test_a_limit_is_a_number_below_that_which_stands_for_none(told, limit):
    assert _limit(told) == limit


def amount(memory, vcores):
    return WireResource(memory=memory, vCores=vcores)


def a_leaf(masters, least, share, label=""):
    part = _Partition(partitionName=label, maxAMLimitPercentage=share)
    limits = _Partitions(queueCapacitiesByPartition=[_Partition(partitionName="gpu", maxAMLimitPercentage=99.0), part])
    return _CapacityQueue(queueName="a", AMResourceLimit=masters, minEffectiveCapacity=least, capacities=limits)


@pytest.mark.parametrize(
    ("leaf", "counts_all"),
    [
        (a_leaf(None, None, 10.0), None),
        (a_leaf(amount(0, 7), amount(9, 99), 50.0), None),
        (a_leaf(amount(1, 1), amount(9, 99), 50.0), False),
        (a_leaf(amount(1, 2), amount(9, 99), 50.0), True),
        (a_leaf(amount(1, 0), amount(9, 99), 50.0), True),
        (a_leaf(amount(1, 1), amount(9, 2), 50.0), None),
        (a_leaf(amount(1, 1), amount(9, 3), 50.0), False),
        (a_leaf(amount(1, 1), amount(9, 99), 50.0, "fpga"), None),
        (_CapacityQueue(queueName="a", AMResourceLimit=amount(1, 1), capacities=""), None),
    ],
)
def test_which_types_limits_are_of_is_told_by_what_masters_may_hold(leaf, counts_all):
    """One virtual core is what it would be by memory alone, unless its part of the queue's is one, too."""
    above = _CapacityQueue(queueName="root", queues=_CapacityQueues(queue=[_CapacityQueue(queueName="x"), leaf]))
    assert _counts_all(leaf) is counts_all
    assert _counts_all(above) is counts_all
    by_memory = a_leaf(amount(1, 1), amount(9, 99), 50.0)
    both = _CapacityQueue(queueName="root", queues=_CapacityQueues(queue=[by_memory, leaf]))
    assert _counts_all(both) is (counts_all is True)


@pytest.mark.parametrize("largest", [0, 512])
def test_a_fifo_scheduler_has_one_queue_of_all(largest):
    info = {"type": "fifoScheduler", "qstate": "RUNNING", "usedNodeCapacity": 256, "maxQueueMemoryCapacity": largest}
    document, queues = read(json.dumps({"scheduler": {"schedulerInfo": info}}).encode())
    assert document.maximum_allocation == (ResourceVector(512, 0) if largest else TOTAL)
    assert queues == {
        "default": QueueReport(
            path="default",
            state=QueueState.RUNNING,
            is_leaf=True,
            capacity=TOTAL,
            maximum=TOTAL,
            used=ResourceVector(256, 0),
            labels=("*",),
            counts_all=False,
        )
    }
