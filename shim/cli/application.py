"""`heddle app`: applications of all sub-clusters as one list, and why each is where it is."""

import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from heddle.client.workflows import CALLS, MANAGER_CALLS
from shim.cli.application_logs import LogsWanted, print_logs
from shim.cli.completeness import marked_rows
from shim.cli.followed_logs import follow_logs
from shim.cli.front import EXIT_CODES, Front, Server, Strict, User, fail, front
from shim.cli.output import Output, OutputFormat, print_fields, print_rows, say
from shim.cli.settings import DEFAULT_SERVER, DryRun
from shim.domain import ApplicationId, MalformedIdError, YarnApplicationState
from shim.telemetry import escape

app = typer.Typer(help="Applications: list, status, kill, and why they run where they do.", no_args_is_help=True)


def _application_id(text: str) -> str:
    try:
        return str(ApplicationId.parse(text))
    except MalformedIdError as exc:
        raise typer.BadParameter(str(exc)) from exc


Id = Annotated[str, typer.Argument(help="application_<timestamp>_<number>", metavar="ID", parser=_application_id)]

_COLUMNS = (
    ("ID", "id"),
    ("USER", "user"),
    ("NAME", "name"),
    ("TYPE", "applicationType"),
    ("QUEUE", "queue"),
    ("STATE", "state"),
    ("FINAL", "finalStatus"),
    ("PROGRESS", "progress"),
    ("CLUSTER", "cluster"),
    ("WAITS", "waits"),
)
_CANDIDATE_COLUMNS = (("CLUSTER", "cluster"), ("SCORE", "score"), ("AGE s", "age_s"), ("REASON", "reason"))
_VERDICT_COLUMNS = (
    ("ASKED", "cluster"),
    ("VERDICT", "verdict"),
    ("SCORE", "score"),
    ("AGE s", "age_s"),
    ("REASON", "reason"),
)
_ASK_COLUMNS = (
    ("PRIORITY", "priority"),
    ("MiB", "memory_mib"),
    ("WANTED", "wanted"),
    ("BY", "by"),
    ("CLUSTER", "cluster"),
    ("ROOM", "room"),
    ("AGE s", "age_s"),
    ("ASKED", "asked"),
    ("PROMISED", "promised"),
    ("REPAIRS", "repairs"),
    ("REASON", "reason"),
)
_LAUNCH_COLUMNS = (
    ("PRIORITY", "priority"),
    ("PROPOSED TO", "cluster"),
    ("CONTAINERS", "proposed"),
    ("ACCEPTED", "accepted"),
    ("VERDICT", "verdict"),
    ("AGE s", "age_s"),
    ("REASON", "reason"),
)
_ACT_COLUMNS = (
    ("DONE", "done"),
    ("CONTAINER", "container"),
    ("CLUSTER", "cluster"),
    ("FOR", "for"),
    ("REASON", "reason"),
)
_PUT_OFF_COLUMNS = (
    ("STAGE", "stage"),
    ("PUTS OFF", "containers"),
    ("NEXT AT", "next_at_ms"),
    ("WAITS FOR", "waits_for"),
)
_STAGE_COLUMNS = (
    ("STAGE", "stage"),
    ("TASKS", "tasks"),
    ("MiB", "memory_mib"),
    ("WAITING", "waiting"),
    ("RUNNING", "running"),
    ("ENDED", "ended"),
    ("TASK s", "task_s"),
    ("WAITS FOR", "waits_for"),
    ("HOW SURE", "sure"),
)
_TABLES = ("candidates", "verdicts", "asks", "preemption", "altruism")
_STATUS_FIELDS = (
    "waits", "id", "cluster", "name", "user", "queue", "applicationType", "applicationTags", "state", "finalStatus",
    "progress", "priority", "startedTime", "launchTime", "finishedTime", "runningContainers", "allocatedMB",
    "allocatedVCores", "trackingUrl", "amHostHttpAddress", "diagnostics",
)  # fmt: skip


