"""One line for each call that changes something: who, for whom, from where, what, and how it ended."""

import datetime as dt
import json
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import structlog

from shim.ports.clock import Clock
from shim.telemetry.audit_file import AuditFile
from shim.telemetry.redaction import escape, redact


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A changing call.

    Attributes:
        request_id: Heddle's own; no client can choose it.
        operation: What was asked for, by one name whatever the protocol: `app.submit`, `policy.apply`.
        real_user: Who called; empty if nobody said.
        result: `allowed`, `refused` (the caller's mistake or right) or `failed` (ours, or a sub-cluster's).
        subcluster: The sub-cluster that it touched, empty for none or unknown.
        target: Application, container, node, queue or sub-cluster that it was about.
        reason: Why it was refused or failed.
        call: How it was asked: method and path pattern of the endpoint, or the RPC method.
    """

    request_id: str
    operation: str
    real_user: str
    effective_user: str
    address: str
    result: str
    status: int
    subcluster: str = ""
    target: str = ""
    reason: str = ""
    client_request_id: str = ""
    call: str = ""


_FIELDS = tuple(field.name for field in fields(AuditEntry))


class AuditTrail:
    """Destination of audit lines: a file of their own, where they are a chain of hashes, or the log."""

    def __init__(self, clock: Clock, file: Path | None = None, *, key: bytes = b"") -> None:
        self._clock = clock
        self._log = structlog.get_logger("heddle.audit").bind()  # once: to find the settings costs as much as a line
        self._file = None if file is None else AuditFile(file, key=key)

    def record(self, entry: AuditEntry) -> None:
        said = {name: getattr(entry, name) for name in _FIELDS}
        if self._file is None:
            self._log.info("audit", **said)  # which takes out secrets and control characters itself
            return
        said = {name: escape(value) if isinstance(value, str) else value for name, value in said.items()}
        time = dt.datetime.fromtimestamp(self._clock.now_s(), dt.UTC).isoformat()
        try:
            self._file.append(redact({"time": time, **said}))
        except OSError as exc:
            self._log.error("audit line not written to its file", error=str(exc), **said)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


# The end of an audit file, for operators who look. Nothing is verified here: `heddle audit verify` does that.

_TAIL_BYTES = 1024 * 1024


def newest_entries(file: Path, *, most_bytes: int = _TAIL_BYTES) -> list[dict[str, Any]]:
    """Read whole lines at the end of an audit file.

    Args:
        file: What `log.audit_file` names; one that was rotated away is not followed.

    Returns:
        The records, newest first; lines that are none are passed over.

    Raises:
        OSError: It cannot be read; there is none as long as nothing was changed.
    """
    with file.open("rb") as opened:
        size = os.fstat(opened.fileno()).st_size
        opened.seek(max(0, size - most_bytes))
        lines = opened.read(most_bytes).split(b"\n")
    whole = lines[:-1] if size <= most_bytes else lines[1:-1]  # the last one is being written, the first may be cut
    return [entry for line in reversed(whole) if (entry := _entry(line)) is not None]


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
