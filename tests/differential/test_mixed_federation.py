"""One address in front of Hadoop 2.10, 3.3 and 3.5: every read answers, in the form of 3.4."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from shim.lab import Lab, LabSpec
from tests.differential.conftest import APPS, HeddleInAThread, Pair, json_of, make_history, wait_until
from tests.support.raw_http import RawRequest, exchange

pytestmark = [pytest.mark.lab, pytest.mark.versions]

BASE = "/ws/v1/cluster"
VERSIONS = ("2.10.2", "3.1.1", "3.2.4", "3.3.6", "3.5.0")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A cluster of each version."""
    spec = LabSpec.of(clusters=len(VERSIONS), nodes=1)
    names = [cluster.id for cluster in spec.clusters]
    hadoop = ",".join(f"{name}={version}" for name, version in zip(names, VERSIONS, strict=True))
    with Lab(tmp_path_factory.mktemp("mixed")) as started:
        started.up(LabSpec.of(clusters=len(VERSIONS), nodes=1, hadoop=hadoop))
        urls = {name: started.cluster(name).url for name in names}
        made = tuple(item for url in urls.values() for item in make_history(url))
        with HeddleInAThread(tmp_path_factory.mktemp("heddle"), urls) as heddle:
            pair = Pair(tuple(urls.values()), heddle, made)
            wait_until(lambda: len(_listed(heddle)) >= len(made), "every application is listed")
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
    assert {node["version"] for node in nodes["nodes"]["node"]} == set(VERSIONS)
    metrics: Any = json_of(mixed.heddle, f"{BASE}/metrics")
    assert metrics["clusterMetrics"]["activeNodes"] == len(VERSIONS)


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
