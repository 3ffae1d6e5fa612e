"""`heddle top`: sub-clusters, queues, masters and running applications, at a glance and again and again."""

import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from heddle.client.workflows import CALLS
from shim.cli.front import EXIT_CODES, Front, FrontError, Server, User, front
from shim.cli.output import Column, Output, OutputFormat, console, print_fields, table_of
from shim.cli.settings import DEFAULT_SERVER
from shim.telemetry import escape

EPILOG = EXIT_CODES

_CLUSTERS: Sequence[Column] = (
    ("CLUSTER", "id"),
    ("STATE", "state"),
    ("AGE s", "age_s"),
    ("NODES", "nodes"),
    ("RUNNING", "running"),
    ("LINK", "link"),
    ("LOCAL MASTER", "local_master"),
)
_QUEUES: Sequence[Column] = (
    ("QUEUE", "queue"),
    ("OWNER", "owner"),
    ("USED", "used_share"),
    ("USED MiB", "used_mib"),
    ("PENDING MiB", "pending_mib"),
    ("APPS", "applications"),
)
_MASTERS: Sequence[Column] = (
    ("MASTER", "master"),
    ("ADDRESS", "address"),
    ("TERM", "fence"),
    ("LEASE s", "remaining_s"),
    ("QUEUES", "queues"),
)
_APPLICATIONS: Sequence[Column] = (
    ("APPLICATION", "id"),
    ("CLUSTER", "cluster"),
    ("USER", "user"),
    ("QUEUE", "queue"),
    ("STATE", "state"),
    ("PROGRESS", "progress"),
    ("CONTAINERS", "runningContainers"),
    ("MiB", "allocatedMB"),
)
_LIVE = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"
_SHOWN_FOR_EVERY_APPLICATION = [key for _, key in _APPLICATIONS]


def top(
    *,
    once: Annotated[bool, typer.Option("--once", help="Show it once, and end")] = False,
    every: Annotated[float, typer.Option("--every", min=0.2, help="Seconds from one look to the next")] = 2.0,
    limit: Annotated[int, typer.Option("--limit", min=0, help="How many live applications are shown")] = 20,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Show sub-clusters with their ages, queues and their owners, masters, and live applications; Ctrl-C ends it.

    JSON and YAML are shown once.
    """
    with front(server, user) as heddle:
        if output is not OutputFormat.TABLE:
            print_fields(_look(heddle, limit), output)
        elif once:
            console().print(_drawn(_look(heddle, limit)))
        else:
            _watch(heddle, limit, every)


def _watch(heddle: Front, limit: int, every_s: float) -> None:
    """Look again and again. A Heddle that goes away is told, and looked for until it is back."""
    shown: RenderableType = _drawn(_look(heddle, limit))
    try:
        with Live(shown, console=console(), screen=True, auto_refresh=False) as live:
            while True:
                live.update(shown, refresh=True)
                time.sleep(every_s)
                try:
                    shown = _drawn(_look(heddle, limit))
                except FrontError as exc:
                    shown = Group(Text(escape(str(exc)), style="bold red"), shown)
    except KeyboardInterrupt:
        return


def _look(heddle: Front, limit: int) -> dict[str, Any]:
    """All that is shown; programs get it whole."""
    masters = heddle.ask(CALLS.masters())
    links = {link["cluster"]: link for link in masters["links"]}
    owners = {queue["queue"]: queue["owner"] for queue in masters["queues"]}
    clusters = heddle.ask(CALLS.clusters())["clusters"]
    queues = heddle.ask(CALLS.queues())["queues"]
    applications = heddle.ask(CALLS.applications(states=_LIVE, limit=limit))["apps"] if limit else []
    return {
        "clusters": [_with_link(cluster, links.get(cluster["id"])) for cluster in clusters],
        "queues": [_with_share(queue) | {"owner": owners.get(queue["queue"], "")} for queue in queues],
        "masters": [_with_queues(master, owners) for master in masters["masters"]],
        "applications": [{key: app.get(key) for key in _SHOWN_FOR_EVERY_APPLICATION} for app in applications],
        "name": masters["name"],
        "verdicts": masters["verdicts"],
        "inconsistencies": masters["inconsistencies"],
        "repairs": masters["repairs"],
        "passed_on": masters["passed_on"],
        "asks": masters["asks"],
    }


def _with_link(cluster: Mapping[str, Any], link: Mapping[str, Any] | None) -> dict[str, Any]:
    """A sub-cluster, and how its Local Master is reached: it is inside where there is only one process."""
    if link is None:
        return {**cluster, "link": "inside", "local_master": ""}
    return {**cluster, "link": "up" if link["is_linked"] else link["trouble"], "local_master": link["address"]}


def _with_share(queue: Mapping[str, Any]) -> dict[str, Any]:
    capacity = queue["capacity_mib"]
    return {**queue, "used_share": f"{queue['used_mib'] / capacity:.0%}" if capacity else ""}


def _with_queues(master: Mapping[str, Any], owners: Mapping[str, str]) -> dict[str, Any]:
    return {**master, "queues": sum(f"gm/{owner}" == master["master"] for owner in owners.values())}


def _drawn(look: Mapping[str, Any]) -> RenderableType:
    """The tables, one below the other; masters only where there are several."""
    parts: list[RenderableType] = [table_of(look["clusters"], _CLUSTERS), "", table_of(look["queues"], _QUEUES), ""]
    if look["masters"]:
        verdicts = ", ".join(f"{count} {name}" for name, count in look["verdicts"].items())
        passed = ", ".join(f"{count} {name}" for name, count in look["passed_on"].items())
        told = f"{look['name']}: verdicts {verdicts}; {look['repairs']} repaired; passed on: {passed}"
        parts += [table_of(look["masters"], _MASTERS), Text(told), ""]
    asks = look["asks"]
    if any(asks["verdicts"].values()) or asks["fallbacks"]:
        parts += [Text(_told_of_asks(asks)), ""]
    return Group(*parts, table_of(look["applications"], _APPLICATIONS))


def _told_of_asks(asks: Mapping[str, Any]) -> str:
    """Counts of matched containers of spanning applications, in a line."""
    verdicts = ", ".join(f"{count} {name}" for name, count in asks["verdicts"].items())
    promised = ", ".join(f"{each['containers']} on {each['cluster']}" for each in asks["promised"])
    return (
        f"containers: verdicts {verdicts}; {asks['repairs']} repaired; {asks['fallbacks']} split by capacity; "
        f"promised: {promised}"
    )
