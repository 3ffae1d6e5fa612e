"""`/jmx`: the beans that monitors read."""

import json
import re
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.queues import QueueReport, QueueState
from shim.domain.resources import ResourceVector
from shim.protocol.rest.jmx import Machine, beans_document, queue_beans, resource_manager_beans, rpc_beans
from tests.doubles.recorded import recorded_exchange

METRICS, NODES = (recorded_exchange(f"get_empty/{each}.json").body for each in ("metrics", "nodes"))
BEANS = resource_manager_beans(METRICS, NODES)
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


@pytest.mark.parametrize(
    ("state", "is_live"),
    [
        *((state, True) for state in ("NEW", "RUNNING", "UNHEALTHY", "DECOMMISSIONING")),
        *((state, False) for state in ("LOST", "DECOMMISSIONED", "REBOOTED", "SHUTDOWN")),
    ],
)
def test_nodes_that_a_manager_has_not_put_aside_are_among_the_live_ones(state, is_live):
    rows = json.loads(NODES)
    rows["nodes"]["node"][0] |= {"state": state, "healthReport": "1/1 local-dirs have errors"}
    (bean,) = [each for each in resource_manager_beans(METRICS, json.dumps(rows).encode()) if "NMInfo" in each["name"]]
    states = [node["State"] for node in json.loads(bean["LiveNodeManagers"])]
    assert sorted(states) == sorted([state, "RUNNING"] if is_live else ["RUNNING"])


def test_one_attribute_of_a_bean_may_be_asked_for():
    name = f"{PREFIX},name=ClusterMetrics"
    answer = beans_document(BEANS, "zzz:*", f"{name}::NumActiveNMs")
    found = {"name": name, "modelerType": "ClusterMetrics", "NumActiveNMs": 2}
    assert json.loads(answer) == {"beans": [found]}
    (odd,) = json.loads(beans_document(BEANS, None, f"{name}::Nothing"))["beans"]
    assert odd == {"name": name, "modelerType": "ClusterMetrics"} | {
        "result": "ERROR",
        "message": "No attribute with name Nothing was found.",
    }
    for wrong in ("", name, f"{name}::", f"{name}::a::b"):
        told = b'{\n  "result" : "ERROR",\n  "message" : "query format is not as expected."\n}'
        assert beans_document(BEANS, None, wrong) == told
    assert json.loads(beans_document(BEANS, None, "zzz:a=b::X")) == {"beans": []}
    assert beans_document(BEANS, None, "zzz::X") == b"{ }"


def test_queues_have_beans_of_their_path_summed_over_clusters():
    size, used = ResourceVector(4096, 4), ResourceVector(1024, 1)
    report = QueueReport(
        "root.prod.etl",
        QueueState.RUNNING,
        is_leaf=True,
        capacity=size,
        maximum=size,
        used=used,
        applications=3,
        waiting_applications=1,
        pending=used,
    )
    (bean,) = queue_beans([{report.path: report}, {report.path: report, "root": replace(report, path="root")}])
    assert bean["name"] == f"{PREFIX},name=QueueMetrics,q0=root,q1=prod,q2=etl"
    told = ("AllocatedMB", "AvailableMB", "PendingMB", "AppsRunning", "AppsPending")
    assert [bean[name] for name in told] == [2048, 6144, 2048, 4, 2]
    cores = [bean[name] for name in ("AllocatedVCores", "AvailableVCores", "PendingVCores")]
    assert cores == [2 * used.vcores, 2 * (size.vcores - used.vcores), 2 * used.vcores]
    (full,) = queue_beans([{report.path: replace(report, used=ResourceVector(9000, 90))}])
    assert (full["AvailableMB"], full["AvailableVCores"]) == (0, 0)
    (odd,) = queue_beans([{'root.a,b="c"': replace(report, path='root.a,b="c"')}])
    assert odd["name"].endswith('q0=root,q1="a,b=\\"c\\""')


def test_the_machine_and_the_manager_have_beans():
    machine = Machine("Linux", "amd64", "6.1", processors=4, load=6.0)
    beans = resource_manager_beans(METRICS, NODES, address="rm:8032", is_secure=True, machine=machine)
    named = {each["name"]: each for each in beans}
    system = named["java.lang:type=OperatingSystem"]
    assert (system["SystemCpuLoad"], system["SystemLoadAverage"], system["AvailableProcessors"]) == (1.0, 6.0, 4)
    manager = named[f"{PREFIX},name=RMInfo"]
    assert (manager["HostAndPort"], manager["State"], manager["SecurityEnabled"]) == ("rm:8032", "active", True)


