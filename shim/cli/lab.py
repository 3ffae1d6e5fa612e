"""`heddle lab`: real YARN clusters on this machine."""

import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from shim.cli.front import EXIT_CODES, ExitCode, fail
from shim.cli.output import Output, OutputFormat, print_rows, say
from shim.cli.settings import DryRun
from shim.errors import LabError, NotInLabError
from shim.lab import (
    DEFAULT_VERSION,
    SUPPORTED_VERSIONS,
    BootStep,
    FrontAddresses,
    HostKind,
    Lab,
    LabSpec,
    SchedulerKind,
    Tuning,
    default_folder,
)
from shim.lab.hdfs import ensure_servers
from shim.lab.jars import ensure_jars
from shim.lab.java_options import find_java
from shim.lab.presets import bring_about, mixed
from shim.lab.secured import administrator_keytab
from shim.lab.spec import LAB_REALM, PROTECTIONS
from shim.telemetry import escape

app = typer.Typer(
    help="Real YARN clusters on this machine: start, stop, and make them fail.", no_args_is_help=True, epilog=EXIT_CODES
)

Folder = Annotated[
    Path | None,
    typer.Option("--dir", help=r"The lab's folder \[default: ~/.local/state/heddle/lab]", show_default=False),
]
Daemon = Annotated[str, typer.Argument(help="Name of a daemon, such as east-rm or west-nm2 (see `heddle lab status`)")]

_FRONT = FrontAddresses()


class Preset(StrEnum):
    """Labs that are described whole."""

    MIXED = "mixed"


_DAEMON_COLUMNS = (
    ("DAEMON", "name"),
    ("STATE", "state"),
    ("PID", "pid"),
    ("WEB", "web"),
    ("MiB", "resident_mib"),
    ("LOG", "log"),
)
_CLUSTER_COLUMNS = (
    ("CLUSTER", "cluster"),
    ("HADOOP", "version"),
    ("NODES", "nodes"),
    ("WEB", "web"),
    ("CLIENT RPC", "client_rpc"),
    ("SCHEDULER RPC", "scheduler_rpc"),
    ("CONF", "conf"),
)


Realm = Annotated[
    str,
    typer.Option(help=rf"With --kerberos: REALM, or CLUSTER=REALM,... \[default: {LAB_REALM}]", show_default=False),
]
Protection = Annotated[
    str, typer.Option(help=f"With --kerberos: of calls, for all or CLUSTER=...,...; of {', '.join(PROTECTIONS)}")
]


@app.command()
def up(
    *,
    preset: Annotated[
        Preset | None, typer.Option(help="Clusters that differ, and nodes that are not well; goes before what follows")
    ] = None,
    clusters: Annotated[int, typer.Option(help="How many clusters: east, west, north, south, ...")] = 2,
    nodes: Annotated[int, typer.Option(help="NodeManagers of each cluster")] = 2,
    scheduler: Annotated[SchedulerKind, typer.Option(help="Scheduler of each cluster")] = SchedulerKind.CAPACITY,
    hadoop: Annotated[
        str, typer.Option(help=f"VERSION, or CLUSTER=VERSION,...; of {', '.join(SUPPORTED_VERSIONS)}")
    ] = DEFAULT_VERSION,
    folder: Folder = None,
    base_port: Annotated[
        int | None, typer.Option(help=r"First port; each cluster uses the 100 from it on \[default: a free block]")
    ] = None,
    standby: Annotated[bool, typer.Option("--ha", help="A standby ResourceManager for each cluster")] = False,
    kerberos: Annotated[
        bool, typer.Option("--kerberos", help="A KDC of the lab's own; daemons ask for tickets")
    ] = False,
    realm: Realm = LAB_REALM,
    protection: Protection = PROTECTIONS[0],
    hdfs: Annotated[
        bool, typer.Option("--hdfs", help="One HDFS for all clusters; with --kerberos it asks for tickets, too")
    ] = False,
    tuning: Annotated[Tuning, typer.Option(help="Fast boot and little memory, or full speed when warm")] = Tuning.BOOT,
    rest: Annotated[
        str, typer.Option(help="Where Heddle will serve REST; `:PORT` is at the lab's address")
    ] = _FRONT.rest,
    client_rpc: Annotated[str, typer.Option(help="Where Heddle will serve clients' RPC")] = _FRONT.client_rpc,
    scheduler_rpc: Annotated[str, typer.Option(help="Where Heddle will serve masters' RPC")] = _FRONT.scheduler_rpc,
    admin_rpc: Annotated[str, typer.Option(help="Where Heddle will serve operators' RPC")] = _FRONT.admin_rpc,
    proxy: Annotated[str, typer.Option(help="Where Heddle will serve pages of ApplicationMasters")] = _FRONT.proxy,
    hosts: Annotated[HostKind, typer.Option(help="Where daemons run: each on a host of its own, or all on one")] = (
        HostKind.AUTO
    ),
    dry_run: DryRun = False,
) -> None:
    """Start clusters and wait until every node is usable."""
    lab = Lab(_folder(folder), front=FrontAddresses(rest, client_rpc, scheduler_rpc, admin_rpc, proxy))
    with _errors_shown():
        spec = LabSpec.of(
            clusters=clusters,
            nodes=nodes,
            scheduler=scheduler,
            hadoop=hadoop,
            standby=standby,
            base_port=base_port,
            tuning=tuning,
            realm=realm if kerberos else "",
            protection=protection,
            hosts=hosts,
            hdfs=hdfs,
        )
        if preset is Preset.MIXED:
            spec = mixed(hosts=hosts, base_port=base_port)
        _start(lab, spec, preset, dry_run=dry_run)


