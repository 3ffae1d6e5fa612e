"""Bodies of the web services, read into one form and written anew.

A body that a client wrote never reaches a ResourceManager. It is read into a tree of fields, and what is sent is
written from that tree: so the ResourceManager cannot read another value than Heddle decided on. A construct that two
parsers could read differently is refused: attributes and namespaces, `$` and `@` members, text between elements, lists
in lists, document types and entities, deep nesting. Repeated members become one list, comments and sections vanish.

Source: `JAXBContextResolver`, Jersey 1.19's natural JSON notation, recorded answers of 3.4.2.
"""

import json
import re
from collections.abc import Mapping
from typing import NoReturn, TypeAlias

from lxml import etree

from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.ordered_json import NumberText, nesting_depth

MAX_DEPTH = 64
"""Deepest nesting of a body; a real submission has six levels."""

MAX_VALUES = 20_000
"""Most members, elements and items of a body; a job with a thousand local resources has six thousand."""

_MAX_SIGNS = 3 * MAX_VALUES
"""Most signs that could separate or open values, counted before anything is built: texts may hold some as well."""

XML_TYPE = "application/xml"

Value: TypeAlias = "str | NumberText | bool | Fields"
Values: TypeAlias = "Value | list[Value]"
Fields: TypeAlias = dict[str, Values]
"""Members of an object, or children of an element, in their order; what stands more than once is a list."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,199}", re.ASCII)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_HARMLESS = "{http://www.w3.org/2001/XMLSchema-instance}"
_HARMLESS_ATTRIBUTES = frozenset({f"{_HARMLESS}schemaLocation", f"{_HARMLESS}noNamespaceSchemaLocation"})


def read_fields(body: bytes, *, media_type: str, root: str = "") -> Fields:
    """Read a body.

    Args:
        body: As it came, decompressed; the caller has limited its size.
        media_type: `application/json` or `application/xml`, without parameters.
        root: Name that the root element of XML must have; empty for any.

    Raises:
        JavaError: 400, if it is not readable, or has what parsers read differently.
    """
    return _read_xml(body, root) if media_type == XML_TYPE else _read_json(body)


def write_fields(fields: Mapping[str, Values], *, media_type: str, root: str) -> bytes:
    """Write a body that every parser reads as these fields.

    Args:
        media_type: `application/json` or `application/xml`.
        root: Name of the root element of XML.
    """
    if media_type == XML_TYPE:
        element = etree.Element(root)
        _fill(element, fields)
        return etree.tostring(element, xml_declaration=True, encoding="UTF-8")
    return _json_of(fields).encode("utf-8")


# ---------------------------------------------------------------------- JSON


def _read_json(body: bytes) -> Fields:
    if not body:
        _unreadable("JSON expression can not be empty!", ": Error creating JSON-based XMLStreamReader")
    check_cost(body)
    try:
        value = json.loads(
            body.decode("utf-8", "replace"),
            object_pairs_hook=_Members(),
            parse_int=NumberText,
            parse_float=NumberText,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError) as exc:
        _unreadable(str(exc))
    if isinstance(value, dict) and _SURROGATE.search(body):
        _check_surrogates(value)
    if value is None or isinstance(value, list):
        _unreadable('java.lang.NullPointerException: Cannot read field "name" because "pi" is null')
    return value if isinstance(value, dict) else {}  # a scalar is taken for a context without fields


def _check_surrogates(fields: Fields) -> None:
    """Refuse text that UTF-8 cannot write: Heddle would decide on another text than it sends.

    Raises:
        JavaError: 400, for half of a pair of surrogates.
    """
    try:
        _json_of(fields).encode("utf-8")
    except UnicodeEncodeError:
        _unreadable("half of a pair of surrogates in a text")


def check_cost(body: bytes) -> None:
    """Refuse JSON that takes longer to read than the event loop may be held, before anything is built of it.

    Raises:
        JavaError: 400.
    """
    if sum(map(body.count, (b",", b"[", b"{"))) > _MAX_SIGNS:
        _unreadable(f"more than {MAX_VALUES} values")
    if nesting_depth(body, limit=MAX_DEPTH) > MAX_DEPTH:
        _unreadable(f"nested deeper than {MAX_DEPTH} levels")


class _Members:
    """Makes fields of the members of each object, and counts them."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, members: "list[tuple[str, Values | None]]") -> Fields:
        fields: Fields = {}
        self._add(len(members))
        for name, value in members:
            _check_name(name)
            if isinstance(value, list):
                self._add(len(value))
                _add(fields, name, [item for item in value if _is_item(name, item)], is_list=True)
            elif value is not None:  # null says nothing: the field is left out
                _add(fields, name, [value])
        return fields

    def _add(self, count: int) -> None:
        self._count += count
        if self._count > MAX_VALUES:
            _unreadable(f"more than {MAX_VALUES} values")


