"""Drivers are asked by their home's own proxy, for their user, and not for long."""

import json

import pytest

from adapters.spark import SparkStages
from adapters.spark.driver import MAX_ANSWER_BYTES
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.job_graphs import TaskCounts
from shim.errors import MalformedJobGraphError, NoAnswerError
from shim.ports.resource_manager import RestAnswer

APP, EAST = ApplicationId(1_700_000_000_000, 7), SubClusterId("east")
BASE = f"/proxy/{APP}/api/v1/applications/{APP}"
TOLD = {
    "executors": [{"id": "driver", "maxTasks": 0}, {"id": "1", "maxTasks": 2}],
    "jobs": [{"jobId": 0, "stageIds": [0], "status": "RUNNING"}],
    "stages": [{"stageId": 0, "status": "ACTIVE", "numTasks": 8, "numActiveTasks": 2, "numCompletedIndices": 3}],
}


class Driver:
    """A ResourceManager whose proxy leads to a driver."""

    def __init__(self, told=None):
        self.told, self.requests = TOLD if told is None else told, []

    async def forward(self, request, *, timeout_s=None):
        self.requests.append((request, timeout_s))
        found = self.told[request.path.rpartition("/")[2]] if isinstance(self.told, dict) else self.told
        if isinstance(found, Exception):
            raise found
        return found if isinstance(found, RestAnswer) else RestAnswer(200, (), json.dumps(found).encode())


async def test_the_job_that_runs_is_told_with_its_counts():
    driver = Driver()
    source = SparkStages({EAST: driver})
    counted = await source.counts(APP, EAST, "ada", None)
    assert (counted.counts, counted.stages.slots, counted.stages.part) == ((TaskCounts(8, 2, 3),), 2, 1)
    assert [request.path for request, _ in driver.requests] == [
        f"{BASE}/{each}" for each in ("executors", "jobs", "stages")
    ]
    assert {(request.method, request.user, request.is_page, limit_s) for request, limit_s in driver.requests} == {
        ("GET", "ada", True, 5.0)
    }
    assert driver.requests[-1][0].parameters == (("status", "active"), ("status", "pending"))
    await source.counts(APP, EAST, "ada", counted.stages)
    assert len(driver.requests) == 5, "the size of its executors is asked for once"


async def test_without_an_executor_nothing_is_known():
    told = TOLD | {"executors": [{"id": "driver", "maxTasks": 4}]}
    assert "no executor" in await SparkStages({EAST: Driver(told)}).counts(APP, EAST, "ada", None)


@pytest.mark.parametrize(
    "answer",
    [
        RestAnswer(302, (("Location", "http://elsewhere"),), b""),
        RestAnswer(401, (), b""),
        RestAnswer(200, (), b"<html>"),
        RestAnswer(200, (), b"[" + b" " * MAX_ANSWER_BYTES + b"]"),
        NoAnswerError("east", "?"),
    ],
    ids=["redirect", "refused", "a page", "endless", "silent"],
)
async def test_what_is_no_answer_of_the_driver_is_not_followed(answer):
    with pytest.raises(MalformedJobGraphError, match="web service"):
        await SparkStages({EAST: Driver(answer)}).counts(APP, EAST, "ada", None)