def _start(lab: Lab, spec: LabSpec, preset: Preset | None, *, dry_run: bool) -> None:
    """Start its daemons, bring about what the preset wants, and print where everything is; or say what would start."""
    if dry_run:
        clusters_text = ", ".join(f"{c.id} ({c.version}, {c.nodes} nodes)" for c in spec.clusters)
        say(f"would start {spec.daemons} daemons in {lab.folder}: {clusters_text}")
        return
    with boot_progress() as watch:
        lab.up(spec, watch=watch)
        if preset is not None:
            bring_about(lab, lambda what: watch(BootStep(what, spec.daemons, spec.daemons, 0.0)))
    print_lab(lab)


@app.command()
def status(*, folder: Folder = None, output: Output = OutputFormat.TABLE) -> None:
    """Show every daemon: its state, address and memory."""
    with _errors_shown():
        rows = [
            {
                "name": row.name,
                "cluster": row.cluster,
                "state": row.state,
                "pid": row.pid,
                "web": row.web,
                "resident_mib": row.resident_mib,
                "log": str(row.log),
            }
            for row in Lab(_folder(folder)).status()
        ]
    print_rows(rows, _DAEMON_COLUMNS, output)


@app.command()
def where(*, folder: Folder = None) -> None:
    """Print where everything of a running lab is, as JSON for programs."""
    lab = Lab(_folder(folder))
    with _errors_shown():
        clusters = lab.clusters
        server = tomllib.loads(lab.heddle_toml.read_text(encoding="utf-8"))["server"]
        found = {
            "host": lab.host,
            "hasHosts": lab.has_hosts,
            "java": str(find_java()),
            "heddle": {name: server[name] for name in ("rest", "client_rpc", "scheduler_rpc", "admin_rpc", "proxy")},
            "heddleToml": str(lab.heddle_toml),
            "clientConf": str(lab.client_conf),
            "clusters": {
                id_: {
                    "version": cluster.version,
                    "nodes": cluster.record.spec.nodes,
                    "web": cluster.url,
                    "clientRpc": cluster.client_rpc,
                    "schedulerRpc": cluster.scheduler_rpc,
                    "conf": str(cluster.conf_dir),
                    "jars": str(cluster.jars),
                    "folder": str(cluster.folder),
                }
                for id_, cluster in clusters.items()
            },
        }
    say(json.dumps(found, indent=2))


@app.command()
def jars(
    version: Annotated[str, typer.Argument(help=f"One of {', '.join(SUPPORTED_VERSIONS)}")] = DEFAULT_VERSION,
    *,
    hdfs: Annotated[bool, typer.Option("--hdfs", help="Those that HDFS's servers need besides")] = False,
) -> None:
    """Fetch the jars of a version of Hadoop, if need be, and print their folder."""
    with _errors_shown():
        if hdfs:
            say(str(ensure_servers(lambda text: typer.echo(text, err=True))))
            return
        if version not in SUPPORTED_VERSIONS:
            raise LabError(f"Hadoop {version} is not supported: choose one of {', '.join(SUPPORTED_VERSIONS)}")
        say(str(ensure_jars(version, lambda text: typer.echo(text, err=True))))


