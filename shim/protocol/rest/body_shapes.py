"""The fields that Heddle decides on, for each body: what shape each must have, and how its value is understood.

A field of a shape is understood once, here, and its understood value is written into what is sent. A field that is not
in a shape travels as it was read: fields of a newer Hadoop arrive.

Source: the DAO classes of `org.apache.hadoop.yarn.server.resourcemanager.webapp.dao`, Hadoop 3.4.2.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from shim.domain.ids import ApplicationId, MalformedIdError
from shim.domain.limits import LIMITS, TextKind, rejection
from shim.protocol.rest.bodies import Fields, Value, Values, read_fields, write_fields
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.ordered_json import NumberText

Reader: TypeAlias = Callable[[str], "str | NumberText | bool | None"]
"""From the text of a field to its understood value; None leaves the field out."""

_INT32, _INT64 = 2**31 - 1, 2**63 - 1
_RESERVATION = re.compile(r"reservation_([0-9]{1,19})_([0-9]{1,19})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Many:
    """A field that may stand more than once."""

    each: "Reader | Shape"
    most: int


Shape: TypeAlias = "Mapping[str, Reader | Many | Shape]"


@dataclass(frozen=True, slots=True)
class BodyShape:
    """The body of one endpoint.

    Attributes:
        xml_root: Root element of its XML; empty for any.
        json_root: Member that holds the fields in JSON; empty where they stand by themselves.
    """

    xml_root: str
    fields: Shape = field(default_factory=dict)
    json_root: str = ""


@dataclass(frozen=True, slots=True)
class UnderstoodBody:
    """A body as it was understood."""

    fields: Fields
    body: bytes
    media_type: str

    def text(self, name: str) -> str:
        """A field as text; empty if it is not there."""
        value = self.fields.get(name, "")
        return value if isinstance(value, str) else ""


def understand(body: bytes, *, media_type: str, shape: BodyShape) -> UnderstoodBody:
    """Read a body and write it anew.

    Args:
        media_type: `application/json` or `application/xml`.

    Raises:
        JavaError: If it is not readable, or a field that Heddle decides on is not plain.
    """
    is_xml = media_type == "application/xml"
    read = read_fields(body, media_type=media_type, root=shape.xml_root)
    known: Shape = {shape.json_root: shape.fields} if shape.json_root and not is_xml else shape.fields
    fields = _shaped(read, known)
    written = write_fields(fields, media_type=media_type, root=shape.xml_root)
    inner = fields.get(shape.json_root, {}) if shape.json_root and not is_xml else fields
    return UnderstoodBody(inner if isinstance(inner, dict) else {}, written, media_type)


def with_queue(understood: UnderstoodBody, queue: str, shape: BodyShape) -> bytes:
    """The body of a move or a reservation with another queue's name; every other field stays as it is."""
    fields = {**understood.fields, "queue": queue}
    return write_fields(fields, media_type=understood.media_type, root=shape.xml_root)


def _shaped(fields: Fields, shape: Shape) -> Fields:
    shaped: Fields = {}
    for name, value in fields.items():
        wanted = shape.get(name)
        understood = value if wanted is None else _understood(name, value, wanted)
        if understood is not None:
            shaped[name] = understood
    return shaped


def _understood(name: str, value: Values, wanted: "Reader | Many | Shape") -> "Values | None":
    if isinstance(wanted, Many):
        items = value if isinstance(value, list) else [value]
        if len(items) > wanted.most:
            raise JavaError.bad_request(f"the field {name} stands more than {wanted.most} times")
        found = [one for item in items if (one := _one(name, item, wanted.each)) is not None]
        return found if isinstance(value, list) or not found else found[0]
    if isinstance(value, list):
        raise JavaError.bad_request(f"the field {name} stands more than once")
    return _one(name, value, wanted)


def _one(name: str, value: Value, wanted: "Reader | Shape") -> "Value | None":
    if callable(wanted):
        if isinstance(value, dict):
            raise JavaError.bad_request(f"the field {name} is no plain value")
        return wanted(_text_of(value))
    if value == "":  # an element without children
        return {}
    if not isinstance(value, dict):
        raise JavaError.bad_request(f"the field {name} is a plain value, and should have fields")
    return _shaped(value, wanted)


