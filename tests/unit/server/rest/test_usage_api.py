"""The web service for usage, without a socket."""

import json

import pytest
from fastapi import FastAPI, Response
from fastapi.exceptions import RequestValidationError

from shim.domain.credits import Credits
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.usage import PartUsage
from shim.errors import BadRequestError, NotAuthenticatedError
from shim.identity.service import Caller, IdentityRules, IdentityService
from shim.ports.queue_stores import CreditRow, UsageQuestion, UsageRow, UsageTotal
from shim.queues.usage import UsageReports
from shim.server.rest.in_process import ask_application, hand_errors_out
from shim.server.rest.messages import Request
from shim.server.rest.usage_api import UsageAPI, shown_share
from shim.simulation.stores import InMemoryCreditStore, InMemoryUsageStore
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual

NOVEMBER_MS = 1_793_491_200_000
DAY_MS = 86_400_000


@pytest.fixture
async def ask():
    clock = FakeClock()
    clock.wall_s = NOVEMBER_MS / 1000 + 30 * 86_400
    store = InMemoryUsageStore()
    part = PartUsage((1, 1), {"memory_mib_s": 1000, "vcore_s": 10})
    row = UsageRow(
        ApplicationId(1, 1),
        SubClusterId("east"),
        is_home=True,
        user="ada",
        queue="root.q",
        started_at_ms=NOVEMBER_MS,
        ended_at_ms=NOVEMBER_MS + DAY_MS,
        part=part,
    )
    await store.keep([row])
    credits_ = InMemoryCreditStore()
    given = Credits(given_mib_s=800.0, received_mib_s=40.0)
    await credits_.keep(
        [CreditRow(ApplicationId(1, 1), "a.1", "root.q", "ada", NOVEMBER_MS, NOVEMBER_MS + DAY_MS, given)]
    )
    identity = IdentityService(usual(IdentityRules, admins=("queen",)), secret=bytes(32), clock=clock)
    api = UsageAPI(UsageReports(store, credits_, clock, identity.is_operator), identity, lambda: has[0])
    app = FastAPI(openapi_url=None)
    for each in api.endpoints():
        app.add_api_route(f"/{each.path}", each.answer, methods=[each.method])
    hand_errors_out(app)

    has = [ResourceVector()]

    async def asked(query="", user="queen"):
        request = Request("GET", "/usage", query, (), b"", "127.0.0.1")
        _, answer = await ask_application(app, request, {"caller": Caller(user, user, is_anonymous=not user)})
        return json.loads(answer)

    asked.has = has
    return asked


async def test_sums_are_told_with_what_was_asked(ask):
    told = await ask("by=queue,user,cluster&from=2026-11-01&to=2026-11-01T12:00:00Z")
    assert told == {
        "by": ["queue", "user", "cluster"],
        "from_ms": NOVEMBER_MS,
        "to_ms": NOVEMBER_MS + DAY_MS // 2,
        "of": "*",
        "is_cut": False,
        "usage": [
            {
                "queue": "root.q",
                "user": "ada",
                "cluster": "east",
                "applications": 1,
                "memory_mib_s": 500,
                "vcore_s": 5,
                "preempted_memory_mib_s": 0,
                "preempted_vcore_s": 0,
            }
        ],
    }
    assert (await ask(f"from={NOVEMBER_MS}&to={NOVEMBER_MS + DAY_MS // 4}"))["usage"][0]["memory_mib_s"] == 250
    assert (await ask("from=2026-11-01T06:00:00%2B06:00&to=2026-11-02"))["usage"][0]["memory_mib_s"] == 1000
    assert (await ask("by=", "ada"))["of"] == "ada"
    assert (await ask("by=user", "eve"))["usage"] == []


async def test_use_is_a_part_of_what_the_federation_has_in_that_time(ask):
    day, half = "from=2026-11-01&to=2026-11-02", "from=2026-11-01&to=2026-11-01T12:00:00Z"
    assert "share" not in (await ask(day))["usage"][0], "no cluster has told what it has"
    ask.has[0] = ResourceVector(1, 1)
    assert (await ask(day))["usage"][0]["share"] == pytest.approx(1000 / 86_400, abs=1e-6)
    assert (await ask(half))["usage"][0]["share"] == pytest.approx(1000 / 86_400, abs=1e-6)
    ask.has[0] = ResourceVector(1_000_000, 1)
    assert (await ask(day))["usage"][0]["share"] == pytest.approx(10 / 86_400, abs=1e-6), "of cores, which is more"
    assert "share" not in (await ask("by=queue"))["usage"][0], "since ever is no time"


@pytest.mark.parametrize(
    "query",
    [
        "by=secret",
        "by=queue,queue",
        "from=yesterday",
        "from=-1",
        "from=9999999999999999",
        "from=%D9%A1",
        "to=2026-13-01",
        "from=2026-11-02&to=2026-11-01",
        "from=0001-01-01",
    ],
)
async def test_what_is_no_question_is_refused(ask, query):
    with pytest.raises(BadRequestError):
        await ask(query)


async def test_what_jobs_gave_and_received_stands_beside_what_they_used(ask):
    (row,) = (await ask(f"by=queue,user&from={NOVEMBER_MS}&to={NOVEMBER_MS + DAY_MS // 4}"))["usage"]
    assert (row["given_mib_s"], row["received_mib_s"]) == (200, 10)
    assert (await ask("by=", "ada"))["usage"][0]["given_mib_s"] == 800
    assert "given_mib_s" not in (await ask("by=cluster"))["usage"][0], "shares are of the federation"


async def test_what_is_far_too_long_and_who_is_nobody_are_refused(ask):
    with pytest.raises(RequestValidationError):
        await ask("by=" + "queue," * 1000)
    with pytest.raises(NotAuthenticatedError):
        await ask(user="")


@pytest.mark.parametrize(
    ("from_ms", "to_ms", "capacity", "share"),
    [
        (1_000, 11_000, ResourceVector(100, 10), {"share": 0.5}),  # 500 MiB x s of 100 MiB in 10 s
        (1_000, 11_000, ResourceVector(1000, 1), {"share": 0.2}),  # 2 core x s of one core in 10 s
        (1_000, 8_000, ResourceVector(100, 10), {"share": 0.714286}),
        (1, 10_001, ResourceVector(100, 10), {"share": 0.5}),
        (0, 11_000, ResourceVector(100, 10), {}),
        (1_000, 1_000, ResourceVector(100, 10), {}),
        (1_000, 1_001, ResourceVector(100, 10), {"share": 5000.0}),
        (1_000, 11_000, ResourceVector(0, 10), {}),
        (1_000, 11_000, ResourceVector(100, 0), {}),
    ],
)
def test_a_share_is_of_the_scarcer_type_over_the_time_that_was_asked_for(from_ms, to_ms, capacity, share):
    total = UsageTotal(group=(), applications=1, memory_mib_s=500, vcore_s=2)
    assert shown_share(total, UsageQuestion((), from_ms, to_ms, to_ms), capacity) == share


async def test_an_answer_has_the_status_of_its_endpoint():
    app = FastAPI(openapi_url=None)
    for status in (200, 201, 404):
        app.add_api_route(f"/of/{status}", lambda status=status: Response(b"told", status), methods=["GET"])
    hand_errors_out(app)
    for status in (200, 201, 404):
        for method in ("GET", "HEAD"):
            request = Request(method, f"/of/{status}", "", (), b"", "127.0.0.1")
            assert await ask_application(app, request, {}) == (status, b"told")