def test_calls_have_a_bean_of_their_port():
    (bean,) = rpc_beans("rm.corp:8032", 7, 0.0125, 0.001)
    assert bean["name"] == f"{PREFIX},name=RpcActivityForPort8032"
    assert (bean["RpcProcessingTimeNumOps"], bean["RpcProcessingTimeAvgTime"]) == (7, 12.5)
    assert (bean["RpcQueueTimeNumOps"], bean["RpcQueueTimeAvgTime"]) == (7, 1.0)
    assert rpc_beans("", 0, 0.0, 0.0) == []


def test_beans_are_written_as_the_servlet_writes_them():
    assert beans_document([], None) == b'{\n  "beans" : [ ]\n}'
    beans = [{"name": "a:b=c", "State": "active"}, {"name": "a:b=d", "Size": 1}]
    rows = ['{\n    "name" : "a:b=c",\n    "State" : "active"\n  }', '{\n    "name" : "a:b=d",\n    "Size" : 1\n  }']
    assert beans_document(beans, None).decode() == f'{{\n  "beans" : [ {", ".join(rows)} ]\n}}'


@pytest.mark.parametrize(
    ("query", "is_name"),
    [
        *(("", True), ("nonsense", False), ("nonsense:", False), (":", False), ("*", False), ("a:b", False)),
        *(("a:b=", True), ("a:=b", False), ("a:b=c", True), ("a:b=c,", False), ("a:,b=c", False)),
        *(("a:b=c,,d=e", False), ("a:b=c,b=d", False), ("a:b=c,*", True), ("a:*,b=c", True), ("a:*", True)),
        *(("a:*,*", False), ("a:b=c,*,d=e", True), ("a:b=c,*,", True), ("a:b*=c", False), ("a:b=c*", True)),
        *(("a:b=c=d", False), ("a:b=c:d", False), ('a:b="c,d"', True), ('a:b="c', False), ('a:b=c"d', False)),
        *(('a:b="c"d', False), ('a:b="c\\*d"', True), ('a:b="c\\d"', False), ("a:b=c\nd", False), ("a\nb:c=d", False)),
        *((":b=c", True), ("a?b:c=d", True), ("a:b c=d", True), ("a:b= c", True), ("*:*", True), ("a:b?=c", False)),
        *(("a:b:c=d", False), ("//:b=c", True), ('a:b="",c=d', True), ('a:"b"=c', True), ("a:b=*,*", True)),
    ],
)
def test_a_query_is_a_name_where_java_says_so(query, is_name):
    """As `new ObjectName(query)` of Java 17 took it, or did not; what is none finds not even an empty list."""
    assert (beans_document([], query) != b"{ }") == is_name


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


LETTERS = st.text("ab[", min_size=1, max_size=4)
PATTERNS = st.text("ab[*?", max_size=5)


def fits(text: str, pattern: str) -> bool:
    signs = {"*": ".*", "?": "."}
    return re.fullmatch("".join(signs.get(sign) or re.escape(sign) for sign in pattern), text) is not None


@given(LETTERS, st.dictionaries(LETTERS, LETTERS, min_size=1, max_size=3), st.data())
def test_beans_are_found_as_a_regular_expression_finds_them(domain, properties, data):
    near = st.one_of(PATTERNS, *({st.just(value) for value in [domain, *properties.values()]}))
    keys = st.one_of(st.sampled_from(sorted(properties)), LETTERS)
    asked = data.draw(st.dictionaries(keys, near, max_size=3))
    wanted_domain, is_open = data.draw(near), data.draw(st.booleans())
    parts = [f"{key}={value}" for key, value in asked.items()] + ["*"] * is_open
    query = f"{wanted_domain}:{','.join(data.draw(st.permutations(parts)))}"
    bean = {"name": f"{domain}:{','.join(f'{key}={value}' for key, value in properties.items())}"}
    expected = (
        fits(domain, wanted_domain)
        and (is_open or set(asked) == set(properties))
        and all(key in properties and fits(properties[key], value) for key, value in asked.items())
    )
    assert bool(json.loads(beans_document([bean], query)).get("beans")) is expected


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a", "b"),
        ("a", "a"),
        ("?", "ab"),
        ("b*", "a"),
        ("*b*bc", "abbc"),
        ("*b*c", "abcb"),
        ("*a*", "bab"),
        ("*?a", "a"),
        ("*?a", "ba"),
        ("a*?", "a"),
        ("*b?*", "abcbd"),
        ("**", "x"),
        ("a?c*e", "abcde"),
        ("a?c*e", "abcdf"),
        ("abc", "ab"),
        ("ab", "abc"),
    ],
)
def test_a_pattern_is_one_as_a_regular_expression_has_it(pattern, text):
    found = json.loads(beans_document([{"name": f"d:k={text}"}], f"d:k={pattern}"))["beans"]
    assert bool(found) is fits(text, pattern)


