"""Recovery logs are files of users: what is not the record of a DAG is refused, what is half written is waited for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.tez.recovery_log import MAX_HEAD_BYTES, dag_of_file, plan_in_log
from shim.domain.ids import ApplicationId
from shim.errors import MalformedJobGraphError
from shim.protocol.proto.messages import DAGSubmittedProto

JOB = ApplicationId(1_700_000_000_000, 7)
RECORD = DAGSubmittedProto(dag_id="dag_1700000000000_0007_1", dag_plan=b"a plan").SerializeToString()


@pytest.mark.parametrize("kind", [b"\x03\0\0\0", b"\0\0\0\x03"], ids=["0.10", "0.9"])
def test_the_plan_is_in_the_first_record(kind):
    assert plan_in_log(kind + bytes([len(RECORD)]) + RECORD + b"more") == b"a plan"


@given(st.integers(0, len(RECORD) + 4))
def test_a_record_that_is_not_written_in_full_is_waited_for(length):
    assert plan_in_log((b"\x03\0\0\0" + bytes([len(RECORD)]) + RECORD)[:length]) is None


@pytest.mark.parametrize(
    ("head", "message"),
    [
        pytest.param(b"\x04\0\0\0" + bytes(9), "does not begin", id="another record"),
        pytest.param(b"\x03\0\0\0" + b"\xff" * 9, "no usable length", id="endless number"),
        pytest.param(b"\x03\0\0\0" + b"\xff\xff\xff\x7f" + bytes(9), "bytes", id="too large"),
        pytest.param(b"\x03\0\0\0\x05" + b"\xff" * 9, "holds no DAG", id="no message"),
    ],
)
def test_what_is_no_dag_is_refused(head, message):
    with pytest.raises(MalformedJobGraphError, match=message):
        plan_in_log(head)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_plan_refused_or_waited_for(data):
    for head in (data, b"\x03\0\0\0" + data):
        try:
            assert plan_in_log(head) is None or len(head) <= MAX_HEAD_BYTES
        except MalformedJobGraphError:
            continue


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("dag_1700000000000_0007_1.recovery", 1),
        ("dag_1700000000000_0007_12.recovery", 12),
        ("dag_1700000000000_0008_1.recovery", None),
        ("dag_1700000000000_0007_0.recovery", None),
        ("summary", None),
        ("../dag_1700000000000_0007_1.recovery", None),
    ],
)
def test_a_log_tells_by_its_name_which_dag_it_is_of(name, number):
    assert dag_of_file(name, JOB) == number
