"""`heddle cluster`: the sub-clusters, and whether they take new applications."""

import os
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from heddle.client.calls import Call
from heddle.client.workflows import CALLS
from heddle.cluster_lists import ClusterListChange
from heddle.models import Order
from shim.cli.front import (
    CHECKS_WITHIN_S,
    EXIT_CODES,
    ExitCode,
    Front,
    FrontError,
    Server,
    Strict,
    User,
    fail,
    fail_for_config,
    front,
)
from shim.cli.output import Output, OutputFormat, print_fields, print_rows, say
from shim.cli.reload import wait_until
from shim.cli.settings import DEFAULT_SERVER, DryRun
from shim.config.editing import alone, replace_file, value_of, with_cluster, with_cluster_changed, without_cluster
from shim.config.loader import parse
from shim.errors import ConfigError, HeddleError, NotFoundError, reason_of
from shim.telemetry import escape

_OF_LISTS = f"{EXIT_CODES} Of a file: 3 no such cluster or key."
_VERSIONS = (
    ("VERSION", "version"),
    ("APPLIED AT", "applied_at"),
    ("BY", "applied_by"),
    ("NOTE", "note"),
    ("CLUSTERS", "clusters"),
)

app = typer.Typer(
    help="The sub-clusters: list, add, change, remove; stop or let in new applications, declare one dead.",
    no_args_is_help=True,
    epilog=EXIT_CODES,
)

ClusterId = Annotated[str, typer.Argument(help="Id of a sub-cluster", metavar="CLUSTER")]

Message = Annotated[str, typer.Option("--message", "-m", help="Why, for who looks at the list later", metavar="TEXT")]

ConfigFile = Annotated[
    Path, typer.Option("--config", "-c", envvar="HEDDLE_CONFIG", help="Heddle's configuration", metavar="FILE")
]
Write = Annotated[bool, typer.Option("--write", help="Write it, instead of showing what would change")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="A key of its [\\[subcluster]], once for each: filesystems='[\"hdfs://ns1\"]'", metavar="K=V"
    ),
]
Changes = Annotated[
    bool, typer.Option("--changes", help="When each was lost, came back or was drained, the newest first, instead")
]
_DEFAULT_FILE = Path("heddle.toml")

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
_CHANGES = (("AT", "at_ms"), ("CLUSTER", "id"), ("WAS", "was"), ("IS", "state"), ("WHY", "reason"))
_LEFT_COLUMNS = (
    ("LEFT", "id"),
    ("USER", "user"),
    ("NAME", "name"),
    ("QUEUE", "queue"),
    ("STATE", "state"),
    ("HOME", "cluster"),
    ("CONTAINERS THERE", "containers"),
)
"""Containers are told of applications of other homes alone."""
_MOST_LEFT = 50
_LIVE = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"


