"""Submission contexts of `POST /apps`, read as leniently as the ResourceManager reads them.

The fields that decide are read by their shape; the body that travels is written anew from what was understood. What
JAXB forgives in a plain value is forgiven: numbers in quotes, words where a number should stand, unknown fields.

Source: `ApplicationSubmissionContextInfo`, `RMWebAppUtil.createAppSubmissionContext`, recorded answers of 3.4.2.

Meaning of answers of the web services to `POST /ws/v1/cluster/apps`.

Source: `RMWebServices.submitApplication`, `GenericExceptionHandler`.
"""

from collections.abc import Mapping, Sequence

import msgspec

from shim.domain.access_lists import ApplicationACLs
from shim.domain.file_systems import MOST_RESOURCES, file_system_of
from shim.domain.ids import ApplicationId
from shim.domain.resources import ResourceVector
from shim.domain.submissions import Refusal, Submission, SubmitReply, SubmitVerdict, type_as_shown
from shim.protocol.rest.bodies import Fields, Values, read_fields, write_fields
from shim.protocol.rest.body_shapes import SHAPES, UnderstoodBody, understand
from shim.protocol.rest.errors import JavaError
from shim.protocol.wire_values import UNREADABLE

_SHAPE = SHAPES["POST /apps"]
_KEEPS = "keep-containers-across-application-attempts"


def decode_submission(body: bytes, *, media_type: str, user: str) -> Submission:
    """Read a submission context.

    Args:
        body: As it came, decompressed; the caller has limited its size.
        media_type: `application/json` or `application/xml`, without parameters.

    Raises:
        JavaError: If the body is not readable, names no application id, or a field that decides is not plain.
    """
    return submission_of(understand(body, media_type=media_type, shape=_SHAPE), user=user)


def submission_of(context: UnderstoodBody, *, user: str) -> Submission:
    """The submission that a context says.

    Raises:
        JavaError: If it names no application id.
    """
    fields = context.fields
    if not context.text("application-id"):
        raise JavaError.bad_request("Could not parse application id ")
    resource = fields.get("resource")
    amounts = resource if isinstance(resource, dict) else {}
    own_label = context.text("am-container-node-label-expression")
    return Submission(
        application_id=ApplicationId.parse(context.text("application-id")),
        user=user,
        name=context.text("application-name"),
        queue=context.text("queue"),
        resource=ResourceVector(_amount(amounts, "memory"), _amount(amounts, "vCores")),
        label=own_label or context.text("app-node-label-expression"),
        is_unmanaged=fields.get("unmanaged-AM") is True,
        body=context.body,
        content_type=context.media_type,
        application_type=type_as_shown(context.text("application-type")),
        tags=_tags(fields),
        acls=_acls(fields),
        reservation=context.text("reservation-id"),
    )


def with_queue(body: bytes, *, media_type: str, queue: str) -> bytes:
    """The same context for another queue; every other field stays as it is, also one that is not known here.

    Args:
        body: As `decode_submission` has written it.
        media_type: `application/json` or `application/xml`.
    """
    fields: Fields = {**read_fields(body, media_type=media_type), "queue": queue}
    return write_fields(fields, media_type=media_type, root=_SHAPE.xml_root)


def with_tag(body: bytes, *, media_type: str, tag: str) -> bytes:
    """The same context with one tag more; every other field stays as it is.

    Args:
        body: As `decode_submission` has written it.
        media_type: `application/json` or `application/xml`.
    """
    fields = read_fields(body, media_type=media_type)
    return write_fields(
        {**fields, "application-tags": {"tag": [*_told_tags(fields), tag]}}, media_type=media_type, root=_SHAPE.xml_root
    )


def reservation_named_by(body: bytes, *, media_type: str) -> str:
    """Id of the reservation that the application is to run in; empty for none."""
    if b"reservation" not in body:  # nearly none names one: most are not read for it
        return ""
    return understand(body, media_type=media_type, shape=_SHAPE).text("reservation-id")


def canonical(body: bytes, *, media_type: str) -> bytes:
    """Content of a context but for its queue, in one form whatever its writer: members in the order of their names.

    Raises:
        JavaError: If it is not readable.
    """
    fields = dict(understand(body, media_type=media_type, shape=_SHAPE).fields)
    fields.pop("queue", None)
    return write_fields(_sorted(fields), media_type="application/json", root=_SHAPE.xml_root)


def _sorted(fields: Mapping[str, Values]) -> Fields:
    return {name: _sorted_values(fields[name]) for name in sorted(fields)}


