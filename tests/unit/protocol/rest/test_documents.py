import itertools
import json
from typing import Any

import msgspec
import pytest

from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationId, NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import HaState
from shim.errors import RemoteProtocolError
from shim.protocol import wire_values
from shim.protocol.rest.documents import (
    ApplicationReader,
    NodeReader,
    application_document,
    application_objects,
    node_objects,
    read_info,
    read_metrics,
    read_nodes,
    submitted_document,
)
from shim.protocol.wire_values import are_plain, plain_pieces, rows_in_slices
from tests.doubles.recorded import recorded_exchange, recorded_exchanges

EAST = SubClusterId("east")
APP = b'{"id":"application_1_0001","state":"RUNNING","finalStatus":"UNDEFINED","new":{"a":1,"a":2}}'


def listed(raw):
    rows = (ApplicationReader(EAST)(each, 5.0) for each in application_objects(raw))
    return {document.summary.application_id: document for document in rows if document is not None}


@pytest.mark.parametrize(
    "raw",
    [
        b'{"apps":null}',
        b'{"apps":{}}',
        b'{"apps":""}',
        b"{}",
        b'{"apps":{"app":null}}',
        b'{"apps":{"app":[]}}',
        b'{"apps":{"app":""}}',
    ],
)
def test_every_form_of_an_empty_list_is_empty(raw):
    assert listed(raw) == {}


@pytest.mark.parametrize("raw", [b'{"apps":{"app":[%s]}}' % APP, b'{"apps":{"app":%s}}' % APP])
def test_a_list_of_one_may_be_unwrapped_and_the_object_stays_as_it_was(raw):
    (document,) = listed(raw).values()
    assert document.raw == APP
    assert document.as_of_s == 5.0
    assert document.summary.application_id == ApplicationId(1, 1)


def test_quoted_numbers_are_numbers():
    app = APP.replace(b'"new"', b'"startedTime":"12","finishedTime":13.0,"new"')
    (document,) = listed(b'{"apps":{"app":[%s]}}' % app).values()
    assert (document.summary.started_at_ms, document.summary.finished_at_ms) == (12, 13)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[",
        b'{"apps":[[[',
        b'{"apps":{"app":[%s]}}' % APP[:-1],
        b"[" * 100_000,
        b"\xff\xfe",
        b"<html>",
    ],
)
def test_what_is_no_list_of_applications_is_refused(raw):
    with pytest.raises(RemoteProtocolError):
        listed(raw)


@pytest.mark.parametrize("odd", [b"{}", b"5", b"null", b"[]", b'{"id":"x","state":"RUNNING"}', b'{"id":null}'])
def test_an_application_that_cannot_be_read_costs_itself(odd):
    read = ApplicationReader(EAST)
    rows = [read(each, 1.0) for each in application_objects(b'{"apps":{"app":[%s,%s]}}' % (odd, APP))]
    assert (rows[0], rows[1].raw) == (None, APP)


@pytest.mark.parametrize(
    "member", ["name", "queue", "user", "applicationTags", "applicationType", "finalStatus", "state"]
)
@pytest.mark.parametrize("value", ["null", "5", '"of a newer Hadoop"'])
def test_an_odd_member_costs_nothing(member, value):
    row = b'{"id":"application_1_0001","state":"RUNNING","finalStatus":"UNDEFINED","queue":"q"}'
    told = json.loads(row) | {member: json.loads(value)}
    (found,) = listed(b'{"apps":{"app":[%s]}}' % json.dumps(told).encode()).values()
    assert found.summary.application_id == ApplicationId(1, 1)
    assert not found.summary.state.is_final


def test_a_node_that_cannot_be_read_costs_itself():
    good = b'{"id":"n1:1","rack":null,"state":"RUNNING","usedMemoryMB":null}'
    odd = (b"5", b"null", b"{}", b'{"id":"n1"}', b'{"id":"n2:1","state":[1]}', b'{"id":"n3:1","nodeLabels":5}')
    odd += (b'{"id":"n4:1","usedResource":5}', b'{"id":"n4:1","totalResource":[]}')
    rows = list(map(NodeReader(), node_objects(b'{"nodes":{"node":[%s,%s]}}' % (b",".join(odd), good))))
    assert (rows[:-1], str(rows[-1].node)) == ([None] * 8, "n1:1")


