"""`/jmx`: the beans that monitors read."""

import json
import time

import pytest

from shim.protocol.rest.jmx import beans_document, resource_manager_beans
from shim.testing.recorded import recorded_exchange

BEANS = resource_manager_beans(
    recorded_exchange("get_empty/metrics.json").body, recorded_exchange("get_empty/nodes.json").body
)
PREFIX = "Hadoop:service=ResourceManager"


def names(query: str | None) -> list[str]:
    return [bean["name"] for bean in json.loads(beans_document(BEANS, query))["beans"]]


def test_t21_live_nodes_are_a_json_string():
    (bean,) = json.loads(beans_document(BEANS, f"{PREFIX},name=RMNMInfo"))["beans"]
    assert {node["State"] for node in json.loads(bean["LiveNodeManagers"])} == {"RUNNING"}


def test_counts_are_those_of_the_metrics():
    beans = {bean["name"]: bean for bean in BEANS}
    assert beans[f"{PREFIX},name=ClusterMetrics"]["NumActiveNMs"] == 2
    assert beans[f"{PREFIX},name=QueueMetrics,q0=root"]["AvailableMB"] == 8192


@pytest.mark.parametrize(
    ("query", "count"),
    [
        (None, 3),
        ("zzz:*", 0),
        (f"{PREFIX},*", 3),
        (f"{PREFIX},name=*", 2),
        (f"{PREFIX},name=ClusterMetrics", 1),
        (f"{PREFIX},name=QueueMetrics", 0),
        (f"{PREFIX},name=QueueMetrics,q0=root", 1),
        ("Hadoop:q0=root,name=QueueMetrics,service=ResourceManager", 1),
        ("*:*", 3),
    ],
)
def test_queries_select_beans(query, count):
    assert len(names(query)) == count


def test_no_beans_are_written_as_the_servlet_writes_them():
    assert beans_document([], None) == b'{\n  "beans" : []\n}'


@pytest.mark.parametrize("sign", ["[", "*a", "*", "?", "(a+)+", "{", "a,", "*:*=*,"])
def test_a_query_costs_no_more_than_its_length(sign: str) -> None:
    """A regular expression of `[` by the ten thousand took a minute."""
    beans = [{"name": "Hadoop:service=ResourceManager,name=ClusterMetrics"}]

    def cost_s(count: int) -> float:
        found = []
        for _ in range(3):
            began_s = time.thread_time()
            for prefix in ("", "Hadoop:name="):
                beans_document(beans, prefix + sign * count)
            found.append(time.thread_time() - began_s)
        return min(found)

    assert cost_s(64_000) < 3 * 8 * cost_s(8_000) + 0.02, "eight times as long: eight times as dear, and no more"


def test_brackets_are_no_pattern() -> None:
    beans = [{"name": "Hadoop:service=ResourceManager,name=ClusterMetrics"}]
    assert b"ClusterMetrics" in beans_document(beans, "Hadoop:service=ResourceManager,name=C?uster*s")
    assert b"ClusterMetrics" not in beans_document(beans, "Hadoop:service=ResourceManager,name=[C]lusterMetrics")
