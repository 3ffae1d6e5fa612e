"""The web service on policies in the shadow of queues."""

import json

import pytest

from shim.domain.allocations import AskKey, RequestPlan
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.roles import Right
from shim.scheduling.shadow_report import ShadowReport
from shim.server.rest.operators_api import ShadowAPI
from shim.server.rights import OWN

ATTEMPT = ApplicationAttemptId(ApplicationId(1, 7), 1)
KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))


@pytest.fixture
def api():
    report = ShadowReport("fifo", "delay", 2.0, skipped=4)
    held = RequestPlan(KEY, reason="it waits for one of its named places")
    report.compare({ATTEMPT: (RequestPlan(KEY, {SubClusterId("east"): 2}),)}, {ATTEMPT: (held,)}, 3.0)
    return ShadowAPI(lambda: {"root.prod": report})


async def test_each_queue_is_told_with_counts_and_its_newest_differences(api):
    (queue,) = json.loads((await api.differences()).body)["queues"]
    (newest,) = queue.pop("newest")
    assert queue == {
        "queue": "root.prod",
        "in_force": "fifo",
        "shadow": "delay",
        "since_ms": 2000,
        "cycles": 1,
        "skipped": 4,
        "solved": 0,
        "unsolved": 0,
        "differences": {"held": 1, "granted": 0, "other-cluster": 0, "order": 0},
    }
    assert newest == {
        "at_ms": 3000,
        "kind": "held",
        "application": str(ATTEMPT.application),
        "priority": 20,
        "in_force": {"east": 2},
        "in_force_reason": "there is room",
        "shadow": {},
        "shadow_reason": "it waits for one of its named places",
    }


def test_only_operators_are_told_as_reports_name_everybodys_applications(api):
    assert OWN["GET policy/shadow"] is Right.OPERATE
    assert [(each.method, each.path) for each in api.endpoints()] == [("GET", "policy/shadow")]
