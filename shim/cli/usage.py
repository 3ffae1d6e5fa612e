"""`heddle usage`: what applications have used, by queue, user and cluster."""

import csv
import io
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from shim.cli.front import EXIT_CODES, Server, Strict, User, front
from shim.cli.output import OutputFormat, print_rows, say
from shim.cli.settings import DEFAULT_SERVER

__all__ = ["EPILOG", "usage"]

EPILOG = EXIT_CODES

_AMOUNTS = (
    ("APPS", "applications"),
    ("MiB-SECONDS", "memory_mib_s"),
    ("VCORE-SECONDS", "vcore_s"),
    ("PREEMPTED MiB-SECONDS", "preempted_memory_mib_s"),
    ("PREEMPTED VCORE-SECONDS", "preempted_vcore_s"),
)
_CREDITS = (("GAVE MiB-SECONDS", "given_mib_s"), ("RECEIVED MiB-SECONDS", "received_mib_s"))


class _Format(StrEnum):
    """Format of printed usage: as other verbs print, or for a spreadsheet."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    CSV = "csv"


def usage(
    *,
    by: Annotated[str, typer.Option(help="Some of queue, user and cluster, with commas between")] = "queue",
    begin: Annotated[str, typer.Option("--from", help="Date, time or milliseconds; UTC", metavar="TIME")] = "",
    end: Annotated[str, typer.Option("--to", help="Date, time or milliseconds; now if not given", metavar="TIME")] = "",
    strict: Strict = False,
    output: Annotated[_Format, typer.Option("--output", "-o", help="Format of what is printed")] = _Format.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Show what applications have used, all sub-clusters of each added up; of others' to administrators alone."""
    query = {name: value for name, value in (("by", by), ("from", begin), ("to", end)) if value}
    with front(server, user, strict=strict) as heddle:
        told = heddle.get("/heddle/v1/usage", **query)
        names, rows = list(told["by"]), told["usage"]
        credits_ = [column for column in _CREDITS if any(column[1] in row for row in rows)]
        if output is _Format.CSV:
            say(_as_csv(rows, [*names, *(key for _, key in (*_AMOUNTS, *credits_))]))
            return
        has_some = any(row[key] for row in rows for _, key in credits_)
        columns = [*((name.upper(), name) for name in names), *_AMOUNTS, *(credits_ if has_some else ())]
        print_rows(rows, columns, OutputFormat(output.value))


def _as_csv(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """Rows for a spreadsheet, in which a name that begins like a formula is none."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_as_text(row.get(name, "")) for name in names] for row in rows)
    return file.getvalue().rstrip("\n")


def _as_text(value: Any) -> str:
    text = str(value)
    return f"'{text}" if text[:1] in {"=", "+", "-", "@", "\t", "\r"} and not isinstance(value, int) else text