@pytest.mark.parametrize("odd", ["null", "5", "[]", '"x"', '{"name":[]}'])
def test_an_odd_row_within_a_node_costs_itself(odd):
    types = b'[{"name":"gpu","value":2},%s]' % odd.encode()
    told = b'{"id":"n1:1","totalResource":{"memory":8,"vCores":1,"resourceInformations":{"resourceInformation":%s}}}'
    read = NodeReader()
    (row,) = node_objects(b'{"nodes":{"node":[%s]}}' % (told % types))
    node = read(row)
    assert node is not None
    assert (node.total, +read.left_out) == (ResourceVector(8, 1, {"gpu": 2}), {"resource types": 1})


def test_a_host_that_is_excluded_and_was_never_seen_is_a_row():
    row = b'{"rack":"/default-rack","state":"DECOMMISSIONED","id":"198.18.5.3:-1","nodeHostName":"198.18.5.3"}'
    (node,) = read_nodes(b'{"nodes":{"node":[%s]}}' % row)
    assert (str(node.node), node.state, node.total) == ("198.18.5.3:-1", "DECOMMISSIONED", ResourceVector())


def test_a_node_is_in_the_partition_that_can_be_read_or_in_none():
    read = NodeReader()
    rows = node_objects(b'{"nodes":{"node":[{"id":"n1:1","nodeLabels":[5,"gpu"]},{"id":"n2:1","nodeLabels":[5]}]}}')
    known, lost = map(read, rows)
    assert known is not None
    assert (known.labels, lost, +read.left_out) == (("gpu",), None, {"labels": 2})


@pytest.mark.parametrize("odd", [5, "x", [], None, {"memory": []}, {"resourceInformations": 5}], ids=str)
def test_totals_over_partitions_that_cannot_be_read_are_those_of_the_default_one(odd):
    told = {"totalMB": 100, "totalVirtualCores": 2, "allocatedMB": 10, "allocatedVirtualCores": 1}
    whole = {"totalClusterResourcesAcrossPartition": {"memory": 300, "vCores": 3}}
    without = read_metrics(json.dumps({"clusterMetrics": told | {next(iter(whole)): odd}}).encode())
    assert (without.capacity, without.used) == (ResourceVector(100, 2), ResourceVector(10, 1))
    if not isinstance(odd, dict):
        used = {"totalUsedResourcesAcrossPartition": odd}
        found = read_metrics(json.dumps({"clusterMetrics": told | whole | used}).encode())
        assert (found.capacity, found.used) == (ResourceVector(300, 3), ResourceVector(10, 1))


@pytest.mark.parametrize("odd", [None, 5, [], {}], ids=str)
def test_a_version_that_is_no_text_costs_no_cluster(odd):
    told = {"startedOn": 5, "haState": "active", "hadoopVersion": odd, "resourceManagerVersion": "3.4.2"}
    found = read_info(json.dumps({"clusterInfo": told}).encode())
    assert (found.started_on_ms, found.ha_state) == (5, HaState.ACTIVE)
    assert found.version == ("5" if odd == 5 else "3.4.2")
    assert read_info(b'{"clusterInfo":{"haState":null,"startedOn":null}}').ha_state is HaState.ACTIVE


@pytest.mark.parametrize(
    ("told", "written"),
    [
        (b'{"a":NaN}', b'{"a":"NaN"}'),
        (b'{"a":INF,"b":-INF}', b'{"a":"Infinity","b":"-Infinity"}'),
        (b"[-Infinity, Infinity]", b'["-Infinity", "Infinity"]'),
        (b'{"NaN":"a INF \\" NaN","b":NaN}', b'{"NaN":"a INF \\" NaN","b":"NaN"}'),
        (b'{"a":"INFO"}', b'{"a":"INFO"}'),
        (b'{"a":1}', b'{"a":1}'),
        (b'{"a":"x\\ud83d"}', b'{"a":"x\\ufffd"}'),
        (b'{"a":"\\uDE00\\ud83d\\ude00"}', b'{"a":"\\ufffd\\ud83d\\ude00"}'),
        (b'{"a":"\\\\ud83d\\u00e4\\""}', b'{"a":"\\\\ud83d\\u00e4\\""}'),
        (b'{"a":"\\ud83d\\n","b":NaN}', b'{"a":"\\ufffd\\n","b":"NaN"}'),
    ],
)
def test_what_is_no_number_or_half_a_letter_is_text_in_what_is_json_then(told, written):
    assert b"".join(plain_pieces(told)) == written
    msgspec.json.decode(written)
    assert told == written or not all(are_plain(told))


