"""Values of environment variables, put into the tree of TOML tables before it is read."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shim.config.tree import Origin, declared_keys, is_table, item_type, key_of, removed_keys, unknown_name
from shim.errors import ConfigError

__all__ = ["overlay"]


def overlay(
    cls: type,
    table: dict[str, Any],
    prefix: str,
    environment: Mapping[str, str],
    source: str,
    mistakes: list[ConfigError] | None = None,
) -> Origin:
    """Put the values of environment variables into a tree of TOML tables, in place.

    `PREFIX_SECTION_KEY` sets `section.key`. Items of an array of tables are named by their first key
    (`PREFIX_SUBCLUSTER_EAST_WEB`), with anything but letters and digits written `_`. A variable of a section that does
    not exist is somebody else's (Kubernetes sets `HEDDLE_PORT` for a service called heddle) and left alone.

    Mistakes are kept in `mistakes`, if there is such a list; see `Origin`.

    Raises:
        ConfigError: If a variable names a section, but no key of it, and mistakes are not kept.
    """
    variables: dict[str, str] = {}
    origin = Origin(source, Path(source).resolve().parent, variables, mistakes)
    sections = declared_keys(cls)
    for variable in sorted(environment):
        words = variable.removeprefix(prefix).lower()
        section = next((name for name in sections if words.startswith(f"{name}_")), None)
        if not variable.startswith(prefix) or section is None:
            continue
        path = _place(cls, table, words, environment[variable])
        if path is None:
            known = _spellings(sections[section][1], table.get(section), section)
            told = unknown_name("variable", variable, [prefix + n.upper() for n in known])
            origin.note(ConfigError(variable, section, told))
            continue
        variables[path] = variable
    return origin


def _variable_name(text: str) -> str:
    return re.sub("[^a-z0-9]", "_", text.lower())


def _place(cls: Any, table: dict[str, Any], words: str, value: str) -> str | None:
    """Set the key that `words` spells and return its dotted path, or None if there is none."""
    if words in removed_keys(cls):
        table[words] = value
        return words
    for name, (field, type_) in declared_keys(cls).items():
        item, rest, was = item_type(type_), words.removeprefix(f"{name}_"), key_of(field).was
        if words in {name, was} - {""} and not is_table(type_) and not is_table(item):
            for spelling in (name, was):  # a variable goes before the file, whichever name each of them uses
                table.pop(spelling, None)
            table[words] = value
            return words
        if rest == words:
            continue
        if is_table(type_):
            below = _place(type_, _as_table(table.setdefault(name, {})), rest, value)
        elif is_table(item):
            below = _place_in_items(item, table.get(name), rest, value)
        else:
            below = None
        if below is not None:
            return name + below if below.startswith("[") else f"{name}.{below}"
    return None


def _place_in_items(item: Any, tables: Any, words: str, value: str) -> str | None:
    named = _named_items(item, tables)
    for label, (path, table) in named.items():
        if words.startswith(f"{label}_"):
            below = _place(item, table, words.removeprefix(f"{label}_"), value)
            if below is not None:
                return f"{path}.{below}"
    return None


def _as_table(value: Any) -> dict[str, Any]:
    """The table, or an empty one in the place of something else: `read` refuses that later, with its place."""
    return value if isinstance(value, dict) else {}


def _named_items(item: Any, tables: Any) -> dict[str, tuple[str, dict[str, Any]]]:
    """Tables of an array or mapping by the name they have in variables, with their place in a dotted path."""
    if isinstance(tables, list):
        first = next(iter(declared_keys(item)))
        items = [(f"[{number}]", _as_table(table)) for number, table in enumerate(tables)]
        return {_variable_name(str(table.get(first))): (path, table) for path, table in items}
    return {_variable_name(name): (name, _as_table(table)) for name, table in _as_table(tables).items()}


def _spellings(type_: Any, table: Any, prefix: str) -> list[str]:
    """Names of all variables below a section, in lower case."""
    item = item_type(type_)
    if is_table(type_):
        return [
            spelling
            for name, (_, below) in declared_keys(type_).items()
            for spelling in _spellings(below, _as_table(table).get(name), f"{prefix}_{name}")
        ]
    if is_table(item):
        return [
            spelling
            for label, (_, one) in _named_items(item, table).items()
            for spelling in _spellings(item, one, f"{prefix}_{label}")
        ]
    return [prefix]
