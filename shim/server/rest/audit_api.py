"""Heddle's own web services on the audit, below `/heddle/v1/`.

GET   audit[?search=WORDS][&limit=N]     the newest lines of `log.audit_file`, for administrators
"""

from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from fastapi import Response

from heddle import models
from shim.concurrency.off_loop import OffLoop
from shim.errors import UnavailableError
from shim.server.rest.own_endpoints import Limit, OwnEndpoint, Search, as_json, has_words
from shim.telemetry.audit import newest_entries

__all__ = ["AuditAPI"]


@dataclass(frozen=True, slots=True)
class AuditAPI:
    """Answers the endpoint; raises what the server makes error bodies of.

    Attributes:
        file: Of the audit; None where it goes to the log.
    """

    file: Path | None
    _work: OffLoop = field(default_factory=OffLoop)

    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        """Method, path and operation of each."""
        return (OwnEndpoint("GET", "audit", self.newest, models.AuditEntries),)

    async def newest(self, search: Search = "", limit: Limit = 100) -> Response:
        """The newest lines, newest first; `search` is words that all stand in one."""
        if self.file is None:
            return as_json(models.AuditEntries([], "log.audit_file is not set: audit lines are in the log"))
        found = await self._work.run_own(partial(_found, self.file, search, limit))
        return as_json(models.AuditEntries(found, ""))


def _found(file: Path, search: str, limit: int) -> list[dict[str, Any]]:
    try:
        entries = newest_entries(file)
    except FileNotFoundError:
        return []
    except OSError as exc:
        raise UnavailableError(f"the audit file {file} cannot be read: {exc}") from exc
    return list(islice((entry for entry in entries if has_words(entry.values(), search)), limit))
