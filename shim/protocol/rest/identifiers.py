"""Identifiers in paths, and what is answered to those that are none.

Source: the messages of `ApplicationId.fromString`, `ConverterUtils.toNodeId` and `RMWebServices` of Hadoop 3.4.2.
"""

from shim.domain.ids import (
    ApplicationId,
    MalformedIdError,
    NodeId,
)
from shim.protocol.rest.errors import JavaError

__all__ = [
    "path_application",
    "path_node",
    "unknown_node",
]

_APPLICATION_PREFIX = "application_"


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
