"""Takes secrets and control characters out of what is about to be written.

Secrets are known by the name of their key, and inside free text by the shapes that they have in Hadoop's web services
(cookies, `delegation=` parameters, authorization headers), in addresses (`//user:password@host`), and as API tokens.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

REDACTED = "[redacted]"

_SECRET_KEY = re.compile(
    r"password|passwd|secret|token|cookie|authorization|credential|signature|private.?key", re.IGNORECASE
)
_SECRET_TEXT = (
    # name=value and name: value, as in queries, cookies, headers and error messages; a quoted value ends at its quote
    re.compile(
        r"""(?P<keep>(?:password|passwd|secret|token|delegation|authorization|cookie|hadoop\.auth|signature)
            ["']?\s*[=:]\s*(?:(?:negotiate|basic|bearer)\s+)?)
            (?:"[^"]*"|'[^']*'|[^\s;,&"'])+""",
        re.IGNORECASE | re.VERBOSE,
    ),
    re.compile(r"(?P<keep>\b(?:negotiate|basic|bearer)\s+)[A-Za-z0-9+/=._~-]{8,}", re.IGNORECASE),
    re.compile(r"(?P<keep>://[^\s/:@]*:)[^\s/@]+(?=@)"),
    # an API token of Heddle's own, wherever somebody put it: what it begins with, and its public id, may stay
    re.compile(r"(?P<keep>heddle_[0-9a-f]{16}_)[A-Za-z0-9_-]+"),
)
_OWN = "heddle_"
_HAS_A_PLACE = re.compile(rf"[=:\s]|{_OWN}").search  # each of the shapes above has one of these
_HAS_A_MARK = re.compile(  # and one of these; to look for them costs a tenth of what it costs to look for the shapes
    r"passw(?:or)?d|secret|token|delegation|authorization|cookie|hadoop\.auth|signature|negotiate|basic|bearer|://"
    rf"|{_OWN}"
).search
_IS_PLAIN = re.compile(r"[A-Za-z0-9_./-]*").fullmatch  # only the last shape above can match, nothing needs an escape
_UNCHANGED = frozenset({int, float, bool, type(None)})
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_HIDDEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs"})  # control, format (bidi), line and paragraph ends, lone surrogates
_DEEPEST = 8


def redact(value: Any, *, key: str = "", depth: int = 0) -> Any:
    """The value without secrets: the whole of it if its key names one, else its texts, at any depth."""
    if key and value and _names_a_secret(key):
        return REDACTED
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        for shape in _SECRET_TEXT if _may_hold_one(value) else ():
            value = shape.sub(rf"\g<keep>{REDACTED}", value)
        return value
    if depth == _DEEPEST:
        return REDACTED
    if isinstance(value, Mapping):
        return {name: redact(below, key=str(name), depth=depth + 1) for name, below in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redact(below, depth=depth + 1) for below in value]
    return value if isinstance(value, int | float | None) else redact(str(value), depth=depth + 1)


def on_one_line(value: Any, *, key: str = "", depth: int = 0) -> Any:
    """The value as `redact` leaves it, with each text and each key in it as `escape` writes it."""
    kind = type(value)
    if kind in _UNCHANGED or (kind is str and _IS_PLAIN(value) and _OWN not in value):
        return REDACTED if key and value and _names_a_secret(key) else value
    if kind is dict and depth < _DEEPEST and not (key and _names_a_secret(key)):
        return {escape(str(name)): on_one_line(below, key=str(name), depth=depth + 1) for name, below in value.items()}
    return _escaped(redact(value, key=key, depth=depth))


def are_plain(said: Mapping[str, Any]) -> bool:
    """True if `on_one_line` leaves each value as it is: all are looked at together, which costs less than one by one.

    False says nothing: a mark in one value, or a value in parts, is looked at where it stands.
    """
    if not _name_no_secret(tuple(said)):
        return False
    texts = []
    for value in said.values():
        if type(value) is str:
            texts.append(value)
        elif type(value) not in _UNCHANGED:
            return False
    text = " ".join(texts)
    return text.isascii() and text.isprintable() and _HAS_A_MARK(text.lower()) is None


@lru_cache(maxsize=256)  # lines have few shapes
def _name_no_secret(keys: tuple[str, ...]) -> bool:
    return not any(map(_names_a_secret, keys))


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, dict):
        return {escape(str(key)): _escaped(below) for key, below in value.items()}
    return [_escaped(below) for below in value] if isinstance(value, list) else value


def _may_hold_one(text: str) -> bool:
    """True if it is worth looking for the shapes; letters beyond ASCII may count as others where case does not."""
    if _HAS_A_PLACE(text) is None:
        return False
    return not text.isascii() or _HAS_A_MARK(text.lower()) is not None


@lru_cache(maxsize=1024)
def _names_a_secret(key: str) -> bool:
    return _SECRET_KEY.search(key) is not None


def escape(text: str) -> str:
    """The text on one line: whatever could end it, hide in it or drive a terminal is written as an escape."""
    if text.isprintable():
        return text
    return "".join(_escape_one(character) for character in text)


def _escape_one(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")  # noqa: PLR2004 - one byte
