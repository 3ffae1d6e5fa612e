"""Documents of several sub-clusters as one, from recorded documents."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import SubClusterId
from shim.protocol.rest.merges import (
    PartialDocument,
    join_list,
    merge_bulk_activities,
    merge_containers,
    merge_labels_to_nodes,
    merge_metrics,
    merge_node_labels,
    merge_nodes,
    merge_nodes_to_labels,
    merge_overview,
    merge_reservations,
    merge_schedulers,
    raw_items,
    scheduler_type,
    without_members,
)
from tests.doubles.recorded import recorded_exchange, recorded_exchanges

EAST, WEST = SubClusterId("east"), SubClusterId("west")


def parts(*bodies: bytes, weights: tuple[float, ...] = (1.0, 1.0)) -> list[PartialDocument]:
    return [
        PartialDocument(home, body, weight) for home, body, weight in zip((EAST, WEST), bodies, weights, strict=False)
    ]


def recorded(name: str) -> bytes:
    return recorded_exchange(name).body


MERGES = {
    merge_metrics: "get_empty/metrics.json",
    merge_schedulers: "get_empty/scheduler.json",
    merge_overview: "get_empty/scheduler-overview.json",
    merge_node_labels: "labels/mapped.get-node-labels.json",
    merge_nodes_to_labels: "labels/mapped.get-node-to-labels.json",
    merge_labels_to_nodes: "labels/mapped.label-mappings.json",
    merge_bulk_activities: "get_empty/bulk-activities.json",
}


@pytest.mark.parametrize(("merge", "name"), MERGES.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_federation_of_one_answers_byte_for_byte(merge, name):
    assert merge(parts(recorded(name))) == recorded(name)


@pytest.mark.parametrize(("merge", "name"), MERGES.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_merged_document_has_the_fields_of_its_parts_in_their_order(merge, name):
    def shape(value: Any) -> Any:
        if isinstance(value, dict):
            return [(key, shape(member)) for key, member in value.items()]
        return type(value).__name__ if not isinstance(value, list) else [shape(item) for item in value[:1]]

    merged = json.loads(merge(parts(recorded(name), recorded(name))))
    assert shape(merged) == shape(json.loads(recorded(name)))


def test_metrics_are_sums_but_for_peaks_and_percentages():
    def metrics(**fields: Any) -> bytes:
        return json.dumps({"clusterMetrics": {**fields, "crossPartitionMetricsAvailable": True}}).encode()

    east = metrics(appsRunning=2, totalMB=3000, utilizedMBPercent=10, rmSchedulerBusyPercent=5, rmEventQueueSize=7)
    west = metrics(appsRunning=3, totalMB=1000, utilizedMBPercent=50, rmSchedulerBusyPercent=9, rmEventQueueSize=1)
    assert json.loads(merge_metrics(parts(east, west)))["clusterMetrics"] == {
        "appsRunning": 5,
        "totalMB": 4000,
        "utilizedMBPercent": 20,
        "rmSchedulerBusyPercent": 9,
        "rmEventQueueSize": 7,
        "crossPartitionMetricsAvailable": True,
    }


def test_metrics_of_real_clusters_add_up_with_their_resource_types():
    body = recorded("get_empty/metrics.json")
    one = json.loads(body)["clusterMetrics"]
    both = json.loads(merge_metrics(parts(body, body)))["clusterMetrics"]
    assert both["totalMB"] == 2 * one["totalMB"]
    whole = both["totalClusterResourcesAcrossPartition"]
    assert whole["memory"] == 2 * one["totalMB"]
    kinds = {item["name"]: item for item in whole["resourceInformations"]["resourceInformation"]}
    assert kinds["memory-mb"]["value"] == 2 * one["totalMB"]
    assert kinds["memory-mb"]["maximumAllocation"] == 2**63 - 1


def test_nodes_are_joined_untouched_and_filtered():
    east = recorded("node_states/shutdown.nodes.json")
    # every cluster has nodes of its own, also if two recordings used the same addresses
    west = recorded("get_empty/nodes.json").replace(b"127.0.", b"127.9.")
    merged = merge_nodes(parts(east, west), states=None)
    assert raw_items(merged, "nodes", "node") == [
        *raw_items(east, "nodes", "node"),
        *raw_items(west, "nodes", "node"),
    ]
    only = merge_nodes(parts(east, west), states=frozenset({"SHUTDOWN"}))
    assert [node["state"] for node in json.loads(only)["nodes"]["node"]] == ["SHUTDOWN"]
    assert merge_nodes(parts(west), states=frozenset()) == b'{"nodes":{}}'


def test_a_node_that_two_clusters_list_is_shown_by_the_one_that_heard_of_it_last():
    def nodes(heard_ms: int) -> bytes:
        return b'{"nodes":{"node":[{"id":"a:1","state":"RUNNING","lastHealthUpdate":%d}]}}' % heard_ms

    merged = json.loads(merge_nodes(parts(nodes(5), nodes(9)), states=None))
    assert [node["lastHealthUpdate"] for node in merged["nodes"]["node"]] == [9]


@pytest.mark.parametrize(
    ("document", "count"),
    [
        (b'{"apps":null}', 0),
        (b'{"apps":{}}', 0),
        (b"{}", 0),
        (b'{"apps":{"app":null}}', 0),
        (b'{"apps":{"app":[]}}', 0),
        (b'{"apps":{"app":{"id":1}}}', 1),
        (b'{"apps":{"app":[{"id":1}]}}', 1),
        (b'{"apps":{"app":[{"id":1},{"id":2}]}}', 2),
    ],
)
def test_t3_t4_lists_of_every_version_are_read(document, count):
    assert len(raw_items(document, "apps", "app")) == count


@given(st.lists(st.dictionaries(st.text(), st.integers() | st.text()), max_size=5))
def test_t3_a_list_of_any_length_is_written_as_a_list(items):
    raws = [json.dumps(item).encode() for item in items]
    written = join_list("apps", "app", raws)
    assert raw_items(written, "apps", "app") == raws
    if items:
        assert isinstance(json.loads(written)["apps"]["app"], list)
    else:
        assert written == b'{"apps":{}}'


def test_leaving_members_out_keeps_repeated_keys_of_the_others():
    app = b'{"a":1.50,"resourceSecondsMap":{"entry":{"key":"x"},"entry":{"key":"y"}},"timeouts":{}}'
    left = without_members(app, without=frozenset({"timeouts"}))
    assert left == b'{"a":1.50,"resourceSecondsMap":{"entry":{"key":"x"},"entry":{"key":"y"}}}'


# -- the tree of queues ------------------------------------------------------------------------------------------


def queues_of(queue: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = {queue["queuePath"]: queue} if "queuePath" in queue else {}
    for child in (queue.get("queues") or {}).get("queue", []):
        found |= queues_of(child)
    return found


def merged_tree(*names: str, weights: tuple[float, ...]) -> dict[str, dict[str, Any]]:
    merged = json.loads(merge_schedulers(parts(*map(recorded, names), weights=weights)))
    return queues_of(merged["scheduler"]["schedulerInfo"])


def test_capacities_are_weighed_by_the_size_of_the_clusters():
    tree = merged_tree("get_empty/scheduler.json", "running/scheduler.json", weights=(3000.0, 1000.0))
    east = queues_of(json.loads(recorded("get_empty/scheduler.json"))["scheduler"]["schedulerInfo"])
    west = queues_of(json.loads(recorded("running/scheduler.json"))["scheduler"]["schedulerInfo"])
    for path in ("root.default", "root.prod"):
        expected = 0.75 * east[path]["absoluteCapacity"] + 0.25 * west[path]["absoluteCapacity"]
        assert tree[path]["absoluteCapacity"] == pytest.approx(expected, abs=1e-3)
        assert tree[path]["capacity"] == pytest.approx(expected, abs=1e-3)
    only_west = "root.eng.dev"
    assert only_west not in east
    assert tree[only_west]["absoluteCapacity"] == pytest.approx(0.25 * west[only_west]["absoluteCapacity"], abs=1e-3)


def test_used_and_pending_amounts_are_sums():
    tree = merged_tree("running/scheduler.json", "running/scheduler.json", weights=(1.0, 1.0))
    one = queues_of(json.loads(recorded("running/scheduler.json"))["scheduler"]["schedulerInfo"])
    for path, queue in tree.items():
        if "resourcesUsed" in queue:
            assert queue["resourcesUsed"]["memory"] == 2 * one[path]["resourcesUsed"]["memory"]
            assert queue["pendingContainers"] == 2 * one[path]["pendingContainers"]
            assert queue["usedCapacity"] == pytest.approx(one[path]["usedCapacity"], rel=1e-3)
        assert queue["maxParallelApps"] == 2**31 - 1


def test_users_of_a_queue_are_merged_by_name():
    tree = merged_tree("running/scheduler.json", "running/scheduler.json", weights=(1.0, 1.0))
    one = queues_of(json.loads(recorded("running/scheduler.json"))["scheduler"]["schedulerInfo"])
    before = {user["username"]: user["numActiveApplications"] for user in one["root.default"]["users"]["user"]}
    users = tree["root.default"]["users"]["user"]
    assert before == {"dana": 1, "root": 1}
    assert {user["username"]: user["numActiveApplications"] for user in users} == {"dana": 2, "root": 2}


def test_t14_a_leaf_has_no_member_queues_and_keeps_its_type():
    tree = merged_tree("get_empty/scheduler.json", "running/scheduler.json", weights=(1.0, 1.0))
    for path, queue in tree.items():
        is_leaf = not any(other.startswith(f"{path}.") for other in tree)
        assert ("queues" not in queue) is is_leaf
        assert (queue.get("type") == "capacitySchedulerLeafQueueInfo") is is_leaf


def test_t13_the_type_leads_and_other_schedulers_are_left_to_cluster():
    capacity, fair = recorded("get_empty/scheduler.json"), recorded("fair/scheduler.json")
    merged = merge_schedulers(parts(capacity, fair))
    assert scheduler_type(merged) == "capacityScheduler"
    assert merged.startswith(b'{"scheduler":{"schedulerInfo":{"type":"capacityScheduler"')
    assert scheduler_type(merge_schedulers(parts(fair, capacity))) == "fairScheduler"


def test_fair_trees_are_merged():
    body = recorded("fair/scheduler.json")
    root = json.loads(merge_schedulers(parts(body, body)))["scheduler"]["schedulerInfo"]["rootQueue"]
    one = json.loads(body)["scheduler"]["schedulerInfo"]["rootQueue"]
    assert root["clusterResources"]["memory"] == 2 * one["clusterResources"]["memory"]
    assert root["maxContainerAllocation"] == one["maxContainerAllocation"]
    names = [queue["queueName"] for queue in root["childQueues"]["queue"]]
    assert names == [queue["queueName"] for queue in one["childQueues"]["queue"]]
    assert all(("childQueues" in queue) is (queue.get("type") is None) for queue in root["childQueues"]["queue"])


def test_fifo_schedulers_are_merged():
    body = recorded("fifo/scheduler.json")
    info = json.loads(merge_schedulers(parts(body, body)))["scheduler"]["schedulerInfo"]
    assert info["type"] == "fifoScheduler"
    assert info["maxQueueMemoryCapacity"] == json.loads(body)["scheduler"]["schedulerInfo"]["maxQueueMemoryCapacity"]
    assert info["numNodes"] == 2 * json.loads(body)["scheduler"]["schedulerInfo"]["numNodes"]


@given(st.floats(1, 1e6), st.floats(1, 1e6))
def test_children_together_have_what_their_parent_has(east_size, west_size):
    tree = merged_tree("get_empty/scheduler.json", "running/scheduler.json", weights=(east_size, west_size))
    top = [queue for path, queue in tree.items() if path.count(".") == 1]
    assert sum(queue["capacity"] for queue in top) == pytest.approx(100.0, abs=0.01)


# -- labels ----------------------------------------------------------------------------------------------------------


def test_labels_are_united_and_their_resources_summed():
    body = recorded("labels/mapped.get-node-labels.json")
    one = {label["name"]: label for label in json.loads(body)["nodeLabelInfo"]}
    both = {label["name"]: label for label in json.loads(merge_node_labels(parts(body, body)))["nodeLabelInfo"]}
    assert both.keys() == one.keys()
    for name, label in both.items():
        before = int(one[name]["partitionInfo"]["resourceAvailable"]["memory"])
        assert label["partitionInfo"]["resourceAvailable"]["memory"] == str(2 * before)
        assert label["exclusivity"] == one[name]["exclusivity"]


def test_labels_are_exclusive_only_if_they_are_everywhere():
    east, west = (
        b'{"nodeLabelInfo":{"name":"gpu","exclusivity":"%b","activeNMs":"1"}}' % word for word in (b"true", b"false")
    )
    assert json.loads(merge_node_labels(parts(east, west))) == {
        "nodeLabelInfo": {"name": "gpu", "exclusivity": "false", "activeNMs": "2"}
    }


def test_mappings_hold_the_nodes_of_all():
    body = recorded("labels/mapped.label-mappings.json")
    assert b"127.0." in body  # nodes of a lab have addresses of their own
    other = body.replace(b"127.0.", b"127.9.")
    merged = json.loads(merge_labels_to_nodes(parts(body, other)))["labelsToNodes"]["entry"]
    nodes = {entry["key"]["name"]: entry["value"]["nodes"] for entry in merged}
    gpu = nodes["gpu"]
    assert len(gpu) == 2
    assert gpu[1] == gpu[0].replace("127.0.", "127.9.")
    to_labels = recorded("labels/mapped.get-node-to-labels.json")
    both = merge_nodes_to_labels(parts(to_labels, to_labels.replace(b"127.0.", b"127.9.")))
    assert len(json.loads(both)["nodeToLabels"]["entry"]) == 4


@pytest.mark.parametrize(
    ("merge", "empty"),
    [
        (merge_node_labels, b"{}"),
        (merge_nodes_to_labels, b'{"nodeToLabels":null}'),
        (merge_labels_to_nodes, b'{"labelsToNodes":null}'),
        (merge_reservations, b"{}"),
    ],
)
def test_nothing_and_nothing_is_nothing_in_the_same_form(merge, empty):
    assert merge(parts(empty, empty)) == empty


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ([], b"{}"),
        ([b"{}", b'{"container":null}'], b"{}"),
        ([b'{"container":{"id":1}}'], b'{"container":[{"id":1}]}'),
        (
            [b'{"container":[{"id":1},{"id":2}]}', b"{}", b'{"container":{"id":3}}'],
            b'{"container":[{"id":1},{"id":2},{"id":3}]}',
        ),
    ],
)
def test_containers_of_several_clusters_are_one_list(documents, expected):
    assert merge_containers(documents) == expected


def test_one_reservation_of_several_clusters_is_the_bare_item():
    one = b'{"reservations":{"reservation-id":"r1"}}'
    assert merge_reservations(parts(one, b"{}")) == one
    assert merge_reservations(parts(b"{}", b'{"reservations":[{"reservation-id":"r1"}]}')) == one
    assert merge_reservations(parts(b"odd")) == b"odd", "of one cluster it is as it was told"


def test_a_queue_that_is_a_leaf_on_one_cluster_alone_is_told_with_what_is_below_it():
    def tree(**queue: Any) -> bytes:
        told = {"queueName": "a", "capacity": 50.0, "absoluteCapacity": 50.0, **queue}
        root = {"type": "capacityScheduler", "queueName": "root", "queues": {"queue": [told]}}
        return json.dumps({"scheduler": {"schedulerInfo": root}}).encode()

    leaf = tree(type="capacitySchedulerLeafQueueInfo")
    parent = tree(queues={"queue": [{"queueName": "b", "type": "capacitySchedulerLeafQueueInfo"}]})
    for documents in ((leaf, parent), (parent, leaf)):
        (queue,) = json.loads(merge_schedulers(parts(*documents)))["scheduler"]["schedulerInfo"]["queues"]["queue"]
        assert "type" not in queue
        assert [child["queueName"] for child in queue["queues"]["queue"]] == ["b"]
    (queue,) = json.loads(merge_schedulers(parts(leaf, leaf)))["scheduler"]["schedulerInfo"]["queues"]["queue"]
    assert queue["type"] == "capacitySchedulerLeafQueueInfo"


def test_reservations_are_joined_from_items_and_lists():
    one, two = b'{"reservations":{"reservation-id":"r1"}}', b'{"reservations":[{"reservation-id":"r2"}]}'
    assert [item["reservation-id"] for item in json.loads(merge_reservations(parts(one, two)))["reservations"]] == [
        "r1",
        "r2",
    ]


def test_every_recorded_scheduler_document_can_be_merged_with_itself():
    documents = [
        exchange.body
        for exchange in recorded_exchanges().values()
        if exchange.path.endswith("/scheduler") and exchange.status == 200 and exchange.body.startswith(b"{")
    ]
    assert len(documents) > 5
    for document in documents:
        assert scheduler_type(merge_schedulers(parts(document, document)))


def test_a_tree_of_hadoop_2_that_tells_no_paths_is_merged_by_names():
    new = recorded("get_empty/scheduler.json")
    tree = json.loads(new)
    for queue in tree["scheduler"]["schedulerInfo"]["queues"]["queue"]:
        del queue["queuePath"]
    merged = json.loads(merge_schedulers(parts(json.dumps(tree).encode(), new)))["scheduler"]["schedulerInfo"]
    assert [queue["queuePath"] for queue in merged["queues"]["queue"]] == ["root.default", "root.prod"]


def test_labels_of_a_hadoop_2_that_has_none_are_none():
    assert merge_node_labels(parts(b"null", b'{"nodeLabelInfo":{"name":"a","exclusivity":"true"}}')) == (
        b'{"nodeLabelInfo":{"name":"a","exclusivity":"true"}}'
    )


def test_the_largest_container_is_what_every_sub_cluster_grants():
    """A client's application meets one of them."""

    def granting(memory, vcores):
        most = {"memory": memory, "vCores": vcores}
        leaf = {"queueName": "dev", "type": "capacitySchedulerLeafQueueInfo", "maximumAllocation": most}
        info = {
            "type": "capacityScheduler",
            "queueName": "root",
            "queues": {"queue": [leaf]},
            "maximumAllocation": most,
        }
        return json.dumps({"scheduler": {"schedulerInfo": info}}).encode()

    parts = [PartialDocument(EAST, granting(4096, 2), 1.0), PartialDocument(WEST, granting(1024, 8), 3.0)]
    info = json.loads(merge_schedulers(parts))["scheduler"]["schedulerInfo"]
    least = {"memory": 1024, "vCores": 2}
    assert (info["maximumAllocation"], info["queues"]["queue"][0]["maximumAllocation"]) == (least, least)
    overviews = [
        PartialDocument(EAST, json.dumps({"maximumAllocation": most}).encode(), 1.0)
        for most in ({"memory": 4096, "vCores": 2}, {"memory": 1024, "vCores": 8})
    ]
    assert json.loads(merge_overview(overviews))["maximumAllocation"] == least
    fifos = [
        PartialDocument(
            EAST,
            json.dumps(
                {"scheduler": {"schedulerInfo": {"type": "fifoScheduler", "maxQueueMemoryCapacity": memory}}}
            ).encode(),
            1.0,
        )
        for memory in (4096, 1024)
    ]
    assert json.loads(merge_schedulers(fifos))["scheduler"]["schedulerInfo"]["maxQueueMemoryCapacity"] == 1024


