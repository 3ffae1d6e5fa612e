"""JSON to XML, against every pair of recorded answers to the same request."""

import re

import pytest

from shim.protocol.rest.xml_writer import json_to_xml
from shim.testing.recorded import RecordedExchange, recorded_exchange, recorded_exchanges

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
