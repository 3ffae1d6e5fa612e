"""Every address at which a ResourceManager has a page answers; and what balancers ask."""

import asyncio

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import Admission
from shim.federation.health import Health
from shim.identity.service import IdentityRules
from tests.doubles.failing_stores import SwitchableStore
from tests.doubles.federation import ScriptedFederation
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer, body_of

EAST, WEST = SubClusterId("east"), SubClusterId("west")
ONE = ApplicationId(1_700_000_000_000, 1)
CONTAINER = "container_e07_1700000000000_0001_01_000002"


@pytest.fixture
async def server() -> ScriptedServer:
    opened = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True, admins=("queen",)))
    opened.federation["west"].add_application(ONE, "RUNNING", name="a running one")
    opened.federation["west"].add_application(ApplicationId(1_700_000_000_000, 2), "KILLED", name="a killed one")
    await opened.poll()
    return opened


@pytest.mark.parametrize(
    ("path", "shows"),
    [
        ("", "a running one"),
        ("/", "a running one"),
        ("/about", "west"),
        ("/cluster", "west"),
        ("/apps", "a killed one"),
        ("/apps/", "a killed one"),
        ("/apps/RUNNING", "a running one"),
        ("/apps/accepted,RUNNING", "a running one"),
        ("/apps/KILLED/", "a killed one"),
        (f"/app/{ONE}", "Why there"),
        ("/nodes", "east-n1:45454"),
        ("/nodes/active", "east-n1:45454"),
        ("/nodes/RUNNING", "west-n1:45454"),
        ("/nodes/lost", "Nodes"),
        ("/nodelabels", "DEFAULT_PARTITION"),
        ("/scheduler", "root.prod"),
        ("/scheduler?openQueues=root", "root.prod"),
        ("/queue/root.prod", "root.prod"),
        ("/queue/prod", "root.prod"),
        ("/errors-and-warnings", "http://rm.east:8088/cluster/errors-and-warnings"),
    ],
)
async def test_a_page_of_a_resource_manager_answers(server: ScriptedServer, path: str, shows: str) -> None:
    page = await server.ask("GET", f"/cluster{path}")
    assert page.status == 200
    assert shows in page.body.decode()


@pytest.mark.parametrize(
    ("path", "hides"),
    [
        ("/apps/RUNNING", "a killed one"),
        ("/apps/KILLED", "a running one"),
        ("/nodes/lost", "45454"),
        ("/queue/prod", "root.default"),
    ],
)
async def test_a_page_shows_what_it_was_asked_for_alone(server: ScriptedServer, path: str, hides: str) -> None:
    assert hides not in (await server.ask("GET", f"/cluster{path}")).body.decode()


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("appattempt", "appattempt_1700000000000_0001_000001"),
        ("container", CONTAINER),
        ("failure", str(ONE)),
        ("logaggregationstatus", str(ONE)),
    ],
)
async def test_what_one_resource_manager_knows_is_at_its_own_page(server: ScriptedServer, page: str, name: str) -> None:
    answer = await server.ask("GET", f"/cluster/{page}/{name}")
    assert answer.status == 302
    assert dict(answer.headers)["Location"] == f"http://rm.west:8088/cluster/{page}/{name}"


@pytest.mark.parametrize(
    ("accept", "leads_to"),
    [("text/html,application/xhtml+xml,*/*;q=0.8", "/console/"), ("*/*", "/cluster"), ("application/json", "/cluster")],
)
async def test_browsers_are_led_to_the_console(server: ScriptedServer, accept: str, leads_to: str) -> None:
    answer = await server.ask("GET", "/", accept=accept)
    assert answer.status == 302
    assert dict(answer.headers)["Location"].endswith(leads_to)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/apps/NOSUCH", 400),
        ("/nodes/%3Cb%3E", 400),
        ("/appattempt/x", 400),
        ("/appattempt", 400),
        ("/container/%2e%2e", 400),
        ("/failure/http:%2F%2Fevil", 400),
        ("/appattempt/appattempt_1700000000000_0099_000001", 404),
        ("/nosuch", 404),
        ("/apps.html", 404),
    ],
)
async def test_what_is_no_page_is_refused(server: ScriptedServer, path: str, status: int) -> None:
    answer = await server.ask("GET", f"/cluster{path}")
    assert answer.status == status
    assert b"<b>" not in answer.body.replace(b"<b>Heddle</b>", b"")
    assert (await server.ask("POST", f"/cluster{path}")).status in (403, 404)


@pytest.mark.parametrize("admission", [Admission.CORDONED, Admission.DRAINING, Admission.RETIRED])
async def test_the_page_of_clusters_tells_what_operators_said(server: ScriptedServer, admission: Admission) -> None:
    await server.federation.store.set_admission(EAST, admission, by="queen")
    await server.administration.refresh()
    page = (await server.ask("GET", "/cluster/cluster")).body.decode()
    assert f'<td class="{admission.name}">{admission.name}</td>' in page
    assert '<td class="RUNNING">RUNNING</td>' in page


# -- for balancers -----------------------------------------------------------------------------------------------------


async def test_a_process_that_answers_lives(server: ScriptedServer) -> None:
    server.health.is_ending = True
    answer = await server.ask("GET", "/healthz")
    assert (answer.status, answer.body) == (200, b"ok\n")
    assert (await server.ask("HEAD", "/healthz")).status == 200


async def test_ready_is_who_has_polled_and_can_use_the_store(server: ScriptedServer) -> None:
    answer = await server.ask("GET", "/ready")
    assert (answer.status, body_of(answer)) == (200, {"ready": True, "reasons": []})
    server.health.is_ending = True
    answer = await server.ask("GET", "/ready")
    assert (answer.status, body_of(answer)) == (503, {"ready": False, "reasons": ["this process is ending"]})


async def test_not_ready_is_who_has_not_polled_every_cluster() -> None:
    fresh = ScriptedServer()
    told = body_of(await fresh.ask("GET", "/ready"))
    assert told["reasons"] == ["not polled yet: east, west"]
    await fresh.poll()
    assert body_of(await fresh.ask("GET", "/ready"))["ready"]


async def test_one_cluster_that_is_never_heard_of_keeps_nobody_out_for_ever() -> None:
    federation = ScriptedFederation(("east", "west"))
    heddle = await ScriptedFederation(("east",)).start()
    health = Health(heddle.view, federation.store, federation.clock)
    heddle.view.retire([EAST])
    assert (await health.readiness()).is_ready, "a retired cluster is not waited for"
    unheard = ScriptedServer()
    unheard.view.note_failure(WEST, "refused", at_s=0.0)
    assert body_of(await unheard.ask("GET", "/ready"))["reasons"] == ["not polled yet: east"]


async def test_the_store_is_asked_seldom_however_many_ask() -> None:
    store = SwitchableStore()
    federation = ScriptedFederation(store=store)
    heddle = await federation.start()
    health = Health(heddle.view, store, federation.clock)
    store.reads_fail = True
    told = await asyncio.gather(*(health.readiness() for _ in range(50)))
    assert {each.is_ready for each in told} == {False}
    assert "the store cannot be used" in told[0].reasons[0]
    store.reads_fail = False
    assert not (await health.readiness()).is_ready, "it was asked less than half a second ago"
    await federation.clock.advance(0.6)
    assert (await health.readiness()).is_ready