@pytest.mark.parametrize("padding", [0, 1, 2, 3, 4, 64 * 1024 - 9, 300_000])
@pytest.mark.parametrize("text", [b'"NaN\\"INF,NaN"', b'"\\\\"', b'""', b"-INF", b"1.5e-7"])
def test_numbers_that_are_none_are_texts_wherever_a_piece_of_a_large_document_ends(padding, text):
    told = b'{"a":"%b","b":[%b]}' % (b"x" * padding, b",".join([text, b"NaN", b"-Infinity", b"-1"] * 8000))
    usual = text if text != b"-INF" else b'"-Infinity"'
    plain = b"".join(plain_pieces(told))
    assert plain == b'{"a":"%b","b":[%b]}' % (
        b"x" * padding,
        b",".join([usual, b'"NaN"', b'"-Infinity"', b"-1"] * 8000),
    )
    json.loads(plain)


@pytest.mark.parametrize(
    "told", [b'"' + b"a" * 5_000_000 + b'"', b'["' + b"\\" * 5_000_001, b'NaN"' + b"a" * 5_000_000]
)
def test_a_text_without_end_is_refused(told):
    with pytest.raises(RemoteProtocolError, match="a text of more"):
        list(plain_pieces(told))


def test_a_map_that_repeats_a_key_travels_as_it_is():
    raw = recorded_exchange("running/app.json").body
    document = application_document(raw, EAST, 1.0)
    assert raw == b'{"app":%s}' % document.raw
    assert document.raw.count(b'"entry"') >= 2
    assert document.summary.tags == ("taga", "tagb")
    assert document.summary.state is YarnApplicationState.RUNNING


def answers_to(path):
    return [
        exchange
        for exchange in recorded_exchanges().values()
        if exchange.method == "GET"
        and exchange.status == 200
        and exchange.path.rstrip("/") == f"/ws/v1/cluster/{path}"
        and exchange.body.startswith(b"{")
    ]


def test_every_recorded_list_of_applications_is_split_without_loss():
    exchanges = answers_to("apps")
    assert len(exchanges) > 50
    for exchange in exchanges:
        documents = listed(exchange.body)
        joined = b",".join(document.raw for document in documents.values())
        assert exchange.body in (b'{"apps":{"app":[%s]}}' % joined, b'{"apps":{}}' if not documents else b"")
        for document in documents.values():
            assert json.loads(document.raw)["id"] == str(document.summary.application_id)


def test_recorded_info_tells_who_is_active():
    states = {read_info(exchange.body).ha_state for exchange in answers_to("info")}
    assert {HaState.ACTIVE, HaState.STANDBY} <= states
    assert read_info(recorded_exchange("fair/info.json").body).version == "3.4.2"


@pytest.mark.parametrize("raw", [b"{}", b'{"clusterInfo":{"haState":"ODD"}}', b"garbage"])
def test_what_is_no_info_is_refused(raw):
    with pytest.raises(RemoteProtocolError):
        read_info(raw)


def test_metrics_are_of_all_node_labels_together_or_of_what_an_old_version_tells():
    labelled = read_metrics(recorded_exchange("labels/metrics_labelled.json").body)
    assert labelled.capacity == ResourceVector(8192, 8)
    old = b'{"clusterMetrics":{"totalMB":"4096","totalVirtualCores":4,"allocatedMB":1024,"allocatedVirtualCores":1}}'
    assert read_metrics(old).capacity == ResourceVector(4096, 4)
    assert read_metrics(old).used == ResourceVector(1024, 1)


def test_nodes_have_labels_and_sizes():
    nodes = {str(node.node): node for node in read_nodes(recorded_exchange("labels/nodes_labelled.json").body)}
    assert sorted(node.labels for node in nodes.values()) == [(), ("gpu",)]
    assert {node.total for node in nodes.values()} == {ResourceVector(4096, 4)}
    told = json.loads(recorded_exchange("labels/mapped.label-mappings.json").body)["labelsToNodes"]["entry"]
    labelled = next(entry["value"]["nodes"] for entry in told if entry["key"]["name"] == "gpu")
    assert nodes[labelled].labels == ("gpu",)


def test_a_node_of_an_old_version_is_as_large_as_what_it_uses_and_has_left():
    raw = b'{"nodes":{"node":{"id":"n1:8041","state":"RUNNING","usedMemoryMB":1024,"availMemoryMB":"3072",'
    raw += b'"usedVirtualCores":1,"availableVirtualCores":3,"nodeLabels":"gpu"}}}'
    (node,) = read_nodes(raw)
    assert node.node == NodeId("n1", 8041)
    assert (node.total, node.used, node.labels) == (ResourceVector(4096, 4), ResourceVector(1024, 1), ("gpu",))