def _is_item(name: str, item: "Values | None") -> bool:
    if isinstance(item, list):
        raise JavaError.bad_request(f"the field {name} has a list in a list")
    return item is not None


def _add(fields: Fields, name: str, values: list[Value], *, is_list: bool = False) -> None:
    """Add what a member says; what stands more than once becomes one list, which grows in place."""
    known = fields.get(name)
    if known is None:
        fields[name] = values if is_list else values[0]
    elif isinstance(known, list):
        known += values
    else:
        fields[name] = [known, *values]


def _refuse_constant(word: str) -> None:
    raise ValueError(f"Non-standard token '{word}'")


def _json_of(fields: Mapping[str, Values]) -> str:
    pieces: list[str] = []
    _write_json(fields, pieces)
    return "".join(pieces)


def _write_json(value: "Values | Mapping[str, Values]", pieces: list[str]) -> None:
    match value:
        case bool():
            pieces.append("true" if value else "false")
        case NumberText():
            pieces.append(value)
        case str():
            pieces.append(_quoted(value))
        case list():
            before = "["
            for item in value:
                pieces.append(before)
                _write_json(item, pieces)
                before = ","
            pieces.append("]" if value else "[]")
        case _:
            before = "{"
            for name, member in value.items():
                pieces.append(f"{before}{_quoted(name)}:")
                _write_json(member, pieces)
                before = ","
            pieces.append("}" if value else "{}")


_quoted = json.JSONEncoder(ensure_ascii=False).encode
"""A text in quotes; names of members are ASCII."""


# ---------------------------------------------------------------------- XML


def _read_xml(body: bytes, wanted_root: str) -> Fields:
    # an element has two of the first at most, unless it is text; attributes are refused, but read before that
    if body.count(b"<") > 2 * MAX_VALUES or body.count(b"=") > MAX_VALUES:
        _unreadable(f"more than {MAX_VALUES} values")
    try:
        root = etree.fromstring(body, _safe_parser())
    except (etree.XMLSyntaxError, ValueError) as exc:
        _unreadable(f"org.xml.sax.SAXParseException; {exc}")
    if root.getroottree().docinfo.internalDTD is not None:
        _unreadable("document types are not allowed")
    if wanted_root and root.tag != wanted_root:
        raise JavaError(
            400,
            "javax.ws.rs.WebApplicationException",
            f'javax.xml.bind.UnmarshalException: unexpected element (uri:"", local:"{root.tag}"). '
            f"Expected elements are <{{}}{wanted_root}>",
        )
    for name in _HARMLESS_ATTRIBUTES:
        if name in root.attrib:
            del root.attrib[name]
    value = _value_of(root, depth=1)
    return value if isinstance(value, dict) else {}


def _safe_parser() -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )


def _value_of(element: etree._Element, *, depth: int) -> "str | Fields":
    """The text of an element without children, or the fields of one with children."""
    if not isinstance(element.tag, str):
        raise JavaError.bad_request("entities are not allowed")
    _check_name(element.tag)
    if element.attrib:
        raise JavaError.bad_request(f"the element {element.tag} has an attribute")
    if depth > MAX_DEPTH:
        _unreadable(f"nested deeper than {MAX_DEPTH} levels")
    text = element.text or ""
    if len(element) == 0:
        return text
    fields: Fields = {}
    between = [text]
    for child in element:
        value = _value_of(child, depth=depth + 1)
        _add(fields, str(child.tag), [value])
        between.append(child.tail or "")
    if "".join(between).strip(" \t\r\n"):
        raise JavaError.bad_request(f"the element {element.tag} has text beside its elements")
    return fields


def _fill(element: etree._Element, fields: Mapping[str, Values]) -> None:
    for name, values in fields.items():
        for value in values if isinstance(values, list) else [values]:
            child = etree.SubElement(element, name)
            if isinstance(value, dict):
                _fill(child, value)
            else:
                child.text = ("true" if value else "false") if isinstance(value, bool) else str(value)


# ---------------------------------------------------------------------- both


def _check_name(name: str) -> None:
    """Names that a parser could take for something else than a plain field: namespaces, attributes, text.

    Raises:
        JavaError: 400.
    """
    if not _NAME.fullmatch(name):
        raise JavaError.bad_request(f"{name[:80]!r} is no name of a field")


def _unreadable(detail: str, where: str = "") -> NoReturn:
    raise JavaError(
        400,
        "javax.ws.rs.WebApplicationException",
        f"javax.xml.bind.UnmarshalException{where}\n - with linked exception:\n"
        f"[javax.xml.stream.XMLStreamException: {detail}]",
    )
