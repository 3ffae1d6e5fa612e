"""Submissions over Hadoop RPC that were taken: what is read of their bytes, and what is added to them."""

import pytest

from shim.protocol.proto.messages import SubmitApplicationRequestProto
from shim.protocol.yarn.submissions import has_tokens_to_cancel, reservation_named_by, resources_of, with_tag


def a_request() -> SubmitApplicationRequestProto:
    request = SubmitApplicationRequestProto()
    request.application_submission_context.application_name = "job"
    return request


def test_a_tag_more_changes_nothing_else():
    request = a_request()
    request.application_submission_context.applicationTags.append("one")
    tagged = SubmitApplicationRequestProto.FromString(with_tag(request.SerializeToString(), "two"))
    assert list(tagged.application_submission_context.applicationTags) == ["one", "two"]
    del tagged.application_submission_context.applicationTags[1:]
    assert tagged == request
    unknown = b"\xfa\x7f\x03abc"  # a field that a later Hadoop may have
    assert unknown in with_tag(request.SerializeToString() + unknown, "two")


def test_a_reservation_is_named_as_the_web_services_write_it_or_not_at_all():
    request = a_request()
    assert reservation_named_by(request.SerializeToString()) == ""
    request.application_submission_context.reservation_id.cluster_timestamp = 5
    request.application_submission_context.reservation_id.id = 7
    assert reservation_named_by(request.SerializeToString()) == "reservation_5_0007"


def test_file_systems_of_local_files_are_named_by_scheme_host_and_port():
    request = a_request()
    for scheme, host, port in (("hdfs", "nn", 8020), ("s3a", "bucket", 0), ("hdfs", "nn", 9000), ("file", "", 0)):
        url = request.application_submission_context.am_container_spec.localResources.add().value.resource
        url.scheme, url.host, url.port, url.file = scheme, host, port, "/x"
    assert resources_of(request.SerializeToString()) == ["hdfs://nn", "s3a://bucket", "hdfs://nn:9000"]
    assert resources_of(a_request().SerializeToString()) == []


@pytest.mark.parametrize(
    ("tokens", "is_cancelled", "has_any"),
    [
        (b"", True, False),
        (b"HDTS\0\0", True, False),  # written, and none
        (b"HDTS\0\1", True, True),
        (b"HDTS\0\1", False, False),
        (b"another form", True, True),
        (b"HDTS\0", True, True),  # cut off: there may be some
    ],
)
def test_tokens_end_with_the_application_where_it_has_any_and_says_so(tokens, is_cancelled, has_any):
    request = a_request()
    request.application_submission_context.cancel_tokens_when_complete = is_cancelled
    request.application_submission_context.am_container_spec.tokens = tokens
    assert has_tokens_to_cancel(request.SerializeToString()) is has_any
