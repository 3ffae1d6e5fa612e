"""JSON to XML, against every pair of recorded answers to the same request."""

import json
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.protocol.rest.xml_writer import XML_HEAD, NotXMLError, item_to_xml, json_to_xml, xml_and_left_out
from tests.doubles.recorded import RecordedExchange, recorded_exchange, recorded_exchanges

_DIGITS = re.compile(rb"\d+(\.\d+)?")
_ROOT = re.compile(rb'standalone="yes"\?><([\w-]+)')

_TAKEN_AT_DIFFERENT_TIMES = {"get_empty/bulk-activities"}
"""The pair shows two different lists of activities."""


def _pairs() -> list[tuple[str, RecordedExchange, RecordedExchange]]:
    known = recorded_exchanges()
    found = []
    for name, json_side in known.items():
        stem = name.removesuffix(".json")
        xml_side = known.get(f"{stem}.xml")
        if stem == name or xml_side is None or stem in _TAKEN_AT_DIFFERENT_TIMES:
            continue
        if json_side.status == xml_side.status and xml_side.body.startswith(b"<?xml"):
            found.append((stem, json_side, xml_side))
    return found


PAIRS = _pairs()


def test_there_are_many_recorded_pairs():
    assert len(PAIRS) > 100


@pytest.mark.parametrize(("name", "json_side", "xml_side"), PAIRS, ids=[name for name, _, _ in PAIRS])
def test_a_recorded_json_answer_becomes_the_recorded_xml_answer(name, json_side, xml_side):
    found = _ROOT.search(xml_side.body)
    assert found is not None
    root = found[1].decode()
    is_wrapped = list(json_side.json()) == [root]

    written = json_to_xml(json_side.body, root=None if is_wrapped else root)

    assert _DIGITS.sub(b"0", written) == _DIGITS.sub(b"0", xml_side.body)


def test_repeated_keys_survive():
    raw = b'{"app":{"resourceSecondsMap":{"entry":{"key":"a","value":"1"},"entry":{"key":"b","value":"2"}}}}'
    assert json_to_xml(raw).count(b"<entry>") == 2


def test_numbers_keep_their_digits():
    assert b"<x>30.000002</x><y>1.0E10</y>" in json_to_xml(b'{"a":{"x":30.000002,"y":1.0E10}}')


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('a<b>&"', '<m>a&lt;b&gt;&amp;"</m>'),
        ("\\u0000x\\u001b", "<m>�x�</m>"),
        ("\\ud800", "<m>�</m>"),
        ("tab\\tline\\n", "<m>tab\tline\n</m>"),
        ("back\\r", "<m>back&#13;</m>"),
    ],
)
def test_what_xml_cannot_hold_is_escaped_or_replaced(text, written):
    quoted = text.replace('"', '\\"')
    assert written in json_to_xml(f'{{"e":{{"m":"{quoted}"}}}}'.encode()).decode()


def test_a_document_of_many_members_needs_a_root():
    with pytest.raises(ValueError, match="no root"):
        json_to_xml(b'{"a":1,"b":2}')


def test_a_scheduler_declares_its_name_space_once():
    written = json_to_xml(recorded_exchange("get_empty/scheduler.json").body)
    assert written.count(b"xmlns:xsi") == 1


ODD_NAMES = [
    "",
    "a b",
    "a/",
    "a><script>alert(1)</script><a",
    "x:script",
    "html xmlns='http://www.w3.org/1999/xhtml'",
    "xmlns",
    "XmL-a",
    "1a",
    "-a",
    "a\n",
    "a\u0000",
    "ä",
    "a" * 201,
    "!--",
    "?xml-stylesheet href='x'",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_name_that_is_no_elements_leaves_its_item_out_and_counts(name):
    bad = {"id": 2, "map": {name: "<script>alert(1)</script>"}}
    inner = {"id": 3, "requests": [{name: 1}, {"ok": 1}]}
    xml, left_out = xml_and_left_out(json.dumps({"apps": {"app": [{"id": 1}, bad, inner], name: 1}}).encode())
    assert left_out == 3
    body = xml.decode().removeprefix(XML_HEAD)
    assert body == "<apps><app><id>1</id></app><app><id>3</id><requests><ok>1</ok></requests></app></apps>"
    with pytest.raises(NotXMLError):
        item_to_xml(json.dumps(bad).encode(), "app")
    with pytest.raises(NotXMLError):
        xml_and_left_out(json.dumps({name: {}}).encode())


@pytest.mark.parametrize("kind", ['x"><script>', "a b", "", {"a": 1}, [1], None, True, 1, "x:y"])
def test_a_type_that_is_no_name_leaves_out_what_has_it(kind):
    tree = {"scheduler": {"schedulerInfo": {"type": "fairScheduler", "queue": [{"type": kind}, {"type": "leaf"}]}}}
    xml, left_out = xml_and_left_out(json.dumps(tree).encode())
    assert (xml.count(b"<queue"), left_out) == (1, 1)
    tree["scheduler"]["schedulerInfo"] = {"type": kind, "queue": []}
    xml, left_out = xml_and_left_out(json.dumps(tree).encode())
    assert (xml.decode().removeprefix(XML_HEAD), left_out) == ("<scheduler></scheduler>", 1)


@pytest.mark.parametrize(
    "item",
    [
        b'{"a":' * 70 + b"1" + b"}" * 70,
        b'{"a":' + b"[" * 90_000 + b"]" * 90_000 + b"}",
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b"[1]",
        b"1",
        b"{",
        b"",
    ],
)
def test_an_item_that_is_no_object_or_too_deep_is_not_written(item):
    with pytest.raises(NotXMLError):
        item_to_xml(item, "app")


def test_bytes_that_are_no_utf8_are_replaced():
    assert item_to_xml(b'{"a":"\xff"}', "app").decode() == "<app><a>\N{REPLACEMENT CHARACTER}</a></app>"


def test_a_list_is_no_root():
    for inner in ([1, 2], []):
        with pytest.raises(NotXMLError):
            json_to_xml(json.dumps({"apps": inner}).encode())


@given(st.recursive(st.text() | st.none() | st.booleans() | st.integers(), lambda inner: st.lists(inner)
    | st.dictionaries(st.text(), inner), max_leaves=20))  # fmt: skip
def test_whatever_a_cluster_tells_is_well_formed(value):
    xml, _ = xml_and_left_out(json.dumps({"apps": {"app": value}}).encode())
    assert ET.fromstring(xml).tag == "apps"  # noqa: S314 - what Heddle wrote