@pytest.mark.parametrize(("length", "is_read"), [(256, True), (257, False)])
def test_a_query_longer_than_any_name_finds_nothing(length, *, is_read):
    query = "a:b=*".ljust(length, "*")
    assert bool(json.loads(beans_document([{"name": "a:b=c"}], query))["beans"]) is is_read


@pytest.mark.parametrize(
    ("allocated", "total", "used"),
    [(1024, 3072, 0.333333), (0, 8192, 0.0), (0, 0, 0.0), (None, 8192, 0.0), (5, None, 0.0)],
)
def test_the_root_queue_uses_what_is_allocated_of_all(allocated, total, used):
    told = json.loads(METRICS)
    for name, value in (("allocatedMB", allocated), ("totalMB", total)):
        told["clusterMetrics"].pop(name, None)
        if value is not None:
            told["clusterMetrics"][name] = value
    *_, root = resource_manager_beans(json.dumps(told).encode(), NODES)
    assert (root["UsedCapacity"], root["AbsoluteUsedCapacity"]) == (used, used)


@pytest.mark.parametrize(
    ("load", "processors", "shown"), [(1.0, 3, 0.3333), (5.0, 2, 1.0), (2.0, 2, 1.0), (0.5, 0, 0.5), (1.0, 1, 1.0)]
)
def test_the_load_of_a_machine_is_a_part_of_its_processors_and_no_more_than_all(load, processors, shown):
    machine = Machine(load=load, processors=processors, name="Linux", architecture="amd64", version="6")
    beans = resource_manager_beans(METRICS, NODES, machine=machine)
    (system,) = (bean for bean in beans if bean["name"] == "java.lang:type=OperatingSystem")
    assert (system["SystemCpuLoad"], system["AvailableProcessors"]) == (shown, processors)


@pytest.mark.parametrize("is_secure", [False, True])
def test_where_it_is_and_if_tickets_are_asked_for_is_told_where_it_has_an_address(is_secure):
    first, *_ = resource_manager_beans(METRICS, NODES, address="h:1", is_secure=is_secure)
    assert (first["HostAndPort"], first["SecurityEnabled"], first["State"]) == ("h:1", is_secure, "active")


def test_a_node_that_cannot_be_read_and_quoted_numbers_cost_nothing_else():
    rows = [None, 5, ["n1:1"], {}, {"id": None}, {"id": "n1:1", "state": ["RUNNING"]}, {"id": "n2:1", "state": None}]
    metrics = {"clusterMetrics": {"totalMB": "400", "allocatedMB": "100"}}
    beans = resource_manager_beans(json.dumps(metrics).encode(), json.dumps({"nodes": {"node": rows}}).encode())
    told = {bean["name"].rpartition("name=")[2]: bean for bean in beans}
    assert [node["NodeId"] for node in json.loads(told["RMNMInfo"]["LiveNodeManagers"])] == ["n1:1", "n2:1"]
    assert told["QueueMetrics,q0=root"]["UsedCapacity"] == 0.25


ROWS = [{"name": f"a:b={n}", "modelerType": f"m{n}", "X": n} | ({"Y": -n} if n < 3 else {}) for n in (1, 2, 3)]


@pytest.mark.parametrize(
    ("query", "get", "found"),
    [
        (None, None, ROWS),
        ("", None, ROWS),
        ("a:b=2", None, ROWS[1:2]),
        ("a:b=2", "a:b=1::X", [{"name": "a:b=1", "modelerType": "m1", "X": 1}]),
        (None, "a:*::X", [{key: row[key] for key in ("name", "modelerType", "X")} for row in ROWS]),
        (None, "*:*::Y", [*({key: row[key] for key in ("name", "modelerType", "Y")} for row in ROWS[:2]), None]),
        (None, "a:b=3::Y", [None]),
        (None, "a:b=3::name", [{"name": "a:b=3", "modelerType": "m3"}]),
    ],
)
def test_all_beans_or_those_of_a_name_or_one_attribute_of_them_up_to_the_first_that_lacks_it(query, get, found):
    lacks = {"name": "a:b=3", "modelerType": "m3", "result": "ERROR", "message": "No attribute with name Y was found."}
    wanted = [lacks if each is None else each for each in found]
    assert json.loads(beans_document(ROWS, query, get)) == {"beans": wanted}
