"""What is sent is read by any parser as it was understood; what could be read differently is refused."""

import contextlib
import json
import time
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.protocol.rest.bodies import MAX_DEPTH, MAX_VALUES, check_cost, read_fields
from shim.protocol.rest.body_shapes import SHAPES, understand
from shim.protocol.rest.errors import JavaError
from shim.server.rest.endpoints import ENDPOINTS

JSON, XML = "application/json", "application/xml"
ROWS = sorted(SHAPES)
ID = "application_1_0001"
FIELDS = ("queue", "application-id", "application-name", "priority", "application-type", "resource", "unmanaged-AM")
NAMES = st.sampled_from(
    [*FIELDS, "Queue", " queue", "queue ", "x:queue", "@queue", "$", "tag", "a", "{}queue", "queue\x00"]
)
TEXTS = st.sampled_from(
    ["prod", "root.prod", " prod", "5", "1.5", "true", "", "<a/>", "]]>", "\ud800", "a\x00"]
) | st.text(max_size=5)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)


class Members(list[tuple[str, object]]):
    """An object, with every member that it has."""


def members_of(body: bytes) -> Members:
    """Another reading of JSON: nothing is lost."""
    read: Members = json.loads(body, object_pairs_hook=Members)
    return read


@st.composite
def json_bodies(draw) -> bytes:
    """Contexts with members that stand twice, in any order."""
    pairs = draw(st.lists(st.tuples(NAMES, VALUES), max_size=5))
    text = ",".join(f"{json.dumps(name)}:{json.dumps(value)}" for name, value in [("application-id", ID), *pairs])
    return f"{{{text}}}".encode()


@st.composite
def xml_bodies(draw) -> bytes:
    """Contexts with comments, sections, attributes, namespaces and children where text should be."""
    text = st.sampled_from(
        ["prod", " ", "root.", "<!-- c -->", "<![CDATA[dev]]>", "&#112;", "<x/>", "<x>dev</x>", "&amp;", "<?p i?>", "5"]
    )
    mark = st.sampled_from(["", "", "", "", ' a="b"', ' xmlns="u"', ' xmlns:q="u"'])
    fields = st.tuples(st.sampled_from([*FIELDS, "q:queue", "other"]), mark, st.lists(text, max_size=3))
    drawn = draw(st.lists(fields, max_size=4))
    inner = "".join(f"<{name}{marks}>{''.join(texts)}</{name}>" for name, marks, texts in drawn)
    root = f'xmlns:q="u"{draw(mark)}' if any(name.startswith("q:") for name, _, _ in drawn) else ""
    between = draw(st.sampled_from(["", "", "\n", "text"]))
    name = SHAPES["POST /apps"].xml_root
    return f"<{name} {root}>{between}<application-id>{ID}</application-id>{inner}</{name}>".encode()


@given(json_bodies())
def test_json_says_once_and_plainly_what_was_understood(body: bytes):
    with contextlib.suppress(JavaError):
        understood = understand(body, media_type=JSON, shape=SHAPES["POST /apps"])
        told = members_of(understood.body)
        assert len({name for name, _ in told}) == len(told)
        plain = {name: value for name, value in told if name in FIELDS and name != "resource"}
        assert all(isinstance(value, (str, int, bool)) for value in plain.values())
        assert plain.get("queue", "") == understood.text("queue")
        assert plain["application-id"] == ID
        again = understand(understood.body, media_type=JSON, shape=SHAPES["POST /apps"])
        assert (again.fields, again.body) == (understood.fields, understood.body)


@given(xml_bodies())
def test_xml_says_once_and_plainly_what_was_understood(body: bytes):
    with contextlib.suppress(JavaError):
        understood = understand(body, media_type=XML, shape=SHAPES["POST /apps"])
        root = ET.fromstring(understood.body)  # noqa: S314 - our own bytes
        assert all(not element.attrib and "}" not in element.tag for element in root.iter())
        for field in ("queue", "application-name", "application-type"):
            found = root.findall(field)
            assert len(found) <= 1
            assert all(len(element) == 0 for element in found)
            assert (root.findtext(field) or "") == understood.text(field)
        assert root.findtext("application-id") == ID
        again = understand(understood.body, media_type=XML, shape=SHAPES["POST /apps"])
        assert (again.fields, again.body) == (understood.fields, understood.body)


