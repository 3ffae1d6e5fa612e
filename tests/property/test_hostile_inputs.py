"""Histories that somebody else wrote: inputs of SLS, traces by Rumen, lists of applications are read or refused."""

import json
import random
from contextlib import suppress

import pytest

from shim.errors import HeddleError
from shim.simulation.what_if.recorded import history_of_file, history_of_text

ODD: list[object] = [
    None,
    True,
    -1,
    0,
    2**31,
    2**63,
    2**70,
    10**400,
    1e308,
    -1e308,
    "",
    "x",
    "NaN",
    "5",
    "-5",
    [],
    {},
    [[]],
    [None],
]
ODD += [{"a": 1}, "\ud800", "x" * 5000, float("inf"), float("nan"), 1.5]
TASK = {
    "count": 2,
    "container.host": "/default-rack/node1",
    "container.start.ms": 6664,
    "container.end.ms": 23707,
    "container.priority": 20,
    "container.type": "map",
    "container.memory-mb": 1024,
}
JOB = {
    "am.type": "mapreduce",
    "job.start.ms": 0,
    "job.end.ms": 95375,
    "job.queue.name": "sls_queue_1",
    "job.id": "job_1",
    "job.user": "default",
    "job.tasks": [TASK, TASK],
}
ATTEMPT = {"attemptID": "a", "startTime": 10, "finishTime": 400, "result": "SUCCESS", "hostName": {"nodeName": "n"}}
RUMEN = {
    "jobID": "job_1_1",
    "submitTime": 1000,
    "launchTime": 1100,
    "finishTime": 9000,
    "user": "u",
    "queue": "q",
    "outcome": "SUCCESS",
    "mapTasks": [{"taskID": "t", "taskType": "MAP", "startTime": 1, "finishTime": 500, "attempts": [ATTEMPT]}],
    "reduceTasks": [],
}
APP = {
    "id": "application_1_1",
    "user": "u",
    "queue": "root.q",
    "startedTime": 1_700_000_000_000,
    "launchTime": 1_700_000_001_000,
    "finishedTime": 1_700_000_060_000,
    "memorySeconds": 99,
    "vcoreSeconds": 9,
    "state": "FINISHED",
    "finalStatus": "SUCCEEDED",
}
KINDS = {
    "SLS": [JOB, {"num.nodes": 3, "num.racks": 1}],
    "Rumen": [RUMEN],
    "applications": {"apps": {"app": [APP, APP]}},
    "both": [JOB, RUMEN],
}


def odd(value, draw, share):
    """The same, with members that are something else, have other names, stand twice or are gone."""
    if draw.random() < share:
        return draw.choice(ODD)
    if isinstance(value, dict):
        kept = {name: each for name, each in value.items() if draw.random() > share / 3}
        return {
            name if draw.random() > share / 3 else f"{name}x": odd(each, draw, share) for name, each in kept.items()
        }
    return [odd(each, draw, share) for each in value] * draw.choice((1, 1, 1, 2)) if isinstance(value, list) else value


@pytest.mark.parametrize("kind", KINDS)
def test_an_odd_history_is_read_or_refused_in_words(kind, tmp_path):
    file, read = tmp_path / "history.json", 0
    for seed in range(300):
        draw = random.Random(seed)  # noqa: S311 - examples
        told = odd(KINDS[kind], draw, draw.choice((0.0, 0.005, 0.02, 0.1)))
        one_after_another = isinstance(told, list) and draw.random() < 0.5
        text = " ".join(map(json.dumps, told)) if one_after_another else json.dumps(told)
        with suppress(HeddleError):
            file.write_text(text, "utf-8", "surrogatepass")
            history_of_file(file, 100)
            read += 1
        with suppress(HeddleError):
            history_of_text(text, "a file", 100)
            read += 1
    assert read > 20, "else nothing would be tried"
