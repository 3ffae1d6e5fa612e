"""The console in a headless browser, before a scripted federation."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import Admission
from shim.identity.service import IdentityRules
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.server.rest.live import patch_of
from shim.telemetry.application_life import LifeEvent
from tests.doubles.resource_manager import ScriptedResourceManager, error_answer
from tests.doubles.settings import usual
from tests.support.console_pages import Looker, chromium, looking, serving
from tests.support.roles import ROLES
from tests.support.scripted_server import ScriptedServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

VIEWS = ("overview", "applications", "queues", "policies", "clusters", "decisions", "masters", "simulate")
WHOLE = ", ".join(f"main {each}" for each in ("table", ".rows", ".facts", ".heat", "pre", "details"))
MANY = 90_000
ROW_PX = 34
STREAM = "**/heddle/v1/live?*"
APPLY = """async ([old, patch]) => {
  const { applied } = await import("./patches.js");
  return JSON.stringify(applied(JSON.parse(old), JSON.parse(patch)));
}"""
HOSTILE = '"><img src=x onerror="window.taken=1"><script>window.taken=1</script>'


def some_id(number: int) -> ApplicationId:
    return ApplicationId(1_700_000_000_000, number)


class TakesWritesOf:
    """A ResourceManager with `yarn.acl.enable`: one user alone changes anything."""

    def __init__(self, owner: str) -> None:
        self._owner = owner

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Refuse others."""
        del timeout_s
        if request.method == "GET" or request.user == self._owner:
            return manager.take(request)
        return error_answer(403, "ForbiddenException", f"User {request.user} cannot perform operation MODIFY_APP")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def server() -> ScriptedServer:
    opened = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True, admins=("queen",)))
    east, west = opened.federation["east"], opened.federation["west"]
    for number in range(1, 6):
        east.add_application(some_id(number), user="alice", name=f"sort-{number}", applicationType="MAPREDUCE")
    west.add_application(some_id(6), user="bob", name="etl", queue="root.prod", applicationType="SPARK")
    west.add_application(some_id(7), "FINISHED", user="bob", name="old etl")
    opened.decisions.note(LifeEvent.HOME_CHOSEN, some_id(6), {"home": "west", "reason": HOSTILE, "scores": {"west": 1}})
    await opened.poll()
    return opened


@pytest_asyncio.fixture(loop_scope="module")
async def url(server: ScriptedServer) -> AsyncIterator[str]:
    async with serving(server) as address:
        yield address


async def rows(looker: Looker) -> list[str]:
    """Names of the rows that are there."""
    return [await each.inner_text() for each in await looker.page.query_selector_all(".rows tbody td:nth-child(2)")]