@given(st.binary(max_size=200), st.sampled_from([JSON, XML]), st.sampled_from(ROWS))
def test_any_bytes_are_understood_or_refused_at_every_endpoint(body: bytes, media_type: str, row: str):
    with contextlib.suppress(JavaError):
        understood = understand(body, media_type=media_type, shape=SHAPES[row])
        assert understand(understood.body, media_type=media_type, shape=SHAPES[row]) == understood


@pytest.mark.parametrize("row", ROWS)
@given(value=VALUES)
def test_any_value_of_any_field_is_understood_or_refused_at_every_endpoint(row: str, value: object):
    shape = SHAPES[row]
    fields = dict.fromkeys(shape.fields, value)
    body = json.dumps({shape.json_root: fields} if shape.json_root else fields).encode()
    with contextlib.suppress(JavaError):
        understood = understand(body, media_type=JSON, shape=shape)
        assert understand(understood.body, media_type=JSON, shape=shape) == understood


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("text", ["\\ud800", "a\\uDFFFb", "\\udc00\\ud800"])
@pytest.mark.parametrize("form", ['"%s"', '["%s"]', '{"a":"%s"}', '{"a":["x","%s"]}'])
def test_half_of_a_pair_of_surrogates_is_refused(row: str, text: str, form: str):
    shape = SHAPES[row]
    members = ",".join(f'"{name}":{form % text}' for name in (*shape.fields, "other"))
    body = f'{{"{shape.json_root}":{{{members}}}}}' if shape.json_root else f"{{{members}}}"
    with pytest.raises(JavaError):
        understand(body.encode(), media_type=JSON, shape=shape)


def test_a_whole_pair_of_surrogates_is_one_character():
    assert read_fields(b'{"a":"\\ud83d\\ude00"}', media_type=JSON) == {"a": "\U0001f600"}


def test_every_endpoint_that_takes_a_body_has_a_shape():
    assert {f"{row.method} {row.path}" for row in ENDPOINTS if row.takes_body} == set(SHAPES)


@pytest.mark.parametrize("name", ["$", "@a", "a:b", "a b", "", "{u}a", "-a", "a\x00", "\uff41", "a" * 300])
def test_a_name_that_is_no_plain_name_is_refused_at_any_depth(name: str):
    for body in ({name: 1}, {"new": {"deep": [{name: 1}]}}):
        with pytest.raises(JavaError, match="no name of a field"):
            read_fields(json.dumps(body).encode(), media_type=JSON)


def test_what_is_not_known_here_travels():
    body = b'{"new":{"a":[1.50,true,"x"],"b":{},"c":[]},"none":null,"more":1e400}'
    understood = understand(body, media_type=JSON, shape=SHAPES["PUT /apps/{application}/queue"])
    assert understood.body == b'{"new":{"a":[1.50,true,"x"],"b":{},"c":[]},"more":1e400}'


def test_members_that_stand_twice_are_one_list():
    understood = understand(b'{"e":1,"e":[2,3],"e":{"x":4}}', media_type=JSON, shape=SHAPES["PUT /scheduler-conf"])
    assert understood.body == b'{"e":[1,2,3,{"x":4}]}'


@pytest.mark.parametrize("media_type", [JSON, XML])
def test_a_body_of_very_many_values_is_refused(media_type: str):
    count = MAX_VALUES + 1
    body = b"[" + b"1," * count + b"1]" if media_type == JSON else b"<a/>" * count
    whole = b'{"a":' + body + b"}" if media_type == JSON else b"<r>" + body + body + b"</r>"
    with pytest.raises(JavaError, match=f"more than {MAX_VALUES} values"):
        read_fields(whole, media_type=media_type)


@pytest.mark.parametrize("sign", [b",", b"[", b"{"])
@pytest.mark.parametrize(("more", "is_refused"), [(0, False), (1, True)])
def test_json_is_refused_by_its_signs_before_anything_is_built_of_it(sign: bytes, more: int, *, is_refused: bool):
    """So many in a text, where they cost nothing but the count."""
    body = b'{"a":"' + sign * (3 * MAX_VALUES - 1 + more) + b'"}'
    if is_refused:
        with pytest.raises(JavaError, match=f"more than {MAX_VALUES} values"):
            check_cost(body)
    else:
        check_cost(body)


