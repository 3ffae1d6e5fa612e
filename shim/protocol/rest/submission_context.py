"""Submission contexts of `POST /apps`, read as leniently as the ResourceManager reads them.

Only the fields that decide are decoded; the bytes travel. What JAXB forgives is forgiven: numbers in quotes, words
where a number should stand (0), unknown and repeated fields (the last wins). What two parsers could read differently,
or what costs more to read than it is long, is refused: document types, entities, deep nesting.

Source: `ApplicationSubmissionContextInfo`, `RMWebAppUtil.createAppSubmissionContext`, recorded answers of 3.4.2.
"""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from lxml import etree

from shim.domain.ids import ApplicationId, MalformedIdError
from shim.domain.resources import ResourceVector
from shim.domain.submissions import Submission
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.ordered_json import NumberText, nesting_depth

__all__ = ["MAX_DEPTH", "decode_submission", "keeps_containers", "queue_of_move", "with_queue"]

MAX_DEPTH = 64
"""Deepest nesting of a body; a real context has six levels."""

_ROOT = "application-submission-context"
_INT32_MAX, _INT64_MAX = 2**31 - 1, 2**63 - 1


def decode_submission(body: bytes, *, media_type: str, user: str) -> Submission:
    """Read a submission context.

    Args:
        body: As it came, decompressed; the caller has limited its size.
        media_type: `application/json` or `application/xml`, without parameters.
        user: Who submits.

    Raises:
        JavaError: If the body is not readable or names no application id.
    """
    context = _parse_xml(body) if media_type == "application/xml" else _parse_json(body)
    resource = context.get("resource")
    amounts: Mapping[str, Any] = resource if isinstance(resource, Mapping) else {}
    return Submission(
        application_id=_application_id(_text(context.get("application-id"))),
        user=user,
        name=_text(context.get("application-name")),
        queue=_text(context.get("queue")),
        resource=ResourceVector(
            _integer(amounts.get("memory"), _INT64_MAX), _integer(amounts.get("vCores"), _INT32_MAX)
        ),
        label=_label(context),
        is_unmanaged=_text(context.get("unmanaged-AM")).strip().lower() in ("true", "1"),
        body=body,
        content_type=media_type,
    )


def with_queue(body: bytes, *, media_type: str, queue: str) -> bytes:
    """The same context for another queue; every other field stays as it is, also one that is not known here.

    Args:
        body: As `decode_submission` has read it.
        media_type: `application/json` or `application/xml`.
        queue: Its new queue.
    """
    if media_type == "application/xml":
        root = etree.fromstring(body, _safe_parser())
        for element in root.findall("queue"):
            root.remove(element)
        etree.SubElement(root, "queue").text = queue
        return etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    members = msgspec.json.decode(body.decode("utf-8", "replace"), type=dict[str, msgspec.Raw])
    members["queue"] = msgspec.Raw(msgspec.json.encode(queue))
    return msgspec.json.encode(members)


def queue_of_move(body: bytes, *, media_type: str) -> str:
    """The queue that the body of `PUT /apps/{id}/queue` names; empty if it names none.

    Raises:
        JavaError: If the body is not readable.
    """
    if media_type != "application/xml":
        return _text(_parse_json(body).get("queue"))
    return _text(_parsed(body).findtext("queue"))


def keeps_containers(body: bytes, *, media_type: str) -> bool:
    """Whether the application wants its containers to outlive its attempts."""
    context = _parse_xml(body) if media_type == "application/xml" else _parse_json(body)
    return _text(context.get("keep-containers-across-application-attempts")).strip().lower() in ("true", "1")


def _application_id(text: str) -> ApplicationId:
    try:
        return ApplicationId.parse(text)
    except MalformedIdError:
        raise JavaError.bad_request(f"Could not parse application id {text}") from None


def _label(context: Mapping[str, Any]) -> str:
    """The expression for the ApplicationMaster's container: its own, else the application's."""
    own = _text(context.get("am-container-node-label-expression"))
    return own or _text(context.get("app-node-label-expression"))


def _parse_json(body: bytes) -> Mapping[str, Any]:
    if not body:
        raise _unreadable("JSON expression can not be empty!", ": Error creating JSON-based XMLStreamReader")
    if nesting_depth(body, limit=MAX_DEPTH) > MAX_DEPTH:
        raise _unreadable(f"nested deeper than {MAX_DEPTH} levels")
    try:
        value = json.loads(
            body.decode("utf-8", "replace"),
            parse_int=NumberText,
            parse_float=NumberText,
            parse_constant=_refuse_constant,
        )
    except ValueError as exc:
        raise _unreadable(str(exc)) from None
    if value is None or isinstance(value, list):
        raise _unreadable('java.lang.NullPointerException: Cannot read field "name" because "pi" is null')
    return value if isinstance(value, dict) else {}  # a scalar is taken for a context without fields


def _refuse_constant(word: str) -> None:
    raise ValueError(f"Non-standard token '{word}'")


def _parsed(body: bytes) -> etree._Element:
    try:
        root = etree.fromstring(body, _safe_parser())
    except (etree.XMLSyntaxError, ValueError) as exc:
        raise _unreadable(f"org.xml.sax.SAXParseException; {exc}") from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise _unreadable("document types are not allowed")
    return root


def _parse_xml(body: bytes) -> Mapping[str, Any]:
    root = _parsed(body)
    if root.tag != _ROOT:
        raise JavaError(
            400,
            "javax.ws.rs.WebApplicationException",
            f'javax.xml.bind.UnmarshalException: unexpected element (uri:"", local:"{root.tag}"). '
            f"Expected elements are <{{}}{_ROOT}>",
        )
    return {str(child.tag): _element(child) for child in root}


def _safe_parser() -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )


def _element(element: etree._Element) -> Any:
    """The text of an element, or of its children by name: the two levels that hold fields that decide."""
    if len(element) == 0:
        return element.text or ""
    return {str(child.tag): child.text or "" for child in element}


def _unreadable(detail: str, where: str = "") -> JavaError:
    return JavaError(
        400,
        "javax.ws.rs.WebApplicationException",
        f"javax.xml.bind.UnmarshalException{where}\n - with linked exception:\n"
        f"[javax.xml.stream.XMLStreamException: {detail}]",
    )


def _text(value: Any) -> str:
    """A scalar as text that can be encoded; anything else as empty."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _integer(value: Any, largest: int) -> int:
    """A number, quoted or not; the whole part of a fraction; 0 for words, as JAXB has it."""
    text = _text(value).strip()
    whole = text.partition(".")[0].lstrip("+")
    digits = whole.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= len(str(largest))):
        return 0
    number = int(whole)
    return number if -largest <= number <= largest else 0
