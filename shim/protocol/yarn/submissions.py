"""Submission contexts of Hadoop RPC: the fields that decide are read, the bytes travel.

Source: `ClientRMService.submitApplication`, `RMAppManager.createAndPopulateNewRMApp`.
"""

from collections.abc import Mapping, Sequence
from itertools import islice

from google.protobuf.message import DecodeError

from shim.domain.access_lists import Access, ApplicationACLs
from shim.domain.file_systems import MOST_RESOURCES, file_system_of
from shim.domain.resources import ResourceVector
from shim.domain.submissions import Submission, type_as_shown
from shim.errors import BadRequestError
from shim.protocol.proto.messages import (
    ApplicationAccessTypeProto,
    ApplicationSubmissionContextProto,
    ResourceRequestProto,
    SubmitApplicationRequestProto,
    URLProto,
)
from shim.protocol.wire_values import text_of
from shim.protocol.yarn.wire import application_of, reservation_of, resource_of

RPC_SUBMISSION = "application/x-hadoop-rpc"
"""Content type of a body that is a serialized `SubmitApplicationRequestProto`: its home gets it over RPC."""

_ANY = "*"
_CREDENTIALS = b"HDTS\0"
"""What written `Credentials` begin with; the number of tokens follows."""


def decode_submission(request_untrusted: SubmitApplicationRequestProto, payload: bytes, *, user: str) -> Submission:
    """Read a submission.

    Args:
        payload: The same as it came: what travels.

    Raises:
        BadRequestError: If it names no application.
    """
    context = request_untrusted.application_submission_context
    if not context.HasField("application_id"):
        raise BadRequestError("the submission names no application id: ask for one with getNewApplication")
    asked = _container_request(context)
    return Submission(
        application_id=application_of(context.application_id),
        user=user,
        name=text_of(context.application_name),
        queue=text_of(context.queue),
        resource=_resource(context, asked),
        label=text_of(asked.node_label_expression if asked is not None else "")
        or text_of(context.node_label_expression),
        is_unmanaged=context.unmanaged_am,
        body=payload,
        content_type=RPC_SUBMISSION,
        application_type=type_as_shown(text_of(context.applicationType)),
        tags=tuple(sorted({text_of(tag).lower() for tag in context.applicationTags})),
        acls=_acls(context),
        reservation=_reservation(context),
    )


def with_queue(payload: bytes, queue: str) -> bytes:
    """The same submission for another queue; fields that are not known here stay."""
    request = SubmitApplicationRequestProto.FromString(payload)
    request.application_submission_context.queue = queue
    return request.SerializeToString()


def canonical(payload: bytes) -> bytes:
    """Content of a submission but for its queue, in one form whatever its writer.

    Raises:
        BadRequestError: If it is not readable.
    """
    try:
        request = SubmitApplicationRequestProto.FromString(payload)
    except DecodeError as exc:
        raise BadRequestError("the submission is not readable") from exc
    request.application_submission_context.ClearField("queue")
    return request.SerializeToString(deterministic=True)


def keeps_containers(payload: bytes) -> bool:
    """True if the application of a submission that was taken wants its containers to outlive its attempts."""
    context = SubmitApplicationRequestProto.FromString(payload).application_submission_context
    return context.keep_containers_across_application_attempts


def has_tokens_to_cancel(payload: bytes) -> bool:
    """True if the context of a submission that was taken has tokens that end with the application."""
    context = SubmitApplicationRequestProto.FromString(payload).application_submission_context
    written = context.am_container_spec.tokens
    if not context.cancel_tokens_when_complete or not written:
        return False
    return not written.startswith(_CREDENTIALS) or written[len(_CREDENTIALS) :][:1] != b"\0"


def resources_of(payload: bytes) -> Sequence[str]:
    """File systems of the files that the ApplicationMaster's container of a submission that was taken localizes."""
    context = SubmitApplicationRequestProto.FromString(payload).application_submission_context
    resources = islice(context.am_container_spec.localResources, MOST_RESOURCES)
    return [named for each in resources if (named := _file_system(each.value.resource))]


def reservation_named_by(payload: bytes) -> str:
    """Id of the reservation that a submission that was taken is to run in; empty for none."""
    return _reservation(SubmitApplicationRequestProto.FromString(payload).application_submission_context)


def with_tag(payload: bytes, tag: str) -> bytes:
    """The same submission with one tag more; fields that are not known here stay."""
    request = SubmitApplicationRequestProto.FromString(payload)
    request.application_submission_context.applicationTags.append(tag)
    return request.SerializeToString()


def _file_system(url: URLProto) -> str:
    port = f":{url.port}" if url.port > 0 else ""
    return file_system_of(f"{text_of(url.scheme)}://{text_of(url.host)}{port}")


def _reservation(context: ApplicationSubmissionContextProto) -> str:
    return reservation_of(context.reservation_id) if context.HasField("reservation_id") else ""


def _container_request(context: ApplicationSubmissionContextProto) -> ResourceRequestProto | None:
    """The request for the ApplicationMaster's container on any node, if the context has requests."""
    requests = context.am_container_resource_request
    return next((request for request in requests if request.resource_name in (_ANY, "")), None)


def _resource(context: ApplicationSubmissionContextProto, asked: ResourceRequestProto | None) -> ResourceVector:
    if asked is not None and asked.HasField("capability"):
        return resource_of(asked.capability)
    return resource_of(context.resource)


_ACCESS: Mapping[int, Access] = {
    ApplicationAccessTypeProto.Value("APPACCESS_VIEW_APP"): Access.VIEW,
    ApplicationAccessTypeProto.Value("APPACCESS_MODIFY_APP"): Access.MODIFY,
}


def _acls(context: ApplicationSubmissionContextProto) -> ApplicationACLs:
    """The lists that the container of the ApplicationMaster names."""
    told = context.am_container_spec.application_ACLs
    return ApplicationACLs.stated(
        [(kind.value, text_of(each.acl)) for each in told if (kind := _ACCESS.get(each.accessType)) is not None]
    )
