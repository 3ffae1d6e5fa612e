"""Every error that Heddle raises, and who is to blame for it.

    HeddleError
    ├── UserError                      the caller's mistake; its message is safe to show
    │   ├── BadRequestError            400  BadRequestException
    │   │   └── ResourceRequestError   a container that no cluster can give; over RPC InvalidResourceRequestException
    │   ├── MalformedBodyError         400  WebApplicationException: the body could not be read
    │   ├── NotAuthenticatedError      401  AuthorizationException
    │   ├── ForbiddenError             403  ForbiddenException
    │   ├── NotFoundError              404  NotFoundException
    │   ├── ConflictError              409  an application id that is known with another content or user
    │   ├── BodyTooLargeError          413
    │   └── TooManyCallsError          429 with Retry-After: the user, or the address, calls too fast
    ├── UnavailableError               503 with Retry-After: try again later, nothing was lost
    │   ├── GroupsUnknownError         a user's groups decide, and are being asked for: they can be awaited
    │   ├── NoUsableSubClusterError    no sub-cluster may take the application; says why for each
    │   └── HomeUnreachableError       the home sub-cluster does not answer
    ├── ResourceManagerError           what the adapter makes of a failing ResourceManager
    │   ├── NeverReachedError          no byte of the request can have arrived: safe to try elsewhere
    │   ├── NoAnswerError              the request may have been taken: not safe to try elsewhere
    │   ├── StandbyError               no ResourceManager of the sub-cluster is active
    │   └── MalformedAnswerError       too large, cut, of another type or not readable
    ├── CannotSpanError                a sub-cluster will not have an application of another home (any more)
    ├── ProtocolError                  bytes that break a protocol
    │   ├── LocalProtocolError         we would have
    │   └── RemoteProtocolError        they did
    ├── MasterLinkError                a link between masters was refused, broke, or stays silent
    ├── StoreError
    │   ├── StoreUnavailableError      locked, full or away: retry later
    │   └── VersionConflictError       somebody else wrote first
    ├── ConfigError                    names file, key and what is allowed
    ├── AddressTakenError              an address cannot be listened on now: start again
    ├── LabError                       a local cluster could not be started or found
    └── InvariantViolationError        a bug: never caught but at a task's boundary

Foreign errors are translated where they enter (`adapters/yarn/errors.py`, `shim/store`), always `from` the original.
Outcomes that are expected (a rejected launch, no capacity) are values, not errors.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

__all__ = [
    "AddressTakenError",
    "BadRequestError",
    "BodyTooLargeError",
    "CannotSpanError",
    "ConfigError",
    "ConflictError",
    "ForbiddenError",
    "GroupsUnknownError",
    "HeddleError",
    "HomeUnreachableError",
    "InvariantViolationError",
    "LabError",
    "LocalProtocolError",
    "MalformedAnswerError",
    "MalformedBodyError",
    "MalformedJobGraphError",
    "MasterLinkError",
    "NeverReachedError",
    "NoAnswerError",
    "NoUsableSubClusterError",
    "NotAuthenticatedError",
    "NotFoundError",
    "NotInLabError",
    "NotPlacedError",
    "ProtocolError",
    "RemoteProtocolError",
    "ResourceManagerError",
    "ResourceRequestError",
    "StandbyError",
    "StoreError",
    "StoreUnavailableError",
    "TooManyCallsError",
    "UnavailableError",
    "UserError",
    "VersionConflictError",
]

_WEBAPP = "org.apache.hadoop.yarn.webapp"


class HeddleError(Exception):
    """Root of everything that Heddle raises on purpose."""


class UserError(HeddleError):
    """The caller's mistake.

    Attributes:
        http_status: Status code at the REST server.
        java_class: Fully qualified class that a ResourceManager would name; its last part is the short name.
    """

    http_status: ClassVar[int] = 400
    java_class: ClassVar[str] = f"{_WEBAPP}.BadRequestException"


class BadRequestError(UserError):
    """A parameter or field has a value that is not allowed."""


class ResourceRequestError(BadRequestError):
    """An ApplicationMaster is larger than any container that a sub-cluster can give; names the largest."""


class MalformedBodyError(UserError):
    """The body is not readable as the content type that it claims."""

    java_class = "javax.ws.rs.WebApplicationException"


class NotAuthenticatedError(UserError):
    """A changing call without a user."""

    http_status = 401
    java_class = "org.apache.hadoop.security.authorize.AuthorizationException"


class ForbiddenError(UserError):
    """The user may not do this."""

    http_status = 403
    java_class = f"{_WEBAPP}.ForbiddenException"


class NotFoundError(UserError):
    """No such application, node, container or queue."""

    http_status = 404
    java_class = f"{_WEBAPP}.NotFoundException"


class ConflictError(UserError):
    """A known application id was submitted again by another user or with another content."""

    http_status = 409
    java_class = "org.apache.hadoop.yarn.exceptions.YarnException"


class BodyTooLargeError(UserError):
    """The body is larger than the limit of `[server] max_body_bytes`."""

    http_status = 413


class TooManyCallsError(UserError):
    """A user, or an address, calls more often than `[limits]` lets; again after `retry_after_s` seconds."""

    http_status = 429
    java_class = "org.apache.hadoop.ipc.RetriableException"

    def __init__(self, message: str, *, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class UnavailableError(HeddleError):
    """Heddle cannot do it now; the client may repeat the call after `retry_after_s` seconds."""

    def __init__(self, message: str, *, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class GroupsUnknownError(UnavailableError):
    """The groups of a user decide, and their source has not answered yet.

    Attributes:
        are_told: Waits a little for them, without holding anybody up; whether they are known then.
    """

    def __init__(self, message: str, are_told: Callable[[], Awaitable[bool]]) -> None:
        super().__init__(message)
        self.are_told = are_told


class NoUsableSubClusterError(UnavailableError):
    """No sub-cluster may take the application now; the message gives the reason of each."""


class HomeUnreachableError(UnavailableError):
    """The sub-cluster that knows the answer does not answer."""


class NotPlacedError(HomeUnreachableError):
    """An application waits in Heddle, or was ended while it did: no sub-cluster has it, nor an attempt of it."""


class MalformedJobGraphError(HeddleError):
    """A job's stages are no graph: the job is scheduled as one of which nothing is known."""


