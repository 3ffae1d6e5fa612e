"""Identifiers in paths: what each stands for, how it is written to a ResourceManager, and what is answered to none.

Java reads more than one spelling of an id: a sign before a number, the digits of other scripts. Heddle reads ASCII
digits alone, refuses the rest, and sends its own spelling: a ResourceManager never sees an id that Heddle has not
understood.

Source: the messages of `ApplicationId.fromString`, `ApplicationAttemptId.fromString`, `ContainerId.fromString`,
`ConverterUtils.toNodeId`, `ConverterUtils.toNodeIdWithDefaultPort` and `RMWebServices` of Hadoop 3.4.2.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

from shim.domain.ids import (
    ApplicationAttemptId,
    ApplicationId,
    ContainerId,
    MalformedIdError,
    NodeId,
)
from shim.protocol.rest.errors import JavaError

SIGNALS = ("OUTPUT_THREAD_DUMP", "GRACEFUL_SHUTDOWN", "FORCEFUL_SHUTDOWN")
"""`org.apache.hadoop.yarn.api.records.SignalContainerCommand`."""

_Id = TypeVar("_Id")
_APPLICATION_PREFIX = "application_"
_TEXT = re.compile(r"[^/\x00-\x1f\x7f]{1,512}")
_HOST = re.compile(r"[^:/\s\x00-\x1f\x7f]{1,255}")


def path_application(text: str) -> ApplicationId:
    """The application that a path segment names.

    Raises:
        JavaError: 400 if it names none.
    """
    try:
        return ApplicationId.parse(text)
    except MalformedIdError:
        pass
    if not text.startswith(_APPLICATION_PREFIX):
        raise JavaError.invalid_id(
            f"Invalid ApplicationId prefix: {text}. The valid ApplicationId should start with prefix application"
        )
    raise JavaError.invalid_id(f"Invalid ApplicationId: {text}")


def path_attempt(text: str) -> ApplicationAttemptId:
    """The attempt that a path segment names.

    Raises:
        JavaError: 400 if it names none.
    """
    return _identifier(ApplicationAttemptId.parse, "AppAttemptId", "appattempt_", text)


def path_container(text: str) -> ContainerId:
    """The container that a path segment names.

    Raises:
        JavaError: 400 if it names none.
    """
    return _identifier(ContainerId.parse, "ContainerId", "container_", text)


def _identifier(parse: Callable[[str], _Id], java_name: str, prefix: str, text: str) -> _Id:
    """Read an id as `ConverterUtils` does: what is wrong is the prefix, or what follows it."""
    try:
        return parse(text)
    except MalformedIdError:
        wrong = "" if text.startswith(prefix) else " prefix"
        raise JavaError.invalid_id(f"Invalid {java_name}{wrong}: {text}") from None


def path_node(text: str) -> NodeId:
    """The node that a path segment names.

    Raises:
        JavaError: 400 if it has not the form `host:port`, 404 if the port cannot be one.
    """
    host, separator, port = text.partition(":")
    if not host or not separator or not port or ":" in port:
        raise JavaError.illegal_argument(f"Invalid NodeId [{text}]. Expected host:port")
    if not port.removeprefix("-").isdigit() or not port.isascii():
        raise JavaError.illegal_argument(f"Invalid port: {port}")
    try:
        return NodeId.parse(text)
    except MalformedIdError:
        raise unknown_node(text) from None


def unknown_node(text: str) -> JavaError:
    """The 404 for a node that no sub-cluster has."""
    return JavaError.not_found(f"nodeId, {text}, is not found")


# -- as they are sent on ---------------------------------------------------------------------------------------------


def canonical_parameters(given: Mapping[str, str]) -> dict[str, str]:
    """The parameters of a path in the spelling that is sent on.

    Args:
        given: Decoded, by the names that the table of endpoints gives them, in the order of the path.

    Raises:
        JavaError: For the first that cannot be understood, in a ResourceManager's words.
    """
    return {name: _CANONICAL[name](text) for name, text in given.items()}


def _text(text: str) -> str:
    if not _TEXT.fullmatch(text) or text in (".", ".."):
        raise JavaError.illegal_argument(f"not a path segment: {text[:80]!r}")
    return text


def _node_or_host(text: str) -> str:
    """A host alone stands for all of its nodes: labels are read and set by it."""
    return text if _HOST.fullmatch(text) and text not in (".", "..") else str(path_node(text))


def _diagnosed(text: str) -> str:
    """Text of an id to diagnose: kept if it is no application; understood or refused if Java may read it as one."""
    return str(path_application(text)) if text.startswith(_APPLICATION_PREFIX) else _text(text)


def _command(text: str) -> str:
    """In capitals, as a ResourceManager reads it; of another one it says itself that there is none."""
    command = text.upper()
    return command if command in SIGNALS else _text(text)


_CANONICAL: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "application": lambda text: str(path_application(text)),
        "diagnosed": _diagnosed,
        "attempt": lambda text: str(path_attempt(text)),
        "container": lambda text: str(path_container(text)),
        "node": lambda text: str(path_node(text)),
        "host": _node_or_host,
        "queue": _text,
        "type": _text,
        "command": _command,
    }
)
