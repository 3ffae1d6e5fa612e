"""Counts of a Tez job's tasks from its ApplicationMaster's web service, by the home ResourceManager's own web proxy.

Heddle opens no address that an application names: the ResourceManager's proxy does, as for users' browsers.

Source: `AMWebController.getVerticesInfo` of Apache Tez 0.10.5 (`tez.am.tez-ui.webservice.enable`): one object for each
vertex of the DAG that runs, with its id (`vertex_1700000000000_0001_1_02`) and counts as texts.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.job_graphs import TaskCounts
from shim.errors import MalformedJobGraphError, ResourceManagerError
from shim.ports.resource_manager import ResourceManager, RestRequest

__all__ = ["MAX_COUNTS_BYTES", "TezVertexCounts", "read_vertex_counts"]

MAX_COUNTS_BYTES = 512 * 1024
_LIMIT_S = 2.0
_OK = 200
_FIRST_DAG = "1"
_MOST = 2**31 - 1
_MOST_RUNNING = 20_000
_ID = re.compile(r"vertex_\d{1,19}_\d{1,10}_(\d{1,9})_(\d{1,9})")
_NUMBER = re.compile(r"-?\d{1,10}")


class TezVertexCounts:
    """Asks ApplicationMasters of Tez; implements `JobCounts`.

    Args:
        managers: Web services of each sub-cluster.
    """

    def __init__(self, managers: Mapping[SubClusterId, ResourceManager]) -> None:
        self._managers = managers

    @property
    def engine(self) -> str:
        """See `JobCounts`."""
        return "TEZ"

    async def counts(
        self, application: ApplicationId, home: SubClusterId, user: str, n_stages: int
    ) -> tuple[TaskCounts, ...]:
        """See `JobCounts`: of the one DAG of an application that left a plan."""
        request = RestRequest(
            "GET",
            f"/proxy/{application}/ws/v2/tez/verticesInfo",
            (("dagID", _FIRST_DAG),),
            user,
            (("Accept", "application/json"),),
            is_page=True,
        )
        try:
            answer = await self._managers[home].forward(request, timeout_s=_LIMIT_S)
        except ResourceManagerError as error:
            raise MalformedJobGraphError(f"the ApplicationMaster's web service does not answer: {error}") from error
        if answer.status != _OK:
            raise MalformedJobGraphError(f"the ApplicationMaster's web service answers {answer.status}")
        return read_vertex_counts(answer.body, n_stages)


def read_vertex_counts(body: bytes, n_vertices: int) -> tuple[TaskCounts, ...]:
    """Read a `verticesInfo` document, which is the application's own word.

    Args:
        body: As it came.
        n_vertices: Of the DAG's plan.

    Raises:
        MalformedJobGraphError: It is too large, no such document, or not of exactly these vertices.
    """
    if len(body) > MAX_COUNTS_BYTES:
        raise MalformedJobGraphError(f"counts of vertices have {len(body)} bytes; at most {MAX_COUNTS_BYTES} are read")
    try:
        told = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedJobGraphError("counts of vertices are no JSON") from error
    rows = told.get("vertices") if isinstance(told, dict) else None
    if not isinstance(rows, list) or len(rows) != n_vertices:
        raise MalformedJobGraphError(f"counts are not of the {n_vertices} vertices of the plan")
    found = dict(map(_row, rows))
    if found.keys() != set(range(n_vertices)):
        raise MalformedJobGraphError(f"counts are not of the {n_vertices} vertices of the plan")
    if sum(each.running for each in found.values()) > _MOST_RUNNING:
        raise MalformedJobGraphError(
            f"counts tell of more than {_MOST_RUNNING} tasks at once: so many are not followed"
        )
    return tuple(found[vertex] for vertex in range(n_vertices))


def _row(row: Any) -> tuple[int, TaskCounts]:
    if not isinstance(row, dict):
        raise MalformedJobGraphError("counts of vertices hold what is no object")
    named = _ID.fullmatch(str(row.get("id", ""))[:100])
    if named is None or named[1] != _FIRST_DAG:
        raise MalformedJobGraphError("counts of vertices are of no vertex of the first DAG")
    total, running, succeeded = (_number(row, name) for name in ("totalTasks", "runningTasks", "succeededTasks"))
    if running < 0 or succeeded < 0:
        raise MalformedJobGraphError("counts of vertices are below zero")
    return int(named[2]), TaskCounts(total if total >= 0 else None, running, succeeded)


def _number(row: Mapping[str, Any], name: str) -> int:
    text = str(row.get(name, ""))[:20]
    if not _NUMBER.fullmatch(text) or int(text) > _MOST:
        raise MalformedJobGraphError(f"counts of vertices have no usable {name}")
    return int(text)
