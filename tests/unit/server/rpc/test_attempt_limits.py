"""Sizes of calls of ApplicationMasters: what is refused, what is cut, what passes whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.ports.attempt_calls import ALLOCATE, FINISH, REGISTER
from shim.protocol.proto import APPLICATION_MASTER
from shim.protocol.proto.messages import FinishApplicationMasterRequestProto
from shim.server.rpc.attempt_limits import MOST_BYTES, MOST_OF_DIAGNOSTICS, refusal_of_size, written_anew


@pytest.mark.parametrize("method", [ALLOCATE, REGISTER])
def test_what_an_account_is_kept_of_has_a_limit(method):
    most = MOST_BYTES[method]
    assert refusal_of_size(method, most) == ""
    assert refusal_of_size(method, most + 1) == f"the request has {most + 1} bytes: at most {most} are taken"


def test_a_farewell_is_never_refused_for_its_size():
    assert refusal_of_size(FINISH, 128 * 1024 * 1024) == ""


@pytest.mark.parametrize("over", [-1, 0])
def test_diagnostics_up_to_the_limit_pass_to_the_byte(over):
    message = FinishApplicationMasterRequestProto(diagnostics="x" * (MOST_OF_DIAGNOSTICS + over))
    assert written_anew(FINISH, message) == message.SerializeToString()


@given(
    text=st.text(min_size=1, max_size=50),
    tail=st.text(max_size=50),
    url=st.text(max_size=30),
    status=st.sampled_from([1, 2, 3]),
)
def test_of_long_diagnostics_the_end_is_passed_on_and_the_rest_of_the_call_whole(text, tail, url, status):
    long = text * (MOST_OF_DIAGNOSTICS // len(text) + 1) + tail
    message = FinishApplicationMasterRequestProto(diagnostics=long, tracking_url=url, final_application_status=status)
    read = FinishApplicationMasterRequestProto.FromString(written_anew(FINISH, message))
    if len(long) > MOST_OF_DIAGNOSTICS:
        head, _, end = read.diagnostics.partition(":\n")
        assert end == long[-MOST_OF_DIAGNOSTICS:]
        assert head.endswith(f"{MOST_OF_DIAGNOSTICS} chars out of {len(long)}")
    else:
        assert read.diagnostics == long
    assert (read.tracking_url, read.final_application_status) == (url, status)
    assert message.diagnostics == long


@pytest.mark.parametrize("method", [each for each in APPLICATION_MASTER.methods if each != FINISH])
def test_other_calls_pass_as_they_were_read(method):
    kind = APPLICATION_MASTER.methods[method].request
    once = kind.FromString(b"\x40\x05\xa2\x06\x01x")
    assert written_anew(method, once) == once.SerializeToString()
