"""Output of verbs: a table for people, JSON or YAML for programs. Programs get every field, people the useful ones."""

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shim.telemetry import escape

Column = tuple[str, str]
"""Heading, and the key of the field below it."""

_NUMBERS = (int, float)
_MOMENT = "_at_ms"
_MOMENTS = frozenset({"at_ms", "startedTime", "launchTime", "finishedTime"})
"""Milliseconds since 1970 under other names: a ResourceManager's."""
_AMOUNTS = frozenset({"priority", "runningContainers", "allocatedMB", "allocatedVCores"})
"""Below zero where a ResourceManager has none to tell."""
_LAST_MS = 253_402_300_800_000
"""The year 10000: no clock tells more, and clusters may."""


class OutputFormat(StrEnum):
    """Format of printed output."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    CSV = "csv"


Output = Annotated[OutputFormat, typer.Option("--output", "-o", help="Format of what is printed")]


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], output: OutputFormat) -> None:
    """Print a list of things: in a table only `columns`, else every field."""
    if output is not OutputFormat.TABLE:
        keys = list(dict.fromkeys(key for row in rows for key in row)) or [key for _, key in columns]
        say(_as_csv(rows, keys) if output is OutputFormat.CSV else _written(list(rows), output))
        return
    console().print(table_of(rows, columns))


def table_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> Table:
    """A table of things, for people."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, key in columns:
        is_number = bool(rows) and all(_is_number(row.get(key)) for row in rows)
        table.add_column(heading, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_shown(_for_people(key, row.get(key))[1])) for _, key in columns))
    return table


def print_figures(rows: Sequence[Mapping[str, str]], columns: Sequence[Column], *, names: int = 1) -> None:
    """Print a table of numbers that are already texts, as wide as they are; the first `names` columns are names."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, (heading, _) in enumerate(columns):
        table.add_column(heading, justify="left" if place < names else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(escape(row.get(key, ""))) for _, key in columns))
    console().print(table)


def print_fields(thing: Mapping[str, Any], output: OutputFormat) -> None:
    """Print one thing: a line for each field."""
    if output is not OutputFormat.TABLE:
        say(_as_csv([thing], list(thing)) if output is OutputFormat.CSV else _written(dict(thing), output))
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    for key, value in thing.items():
        label, told = _for_people(key, value)
        table.add_row(Text(escape(label), style="bold"), Text(_shown(told)))
    console().print(table)


def _for_people(key: str, value: Any) -> tuple[str, Any]:
    """A field's name and value as people read them: moments as times, without what there is not."""
    is_moment = key.endswith(_MOMENT) or key in _MOMENTS
    if is_moment and _is_number(value):
        is_told = 0 < value < _LAST_MS
        shown = datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if is_told else None
        return key.removesuffix("_ms"), shown
    if key in _AMOUNTS and _is_number(value) and value < 0:
        return key, None
    if isinstance(value, Mapping):
        told = (_for_people(name, each) for name, each in value.items())
        return key, ", ".join(f"{name} {_shown(each)}" for name, each in told if each is not None) or None
    return key, value


def say(text: str) -> None:
    """Print a text: as it is into a pipe or a file; at a terminal without what could drive that, or hide in it."""
    typer.echo(_harmless(text) if sys.stdout.isatty() else text)


def _harmless(text: str) -> str:
    """A text of which nothing but ends of lines and tabs is more than shown: logs are other people's words."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(map(escape, line.split("\t"))) for line in lines)


def console() -> Console:
    """Where tables are printed."""
    # into a pipe a table keeps its full width: a cut application id is useless to grep and awk
    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=500)


def _written(value: Any, output: OutputFormat) -> str:
    """A value for programs; characters that hide, or turn others, are written by their numbers in either format."""
    if output is OutputFormat.JSON:
        text = json.dumps(value, indent=2, ensure_ascii=False)
        return text if _are_shown(text) else "\n".join(map(_in_numbers, text.split("\n")))
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
    return (text if _are_shown(text) else yaml.safe_dump(value, sort_keys=False)).rstrip("\n")


def _are_shown(text: str) -> bool:
    """True if a text is what it looks like, line by line."""
    return all(escape(line) == line for line in text.split("\n"))


def _in_numbers(line: str) -> str:
    """A line of JSON with each character that is not shown as JSON escapes it: only texts have any."""
    return "".join(each if escape(each) == each else _numbered(each) for each in line)


def _numbered(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _as_csv(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> str:
    """Rows for a spreadsheet, in which a name that begins like a formula is none."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([escape(key) for key in keys])
    writer.writerows([_cell(row.get(key, "")) for key in keys] for row in rows)
    return file.getvalue().rstrip("\n")


def _cell(value: Any) -> str:
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False)
    text = "" if value is None else escape(str(value))
    is_formula = text[:1] in {"=", "+", "-", "@", "\t", "\r"} and not isinstance(value, _NUMBERS)
    return f"'{text}" if is_formula else text


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
    if isinstance(value, dict):
        return ", ".join(f"{escape(str(key))} {_shown(each)}" for key, each in value.items()) or "-"
    # names and diagnostics are other people's words: nothing in them may drive the terminal
    return escape(str(value))
