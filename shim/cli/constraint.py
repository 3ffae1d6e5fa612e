"""`heddle constraint`: where containers with tags may be, by operators' word, in the policy that holds."""

import tomllib
from collections.abc import Callable
from typing import Annotated, Any

import tomlkit
import typer
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT

from heddle.client.workflows import CALLS
from shim.cli.front import EXIT_CODES, ExitCode, Server, User, fail, front
from shim.cli.output import Output, OutputFormat, print_fields, print_rows, say
from shim.cli.settings import DEFAULT_SERVER, DryRun

app = typer.Typer(
    help="Operators' constraints between containers with tags: list, add, remove.",
    no_args_is_help=True,
    epilog=EXIT_CODES,
)

_TABLE = "constraint"
_COLUMNS = (("NAME", "name"), ("SUBJECT", "subject"), ("WANT", "want"), ("WEIGHT", "weight"))
_ADD_EPILOG = """\
Examples:

heddle constraint add hb-apart --subject hb --want "0 hb in node" --hard

heddle constraint add near-cache --subject web --want "1.. cache in rack or 1.. cache in cluster" --weight 5

Numbers are of other containers, of all applications: `0` none, `..2` at most two, `1..` at least one, `3..10` between.
Sets are node, rack, cluster, or a node_group of the policy (docs/operators/configuration.md).
"""
Name = Annotated[str, typer.Argument(help="Its name in the policy", metavar="NAME")]
Note = Annotated[str, typer.Option("--note", "-m", help="Why; kept in the history of the policy")]


@app.command("list", epilog=EXIT_CODES)
def list_(*, output: Output = OutputFormat.TABLE, server: Server = DEFAULT_SERVER, user: User = "") -> None:
    """List the constraints that hold, in the order of the policy."""
    with front(server, user) as heddle:
        text = heddle.ask(CALLS.policy())["text"]
    rows = [_row(table) for table in tomllib.loads(text).get(_TABLE, ())]
    if output is OutputFormat.TABLE and not rows:
        say("# no constraints; `heddle constraint add --help` tells how one is added")
        return
    print_rows(rows, _COLUMNS, output)


@app.command(epilog=f"{_ADD_EPILOG}\n\n{EXIT_CODES}")
def add(
    name: Name,
    *,
    subject: Annotated[
        list[str], typer.Option(help="A tag of the containers whose place it is about; all of several", metavar="TAG")
    ],
    want: Annotated[str, typer.Option(help="What is wanted, such as `0 hb in node`", metavar="BOUNDS")],
    weight: Annotated[float, typer.Option(help="Beside others where not all can hold", min=0.0)] = 1.0,
    hard: Annotated[bool, typer.Option("--hard", help="Containers rather wait than break it")] = False,
    note: Note = "",
    dry_run: DryRun = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Add a constraint to the policy that holds, as its next version. For operators."""
    table = tomlkit.table()
    table.update({"name": name, "subject": subject, "want": want})
    if hard:
        table.add("hard", value=True)
    if weight != 1.0:
        table.add("weight", weight)

    def added(document: tomlkit.TOMLDocument) -> None:
        if name in _names(document):
            fail(f"there is a constraint {name!r} already: remove it first, or choose another name", ExitCode.USAGE)
        if isinstance(document.get(_TABLE), AoT):
            document[_TABLE].append(table)
        else:
            first = tomlkit.aot()
            first.append(table)
            document.append(_TABLE, first)

    _change(added, (note or f"constraint {name} added", output, server, user), dry_run=dry_run)


@app.command(epilog=EXIT_CODES)
def remove(
    name: Name,
    *,
    note: Note = "",
    dry_run: DryRun = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Remove a constraint from the policy that holds, by its next version. For operators."""

    def removed(document: tomlkit.TOMLDocument) -> None:
        names = _names(document)
        if name not in names:
            fail(f"there is no constraint {name!r}; there are {', '.join(names) or 'none'}", ExitCode.NOT_FOUND)
        del document[_TABLE][names.index(name)]
        if not document[_TABLE]:
            del document[_TABLE]

    _change(removed, (note or f"constraint {name} removed", output, server, user), dry_run=dry_run)


def _names(document: tomlkit.TOMLDocument) -> list[str]:
    return [str(table.get("name")) for table in document.get(_TABLE, ())]


def _change(
    change: Callable[[tomlkit.TOMLDocument], None], told: tuple[str, OutputFormat, str, str], *, dry_run: bool
) -> None:
    """Apply the policy that holds with a change, unless another one was applied meanwhile; see the options."""
    note, output, server, user = told
    with front(server, user) as heddle:
        holds = heddle.ask(CALLS.policy())
        try:
            document = tomlkit.parse(holds["text"])
        except TOMLKitError as exc:
            fail(f"the policy that holds cannot be changed, as it is not TOML: {exc}")
        change(document)
        text, version = tomlkit.dumps(document), int(holds["version"])
        call = CALLS.apply_policy(text, source="the policy", note=note, expected=version, dry_run=dry_run)
        answer = heddle.ask(call)
    shown = ("version", "note", "constraints", "not_at_once", "dry_run")
    print_fields({key: answer[key] for key in shown if key in answer}, output)


def _row(table: dict[str, Any]) -> dict[str, Any]:
    subject = table["subject"]
    is_hard = bool(table.get("hard"))
    return {
        "name": table["name"],
        "subject": [subject] if isinstance(subject, str) else subject,
        "want": table["want"],
        "weight": "hard" if is_hard else float(table.get("weight", 1.0)),
    }
