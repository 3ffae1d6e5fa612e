"""The console: pages with scripts, for browsers."""

from shim.server.web.console import CONSOLE, CONSOLE_SECURITY, console_file

__all__ = ["CONSOLE", "CONSOLE_SECURITY", "console_file"]