def shown_violations(found: Any) -> list[tuple[str, list[str]]]:
    """Rules of axe that are broken, each with the elements that break it."""
    return [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in found["violations"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", [*VIEWS, f"application/{some_id(6)}"])
async def test_each_view_is_shown_whole_for_narrow_screens_keyboards_and_screen_readers(browser, url, view, scheme):
    async with looking(browser, url, width=400, is_dark=scheme == "dark") as looker:
        await looker.go(view)
        await looker.until(f"document.querySelector('{WHOLE}')")
        await looker.until("!document.querySelector('main')?.innerText.includes('Asking')")
        assert await looker.page.query_selector_all(".trouble:not(:empty)") == []
        assert await looker.page.evaluate("document.documentElement.scrollWidth") <= 400
        found = await Axe().run(looker.page)
        assert shown_violations(found.response) == []


async def test_what_is_no_view_says_so(browser, url):
    async with looking(browser, url) as looker:
        await looker.go("nowhere")
        assert "Nothing here" in await looker.text()


async def test_where_a_script_does_not_come_the_page_says_what_to_do(browser, url):
    async with looking(browser, url) as looker:
        await looker.page.route("**/masters.js", lambda route: route.abort("connectionaborted"), times=1)
        await looker.page.goto(f"{url}/console/#/queues")
        assert "If it does not come, load it again" in await looker.text("body")
        await looker.page.click("text=load it again")
        await looker.page.wait_for_selector("h1")
        assert "If it does not come" not in await looker.text("body")


async def test_the_overview_tells_of_clusters_and_of_what_is_wrong(browser, server, url):
    await server.administration.set_admission(SubClusterId("west"), Admission.DRAINING, by="queen")
    async with looking(browser, url) as looker:
        await looker.go()
        await looker.until("document.querySelector('.cards')?.innerText.includes('DRAINING')")
        await looker.until("/7\\s+applications/.test(document.querySelector('main').innerText)")
        await looker.page.click("text=6 running")
        await looker.until("document.querySelector('.chip')?.innerText.includes('state=RUNNING')")
        await looker.until("document.querySelector('main').innerText.includes('6 of 7')")


async def test_ninety_thousand_rows_are_scrolled_with_a_few_hundred_in_the_document(browser, server, url):
    clusters = list(server.federation.managers.values())  # of one, no more than half as many are taken in
    for number in range(100, 100 + MANY):
        clusters[number % len(clusters)].add_application(some_id(number), name=f"many-{number}")
    await server.poll()
    async with looking(browser, url) as looker:
        await looker.go("applications?sort=id&order=up")
        await looker.until("document.querySelectorAll('.rows tbody tr').length > 100")
        for place in (MANY // 2, MANY // 10, MANY - 30):
            await looker.page.evaluate(f"document.querySelector('.rows').scrollTo(0, {place} * {ROW_PX})")
            await looker.until(f"document.querySelector('.rows')?.innerText.includes('many-{99 + place}')")
        await looker.page.evaluate("document.querySelector('.rows').scrollTo(0, 1e9)")
        await looker.until(f"document.querySelector('.rows')?.innerText.includes('many-{99 + MANY}')")
        assert len(await rows(looker)) <= 100
        assert await looker.page.get_attribute(".rows table", "aria-rowcount") == str(MANY + 7)


async def test_search_filter_sort_and_groups_stand_in_the_address(browser, url):
    async with looking(browser, url) as looker:
        await looker.go("applications")
        await looker.until("document.querySelectorAll('.rows tbody tr').length == 7")
        await looker.page.fill("input[type=search]", "ETL bob")
        await looker.until("document.querySelectorAll('.rows tbody tr').length == 2")
        assert "search=ETL+bob" in looker.page.url
        await looker.page.click(".rows button:text('SPARK')")
        await looker.until("document.querySelectorAll('.rows tbody tr').length == 1")
        assert await rows(looker) == ["etl"]
        await looker.page.go_back()
        await looker.until("document.querySelectorAll('.rows tbody tr').length == 2")
        await looker.go("applications?group=user&sort=id&order=up")
        await looker.until("document.querySelector('.chip')?.innerText == 'alice: 5'")
        assert (await rows(looker))[0] == "sort-1"


async def test_a_range_of_time_is_chosen_by_keyboard_and_stands_in_the_address(browser, server, url):
    began_ms = 1_700_000_000_000
    for number, days in ((201, 0), (202, 1), (203, 2)):
        started = {"startedTime": began_ms + days * 86_400_000}
        server.federation["east"].add_application(some_id(number), name=f"day-{days}", **started)
    await server.poll()
    between = f"started_from={began_ms + 1}&started_to={began_ms + 86_400_000}"
    async with looking(browser, url, width=400) as looker:
        await looker.go(f"applications?search=day-&{between}")
        await looker.until("document.querySelectorAll('.rows tbody tr').length == 1")
        assert await rows(looker) == ["day-1"]
        for choice in ("Columns", "Time"):
            await looker.page.focus(f"summary:text('{choice}')")
            await looker.page.keyboard.press("Enter")
        assert await looker.page.evaluate("document.documentElement.scrollWidth") <= 400
        assert shown_violations((await Axe().run(looker.page)).response) == []
        await looker.page.fill("input[name=started_to]", "2023-11-30T00:00")
        await looker.page.press("input[name=started_to]", "Tab")
        await looker.until("document.querySelectorAll('.rows tbody tr').length == 2")
        assert f"started_from={began_ms + 1}&started_to=17013" in looker.page.url
        await looker.page.click("button:has-text('Started from')")
        await looker.until("document.querySelectorAll('.rows tbody tr').length == 3")
        assert "started_from" not in looker.page.url


async def test_the_range_of_the_overviews_shares_stands_in_its_address(browser, url):
    queue = {"queue": "root.etl", "waiting": 0, "preempted": 0, "entitlement": 0.5, "used": 0.5}
    kept = {"at_ms": [1, 2], "queues": [{"queue": "root.etl", "used": [0.1, 0.2], "entitlement": [0.5, 0.5]}]}
    async with looking(browser, url) as looker:
        await looker.page.route(STREAM, lambda route: route.abort())
        await looker.page.route("**/v1/shares", lambda route: route.fulfill(json={"version": 1, "queues": [queue]}))
        await looker.page.route("**/v1/shares/history?*", lambda route: route.fulfill(json=kept))
        await looker.go("overview")
        await looker.page.click("[aria-label=Range] button:text('6 h')")
        await looker.until("location.hash == '#/overview?hours=6'")
        await looker.until("document.querySelector('[aria-label=Range] [aria-pressed=true]')?.innerText == '6 h'")


async def test_chosen_columns_are_kept(browser, url):
    async with looking(browser, url) as looker:
        await looker.go("applications")
        await looker.page.click("summary:text('Columns')")
        await looker.page.click("label:text('Tags') input")
        await looker.until("document.querySelector('.rows thead')?.innerText.includes('Tags')")
        await looker.go("overview")
        await looker.go("applications")
        await looker.until("document.querySelector('.rows thead')?.innerText.includes('Tags')")


async def test_texts_of_users_are_texts(browser, server, url):
    tagged = {"name": HOSTILE, "user": HOSTILE, "queue": f"root.{HOSTILE}", "applicationTags": HOSTILE}
    shown = {**tagged, "applicationType": HOSTILE, "diagnostics": HOSTILE, "trackingUrl": "javascript:window.taken=1"}
    server.federation["east"].add_application(some_id(66), **shown)
    await server.poll()
    async with looking(browser, url) as looker:
        for view in ("applications?group=queue", f"application/{some_id(66)}", "queues/%3Cscript%3E", f"{HOSTILE}"):
            await looker.go(view)
            await asyncio.sleep(0.3)
            assert await looker.page.evaluate("window.taken") is None
        await looker.go(f"application/{some_id(66)}")
        await looker.until("document.querySelector('.facts')")
        assert HOSTILE in await looker.text("h1")
        assert await looker.page.query_selector_all("a[href^='javascript:']") == []


async def test_an_owner_kills_after_a_question_and_nobody_else_does(browser, server, url):
    west = server.federation["west"]
    west.behave(TakesWritesOf("bob"))
    async with looking(browser, url) as looker:
        await looker.go(f"application/{some_id(6)}", user="mallory")
        await looker.page.click("button:text('Kill…')")
        await looker.page.click("dialog button.danger")
        await looker.until("document.querySelector('dialog .trouble')?.innerText.includes('User mallory cannot')")
    async with looking(browser, url) as looker:
        await looker.go(f"application/{some_id(6)}", user="bob")
        await looker.page.click("button:text('Kill…')")
        await looker.page.click("dialog button:text('Leave it')")
        await looker.until("!document.querySelector('dialog')")
        assert west.applications[some_id(6)]["state"] == "RUNNING"
        await looker.page.click("button:text('Kill…')")
        await looker.page.click("dialog button.danger")
        await looker.until("document.querySelector('.facts')?.innerText.includes('KILLED')")
    assert west.applications[some_id(6)]["state"] == "KILLED"


async def test_stages_of_a_job_and_what_it_puts_off_are_a_table(browser, url):
    stage = {"tasks": 8, "waiting": None, "running": 2, "ended": 6, "task_s": 3.5, "sure": "times of its own (6)"}
    told = {
        "unknown": "",
        "graph": "wordcount",
        "graph_from": "its plan",
        "ends_by_ms": None,
        "given_s": 12.5,
        "received_s": 0.0,
        "lent_containers": 1,
        "lent_since_ms": 1_700_000_000_000,
        "shadow": False,
        "puts_off": [{"stage": "Sorter", "containers": 3, "next_at_ms": None, "waits_for": ["Tokenizer"]}],
        "stages": [
            {"stage": "Tokenizer", "waits_for": [], **stage},
            {"stage": "Sorter", "waits_for": ["Tokenizer"], **stage},
        ],
    }
    async with looking(browser, url) as looker:
        await looker.page.route(STREAM, lambda route: route.abort())
        await looker.page.route(
            "**/why", lambda route: route.fulfill(json={"reason": "", "waits": "waits for x", "altruism": told})
        )
        await looker.go(f"application/{some_id(6)}")
        await looker.until("document.querySelectorAll('[aria-label=Stages] tbody tr').length == 2")
        assert "Sorter\tTokenizer\t8\t?\t2\t6\t3\t3.5 s" in await looker.text("[aria-label=Stages]")
        assert "1 of its containers are lent" in await looker.text()
        assert (await looker.text()).index("It waits for x") < (await looker.text()).index("Why there")


async def test_users_of_altruistic_queues_are_listed_with_what_they_gave_and_received(browser, url):
    queue = {"queue": "root.etl", "waiting": 0, "preempted": 0, "given_s": 12.5, "received_s": 3.0, "used": 0.5}
    used = [
        {"user": "ada", "given_mib_s": 2048, "received_mib_s": 0},
        {"user": "bob", "given_mib_s": 0, "received_mib_s": 0},
    ]
    async with looking(browser, url) as looker:
        await looker.page.route(STREAM, lambda route: route.abort())
        await looker.page.route("**/v1/shares", lambda route: route.fulfill(json={"version": 1, "queues": [queue]}))
        await looker.page.route("**/v1/usage?by=user", lambda route: route.fulfill(json={"usage": used}))
        await looker.go("queues")
        await looker.until("document.querySelectorAll('[aria-label=Users] tbody tr').length == 1")
        assert "ada\t2048 MiB s\t0 MiB s" in await looker.text("[aria-label=Users]")


async def test_operators_drain_after_they_saw_what_still_runs(browser, server, url):
    async with looking(browser, url) as looker:
        await looker.go("clusters", user="alice")
        await looker.until("document.querySelectorAll('.heat span').length == 2")
        assert await looker.page.query_selector_all("button:text('drain…')") == []
    async with looking(browser, url) as looker:
        await looker.go("clusters", user="queen")
        await looker.page.click("section:has-text('west') button:text-is('drain…')")
        await looker.until("document.querySelector('dialog')")
        assert f"1 applications ({some_id(6)}) still run there" in await looker.text("dialog")
        assert server.administration.current == {}
        await looker.page.click("dialog button.danger")
        await looker.until("!document.querySelector('dialog')")
    assert server.administration.current == {SubClusterId("west"): Admission.DRAINING}


async def test_after_a_failure_the_last_answer_stays_with_its_time(browser, server, url):
    async with looking(browser, url) as looker:
        await looker.page.route(STREAM, lambda route: route.abort())
        await looker.go("clusters")
        await looker.until("document.querySelectorAll('.heat span').length == 2")
        await looker.page.route("**/heddle/v1/clusters", lambda route: route.abort())
        await looker.until("document.querySelector('.trouble')?.innerText.includes('What is shown is of')")
        assert len(await looker.page.query_selector_all(".heat span")) == 2


async def test_a_change_comes_by_the_stream_and_nothing_is_polled_meanwhile(browser, server, url):
    async with looking(browser, url) as looker:
        asked: list[str] = []
        looker.page.on("request", lambda request: asked.append(request.url))
        await looker.go("clusters")
        await looker.until("document.querySelector('main')?.innerText.includes('RUNNING')")
        before = -1
        # until the stream tells of everything: a page that has to ask does so every two seconds
        while before < len(asked):
            before = len(asked)
            await looker.page.wait_for_timeout(2500)
        streams = [each for each in asked if "/heddle/v1/live?" in each]
        await server.administration.set_admission(SubClusterId("west"), Admission.CORDONED, by="queen")
        await looker.until("document.querySelector('main').innerText.includes('CORDONED')")
        await looker.page.wait_for_timeout(2500)
        assert len(streams) == 1
        assert "watch=clusters" in streams[0]
        assert asked[before:] == []


async def test_where_the_stream_does_not_come_through_the_page_asks(browser, server, url):
    async with looking(browser, url) as looker:
        await looker.page.route(STREAM, lambda route: route.abort())
        await looker.go("clusters")
        await looker.until("document.querySelector('main')?.innerText.includes('RUNNING')")
        await server.administration.set_admission(SubClusterId("west"), Admission.CORDONED, by="queen")
        await looker.until("document.querySelector('main').innerText.includes('CORDONED')")


async def test_patches_are_applied_as_they_were_meant(browser, url):
    before = {"a": [1, {"b/c~": 2}], "x": {}, "gone": 1}
    after: dict[str, Any] = {"a": [1, {"b/c~": [3]}, "n"], "x": {"__proto__": {"taken": 1}, "y": None}}
    further = {"a": [0], "x": {"__proto__": {"taken": 2}, "y": None}}
    async with looking(browser, url) as looker:
        await looker.go()
        for old, new in ((before, after), (after, further), (further, before), ([], [1]), (1, "1")):
            done = await looker.page.evaluate(
                APPLY,
                [json.dumps(old), json.dumps(patch_of(old, new))],
            )
            assert json.loads(done) == new
        assert await looker.page.evaluate("({}).taken") is None


async def test_decisions_appear_as_they_are_made_and_are_searched(browser, server, url):
    async with looking(browser, url) as looker:
        await looker.go("decisions")
        await looker.until("document.querySelectorAll('tbody tr').length == 1")
        assert HOSTILE in await looker.text("tbody")
        server.decisions.note(LifeEvent.STARTED, some_id(5), {"cluster": "east", "waited_s": 577.033})
        await looker.until("document.querySelectorAll('tbody tr').length == 2")
        assert "waited 577.0 s" in await looker.text("tbody")
        await looker.page.select_option("select", "STARTED")
        await looker.until("document.querySelectorAll('tbody tr').length == 1")
        assert "event=STARTED" in looker.page.url
        await looker.page.click(f"text={some_id(5)}")
        await looker.until("document.querySelector('h1')?.innerText.includes('sort-5')")
        assert await looker.page.evaluate("window.taken") is None


async def test_operators_see_the_audit_and_others_no_way_to_it(browser, server, url):
    async with looking(browser, url) as looker:
        await looker.go("overview", user="alice")
        await looker.until("document.querySelector('.who')?.innerText == 'alice, user'")
        assert "Audit" not in await looker.text("nav")
    async with looking(browser, url) as looker:
        await looker.go("overview", user="queen")
        await looker.page.click("nav >> text=Audit")
        await looker.until("document.querySelector('main').innerText.includes('log.audit_file is not set')")


@pytest.mark.parametrize(
    ("role", "shown"),
    [
        ("nobody", set()),
        ("viewer", {"Clusters"}),
        ("user", {"Clusters", "Kill…"}),
        ("operator", {"Clusters", "Kill…", "drain…"}),
        ("administrator", {"Clusters", "Kill…", "drain…", "Audit"}),
    ],
)
async def test_what_a_role_may_not_do_is_not_shown(browser, role, shown):
    server = ScriptedServer(rules=ROLES)
    server.federation["east"].add_application(some_id(1), user="alice", name="sort")
    await server.poll()
    async with serving(server) as url, looking(browser, url) as looker:
        found = set()
        for view in ("clusters", f"application/{some_id(1)}"):
            await looker.go(view, user=f"a-{role}")
            await looker.until(f"document.querySelector('.who')?.innerText == 'a-{role}, {role}'")
            if role != "nobody":
                await looker.until("document.querySelectorAll('.heat span, .facts dt').length >= 2")
            named = [
                "a:text-is('Clusters')",
                "a:text-is('Audit')",
                "button:text-is('drain…')",
                "button:text-is('Kill…')",
            ]
            found |= {await each.inner_text() for name in named for each in await looker.page.query_selector_all(name)}
        assert found == shown
