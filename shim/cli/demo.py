"""`heddle demo`: two YARN clusters with Heddle in front, and real work through them, in one command."""

import getpass
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

import heddle
from heddle.client.calls import Call
from heddle.client.workflows import CALLS, MANAGER_CALLS
from shim.cli.front import EXIT_CODES, ExitCode, Front, FrontError, fail
from shim.cli.lab import Folder, boot_progress, fail_with_log
from shim.cli.output import OutputFormat, print_rows, say
from shim.cli.settings import DEFAULT_SERVER, DryRun
from shim.errors import LabError
from shim.lab import FrontAddresses, Lab, LabSpec, default_folder
from shim.lab.folders import SPANNING_QUEUE
from shim.lab.map_reduce import MapReduceWordCount, StockJob, readable
from shim.lab.processes import ProcessIdentity, state_of, tail, wait_until
from shim.lab.showcase import ApplicationRow, finish_stock_job, run_word_counts, submit_word_count
from shim.lab.word_count import WordCount, find_texts, share_out

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
_UP = "RUNNING"
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
        with closing(_Opening(lab)) as opening:
            if not lab.is_running():
                lab.down()
                with boot_progress() as watch:
                    lab.up(LabSpec.of(nodes=nodes), watch=watch, meanwhile=opening)
            heddle = opening.wait()
            with _row_display(began) as watch_rows:
                rows = opening.work.run(lab, heddle, opening.begun, watch_rows)
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


def _nearest(heddle: Front) -> str:
    """Where this machine's verbs look for Heddle, if the same one is there, too; else its own address."""
    port = urlsplit(heddle.server).port
    with closing(Front(f"http://127.0.0.1:{port}", getpass.getuser())) as near:
        try:
            is_same = near.ask(MANAGER_CALLS.info()) == heddle.ask(MANAGER_CALLS.info())
        except FrontError:
            is_same = False
        return near.server if is_same else heddle.server


class _Opening:
    """What need not wait for all clusters: Heddle starts beside them, and one that is up takes the first job.

    Args:
        lab: Running, or about to be started with this as its `meanwhile`.
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._heddle: Front | None = None
        self._process: ProcessIdentity | None = None
        self.work = _Work(lab.folder / "word-counts" / str(time.time_ns()))
        self.begun: list[ApplicationRow] = []

    def __call__(self, say_step: Callable[[str], None]) -> None:
        """Do what can be done now."""
        states = self._look()
        if states is None and self._process is None:
            say_step("starting Heddle")
            self._start()
        up = [id_ for id_, state in (states or {}).items() if state == _UP]
        if up and self._heddle is not None and not self.begun:
            try:
                self.begun.append(self.work.begin(self._lab, self._heddle))
            except FrontError as exc:  # its queues may not be known yet: the next look tries again
                if exc.code is not ExitCode.UNAVAILABLE:
                    raise
            else:
                say_step(f"{self.begun[0].name} is submitted: {' and '.join(up)} can take it")

    def wait(self) -> Front:
        """Heddle, as soon as it has a report of every cluster of the lab.

        Raises:
            LabError: If it ends or is not ready in time, or another program has its port.
        """
        if self._look() is None and self._process is None:
            self._start()
        if not wait_until(self._is_ready, timeout_s=_SERVE_TIMEOUT_S, poll_s=0.2) or self._heddle is None:
            raise LabError(f"Heddle is not ready after {_SERVE_TIMEOUT_S:.0f} s. Last lines of {self._end_of_log()}")
        return self._heddle

    def close(self) -> None:
        """Let go of connections; all that runs keeps running."""
        if self._heddle is not None:
            self._heddle.close()

    def _start(self) -> None:
        command = [sys.executable, heddle.__path__[0], "serve", "-c", str(self._lab.heddle_toml)]
        self._process = self._lab.attach(command, log=self._log)

    def _is_ready(self) -> bool:
        states = self._look()
        return states is not None and set(states.values()) == {_UP}

    def _look(self) -> dict[str, str] | None:
        """The state of each cluster of the lab; `None` if no Heddle answers.

        Raises:
            LabError: If the Heddle that was started has ended, or the one that answers knows other clusters.
        """
        if self._heddle is None:
            self._heddle = _front_of(self._lab)
        if self._process is not None and state_of(self._process) is None:
            raise LabError(f"Heddle ended. Last lines of {self._end_of_log()}")
        states = _states(self._heddle)
        if states is not None and states.keys() != self._lab.clusters.keys():
            server = self._heddle.server
            raise LabError(f"at {server} is another program, or a Heddle in front of other clusters: end it first")
        return states

    @property
    def _log(self) -> Path:
        return self._lab.folder / "heddle.log"

    def _end_of_log(self) -> str:
        return f"{self._log}:\n{tail(self._log, _LOG_LINES)}"


def _states(heddle: Front) -> dict[str, str] | None:
    """The state of each sub-cluster, "no nodes" where none is known yet; `None` if no Heddle answers.

    A home is no cluster without nodes: work that is begun before all have them would go to the first one alone.
    """
    try:
        rows = heddle.ask(CALLS.clusters())["clusters"]
        return {row["id"]: row["state"] if row["nodes"] else "no nodes" for row in rows}
    except FrontError:
        return None


class Patient:
    """A Heddle whose "not now" is waited out: clusters that have begun are slow at first to take what they are sent.

    Submissions repeat their own id, so that one that was taken is not taken twice.
    """

    def __init__(self, heddle: Front, *, most_s: float) -> None:
        self._heddle = heddle
        self._most_s = most_s

    def ask(self, call: Call[Any]) -> Any:
        """The document that a call is answered with; raises what Heddle says at the end of that time."""
        refusals: list[FrontError] = []
        answers: list[Any] = []

        def is_answered() -> bool:
            try:
                answers.append(self._heddle.ask(call))
            except FrontError as exc:
                if exc.code is not ExitCode.UNAVAILABLE:
                    raise
                refusals.append(exc)
            return bool(answers)

        if not wait_until(is_answered, timeout_s=self._most_s, poll_s=0.5):
            raise refusals[-1]
        return answers[0]


class _Work:
    """The words of the same texts, counted twice: by applications of our own over REST, and by stock MapReduce clients.

    Args:
        folder: Where it is done.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts = find_texts(_TEXTS)
        shares = enumerate(share_out(self._texts, _APPLICATIONS), start=1)
        self._jobs = [
            (WordCount(f"words-{number}", share, folder / str(number)), _QUEUES[number % len(_QUEUES)])
            for number, share in shares
        ]

    def begin(self, lab: Lab, heddle: Front) -> ApplicationRow:
        """Submit the first application."""
        return submit_word_count(heddle, *self._jobs[0], jars=_jars_of(lab))

    def run(
        self,
        lab: Lab,
        heddle: Front,
        begun: Sequence[ApplicationRow],
        watch: Callable[[Sequence[ApplicationRow]], None],
    ) -> list[ApplicationRow]:
        """Run all of it to its end, of which the first applications may have begun; what each counted is compared."""
        jars = _jars_of(lab)
        with _stock_jobs(lab, readable(self._texts), self._folder, jars) as stock:
            rows, total = run_word_counts(
                Patient(heddle, most_s=_SERVE_TIMEOUT_S),
                self._jobs,
                jars=jars,
                timeout_s=_WORK_TIMEOUT_S,
                watch=watch,
                begun=begun,
            )
            folders = {id_: cluster.folder for id_, cluster in lab.clusters.items()}
            for job in stock:
                row = finish_stock_job(heddle, job, SPANNING_QUEUE, folders=folders, timeout_s=_WORK_TIMEOUT_S)
                watch([*rows, row])
                rows.append(row)
        top = ", ".join(f"{word} {count}" for word, count in total.most_common(3))
        say(f"{total.total()} words in {len(self._texts)} texts, as counted here too; the most: {top}")
        return rows


