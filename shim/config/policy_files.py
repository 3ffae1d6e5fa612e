"""Files of `heddle policy apply`: read with the line of what is wrong, within limits, and written."""

import dataclasses
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shim.config.queues import MOST_TABLES, PolicyConfig, check_policy, share_policy, tables_of
from shim.config.tree import Origin, key_of, read
from shim.domain.queues import PLAIN, QueueDefaults, SharePolicy
from shim.errors import ConfigError

_LINE = re.compile(r"at line (\d+)")
MOST_POLICY_BYTES = 256 * 1024
"""A policy file may have."""
_MOST_LEVELS = 32
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"?+|'[^'\n]*+'?+)"""
_PARTS = re.compile(_PART)
_TOKEN = re.compile(
    r"""\#[^\n]*+ | \"{3}(?:[^"\\]|\\[\s\S]|"(?!""))*+"{0,5}+ | '{3}(?:[^']|'(?!''))*+'{0,5}+ """
    rf"""| (?P<name>{_PART}(?:[\t ]*+\.[\t ]*+{_PART})*+)""",
    re.VERBOSE,
)
"""What dots may stand in: comments, texts of several lines, and names of several parts. Each character is read once."""


def parse_policy(
    text: str, *, source: str, subclusters: Sequence[str] = (), defaults: QueueDefaults = PLAIN
) -> SharePolicy:
    """Read a policy file, the whole or nothing.

    Raises:
        ConfigError: Naming the line, the key and what is allowed.
    """
    return share_policy(policy_tables(text, source=source, subclusters=subclusters), defaults)


def policy_tables(text: str, *, source: str, subclusters: Sequence[str] = ()) -> PolicyConfig:
    """As `parse_policy`, but the tables as a configuration has them."""
    tables = bounded_tables(text, source)
    try:
        config = read(PolicyConfig, tables, Origin(source, Path()))
        check_policy(config, subclusters, source)
    except ConfigError as exc:
        message = str(exc).removeprefix(f"{exc.source}: {exc.key}: ")
        raise ConfigError(f"{source}:{_line_of(text, exc.key)}", exc.key, message) from exc
    return config


def bounded_tables(text: str, source: str) -> dict[str, Any]:
    """The tables of a text from elsewhere, a policy or a list of sub-clusters, not larger than a policy may be.

    `tomllib` takes time by the square of the parts of a key, and raises more than its own error.

    Raises:
        ConfigError: It is too large, or no TOML.
    """
    if len(text) > MOST_POLICY_BYTES or len(text.encode("utf-8", "replace")) > MOST_POLICY_BYTES:
        raise ConfigError(source, "(file)", f"is larger than the {MOST_POLICY_BYTES} bytes that it may have")
    for token in _TOKEN.finditer(text):
        if (
            token["name"]
            and token["name"].count(".") >= _MOST_LEVELS
            and len(_PARTS.findall(token["name"])) > _MOST_LEVELS
        ):
            number = text.count("\n", 0, token.start()) + 1
            raise ConfigError(f"{source}:{number}", "(file)", f"has a name of more than {_MOST_LEVELS} parts")
    try:
        tables = tomllib.loads(text)
    except RecursionError as exc:
        raise ConfigError(source, "(file)", "is nested too deep") from exc
    except ValueError as exc:  # its own error is one; so are numbers too long for Python
        line = _LINE.search(str(exc))
        where = f"{source}:{line[1]}" if line else source
        raise ConfigError(where, "(file)", f"is not TOML: {exc}") from exc
    for name, most in MOST_TABLES.items():
        listed = tables.get(name)
        if isinstance(listed, list) and len(listed) > most:
            raise ConfigError(source, name, f"there are {len(listed)}: at most {most} are allowed")
    return tables


def policy_text(tables: PolicyConfig) -> str:
    parts: list[str] = []
    for name, items in tables_of(tables):
        for item in items:
            lines = [f"{key} = {_toml(value)}" for key, value in _changed(item)]
            parts.append("\n".join((f"[[{name}]]", *lines, "")))
    return "\n".join(parts)


def _changed(item: Any) -> list[tuple[str, Any]]:
    """The keys that are not the defaults; those of a table with its name before them."""
    found: list[tuple[str, Any]] = []
    for field in dataclasses.fields(item):
        value = getattr(item, field.name)
        if key_of(field).rest:
            found += value.items()
        elif isinstance(value, Mapping):
            found += [(f"{field.name}.{json.dumps(name)}", one) for name, one in value.items()]
        elif value != field.default:
            found.append((field.name, value))
    return found


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _line_of(text: str, dotted: str) -> int:
    """The line that a key stands in; of a key that is missing, the line where its table begins."""
    table, _, rest = dotted.partition(".")
    name, _, number = table.rstrip("]").partition("[")
    header, wanted, seen = f"[[{name}]]", int(number or 0), -1
    found = 1
    for line, content in enumerate(text.splitlines(), start=1):
        stripped = content.strip()
        if stripped.startswith("["):
            seen += stripped.startswith(header)
            if seen == wanted and stripped.startswith(header):
                found = line
        elif (seen == wanted and _names(stripped, rest)) or (seen < 0 and _names(stripped, table)):
            return line
    return found


def _names(line: str, key_path: str) -> bool:
    return line.partition("=")[0].strip() in (key_path, key_path.partition(".")[0], key_path.rpartition(".")[2])