@app.command("list", epilog=EXIT_CODES)
def list_(
    *,
    state: Annotated[list[str] | None, typer.Option(help="Only these states; may be repeated")] = None,
    of_user: Annotated[str, typer.Option("--of", help="Only applications of this user")] = "",
    queue: Annotated[str, typer.Option(help="Only this queue")] = "",
    cluster: Annotated[str, typer.Option(help="Only this sub-cluster")] = "",
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest")] = 100,
    strict: Strict = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """List applications of all sub-clusters, newest first."""
    wanted: dict[str, str | int] = {"states": ",".join(state or ()), "user": of_user, "queue": queue, "limit": limit}
    filters = {name: value for name, value in wanted.items() if value}
    with front(server, user, strict=strict) as heddle:
        rows = heddle.ask(CALLS.applications(home=cluster or None, **filters))["apps"]
        print_rows(_for_people(heddle, rows) if output is OutputFormat.TABLE else rows, _COLUMNS, output)


def _for_people(heddle: Front, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows whose state says how old it is, where the cluster is missing."""
    return marked_rows(rows, heddle.missing, heddle.ages() if heddle.missing else {})


@app.command(epilog=EXIT_CODES)
def status(
    id_: Id,
    *,
    strict: Strict = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Show one application."""
    with front(server, user, strict=strict) as heddle:
        found: dict[str, Any] = heddle.ask(CALLS.application(id_))["app"]
        if output is OutputFormat.TABLE:
            (found,) = _for_people(heddle, [{name: found[name] for name in _STATUS_FIELDS if name in found}])
        print_fields(found, output)


@app.command(epilog=EXIT_CODES)
def kill(id_: Id, *, dry_run: DryRun = False, server: Server = DEFAULT_SERVER, user: User = "") -> None:
    """End an application."""
    with front(server, user) as heddle:
        found: dict[str, Any] = heddle.ask(CALLS.application(id_))["app"]
        where = escape(f"{id_} of {found.get('user')} on {found.get('cluster')}")
        if YarnApplicationState(found["state"]).is_final:
            fail(f"{where} has ended already: {found['state']}")
        if dry_run:
            say(f"would kill {where}, which is {found['state']}")
            return
        heddle.ask(MANAGER_CALLS.set_state(id_))
        say(f"killing {where}")


@app.command(epilog=EXIT_CODES)
def rehome(id_: Id, *, dry_run: DryRun = False, server: Server = DEFAULT_SERVER, user: User = "") -> None:
    """Move an application that waits for its ApplicationMaster to another cluster, under the same id.

    Its cluster ends it first, and has to say that nothing of it ever began. What has begun, and what carries tokens,
    stays: they end with it. For its user and for operators.
    """
    with front(server, user) as heddle:
        told = heddle.ask(CALLS.rehome(id_, dry_run=dry_run))
    where = escape(f"{id_} of {told['user']} from {told['was']} to {told['home']}")
    if dry_run:
        say(f"would move {where}: {escape(told['reason'])}")
    elif told["done"]:
        say(f"moved {where}: {escape(told['reason'])}")
    else:
        say(f"moving {where}, which goes on by itself: {escape(told['reason'])}")


@app.command(epilog=EXIT_CODES)
def logs(
    id_: Annotated[str, typer.Argument(help="application_<timestamp>_<number>, or container_...", metavar="ID")],
    *,
    file: Annotated[str, typer.Option(help="Only this file, such as stdout, stderr, syslog; all without it")] = "",
    tail: Annotated[int, typer.Option(min=1, max=1024 * 1024, help="So many bytes of the end of each file")] = 4096,
    grep: Annotated[
        str,
        typer.Option(
            help="Only lines that hold this text, in the last MiB of each file, or 16 MiB of an aggregated one"
        ),
    ] = "",
    follow: Annotated[
        bool, typer.Option("--follow", help="Print what is added, every 2 s, until the application has ended")
    ] = False,
    of: Annotated[str, typer.Option(help="The application's user, where Heddle does not know it any more")] = "",
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Print what containers of an application have printed, on whichever cluster they run or ran.

    While they run their nodes tell it, then what was aggregated (`aggregated_logs` of its cluster). For the
    application's user and for operators; what was aggregated also for those in its view ACL.
    """
    try:
        wanted = LogsWanted.parse(id_, file=file, tail=tail, of=of, grep=grep)
    except MalformedIdError as exc:
        raise typer.BadParameter(str(exc)) from exc
    with front(server, user) as heddle:
        if follow:
            follow_logs(heddle, wanted, time.sleep)
        else:
            print_logs(heddle, wanted)


@app.command(epilog=EXIT_CODES)
def why(
    id_: Id,
    *,
    strict: Strict = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Tell why an application runs where it does, sub-cluster by sub-cluster, and what was asked back from it."""
    with front(server, user, strict=strict) as heddle:
        print_decision(heddle.ask(CALLS.why(id_)), output)


def print_decision(told: dict[str, Any], output: OutputFormat) -> None:
    """Print the choice of a home: the outcome first, then the candidates, and what their Local Masters said."""
    if output is not OutputFormat.TABLE:
        print_fields(told, output)
        return
    for sentence in ("waits", "overtaken"):
        if told.get(sentence):
            say(escape(told[sentence]))
    fields = {name: value for name, value in told.items() if name not in (*_TABLES, "waits", "overtaken")}
    if told.get("deadline"):
        fields["deadline"] = told["deadline"]["text"]
    print_fields(fields, output)
    say("")
    print_rows(told["candidates"], _CANDIDATE_COLUMNS, output)
    if told.get("verdicts"):
        say("")
        print_rows(told["verdicts"], _VERDICT_COLUMNS, output)
    for columns, part in ((_ASK_COLUMNS, "candidates"), (_LAUNCH_COLUMNS, "verdicts")):
        rows = [{**ask, **each} for ask in told.get("asks", ()) for each in ask[part]]
        if rows:
            say("")
            print_rows(rows, columns, output)
    if told.get("preemption"):
        say("")
        print_rows(told["preemption"], _ACT_COLUMNS, output)
    if told.get("altruism"):
        say("")
        _print_altruism(told["altruism"], output)


def _print_altruism(told: dict[str, Any], output: OutputFormat) -> None:
    """Print what a job puts off, what it gave and got (seconds of the whole share of its queue), and its stages."""
    tables = {"puts_off": _PUT_OFF_COLUMNS, "stages": _STAGE_COLUMNS}
    print_fields({name: value for name, value in told.items() if name not in tables}, output)
    for name, columns in tables.items():
        if told.get(name):
            say("")
            rows = [{**row, "waits_for": ", ".join(row["waits_for"])} for row in told[name]]
            print_rows(rows, columns, output)