@pytest.mark.parametrize(
    "document",
    [
        b"{}",
        b'{"scheduler":null}',
        b'{"scheduler":{}}',
        b'{"scheduler":{"schedulerInfo":null}}',
        b'{"scheduler":{"schedulerInfo":{}}}',
    ],
)
def test_a_document_that_does_not_say_has_no_type_of_scheduler(document):
    assert scheduler_type(document) == ""


def test_what_a_queue_uses_of_its_share_counts_by_the_size_of_that_share():
    def tree(share, used):
        leaf = {"queueName": "a", "capacity": share, "usedCapacity": used, "maxCapacity": 100.0}
        leaf |= {"absoluteCapacity": share, "absoluteMaxCapacity": 100.0, "absoluteUsedCapacity": share * used / 100}
        root = {"type": "capacityScheduler", "queueName": "root", "capacity": 100.0, "usedCapacity": 0.0}
        root |= {"maxCapacity": 100.0, "queues": {"queue": [leaf]}}
        return json.dumps({"scheduler": {"schedulerInfo": root}}).encode()

    merged = json.loads(merge_schedulers(parts(tree(50.0, 80.0), tree(25.0, 20.0), weights=(1.0, 4.0))))
    (leaf,) = merged["scheduler"]["schedulerInfo"]["queues"]["queue"]
    assert leaf["absoluteCapacity"] == pytest.approx(30.0)  # 50 of one, 25 of four
    assert leaf["absoluteUsedCapacity"] == pytest.approx(12.0)
    assert leaf["usedCapacity"] == pytest.approx(40.0)  # as 12 of 30: 80 by 50, 20 by 100


