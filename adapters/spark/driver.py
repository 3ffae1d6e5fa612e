"""Counts of a Spark job's tasks from its driver's web service, fetched as its pages are.

Who asks the ApplicationMaster, Heddle or the web proxy of its ResourceManager: `adapters.yarn.master_pages`.

Source: `org.apache.spark.status.api.v1` of Spark 3.5; `spark.ui.enabled`, on by default.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from adapters.spark.documents import ExecutorRow, JobRow, StageRow, decoded, stages_now
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.job_graphs import CountedStages, StagesOfJob
from shim.errors import MalformedJobGraphError, ResourceManagerError
from shim.ports.resource_manager import ResourceManager, RestRequest

MAX_ANSWER_BYTES = 2 * 1024 * 1024
_LIMIT_S = 5.0
_OK = 200
_MOST_REMEMBERED = 4096


class SparkStages:
    """Asks Spark's drivers; implements `JobCounts`.

    Args:
        managers: Web services of each sub-cluster.
    """

    def __init__(self, managers: Mapping[SubClusterId, ResourceManager]) -> None:
        self._managers = managers
        self._slots: OrderedDict[ApplicationId, int] = OrderedDict()

    @property
    def engine(self) -> str:
        return "SPARK"

    @property
    def needs_plan(self) -> bool:
        return False

    async def counts(
        self, application: ApplicationId, home: SubClusterId, user: str, known: StagesOfJob | None
    ) -> CountedStages | str:
        manager = self._managers[home]
        slots = self._slots.get(application, 0)
        if not slots:
            executors = decoded(await _asked(manager, application, user, "executors"), tuple[ExecutorRow, ...])
            slots = max((each.slots for each in executors), default=0)
            if slots < 1:
                return "no executor of it runs as yet"
            self._slots[application] = slots  # of an application with one size of executors it does not change
            while len(self._slots) > _MOST_REMEMBERED:
                self._slots.popitem(last=False)
        jobs = decoded(await _asked(manager, application, user, "jobs", "running"), tuple[JobRow, ...])
        rows = decoded(await _asked(manager, application, user, "stages", "active", "pending"), tuple[StageRow, ...])
        return stages_now(jobs, rows, slots, known)


async def _asked(manager: ResourceManager, application: ApplicationId, user: str, what: str, *states: str) -> bytes:
    """Give one document of a driver."""
    parameters: Sequence[tuple[str, str]] = [("status", state) for state in states]
    request = RestRequest(
        "GET",
        f"/proxy/{application}/api/v1/applications/{application}/{what}",
        tuple(parameters),
        user,
        (("Accept", "application/json"),),
        is_page=True,
    )
    try:
        answer = await manager.forward(request, timeout_s=_LIMIT_S)
    except ResourceManagerError as error:
        raise MalformedJobGraphError(f"the driver's web service does not answer: {error}") from error
    if answer.status != _OK:
        raise MalformedJobGraphError(f"the driver's web service answers {answer.status}")
    if len(answer.body) > MAX_ANSWER_BYTES:
        raise MalformedJobGraphError(f"the driver's web service answers with more than {MAX_ANSWER_BYTES} bytes")
    return answer.body
