"""Sizes of calls of ApplicationMasters whose calls are read: what is taken whole, cut, and refused.

A ResourceManager takes calls of up to `ipc.maximum.data.length` (128 MiB), and keeps the end of an attempt's
diagnostics: 64 Ki characters by default. So Heddle refuses for its size only what it has to keep an account of, and
cuts diagnostics as the ResourceManager would.

Source: `yarn.app.attempt.diagnostics.limit.kc`, `org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt
.BoundedAppender` of Hadoop 3.4.2.
"""

from collections.abc import Mapping

from google.protobuf.message import Message

from shim.ports.attempt_calls import ALLOCATE, FINISH, REGISTER
from shim.protocol.proto.messages import FinishApplicationMasterRequestProto

__all__ = ["MOST_BYTES", "MOST_OF_DIAGNOSTICS", "refusal_of_size", "written_anew"]

_MIB = 1024 * 1024
MOST_BYTES: Mapping[str, int] = {
    ALLOCATE: _MIB,  # 8,000 resource requests have 600 kB
    REGISTER: _MIB,  # placement constraints are in it
}
"""Largest call by method, in bytes; others are bounded by the frame alone."""

MOST_OF_DIAGNOSTICS = 256 * 1024
"""Characters that are passed on; the last ones."""


def refusal_of_size(method: str, size: int) -> str:
    """The reason against a call of so many bytes, before it is decoded; empty if there is none."""
    most = MOST_BYTES.get(method)
    return f"the request has {size} bytes: at most {most} are taken" if most is not None and size > most else ""


def written_anew(method: str, request: Message) -> bytes:
    """The request as it is passed on: as it was read, and of a long farewell the end of its diagnostics.

    Args:
        method: That is called.
        request: As it was decoded.
    """
    if method != FINISH:
        return request.SerializeToString()
    assert isinstance(request, FinishApplicationMasterRequestProto)  # noqa: S101 - the method's own request
    length = len(request.diagnostics)
    if length <= MOST_OF_DIAGNOSTICS:
        return request.SerializeToString()
    head = f"Diagnostic messages truncated, showing last {MOST_OF_DIAGNOSTICS} chars out of {length}:\n"
    short = FinishApplicationMasterRequestProto()
    short.CopyFrom(request)
    short.diagnostics = head + request.diagnostics[-MOST_OF_DIAGNOSTICS:]
    return short.SerializeToString()
