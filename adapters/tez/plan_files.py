"""Plans of Tez jobs in staging folders that the operator named.

    STAGING/.tez/APPLICATION/tez-dag.pb                                  the plan of a client that submits one DAG
    STAGING/.tez/APPLICATION/recovery/ATTEMPT/dag_CLUSTER_NUMBER_DAG.recovery   what each DAG of a session does

A session's DAGs go to its ApplicationMaster, which writes each down before it runs it, for its next attempt
(`tez.dag.recovery.enabled`, on by default): the plan is the first record of the file.

Source: `TezCommonUtils`, `RecoveryService` and `DAGSubmittedEvent` of Apache Tez.

The plan of a DAG in the recovery log that its ApplicationMaster writes: its first record.

    0.10: 03 00 00 00, length as a varint, DAGSubmittedProto        0.9: 00 00 00 03, the same

Source: `RecoveryService.handleRecoveryEvent`, `DAGSubmittedEvent` and `HistoryEvents.proto` of Apache Tez.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from google.protobuf.message import DecodeError

from adapters.hdfs import Folder, OpenFolder
from adapters.tez.dag_plan import MAX_PLAN_BYTES, ask_priorities, read_dag_plan
from shim.domain.ids import ApplicationId
from shim.domain.job_graphs import JobGraph, StagesOfJob
from shim.errors import MalformedJobGraphError
from shim.protocol.proto.messages import DAGSubmittedProto

_USER = "{user}"
_PLAIN_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,255}")
_SYSTEM_FOLDER = ".tez"
_PLAN = "tez-dag.pb"
_RECOVERY = "recovery"
_ATTEMPT = re.compile(r"[1-9]\d{0,3}")


class TezPlanFiles:
    """Reads plans; implements `JobPlans`. It blocks as long as the file system does.

    The path is made of the configured folder, the user, the application's id and names of Tez's own alone, and below
    the folder no link is followed: who owns a staging folder cannot have another file read.

    Args:
        folders: Staging folders; `{user}` stands for the application's user.
    """

    def __init__(self, folders: Sequence[str], folder_at: Callable[[str], Folder]) -> None:
        self._folders = tuple(folders)
        self._folder_at = folder_at

    @property
    def engine(self) -> str:
        return "TEZ"

    def read(self, application: ApplicationId, user: str, known: StagesOfJob | None = None) -> StagesOfJob | None:
        """See `JobPlans`; of several folders the first that has the plan counts."""
        for place in self._folders:
            if _USER in place and not _PLAIN_USER.fullmatch(user):
                continue
            found = self._read_in(place.replace(_USER, user), application, known)
            if found is not None:
                return found
        return None

    def _read_in(self, place: str, application: ApplicationId, known: StagesOfJob | None) -> StagesOfJob | None:
        below = (_SYSTEM_FOLDER, str(application))
        try:
            with self._folder_at(place).opened() as folder:
                data = None if known is not None else folder.read((*below, _PLAN), 0, MAX_PLAN_BYTES + 1)
                if data is not None:
                    return stages_of_plan(read_dag_plan(data))
                return _of_session(folder, (*below, _RECOVERY), application, known)
        except OSError as error:
            raise MalformedJobGraphError(
                f"the plan file in {place} cannot be read: {error.strerror or type(error).__name__}; let Heddle's user"
                " read the staging folder, or take it out of tez.staging"
            ) from error


def _of_session(
    folder: OpenFolder, recovery: Sequence[str], application: ApplicationId, known: StagesOfJob | None
) -> StagesOfJob | None:
    """The newest DAG of a session."""
    attempts = [name for name in folder.names(recovery) if _ATTEMPT.fullmatch(name)]
    files = dict(_dags(folder, recovery, attempts, application))
    newest = max(files, default=0)
    if not newest or (known is not None and known.part >= newest):
        return known
    head = folder.read(files[newest], 0, MAX_HEAD_BYTES)
    plan = plan_in_log(head or b"")
    return known if plan is None else stages_of_plan(read_dag_plan(plan), session_dag=newest)


def _dags(
    folder: OpenFolder, recovery: Sequence[str], attempts: Sequence[str], application: ApplicationId
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Give the number of each DAG and its file; of several attempts the last that wrote it."""
    for attempt in sorted(attempts, key=int):
        for name in folder.names((*recovery, attempt)):
            number = dag_of_file(name, application)
            if number is not None:
                yield number, (*recovery, attempt, name)


def stages_of_plan(graph: JobGraph, session_dag: int | None = None) -> StagesOfJob:
    """Give a graph the priorities at which its vertices ask; those of attempts after a failed one are urgent.

    Args:
        session_dag: Its number in its session; None for the one DAG of an application.
    """
    priorities = ask_priorities(graph.distances)
    again = {priority - 1: vertex for vertex, priority in enumerate(priorities)}
    by_priority = {priority: vertex for vertex, priority in enumerate(priorities)} | again
    source = "the job's plan file" if session_dag is None else "the session's recovery log"
    return StagesOfJob(
        graph,
        by_priority,
        frozenset(again),
        source=source,
        reuses_containers=True,
        part=session_dag or 1,
        has_parts=session_dag is not None,
    )


MAX_HEAD_BYTES = MAX_PLAN_BYTES + 64 * 1024
"""Bytes of a log that are read: the first record has little beside the plan."""
_SUBMITTED = frozenset({b"\x03\x00\x00\x00", b"\x00\x00\x00\x03"})
_KIND_BYTES = 4
_MOST_VARINT = 5
_FILE = re.compile(r"dag_(\d{1,19}_\d{1,10})_([1-9]\d{0,8})\.recovery")


def dag_of_file(name: str, application: ApplicationId) -> int | None:
    """Return the number of the DAG whose log has this name; None if it is no log of this application."""
    found = _FILE.fullmatch(name)
    return int(found[2]) if found is not None and str(application) == f"application_{found[1]}" else None


def plan_in_log(head: bytes) -> bytes | None:
    """Give the serialized `DAGPlan` in the first record of a log.

    Args:
        head: Its first bytes, `MAX_HEAD_BYTES` at most.

    Returns:
        The plan; None if the record is not written in full as yet.

    Raises:
        MalformedJobGraphError: It does not begin with a DAG, or that is too large.
    """
    if len(head) < _KIND_BYTES + _MOST_VARINT:
        return None
    if head[:_KIND_BYTES] not in _SUBMITTED:
        raise MalformedJobGraphError("the recovery log of the session does not begin with a DAG that was submitted")
    length, begin = _varint(head, _KIND_BYTES)
    if begin + length > MAX_HEAD_BYTES:
        raise MalformedJobGraphError(f"the DAG in the recovery log has {length} bytes; {MAX_PLAN_BYTES} are read")
    if len(head) < begin + length:
        return None
    try:
        submitted = DAGSubmittedProto.FromString(head[begin : begin + length])
    except DecodeError as error:
        raise MalformedJobGraphError(f"the recovery log of the session holds no DAG: {error}") from error
    return submitted.dag_plan


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number and the position behind it."""
    number = 0
    for shift, byte in enumerate(data[at : at + _MOST_VARINT]):
        number |= (byte & 0x7F) << (7 * shift)
        if not byte & 0x80:
            return number, at + shift + 1
    raise MalformedJobGraphError("the recovery log of the session has a record of no usable length")
