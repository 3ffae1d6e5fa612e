"""Archives of aggregated logs."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from shim.domain.ids import ApplicationId
from shim.protocol.yarn.aggregated_logs import ReadAt


class NodeLogs(NamedTuple):
    """Logs that one node aggregated of an application, opened; their size in bytes."""

    node: str
    read: ReadAt
    size: int


class LogArchive(Protocol):
    """Aggregated logs. It blocks: for a thread."""

    def opened(self, user: str, application: ApplicationId) -> AbstractContextManager[Iterator[NodeLogs]]:
        """Logs that nodes aggregated of a user's application, each open until the next; nothing if there is none.

        Raises:
            OSError: It cannot be read.
        """
        ...
