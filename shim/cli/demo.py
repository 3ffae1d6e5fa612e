"""`heddle demo`: two YARN clusters with Heddle in front, and real work through them, in one command."""

import getpass
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from shim.cli.front import EXIT_CODES, Front, FrontError, fail
from shim.cli.lab import Folder, boot_progress, fail_with_log
from shim.cli.output import OutputFormat, print_rows, say
from shim.cli.settings import DEFAULT_SERVER, DryRun
from shim.errors import LabError
from shim.lab import FrontAddresses, Lab, LabSpec, default_folder
from shim.lab.folders import SPANNING_QUEUE
from shim.lab.map_reduce import MapReduceWordCount, StockJob, readable
from shim.lab.processes import ProcessIdentity, state_of, tail, wait_until
from shim.lab.showcase import ApplicationRow, finish_stock_job, run_word_counts
from shim.lab.word_count import WordCount, find_texts, share_out

__all__ = ["app"]

app = typer.Typer(help="Try Heddle: two clusters, Heddle in front, real work through them.", no_args_is_help=True)

_FRONT = FrontAddresses()
_TEXTS = 15
_APPLICATIONS = 5
_QUEUES = ("default", "prod", "dev")
_STOCK_JOBS = 1
_STOCK_MAPS = 8
_SERVE_TIMEOUT_S = 60.0
_WORK_TIMEOUT_S = 240.0
_LOG_LINES = 15
_COLUMNS = (
    ("APPLICATION", "id"),
    ("NAME", "name"),
    ("QUEUE", "queue"),
    ("CLUSTER", "cluster"),
    ("STATE", "state"),
    ("CONTAINERS", "containers"),
    ("WORDS", "words"),
    ("WHY THERE", "reason"),
)


@app.command(epilog=EXIT_CODES)
def up(
    *,
    folder: Folder = None,
    nodes: Annotated[int, typer.Option(help="NodeManagers of each cluster")] = 2,
    rest: Annotated[str, typer.Option(help="Where Heddle serves REST; `:PORT` is at the lab's address")] = _FRONT.rest,
    client_rpc: Annotated[str, typer.Option(help="Where Heddle serves clients' RPC")] = _FRONT.client_rpc,
    scheduler_rpc: Annotated[str, typer.Option(help="Where Heddle serves masters' RPC")] = _FRONT.scheduler_rpc,
    admin_rpc: Annotated[str, typer.Option(help="Where Heddle serves operators' RPC")] = _FRONT.admin_rpc,
    proxy: Annotated[str, typer.Option(help="Where Heddle serves pages of ApplicationMasters")] = _FRONT.proxy,
    dry_run: DryRun = False,
) -> None:
    """Start what is not running yet, count words on both clusters, and leave all of it running."""
    front = FrontAddresses(rest, client_rpc, scheduler_rpc, admin_rpc, proxy)
    lab = Lab(folder if folder is not None else default_folder(), front=front)
    if dry_run:
        applications = _APPLICATIONS + _STOCK_JOBS
        say(f"would start two clusters in {lab.folder}, Heddle, and {applications} applications")
        return
    began = time.monotonic()
    try:
        if not lab.is_running():
            lab.down()
            with boot_progress() as watch:
                lab.up(LabSpec.of(nodes=nodes), watch=watch)
        with closing(_front_of(lab)) as heddle:
            _serve(lab, heddle)
            rows = _count_words(lab, heddle)
            _print_outcome(lab, heddle, rows, elapsed_s=time.monotonic() - began)
    except LabError as exc:
        fail_with_log(exc)
    except FrontError as exc:
        fail(str(exc), exc.code)


@app.command(epilog=EXIT_CODES)
def down(*, folder: Folder = None, dry_run: DryRun = False) -> None:
    """End the clusters, Heddle and all that they run. Logs stay."""
    lab = Lab(folder if folder is not None else default_folder())
    if dry_run:
        say(f"would end every process of the lab in {lab.folder}")
        return
    try:
        ended = lab.down()
    except LabError as exc:
        fail_with_log(exc)
    say(f"{ended} processes ended" if ended else "nothing was running")


def _front_of(lab: Lab) -> Front:
    """Return the addresses of Heddle in front of a lab, running or not."""
    server = tomllib.loads(lab.heddle_toml.read_text(encoding="utf-8"))["server"]
    return Front(f"http://{server['rest']}", getpass.getuser())


def _serve(lab: Lab, heddle: Front) -> None:
    """Start Heddle unless it runs, and wait until it has heard of every cluster of the lab.

    Raises:
        LabError: If it ends or is not ready in time, or another program has its port.
    """
    if _states(heddle) is None:
        log = lab.folder / "heddle.log"
        process = lab.attach([sys.executable, "-m", "shim", "serve", "-c", str(lab.heddle_toml)], log=log)
        if not wait_until(lambda: _is_ready(lab, heddle, process), timeout_s=_SERVE_TIMEOUT_S, poll_s=0.2):
            raise LabError(f"Heddle is not ready after {_SERVE_TIMEOUT_S:.0f} s. Last lines of {log}:\n{_end_of(log)}")
    if set(_states(heddle) or ()) != set(lab.clusters):
        raise LabError(f"at {heddle.server} is another program, or a Heddle in front of other clusters: end it first")