@app.command("list", epilog=EXIT_CODES)
def list_(
    *,
    changes: Changes = False,
    strict: Strict = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """List the sub-clusters: state, age of the last heartbeat, running applications, and what is wrong."""
    with front(server, user, strict=strict) as heddle:
        rows = heddle.ask(CALLS.clusters())["clusters"]
        if changes:
            told = [{"id": row["id"], **change} for row in rows for change in row.get("changes", ())]
            print_rows(sorted(told, key=lambda each: -each["at_ms"]), _CHANGES, output)
            return
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
        _admit(heddle, cluster, CALLS.cordon, dry_run=dry_run, output=output, reason=message)


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
        _admit(
            heddle, cluster, CALLS.drain, dry_run=dry_run, output=output, reason=message, is_shown=not wait or dry_run
        )
        if wait and not dry_run:
            drained = wait_until_drained(lambda: _drainage(heddle, cluster), timeout_s=timeout_s)
            _print_left(heddle, drained, output)
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
        _admit(heddle, cluster, CALLS.undrain, dry_run=dry_run, output=output)


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
        plan: dict[str, Any] = heddle.ask(CALLS.retire(cluster, dry_run=True))
        if not (dry_run or yes):
            moved, lost = len(plan["to_move"]), len(plan["to_lose"])
            question = f"{cluster} is dead for good, and none of its containers runs? {moved} applications will go "
            question += f"elsewhere, {lost} will be FAILED"
            typer.confirm(question, abort=True, err=True)
        print_fields(plan if dry_run else heddle.ask(CALLS.retire(cluster)), output)


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
        print_fields(heddle.ask(CALLS.revive(cluster, dry_run=dry_run)), output)


def _why(row: Mapping[str, Any]) -> str:
    """Why a cluster is as it is: what an operator said, since when, and why the newest poll failed."""
    said = ""
    if row.get("said_by"):
        since = _minute(row["said_at_ms"])
        because = f": {row['said_why']}" if row.get("said_why") else ""
        said = f"{row['admission']} since {since} by {row['said_by']}{because}"
    return "; ".join(filter(None, (said, row.get("failure"))))


def _minute(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%MZ")


@app.command(epilog=_OF_LISTS)
def add(
    cluster: ClusterId,
    *,
    conf: Annotated[str, typer.Option("--conf", help="Folder with its yarn-site.xml", metavar="FOLDER")] = "",
    web: Annotated[str, typer.Option("--web", help="Its ResourceManager, without a folder", metavar="URL")] = "",
    settings: Set = None,
    message: Message = "",
    write: Write = False,
    config: ConfigFile = _DEFAULT_FILE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Have one more cluster, once everything about it is in order.

    Written into Heddle's configuration, where `heddle reload` makes it count; with clusters.managed = "store", or where
    no configuration is here, into the store by way of the Heddle at --server, and it counts at once.
    """
    keys = {name: value for name, value in (("conf", conf), ("web", web)) if value} | _pairs(settings)
    if _is_in_store(config):
        _change(server, user, partial(CALLS.add_cluster, cluster, keys, note=message), write=write)
    else:
        _edit(config, lambda text: with_cluster(text, cluster, keys), write=write)


@app.command(epilog=_OF_LISTS)
def edit(
    cluster: ClusterId,
    *,
    settings: Set = None,
    unset: Annotated[list[str] | None, typer.Option("--unset", help="A key that goes", metavar="K")] = None,
    message: Message = "",
    write: Write = False,
    config: ConfigFile = _DEFAULT_FILE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Change what is said of a cluster; comments stay. Where, and when it counts: see `add`."""
    pairs, gone = _pairs(settings), unset or ()
    if _is_in_store(config):
        call = partial(CALLS.edit_cluster, cluster, pairs, unset=gone, note=message)
        _change(server, user, call, write=write)
    else:
        _edit(config, lambda text: with_cluster_changed(text, cluster, pairs, gone), write=write)


@app.command(epilog=_OF_LISTS)
def remove(
    cluster: ClusterId,
    *,
    message: Message = "",
    write: Write = False,
    config: ConfigFile = _DEFAULT_FILE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Have a cluster no more, and `heddle cluster drain` it before. Where, and when it counts: see `add`.

    It is refused while applications are there: by `heddle reload`, or at once.
    """
    if _is_in_store(config):
        _change(server, user, partial(CALLS.remove_cluster, cluster, note=message), write=write)
    else:
        _edit(config, lambda text: without_cluster(text, cluster), write=write)


@app.command(name="apply", epilog=_OF_LISTS)
def apply_(
    file: Annotated[Path, typer.Argument(help="A file with [\\[subcluster]] tables; its others are left out")],
    *,
    message: Message = "",
    write: Write = False,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Put the clusters of a file into the store, in the place of those that are there, all of them or none."""
    try:
        text = alone(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as exc:
        fail(f"{file} cannot be read: {reason_of(exc)}", ExitCode.USAGE)
    except ConfigError as exc:
        fail_for_config(exc)
    note = message or f"the clusters of {file.name}"
    _change(server, user, partial(CALLS.apply_clusters, text, note=note), write=write)


@app.command(epilog=EXIT_CODES)
def history(*, output: Output = OutputFormat.TABLE, server: Server = DEFAULT_SERVER, user: User = "") -> None:
    """List every version of the clusters in the store, newest first, and say which one Heddle serves."""
    with front(server, user) as heddle:
        told = heddle.ask(CALLS.cluster_versions())
    if output is not OutputFormat.TABLE:
        print_fields(told, output)
        return
    rows = [
        {**row, "clusters": ", ".join(row["clusters"]), "applied_at": _minute(row["applied_at_ms"])}
        for row in told["versions"]
    ]
    print_rows(rows, _VERSIONS, output)
    if told["managed"] == "store":
        say(f"served: version {told['serves']}" + (f"; not the newest: {told['trouble']}" if told["trouble"] else ""))
    else:
        say('the configuration file has the clusters: clusters.managed = "file"')


@app.command(epilog=_OF_LISTS)
def rollback(
    version: Annotated[int, typer.Argument(help="As `heddle cluster history` tells it", metavar="VERSION", min=1)],
    *,
    message: Message = "",
    write: Write = False,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Have the clusters of an old version again, as a new one; those that go are drained before."""
    with front(server, user) as heddle:
        kept = {each["version"]: each["text"] for each in heddle.ask(CALLS.cluster_versions())["versions"]}
    if version not in kept:
        fail(f"there is no version {version}; the newest is {max(kept, default=0)}", ExitCode.NOT_FOUND)
    note = message or f"version {version} again"
    _change(server, user, partial(CALLS.apply_clusters, kept[version], note=note), write=write)


def _pairs(settings: Sequence[str] | None) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for each in settings or ():
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{each!r} is not KEY=VALUE", param_hint="--set")
        pairs[name.strip()] = value_of(value.strip())
    return pairs


def _is_in_store(file: Path) -> bool:
    """Whether the store has the clusters, by Heddle's configuration here; if none is here, a Heddle is asked."""
    if not file.exists():
        return file == _DEFAULT_FILE
    try:
        managed = tomllib.loads(file.read_text("utf-8")).get("clusters", {}).get("managed")
    except (OSError, ValueError, AttributeError):
        return False  # whoever edits it says what is wrong
    return bool(os.environ.get("HEDDLE_CLUSTERS_MANAGED", managed) == "store")


def _change(server: str, user: str, call: Callable[..., Call[ClusterListChange]], *, write: bool) -> None:
    """Have a Heddle change its clusters, or show how they would be changed, and wait until that counts."""
    with front(server, user, timeout_s=CHECKS_WITHIN_S) as heddle:
        told = heddle.ask(call(dry_run=not write))
        if write:
            wait_until(lambda: _serves(heddle, int(told["version"])))
    _print_difference(told["before"], told["text"], "clusters")
    done = f"version {told['version']} of the clusters is served; the other Heddles of its store follow"
    typer.echo(done if write else "nothing is written: add --write", err=True)


def _serves(heddle: Front, version: int) -> bool:
    """Whether Heddle serves a version of the clusters; it may have refused it after all."""
    told = heddle.ask(CALLS.cluster_versions())
    if told["trouble"]:
        raise FrontError(ExitCode.FAILED, f"version {version} is kept and not served: {told['trouble']}")
    # those of a file are checksums: none is the newer one
    return int(told["serves"]) == version or (told["managed"] == "store" and int(told["serves"]) > version)


def _print_difference(before: str, after: str, name: str) -> None:
    lines = (before.splitlines(keepends=True), after.splitlines(keepends=True))
    if difference := "".join(unified_diff(*lines, name, name)):
        say(difference.removesuffix("\n"))  # somebody else's words: nothing in them may drive the terminal


def _edit(file: Path, change: Callable[[str], str], *, write: bool) -> None:
    """Change a configuration file, or show how it would be changed; refused if Heddle could not serve by it."""
    from shim.app.reloading import checked  # noqa: PLC0415 - the other verbs shall not wait for it

    try:
        before = file.read_text("utf-8")
        after = change(before)
        checked(parse(after, source=str(file), environment=os.environ))
        if write:
            replace_file(file, after)
    except OSError as exc:
        fail(f"{file} cannot be read: {reason_of(exc)}", ExitCode.USAGE)
    except ConfigError as exc:
        fail_for_config(exc)
    except HeddleError as exc:
        fail(str(exc), ExitCode.NOT_FOUND if isinstance(exc, NotFoundError) else ExitCode.FAILED)
    _print_difference(before, after, str(file))
    told = f"{file} is written; `heddle reload` makes it count" if write else "nothing is written: add --write"
    typer.echo(told, err=True)


def _admit(
    heddle: Front,
    cluster: str,
    verb: Callable[..., Call[Order]],
    *,
    dry_run: bool,
    output: OutputFormat,
    reason: str = "",
    is_shown: bool = True,
) -> None:
    told: dict[str, Any] = heddle.ask(verb(cluster, reason=reason, dry_run=dry_run))
    if is_shown:
        _print_left(heddle, told, output)


def _print_left(heddle: Front, told: Mapping[str, Any], output: OutputFormat) -> None:
    """Print an order or a drain; for people with whose the applications are that are left, and what they are."""
    if output is not OutputFormat.TABLE:
        print_fields(told, output)
        return
    left, spanning = told["still_running"], told["spanning"]
    print_fields({**told, "still_running": len(left)}, output)
    if not left:
        return
    live = heddle.ask(CALLS.applications(states=_LIVE))["apps"]
    known = {row["id"]: row for row in live}
    rows = [{"id": id_, "containers": spanning.get(id_), **known.get(id_, {})} for id_ in left[:_MOST_LEFT]]
    say("")
    print_rows(rows, _LEFT_COLUMNS, output)
    if len(left) > _MOST_LEFT:
        say(f"and {len(left) - _MOST_LEFT} more")


def _drainage(heddle: Front, cluster: str) -> dict[str, Any]:
    told: dict[str, Any] = heddle.ask(CALLS.drainage(cluster))
    return told


# Waiting until a drained cluster is empty, with progress on the terminal's error stream.

_LOOK_EVERY_S = 1.0


def wait_until_drained(
    look: Callable[[], dict[str, Any]],
    *,
    timeout_s: float,
    sleep: Callable[[float], None] = time.sleep,
    now_s: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """Look until nothing runs on a cluster, and say on standard error what is left whenever that changes.

    Args:
        look: Asks for `clusters/ID/drainage`.
        timeout_s: Seconds to wait at most; 0 for ever.
        sleep: Waits so many seconds.
        now_s: A clock that only goes forward.

    Returns:
        The last answer; `is_drained` tells whether the cluster is empty.
    """
    console = Console(stderr=True, highlight=False)
    until_s = now_s() + timeout_s if timeout_s else float("inf")
    shown = ""
    while True:
        drainage = look()
        progress = drain_progress(drainage)
        if progress != shown:
            console.print(escape(progress), markup=False)
            shown = progress
        left_s = until_s - now_s()
        if not drainage["still_running"] or drainage["admission"] == "open" or left_s <= 0:
            return drainage
        sleep(min(_LOOK_EVERY_S, left_s))


def drain_progress(drainage: Mapping[str, Any]) -> str:
    """One line for people: what is left on a cluster."""
    spanning: Mapping[str, int] = drainage["spanning"]
    homed = len(drainage["still_running"]) - len(spanning)
    if drainage["admission"] == "open":
        return f"{drainage['id']} takes applications again: another operator has ended the drain"
    return (
        f"{drainage['id']}: {homed} applications with their ApplicationMaster there, {sum(spanning.values())} "
        f"containers of {len(spanning)} applications of other clusters"
    )