class ResourceManagerError(HeddleError):
    """A ResourceManager failed to answer as one.

    Attributes:
        subcluster: Id of the sub-cluster that it belongs to.
        reason: The message without that id, for where the id is told already.
    """

    def __init__(self, subcluster: str, message: str) -> None:
        super().__init__(f"sub-cluster {subcluster}: {message}")
        self.subcluster = subcluster
        self.reason = message


def reason_of(error: Exception) -> str:
    """The message of an error, without what is told already: the id of a sub-cluster, the name of a file."""
    match error:
        case ResourceManagerError():
            return error.reason
        case OSError(strerror=str() as words):
            return words
        case UnicodeDecodeError():
            return f"its byte {error.start} is no {error.encoding.upper()}"
        case _:
            return str(error)


class NeverReachedError(ResourceManagerError):
    """The connection was refused or could not be opened: the request has not been seen."""


class NoAnswerError(ResourceManagerError):
    """Time ran out or the connection broke after the request was (partly) sent: it may still be taken."""


class StandbyError(ResourceManagerError):
    """No ResourceManager of the sub-cluster is active."""


class MalformedAnswerError(ResourceManagerError):
    """The answer was too large, cut short, of an unexpected type or unreadable."""


class CannotSpanError(HeddleError):
    """A sub-cluster will not have an application of another home, or not any more: no use to try again."""


class ProtocolError(HeddleError):
    """Bytes that break a protocol."""


class LocalProtocolError(ProtocolError):
    """Heddle was about to break the protocol."""


class RemoteProtocolError(ProtocolError):
    """The peer broke the protocol."""


class MasterLinkError(HeddleError):
    """A link between masters could not be made, was refused, broke, or the other end says nothing."""


class StoreError(HeddleError):
    """The state store failed."""


class StoreUnavailableError(StoreError):
    """The store is locked, full or away; nothing was written."""


class VersionConflictError(StoreError):
    """Another writer was first."""


class ConfigError(HeddleError):
    """A configuration that cannot be used.

    Attributes:
        source: File or environment variable that holds the key.
        key: Dotted path of the key.
        message: What is wrong with it, and what is allowed.
        mistakes: This one; or all of them, where it stands for several.
    """

    def __init__(self, source: str, key: str, message: str, *, others: "Sequence[ConfigError]" = ()) -> None:
        super().__init__("\n".join((f"{source}: {key}: {message}", *map(str, others))))
        self.source = source
        self.key = key
        self.message = message
        self.mistakes: tuple[ConfigError, ...] = (ConfigError(source, key, message), *others) if others else (self,)


class AddressTakenError(HeddleError):
    """An address that Heddle should listen on cannot be had now; it may be at the next try."""


class LabError(HeddleError):
    """A cluster of the lab could not be started, found or stopped."""


class NotInLabError(LabError):
    """There is no such lab, or no such daemon in it."""


class InvariantViolationError(HeddleError):
    """A state that cannot be, which is a bug. The message has the history."""
