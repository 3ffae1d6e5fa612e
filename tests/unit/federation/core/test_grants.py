"""Limits of one container, against plain sums over the nodes and queues that a cluster tells of."""

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shim.domain.ids import NodeId, SubClusterId
from shim.domain.queues import PartitionReport, QueueReport, QueueState
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport, SubClusterState
from shim.federation.core.federation_view import SubClusterView, partitions_of
from shim.federation.core.grants import (
    Bound,
    SizeLimit,
    amounts_of,
    freest_of,
    grant_of,
    least_of,
    nodes_of,
    path_of,
    size_limits,
    told,
)
from tests.support.examples import examples

EAST = SubClusterId("east")
SCHEDULERS = ("capacityScheduler", "fairScheduler", "fifoScheduler")
AMOUNTS = st.integers(0, 9)
RESOURCES = st.builds(ResourceVector, AMOUNTS, AMOUNTS, st.dictionaries(st.sampled_from(["fpga", "gpu"]), AMOUNTS))
NODES = st.lists(
    st.builds(
        NodeReport,
        st.builds(NodeId, st.just("n"), st.integers(1, 9)),
        st.just("/r"),
        st.sampled_from(["RUNNING", "RUNNING", "LOST"]),
        RESOURCES,
        RESOURCES,
        labels=st.sampled_from([(), (), ("gpu",), ("gpu", "ssd")]),
    ),
    max_size=5,
)


def a_queue(path, maximum=None, **more):
    maximum = ResourceVector(0) if maximum is None else maximum
    return QueueReport(
        path, QueueState.RUNNING, is_leaf=True, capacity=maximum, maximum=maximum, used=ResourceVector(), **more
    )


def a_view(nodes=(), scheduler="capacityScheduler", *, is_indexed=False, queues=(), **more):
    seen = SubClusterView(
        EAST,
        SubClusterState.RUNNING,
        1.0,
        scheduler=scheduler,
        nodes=tuple(nodes),
        queues={queue.path: queue for queue in queues},
        **more,
    )
    return replace(seen, partitions=partitions_of(nodes)) if is_indexed else seen


def running_in(nodes, label, scheduler):
    up = [node for node in nodes if node.state == "RUNNING"]
    if label:
        return [node for node in up if label in node.labels]
    is_whole = scheduler != "capacityScheduler" and any(node.labels for node in up)
    return up if is_whole else [node for node in up if not node.labels]


def by_id(nodes):
    return sorted(nodes, key=lambda node: (str(node.node), str(node)))


TWO_KINDS = [NodeReport(NodeId("n", 1), "/r", "RUNNING", ResourceVector(8, 8), ResourceVector())]
TWO_KINDS.append(replace(TWO_KINDS[0], node=NodeId("n", 2), total=ResourceVector(9, 3), labels=("gpu",)))


@given(NODES, st.sampled_from(["", "gpu", "ssd", "other"]), st.sampled_from(SCHEDULERS), st.booleans())
@example(nodes=TWO_KINDS, label="", scheduler="fairScheduler", is_indexed=False)
@example(nodes=TWO_KINDS[:1], label="", scheduler="fairScheduler", is_indexed=True)
@example(nodes=TWO_KINDS[1:], label="", scheduler="fifoScheduler", is_indexed=True)
@settings(max_examples=examples(200))
def test_nodes_of_a_partition_are_those_with_its_label_and_without_partitions_all(nodes, label, scheduler, is_indexed):
    seen = a_view(nodes, scheduler, is_indexed=is_indexed)
    expected = running_in(nodes, label, scheduler)
    found = nodes_of(seen, label)
    whole = {id(node): node for node in found} if scheduler != "capacityScheduler" and not label else None
    assert by_id(found if whole is None else whole.values()) == by_id(expected)


