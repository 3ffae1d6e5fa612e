"""`heddle lab`: real YARN clusters on this machine."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from shim.errors import LabError
from shim.lab import (
    DEFAULT_VERSION,
    SUPPORTED_VERSIONS,
    BootStep,
    FrontAddresses,
    Lab,
    LabSpec,
    SchedulerKind,
    Tuning,
    default_folder,
)

__all__ = ["app"]

app = typer.Typer(help="Real YARN clusters on this machine: start, stop, and make them fail.", no_args_is_help=True)


class OutputFormat(StrEnum):
    """How a list is printed."""

    TABLE = "table"
    JSON = "json"


Folder = Annotated[
    Path | None, typer.Option("--dir", help="The lab's folder [default: ~/.local/state/heddle/lab]", show_default=False)
]
Daemon = Annotated[str, typer.Argument(help="Name of a daemon, such as east-rm or west-nm2 (see `heddle lab status`)")]

_FRONT = FrontAddresses()


@app.command()
def up(
    *,
    clusters: Annotated[int, typer.Option(help="How many clusters: east, west, north, south, ...")] = 2,
    nodes: Annotated[int, typer.Option(help="NodeManagers of each cluster")] = 2,
    scheduler: Annotated[SchedulerKind, typer.Option(help="Scheduler of each cluster")] = SchedulerKind.CAPACITY,
    hadoop: Annotated[
        str, typer.Option(help=f"VERSION, or CLUSTER=VERSION,...; of {', '.join(SUPPORTED_VERSIONS)}")
    ] = DEFAULT_VERSION,
    folder: Folder = None,
    base_port: Annotated[
        int | None, typer.Option(help="First port; each cluster uses the 100 from it on [default: a free block]")
    ] = None,
    standby: Annotated[bool, typer.Option("--ha", help="A standby ResourceManager for each cluster")] = False,
    tuning: Annotated[Tuning, typer.Option(help="Fast boot and little memory, or full speed when warm")] = Tuning.BOOT,
    rest: Annotated[str, typer.Option(help="Where Heddle will serve REST")] = _FRONT.rest,
    client_rpc: Annotated[str, typer.Option(help="Where Heddle will serve clients' RPC")] = _FRONT.client_rpc,
    scheduler_rpc: Annotated[str, typer.Option(help="Where Heddle will serve masters' RPC")] = _FRONT.scheduler_rpc,
) -> None:
    """Start clusters and wait until every node is usable."""
    lab = Lab(_folder(folder), front=FrontAddresses(rest, client_rpc, scheduler_rpc))
    with _errors_shown():
        spec = LabSpec.of(
            clusters=clusters,
            nodes=nodes,
            scheduler=scheduler,
            hadoop=hadoop,
            standby=standby,
            base_port=base_port,
            tuning=tuning,
        )
        with boot_progress() as watch:
            lab.up(spec, watch=watch)
        print_lab(lab)


@app.command()
def status(
    *,
    folder: Folder = None,
    output: Annotated[OutputFormat, typer.Option("--output", "-o", help="Format")] = OutputFormat.TABLE,
) -> None:
    """Show every daemon: its state, address and memory."""
    with _errors_shown():
        rows = Lab(_folder(folder)).status()
    if output is OutputFormat.JSON:
        fields = ("name", "cluster", "state", "pid", "web", "resident_mib")
        typer.echo(json.dumps([{f: getattr(row, f) for f in fields} | {"log": str(row.log)} for row in rows], indent=2))
        return
    table = Table("daemon", "state", "pid", "web", "MiB", "log")
    for row in rows:
        table.add_row(row.name, row.state, str(row.pid or "-"), row.web, str(row.resident_mib), str(row.log))
    Console().print(table)


@app.command()
def down(*, folder: Folder = None) -> None:
    """End every process of the lab, containers included. Logs stay."""
    with _errors_shown():
        ended = Lab(_folder(folder)).down()
    typer.echo(f"{ended} processes ended" if ended else "no lab was running")


@app.command()
def pause(daemon: Daemon, *, folder: Folder = None) -> None:
    """Freeze a daemon: it keeps its connections and answers nothing."""
    with _errors_shown():
        Lab(_folder(folder)).pause(daemon)


@app.command()
def resume(daemon: Daemon, *, folder: Folder = None) -> None:
    """Let a paused daemon go on."""
    with _errors_shown():
        Lab(_folder(folder)).resume(daemon)


@app.command()
def kill(daemon: Daemon, *, folder: Folder = None) -> None:
    """Kill a daemon, as a machine that loses power would."""
    with _errors_shown():
        Lab(_folder(folder)).kill(daemon)


@app.command()
def start(daemon: Daemon, *, folder: Folder = None) -> None:
    """Start a daemon again that was killed, with its old state."""
    with _errors_shown():
        Lab(_folder(folder)).start(daemon)


@app.command("make-active")
def make_active(daemon: Daemon, *, folder: Folder = None) -> None:
    """Make a standby ResourceManager the active one (a lab started with --ha)."""
    with _errors_shown():
        Lab(_folder(folder)).make_active(daemon)


def _folder(option: Path | None) -> Path:
    return option if option is not None else default_folder()


@contextmanager
def _errors_shown() -> Iterator[None]:
    """A lab's error is a message and exit code 1, not a stack trace."""
    try:
        yield
    except LabError as exc:
        typer.echo(f"heddle lab: {exc}", err=True)
        raise typer.Exit(1) from exc


class _BootDisplay:
    """Shows the steps of a boot: a bar on a terminal, plain lines elsewhere."""

    def __init__(self, console: Console, progress: Progress | None) -> None:
        self._console = console
        self._progress = progress
        self._task = progress.add_task("starting", total=None) if progress else None

    def __call__(self, step: BootStep) -> None:
        if self._progress is None or self._task is None:
            self._console.print(f"{step.elapsed_s:5.1f} s  {step.message}", highlight=False, soft_wrap=True)
            return
        self._progress.console.print(f"{step.elapsed_s:5.1f} s  {step.message}", highlight=False)
        self._progress.update(self._task, completed=step.ready, total=step.total, description="daemons ready")


@contextmanager
def boot_progress() -> Iterator[_BootDisplay]:
    """A watcher for `Lab.up` that shows on stderr how far it is."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _BootDisplay(console, None)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        yield _BootDisplay(console, progress)


def print_lab(lab: Lab) -> None:
    """Print where the clusters are and what to point at them."""
    table = Table("cluster", "Hadoop", "nodes", "web", "client RPC", "scheduler RPC", "conf")
    for id_, cluster in lab.clusters.items():
        nodes = str(cluster.record.spec.nodes)
        row = (id_, cluster.version, nodes, cluster.url, cluster.client_rpc, cluster.scheduler_rpc)
        table.add_row(*row, str(cluster.conf_dir))
    Console().print(table)
    typer.echo(f"Heddle in front of them:  heddle serve -c {lab.heddle_toml}")
    typer.echo(f"clients of Heddle:        HADOOP_CONF_DIR={lab.client_conf}")
