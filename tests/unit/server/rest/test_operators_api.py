"""The web service on policies in the shadow of queues."""

import json

import pytest

from heddle.models import AsksStatus, Solves
from shim.domain.allocations import AskKey, RequestPlan
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.domain.launches import Verdict
from shim.domain.resources import ResourceVector
from shim.domain.roles import Right
from shim.domain.subclusters import Admission
from shim.errors import StoreUnavailableError, UnavailableError
from shim.identity.service import Caller
from shim.peers.overview import MastersStatus
from shim.scheduling.shadow_report import ShadowReport
from shim.server.rest.heddle_api import shown_masters
from shim.server.rest.operators_api import RetirementAPI, ShadowAPI
from shim.server.rights import OWN
from shim.submission.retirement import RetirementPlan

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


class Retires:
    """A service of retirement that notes what it is asked for."""

    def __init__(self):
        self.asked = []
        self.is_away = False
        spanning = {ApplicationId(1, 5): 3, ApplicationId(1, 6): 1}
        one, *others = (ApplicationId(1, number) for number in (1, 2, 3))
        self.plan_of = RetirementPlan(SubClusterId("east"), Admission.DRAINING, (one,), tuple(others), spanning)

    def _note(self, *asked):
        self.asked.append(asked)
        if self.is_away:
            raise StoreUnavailableError("the store is away")

    async def plan(self, subcluster):
        self._note("plan", subcluster)
        return self.plan_of

    async def retire(self, subcluster, *, by):
        self._note("retire", subcluster, by)
        return self.plan_of

    async def revive(self, subcluster, *, by, is_dry_run):
        self._note("revive", subcluster, by, is_dry_run)
        return (ApplicationId(1, 8), ApplicationId(1, 9))


@pytest.mark.parametrize(("is_dry_run", "asked"), [(False, ("retire", "east", "ann")), (True, ("plan", "east"))])
async def test_what_hangs_on_a_cluster_that_is_retired_is_told(is_dry_run, asked):
    service = Retires()
    told = json.loads((await RetirementAPI(service).retire(Caller("ann", "ann"), "east", is_dry_run)).body)
    assert service.asked == [asked]
    assert told == {
        "id": "east",
        "was": Admission.DRAINING.value,
        "admission": Admission.RETIRED.value,
        "dry_run": is_dry_run,
        "to_move": ["application_1_0001"],
        "to_lose": ["application_1_0002", "application_1_0003"],
        "spanning": {"application_1_0005": 3, "application_1_0006": 1},
    }


@pytest.mark.parametrize("is_dry_run", [False, True])
async def test_whose_masters_end_when_a_cluster_is_revived_is_told(is_dry_run):
    service = Retires()
    told = json.loads((await RetirementAPI(service).revive(Caller("ann", "ann"), "east", is_dry_run)).body)
    assert service.asked == [("revive", "east", "ann", is_dry_run)]
    assert (told["was"], told["admission"], told["dry_run"]) == ("retired", "open", is_dry_run)
    assert told["masters_to_end"] == ["application_1_0008", "application_1_0009"]


async def test_without_the_store_nothing_is_retired_or_revived():
    service = Retires()
    service.is_away = True
    for change, words in (("retire", "stays as it was"), ("revive", "cannot be revived now")):
        with pytest.raises(UnavailableError, match=f"east {words}: the store is away"):
            await getattr(RetirementAPI(service), change)(Caller("ann", "ann"), "east")


def test_of_masters_what_they_said_is_summed_over_clusters():
    east, west = SubClusterId("east"), SubClusterId("west")
    verdicts = {(east, Verdict.ACCEPTED): 3, (west, Verdict.ACCEPTED): 4, (west, Verdict.REJECTED): 2}
    asks = AsksStatus({}, 0, {}, 0, 0, [], Solves(0))
    told = shown_masters(MastersStatus(verdicts=verdicts, repairs=7, passed_on={"sent": 1}), asks)
    assert told.verdicts == {"accepted": 7, "rejected": 2, "unverified": 0}
    assert (told.inconsistencies, told.repairs, told.passed_on) == (2, 7, {"sent": 1})
