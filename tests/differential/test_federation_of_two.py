"""A federation of two is one ResourceManager with the nodes and applications of both."""

import json
from typing import Any

import pytest

from tests.differential.conftest import APPS, Pair, json_of
from tests.support.raw_http import RawRequest, exchange

pytestmark = pytest.mark.lab

BASE = "/ws/v1/cluster"


def asked(pair: Pair, target: str) -> tuple[list[Any], Any]:
    """The answers of both ResourceManagers, and Heddle's."""
    return [json_of(url, target) for url in pair.managers], json_of(pair.heddle, target)


def ids(document: Any) -> set[str]:
    return {app["id"] for app in (document["apps"] or {}).get("app", [])}


@pytest.mark.parametrize(
    "query",
    [
        "",
        "states=KILLED",
        "states=ACCEPTED,RUNNING",
        "user=alice",
        "queue=default",
        "queue=root.prod",
        "queue=root",
        "applicationTypes=mapreduce,SPARK",
        "applicationTags=t1",
        "finalStatus=KILLED",
        "name=bobapp",
        "user=alice&states=FAILED",
        "startedTimeBegin=1",
        "finishedTimeEnd=1",
    ],
)
def test_a_list_is_the_union_of_both(federation_of_two: Pair, query: str):
    parts, whole = asked(federation_of_two, f"{APPS}?{query}")
    assert ids(whole) == ids(parts[0]) | ids(parts[1])


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_t11_limit_holds_for_the_union(federation_of_two: Pair, limit: int):
    _, whole = asked(federation_of_two, f"{APPS}?limit={limit}")
    everything = json_of(federation_of_two.heddle, APPS)["apps"]
    assert isinstance(everything, dict)
    assert [app["id"] for app in whole["apps"]["app"]] == [app["id"] for app in everything["app"]][:limit]


def test_every_application_is_told_by_its_home(federation_of_two: Pair):
    for url in federation_of_two.managers:
        listed: Any = json_of(url, APPS)
        for application_id in ids(listed):
            theirs: Any = json_of(url, f"{APPS}/{application_id}")
            ours: Any = json_of(federation_of_two.heddle, f"{APPS}/{application_id}")
            for member in ("user", "name", "queue", "state", "finalStatus", "amHostHttpAddress", "trackingUrl"):
                assert ours["app"].get(member) == theirs["app"].get(member)
            for sub in ("state", "queue", "priority", "appattempts"):
                target = f"{APPS}/{application_id}/{sub}"
                assert json_of(federation_of_two.heddle, target) == json_of(url, target)


def test_nodes_are_those_of_both(federation_of_two: Pair):
    parts, whole = asked(federation_of_two, f"{BASE}/nodes")
    wanted = [node["id"] for part in parts for node in part["nodes"]["node"]]
    assert sorted(node["id"] for node in whole["nodes"]["node"]) == sorted(wanted)
    for node in wanted:
        assert exchange(federation_of_two.heddle, RawRequest("GET", f"{BASE}/nodes/{node}")).status == 200


def test_metrics_are_sums(federation_of_two: Pair):
    parts, whole = asked(federation_of_two, f"{BASE}/metrics")
    for field in ("totalMB", "totalVirtualCores", "activeNodes", "totalNodes", "appsSubmitted", "appsKilled"):
        assert whole["clusterMetrics"][field] == sum(part["clusterMetrics"][field] for part in parts), field


def test_statistics_are_sums(federation_of_two: Pair):
    parts, whole = asked(federation_of_two, f"{BASE}/appstatistics?states=KILLED,FAILED")
    counts = {item["state"]: item["count"] for item in whole["appStatInfo"]["statItem"]}
    told: dict[str, int] = {}
    for item in (item for part in parts for item in part["appStatInfo"]["statItem"]):
        told[item["state"]] = told.get(item["state"], 0) + item["count"]
    assert counts == told
    assert told.keys() == {"KILLED", "FAILED"}