def _text_of(value: "str | bool") -> str:
    """A plain value as text that can be encoded."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).encode("utf-8", "replace").decode()


# ---------------------------------------------------------------------- readers


def _named(kind: TextKind) -> Reader:
    def read(text: str) -> str:
        if said := rejection(kind, text):
            raise JavaError.bad_request(said)
        return text

    return read


_queue = _named(TextKind.QUEUE)


def _application(text: str) -> str:
    try:
        return str(ApplicationId.parse(text))
    except MalformedIdError:
        raise JavaError.bad_request(f"Could not parse application id {text}") from None


def _reservation(text: str) -> str:
    found = _RESERVATION.fullmatch(text)
    if found is None or max(int(found[1]), int(found[2])) > _INT64:
        raise JavaError(404, "java.io.IOException", f"The specified reservation id is invalid: {text[:200]}")
    return f"reservation_{int(found[1])}_{int(found[2]):04d}"


def _integer(largest: int) -> Reader:
    """A number, quoted or not; the whole part of a fraction; 0 for words, as JAXB has it."""

    def read(text: str) -> NumberText:
        whole = text.strip(" \t\r\n").partition(".")[0]
        digits = whole[1:] if whole[:1] in ("+", "-") else whole
        if not (digits.isascii() and digits.isdigit() and len(digits) <= len(str(largest))):
            return NumberText(0)
        number = int(whole)
        return NumberText(number if -largest <= number <= largest else 0)

    return read


def _boolean(text: str) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(text.strip(" \t\r\n").lower())


# ---------------------------------------------------------------------- shapes


def _many(kind: TextKind) -> Many:
    return Many(_named(kind), LIMITS[kind].most_count)


_RESOURCE: Shape = {"memory": _integer(_INT64), "vCores": _integer(_INT32)}
_TIMEOUT: Shape = {"type": _named(TextKind.WORD), "expiryTime": _named(TextKind.WORD)}
_DEFINITION: Shape = {
    "reservation-name": _named(TextKind.RESERVATION_NAME),
    "priority": _integer(_INT32),
    "arrival": _integer(_INT64),
    "deadline": _integer(_INT64),
}
_CHANGED_QUEUE: Shape = {"queue-name": _queue}
_MOST_QUEUES = LIMITS[TextKind.QUEUE].most_count

SHAPES: Mapping[str, BodyShape] = {
    "POST /apps": BodyShape(
        "application-submission-context",
        {
            "application-id": _application,
            "application-name": _named(TextKind.APPLICATION_NAME),
            "queue": _queue,
            "priority": _integer(_INT32),
            "unmanaged-AM": _boolean,
            "max-app-attempts": _integer(_INT32),
            "resource": _RESOURCE,
            "application-type": _named(TextKind.APPLICATION_TYPE),
            "application-tags": {"tag": _many(TextKind.TAG)},
            "keep-containers-across-application-attempts": _boolean,
            "app-node-label-expression": _named(TextKind.LABEL_EXPRESSION),
            "am-container-node-label-expression": _named(TextKind.LABEL_EXPRESSION),
            "reservation-id": _reservation,
            "timeouts": {"timeout": Many(_TIMEOUT, 10)},
            "application-timeouts": {"timeout": Many(_TIMEOUT, 10)},
        },
    ),
    "PUT /apps/{application}/state": BodyShape("appstate", {"state": _named(TextKind.WORD)}),
    "PUT /apps/{application}/queue": BodyShape("appqueue", {"queue": _queue}),
    "PUT /apps/{application}/priority": BodyShape("applicationpriority", {"priority": _integer(_INT32)}),
    "PUT /apps/{application}/timeout": BodyShape("timeout", _TIMEOUT, json_root="timeout"),
    "POST /delegation-token": BodyShape("delegation-token", {"renewer": _named(TextKind.RENEWER)}),
    "POST /reservation/submit": BodyShape(
        "reservation-submission-context",
        {"queue": _queue, "reservation-id": _reservation, "reservation-definition": _DEFINITION},
    ),
    "POST /reservation/update": BodyShape(
        "reservation-update-context", {"reservation-id": _reservation, "reservation-definition": _DEFINITION}
    ),
    "POST /reservation/delete": BodyShape("reservation-delete-context", {"reservation-id": _reservation}),
    "POST /nodes/{node}/resource": BodyShape(
        "resourceOption", {"resource": _RESOURCE, "overCommitTimeout": _integer(_INT32)}
    ),
    "POST /add-node-labels": BodyShape(
        "nodeLabelsInfo",
        {"nodeLabelInfo": Many({"name": _named(TextKind.NODE_LABEL), "exclusivity": _boolean}, 10_000)},
    ),
    "POST /replace-node-to-labels": BodyShape(
        "nodeToLabelsName",
        {"nodeToLabels": Many({"nodeId": _named(TextKind.NODE), "labels": _many(TextKind.NODE_LABEL)}, 20_000)},
    ),
    **{
        row: BodyShape(
            "sched-conf",
            {
                "add-queue": Many(_CHANGED_QUEUE, _MOST_QUEUES),
                "update-queue": Many(_CHANGED_QUEUE, _MOST_QUEUES),
                "remove-queue": Many(_queue, _MOST_QUEUES),
            },
        )
        for row in ("PUT /scheduler-conf", "POST /scheduler-conf/validate")
    },
}
"""By method and path of the endpoint: every endpoint that takes a body."""
