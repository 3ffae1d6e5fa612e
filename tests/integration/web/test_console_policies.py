"""Policies, queues and simulations in the console, in a headless browser before made-up clusters."""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser

from shim.identity.service import IdentityRules
from tests.doubles.settings import usual
from tests.support.console_pages import Looker, chromium, looking, serving
from tests.support.made_up_federation import SPANNING, made_up, some_containers
from tests.support.scripted_server import ScriptedServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOSTILE = '"><img src=x onerror="window.taken=1">'
BARS = [{"name": HOSTILE, "from_s": 0, "start_s": 1, "to_s": 3}]
FIGURES = {
    "heddle_figures": 1,
    "title": HOSTILE,
    "columns": [["POLICY", "policy"]],
    "rows": [{"policy": HOSTILE}],
    "distributions": [{"title": "delay", "lines": [{"name": HOSTILE, "percentiles": [*range(101)]}]}],
    "over_time": [{"title": "use", "lines": [{"name": "x", "at_s": [0, 1], "values": [1, 2]}]}],
    "jobs": [{"name": "x", "bars": BARS}],
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def server() -> ScriptedServer:
    return await made_up()


@pytest_asyncio.fixture(loop_scope="module")
async def url(server: ScriptedServer) -> AsyncIterator[str]:
    async with serving(server) as address:
        yield address


async def is_accessible(looker: Looker) -> bool:
    """Whether axe finds nothing, and nothing is wider than the window."""
    found = await Axe().run(looker.page)
    wrong = [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in found.response["violations"]]
    assert wrong == []
    return bool(await looker.page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


async def type_policy(looker: Looker, old: str, new: str) -> None:
    typed = await looker.page.input_value("textarea")
    assert old in typed
    await looker.page.fill("textarea", typed.replace(old, new))
    await looker.page.click("button:text('Compare with what holds')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_what_another_policy_would_change_is_shown_before_it_is_applied(browser, server, url, scheme):
    async with looking(browser, url, width=400, is_dark=scheme == "dark") as looker:
        await looker.go("policies", user="oona")
        await type_policy(looker, "weight = 2\nmax_running", "weight = 5\nmax_running")
        await looker.until("document.querySelectorAll('[aria-label=\"Queues, now and then\"] tbody tr').length == 4")
        table = await looker.text("[aria-label='Queues, now and then']")
        assert "root.adhoc\t30 %\t30 %\t\t25 %\t45 %\t+20.5" in table
        assert await looker.text(".diff .new") == "+ weight = 5\n"
        assert await is_accessible(looker)
        assert server.use_cases.shares.policies.newest.version == 2
        await looker.page.click("button:text('Apply…')")
        await looker.page.fill("dialog input", "more for analysts")
        await looker.page.click("dialog button.danger")
        await looker.until("!document.querySelector('dialog')")
    newest = server.use_cases.shares.policies.newest
    assert (newest.version, newest.applied_by, newest.note) == (3, "oona", "more for analysts")
    assert "weight = 5" in newest.text


async def test_a_policy_that_another_one_overtook_is_not_applied(browser, server, url):
    async with looking(browser, url) as looker:
        await looker.go("policies", user="oona")
        await type_policy(looker, "weight = 3", "weight = 4")
        await looker.page.click("button:text('Apply…')")
        await server.use_cases.shares.policies.apply("", source="other", by="ada")
        await looker.page.click("dialog button.danger")
        await looker.until("document.querySelector('dialog .trouble')?.innerText.includes('version 3 holds, not 2')")
    assert server.use_cases.shares.policies.newest.applied_by == "ada"


async def test_a_policy_that_is_none_is_told_with_its_line(browser, url):
    async with looking(browser, url) as looker:
        await looker.go("policies", user="lin")
        await type_policy(looker, 'name = "root.adhoc"', 'title = "root.adhoc"')
        await looker.until("/the policy:1?[0-9]: queue.2..title/.test(document.querySelector('.trouble')?.innerText)")


async def test_others_compare_and_see_no_button_that_changes_anything(browser, server, url):
    async with looking(browser, url) as looker:
        await looker.go("policies", user="lin")
        await type_policy(looker, "weight = 3", "weight = 4")
        await looker.until("document.querySelector('.diff')")
        await looker.page.click("summary >> nth=1")
        await looker.until("document.querySelector('details[open] .diff, details[open] pre')")
        assert await looker.page.query_selector_all("button:text('Apply…'), button:text('Roll back…')") == []
    strict = ScriptedServer(rules=usual(IdentityRules))
    await strict.poll()
    async with serving(strict) as address, looking(browser, address) as looker:
        await looker.go("policies")
        await looker.until("document.querySelector('details')")
        assert await looker.page.query_selector_all("textarea, main button") == []


async def test_a_version_is_rolled_back_after_its_difference_was_seen(browser, server, url):
    async with looking(browser, url) as looker:
        await looker.go("policies", user="oona")
        await looker.page.click("summary >> nth=0")
        await looker.until("document.querySelector('details[open] .diff')")
        assert (await looker.text("details[open] .diff .gone")).endswith("weight = 1\n")
        await looker.page.click("summary >> nth=1")
        await looker.page.click("details >> nth=1 >> button:text('Roll back…')")
        await looker.page.click("dialog button.danger")
        await looker.until("!document.querySelector('dialog')")
    newest = server.use_cases.shares.policies.newest
    assert (newest.version, newest.note) == (3, "version 1 again")


async def test_queues_are_a_tree_whose_parts_are_closed_in_the_address(browser, url):
    async with looking(browser, url, width=400) as looker:
        await looker.go("queues?hours=6", user="oona")
        await looker.until("document.querySelectorAll('[aria-label=Queues] tbody tr').length == 5")
        await looker.until("document.querySelector('.chart canvas')")
        assert await is_accessible(looker)
        await looker.page.click(".twist")
        await looker.until("document.querySelectorAll('[aria-label=Queues] tbody tr').length == 1")
        assert "closed=root" in looker.page.url
        assert "8.9 TiB" in await looker.text("[aria-label=Queues] tbody")


async def test_containers_stand_by_cluster_on_a_timeline(browser, url):
    async with looking(browser, url) as looker:
        attempts = {"appAttempts": {"appAttempt": [{"appAttemptId": str(SPANNING)}]}}
        listed = some_containers()
        await looker.page.route("**/appattempts", lambda route: route.fulfill(json=attempts))
        await looker.page.route("**/containers", lambda route: route.fulfill(json={"container": listed}))
        await looker.go(f"application/{SPANNING.application}", user="oona")
        await looker.until("document.querySelectorAll('.lane').length == 31")
        assert (await looker.text(".legend")).split() == ["north", "west"]
        assert await looker.page.evaluate("document.querySelectorAll('.lane .c1').length") == 12
        del listed[0]
        await looker.until("document.querySelectorAll('.lane i:not(.open)').length == 1")


async def test_figures_of_a_run_are_drawn_and_go_nowhere(browser, url, tmp_path):
    file = tmp_path / "run.json"
    file.write_text(json.dumps(FIGURES))
    async with looking(browser, url, width=400) as looker:
        await looker.go("simulate", user="lin")
        sent: list[str] = []
        looker.page.on("request", lambda request: sent.append(request.method))
        await looker.page.set_input_files("input[type=file]", str(file))
        await looker.until("document.querySelectorAll('.chart canvas').length == 2")
        assert HOSTILE in await looker.text("h2")
        assert await looker.page.evaluate("window.taken") is None
        assert await is_accessible(looker)
        file.write_text('{"apps": []}')
        await looker.page.set_input_files("input[type=file]", str(file))
        await looker.until("document.querySelector('.trouble')?.innerText.includes('These are no figures')")
        assert "POST" not in sent
