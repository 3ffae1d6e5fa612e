"""`heddle audit`: whether the lines of audit files are as they were written. It reads files, not a Heddle."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from shim.cli.front import ExitCode, fail
from shim.cli.output import Output, OutputFormat, print_fields, print_rows, say
from shim.errors import ConfigError, reason_of
from shim.telemetry import escape
from shim.telemetry.audit_chain import ChainFindings, ChainHead, ChainSummary, verify
from shim.telemetry.audit_file import read_kept_head

_EXIT_CODES = "Exit codes: 0 every line fits, 1 a line does not, 2 wrong usage or a file that cannot be read."
_COLUMNS = (("CHAIN", "chain"), ("FIRST", "first"), ("LINES", "lines"), ("HEAD", "head"))
_LONGEST_LINE = 1024 * 1024
_HEAD = re.compile(r"([^:\s]{1,64}):([0-9]{1,18}):([0-9a-f]{64})")

app = typer.Typer(
    help="The audit: see whether its lines are as they were written.", no_args_is_help=True, epilog=_EXIT_CODES
)

Files = Annotated[list[Path], typer.Argument(help="Audit files, oldest first", metavar="FILE...")]
KeyFile = Annotated[
    Path | None, typer.Option("--key", help="The file of log.audit_key_file: lines must have its seal", metavar="FILE")
]
Kept = Annotated[
    list[str] | None,
    typer.Option("--head", help="A head that was kept elsewhere, as this verb prints it", metavar="CHAIN:NUMBER:HASH"),
]


@app.callback()
def _audit() -> None:
    """The group has one verb so far."""


@app.command("verify", epilog=_EXIT_CODES)
def verify_files(files: Files, *, head: Kept = None, key: KeyFile = None, output: Output = OutputFormat.TABLE) -> None:
    """Follow the chains through audit files: changed, removed, moved and added lines are told, with their place.

    Give the files of one Heddle from the oldest to the newest. The head that is kept beside a file (FILE.head) must be
    in it, and so must those of --head. The heads that are printed show a later cut of the end, if you keep them
    elsewhere; with --key nobody without that key has written a line.
    """
    from shim.app.host_limits import read_secret  # noqa: PLC0415 - other verbs begin without it

    expected = [_head(text) for text in head or ()]
    try:
        secret = b"" if key is None else read_secret(key, key="--key")
        beside = {file: read_kept_head(file) for file in files}
        expected += [each.head for each in beside.values() if each is not None]
        found = verify(_lines(files), expected, key=secret)
    except ConfigError as exc:
        fail(str(exc), ExitCode.USAGE)
    except OSError as exc:
        fail(f"{exc.filename or 'an audit file'} cannot be read: {reason_of(exc)}", ExitCode.USAGE)
    unsealed = [file for file, each in beside.items() if secret and each is not None and not each.is_sealed(secret)]
    troubles = [f"{file}.head has no seal of this key: it may be an older end, or anybody's" for file in unsealed]
    notes = [] if any(beside.values()) else ["no FILE.head is there: a cut of the end shows by --head alone"]
    found = replace(found, troubles=(*found.troubles, *troubles), notes=(*found.notes, *notes))
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
