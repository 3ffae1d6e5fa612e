"""API tokens for the verbs: shown where one is given, instead of a ticket or a name.

Source: RFC 6750.
"""

import stat
from collections.abc import Generator, Mapping
from pathlib import Path

import httpx

from shim.errors import HeddleError

__all__ = ["TokenFileError", "TokenShown", "shown_token"]

_LONGEST_FILE = 4096
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class TokenFileError(HeddleError):
    """A file that is to have an API token, and cannot be used."""


class TokenShown(httpx.Auth):
    """Shows an API token with every request.

    Args:
        token: Its whole text.
    """

    def __init__(self, token: str) -> None:
        self._header = f"Bearer {token}"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send the request with the token."""
        request.headers["Authorization"] = self._header
        yield request


def shown_token(environment: Mapping[str, str]) -> str:
    """The token that a verb is to show: of `HEDDLE_TOKEN`, else of the file that `HEDDLE_TOKEN_FILE` names; or none.

    Raises:
        TokenFileError: If the file cannot be read, others can read it, or no token can be in it.
    """
    name = environment.get("HEDDLE_TOKEN_FILE", "")
    text = environment.get("HEDDLE_TOKEN", "").strip()
    if not text and name:
        text = _text_of(Path(name))
    if not text.isascii() or not all(character.isprintable() and character != " " for character in text):
        raise TokenFileError("HEDDLE_TOKEN or its file holds something else than one API token")
    return text


def _text_of(file: Path) -> str:
    try:
        if file.stat().st_mode & _OTHERS:
            raise TokenFileError(f"HEDDLE_TOKEN_FILE={file}: others can read it; chmod 600 {file}")
        with file.open("rb") as opened:
            text = opened.read(_LONGEST_FILE + 1).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise TokenFileError(f"HEDDLE_TOKEN_FILE={file} cannot be used: {exc}") from exc
    if not text or len(text) > _LONGEST_FILE:
        raise TokenFileError(f"HEDDLE_TOKEN_FILE={file} has no API token")
    return text
