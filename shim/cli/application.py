"""`heddle app`: applications of all sub-clusters as one list, and why each is where it is."""

from typing import Annotated, Any

import typer

from shim.cli.front import EXIT_CODES, ExitCode, Front, FrontError, Server, User, fail, front
from shim.cli.output import Output, OutputFormat, print_fields, print_rows, say
from shim.cli.settings import DEFAULT_SERVER, DryRun
from shim.domain import ApplicationId, MalformedIdError, YarnApplicationState

__all__ = ["app"]

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
    ("NEXT AT ms", "next_at_ms"),
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
    "id", "cluster", "name", "user", "queue", "applicationType", "applicationTags", "state", "finalStatus", "progress",
    "priority", "startedTime", "launchTime", "finishedTime", "runningContainers", "allocatedMB", "allocatedVCores",
    "trackingUrl", "amHostHttpAddress", "diagnostics",
)  # fmt: skip


@app.command("list", epilog=EXIT_CODES)
def list_(
    *,
    state: Annotated[list[str] | None, typer.Option(help="Only these states; may be repeated")] = None,
    of_user: Annotated[str, typer.Option("--of", help="Only applications of this user")] = "",
    queue: Annotated[str, typer.Option(help="Only this queue")] = "",
    cluster: Annotated[str, typer.Option(help="Only this sub-cluster")] = "",
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest")] = 100,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """List applications of all sub-clusters, newest first."""
    wanted = {"states": ",".join(state or ()), "user": of_user, "queue": queue, "home": cluster, "limit": str(limit)}
    with front(server, user) as heddle:
        rows = heddle.get("/heddle/v1/apps", **{name: value for name, value in wanted.items() if value})["apps"]
    print_rows(rows, _COLUMNS, output)


@app.command(epilog=EXIT_CODES)
def status(id_: Id, *, output: Output = OutputFormat.TABLE, server: Server = DEFAULT_SERVER, user: User = "") -> None:
    """Show one application."""
    with front(server, user) as heddle:
        found: dict[str, Any] = heddle.get(f"/heddle/v1/apps/{id_}")["app"]
    if output is OutputFormat.TABLE:
        found = {name: found[name] for name in _STATUS_FIELDS if name in found}
    print_fields(found, output)


@app.command(epilog=EXIT_CODES)
def kill(id_: Id, *, dry_run: DryRun = False, server: Server = DEFAULT_SERVER, user: User = "") -> None:
    """End an application."""
    with front(server, user) as heddle:
        found: dict[str, Any] = heddle.get(f"/heddle/v1/apps/{id_}")["app"]
        where = f"{id_} of {found.get('user')} on {found.get('cluster')}"
        if YarnApplicationState(found["state"]).is_final:
            fail(f"{where} has ended already: {found['state']}")
        if dry_run:
            say(f"would kill {where}, which is {found['state']}")
            return
        heddle.put(f"/ws/v1/cluster/apps/{id_}/state", {"state": "KILLED"})
        say(f"killing {where}")


@app.command(epilog=EXIT_CODES)
def logs(
    id_: Annotated[str, typer.Argument(help="application_<timestamp>_<number>, or container_...", metavar="ID")],
    *,
    file: Annotated[str, typer.Option(help="Only this file, such as stdout, stderr, syslog; all without it")] = "",
    tail: Annotated[int, typer.Option(min=1, max=1024 * 1024, help="So many bytes of the end of each file")] = 4096,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Print what containers of a running application have printed, on whichever cluster they run.

    For the application's user and for operators. What has ended is read by `yarn logs`, once it is aggregated.
    """
    with front(server, user) as heddle:
        if id_.startswith("container_"):
            _print_logs(heddle, id_, file, tail)
            return
        for container in _containers(heddle, _application_id(id_)):
            try:
                _print_logs(heddle, container, file, tail)
            except FrontError as exc:  # one that begins or ends this moment; the others have logs all the same
                if exc.code is not ExitCode.NOT_FOUND:
                    raise
                say(f"== {container}: {exc}")


def _print_logs(heddle: Front, container: str, file: str, tail: int) -> None:
    told = heddle.get(f"/heddle/v1/containers/{container}/logs")
    say(f"== {container} on {told['node']} of {told['cluster']}")
    for name in (each["file"] for each in told["files"] if file in ("", each["file"])):
        text = heddle.get(f"/heddle/v1/containers/{container}/logs/{name}", tail=str(tail))["text"]
        say(f"-- {name}")
        say(text)


def _containers(heddle: Front, application: str) -> list[str]:
    """Containers of an application's newest attempt."""
    path = f"/ws/v1/cluster/apps/{application}/appattempts"
    attempts = (heddle.get(path)["appAttempts"] or {}).get("appAttempt", [])
    newest = max((str(each["appAttemptId"]) for each in attempts), default="")
    if not newest:
        fail(f"{application} has no attempt yet: nothing has printed anything")
    listed: list[dict[str, Any]] = (heddle.get(f"{path}/{newest}/containers") or {}).get("container", [])
    if not listed:
        fail(f"{application} has no container that runs: `yarn logs -applicationId {application}` reads what ended")
    return [str(each["containerId"]) for each in listed]


@app.command(epilog=EXIT_CODES)
def why(id_: Id, *, output: Output = OutputFormat.TABLE, server: Server = DEFAULT_SERVER, user: User = "") -> None:
    """Tell why an application runs where it does, sub-cluster by sub-cluster, and what was asked back from it."""
    with front(server, user) as heddle:
        told = heddle.get(f"/heddle/v1/apps/{id_}/why")
    print_decision(told, output)


def print_decision(told: dict[str, Any], output: OutputFormat) -> None:
    """Print the choice of a home: the outcome first, then the candidates, and what their Local Masters said."""
    if output is not OutputFormat.TABLE:
        print_fields(told, output)
        return
    print_fields({name: value for name, value in told.items() if name not in _TABLES}, output)
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