@app.command()
def down(*, folder: Folder = None, dry_run: DryRun = False) -> None:
    """End every process of the lab, containers included. Logs stay."""
    lab = Lab(_folder(folder))
    if dry_run:
        say(f"would end every process of the lab in {lab.folder}")
        return
    with _errors_shown():
        ended = lab.down()
    say(f"{ended} processes ended" if ended else "no lab was running")


@app.command()
def pause(daemon: Daemon, *, folder: Folder = None, dry_run: DryRun = False) -> None:
    """Freeze a daemon: it keeps its connections and answers nothing."""
    _inflict("pause", daemon, folder, dry_run=dry_run)


@app.command()
def resume(daemon: Daemon, *, folder: Folder = None, dry_run: DryRun = False) -> None:
    """Let a paused daemon go on."""
    _inflict("resume", daemon, folder, dry_run=dry_run)


@app.command()
def kill(daemon: Daemon, *, folder: Folder = None, dry_run: DryRun = False) -> None:
    """Kill a daemon, as a machine that loses power would."""
    _inflict("kill", daemon, folder, dry_run=dry_run)


@app.command()
def start(daemon: Daemon, *, folder: Folder = None, dry_run: DryRun = False) -> None:
    """Start a daemon again that was killed, with its old state, and wait until it takes requests or has ended."""
    _inflict("start", daemon, folder, dry_run=dry_run)


@app.command("make-active")
def make_active(daemon: Daemon, *, folder: Folder = None, dry_run: DryRun = False) -> None:
    """Make a standby ResourceManager the active one (a lab started with --ha)."""
    _inflict("make active", daemon, folder, dry_run=dry_run)


def _start_again(lab: Lab, daemon: str) -> None:
    lab.start(daemon)
    lab.wait_started(daemon)


_VERBS = {
    "pause": Lab.pause,
    "resume": Lab.resume,
    "kill": Lab.kill,
    "start": _start_again,
    "make active": Lab.make_active,
}


def _inflict(verb: str, daemon: str, folder: Path | None, *, dry_run: bool) -> None:
    lab = Lab(_folder(folder))
    with _errors_shown():
        if dry_run:
            found = next((row for row in lab.status() if row.name == daemon), None)
            say(f"would {verb} {daemon}, which is {found.state}" if found else f"there is no {daemon}")
            return
        _VERBS[verb](lab, daemon)


def _folder(option: Path | None) -> Path:
    return option if option is not None else default_folder()


@contextmanager
def _errors_shown() -> Iterator[None]:
    """A lab's error is a message and an exit code, not a stack trace."""
    try:
        yield
    except LabError as exc:
        fail_with_log(exc)


def fail_with_log(error: LabError) -> NoReturn:
    """End the command with a message that may hold the last lines of a log."""
    *head, last = str(error).splitlines()
    for line in head:
        typer.secho(escape(line), fg=typer.colors.RED, err=True)
    fail(last, ExitCode.NOT_FOUND if isinstance(error, NotInLabError) else ExitCode.FAILED)


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
    rows = [
        {
            "cluster": id_,
            "version": cluster.version,
            "nodes": cluster.record.spec.nodes,
            "web": cluster.url,
            "client_rpc": cluster.client_rpc,
            "scheduler_rpc": cluster.scheduler_rpc,
            "conf": str(cluster.conf_dir),
        }
        for id_, cluster in lab.clusters.items()
    ]
    print_rows(rows, _CLUSTER_COLUMNS, OutputFormat.TABLE)
    say(f"Heddle in front of them:  heddle serve -c {lab.heddle_toml}")
    say(f"clients of Heddle:        HADOOP_CONF_DIR={lab.client_conf}")
    if lab.heddle_login is not None:
        kdc, who = lab.kdc, f"{lab.administrator}@{lab.kdc.realms[0]}"
        say(f"Kerberos, for all:        export KRB5_CONFIG={kdc.krb5_conf}")
        say(f"a ticket:                 kinit -k -t {administrator_keytab(kdc, kdc.realms[0])} {who}")
        say(f"Java, too:                export JAVA_TOOL_OPTIONS=-Djava.security.krb5.conf={kdc.krb5_conf}")
