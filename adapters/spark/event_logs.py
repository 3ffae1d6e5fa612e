"""Edges between the stages of a Spark job, from the event log that its driver writes while it runs.

    FOLDER/APPLICATION[_ATTEMPT].inprogress                                    one file
    FOLDER/eventlog_v2_APPLICATION[_ATTEMPT]/events_NUMBER_APPLICATION[...]    several, where logs are rolled

Lines of JSON; only `SparkListenerJobStart` is decoded: ids, names, tasks and parents of the job's stages. Spark flushes
the line when a job begins. A log that is compressed (`spark.eventLog.compress`, the default of Spark 4) is not read,
which is said.

Source: `EventLoggingListener`, `EventLogFileWriters` and `JsonProtocol` of Spark 3.5 and 4.0.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from adapters.hdfs import Folder, OpenFolder
from adapters.spark.documents import decoded, spark_stages
from shim.domain.ids import ApplicationId
from shim.domain.job_graphs import StagesOfJob
from shim.errors import MalformedJobGraphError

MAX_LINE_BYTES = 4 * 1024 * 1024
_AT_ONCE = 8 * 1024 * 1024
"""Bytes of a log that are read at one look; the rest at the next."""
_ATTEMPTS_AHEAD = 4
"""Attempts after the one whose log is known that are looked for at first; one ahead once a log is read."""
_JOB_START = b'{"Event":"SparkListenerJobStart"'
_SOURCE = "the job's event log"
_MOST_FOLLOWED = 1024
_FIRST_LOOKS = 16
"""Looks in a row for a log that is not there yet; from then on one of so many is for it."""
_MOST_KEPT_BYTES = 64 * 1024 * 1024
"""Bytes of lines that were not written in full, of all logs together."""
_CODECS = ("zstd", "lz4", "lzf", "snappy")


class _StageInfo(msgspec.Struct):
    id: int = msgspec.field(name="Stage ID")
    name: str = msgspec.field(name="Stage Name")
    tasks: int = msgspec.field(name="Number of Tasks")
    parents: tuple[int, ...] = msgspec.field(name="Parent IDs")


class _JobStart(msgspec.Struct):
    job: int = msgspec.field(name="Job ID")
    stages: tuple[_StageInfo, ...] = msgspec.field(name="Stage Infos")


@dataclass(slots=True)
class _Followed:
    """A log as far as it was read.

    Attributes:
        path: Below its folder; empty as long as there is none.
        attempt: Of the application, whose log it is; 0 where its name tells none.
        offset: Bytes of it that were read.
        skips: Whether that line is too long, and not kept.
        latest: The job that began last.
    """

    path: tuple[str, ...] = ()
    attempt: int = 0
    offset: int = 0
    rest: bytearray = field(default_factory=bytearray)
    skips: bool = False
    latest: StagesOfJob | None = None
    looks: int = 0


class SparkEventLogs:
    """Follows event logs; implements `JobPlans`. It blocks as long as the file system does.

    Paths are made of the configured folder, the application's id and names of Spark's own alone.
    """

    def __init__(self, folders: Sequence[str], folder_at: Callable[[str], Folder]) -> None:
        self._folders = [(place, folder_at(place)) for place in folders]
        self._followed: OrderedDict[tuple[str, ApplicationId], _Followed] = OrderedDict()

    @property
    def engine(self) -> str:
        return "SPARK"

    def read(self, application: ApplicationId, user: str, known: StagesOfJob | None = None) -> StagesOfJob | None:  # noqa: ARG002 - logs of all users lie in one folder
        """See `JobPlans`; of several folders the first that has the log counts."""
        for place, folder in self._folders:
            log = self._log(place, application)
            try:
                _follow(folder, application, log)
                self._keep_less()
            except OSError as error:
                raise MalformedJobGraphError(
                    f"the event log in {place} cannot be read: {error.strerror or type(error).__name__}"
                ) from error
            if log.latest is not None:
                return known if known is not None and _is_at_least(known, log.latest) else log.latest
        return known

    @property
    def kept_bytes(self) -> int:
        """Bytes of lines that were not written in full."""
        return sum(len(each.rest) for each in self._followed.values())

    def _keep_less(self) -> None:
        """Pass over the lines that were begun by the logs that were read longest ago, if all are too much."""
        kept = self.kept_bytes
        for log in self._followed.values():
            if kept <= _MOST_KEPT_BYTES:
                return
            kept -= len(log.rest)
            log.skips = log.skips or bool(log.rest)
            log.rest.clear()

    def _log(self, place: str, application: ApplicationId) -> _Followed:
        log = self._followed.setdefault((place, application), _Followed())
        self._followed.move_to_end((place, application))
        while len(self._followed) > _MOST_FOLLOWED:
            self._followed.popitem(last=False)
        return log


def _is_at_least(known: StagesOfJob, latest: StagesOfJob) -> bool:
    return known.part > latest.part or (known.part == latest.part and known.source == latest.source)


def _follow(folder: Folder, application: ApplicationId, log: _Followed) -> None:
    log.looks += 1
    if not log.path and log.looks > _FIRST_LOOKS and log.looks % _FIRST_LOOKS:
        return
    with folder.opened() as opened:
        newest, attempt = _newest(opened, application, log)
        if newest not in (log.path, ()):
            log.path, log.attempt, log.offset, log.skips = newest, attempt, 0, False
            log.rest.clear()
        if log.path:
            _read_on(opened, log)


def _newest(folder: OpenFolder, application: ApplicationId, log: _Followed) -> tuple[tuple[str, ...], int]:
    """Path of the log that is written now, and the attempt that writes it; an empty path if there is none.

    Raises:
        MalformedJobGraphError: It is compressed.
    """
    latest = log.attempt + (1 if log.path else _ATTEMPTS_AHEAD)
    for attempt in range(latest, log.attempt - 1 if log.path else -1, -1):
        name = f"{application}_{attempt}" if attempt else str(application)
        if (log.path and len(log.path) == 1 and attempt == log.attempt) or _is_there(folder, f"{name}.inprogress"):
            return (f"{name}.inprogress",), attempt
        rolled = f"eventlog_v2_{name}"
        files = list(folder.names((rolled,)))
        number = max((_number(each, name) for each in files), default=0)
        if number:
            return (rolled, f"events_{number}_{name}"), attempt
        compressed = any(_number(each.rpartition(".")[0], name) for each in files if each.endswith(_CODECS))
        if compressed or any(_is_there(folder, f"{name}.{codec}.inprogress") for codec in _CODECS):
            raise MalformedJobGraphError("its event log is compressed: spark.eventLog.compress=false lets it be read")
    return (), 0


def _is_there(folder: OpenFolder, file: str) -> bool:
    return folder.read((file,), 0, 1) is not None


def _number(file: str, name: str) -> int:
    """Number of a rolled log; 0 if it is none, or compressed."""
    begin, end = "events_", f"_{name}"
    middle = file[len(begin) : -len(end)] if file.startswith(begin) and file.endswith(end) else ""
    return int(middle) if middle.isascii() and middle.isdigit() and len(middle) < len(str(_AT_ONCE)) else 0


def _read_on(folder: OpenFolder, log: _Followed) -> None:
    part = folder.read(log.path, log.offset, _AT_ONCE)
    if part is None:  # it has ended, and has another name
        return
    log.offset += len(part)
    *lines, rest = part.split(b"\n")
    for line in lines:
        whole = bytes(log.rest) + line
        skips, log.skips = log.skips, False
        log.rest.clear()
        if not skips and whole.startswith(_JOB_START):
            log.latest = job_of_line(whole)
    log.rest += rest
    if len(log.rest) > MAX_LINE_BYTES:
        log.skips = True
        log.rest.clear()


def job_of_line(line: bytes) -> StagesOfJob:
    """Read a `SparkListenerJobStart`.

    Raises:
        MalformedJobGraphError: It is none, or no graph.
    """
    if len(line) > MAX_LINE_BYTES:
        raise MalformedJobGraphError(f"a line of the event log has more than {MAX_LINE_BYTES} bytes")
    start = decoded(line, _JobStart)
    infos = sorted(start.stages, key=lambda each: each.id)
    ids = {each.id for each in infos}
    parents = {each.id: [id_ for id_ in each.parents if id_ in ids] for each in infos}
    return spark_stages(start.job, [(each.id, each.name, each.tasks) for each in infos], parents, 0, _SOURCE)