@pytest.mark.parametrize(
    ("states", "told"),
    [
        (("RUNNING", "STOPPED"), "RUNNING"),
        (("STOPPED", "RUNNING"), "RUNNING"),
        (("STOPPED", "DRAINING"), "STOPPED"),
        (("DRAINING", "STOPPED"), "DRAINING"),
    ],
)
def test_a_queue_runs_if_it_takes_applications_anywhere_and_is_else_what_the_first_says(states, told):
    def tree(state):
        leaf = {"type": "capacitySchedulerLeafQueueInfo", "queueName": "a", "state": state, "absoluteCapacity": 100.0}
        root = {"type": "capacityScheduler", "queueName": "root", "queues": {"queue": [leaf]}}
        return json.dumps({"scheduler": {"schedulerInfo": root}}).encode()

    merged = json.loads(merge_schedulers(parts(*map(tree, states))))
    assert [each["state"] for each in merged["scheduler"]["schedulerInfo"]["queues"]["queue"]] == [told]


ODD: list[Any] = [None, 5, "x", True, [], {}, [{}], {"id": None}, {"id": 5}, {"key": None}, {"key": {"name": None}}]
"""Rows of no list."""


def beside(merge: Any, document: Any, rows: list[Any]) -> Any:
    """What is merged of a document, one part with odd rows in its list, and one as it is."""
    plain = json.dumps(document).encode()
    rows[1:1] = ODD
    return json.loads(merge(parts(json.dumps(document).encode(), plain)))