def _sorted_values(value: Values) -> Values:
    if isinstance(value, list):
        return [_sorted(item) if isinstance(item, dict) else item for item in value]
    return _sorted(value) if isinstance(value, dict) else value


def keeps_containers(body: bytes, *, media_type: str) -> bool:
    """True if the application wants its containers to outlive its attempts."""
    return understand(body, media_type=media_type, shape=_SHAPE).fields.get(_KEEPS) is True


def has_tokens_to_cancel(body: bytes, *, media_type: str) -> bool:
    """True if the context has tokens that end with the application."""
    fields = understand(body, media_type=media_type, shape=_SHAPE).fields
    container = fields.get("am-container-spec")
    credentials = container.get("credentials") if isinstance(container, dict) else None
    tokens = credentials.get("tokens") if isinstance(credentials, dict) else None
    entries = tokens.get("entry") if isinstance(tokens, dict) else None
    return bool(entries) and fields.get("cancel-tokens-when-complete") is not False


def resources_of(body: bytes, *, media_type: str) -> Sequence[str]:
    """File systems of the files that the ApplicationMaster's container localizes."""
    container = understand(body, media_type=media_type, shape=_SHAPE).fields.get("am-container-spec")
    wrapped = container.get("local-resources") if isinstance(container, dict) else None
    found = wrapped.get("entry", []) if isinstance(wrapped, dict) else []
    entries = found if isinstance(found, list) else [found]
    values = (each.get("value") for each in entries[:MOST_RESOURCES] if isinstance(each, dict))
    urls = (value.get("resource") for value in values if isinstance(value, dict))
    return [named for url in urls if isinstance(url, str) and (named := file_system_of(url))]


def _amount(amounts: Mapping[str, Values], name: str) -> int:
    """A number; 0 for what was none, as JAXB has it."""
    value = amounts.get(name)
    return int(value) if isinstance(value, str) else 0


def _tags(fields: Fields) -> tuple[str, ...]:
    """Sorted and in lower case, as a ResourceManager shows them."""
    return tuple(sorted({tag.lower() for tag in _told_tags(fields)}))


def _told_tags(fields: Fields) -> Sequence[str]:
    wrapped = fields.get("application-tags")
    found = wrapped.get("tag", []) if isinstance(wrapped, dict) else []
    tags = found if isinstance(found, list) else [found]
    return [tag for tag in tags if isinstance(tag, str)]


def _acls(fields: Fields) -> ApplicationACLs:
    """The lists that the container of the ApplicationMaster names; what cannot be read gives nobody anything."""
    container = fields.get("am-container-spec")
    wrapped = container.get("application-acls") if isinstance(container, dict) else None
    found = wrapped.get("entry", []) if isinstance(wrapped, dict) else []
    entries = found if isinstance(found, list) else [found]
    pairs = ((each.get("key"), each.get("value")) for each in entries if isinstance(each, dict))
    return ApplicationACLs.stated([(key, acl) for key, acl in pairs if isinstance(key, str) and isinstance(acl, str)])


_TAKEN = frozenset({200, 202})
_REFUSED = frozenset({400, 401, 403, 405, 406, 411, 413, 415})
_NOT_FOUND, _SERVER_ERROR = 404, 500
_FROM_A_GATEWAY = frozenset({408, 502, 503, 504})


def read_reply(status: int, headers: tuple[tuple[str, str], ...], body_untrusted: bytes) -> SubmitReply:
    """Read an answer to a submission.

    Args:
        body_untrusted: Decompressed, in any representation.
    """
    if status in _TAKEN:
        return SubmitReply(SubmitVerdict.TAKEN)
    java_class, message = _exception(body_untrusted)
    return SubmitReply(_verdict(status, body_untrusted), Refusal(java_class, message, status, headers, body_untrusted))


def _verdict(status: int, body: bytes) -> SubmitVerdict:
    is_its_own = b"RemoteException" in body
    if status in _REFUSED or (status == _NOT_FOUND and is_its_own):
        return SubmitVerdict.REFUSED  # 404 is what a reservation id that is none gets
    if status >= _SERVER_ERROR and is_its_own:
        return SubmitVerdict.FAILED  # also to contexts that it cannot read: 503
    return SubmitVerdict.FROM_A_GATEWAY if status in _FROM_A_GATEWAY else SubmitVerdict.UNCLEAR


def _exception(body: bytes) -> tuple[str, str]:
    """Class and message of an exception in JSON; empty where it is in another representation, or none."""
    try:
        told = msgspec.json.decode(body)["RemoteException"]
        return str(told["javaClassName"]), str(told.get("message") or "")
    except (KeyError, TypeError, *UNREADABLE):
        return "", ""
