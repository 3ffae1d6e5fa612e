"""The web service on policies in the shadow of queues."""

import json

import pytest

from shim.domain.allocations import AskKey
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.domain.requests import RequestPlan
from shim.domain.resources import ResourceVector
from shim.errors import ForbiddenError
from shim.identity.service import Caller, IdentityRules, IdentityService
from shim.scheduling.shadow_report import ShadowReport
from shim.server.rest.shadow_api import ShadowAPI
from shim.testing.clock import FakeClock

ATTEMPT = ApplicationAttemptId(ApplicationId(1, 7), 1)
KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))


@pytest.fixture
def api():
    report = ShadowReport("fifo", "delay", 2.0, skipped=4)
    held = RequestPlan(KEY, reason="it waits for one of its named places")
    report.compare({ATTEMPT: (RequestPlan(KEY, {SubClusterId("east"): 2}),)}, {ATTEMPT: (held,)}, 3.0)
    identity = IdentityService(IdentityRules(admins=("queen",)), secret=bytes(32), clock=FakeClock())
    return ShadowAPI(lambda: {"root.prod": report}, identity)


async def test_each_queue_is_told_with_counts_and_its_newest_differences(api):
    (queue,) = json.loads((await api.differences(Caller("queen", "queen"))).body)["queues"]
    (newest,) = queue.pop("newest")
    assert queue == {
        "queue": "root.prod",
        "in_force": "fifo",
        "shadow": "delay",
        "since_ms": 2000,
        "cycles": 1,
        "skipped": 4,
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


async def test_only_operators_are_told(api):
    with pytest.raises(ForbiddenError):
        await api.differences(Caller("bob", "bob"))
    assert [(each.method, each.path) for each in api.endpoints()] == [("GET", "policy/shadow")]