def test_a_body_is_refused_by_its_signs_though_they_are_text():
    with pytest.raises(JavaError, match=f"more than {MAX_VALUES} values"):
        read_fields(b'{"a":"%b"}' % (b"{" * 3 * MAX_VALUES), media_type=JSON)


@pytest.mark.parametrize(("depth", "is_refused"), [(MAX_DEPTH, False), (MAX_DEPTH + 1, True)])
def test_json_is_refused_by_its_depth_before_anything_is_built_of_it(depth: int, *, is_refused: bool):
    body = b"[" * depth + b"]" * depth
    if is_refused:
        with pytest.raises(JavaError, match=f"nested deeper than {MAX_DEPTH} levels"):
            check_cost(body)
    else:
        check_cost(body)


@pytest.mark.parametrize("body", [b"null", b"[]", b"[1]"])
def test_json_that_is_no_object_is_refused_as_jersey_does(body: bytes):
    with pytest.raises(JavaError, match='Cannot read field "name" because "pi" is null'):
        read_fields(body, media_type=JSON)


@pytest.mark.parametrize("body", [b"7", b'"x"', b"true"])
def test_a_scalar_is_a_body_without_fields(body: bytes):
    assert read_fields(body, media_type=JSON) == {}


@pytest.mark.parametrize(("sign", "most"), [(b"<", 2 * MAX_VALUES), (b"=", MAX_VALUES)], ids=["elements", "attributes"])
@pytest.mark.parametrize("more", [0, 1])
def test_xml_is_refused_by_its_signs_before_it_is_read(sign: bytes, most: int, more: int):
    """Signs within text, where they are not elements."""
    around = b"<r><a><![CDATA[%b]]></a></r>"
    body = around % (sign * (most - around.count(sign) + more))
    if more:
        with pytest.raises(JavaError, match=f"more than {MAX_VALUES} values"):
            read_fields(body, media_type=XML)
    else:
        assert len(str(read_fields(body, media_type=XML)["a"])) == most - around.count(sign)


@pytest.mark.parametrize(("count", "is_refused"), [(MAX_VALUES - 1, False), (MAX_VALUES, True)])
def test_values_of_lists_and_members_are_counted_together(count: int, *, is_refused: bool):
    body = b'{"a":[%b]}' % b",".join([b"1"] * count)
    if is_refused:
        with pytest.raises(JavaError, match=f"more than {MAX_VALUES} values"):
            read_fields(body, media_type=JSON)
    else:
        values = read_fields(body, media_type=JSON)["a"]
        assert isinstance(values, list)
        assert len(values) == count


def test_deep_xml_is_refused():
    body = b"<a>" * (MAX_DEPTH + 1) + b"</a>" * (MAX_DEPTH + 1)
    with pytest.raises(JavaError, match="nested deeper"):
        read_fields(body, media_type=XML)


def test_a_schema_location_is_no_field():
    body = (
        b'<appqueue xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:noNamespaceSchemaLocation="x">'
        b"<queue>prod</queue></appqueue>"
    )
    understood = understand(body, media_type=XML, shape=SHAPES["PUT /apps/{application}/queue"])
    assert understood.body.endswith(b"\n<appqueue><queue>prod</queue></appqueue>")


@pytest.mark.parametrize("amount", ["9" * 30, "99999999999", "x", "", "1e5"])
def test_a_number_that_does_not_fit_is_0_here_and_there(amount: str):
    body = json.dumps({"priority": amount}).encode()
    understood = understand(body, media_type=JSON, shape=SHAPES["PUT /apps/{application}/priority"])
    assert understood.body == b'{"priority":0}'


@pytest.mark.parametrize("media_type", [JSON, XML])
def test_what_is_repeated_costs_no_square_of_it(media_type: str) -> None:
    def cost_s(count: int) -> float:
        body = b"{" + b",".join([b'"a":1'] * count) + b"}"
        if media_type == XML:
            body = b"<r>" + b"<a>1</a>" * count + b"</r>"
        found = []
        for _ in range(3):
            began_s = time.thread_time()
            values = read_fields(body, media_type=media_type)["a"]
            assert isinstance(values, list)
            assert len(values) == count
            found.append(time.thread_time() - began_s)
        return min(found)

    assert cost_s(MAX_VALUES - 10) < 5 * 8 * cost_s(MAX_VALUES // 8) + 0.05
