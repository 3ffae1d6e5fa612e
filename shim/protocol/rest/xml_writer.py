"""The ResourceManager's XML from its JSON: JAXB writes both from one object, so one determines the other.

Fields keep their order, lists become repeated elements, an empty object an empty element. `type`, where it leads
the object of a queue or a scheduler, is the attribute `xsi:type`; the name space is declared at its outermost use.

A cluster's document may hold what no XML can: a member whose name is none, a type that is no text, more levels than a
reader goes down. The item of a list that holds such a thing is left out, elsewhere the member; each counts.
"""

import re
from functools import lru_cache

from shim.protocol.rest.ordered_json import JsonValue, NumberText, Pairs, parse_ordered

XML_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'

_POLYMORPHIC = frozenset({"schedulerInfo", "queue", "rootQueue"})
"""Elements whose class is told by `xsi:type`: `SchedulerInfo` and the queues of both schedulers."""

_DECLARATION = ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
_SPECIAL = re.compile(r"[&<>\r\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""What stands for a character that XML 1.0 cannot hold; Hadoop's `escapeInvalidXMLCharacters` does so too."""
_NAME = re.compile(r"(?![Xx][Mm][Ll])[A-Za-z_][A-Za-z0-9._-]{0,199}")
"""Names of elements and types: those of Java's members. No colon, which would begin with an undeclared prefix."""
_DEEPEST = 64
"""Levels; a ResourceManager's tree of queues has two for each level of queues."""


class NotXMLError(ValueError):
    """A document, or an item of one, that cannot be written as XML."""


def json_to_xml(document: bytes, *, root: str | None = None) -> bytes:
    """Write a JSON answer of the web services as the XML answer of the same object; see `xml_and_left_out`."""
    return xml_and_left_out(document, root=root)[0]


def xml_and_left_out(document: bytes, *, root: str | None = None) -> tuple[bytes, int]:
    """Write a JSON answer of the web services as XML; tell how many of its items and members no XML can hold.

    Args:
        document: A JSON object; with one member that names the root element unless `root` is given.
        root: Name of the root element for answers whose JSON does not hold it (`NewApplication`, `appstate`, ...).

    Raises:
        NotXMLError: If the document is not a JSON object, or has not exactly one member and `root` is missing.
    """
    value = _parsed(document)
    if not isinstance(value, Pairs):
        raise NotXMLError("only a JSON object can be written as XML")
    if root is None:
        if len(value) != 1:
            raise NotXMLError(f"a document of {len(value)} members has no root element")
        root, inner = value[0]
    else:
        inner = value
    if isinstance(inner, list) and not isinstance(inner, Pairs):
        raise NotXMLError("a list has no root element")
    writer = _Writer()
    writer.write(root, inner, _DECLARATION, 1, is_item=False)
    return (XML_HEAD + "".join(writer.parts)).encode(), writer.left_out


def item_to_xml(item: bytes, name: str) -> bytes:
    """Write one item of a list as the element that it is in the list's XML.

    Raises:
        NotXMLError: If the item is not a JSON object, or holds what no XML can.
    """
    value = _parsed(item)
    if not isinstance(value, Pairs):
        raise NotXMLError("only a JSON object can be written as XML")
    writer = _Writer()
    writer.write(name, value, _DECLARATION, 1, is_item=True)
    return "".join(writer.parts).encode()


def _parsed(document: bytes) -> JsonValue:
    try:
        return parse_ordered(document.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as exc:
        raise NotXMLError(f"what is no JSON, or has too many levels, cannot be written as XML: {exc}") from None


class _Writer:
    """Writes one document.

    Attributes:
        left_out: How many items and members were not.
    """

    __slots__ = ("left_out", "parts")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.left_out = 0

    def write(self, name: str, value: JsonValue, declaration: str, level: int, *, is_item: bool) -> None:
        """Write an element.

        Args:
            declaration: What the first use of the name space has to say; empty once it is said.
            level: How many elements are around it, itself counted.
            is_item: Whether it is within an item of a list: that is left out then as a whole.
        """
        if not _is_name(name) or level > _DEEPEST:
            raise NotXMLError(f"{name[:40]!r} is no element, or too far down")
        emit = self.parts.append
        kind = type(value)
        if kind is NumberText:
            emit(f"<{name}>{value}</{name}>")
        elif isinstance(value, str):
            text = value if _SPECIAL.search(value) is None else _SPECIAL.sub(_escape, value)
            emit(f"<{name}>{text}</{name}>")
        elif isinstance(value, Pairs):
            self._object(name, value, declaration, level, is_item=is_item)
        elif isinstance(value, bool):
            emit(f"<{name}>true</{name}>" if value else f"<{name}>false</{name}>")
        elif value is None:
            emit(f"<{name}/>")
        else:
            for item in value:
                self._part(name, item, declaration, level)

    def _part(self, name: str, value: JsonValue, declaration: str, level: int) -> None:
        written = len(self.parts)
        try:
            self.write(name, value, declaration, level + (type(value) is list), is_item=True)
        except NotXMLError:
            del self.parts[written:]
            self.left_out += 1

    def _object(self, name: str, members: Pairs, declaration: str, level: int, *, is_item: bool) -> None:
        attributes = ""
        rest: list[tuple[str, JsonValue]] = members
        if name in _POLYMORPHIC and members and members[0][0] == "type":
            kind = members[0][1]
            if not isinstance(kind, str) or not _is_name(kind):
                raise NotXMLError(f"{name} has a type that is none")
            attributes = f'{declaration} xsi:type="{kind}"'
            rest, declaration = members[1:], ""
        if not rest:
            self.parts.append(f"<{name}{attributes}/>")
            return
        self.parts.append(f"<{name}{attributes}>")
        for key, member in rest:
            if is_item:
                self.write(key, member, declaration, level + 1, is_item=True)
            else:
                self._member(key, member, declaration, level + 1)
        self.parts.append(f"</{name}>")

    def _member(self, key: str, member: JsonValue, declaration: str, level: int) -> None:
        written = len(self.parts)
        try:
            self.write(key, member, declaration, level, is_item=False)
        except NotXMLError:
            del self.parts[written:]
            self.left_out += 1


@lru_cache(maxsize=1024)
def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def _escape(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0], _REPLACEMENT)
