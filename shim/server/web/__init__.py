"""The console at `/console`: one page whose scripts read the web services, and nothing from any other host.

What it shows is what those answer to whoever looks: the page itself tells nothing, so that everybody may have it.
Addresses of its views stand behind `#`; all links are relative, so that it also works below a gateway's prefix.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

from shim.server.rest.messages import Headers

CONSOLE = "/console"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
CONSOLE_SECURITY: Headers = (("Content-Security-Policy", _POLICY), ("Referrer-Policy", "no-referrer"))
"""Scripts and styles from here alone, and none within a document; no framing by others."""

_TYPES: Mapping[str, str] = {
    ".html": "text/html;charset=utf-8",
    ".css": "text/css;charset=utf-8",
    ".js": "text/javascript;charset=utf-8",
}

ConsoleFile = tuple[bytes, str]
"""The bytes of a file, and its media type."""


@cache
def _files() -> Mapping[str, ConsoleFile]:
    """Every file that may be served, by its path below the console's: what is not in here does not exist."""
    found: dict[str, ConsoleFile] = {}
    root = files("shim.server.web") / "static"
    for folder in (root, root / "vendor"):
        prefix = "" if folder is root else "vendor/"
        for each in folder.iterdir():
            kind = _TYPES.get(PurePosixPath(each.name).suffix)
            if kind is not None:
                found[prefix + each.name] = (each.read_bytes(), kind)
    found[""] = found["index.html"]
    return found


def console_file(path: str) -> ConsoleFile | None:
    """The file at a path that begins with `CONSOLE` and a slash; None if there is none."""
    return _files().get(path.removeprefix(f"{CONSOLE}/"))