@pytest.mark.parametrize("raw", [b'{"nodes":null}', b'{"nodes":{}}', b'{"nodes":""}', b"{}", b'{"nodes":{"node":[]}}'])
def test_no_nodes_in_any_form_are_none(raw):
    assert read_nodes(raw) == ()


def test_every_recorded_list_of_nodes_is_read():
    told = [len(read_nodes(exchange.body)) for exchange in answers_to("nodes")]
    assert told == [len(json.loads(exchange.body)["nodes"].get("node", [])) for exchange in answers_to("nodes")]
    assert sum(told) > 0


def test_a_submitted_document_reads_as_what_it_was_made_of_and_has_the_fields_of_a_real_one():
    summary = ApplicationSummary(
        ApplicationId(7, 3),
        EAST,
        "alice",
        "job",
        "root.default",
        YarnApplicationState.SUBMITTED,
        FinalStatus.UNDEFINED,
        "SPARK",
        ("a", "b"),
        started_at_ms=99,
    )
    document = submitted_document(summary, 4.0, is_unmanaged=False)
    assert application_document(b'{"app":%s}' % document.raw, EAST, 4.0) == document
    real = json.loads(recorded_exchange("submit_outcome/outcome.queue_unknown").body)["app"]
    made = json.loads(document.raw)
    assert [*made] == [name for name in real if name != "rmClusterId"]
    moments = {"clusterId", "startedTime", "finishedTime", "elapsedTime", "launchTime", "priority", "progress"}
    counted = [name for name, value in real.items() if isinstance(value, int | float) and name not in moments]
    assert {name: made[name] for name in counted if name in made} == {name: real[name] for name in counted}
    assert made["timeouts"] == real["timeouts"]


def test_of_resource_types_a_bounded_number_with_short_names_is_read():
    names = ["memory-mb", "x" * 1025, *(f"t{number}" for number in range(200))]
    rows = [{"name": name, "value": 7} for name in names]
    total = {"memory": 5, "vCores": 1, "resourceInformations": {"resourceInformation": rows}}
    found = read_metrics(json.dumps({"clusterMetrics": {"totalClusterResourcesAcrossPartition": total}}).encode())
    assert len(found.capacity.others) == 98
    assert max(map(len, found.capacity.others)) <= 1024


ROW = {
    "id": "application_1_0001",
    "user": "alice",
    "name": "job",
    "queue": "root.q",
    "state": "RUNNING",
    "finalStatus": "UNDEFINED",
    "progress": 1.5,
    "applicationType": "YARN",
    "applicationTags": "a,b",
    "startedTime": 5,
    "finishedTime": 0,
    "elapsedTime": 9,
}
OTHER_VALUES = [None, "other", "FINISHED", "KILLED", "", 7, 7.5, True, "7"]


def encoded(row):
    return msgspec.Raw(json.dumps(row).encode())


def test_of_an_application_that_goes_on_the_rest_stands():
    read = ApplicationReader(EAST)
    before = read(encoded(ROW), 1.0)
    later = encoded(ROW | {"progress": 2.5, "elapsedTime": 99, "memorySeconds": 1})
    after = read(later, 2.0)
    assert after.summary is before.summary
    assert (after.raw, after.as_of_s) == (bytes(later), 2.0)


@pytest.mark.parametrize("member", [name for name in ROW if name != "id"])
@pytest.mark.parametrize("value", OTHER_VALUES)
def test_whatever_changes_is_read_as_if_it_was_told_for_the_first_time(member, value):
    read = ApplicationReader(EAST)
    read(encoded(ROW), 1.0)
    for row in (ROW | {member: value}, ROW):
        assert read(encoded(row), 2.0) == ApplicationReader(EAST)(encoded(row), 2.0)


def test_one_reader_reads_many_applications_and_forgets_those_that_are_gone():
    read = ApplicationReader(EAST)
    rows = [ROW | {"id": f"application_1_{number:04d}", "user": f"u{number}"} for number in range(9)]
    for _ in range(2):
        assert [read(encoded(row), 1.0).summary.user for row in rows] == [f"u{number}" for number in range(9)]
    last = read(encoded(rows[-1]), 1.0)
    read.forget_others({last.summary.application_id: last})
    assert read(encoded(rows[-1]), 1.0).summary is last.summary
    assert read(encoded(rows[0]), 1.0).summary.user == "u0"