def test_the_tree_of_queues_holds_both(federation_of_two: Pair):
    parts, whole = asked(federation_of_two, f"{BASE}/scheduler")

    def leaves(document: Any) -> dict[str, Any]:
        root = document["scheduler"]["schedulerInfo"]
        return {queue["queuePath"]: queue for queue in root["queues"]["queue"]}

    merged = leaves(whole)
    assert merged.keys() == leaves(parts[0]).keys() | leaves(parts[1]).keys()
    assert sum(queue["absoluteCapacity"] for queue in merged.values()) == pytest.approx(100.0, abs=0.01)
    for path, queue in merged.items():
        assert "queues" not in queue
        assert queue["numApplications"] == sum(leaves(part)[path]["numApplications"] for part in parts)


@pytest.mark.parametrize("path", ["/info", "/metrics", "/nodes", "/scheduler", "/apps?user=alice"])
def test_a_named_cluster_tells_its_own_document(federation_of_two: Pair, path: str):
    separator = "&" if "?" in path else "?"
    for name, url in zip(("east", "west"), federation_of_two.managers, strict=True):
        carried: Any = json_of(federation_of_two.heddle, f"{BASE}{path}{separator}cluster={name}")
        assert carried.keys() == json_of(url, f"{BASE}{path}").keys()
        if path == "/info":
            assert carried == json_of(url, f"{BASE}{path}")


def test_what_the_schedulers_do_for_their_nodes_is_waited_for(federation_of_two: Pair):
    # more heartbeats of a cluster's nodes than come within the time that other answers are waited for
    told: Any = json_of(federation_of_two.heddle, f"{BASE}/scheduler/bulk-activities?activitiesCount=10")
    listed: Any = json_of(federation_of_two.heddle, f"{BASE}/nodes")
    activities = told["bulkActivities"]["activities"]
    assert len(activities) == 20
    assert {each["nodeId"] for each in activities} <= {node["id"] for node in listed["nodes"]["node"]}


def test_an_unknown_cluster_is_named(federation_of_two: Pair):
    answer = exchange(federation_of_two.heddle, RawRequest("GET", f"{BASE}/info?cluster=nosuch"))
    assert answer.status == 400
    assert b"should be one of [east, west]" in answer.body


def test_each_cluster_keeps_its_own_scheduler_configuration(federation_of_two: Pair):
    answer = exchange(federation_of_two.heddle, RawRequest("GET", f"{BASE}/scheduler-conf"))
    assert answer.status == 400
    assert b"?cluster=" in answer.body


def test_t10_ids_grow_and_new_applications_are_listed_first(federation_of_two: Pair):
    made = []
    for number in range(4):
        new: Any = json.loads(
            exchange(federation_of_two.heddle, RawRequest("POST", f"{APPS}/new-application?user.name=alice")).body
        )
        context = {
            "application-id": new["application-id"],
            "application-name": f"n{number}",
            "queue": "default",
            "am-container-spec": {"commands": {"command": "sleep 60"}},
            "resource": {"memory": 128, "vCores": 1},
            "unmanaged-AM": True,
        }
        headers = (("Accept", "*/*"), ("Content-Type", "application/json"))
        answer = exchange(
            federation_of_two.heddle,
            RawRequest("POST", f"{APPS}?user.name=alice", headers, json.dumps(context).encode()),
        )
        assert answer.status == 202, answer.body
        assert (answer.header("location") or "").startswith(f"{federation_of_two.heddle}{APPS}/{new['application-id']}")
        made.append(new["application-id"])
        shown: Any = json_of(federation_of_two.heddle, f"{APPS}/{new['application-id']}")
        assert shown["app"]["user"] == "alice"
    assert made == sorted(made)
    newest: Any = json_of(federation_of_two.heddle, f"{APPS}?limit=4")
    assert [app["id"] for app in newest["apps"]["app"]] == made[::-1]
    for application_id in made:
        kill = RawRequest(
            "PUT",
            f"{APPS}/{application_id}/state?user.name=alice",
            (("Accept", "*/*"), ("Content-Type", "application/json")),
            b'{"state":"KILLED"}',
        )
        answer = exchange(federation_of_two.heddle, kill)
        assert answer.status in (200, 202)
        if answer.status == 202:
            assert (answer.header("location") or "").startswith(federation_of_two.heddle)
