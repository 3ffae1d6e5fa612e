"""Everything that a client raises on purpose, by what can be done about it.

ClientError
├── AddressError            the address is none
├── CredentialsError        there is no ticket or token to show, or it cannot be used
├── NotReachedError         nobody answers there: nothing was asked
│   └── UntrustedServerError    TLS: the server does not prove who it is, or speaks none
├── NoAnswerError           it was asked, and did not answer: what was asked may have been done
│   └── SubmissionUnknownError  so it is with a submission, whose id it has
├── ForeignAnswerError      the answer is none of a Heddle or ResourceManager
├── RefusedError            the caller's mistake, status 4xx
│   ├── NotAllowedError     401 and 403
│   ├── NoSuchThingError    404
│   └── OtherContentError   409: the application id is known with another content or user
├── TryLaterError           429, 502, 503, 504: not now, nothing was lost
├── ServerFaultError        another 5xx
├── WaitedTooLongError      the time that one would wait is over; the application goes on
└── NotSucceededError       the application has ended, and did not succeed
"""

from collections.abc import Mapping
from typing import Any

__all__ = [
    "AddressError",
    "ClientError",
    "CredentialsError",
    "ForeignAnswerError",
    "NoAnswerError",
    "NoSuchThingError",
    "NotAllowedError",
    "NotReachedError",
    "NotSucceededError",
    "OtherContentError",
    "RefusedError",
    "ServerFaultError",
    "SubmissionUnknownError",
    "TryLaterError",
    "UntrustedServerError",
    "WaitedTooLongError",
]


class ClientError(Exception):
    """Root of them.

    Attributes:
        what: What is wrong.
        where: The server, or the operation, `GET /heddle/v1/apps/{application}`; empty if it is of neither.
        next: What to do; empty if the first says it.
    """

    def __init__(self, what: str, *, where: str = "", next_: str = "") -> None:
        super().__init__(what, where, next_)
        self.what = what
        self.where = where
        self.next = next_

    def __str__(self) -> str:
        return f"{self.what}. {self.next}" if self.next else self.what


class AddressError(ClientError):
    """The address is none of a web service."""


class CredentialsError(ClientError):
    """There is no ticket or token to show, or it cannot be used."""


class NotReachedError(ClientError):
    """Nobody answers at the address: the server was asked nothing."""


class UntrustedServerError(NotReachedError):
    """The server does not prove who it is, or speaks no TLS."""


class NoAnswerError(ClientError):
    """The server may have done what it was asked; it did not answer."""


class SubmissionUnknownError(NoAnswerError):
    """A submission may have arrived. Submit again with the same id: a known one is not started twice.

    Attributes:
        application: The id.
    """

    def __init__(self, application: str, *, where: str) -> None:
        what = f"whether {application} was submitted is not known"
        super().__init__(what, where=where, next_=f"Submit it again with application={application!r}, no other id")
        self.application = application


class ForeignAnswerError(ClientError):
    """The answer is none of a Heddle or a ResourceManager."""


class RefusedError(ClientError):
    """The caller's mistake.

    Attributes:
        status: Of HTTP.
        exception: Class that a ResourceManager names, in short.
    """

    def __init__(self, what: str, *, where: str = "", status: int = 400, exception: str = "") -> None:
        super().__init__(what, where=where)
        self.status = status
        self.exception = exception


class NotAllowedError(RefusedError):
    """The caller is nobody, or may not."""


class NoSuchThingError(RefusedError):
    """There is no such application, queue, cluster, file."""


class OtherContentError(RefusedError):
    """The id of an application that was submitted with another content, or by another user."""


class TryLaterError(ClientError):
    """Not now; nothing was lost.

    Attributes:
        retry_after_s: Seconds after which the server wants to be asked again; None if it does not say.
    """

    def __init__(self, what: str, *, where: str = "", status: int = 503, retry_after_s: float | None = None) -> None:
        super().__init__(what, where=where)
        self.status = status
        self.retry_after_s = retry_after_s


class ServerFaultError(RefusedError):
    """A fault of the server's."""


class WaitedTooLongError(ClientError):
    """The time that one would wait is over; the application goes on.

    Attributes:
        application: Its object as it was read last.
    """

    def __init__(self, what: str, application: Mapping[str, Any]) -> None:
        super().__init__(what, next_="It goes on: wait again, or kill it")
        self.application = application


class NotSucceededError(ClientError):
    """The application has ended, and did not succeed.

    Attributes:
        application: Its object, with `state`, `finalStatus` and `diagnostics`.
    """

    def __init__(self, application: Mapping[str, Any]) -> None:
        told = application.get("diagnostics") or "it says nothing more"
        ended = f"{application.get('state')}, {application.get('finalStatus')}"
        super().__init__(f"{application.get('id')} on {application.get('cluster')} ended as {ended}: {told}")
        self.application = application
