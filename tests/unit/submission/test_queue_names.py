"""A submission put into another queue: everything but the queue travels as it came."""

import json

import pytest

from shim.protocol.proto.messages import SubmitApplicationRequestProto
from shim.protocol.rest.submission_context import decode_submission
from shim.protocol.yarn import decode_submission as decode_rpc
from shim.submission.queue_names import put_into

JSON = (
    b'{"application-id":"application_1_0001","queue":"a","new":{"x":[1.50,1e3]},'
    b'"application-name":"\xc3\xa4","am-container-spec":{"commands":{"command":"sleep 1"}}}'
)
XML = (
    b'<?xml version="1.0"?><application-submission-context><application-id>application_1_0001</application-id>'
    b"<queue>a</queue><new><x>1</x></new><application-name>\xc3\xa4</application-name></application-submission-context>"
)


@pytest.mark.parametrize(("body", "kind"), [(JSON, "application/json"), (XML, "application/xml")], ids=["json", "xml"])
def test_the_queue_is_another_and_the_rest_is_the_same(body: bytes, kind: str):
    before = decode_submission(body, media_type=kind, user="alice")
    after = put_into(before, "root.prod")
    again = decode_submission(after.body, media_type=kind, user="alice")
    assert (after.queue, again.queue) == ("root.prod", "root.prod")
    assert (again.application_id, again.name) == (before.application_id, "ä")
    assert put_into(after, "root.prod") is after


def test_json_keeps_what_is_not_known_here_byte_for_byte():
    after = put_into(decode_submission(JSON, media_type="application/json", user="alice"), "root.prod")
    assert b'"new":{"x":[1.50,1e3]}' in after.body
    assert json.loads(after.body)["am-container-spec"] == {"commands": {"command": "sleep 1"}}


def test_a_context_without_a_queue_gets_one():
    body = b'{"application-id":"application_1_0001"}'
    after = put_into(decode_submission(body, media_type="application/json", user="alice"), "root.prod")
    assert json.loads(after.body) == {"application-id": "application_1_0001", "queue": "root.prod"}


def test_rpc_keeps_fields_that_are_not_known_here():
    request = SubmitApplicationRequestProto()
    request.application_submission_context.application_id.id = 7
    request.application_submission_context.application_id.cluster_timestamp = 1
    request.application_submission_context.queue = "a"
    unknown = b"\xfa\x3e\x03new"  # field 1007, three bytes
    payload = request.SerializeToString() + unknown
    before = decode_rpc(SubmitApplicationRequestProto.FromString(payload), payload, user="alice")
    after = put_into(before, "root.prod")
    assert unknown in after.body
    assert SubmitApplicationRequestProto.FromString(after.body).application_submission_context.queue == "root.prod"
