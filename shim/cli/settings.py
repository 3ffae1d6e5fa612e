"""Options that several groups of verbs share."""

from typing import Annotated

import typer

__all__ = ["DEFAULT_SERVER", "DryRun", "dry_run_query"]

DEFAULT_SERVER = "http://127.0.0.1:8088"

DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and change nothing")]


def dry_run_query(*, dry_run: bool) -> dict[str, str]:
    """Query that makes Heddle's own API say what would happen, and change nothing."""
    return {"dryRun": "true"} if dry_run else {}
