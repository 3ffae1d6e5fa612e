"""The plan of a DAG in the recovery log that its ApplicationMaster writes: its first record.

    0.10: 03 00 00 00, length as a varint, DAGSubmittedProto        0.9: 00 00 00 03, the same

Source: `RecoveryService.handleRecoveryEvent`, `DAGSubmittedEvent` and `HistoryEvents.proto` of Apache Tez.
"""

import re

from google.protobuf.message import DecodeError

from adapters.tez.dag_plan import MAX_PLAN_BYTES
from shim.domain.ids import ApplicationId
from shim.errors import MalformedJobGraphError
from shim.protocol.proto.messages import DAGSubmittedProto

__all__ = ["MAX_HEAD_BYTES", "dag_of_file", "plan_in_log"]

MAX_HEAD_BYTES = MAX_PLAN_BYTES + 64 * 1024
"""Bytes of a log that are read: the first record has little beside the plan."""
_SUBMITTED = frozenset({b"\x03\x00\x00\x00", b"\x00\x00\x00\x03"})
_KIND_BYTES = 4
_MOST_VARINT = 5
_FILE = re.compile(r"dag_(\d{1,19}_\d{1,10})_([1-9]\d{0,8})\.recovery")


def dag_of_file(name: str, application: ApplicationId) -> int | None:
    """Return the number of the DAG whose log has this name; None if it is no log of this application."""
    found = _FILE.fullmatch(name)
    return int(found[2]) if found is not None and str(application) == f"application_{found[1]}" else None


def plan_in_log(head: bytes) -> bytes | None:
    """Give the serialized `DAGPlan` in the first record of a log.

    Args:
        head: Its first bytes, `MAX_HEAD_BYTES` at most.

    Returns:
        The plan; None if the record is not written in full as yet.

    Raises:
        MalformedJobGraphError: It does not begin with a DAG, or that is too large.
    """
    if len(head) < _KIND_BYTES + _MOST_VARINT:
        return None
    if head[:_KIND_BYTES] not in _SUBMITTED:
        raise MalformedJobGraphError("the recovery log of the session does not begin with a DAG that was submitted")
    length, begin = _varint(head, _KIND_BYTES)
    if begin + length > MAX_HEAD_BYTES:
        raise MalformedJobGraphError(f"the DAG in the recovery log has {length} bytes; {MAX_PLAN_BYTES} are read")
    if len(head) < begin + length:
        return None
    try:
        submitted = DAGSubmittedProto.FromString(head[begin : begin + length])
    except DecodeError as error:
        raise MalformedJobGraphError(f"the recovery log of the session holds no DAG: {error}") from error
    return submitted.dag_plan


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number and the position behind it."""
    number = 0
    for shift, byte in enumerate(data[at : at + _MOST_VARINT]):
        number |= (byte & 0x7F) << (7 * shift)
        if not byte & 0x80:
            return number, at + shift + 1
    raise MalformedJobGraphError("the recovery log of the session has a record of no usable length")
