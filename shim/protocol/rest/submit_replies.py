"""Meaning of answers of the web services to `POST /ws/v1/cluster/apps`.

Source: `RMWebServices.submitApplication`, `GenericExceptionHandler`.
"""

import msgspec

from shim.domain.submit_replies import Refusal, SubmitReply, SubmitVerdict

__all__ = ["read_reply"]

_TAKEN = frozenset({200, 202})
_REFUSED = frozenset({400, 401, 403, 405, 406, 411, 413, 415})
_NOT_FOUND, _SERVER_ERROR = 404, 500
_FROM_A_GATEWAY = frozenset({408, 502, 503, 504})


def read_reply(status: int, headers: tuple[tuple[str, str], ...], body_untrusted: bytes) -> SubmitReply:
    """Read an answer to a submission.

    Args:
        status: Of HTTP.
        headers: As received.
        body_untrusted: Decompressed, in any representation.
    """
    if status in _TAKEN:
        return SubmitReply(SubmitVerdict.TAKEN)
    java_class, message = _exception(body_untrusted)
    return SubmitReply(_verdict(status, body_untrusted), Refusal(java_class, message, status, headers, body_untrusted))


def _verdict(status: int, body: bytes) -> SubmitVerdict:
    is_its_own = b"RemoteException" in body
    if status in _REFUSED or (status == _NOT_FOUND and is_its_own):
        return SubmitVerdict.REFUSED  # 404 is what a reservation id that is none gets
    if status >= _SERVER_ERROR and is_its_own:
        return SubmitVerdict.FAILED  # also to contexts that it cannot read: 503
    return SubmitVerdict.FROM_A_GATEWAY if status in _FROM_A_GATEWAY else SubmitVerdict.UNCLEAR


def _exception(body: bytes) -> tuple[str, str]:
    """Class and message of an exception in JSON; empty where it is in another representation, or none."""
    try:
        told = msgspec.json.decode(body)["RemoteException"]
        return str(told["javaClassName"]), str(told.get("message") or "")
    except (msgspec.DecodeError, KeyError, TypeError, RecursionError):
        return "", ""
