"""From a call to its answer, without a socket: requests, retries, errors. The clients send and wait.

A call that may be repeated is sent again when nobody answers, or the server says "not now". Any other one is sent again
only where it cannot have been done: nothing was reached, or the server says that it has refused to hear it (429).
"""

import re
import ssl
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
import msgspec

from heddle.client.calls import Call, Pause
from heddle.client.errors import (
    AddressError,
    ClientError,
    CredentialsError,
    ForeignAnswerError,
    NoAnswerError,
    NoSuchThingError,
    NotAllowedError,
    NotReachedError,
    OtherContentError,
    RefusedError,
    ServerFaultError,
    TryLaterError,
    UntrustedServerError,
)

__all__ = ["Freshness", "Patience", "exchanged", "freshness_of", "read_as", "translated"]

T = TypeVar("T")

_JAVA_PREFIX = "java.lang.Exception: "
_LATER = frozenset({429, 502, 503, 504})
_GATEWAY = frozenset({502, 504})
_TOO_MANY = 429
_UNAUTHORIZED = 401
_FAULT = 500
_REFUSALS = {401: NotAllowedError, 403: NotAllowedError, 404: NoSuchThingError, 409: OtherContentError}


@dataclass(frozen=True, slots=True)
class Patience:
    """Retries of a client.

    Attributes:
        retries: How often a call is sent again at most.
        first_s: Seconds before the second try; each further one waits twice as long.
        longest_s: No pause is longer, also if the server asks for it.
    """

    retries: int = 4
    first_s: float = 0.5
    longest_s: float = 15.0

    def pause_s(self, attempt: int, wanted_s: float | None) -> float:
        """Seconds after a failed try, the first of which is 0."""
        return min(self.longest_s, wanted_s if wanted_s is not None else self.first_s * 2**attempt)


@dataclass(frozen=True, slots=True)
class Freshness:
    """Age of an answer.

    Attributes:
        as_of: When its oldest part was true, RFC 3339 in UTC; empty if the server does not say.
        missing: Sub-clusters whose part is absent or old.
    """

    as_of: str
    missing: tuple[str, ...]


Steps = Generator[Call[Any] | Pause, httpx.Response, T]


def exchanged(call: Call[Any], patience: Patience, server: str) -> Steps[httpx.Response]:
    """Ask until there is an answer or no more patience.

    Raises:
        ClientError: What came instead, or why it was refused.
    """
    attempt, may_have_arrived = 0, False
    while True:
        problem, cause = None, None
        try:
            answer = yield call
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            problem, cause = translated(exc, server, call), exc
        else:
            if answer.is_success:
                return answer
            problem = _refusal(answer, server, call)
        may_have_arrived |= isinstance(problem, NoAnswerError) or _is_of_a_gateway(problem)
        if attempt >= patience.retries or not _may_again(problem, call):
            if may_have_arrived and call.method != "GET" and isinstance(problem, (NotReachedError, TryLaterError)):
                problem = NoAnswerError(f"{problem.what}, and an earlier try may have arrived", where=problem.where)
            raise problem from cause
        yield Pause(patience.pause_s(attempt, problem.retry_after_s if isinstance(problem, TryLaterError) else None))
        attempt += 1


def _is_of_a_gateway(problem: ClientError) -> bool:
    """Whether somebody between has asked the server, and does not know what became of it."""
    return isinstance(problem, TryLaterError) and problem.status in _GATEWAY


def _may_again(problem: ClientError, call: Call[Any]) -> bool:
    match problem:
        case UntrustedServerError():
            return False
        case NotReachedError():
            return True
        case TryLaterError(status=status):
            return call.may_repeat or status == _TOO_MANY
        case NoAnswerError():
            return call.may_repeat
    return False


