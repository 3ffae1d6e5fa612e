"""Identifiers of tokens: what a ResourceManager might read otherwise names nobody."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import ApplicationAttemptId, ApplicationId
from shim.errors import RemoteProtocolError
from shim.protocol.proto.messages import AMRMTokenIdentifierProto, ApplicationAttemptIdProto, ApplicationIdProto
from shim.protocol.yarn import attempt_of_token


def _identifier(sequence):
    application = ApplicationIdProto(id=sequence, cluster_timestamp=1_700_000_000_000)
    attempt = ApplicationAttemptIdProto(application_id=application, attemptId=1)
    return AMRMTokenIdentifierProto(appAttemptId=attempt, keyId=-7).SerializeToString()


OWN, VICTIM = _identifier(8), _identifier(7)
VICTIM_ALONE = AMRMTokenIdentifierProto.FromString(VICTIM)
VICTIM_ALONE.ClearField("keyId")


def test_an_identifier_names_its_attempt():
    found = attempt_of_token(OWN)
    assert found == ApplicationAttemptId(ApplicationId(1_700_000_000_000, 8), 1)


@pytest.mark.parametrize(
    "identifier",
    [
        OWN + VICTIM,
        VICTIM + OWN,
        OWN + b"\x18\x07",
        VICTIM + b"\x1b\x1b\x1c\x1c",
        b"\x18\x07" + OWN,
        VICTIM_ALONE.SerializeToString() + OWN,
        OWN[-11:] + OWN[:-11],
        OWN[:-11] + b"\x10\x07" + OWN[-11:],
        OWN + b"\x00",
        b"",
        b"\x00\x00\x01\x8b\xcf\xe5\x68\x00\x00\x00\x00\x08\x00\x00\x00\x01\x00\x00\x00\x07",
    ],
    ids=[
        "twice",
        "the other way round",
        "a field that nobody knows",
        "groups within groups",
        "a field that nobody knows first",
        "a part of another first",
        "in another order",
        "a number twice",
        "a byte too many",
        "nothing",
        "the older, plain form",
    ],
)
def test_an_identifier_that_may_be_read_in_two_ways_names_nobody(identifier):
    with pytest.raises(RemoteProtocolError):
        attempt_of_token(identifier)


@given(st.integers(0, len(OWN)), st.integers(0, 6), st.binary(max_size=6))
def test_whatever_is_taken_is_written_in_one_way(at, taken, put):
    changed = OWN[:at] + put + OWN[at + taken :]
    try:
        attempt_of_token(changed)
    except RemoteProtocolError:
        return
    assert AMRMTokenIdentifierProto.FromString(changed).SerializeToString() == changed
