"""Options that several groups of verbs share."""

from typing import Annotated

import typer

__all__ = ["DEFAULT_SERVER", "DryRun"]

DEFAULT_SERVER = "http://127.0.0.1:8088"

DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and change nothing")]