def test_a_row_that_cannot_be_read_costs_itself_alone():
    nodes = {"nodes": {"node": [{"id": "n1:1", "state": "LOST"}, {"id": "n2:1", "state": None}]}}
    merged = beside(lambda given: merge_nodes(given, states=None), nodes, nodes["nodes"]["node"])
    assert [node["id"] for node in merged["nodes"]["node"]] == ["n1:1", "n2:1"]
    lost = merge_nodes(parts(json.dumps(nodes).encode()), states=frozenset({"LOST"}))
    assert [node["id"] for node in json.loads(lost)["nodes"]["node"]] == ["n1:1"]


@pytest.mark.parametrize("odd_label", [None, 5, {"name": None}])
def test_an_entry_of_labels_that_cannot_be_read_costs_itself_alone(odd_label):
    value = {"nodeLabelInfo": [odd_label, {"name": "gpu", "exclusivity": "true"}]}
    of_nodes = {"nodeToLabels": {"entry": [{"key": "n1:1", "value": value}, {"key": "n2:1", "value": 5}]}}
    merged = beside(merge_nodes_to_labels, of_nodes, of_nodes["nodeToLabels"]["entry"])
    labels = {entry["key"]: entry["value"] for entry in merged["nodeToLabels"]["entry"]}
    assert labels == {"n1:1": {"nodeLabelInfo": {"name": "gpu", "exclusivity": "true"}}, "n2:1": {}}
    of_labels = {"labelsToNodes": {"entry": [{"key": {"name": "gpu"}, "value": {"nodes": None}}, {"key": odd_label}]}}
    merged = beside(merge_labels_to_nodes, of_labels, of_labels["labelsToNodes"]["entry"])
    assert merged["labelsToNodes"]["entry"]["key"]["name"] == "gpu"


def test_a_queue_that_cannot_be_read_costs_itself_alone():
    odd = [*ODD, {"queueName": None}, {"queueName": 5}, {"queueName": ""}]
    held = {"queueName": "a", "absoluteCapacity": 50.0, "capacities": {"queueCapacitiesByPartition": None}}
    root = {"type": "capacityScheduler", "queueName": "root", "absoluteCapacity": 100.0, "queues": {"queue": [held]}}
    document = {"scheduler": {"schedulerInfo": root}}
    plain = json.dumps(document).encode()
    root["queues"] = {"queue": [held, *odd]}
    merged = json.loads(merge_schedulers(parts(json.dumps(document).encode(), plain)))["scheduler"]["schedulerInfo"]
    assert [(queue["queueName"], queue["absoluteCapacity"]) for queue in merged["queues"]["queue"]] == [("a", 50.0)]
