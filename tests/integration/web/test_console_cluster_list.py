"""The list of clusters in the console: changed and rolled back in a headless browser, by administrators alone."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser

from shim.app.cluster_list import ClusterFollower, ClusterList, InFile, InStore
from shim.app.reloading import Reloading
from shim.app.use_cases import UseCases
from shim.config.loader import ConfigFile
from shim.domain.ids import ApplicationId, SubClusterId
from shim.identity.service import IdentityRules
from shim.simulation.stores import InMemoryPolicyStore
from tests.doubles.settings import usual
from tests.support.console_pages import Looker, chromium, looking, serving
from tests.support.roles import ROLES
from tests.support.scripted_server import ScriptedServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

EAST = '[[subcluster]]\nid = "east"\nweb = "http://a:1"\n'
WEST = '\n[[subcluster]]\n# the new hall\nid = "west"\nweb = "http://b:1"\n'
HOSTILE = '"><img src=x onerror="window.taken=1">'
SECRET = "swordfish"


async def in_order() -> tuple[str, ...]:
    return ()


async def nothing_on_its_way() -> set[SubClusterId]:
    return set()


class Lists:
    """A server of east and west whose list is kept in a store, or in a file.

    Attributes:
        lists: Versions in the store.
        file: Of the configuration.
    """

    def __init__(self, folder: Path, *, managed: str, rules: IdentityRules) -> None:
        self.file = folder / "heddle.toml"
        others = f'[security.proxyuser.{SECRET}]\nhosts = ["*"]\n'
        head = f'[clusters]\nmanaged = "{managed}"\n'
        self.file.write_text(head + others + (EAST + WEST if managed == "file" else ""))
        self._managed = managed
        self.server = ScriptedServer(rules=rules, cluster_list=self._clusters)

    def _clusters(self, made: UseCases) -> ClusterList:
        clock = made.runtime.clock
        read = ConfigFile(self.file, {}, lambda _: EAST + WEST)
        config = read()
        reloading = Reloading(config, read, check=in_order)
        self.lists = InMemoryPolicyStore(now_s=clock.now_s)
        follower = ClusterFollower(config, self.lists, read, reloading, clock)
        place = InStore(self.lists, read, follower) if self._managed == "store" else InFile(config, read, reloading)
        return ClusterList(
            config, place, reloading, administration=made.administration, intended=nothing_on_its_way, clock=clock
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as opened:
        yield opened


@pytest.fixture
def rules() -> IdentityRules:
    return usual(IdentityRules, allow_anonymous=True, admins=("queen",))


@pytest_asyncio.fixture(loop_scope="module")
async def stored(tmp_path: Path, rules: IdentityRules) -> Lists:
    made = Lists(tmp_path, managed="store", rules=rules)
    await made.lists.apply(1, EAST + WEST, by="ada", note=HOSTILE)
    await made.server.poll()
    return made


async def confirmed(looker: Looker) -> None:
    """What is asked is done."""
    await looker.page.wait_for_selector("dialog button.danger")
    await looker.page.click("dialog button.danger")
    await looker.until("!document.querySelector('dialog')")


async def add_north(looker: Looker, web: str = "http://c:1") -> None:
    await looker.page.click("button:text('Add a cluster…')")
    await looker.page.fill("input[name=id]", "north")
    await looker.page.fill("input[name=web]", web)
    await looker.page.click("button:text('Show what it changes')")


async def test_a_cluster_is_added_after_its_lines_were_seen(browser, stored):
    async with serving(stored.server) as url, looking(browser, url, width=400) as looker:
        await looker.go("clusters", user="queen")
        await add_north(looker)
        await looker.until("document.querySelector('dialog .diff')")
        assert '+ id = "north"\n' in await looker.text("dialog .diff")
        assert (await stored.lists.newest()).version == 1
        found = await Axe().run(looker.page)
        assert [each["id"] for each in found.response["violations"]] == []
        assert await looker.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await looker.page.fill("dialog input", HOSTILE)
        for number in range(7):  # the page behind is drawn anew, and what was typed stays
            stored.server.federation["east"].add_application(ApplicationId(1, number))
        await stored.server.poll()
        await looker.until("document.querySelector('main').innerText.includes('7 live applications')")
        await confirmed(looker)
        await looker.until("!document.querySelector('input[name=id]')")
        newest = await stored.lists.newest()
        assert (newest.version, newest.applied_by, newest.note) == (2, "queen", HOSTILE)
        assert 'id = "north"\nweb = "http://c:1"' in newest.text
        assert await looker.page.evaluate("window.taken") is None
    changes = [(each.audit, each.caller and each.caller.user) for each in stored.server.exchanges if each.audit]
    assert changes == [("cluster.add", "queen")] * 2  # the dry run, and the change


async def test_what_is_said_of_a_cluster_is_edited_and_comments_stay(browser, stored):
    async with serving(stored.server) as url, looking(browser, url) as looker:
        await looker.go("clusters", user="queen")
        await looker.page.click("button:text('Edit west…')")
        typed = await looker.page.input_value("textarea")
        assert typed == WEST.lstrip("\n")
        await looker.page.fill("textarea", typed.replace("http://b:1", "http://b:2"))
        await looker.page.click("button:text('Show what it changes')")
        await confirmed(looker)
    newest = await stored.lists.newest()
    assert (newest.text, newest.note) == (EAST + WEST.replace("b:1", "b:2"), "edit west")


async def test_a_cluster_is_removed_once_it_is_drained_and_an_old_list_comes_back(browser, stored):
    async with serving(stored.server) as url, looking(browser, url) as looker:
        await looker.go("clusters", user="queen")
        await looker.page.click("button:text('Remove west…')")
        await looker.until("document.querySelector('dialog')?.innerText.includes('heddle cluster drain west --wait')")
        assert await looker.page.query_selector_all("dialog button.danger") == []
        await looker.page.click("dialog button")
        await stored.server.administration.drain(SubClusterId("west"), by="queen")
        await looker.page.click("button:text('Remove west…')")
        await confirmed(looker)
        assert (await stored.lists.newest()).text.strip() == EAST.strip()
        await looker.until("document.querySelectorAll('#cluster-list ~ details').length == 2")
        await looker.page.click("#cluster-list ~ details summary >> nth=1")
        await looker.page.click("#cluster-list ~ details >> nth=1 >> button:text('Roll back…')")
        await confirmed(looker)
    newest = await stored.lists.newest()
    assert (newest.version, newest.text, newest.note) == (3, EAST + WEST, "version 1 again")


async def test_what_another_one_has_changed_meanwhile_is_not_written_over(browser, stored):
    async with serving(stored.server) as url, looking(browser, url) as looker:
        await looker.go("clusters", user="queen")
        await add_north(looker)
        await looker.page.wait_for_selector("dialog button.danger")
        await stored.lists.apply(2, EAST, by="ada", note="")
        await looker.page.click("dialog button.danger")
        await looker.until("document.querySelector('dialog .trouble')?.innerText.includes('version 2 holds, not 1')")
    assert (await stored.lists.newest()).applied_by == "ada"


async def test_what_cannot_be_used_is_told_in_words(browser, stored):
    async with serving(stored.server) as url, looking(browser, url) as looker:
        await looker.go("clusters", user="queen")
        await add_north(looker, web=HOSTILE)
        await looker.until("document.querySelector('dialog')?.innerText.includes('web')")
        assert await looker.page.query_selector_all("dialog button.danger, dialog .diff") == []
        assert await looker.page.evaluate("window.taken") is None


async def test_a_file_is_written_and_nothing_else_of_it_is_told(browser, tmp_path, rules):
    of_file = Lists(tmp_path, managed="file", rules=rules)
    await of_file.server.poll()
    before = of_file.file.read_text()
    async with serving(of_file.server) as url, looking(browser, url) as looker:
        said: list[str] = []
        looker.page.on("response", lambda answer: said.append(answer.url))
        await looker.go("clusters", user="queen")
        await looker.until("document.querySelector('#cluster-list ~ .note')?.innerText.includes('heddle.toml')")
        await add_north(looker)
        await looker.until("document.querySelector('dialog')?.innerText.includes('configuration file')")
        assert of_file.file.read_text() == before
        await confirmed(looker)
        assert SECRET not in await looker.page.content()
    assert of_file.file.read_text().startswith(before)
    assert 'id = "north"' in of_file.file.read_text()


@pytest.mark.parametrize("role", ["viewer", "operator"])
async def test_others_see_no_list_and_ask_for_none(browser, tmp_path, role):
    others = Lists(tmp_path, managed="store", rules=ROLES)
    await others.server.poll()
    async with serving(others.server) as url, looking(browser, url) as looker:
        asked: list[str] = []
        looker.page.on("request", lambda request: asked.append(request.url))
        await looker.go("clusters", user=f"a-{role}")
        await looker.until("document.querySelectorAll('section.card').length == 2")
        assert await looker.page.query_selector_all("#cluster-list") == []
        assert not [each for each in asked if "cluster-versions" in each]
