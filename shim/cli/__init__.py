"""The command `heddle`: arguments in, calls to services or to a running Heddle, tables out. No decisions."""

from shim.cli.main import main

__all__ = ["main"]
