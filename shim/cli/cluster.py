"""`heddle cluster`: the sub-clusters, and whether they take new applications."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from shim.cli.draining import wait_until_drained
from shim.cli.front import EXIT_CODES, ExitCode, Front, Server, Strict, User, front
from shim.cli.output import Output, OutputFormat, print_fields, print_rows
from shim.cli.settings import DEFAULT_SERVER, DryRun, dry_run_query

__all__ = ["app"]

app = typer.Typer(
    help="The sub-clusters: list, stop or let in new applications, declare one dead.",
    no_args_is_help=True,
    epilog=EXIT_CODES,
)

ClusterId = Annotated[str, typer.Argument(help="Id of a sub-cluster", metavar="CLUSTER")]

Message = Annotated[str, typer.Option("--message", "-m", help="Why, for who looks at the list later", metavar="TEXT")]

_COLUMNS = (
    ("CLUSTER", "id"),
    ("STATE", "state"),
    ("AGE s", "age_s"),
    ("RUNNING", "running"),
    ("NODES", "nodes"),
    ("VERSION", "version"),
    ("WEB", "web"),
)
_TROUBLE = (("WHY", "why"),)


@app.command("list", epilog=EXIT_CODES)
def list_(
    *,
    strict: Strict = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """List the sub-clusters: state, age of the last heartbeat, running applications, and what is wrong."""
    with front(server, user, strict=strict) as heddle:
        rows = heddle.get("/heddle/v1/clusters")["clusters"]
        if output is OutputFormat.TABLE:
            rows = [{**row, "why": _why(row)} for row in rows]
        has_trouble = any(row.get("why") for row in rows)
        print_rows(rows, (*_COLUMNS, *(_TROUBLE if has_trouble else ())), output)


@app.command(epilog=EXIT_CODES)
def cordon(
    cluster: ClusterId,
    *,
    message: Message = "",
    dry_run: DryRun = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Send no new applications to a sub-cluster. What runs there goes on."""
    with front(server, user) as heddle:
        _admit(heddle, cluster, "cordon", dry_run=dry_run, output=output, reason=message)


@app.command(epilog=EXIT_CODES)
def drain(
    cluster: ClusterId,
    *,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until nothing runs there any more")] = False,
    timeout_s: Annotated[
        float, typer.Option("--timeout", help="Seconds to wait at most; 0 for ever", min=0.0, metavar="S")
    ] = 0.0,
    message: Message = "",
    dry_run: DryRun = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Send no new applications to a sub-cluster, and show what still runs there.

    `still_running` counts applications whose home it is, and those of other homes that have containers there. With
    `--wait` the command ends when it is empty; with code 5 when the time is over first.
    """
    with front(server, user) as heddle:
        _admit(heddle, cluster, "drain", dry_run=dry_run, output=output, reason=message, is_shown=not wait or dry_run)
        if wait and not dry_run:
            drained = wait_until_drained(lambda: _drainage(heddle, cluster), timeout_s=timeout_s)
            print_fields(drained, output)
            if not drained["is_drained"]:
                raise typer.Exit(ExitCode.UNAVAILABLE)


@app.command(epilog=EXIT_CODES)
def undrain(
    cluster: ClusterId,
    *,
    dry_run: DryRun = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Let new applications in again, after cordon or drain."""
    with front(server, user) as heddle:
        _admit(heddle, cluster, "undrain", dry_run=dry_run, output=output)


@app.command(epilog=EXIT_CODES)
def retire(
    cluster: ClusterId,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask")] = False,
    dry_run: DryRun = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Declare a sub-cluster dead: it never comes back with what it had, and nothing of it runs any more.

    What was on its way there goes to other homes; what it had acknowledged is shown as FAILED. Heddle refuses while the
    ResourceManager's port is open, and cannot see more: that its nodes run nothing is for you to know.
    """
    with front(server, user) as heddle:
        path = f"/heddle/v1/clusters/{cluster}/retire"
        plan: dict[str, Any] = heddle.post(path, **dry_run_query(dry_run=True))
        if not (dry_run or yes):
            moved, lost = len(plan["to_move"]), len(plan["to_lose"])
            question = f"{cluster} is dead for good, and none of its containers runs? {moved} applications will go "
            question += f"elsewhere, {lost} will be FAILED"
            typer.confirm(question, abort=True, err=True)
        print_fields(plan if dry_run else heddle.post(path), output)


@app.command(epilog=EXIT_CODES)
def revive(
    cluster: ClusterId,
    *,
    dry_run: DryRun = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Let a retired sub-cluster in again, if nothing is left there of what was given up."""
    with front(server, user) as heddle:
        path = f"/heddle/v1/clusters/{cluster}/revive"
        print_fields(heddle.post(path, **dry_run_query(dry_run=dry_run)), output)


def _why(row: Mapping[str, Any]) -> str:
    """Why a cluster is as it is: what an operator said, since when, and why the newest poll failed."""
    said = ""
    if row.get("said_by"):
        since = datetime.fromtimestamp(row["said_at_ms"] / 1000, UTC).strftime("%Y-%m-%dT%H:%MZ")
        because = f": {row['said_why']}" if row.get("said_why") else ""
        said = f"{row['admission']} since {since} by {row['said_by']}{because}"
    return "; ".join(filter(None, (said, row.get("failure"))))


def _admit(
    heddle: Front,
    cluster: str,
    verb: str,
    *,
    dry_run: bool,
    output: OutputFormat,
    reason: str = "",
    is_shown: bool = True,
) -> None:
    query = dry_run_query(dry_run=dry_run) | ({"reason": reason} if reason else {})
    told: dict[str, Any] = heddle.post(f"/heddle/v1/clusters/{cluster}/{verb}", **query)
    if is_shown:
        print_fields(told, output)


def _drainage(heddle: Front, cluster: str) -> dict[str, Any]:
    told: dict[str, Any] = heddle.get(f"/heddle/v1/clusters/{cluster}/drainage")
    return told