@given(NODES, st.sampled_from(["", "gpu", "ssd"]), st.sampled_from(SCHEDULERS))
@example(TWO_KINDS, "", "fairScheduler")
@example(TWO_KINDS[:1], "", "fairScheduler")
@example([replace(TWO_KINDS[0], total=ResourceVector(1, 1, {"gpu": 1}), used=ResourceVector(2, 2, {"gpu": 2}))], "", "")
@example([TWO_KINDS[0], replace(TWO_KINDS[0], total=ResourceVector(1, 1, {"gpu": -1}))], "", "capacityScheduler")
@example([replace(TWO_KINDS[0], total=ResourceVector(1, 1, {name: 0})) for name in ("gpu", "fpga")], "", "")
@settings(max_examples=examples(200))
def test_the_freest_is_the_most_of_each_type_that_some_node_of_the_partition_has_free(nodes, label, scheduler):
    found = freest_of(a_view(nodes, scheduler, is_indexed=True), label)
    there = running_in(nodes, label, scheduler)
    labels = {label for node in nodes if node.state == "RUNNING" for label in node.labels or ("",)}
    is_at_hand = scheduler == "capacityScheduler" or label or labels == {""}
    assert freest_of(a_view(nodes, scheduler), label) is None
    if not there or not is_at_hand:
        assert found is None
        return
    free = [amounts_of(node.total - node.used) for node in there]
    assert found is not None
    assert amounts_of(found) == {name: max(each.get(name, 0) for each in free) for each in free for name in each}


@pytest.mark.parametrize(
    ("told_most", "queue_most", "needed", "above"),
    [
        (ResourceVector(4, 2), None, ResourceVector(4, 2), []),
        (ResourceVector(4, 2), None, ResourceVector(5, 2), ["its maximum allocation of 4 MiB and 2 vcores"]),
        (ResourceVector(4, 2), None, ResourceVector(4, 3), ["its maximum allocation of 4 MiB and 2 vcores"]),
        (ResourceVector(4, 0), None, ResourceVector(4, 99), []),
        (ResourceVector(4, 1), None, ResourceVector(4, 2), ["its maximum allocation of 4 MiB and 1 vcores"]),
        (ResourceVector(1, 2), None, ResourceVector(2, 2), ["its maximum allocation of 1 MiB and 2 vcores"]),
        (
            ResourceVector(),
            ResourceVector(1, 2),
            ResourceVector(2, 2),
            ["the maximum allocation of queue root.a.b, 1 MiB and 2 vcores"],
        ),
        (ResourceVector(0, 2), None, ResourceVector(99, 99), []),
        (
            ResourceVector(9, 9, {"gpu": 1}),
            ResourceVector(2, 1),
            ResourceVector(3, 1, {"gpu": 2}),
            [
                "its maximum allocation of 9 MiB and 9 vcores, 1 gpu",
                "the maximum allocation of queue root.a.b, 2 MiB and 1 vcores",
            ],
        ),
    ],
)
def test_what_is_above_the_largest_container_of_cluster_or_queue_is_refused(told_most, queue_most, needed, above):
    leaf = a_queue("root.a.b", maximum_allocation=queue_most or ResourceVector())
    queues = [leaf, a_queue("root.a"), a_queue("root", maximum_allocation=ResourceVector(1, 1))]
    queues = queues if queue_most else queues[:2]
    seen = a_view(queues=queues, maximum_allocation=told_most)
    found = list(size_limits(seen, leaf, ""))
    assert {limit.bound for limit in found} <= {Bound.REFUSED}
    assert [limit.whose for limit in found if limit.is_above(needed)] == above


UP = NodeReport(NodeId("n", 1), "/r", "RUNNING", ResourceVector(8, 8), ResourceVector())


@pytest.mark.parametrize(
    ("counts_all", "bounds"),
    [
        (True, {"memory-mb": Bound.NEVER, "vcores": Bound.NEVER}),
        (False, {"memory-mb": Bound.NEVER}),
        (None, {"memory-mb": Bound.NEVER, "vcores": Bound.UNSURE}),
    ],
)
def test_what_is_above_a_queues_part_never_starts_by_what_its_scheduler_counts(counts_all, bounds):
    leaf = a_queue("root.a", ResourceVector(4, 2), counts_all=counts_all)
    limits = list(size_limits(a_view([UP], queues=[leaf]), leaf, ""))
    assert {name: limit.bound for limit in limits for name in limit.most} == bounds
    assert all(limit.most[name] == {"memory-mb": 4, "vcores": 2}[name] for limit in limits for name in limit.most)
    assert {limit.whose for limit in limits} == {"the 4 MiB and 2 vcores that queue root.a may hold at most"}
    assert list(size_limits(a_view([replace(UP, state="LOST")], queues=[leaf]), leaf, "")) == []


