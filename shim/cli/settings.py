"""Options that several groups of verbs share."""

import os
import stat
import tomllib
from pathlib import Path
from typing import Annotated

import typer

CONFIG_FILE = "heddle.toml"
DEFAULT_SERVER = "http://127.0.0.1:8088"
_EVERYWHERE = ("0.0.0.0", "[::]")  # noqa: S104 - read, and not bound

DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and change nothing")]


def server_of(config: Path, otherwise: str) -> str:
    """Where the Heddle of a configuration serves REST.

    Args:
        config: The file. One that is not the caller's or root's, or that others may write, is not read: whoever wrote
            it would be shown the caller's token.
        otherwise: What is answered if it does not say.
    """
    try:
        about = config.stat()
        if about.st_uid not in {0, os.geteuid()} or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return otherwise
        server = tomllib.loads(config.read_text(encoding="utf-8"))["server"]
        host, _, port = str(server["rest"]).rpartition(":")
    except (OSError, ValueError, KeyError, TypeError):
        return otherwise
    if not host or not port.isdecimal() or port == "0":
        return otherwise
    return f"{'https' if server.get('tls') else 'http'}://{'127.0.0.1' if host in _EVERYWHERE else host}:{port}"
