"""One address in front of every supported Hadoop: every read answers, in the form of 3.4."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from shim.lab import SUPPORTED_VERSIONS, Cluster
from tests.differential.conftest import APPS, Pair, json_of, pair_over, wait_until
from tests.support.raw_http import RawRequest, exchange

pytestmark = [pytest.mark.lab, pytest.mark.versions]

BASE = "/ws/v1/cluster"


@pytest.fixture(scope="module")
def mixed(
    tmp_path_factory: pytest.TempPathFactory,
    cluster_of_version: Mapping[str, Cluster],
    history_of_version: Mapping[str, tuple[str, ...]],
) -> Iterator[Pair]:
    """A cluster of each version."""
    managers = {cluster.id: cluster.url for cluster in cluster_of_version.values()}
    made = tuple(item for history in history_of_version.values() for item in history)
    with pair_over(tmp_path_factory, managers, made) as pair:
        yield pair


def _listed(url: str) -> list[Any]:
    apps: Any = json_of(url, APPS)["apps"]
    return list(apps.get("app", []))


@pytest.mark.parametrize("accept", ["application/json", "application/xml"])
@pytest.mark.parametrize(
    "path",
    [
        "",
        "/info",
        "/metrics",
        "/scheduler",
        "/nodes",
        "/apps",
        "/apps?states=KILLED",
        "/apps?user=nobody",
        "/appstatistics",
        "/get-node-labels",
        "/get-node-to-labels",
        "/label-mappings",
        "/userinfo",
    ],
)
def test_every_read_answers(mixed: Pair, path: str, accept: str):
    request = RawRequest("GET", BASE + path, (("Accept", accept),))
    wait_until(lambda: exchange(mixed.heddle, request).header("heddle-missing") is None, "no cluster is late")
    answer = exchange(mixed.heddle, request)
    assert answer.status == 200, answer.body
    assert (answer.header("content-type") or "").startswith(accept)
    if accept == "application/json":
        json.loads(answer.body)


def test_lists_hold_the_applications_and_nodes_of_every_version(mixed: Pair):
    assert {app["id"] for app in _listed(mixed.heddle)} >= set(mixed.applications)
    assert json_of(mixed.heddle, f"{APPS}?user=nobody") == {"apps": {}}
    nodes: Any = json_of(mixed.heddle, f"{BASE}/nodes")
    assert {node["version"] for node in nodes["nodes"]["node"]} == set(SUPPORTED_VERSIONS)
    metrics: Any = json_of(mixed.heddle, f"{BASE}/metrics")
    assert metrics["clusterMetrics"]["activeNodes"] == len(SUPPORTED_VERSIONS)


def test_every_application_can_be_read_by_id(mixed: Pair):
    for application_id in mixed.applications:
        for sub in ("", "/state", "/queue", "/appattempts"):
            answer = exchange(mixed.heddle, RawRequest("GET", f"{APPS}/{application_id}{sub}"))
            assert answer.status == 200, (sub, answer.body)


def test_the_tree_has_the_queues_of_all_and_leaves_are_leaves(mixed: Pair):
    root: Any = json_of(mixed.heddle, f"{BASE}/scheduler")
    queues = root["scheduler"]["schedulerInfo"]["queues"]["queue"]
    assert {queue["queueName"] for queue in queues} >= {"default", "prod", "dev"}
    assert all("queues" not in queue for queue in queues)
    assert len({queue["queueName"] for queue in queues}) == len(queues)
