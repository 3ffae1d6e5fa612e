"""A page of an ApplicationMaster in a real browser: what its scripts can do, and what they cannot.

The console and the pages are at one host, at two ports, and whoever looks has a cookie for both.
"""

import contextlib
import json
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from playwright.async_api import Page

from shim.domain.ids import ApplicationId
from shim.identity.service import IdentityRules
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.server.proxy import ApplicationPages, PageSettings
from shim.server.rest.callers import BelievedCallers
from shim.server.rest.connection import ConnectionLimits
from shim.server.rest.server import RestServer
from tests.doubles.resource_manager import ScriptedResourceManager
from tests.doubles.settings import usual
from tests.support.console_pages import PATIENCE_S, chromium, serving
from tests.support.scripted_server import ScriptedServer

pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no browser here")

ONE, OTHER = ApplicationId(1_700_000_000_000, 6), ApplicationId(1_700_000_000_000, 7)
PATH = f"/proxy/{ONE}"
SCRIPT = """
const told = {};
const tries = {
  cookie: () => { document.cookie = "hadoop.auth=planted; path=/ws"; return document.cookie; },
  storage: () => { localStorage.setItem("a", "b"); return "kept"; },
  worker: () => navigator.serviceWorker.register("%(path)s/worker.js", { scope: "/" }),
  front: () => fetch("%(front)s/ws/v1/cluster/info", { credentials: "include" }).then((it) => it.text()),
  drain: () => fetch("%(front)s/heddle/v1/clusters/west/drain",
    { method: "POST", credentials: "include", mode: "no-cors" }),
  other: () => fetch("%(other)s/").then((it) => it.text()),
  own: () => fetch("%(path)s/data.json").then((it) => it.json()),
  frame: () => new Promise((end, fail) => {
    const frame = document.createElement("iframe");
    frame.src = "%(front)s/console/";
    frame.onload = () => { try { end(frame.contentDocument.title); } catch (error) { fail(error); } };
    document.body.append(frame);
  }),
};
(async () => {
  for (const [name, what] of Object.entries(tries)) {
    try { told[name] = `did: ${JSON.stringify(await what())}`; } catch (error) { told[name] = "failed"; }
  }
  document.getElementById("told").textContent = JSON.stringify(told);
})();
"""
FILES = {
    "/": ("text/html", ""),
    "/style.css": ("text/css", "h1 { color: rgb(1, 2, 3); }"),
    "/next": ("text/html", "<h1>next</h1>"),
    "/data.json": ("application/json", '{"a": 1}'),
    "/worker.js": ("text/javascript", "self.addEventListener('fetch', () => {});"),
}
HOSTILE = (("Service-Worker-Allowed", "/"), ("Access-Control-Allow-Origin", "*"), ("Set-Cookie", "hadoop.auth=x"))


@dataclass
class Hosts:
    """A ResourceManager's proxy with a hostile page."""

    front: str = ""
    asked: list[tuple[str, str | None]] = field(default_factory=list)

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        del timeout_s
        if not request.is_page:
            return manager.take(request)
        rest = request.path.removeprefix(PATH)
        self.asked.append((rest, request.user))
        kind, text = FILES.get(rest, ("text/html", "another's page"))
        if rest == "/":
            script = SCRIPT % {"front": self.front, "path": PATH, "other": f"/proxy/{OTHER}"}
            text = (
                f'<link rel="stylesheet" href="{PATH}/style.css"><h1>page</h1><a href="{PATH}/next">next</a>'
                f'<pre id="told"></pre><script>{script}</script>'
            )
        return RestAnswer(200, (("Content-Type", kind), *HOSTILE), text.encode())


@contextlib.asynccontextmanager
async def looked_at(own_host: str = "") -> AsyncIterator[tuple[Page, Hosts, ScriptedServer, str]]:
    """A browser with a cookie, looking at the page."""
    server = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True, admins=("alice",)))
    for each in (ONE, OTHER):
        server.federation["west"].add_application(each, user="mallory")
    await server.poll()
    hosts = Hosts()
    server.federation["west"].behave(hosts)
    async with serving(server) as front, chromium() as browser:
        hosts.front = front.replace("127.0.0.1", "localhost")
        settings = PageSettings({}, int(front.rpartition(":")[2]), own_host=own_host)
        pages = ApplicationPages(server.backend, server.identity, BelievedCallers(server.identity), settings)
        at = RestServer(pages, host="127.0.0.1", port=0, limits=usual(ConnectionLimits, request_timeout_s=10.0))
        await at.start()
        try:
            context = await browser.new_context()
            context.set_default_timeout(PATIENCE_S * 1000)
            page = await context.new_page()
            await page.goto(f"{hosts.front}/ws/v1/cluster/info?user.name=alice")
            url = f"http://{own_host or 'localhost'}:{at.url.rpartition(':')[2]}{PATH}/"
            await page.goto(f"{url}?user.name=alice")
            await page.wait_for_function("document.getElementById('told').textContent !== ''")
            yield page, hosts, server, url
        finally:
            await at.stop(grace_s=0.1)


async def told_of(page: Page) -> dict[str, str]:
    told: dict[str, str] = json.loads(await page.inner_text("#told"))
    return told


async def test_scripts_of_a_page_run_and_reach_nothing():
    async with looked_at() as (page, hosts, server, _):
        told = await told_of(page)
        assert told.pop("drain").startswith(("did", "failed"))  # sent without a cookie, or not at all; see below
        assert set(told.values()) == {"failed"}, told
        cookies = {each["name"]: each["value"] for each in await page.context.cookies()}
        assert "u=alice" in cookies["hadoop.auth"]
        assert len(cookies) == 1
        await server.poll()  # whoever is slow has seen nothing of them for long
        assert {each.state for each in server.use_cases.inspection.clusters()} == {"RUNNING"}
        assert not any(path == "/worker.js" for path, _ in hosts.asked)


async def test_a_page_has_its_styles_and_its_links():
    async with looked_at() as (page, hosts, _, url):
        color = await page.evaluate("getComputedStyle(document.querySelector('h1')).color")
        assert color == "rgb(1, 2, 3)"
        await page.click("a")
        await page.wait_for_url(f"{url}next")
        assert await page.inner_text("h1") == "next"
        users = dict(hosts.asked)
        assert (users["/"], users["/style.css"], users["/next"]) == ("alice", "dr.who", "dr.who"), (
            "what a page without an origin asks for comes without cookies, as docs/operators/proxy.md says"
        )


async def test_a_host_name_of_their_own_gives_pages_an_origin_and_no_more_of_heddle():
    async with looked_at("pages.localhost") as (page, _, server, _):
        told = await told_of(page)
        assert told["own"] == 'did: {"a":1}'
        assert told["storage"] == 'did: "kept"'
        assert told["cookie"].startswith("did")
        for each in ("worker", "front", "frame"):
            assert told[each] == "failed", each
        (own,) = [each for each in await page.context.cookies() if each["value"] == "planted"]
        assert own["domain"] == "pages.localhost"
        await server.poll()  # whoever is slow has seen nothing of them for long
        assert {each.state for each in server.use_cases.inspection.clusters()} == {"RUNNING"}
