"""Logs in the console, in a headless browser: what ran is read from a folder, what runs is told as it grows."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Route

from adapters.yarn.log_folder import LogFolder
from shim.domain.ids import ApplicationId, SubClusterId
from shim.identity.service import IdentityRules
from tests.doubles.settings import usual
from tests.support.console_pages import Looker, chromium, looking, serving
from tests.support.scripted_server import ScriptedServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

ID = ApplicationId(1_700_000_000_000, 6)
ATTEMPT = "appattempt_1700000000000_0006_000001"
CONTAINER = "container_1700000000000_0006_01_000009"
WRITTEN = Path(__file__).parents[2] / "unit" / "protocol" / "yarn" / "written_by_hadoop" / "none"
HOSTILE = "<img src=x onerror='window.taken=1'>\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def url(tmp_path: Path) -> AsyncIterator[str]:
    folder = tmp_path / "ada" / "logs" / str(ID)
    folder.mkdir(parents=True)
    (folder / "west_45454").write_bytes(WRITTEN.read_bytes())
    archives = {SubClusterId("west"): LogFolder(tmp_path)}
    server = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True), archives=archives)
    server.federation["west"].add_application(ID, "FINISHED", user="ada")
    await server.poll()
    async with serving(server) as address:
        yield address


async def grows(looker: Looker) -> None:
    """Let the application run: a file of a container gets a line with each question."""
    text = HOSTILE

    async def answer(route: Route) -> None:
        nonlocal text
        url = urlsplit(route.request.url)
        query = parse_qs(url.query)
        told: dict[str, object] = {"appAttempts": {"appAttempt": [{"appAttemptId": ATTEMPT}]}}
        if url.path.endswith("/containers"):
            told = {"container": [{"containerId": CONTAINER}]}
        elif url.path.endswith("/logs"):
            told = {"container": CONTAINER, "node": "n:1", "cluster": "east", "files": [{"file": "out", "bytes": 1}]}
        elif url.path.endswith("/out"):
            text += f"line {text.count('line')}\n"
            start = int(query.get("after", ["0"])[0])
            told = {"text": text[start:], "start": start, "size": len(text)}
            if "grep" in query:
                told |= {"text": "found\n", "matches": 1, "searched": len(text), "more": False}
        await route.fulfill(body=json.dumps(told), content_type="application/json")

    await looker.page.route("**/appattempts**", answer)
    await looker.page.route("**/heddle/v1/containers/**", answer)


async def test_what_was_aggregated_is_listed_shown_and_searched(browser, url):
    async with looking(browser, url, width=400) as looker:
        await looker.go(f"application/{ID}", user="ada")
        await looker.page.click("dd a:text('of its containers')")
        await looker.until("document.querySelectorAll('main tbody tr').length == 6")
        await looker.page.click("main tbody a:text('stderr') >> nth=0")
        await looker.until("document.querySelector('pre.log')?.innerText.includes('oh d')")
        assert "file=container_" in looker.page.url
        assert await looker.page.query_selector_all("input[type=checkbox]") == []
        assert await looker.page.evaluate("document.documentElement.scrollWidth") <= 400
        assert (await Axe().run(looker.page)).response["violations"] == []
        await looker.page.fill("input[type=search]", "nowhere (.*)")
        await looker.until("document.querySelector('main [role=status]')?.innerText.startsWith('0 lines in')")


async def test_what_runs_is_followed_as_text_until_it_is_searched(browser, url):
    async with looking(browser, url) as looker:
        await grows(looker)
        await looker.go(f"logs/{ID}?file={CONTAINER}%2Fout", user="ada")
        await looker.until("document.querySelector('pre.log')?.innerText.includes('line 1')")
        text = await looker.text("pre.log")
        assert text.count("line 0") == 1
        assert HOSTILE.strip() in text
        assert await looker.page.evaluate("window.taken") is None
        await looker.page.fill("input[type=search]", "found")
        await looker.until("document.querySelector('pre.log')?.innerText.trim() == 'found'")


async def test_where_there_is_nothing_the_reason_is_told(browser, url):
    async with looking(browser, url) as looker:
        await looker.go(f"logs/{ID}", user="eve")
        await looker.until("document.querySelector('.trouble')?.innerText.includes('logs are for')")
