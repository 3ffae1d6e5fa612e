"""Plan files of Tez jobs in staging folders that the operator named.

Source: `TezCommonUtils` of Apache Tez: a client that submits one DAG leaves its plan at
``STAGING/.tez/APPLICATION/tez-dag.pb``, readable by its user and by whom the folder's mode lets in. A session has no
such file: its DAGs go to the ApplicationMaster.
"""

import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress

from adapters.tez.dag_plan import MAX_PLAN_BYTES, read_dag_plan
from adapters.tez.priorities import ask_priorities
from shim.domain.ids import ApplicationId
from shim.domain.job_graphs import JobGraph, StagesOfJob
from shim.errors import MalformedJobGraphError

__all__ = ["TezPlanFiles", "stages_of_plan"]

_USER = "{user}"
_PLAIN_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,255}")
_SYSTEM_FOLDER = ".tez"
_PLAN = "tez-dag.pb"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NO_LINK = os.O_NOFOLLOW | os.O_NONBLOCK


class TezPlanFiles:
    """Reads plans; implements `JobPlans`. It blocks as long as the file system does.

    The path is made of the configured folder, the user and the application's id alone, and below the folder no symbolic
    link is followed: who owns a staging folder cannot have another file read.

    Args:
        folders: Staging folders on file systems of this machine; `{user}` stands for the application's user.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = tuple(folders)

    @property
    def engine(self) -> str:
        """See `JobPlans`."""
        return "TEZ"

    def read(self, application: ApplicationId, user: str) -> StagesOfJob | None:
        """See `JobPlans`; of several folders the first that has the plan counts."""
        for folder in self._folders:
            if _USER in folder and not _PLAIN_USER.fullmatch(user):
                continue
            data = _plan_in(folder.replace(_USER, user), str(application))
            if data is not None:
                return stages_of_plan(read_dag_plan(data))
        return None


def stages_of_plan(graph: JobGraph) -> StagesOfJob:
    """Give a graph the priorities at which its vertices ask; those of attempts after a failed one are urgent."""
    priorities = ask_priorities(graph.distances)
    again = {priority - 1: vertex for vertex, priority in enumerate(priorities)}
    by_priority = {priority: vertex for vertex, priority in enumerate(priorities)} | again
    return StagesOfJob(graph, by_priority, frozenset(again), source="the job's plan file", reuses_containers=True)


def _plan_in(folder: str, application: str) -> bytes | None:
    """Read a plan.

    Returns:
        Its bytes, at most one more than a plan may have; None if there is none.

    Raises:
        MalformedJobGraphError: There is something that cannot be read, or is no file.
    """
    try:
        with suppress(FileNotFoundError):
            return _opened_in(folder, application)
    except OSError as error:
        raise MalformedJobGraphError(
            f"the plan file in {folder} cannot be read: {error.strerror or type(error).__name__}; let Heddle's user"
            " read the staging folder, or take it out of tez.staging"
        ) from error
    return None


def _opened_in(folder: str, application: str) -> bytes:
    places = [os.open(folder, _FOLDER)]
    try:
        for name in (_SYSTEM_FOLDER, application):
            places.append(os.open(name, _FOLDER | _NO_LINK, dir_fd=places[-1]))
        places.append(os.open(_PLAN, os.O_RDONLY | os.O_CLOEXEC | _NO_LINK, dir_fd=places[-1]))
        if not stat.S_ISREG(os.fstat(places[-1]).st_mode):
            raise MalformedJobGraphError(f"the plan file in {folder} is no plain file")
        with os.fdopen(os.dup(places[-1]), "rb") as file:
            return file.read(MAX_PLAN_BYTES + 1)
    finally:
        for place in places:
            os.close(place)