@pytest.mark.parametrize(
    ("maximum", "partitions", "label", "is_limited"),
    [
        (ResourceVector(1, 0), (), "", True),
        (ResourceVector(0, 1), (), "", False),
        (ResourceVector(1, 1), (PartitionReport("", None),), "", False),
        (ResourceVector(1, 1), (PartitionReport("", ResourceVector(0, 0)),), "", True),
        (ResourceVector(1, 1), (PartitionReport("gpu", ResourceVector(2, 2)),), "gpu", True),
        (ResourceVector(1, 1), (), "gpu", False),
    ],
    ids=["told", "nothing told", "part not told", "a part of nothing", "with a label", "label not told"],
)
def test_a_queues_part_limits_where_it_is_told(maximum, partitions, label, is_limited):
    leaf = a_queue("root.a", maximum, partitions=partitions, counts_all=True)
    limits = list(size_limits(a_view([UP, replace(UP, labels=("gpu",))], queues=[leaf]), leaf, label))
    assert len(limits) == is_limited
    assert all((" of partition gpu that queue" in limit.whose) is bool(label) for limit in limits)


def test_a_type_that_a_limit_does_not_name_is_not_above_it():
    limit = SizeLimit({"memory-mb": 4}, Bound.NEVER, "", ResourceVector(4))
    assert not limit.is_above(ResourceVector(4, 9, {"gpu": 9}))
    assert limit.is_above(ResourceVector(5))


@given(NODES, RESOURCES, RESOURCES, st.sampled_from(["", "gpu"]), st.booleans(), st.sampled_from([True, False, None]))
@settings(max_examples=examples(200))
def test_a_grant_is_the_least_of_all_sure_limits_and_of_the_largest_node(
    nodes, largest, maximum, label, has_queue, counts_all
):
    leaf = a_queue("root.a", maximum, counts_all=counts_all)
    seen = a_view(nodes, queues=[leaf], maximum_allocation=largest)
    queue = leaf if has_queue else None
    sure = [limit.most for limit in size_limits(seen, queue, label) if limit.bound is not Bound.UNSURE]
    around = running_in(nodes, label, seen.scheduler) if has_queue or label else running_in(nodes, "", "fairScheduler")
    expected = {}
    for name in ("memory-mb", "vcores", *largest.others):
        amounts = [limit[name] for limit in sure if name in limit]
        if around:
            amounts.append(max(amounts_of(node.total).get(name, 0) for node in around))
        expected[name] = min(amounts, default=0)
    assert amounts_of(grant_of(seen, queue, label)) == (expected if sure else {"memory-mb": 0, "vcores": 0})


def test_without_a_queue_a_grant_is_of_the_largest_node_of_a_partition_if_it_is_named():
    seen = a_view(TWO_KINDS, maximum_allocation=ResourceVector(99, 99))
    assert grant_of(seen, None, "") == ResourceVector(9, 8)
    assert grant_of(seen, None, "gpu") == ResourceVector(9, 3)
    assert grant_of(replace(seen, maximum_allocation=ResourceVector()), None, "gpu") == ResourceVector()


def test_the_path_of_a_queue_is_what_is_told_of_those_above_it():
    root, above, leaf = a_queue("root"), a_queue("root.a"), a_queue("root.a.b")
    assert path_of(a_view(queues=[root, above, leaf]), leaf) == [leaf, above, root]
    assert path_of(a_view(queues=[root, leaf]), leaf) == [leaf, root], "one above that is not told is left out"
    assert path_of(a_view(queues=[leaf]), leaf) == [leaf]
    assert path_of(a_view(queues=[root]), None) == []


@given(st.lists(RESOURCES, max_size=4))
def test_the_least_is_of_each_type_over_those_that_have_it(grants):
    amounts = [amounts_of(each) for each in grants]
    expected = {name: min(each[name] for each in amounts if name in each) for one in amounts for name in one}
    assert amounts_of(least_of(grants)) == {"memory-mb": 0, "vcores": 0} | expected


def test_a_resource_is_told_with_all_its_types():
    assert told(ResourceVector(5, 2, {"gpu": 1, "fpga": 3})) == "5 MiB and 2 vcores, 1 gpu, 3 fpga"
