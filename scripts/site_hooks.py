"""Hooks of MkDocs: pages link to files outside of docs/, which a site must hold, too.

The README, SECURITY.md and CHANGELOG.md become pages. Other files that a page links to are copied below `files/`, as
they are. A link to nothing stays as it is, and the strict build complains of it.
"""

import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "SECURITY.md", "CHANGELOG.md")

_LINK = re.compile(r"\[(?P<label>[^\]]*)\]\((?P<target>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from outside of docs/, and every file that a page links to there."""
    for name in PAGES:
        files.append(File.generated(config, name, content=(ROOT / name).read_text("utf-8")))
    linked: set[str] = set()
    for file in list(files):
        if file.src_uri.endswith(".md"):
            _each_link(file.content_string, _place(file.src_uri), linked.add)
    for path in sorted(linked - set(PAGES)):
        files.append(File.generated(config, f"files/{path}", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:  # noqa: ARG001 - MkDocs' signature
    """Return a page with its links to files outside of docs/ where these are in the site."""
    here = posixpath.dirname(page.file.src_uri)
    return _each_link(markdown, _place(page.file.src_uri), lambda _: None, here=here)


def _place(src_uri: str) -> str:
    """Where a page is from the root of the repository."""
    return src_uri if src_uri in PAGES else f"docs/{src_uri}"


def _each_link(markdown: str, place: str, meet: Callable[[str], object], *, here: str = "") -> str:
    """Tell of each file outside of docs/ that a page at a place links to; return the page as the site needs it."""

    def turned(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(place), found["target"]))
        if not (ROOT / target).exists() or target.startswith(".."):
            return found[0]
        if target.startswith("docs/"):
            inside = target.removeprefix("docs/")
        elif (ROOT / target).is_dir():
            return found["label"]  # a site shows no folders
        else:
            meet(target)
            inside = target if target in PAGES else f"files/{target}"
        return f"[{found['label']}]({posixpath.relpath(inside, here or '.')}{found['anchor'] or ''})"

    return _LINK.sub(turned, markdown)
