"""`heddle queue`: the queues of all sub-clusters, side by side."""

from typing import Annotated

import typer

from shim.cli.front import EXIT_CODES, ExitCode, Server, User, fail, front
from shim.cli.output import Output, OutputFormat, print_rows
from shim.cli.settings import DEFAULT_SERVER

__all__ = ["app"]

app = typer.Typer(help="Queues over all sub-clusters: list, status.", no_args_is_help=True)

_TOTALS = (
    ("QUEUE", "queue"),
    ("CLUSTERS", "clusters"),
    ("CAPACITY MiB", "capacity_mib"),
    ("USED MiB", "used_mib"),
    ("PENDING MiB", "pending_mib"),
    ("CAPACITY vcores", "capacity_vcores"),
    ("USED vcores", "used_vcores"),
    ("APPS", "applications"),
)
_PARTS = (("CLUSTER", "cluster"), ("STATE", "state"), *_TOTALS[2:])


@app.command("list", epilog=EXIT_CODES)
def list_(*, output: Output = OutputFormat.TABLE, server: Server = DEFAULT_SERVER, user: User = "") -> None:
    """List leaf queues with their capacity and use over all sub-clusters."""
    with front(server, user) as heddle:
        rows = heddle.get("/heddle/v1/queues")["queues"]
    if output is OutputFormat.TABLE:
        rows = [{**row, "clusters": [part["cluster"] for part in row["parts"]]} for row in rows]
    print_rows(rows, _TOTALS, output)


@app.command(epilog=EXIT_CODES)
def status(
    queue: Annotated[str, typer.Argument(help="Full path, root.prod, or its last part", metavar="QUEUE")],
    *,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Show one queue on each sub-cluster."""
    with front(server, user) as heddle:
        rows = heddle.get("/heddle/v1/queues")["queues"]
    found = [row for row in rows if queue in {row["queue"], row["queue"].rpartition(".")[2]}]
    if not found:
        fail(f"no queue {queue}; there are {', '.join(row['queue'] for row in rows) or 'none'}", ExitCode.NOT_FOUND)
    print_rows([part for row in found for part in row["parts"]], _PARTS, output)
