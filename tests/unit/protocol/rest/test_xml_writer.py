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


# ---------------------------------------------------------------------- levels and types


def nested(levels: int, value: object = None) -> object:
    """So many objects in one another; in the last one is a value, if there is one."""
    for number in range(levels):
        value = {"a": value} if number or value is not None else {}
    return value


@pytest.mark.parametrize(("levels", "left_out"), [(63, 0), (64, 0), (65, 1)])
def test_members_are_written_down_to_a_level(levels, left_out):
    body, found = xml_and_left_out(json.dumps(nested(levels + 1)).encode())
    assert (found, body.count(b"<a>") + body.count(b"<a/>")) == (left_out, levels - left_out)


@pytest.mark.parametrize(("levels", "left_out"), [(62, 0), (63, 0), (64, 1)])
def test_an_item_with_too_many_levels_is_left_out_whole(levels, left_out):
    whole = {"r": {"i": [{"b": 1}, nested(levels), {"b": 2}]}}
    body, found = xml_and_left_out(json.dumps(whole).encode())
    assert found == left_out
    assert body.count(b"<i>") + body.count(b"<i/>") == 3 - left_out
    item = json.dumps(nested(levels + 1)).encode()
    if left_out:
        with pytest.raises(NotXMLError):
            item_to_xml(b'{"b":%b}' % item, "i")
    else:
        assert item_to_xml(item, "i").startswith(b"<i><a>")


@pytest.mark.parametrize(("levels", "left_out"), [(62, 0), (63, 0), (64, 1), (900, 1)])
def test_lists_in_lists_are_levels_too(levels, left_out):
    value: object = 7
    for _ in range(levels):
        value = [value]
    body, found = xml_and_left_out(json.dumps({"r": {"l": value}}).encode())
    assert (found, body.count(b"<l>7</l>")) == (left_out, 1 - left_out)


XSI = ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'


@pytest.mark.parametrize(
    ("value", "written", "left_out"),
    [
        ({}, "<queue/>", 0),
        ({"type": "t"}, f'<queue{XSI} xsi:type="t"/>', 0),
        ({"type": "t", "x": 1}, f'<queue{XSI} xsi:type="t"><x>1</x></queue>', 0),
        ({"x": 1, "type": "t"}, "<queue><x>1</x><type>t</type></queue>", 0),
        ({"type": 7}, "", 1),
        ({"type": "a b"}, "", 1),
        ({"type": None}, "", 1),
        (
            {"type": "t", "queue": {"type": "u", "other": {"type": "v"}}},
            f'<queue{XSI} xsi:type="t"><queue xsi:type="u"><other><type>v</type></other></queue></queue>',
            0,
        ),
        (
            {"x": {"queue": {"type": "t"}}, "rootQueue": {"type": "u"}},
            f'<queue><x><queue{XSI} xsi:type="t"/></x><rootQueue{XSI} xsi:type="u"/></queue>',
            0,
        ),
        ({"b": True, "c": False, "n": None, "l": [1, "x", None]}, None, 0),
    ],
)
def test_the_type_that_leads_an_element_is_its_attribute(value, written, left_out):
    if written is None:
        written = "<queue><b>true</b><c>false</c><n/><l>1</l><l>x</l><l/></queue>"
    body, found = xml_and_left_out(json.dumps({"r": {"queue": value}}).encode())
    inner = f"<r>{written}</r>"
    assert (body.decode().removeprefix(XML_HEAD), found) == (inner, left_out)


@pytest.mark.parametrize("document", [b"7", b"[]", b'"x"', b"null", b"{}", b'{"a":1,"b":2}', b'{"a":[1]}', b"{", b""])
def test_a_document_has_one_member_that_is_no_list(document):
    with pytest.raises(NotXMLError):
        xml_and_left_out(document)


def test_with_a_root_given_the_members_are_within_it():
    written = f"{XML_HEAD}<r><a>1</a><b>2</b><b>3</b></r>".encode()
    assert xml_and_left_out(b'{"a":1,"b":[2,3]}', root="r") == (written, 0)
    with pytest.raises(NotXMLError, match="a list has no root"):
        xml_and_left_out(b'{"r":[1]}')
