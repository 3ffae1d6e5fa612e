"""Output of verbs: a table for people, JSON or YAML for programs. Programs get every field, people the useful ones."""

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shim.telemetry import escape

__all__ = ["Column", "Output", "OutputFormat", "print_fields", "print_figures", "print_rows", "say", "table_of"]

Column = tuple[str, str]
"""Heading, and the key of the field below it."""

_NUMBERS = (int, float)


class OutputFormat(StrEnum):
    """Format of printed output."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


Output = Annotated[OutputFormat, typer.Option("--output", "-o", help="Format of what is printed")]


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], output: OutputFormat) -> None:
    """Print a list of things: in a table only `columns`, else every field."""
    if output is not OutputFormat.TABLE:
        say(_written(list(rows), output))
        return
    _console().print(table_of(rows, columns))


def table_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> Table:
    """A table of things, for people."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, key in columns:
        is_number = bool(rows) and all(_is_number(row.get(key)) for row in rows)
        table.add_column(heading, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_shown(row.get(key))) for _, key in columns))
    return table


def print_figures(rows: Sequence[Mapping[str, str]], columns: Sequence[Column], *, names: int = 1) -> None:
    """Print a table of numbers that are already texts, as wide as they are; the first `names` columns are names."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, (heading, _) in enumerate(columns):
        table.add_column(heading, justify="left" if place < names else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(row.get(key, "")) for _, key in columns))
    _console().print(table)


def print_fields(thing: Mapping[str, Any], output: OutputFormat) -> None:
    """Print one thing: a line for each field."""
    if output is not OutputFormat.TABLE:
        say(_written(dict(thing), output))
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    for key, value in thing.items():
        table.add_row(Text(key, style="bold"), Text(_shown(value)))
    _console().print(table)


def say(text: str) -> None:
    """Print a text as it is."""
    typer.echo(text)


def _console() -> Console:
    # into a pipe a table keeps its full width: a cut application id is useless to grep and awk
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=500)


def _written(value: Any, output: OutputFormat) -> str:
    if output is OutputFormat.JSON:
        return json.dumps(value, indent=2, ensure_ascii=False)
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True).rstrip("\n")


def _is_number(value: Any) -> bool:
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.1f}"
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "-"
    # names and diagnostics are other people's words: nothing in them may drive the terminal
    return escape(str(value))
