"""Facts of an answered call: for metrics, the audit and the log."""

from collections.abc import Callable
from dataclasses import dataclass

from shim.identity.service import Caller
from shim.protocol.hrpc import Failure, HadoopCall

__all__ = ["AnsweredCall", "CallObserver"]


@dataclass(slots=True)
class AnsweredCall:
    """One answered call.

    Attributes:
        failure: What was told in place of an answer, if anything was.
        duration_s: From the whole call to the answer.
    """

    call: HadoopCall
    caller: Caller
    peer: str
    failure: Failure | None
    duration_s: float


CallObserver = Callable[[AnsweredCall], None]