def read_as(answer: httpx.Response, call: Call[T], server: str) -> T:
    """The answer as what it is.

    Raises:
        ForeignAnswerError: It is something else.
    """
    if call.answer is str:
        return answer.text  # type: ignore[return-value]  # str is T
    try:
        return msgspec.json.decode(answer.content or b"{}", type=call.answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        what = f"what {server} answers is not what is expected: {exc}"
        raise ForeignAnswerError(
            what, where=f"{call.method} {call.path}", next_=f"Is it a Heddle that serves {server}?"
        ) from exc


_NUMBER_OF_ERROR = re.compile(r"^\[Errno -?\d+\] ")


def freshness_of(answer: httpx.Response) -> Freshness:
    """What an answer says of its own age."""
    named = (each.strip() for each in answer.headers.get("Heddle-Missing", "").split(","))
    return Freshness(answer.headers.get("Heddle-As-Of", ""), tuple(filter(None, named)))


def translated(error: httpx.HTTPError | httpx.InvalidURL, server: str, call: Call[Any]) -> ClientError:
    """The error for what came instead of an answer."""
    where = f"{call.method} {call.path}"
    if isinstance(error, (httpx.UnsupportedProtocol, httpx.InvalidURL)):
        return AddressError(f"{server!r} is not the address of a Heddle", where=where, next_="Write http://host:port")
    if told := _told_of_tls(server, error):
        return UntrustedServerError(told[0], where=where, next_=told[1])
    if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)):
        reason = _NUMBER_OF_ERROR.sub("", str(error)).rstrip(".") or "it does not answer"
        what = f"no Heddle at {server}: {reason}"
        return NotReachedError(what, where=where, next_="Start one with `heddle serve`, or name another")
    if isinstance(error, httpx.TimeoutException):
        seconds = error.request.extensions.get("timeout", {}).get("read") if _has_request(error) else None
        return NoAnswerError(
            f"{server} did not answer{'' if seconds is None else f' within {seconds:g} s'}", where=where
        )
    if isinstance(error, (httpx.RemoteProtocolError, httpx.ReadError)) and server.startswith("http:"):
        what = f"{server} ended the connection without an answer"
        return NoAnswerError(what, where=where, next_="If it speaks TLS, write https://")
    return NoAnswerError(f"{server} did not answer: {str(error).rstrip('.')}", where=where)


def _has_request(error: httpx.HTTPError) -> bool:
    try:
        return error.request is not None
    except RuntimeError:
        return False


def _told_of_tls(server: str, error: BaseException) -> tuple[str, str] | None:
    """What was wrong with the proof that a server is who it says, and what to do; None if it was something else."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        advice = "Write the name that its certificate is for, and name the file of its CA in HEDDLE_CA_FILE"
        return f"{server} does not prove who it is: {cause.verify_message.rstrip('.')}", advice
    if isinstance(cause, ssl.SSLError):
        return (
            f"no TLS with {server}: {cause.reason or cause}",
            "Does it speak http:// alone, or ask for a certificate?",
        )
    return None


def _refusal(answer: httpx.Response, server: str, call: Call[Any]) -> ClientError:
    where, status = f"{call.method} {call.path}", answer.status_code
    if status == _UNAUTHORIZED and answer.headers.get("WWW-Authenticate", "").lower().startswith("negotiate"):
        return CredentialsError(f"{server} does not take the ticket that was shown", where=where)
    told = _remote_exception(answer)
    if status in _LATER:
        after = answer.headers.get("Retry-After", "")
        seconds = float(after) if after.isascii() and after.isdecimal() else None
        if told is None and seconds is None and status not in _GATEWAY:
            return _foreign(answer, server, where)
        what = told[1] if told is not None else f"{server} answers {status}"
        return TryLaterError(what, where=where, status=status, retry_after_s=seconds)
    if told is None:
        return _foreign(answer, server, where)
    kind: Callable[..., RefusedError] = _REFUSALS.get(status, RefusedError if status < _FAULT else ServerFaultError)
    return kind(told[1], where=where, status=status, exception=told[0])


def _foreign(answer: httpx.Response, server: str, where: str) -> ForeignAnswerError:
    told = f"{where}: status {answer.status_code}, without a reason"
    return ForeignAnswerError(told, where=where, next_=f"Is it a Heddle that serves {server}?")


def _remote_exception(answer: httpx.Response) -> tuple[str, str] | None:
    """Class and message of an error's body; None if it has none."""
    try:
        told = answer.json()["RemoteException"]
        message = str(told.get("message") or told["exception"])
        return str(told.get("exception", "")), message.removeprefix(_JAVA_PREFIX)  # Java's web services have it
    except (ValueError, KeyError, TypeError, AttributeError):
        text = answer.text.strip()
        is_plain = answer.headers.get("Content-Type", "").startswith("application/json") and text[:1] not in "{[<"
        return ("", text) if is_plain and text else None
