"""The end of an audit file, for operators who look. Nothing is verified here: `heddle audit verify` does that."""

import json
import os
from pathlib import Path
from typing import Any

__all__ = ["newest_entries"]

_TAIL_BYTES = 1024 * 1024


def newest_entries(file: Path, *, most_bytes: int = _TAIL_BYTES) -> list[dict[str, Any]]:
    """Read whole lines at the end of an audit file.

    Args:
        file: What `log.audit_file` names; one that was rotated away is not followed.
        most_bytes: So much of its end is read.

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