@pytest.mark.parametrize(("told", "is_remembered"), [(3, True), (6, True), (7, False)])
def test_those_that_are_gone_are_remembered_while_they_are_no_more_than_those_that_live(told, *, is_remembered):
    read = ApplicationReader(EAST)
    rows = [ROW | {"id": f"application_1_{number:04d}"} for number in range(told)]
    first, *_ = found = [read(encoded(row), 1.0) for row in rows]
    read.forget_others({each.summary.application_id: each for each in found[-3:]})
    assert (read(encoded(rows[0]), 2.0).summary is first.summary) is is_remembered
    assert all(read(encoded(row), 2.0).summary is each.summary for row, each in zip(rows[-3:], found[-3:], strict=True))


AMOUNT = {"memory": 8, "vCores": 2}
GPUS = {"resourceInformations": {"resourceInformation": [{"name": "gpu", "value": 3}]}}
LABELS: list[Any] = [["gpu"], "gpu", [], None, [5]]
AMOUNTS: list[Any] = [None, AMOUNT | GPUS, {}, 5, []]
NODE = {"id": "n1:1", "rack": "/r", "state": "RUNNING", "usedResource": AMOUNT, "totalResource": AMOUNT}


@pytest.mark.parametrize(
    "change",
    [
        *({name: value} for name in ("rack", "state") for value in ("other", "", None)),
        *({"nodeLabels": value} for value in LABELS),
        *({name: value} for name in ("usedResource", "totalResource") for value in AMOUNTS),
        {"usedResource": None, "usedMemoryMB": 3, "availMemoryMB": 4, "usedVirtualCores": 1},
    ],
)
def test_a_node_that_changed_is_read_as_if_it_was_told_for_the_first_time(change):
    read = NodeReader()
    first = read(encoded(NODE))
    assert read(encoded(NODE | {"lastHealthUpdate": 5})) is first
    for node in (NODE | change, NODE):
        assert read(encoded(node)) == NodeReader()(encoded(node))


LIST = b'{"apps":{"app":['
HARD_NAMES = ["x", '},{"id":"application_1_0001', '}]}}{"apps":{"app":[', "]", '\\"},{', "\u00e4" * 9]


@pytest.mark.parametrize("slice_bytes", [1, 40, 100, 10_000])
def test_a_list_in_slices_is_the_list(monkeypatch, slice_bytes):
    monkeypatch.setattr(wire_values, "_SLICE_BYTES", slice_bytes)
    rows = [ROW | {"name": name} for name in HARD_NAMES]
    raw = json.dumps({"apps": {"app": rows}}, separators=(",", ":")).encode()
    slices = list(rows_in_slices(raw, LIST))
    assert list(map(bytes, itertools.chain(*slices))) == list(map(bytes, application_objects(raw)))
    assert len(slices) == {1: 6, 10_000: 1}.get(slice_bytes, len(slices))


@pytest.mark.parametrize(
    "raw",
    [
        b'{"apps":{"app":[{"id":1,"x":[{"id":2},{"id":3}]},{"id":4}]}}',
        b'{"apps":{"app":[{"id":1}],"x":[{"id":2},{"id":3}]}}',
        b'{"apps":{"app":[{"id":1},{"id":2}',
        b'{"apps":{"app":[{"id":1},{"id":2]}}',
        b'{"apps":{"app":[]}}',
        b'{"apps":{"app":[5,{"id":1}]}}',
        b'{"apps":{"app":[{"id":1}]},"b":{}}',
        b'{"apps":{"app":{"id":1}}}',
        b"",
    ],
)
def test_what_cannot_be_cut_is_refused_rather_than_cut_wrongly(monkeypatch, raw):
    monkeypatch.setattr(wire_values, "_SLICE_BYTES", 1)
    with pytest.raises(RemoteProtocolError):
        list(rows_in_slices(raw, LIST))


@pytest.mark.parametrize("id_", ["[2001:db8::1]:8041", "2001:db8::1:8041"])
def test_a_node_with_an_address_of_version_six_is_a_node(id_):
    (row,) = map(NodeReader(), node_objects(b'{"nodes":{"node":[{"id":"%s"}]}}' % id_.encode()))
    assert str(row.node) == id_


def test_states_may_be_in_small_letters():
    row = b'{"id":"application_1_0001","state":"finished","finalStatus":"succeeded"}'
    (found,) = listed(b'{"apps":{"app":[%s]}}' % row).values()
    assert (found.summary.state.value, found.summary.final_status.value) == ("FINISHED", "SUCCEEDED")
