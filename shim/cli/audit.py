"""`heddle audit`: whether the lines of audit files are as they were written. It reads files, not a Heddle."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from shim.cli.front import ExitCode, fail
from shim.cli.output import Output, OutputFormat, print_fields, print_rows, say
from shim.telemetry import escape
from shim.telemetry.audit_chain import ChainFindings, ChainHead, ChainSummary, verify

__all__ = ["app"]

_EXIT_CODES = "Exit codes: 0 every line fits, 1 a line does not, 2 wrong usage or a file that cannot be read."
_COLUMNS = (("CHAIN", "chain"), ("FIRST", "first"), ("LINES", "lines"), ("HEAD", "head"))
_LONGEST_LINE = 1024 * 1024
_HEAD = re.compile(r"([^:\s]{1,64}):([0-9]{1,18}):([0-9a-f]{64})")

app = typer.Typer(
    help="The audit: see whether its lines are as they were written.", no_args_is_help=True, epilog=_EXIT_CODES
)

Files = Annotated[list[Path], typer.Argument(help="Audit files, oldest first", metavar="FILE...")]
Kept = Annotated[
    list[str] | None,
    typer.Option("--head", help="A head that was kept elsewhere, as this verb prints it", metavar="CHAIN:NUMBER:HASH"),
]


@app.callback()
def _audit() -> None:
    """The group has one verb so far."""


@app.command("verify", epilog=_EXIT_CODES)
def verify_files(files: Files, *, head: Kept = None, output: Output = OutputFormat.TABLE) -> None:
    """Follow the chains through audit files: changed, removed, moved and added lines are told, with their place.

    Give the files of one Heddle from the oldest to the newest. The heads that are printed show a later cut of the end,
    if you keep them elsewhere and give them with --head.
    """
    expected = [_head(text) for text in head or ()]
    try:
        found = verify(_lines(files), expected)
    except OSError as exc:
        fail(f"an audit file cannot be read: {exc}", ExitCode.USAGE)
    _show(found, output)
    if found.troubles:
        raise typer.Exit(ExitCode.FAILED)


def _show(found: ChainFindings, output: OutputFormat) -> None:
    if output is OutputFormat.TABLE:
        print_rows([_row(chain) for chain in found.chains], _COLUMNS, output)
        for note in found.notes:
            say(escape(f"note: {note}"))
        for trouble in found.troubles:
            typer.secho(escape(trouble), fg=typer.colors.RED, err=True)
        return
    document = {
        "is_whole": not found.troubles,
        "chains": [_row(chain) for chain in found.chains],
        "troubles": list(found.troubles),
        "notes": list(found.notes),
    }
    print_fields(document, output)


def _row(chain: ChainSummary) -> dict[str, object]:
    return {"chain": chain.head.chain, "first": chain.first, "lines": chain.lines, "head": str(chain.head)}


def _head(text: str) -> ChainHead:
    found = _HEAD.fullmatch(text)
    if found is None:
        fail(f"--head {text!r}: write CHAIN:NUMBER:HASH, as this verb prints it", ExitCode.USAGE)
    return ChainHead(found[1], int(found[2]), found[3])


def _lines(files: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    for file in files:
        with file.open("rb") as opened:
            number = 0
            while line := opened.readline(_LONGEST_LINE):
                number += 1
                yield f"{file}:{number}", line.rstrip(b"\n")
