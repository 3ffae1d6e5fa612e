"""Files of aggregated logs, as NodeManagers write them: one for each node that an application ran on.

    keys     VERSION, APPLICATION_OWNER, APPLICATION_ACL, then containers
    value    of a container: name of a file, its length in digits, its bytes; and so on

Whoever may write into a user's folder decides every byte: all lengths are checked, and what one file may cost is
bounded. Pure; `ReadAt` brings the bytes.

Source: `org.apache.hadoop.yarn.logaggregation.AggregatedLogFormat` of Hadoop 3.4.2; 2.10.2 writes the same bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from shim.domain.ids import ContainerId, MalformedIdError
from shim.protocol.yarn.log_text import LogText
from shim.protocol.yarn.tfile import LONGEST_KEY, Allowance, MalformedLogsError, ReadAt, Value, records, text_of

__all__ = ["AggregatedFile", "list_files", "tail_of", "view_acl_of"]

_LONGEST_NAME = 255
_LONGEST_LENGTH = 19  # digits
_OWNER = "APPLICATION_OWNER"
_ACL = "APPLICATION_ACL"
_RESERVED = frozenset({"VERSION", _OWNER, _ACL})
_VIEW = "VIEW_APP"
_LONGEST_ACL = 65_535
_NO_NAMES = frozenset({"", ".", ".."})


@dataclass(frozen=True, slots=True)
class AggregatedFile:
    """A file of a container's logs; its size in bytes."""

    container: ContainerId
    name: str
    size: int


def list_files(read: ReadAt, size: int, owner: str, allowance: Allowance) -> Iterator[AggregatedFile]:
    """The files of all containers.

    Args:
        read: Brings bytes.
        size: Of the whole, in bytes.
        owner: The user whose logs they must be.
        allowance: What is left of what a request may cost.

    Raises:
        MalformedLogsError: They are not.
    """
    return (file for file, _ in _each(read, size, owner, allowance))


def tail_of(
    read: ReadAt,
    size: int,
    owner: str,
    allowance: Allowance,
    *,
    container: ContainerId,
    name: str,
    most_bytes: int,
) -> LogText | None:
    """The end of a container's file, up to `most_bytes`; None if it is not there.

    Raises:
        MalformedLogsError: As of `list_files`.
    """
    for file, value in _each(read, size, owner, allowance):
        if (file.container, file.name) == (container, name):
            kept = min(most_bytes, file.size)
            value.skip(file.size - kept)
            return LogText(value.take(kept), file.size)
    return None


def view_acl_of(read: ReadAt, size: int, allowance: Allowance) -> str:
    """The users and groups that may view the application besides its user, `user,user group,group` or `*`.

    Raises:
        MalformedLogsError: As of `list_files`.
    """
    for key, value in records(read, size, allowance):
        if key == _ACL:
            while value.has_more():
                kind = text_of(value, value.integer(2), _LONGEST_NAME)
                acl = text_of(value, value.integer(2), _LONGEST_ACL)
                if kind == _VIEW:
                    return acl
        elif key not in _RESERVED:
            break  # a NodeManager writes it before containers
    return ""


def _each(read: ReadAt, size: int, owner: str, allowance: Allowance) -> Iterator[tuple[AggregatedFile, Value]]:
    """Every file of a container, with the value that its bytes are next in."""
    is_owners = False
    for key, value in records(read, size, allowance):
        if key == _OWNER:
            is_owners = text_of(value, value.integer(2), LONGEST_KEY) == owner
            if not is_owners:
                raise MalformedLogsError("these are the logs of another user")
        elif key not in _RESERVED:
            if not is_owners:
                raise MalformedLogsError("it does not say whose logs these are")
            yield from _files(value, _container(key), allowance)


def _files(value: Value, container: ContainerId, allowance: Allowance) -> Iterator[tuple[AggregatedFile, Value]]:
    while value.has_more():
        allowance.step()
        name = text_of(value, value.integer(2), _LONGEST_NAME)
        digits = text_of(value, value.integer(2), _LONGEST_LENGTH)
        if not (digits.isascii() and digits.isdigit()):
            raise MalformedLogsError("a length is no number")
        size = int(digits)
        end = value.passed + size
        if name.isprintable() and "/" not in name and name not in _NO_NAMES:
            yield AggregatedFile(container, name, size), value
        value.skip(end - value.passed)


def _container(key: str) -> ContainerId:
    try:
        return ContainerId.parse(key)
    except MalformedIdError as exc:
        raise MalformedLogsError("a key is no container") from exc
