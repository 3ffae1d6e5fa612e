"""The ResourceManager's XML from its JSON: JAXB writes both from one object, so one determines the other.

Fields keep their order, lists become repeated elements, an empty object an empty element. `type`, where it leads
the object of a queue or a scheduler, is the attribute `xsi:type`; the name space is declared at its outermost use.
"""

import re
from collections.abc import Callable

from shim.protocol.rest.ordered_json import JsonValue, NumberText, Pairs, parse_ordered

__all__ = ["XML_HEAD", "item_to_xml", "json_to_xml"]

XML_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'

_POLYMORPHIC = frozenset({"schedulerInfo", "queue", "rootQueue"})
"""Elements whose class is told by `xsi:type`: `SchedulerInfo` and the queues of both schedulers."""

_DECLARATION = ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
_SPECIAL = re.compile(r"[&<>\r\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""What stands for a character that XML 1.0 cannot hold; Hadoop's `escapeInvalidXMLCharacters` does so too."""


def json_to_xml(document: bytes, *, root: str | None = None) -> bytes:
    """Write a JSON answer of the web services as the XML answer of the same object.

    Args:
        document: A JSON object; with one member that names the root element unless `root` is given.
        root: Name of the root element for answers whose JSON does not hold it (`NewApplication`, `appstate`, ...).

    Raises:
        ValueError: If the document is not a JSON object, or has not exactly one member and `root` is missing.
    """
    value = parse_ordered(document)
    if not isinstance(value, Pairs):
        raise ValueError("only a JSON object can be written as XML")  # noqa: TRY004 - the document's fault, not a type's
    if root is None:
        if len(value) != 1:
            raise ValueError(f"a document of {len(value)} members has no root element")
        root, inner = value[0]
    else:
        inner = value
    parts = [XML_HEAD]
    _write(root, inner, parts.append, _DECLARATION)
    return "".join(parts).encode()


def item_to_xml(item: bytes, name: str) -> bytes:
    """Write one item of a list as the element that it is in the list's XML.

    Raises:
        ValueError: If the item is not a JSON object.
    """
    parts: list[str] = []
    _write(name, parse_ordered(item), parts.append, _DECLARATION)
    return "".join(parts).encode()


def _write(name: str, value: JsonValue, emit: Callable[[str], None], declaration: str) -> None:
    """Write an element; `declaration` is what its first use of the name space has to say, empty once it is said."""
    kind = type(value)
    if kind is NumberText:
        emit(f"<{name}>{value}</{name}>")
    elif isinstance(value, str):
        text = value if _SPECIAL.search(value) is None else _SPECIAL.sub(_escape, value)
        emit(f"<{name}>{text}</{name}>")
    elif isinstance(value, Pairs):
        _write_object(name, value, emit, declaration)
    elif isinstance(value, bool):
        emit(f"<{name}>true</{name}>" if value else f"<{name}>false</{name}>")
    elif value is None:
        emit(f"<{name}/>")
    else:
        for item in value:
            _write(name, item, emit, declaration)


def _write_object(name: str, members: Pairs, emit: Callable[[str], None], declaration: str) -> None:
    attributes = ""
    rest: list[tuple[str, JsonValue]] = members
    if name in _POLYMORPHIC and members and members[0][0] == "type":
        attributes = f'{declaration} xsi:type="{members[0][1]}"'
        rest, declaration = members[1:], ""
    if not rest:
        emit(f"<{name}{attributes}/>")
        return
    emit(f"<{name}{attributes}>")
    for key, member in rest:
        _write(key, member, emit, declaration)
    emit(f"</{name}>")


def _escape(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0], _REPLACEMENT)