def _jars_of(lab: Lab) -> Path:
    return next(cluster.jars for cluster in lab.clusters.values())


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
def _row_display(began: float) -> Iterator[Callable[[Sequence[ApplicationRow]], None]]:
    """Shows on stderr how applications come along: a table that changes on a terminal, a line a change elsewhere.

    Args:
        began: When all of it began, by the monotonic clock.
    """
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        told: dict[str, str] = {}

        def tell(rows: Sequence[ApplicationRow]) -> None:
            for row in rows:
                line = f"{row.id}  {row.name}  {row.state}  {row.cluster}".rstrip()
                if told.get(row.id) != line:
                    told[row.id] = line
                    console.print(f"{time.monotonic() - began:5.1f} s  {line}", soft_wrap=True)

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
    server = _nearest(heddle)
    say("")
    print_rows([{key: getattr(row, key) for _, key in _COLUMNS} for row in rows], _COLUMNS, OutputFormat.TABLE)
    clusters = ", ".join(id_ for id_ in lab.clusters if any(id_ in row.cluster for row in rows))
    say(f"\n{len(rows)} applications on {clusters}, {elapsed_s:.0f} s in all. All of it keeps running:")
    say(f"  Heddle     {server}/console/")
    for id_, cluster in lab.clusters.items():
        say(f"  {id_:<9}  {cluster.url}/cluster")
    say("Try next:")
    option = "" if server == DEFAULT_SERVER else f" --server {server}"
    where = "" if lab.folder == default_folder() else f" --dir {lab.folder}"
    heddle_command = sys.argv[0] if Path(sys.argv[0]).name == "heddle" else "heddle"
    say(f"  {heddle_command} app why {rows[-1].id}{option}")
    say(f"  curl {server}/ws/v1/cluster/apps?states=FINISHED")
    say(f"  {heddle_command} lab kill west-rm{where} && sleep 8 && {heddle_command} cluster list{option}")
    say("Jobs can lend what they need not hold yet and end no later: altruism = 1.0 in a [[queue]];")
    say("docs/operators/altruism.md says how.")
