"""Counts of a Tez job's tasks from its ApplicationMaster's web service, fetched as its pages are.

Who asks the ApplicationMaster, Heddle or the web proxy of its ResourceManager: `adapters.yarn.master_pages`.

Source: `AMWebController.getVerticesInfo` of Apache Tez 0.10.5 (`tez.am.tez-ui.webservice.enable`): one object for each
vertex of the DAG that runs, with its id (`vertex_1700000000000_0001_1_02`) and counts as texts.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.job_graphs import CountedStages, StagesOfJob, TaskCounts
from shim.errors import MalformedJobGraphError, ResourceManagerError
from shim.ports.resource_manager import ResourceManager, RestRequest

MAX_COUNTS_BYTES = 512 * 1024
_LIMIT_S = 5.0
"""An ApplicationMaster loads its web service at the first question, on the machine that runs its tasks."""
_OK, _NOT_FOUND = 200, 404
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
        return "TEZ"

    @property
    def needs_plan(self) -> bool:
        return True

    async def counts(
        self, application: ApplicationId, home: SubClusterId, user: str, known: StagesOfJob | None
    ) -> CountedStages | str:
        """See `JobCounts`; an ApplicationMaster tells only of the DAG that it ran last."""
        if known is None:
            raise MalformedJobGraphError("the DAG of this job is not known")
        request = RestRequest(
            "GET",
            f"/proxy/{application}/ws/v2/tez/verticesInfo",
            (("dagID", str(known.part)),),
            user,
            (("Accept", "application/json"),),
            is_page=True,
        )
        try:
            answer = await self._managers[home].forward(request, timeout_s=_LIMIT_S)
        except ResourceManagerError as error:
            raise MalformedJobGraphError(f"the ApplicationMaster's web service does not answer: {error}") from error
        if answer.status == _NOT_FOUND and known.has_parts:
            return "another DAG of its session runs"
        if answer.status != _OK:
            raise MalformedJobGraphError(f"the ApplicationMaster's web service answers {answer.status}")
        return CountedStages(known, read_vertex_counts(answer.body, len(known.graph.stages), known.part))


def read_vertex_counts(body: bytes, n_vertices: int, dag: int = 1) -> tuple[TaskCounts, ...]:
    """Read a `verticesInfo` document, which is the application's own word.

    Args:
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
    found = dict(_row(row, str(dag)) for row in rows)
    if found.keys() != set(range(n_vertices)):
        raise MalformedJobGraphError(f"counts are not of the {n_vertices} vertices of the plan")
    if sum(each.running for each in found.values()) > _MOST_RUNNING:
        raise MalformedJobGraphError(
            f"counts tell of more than {_MOST_RUNNING} tasks at once: so many are not followed"
        )
    return tuple(found[vertex] for vertex in range(n_vertices))


def _row(row: Any, dag: str) -> tuple[int, TaskCounts]:
    if not isinstance(row, dict):
        raise MalformedJobGraphError("counts of vertices hold what is no object")
    named = _ID.fullmatch(str(row.get("id", ""))[:100])
    if named is None or named[1] != dag:
        raise MalformedJobGraphError("counts of vertices are of no vertex of this DAG")
    total, running, succeeded = (_number(row, name) for name in ("totalTasks", "runningTasks", "succeededTasks"))
    if running < 0 or succeeded < 0:
        raise MalformedJobGraphError("counts of vertices are below zero")
    return int(named[2]), TaskCounts(total if total >= 0 else None, running, succeeded)


def _number(row: Mapping[str, Any], name: str) -> int:
    text = str(row.get(name, ""))[:20]
    if not _NUMBER.fullmatch(text) or int(text) > _MOST:
        raise MalformedJobGraphError(f"counts of vertices have no usable {name}")
    return int(text)
