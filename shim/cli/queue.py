"""`heddle queue`: the queues of all sub-clusters, side by side, and how they share the federation."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from heddle.client.workflows import CALLS
from shim.cli.front import EXIT_CODES, ExitCode, Front, Server, Strict, User, fail, front
from shim.cli.output import Output, OutputFormat, print_fields, print_rows
from shim.cli.policy import text_of_policy
from shim.cli.settings import DEFAULT_SERVER

app = typer.Typer(help="Queues over all sub-clusters: list, status, whatif.", no_args_is_help=True)

_AMOUNTS = (
    ("CAPACITY MiB", "capacity_mib"),
    ("USED MiB", "used_mib"),
    ("PENDING MiB", "pending_mib"),
    ("CAPACITY vcores", "capacity_vcores"),
    ("USED vcores", "used_vcores"),
    ("APPS", "applications"),
)
_WAITING = (("WAITING", "waiting"),)
_SHARES = (
    ("SHARE", "share"),
    ("ENTITLED", "entitlement"),
    ("USED", "used"),
    ("BORROWED", "borrowed"),
    ("LENT", "lent"),
    *_WAITING,
    ("PREEMPTED", "preempted"),
)
_ALTRUISM = (("GAVE s", "given_s"), ("RECEIVED s", "received_s"))
_PARTS = (("CLUSTER", "cluster"), ("STATE", "state"), *_AMOUNTS)
_WHAT_IF = (
    ("QUEUE", "queue"),
    ("SHARE NOW", "share_now"),
    ("SHARE THEN", "share_then"),
    ("ENTITLED NOW", "entitlement_now"),
    ("ENTITLED THEN", "entitlement_then"),
    ("USED", "used_now"),
    ("BORROWED THEN", "borrowed_then"),
)
_PERCENT = frozenset({"share", "entitlement", "used", "held", "wanted", "borrowed", "lent"})


@app.command("list", epilog=EXIT_CODES)
def list_(
    *,
    strict: Strict = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """List leaf queues with their capacity and use over all sub-clusters, and their shares if they have some."""
    with front(server, user, strict=strict) as heddle:
        rows = _rows(heddle)
        has_shares = any("share" in row for row in rows)
        if output is OutputFormat.TABLE:
            rows = [{**_in_percent(row), "clusters": [part["cluster"] for part in row["parts"]]} for row in rows]
        altruism = _ALTRUISM if any("given_s" in row for row in rows) else ()
        waiting = _WAITING if any(row.get("waiting") for row in rows) else ()
        shares = _SHARES if has_shares else waiting
        columns = (("QUEUE", "queue"), ("CLUSTERS", "clusters"), *shares, *altruism, *_AMOUNTS)
        print_rows(rows, columns, output)


@app.command(epilog=EXIT_CODES)
def status(
    queue: Annotated[str, typer.Argument(help="Full path, root.prod, or its last part", metavar="QUEUE")],
    *,
    strict: Strict = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Show one queue: its share, why what waits in it does, and what it has on each sub-cluster."""
    with front(server, user, strict=strict) as heddle:
        rows = _rows(heddle)
        found = [row for row in rows if queue in {row["queue"], row["queue"].rpartition(".")[2]}]
        if not found:
            fail(f"no queue {queue}; there are {', '.join(row['queue'] for row in rows) or 'none'}", ExitCode.NOT_FOUND)
        if output is not OutputFormat.TABLE:
            print_rows(found, (), output)
            return
        for row in found:
            if "share" in row:
                hidden = {"parts", "clusters", *(key for _, key in _AMOUNTS)}
                print_fields({key: value for key, value in _in_percent(row).items() if key not in hidden}, output)
            print_rows(row["parts"], _PARTS, output)


@app.command(epilog=EXIT_CODES)
def whatif(
    file: Annotated[Path, typer.Argument(help="A policy file", metavar="FILE")],
    *,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Show what each queue would be entitled to with another policy, by what runs and waits now.

    `heddle whatif` replays applications of the past instead, and tells how long they would have waited and taken.
    """
    with front(server, user) as heddle:
        rows = heddle.ask(CALLS.what_if(text_of_policy(file), source=file.name))["queues"]
    print_rows([_in_percent(row) for row in rows] if output is OutputFormat.TABLE else rows, _WHAT_IF, output)


def _rows(heddle: Front) -> list[dict[str, Any]]:
    """Leaf queues with their shares; then queues of the policy that are no leaf of that name anywhere."""
    shares = {row["queue"]: row for row in heddle.ask(CALLS.shares())["queues"]}
    rows = [{**shares.pop(row["queue"], {}), **row} for row in heddle.ask(CALLS.queues())["queues"]]
    return [*rows, *(_by_other_names(row) for row in shares.values())]


def _by_other_names(row: Mapping[str, Any]) -> dict[str, Any]:
    """A queue of the policy that sub-clusters call otherwise, or that has leaves below it: what it holds there."""
    parts = row["clusters"]
    used = {key: sum(part[key] for part in parts) for key in ("used_mib", "used_vcores")}
    return {**row, **used, "applications": row["running"], "parts": parts}


def _in_percent(row: Mapping[str, Any]) -> dict[str, Any]:
    """Shares for people."""

    def shown(key: str, value: Any) -> Any:
        is_share = key.partition("_")[0] in _PERCENT and isinstance(value, float)
        return f"{value:.1%}" if is_share else value

    return {key: shown(key, value) for key, value in row.items()}
