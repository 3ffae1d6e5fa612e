"""The messages: made of the definitions on disk, proto2 in every respect that Hadoop relies on."""

import subprocess
import sys

import pytest
from google.protobuf.message import DecodeError, EncodeError

from shim.protocol.proto import APPLICATION_CLIENT, APPLICATION_MASTER, PROTOCOLS
from shim.protocol.proto.messages import (
    ApplicationIdProto,
    ApplicationSubmissionContextProto,
    NodeStateProto,
    RequestHeaderProto,
    ResourceRequestProto,
    RpcRequestHeaderProto,
    SerializedExceptionProto,
    SubmitApplicationRequestProto,
)


def test_the_compiled_files_are_what_the_definitions_say():
    subprocess.run([sys.executable, "scripts/protos.py", "--check"], check=True)


def test_fields_that_are_unknown_are_kept():
    newer = ApplicationIdProto(id=7, cluster_timestamp=1).SerializeToString() + bytes.fromhex("fa0704deadbeef")
    request = SubmitApplicationRequestProto()
    request.application_submission_context.application_id.MergeFromString(newer)
    request.application_submission_context.queue = "root.prod"

    again = SubmitApplicationRequestProto.FromString(request.SerializeToString())

    assert again.application_submission_context.application_id.SerializeToString() == newer


def test_a_required_field_at_its_default_is_written():
    header = RpcRequestHeaderProto(rpcKind=2, rpcOp=0, callId=0, clientId=b"")

    assert header.SerializeToString() == bytes.fromhex("0802100018002200")


def test_a_missing_required_field_is_an_error():
    with pytest.raises(EncodeError):
        RequestHeaderProto(methodName="allocate").SerializeToString()


@pytest.mark.parametrize(
    ("message", "field", "default"),
    [
        (ApplicationSubmissionContextProto, "queue", "default"),
        (ApplicationSubmissionContextProto, "applicationType", "YARN"),
        (ApplicationSubmissionContextProto, "cancel_tokens_when_complete", True),
        (ResourceRequestProto, "relax_locality", True),
        (ResourceRequestProto, "allocation_request_id", -1),
        (RpcRequestHeaderProto, "retryCount", -1),
    ],
)
def test_defaults_are_hadoops(message, field, default):
    assert getattr(message(), field) == default


def test_enumerations_have_names_and_numbers():
    assert NodeStateProto.NS_LOST == 5
    assert NodeStateProto.Name(7) == "NS_DECOMMISSIONING"


def test_deep_nesting_is_refused_and_does_not_exhaust_the_stack():
    nested = b""
    for _ in range(10_000):
        length = bytearray()
        rest = len(nested)
        while rest >= 0x80:
            length.append(rest & 0x7F | 0x80)
            rest >>= 7
        nested = b"\x22" + bytes([*length, rest]) + nested

    with pytest.raises(DecodeError):
        SerializedExceptionProto.FromString(nested)


def test_the_protocols_have_all_their_methods():
    assert len(APPLICATION_CLIENT.methods) == 35
    assert set(APPLICATION_MASTER.methods) == {
        "registerApplicationMaster",
        "finishApplicationMaster",
        "allocate",
    }
    assert all(method.name == name for protocol in PROTOCOLS.values() for name, method in protocol.methods.items())
