"""`heddle token`: API tokens, which programs show instead of a ticket or a name."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from heddle.client.workflows import CALLS
from shim.cli.front import EXIT_CODES, Server, User, front
from shim.cli.output import Output, OutputFormat, print_fields, print_rows
from shim.cli.settings import DEFAULT_SERVER
from shim.domain.roles import TokenScope

app = typer.Typer(
    help="API tokens, which programs show instead of a ticket or a name: create, list, revoke.",
    no_args_is_help=True,
    epilog=EXIT_CODES,
)

_DAY_S = 86_400.0
_COLUMNS = (
    ("ID", "id"),
    ("NAME", "name"),
    ("USER", "user"),
    ("SCOPES", "scopes"),
    ("CREATED BY", "created_by"),
    ("UNTIL", "until"),
)


@app.command(epilog=EXIT_CODES)
def create(
    name: Annotated[str, typer.Argument(help="What it is for", metavar="NAME")],
    *,
    scopes: Annotated[
        list[TokenScope] | None,
        typer.Option("--scope", help="What it lets do; may stand more than once. Every token reads"),
    ] = None,
    days: Annotated[float, typer.Option(help="How long it is good", min=0.0, max=366.0, metavar="DAYS")] = 30.0,
    owner: Annotated[
        str, typer.Option("--for", help="User that it stands for, if not you; for administrators", metavar="USER")
    ] = "",
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Create an API token and print it: this once, nobody can read it again.

    A program shows it as `Authorization: Bearer TOKEN`; `heddle` itself does, if HEDDLE_TOKEN_FILE names a file with
    it, or HEDDLE_TOKEN has it. `submit` lets it submit and change applications, `operate` clusters and policies, as far
    as its user may.
    """
    call = CALLS.create_token(name, scopes=list(scopes or ()), user=owner, lifetime_s=days * _DAY_S)
    with front(server, user) as heddle:
        made = heddle.ask(call)
    if output is OutputFormat.TABLE:
        typer.echo("Keep it now, it is not shown again.", err=True)
    print_fields(_readable(made), output)


@app.command("list", epilog=EXIT_CODES)
def list_(
    *,
    owner: Annotated[str, typer.Option("--for", help="Whose, if not yours; for administrators", metavar="USER")] = "",
    everybodys: Annotated[bool, typer.Option("--all", help="Those of all users; for administrators")] = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """List API tokens that were not revoked: whose they are, what they let do, until when. Their texts are nowhere."""
    with front(server, user) as heddle:
        rows = heddle.ask(CALLS.tokens(user="" if everybodys else owner, everybodys=everybodys))["tokens"]
    print_rows([_readable(row) for row in rows], _COLUMNS, output)


@app.command(epilog=EXIT_CODES)
def revoke(
    token: Annotated[str, typer.Argument(help="Id of a token, as the list shows it", metavar="ID")],
    *,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """End an API token: at this Heddle at once, at all others of its store within seconds."""
    with front(server, user) as heddle:
        print_fields(heddle.ask(CALLS.revoke_token(token)), output)


def _readable(token: Mapping[str, Any]) -> dict[str, Any]:
    """A token with the end of its life as people write it."""
    until = datetime.fromtimestamp(token["good_until_ms"] / 1000, UTC)
    return {**token, "until": until.isoformat(timespec="seconds")}