def _is_ready(lab: Lab, heddle: Front, process: ProcessIdentity) -> bool:
    if state_of(process) is None:
        log = lab.folder / "heddle.log"
        raise LabError(f"Heddle ended. Last lines of {log}:\n{_end_of(log)}")
    states = _states(heddle)
    return states is not None and set(states) == set(lab.clusters) and set(states.values()) == {"RUNNING"}


def _states(heddle: Front) -> dict[str, str] | None:
    """The state of each sub-cluster; `None` if no Heddle answers."""
    try:
        return {row["id"]: row["state"] for row in heddle.get("/heddle/v1/clusters")["clusters"]}
    except FrontError:
        return None


def _end_of(log: Path) -> str:
    return tail(log, _LOG_LINES)


def _count_words(lab: Lab, heddle: Front) -> list[ApplicationRow]:
    """Count the words of the same texts twice: by applications of our own over REST, and by stock MapReduce clients."""
    folder = lab.folder / "word-counts" / str(time.time_ns())
    texts = find_texts(_TEXTS)
    jobs = [
        (WordCount(f"words-{number}", share, folder / str(number)), _QUEUES[number % len(_QUEUES)])
        for number, share in enumerate(share_out(texts, _APPLICATIONS), start=1)
    ]
    jars = next(cluster.jars for cluster in lab.clusters.values())
    with _stock_jobs(lab, readable(texts), folder, jars) as stock:
        with _row_display() as watch:
            rows, total = run_word_counts(heddle, jobs, jars=jars, timeout_s=_WORK_TIMEOUT_S, watch=watch)
        folders = {id_: cluster.folder for id_, cluster in lab.clusters.items()}
        for job in stock:
            rows.append(finish_stock_job(heddle, job, SPANNING_QUEUE, folders=folders, timeout_s=_WORK_TIMEOUT_S))
    top = ", ".join(f"{word} {count}" for word, count in total.most_common(3))
    say(f"{total.total()} words in {len(texts)} texts, as counted here too; the most: {top}")
    return rows


@contextmanager
def _stock_jobs(lab: Lab, texts: Sequence[Path], folder: Path, jars: Path) -> Iterator[list[StockJob]]:
    """Jobs whose clients run meanwhile; a client that still runs at the end is ended."""
    jobs: list[StockJob] = []
    try:
        for number, share in enumerate(share_out(texts, _STOCK_JOBS), start=1):
            job = MapReduceWordCount(f"mapreduce-{number}", share[:_STOCK_MAPS], folder / f"mapreduce-{number}")
            job.prepare()
            jobs.append(StockJob(job, job.command(conf=lab.client_conf, jars=jars, queue=SPANNING_QUEUE)))
        yield jobs
    finally:
        for running in jobs:
            running.end()


@contextmanager
def _row_display() -> Iterator[Callable[[Sequence[ApplicationRow]], None]]:
    """Shows on stderr how applications come along: a table that changes on a terminal, a line a change elsewhere."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        told: dict[str, str] = {}

        def tell(rows: Sequence[ApplicationRow]) -> None:
            for row in rows:
                line = f"{row.id}  {row.name}  {row.state}  {row.cluster}".rstrip()
                if told.get(row.id) != line:
                    told[row.id] = line
                    console.print(line, soft_wrap=True)

        yield tell
        return
    with Live(console=console, transient=True) as live:
        yield lambda rows: live.update(_progress_table(rows))


def _progress_table(rows: Sequence[ApplicationRow]) -> Table:
    table = Table("application", "name", "queue", "cluster", "state", box=None, pad_edge=False)
    for row in rows:
        table.add_row(row.id, row.name, row.queue, row.cluster or "-", row.state)
    return table


def _print_outcome(lab: Lab, heddle: Front, rows: Sequence[ApplicationRow], *, elapsed_s: float) -> None:
    say("")
    print_rows([{key: getattr(row, key) for _, key in _COLUMNS} for row in rows], _COLUMNS, OutputFormat.TABLE)
    clusters = ", ".join(id_ for id_ in lab.clusters if any(id_ in row.cluster for row in rows))
    say(f"\n{len(rows)} applications on {clusters}, {elapsed_s:.0f} s in all. All of it keeps running:")
    say(f"  Heddle     {heddle.server}/console/")
    for id_, cluster in lab.clusters.items():
        say(f"  {id_:<9}  {cluster.url}/cluster")
    say("Try next:")
    option = "" if heddle.server == DEFAULT_SERVER else f" --server {heddle.server}"
    where = "" if lab.folder == default_folder() else f" --dir {lab.folder}"
    heddle_command = sys.argv[0] if Path(sys.argv[0]).name == "heddle" else "heddle"
    say(f"  {heddle_command} app why {rows[-1].id}{option}")
    say(f"  curl {heddle.server}/ws/v1/cluster/apps?states=FINISHED")
    say(f"  {heddle_command} lab kill west-rm{where} && sleep 8 && {heddle_command} cluster list{option}")
    say("Jobs can lend what they need not hold yet and end no later: altruism = 1.0 in a [[queue]], docs/altruism.md")
