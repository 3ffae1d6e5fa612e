"""`heddle usage`: what applications have used, by queue, user and cluster."""

import re
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import typer

from heddle.client.workflows import CALLS
from shim.cli.front import EXIT_CODES, Server, Strict, User, front
from shim.cli.output import Output, OutputFormat, print_rows
from shim.cli.settings import DEFAULT_SERVER

EPILOG = EXIT_CODES

_AMOUNTS = (
    ("APPS", "applications"),
    ("MiB-SECONDS", "memory_mib_s"),
    ("VCORE-SECONDS", "vcore_s"),
    ("PREEMPTED MiB-SECONDS", "preempted_memory_mib_s"),
    ("PREEMPTED VCORE-SECONDS", "preempted_vcore_s"),
)
_LENGTH = re.compile(r"([0-9]{1,6})([smhd])")
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST_S = 366 * 86_400
_CREDITS = (("GAVE MiB-SECONDS", "given_mib_s"), ("RECEIVED MiB-SECONDS", "received_mib_s"))


def usage(
    *,
    by: Annotated[str, typer.Option(help="Some of queue, user and cluster, with commas between")] = "queue",
    begin: Annotated[str, typer.Option("--from", help="Date, time or milliseconds; UTC", metavar="TIME")] = "",
    end: Annotated[str, typer.Option("--to", help="Date, time or milliseconds; now if not given", metavar="TIME")] = "",
    last: Annotated[str, typer.Option(help="Instead of --from: until now, 90m, 1h or 7d", metavar="TIME")] = "",
    strict: Strict = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Show what applications have used, all sub-clusters of each added up; of others' to administrators alone.

    With --from or --last also as a part of what the federation had in that time, of memory or of virtual cores,
    whichever is more.
    """
    if last and (begin or end):
        raise typer.BadParameter("give either --last, or --from and --to")
    if last:
        begin = str(_now_ms() - _length_ms(last))
    for option, given in (("--from", begin), ("--to", end)):
        _check_time(option, given)
    with front(server, user, strict=strict) as heddle:
        told = heddle.ask(CALLS.usage(by.split(","), begin=begin, end=end))
        names, rows = list(told["by"]), told["usage"]
        credits_ = [column for column in _CREDITS if any(column[1] in row for row in rows)]
        if output is OutputFormat.CSV:
            shares = ["share"] if any("share" in row for row in rows) else []
            keys = [*names, *(key for _, key in (*_AMOUNTS, *credits_)), *shares]
            print_rows([{key: row.get(key, "") for key in keys} for row in rows], [(key, key) for key in keys], output)
            return
        has_some = any(row[key] for row in rows for _, key in credits_)
        share = (("OF ALL", "share"),) if any(row.get("share") is not None for row in rows) else ()
        columns = [*((name.upper(), name) for name in names), *share, *_AMOUNTS, *(credits_ if has_some else ())]
        print_rows([_in_percent(row) for row in rows] if output is OutputFormat.TABLE else rows, columns, output)


def _in_percent(row: Mapping[str, Any]) -> dict[str, Any]:
    share = row.get("share")
    return dict(row) if share is None else {**row, "share": f"{share:.1%}"}


def _now_ms() -> int:
    return int(time.time() * 1000)


def _length_ms(text: str) -> int:
    """A length of time in milliseconds; what is none ends the command."""
    found = _LENGTH.fullmatch(text)
    if found is None or not 0 < (length_s := int(found[1]) * _UNITS_S[found[2]]) <= _LONGEST_S:
        raise typer.BadParameter(f"{text!r} is no length of time: write 90m, 1h or 7d", param_hint="--last")
    return length_s * 1000


def _check_time(option: str, text: str) -> None:
    """End the command where a time is none; what is said is what Heddle would say."""
    if not text or (text.isascii() and text.isdecimal()):
        return
    try:
        datetime.fromisoformat(text)
    except ValueError as exc:
        message = f"{text!r} is no time: write 2026-11-01, 2026-11-01T12:00:00Z, or milliseconds; or --last 1h"
        raise typer.BadParameter(message, param_hint=option) from exc
