"""A whole Heddle behind a real OpenID provider: browsers log in, programs show its tokens."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import Browser, Page

from shim.app.bootstrap import Heddle
from shim.config.loader import parse
from tests.doubles.postgresql import free_addresses
from tests.support.console_pages import chromium
from tests.support.oidc_provider import OIDCProvider, a_key

pytestmark = pytest.mark.asyncio(loop_scope="module")

RESOURCE = "https://heddle.example.com"
WHO, APPS = "/heddle/v1/console/caller", "/ws/v1/cluster/apps"


@dataclass
class World:
    """What runs.

    Attributes:
        heard: Headers of all that the cluster was asked.
    """

    heddle: Heddle
    provider: OIDCProvider
    heard: list[tuple[str, dict[str, str]]]


@pytest.fixture(scope="module")
def address() -> str:
    return free_addresses(1)[0]


@pytest.fixture(scope="module")
def provider(address: str, oidc_provider: Any) -> Iterator[OIDCProvider]:
    with oidc_provider(f"http://{address}", groups={"olga": ["ops"], "vera": []}, resource=RESOURCE) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(address: str, provider: OIDCProvider, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("oidc")
    heard: list[tuple[str, dict[str, str]]] = []

    async def answer(request: web.Request) -> web.Response:
        heard.append((request.path, dict(request.headers)))
        return web.json_response({}, status=404)

    cluster = web.Application()
    cluster.router.add_route("*", "/{tail:.*}", answer)
    runner = web.AppRunner(cluster)
    await runner.setup()
    (east,) = free_addresses(1)
    await web.TCPSite(runner, "127.0.0.1", int(east.rpartition(":")[2])).start()
    secret = folder / "client-secret"
    secret.touch(mode=0o600)
    secret.write_text(provider.client_secret)
    text = written(folder, address, provider, east, secret)
    async with Heddle(parse(text, source="heddle.toml", environment={})) as running:
        yield World(running, provider, heard)
    await runner.cleanup()


def written(folder: Path, address: str, provider: OIDCProvider, east: str, secret: Path) -> str:
    return f"""
        [server]
        rest = "{address}"
        client_rpc = ""
        scheduler_rpc = ""
        admin_rpc = ""
        [store]
        url = "sqlite:///{folder}/heddle.db"
        [security]
        group_overrides = "robot=;other-robot=;olga=;vera="
        [security.roles]
        viewers = ["*"]
        users = ["robot"]
        operators = ["group:oidc:ops"]
        [security.oidc]
        issuer = "{provider.issuer}"
        client_id = "heddle"
        client_secret_file = "{secret}"
        url = "http://{address}"
        scopes = ["openid", "groups"]
        audiences = ["{RESOURCE}"]
        [poll]
        interval_s = 0.2
        [[subcluster]]
        id = "east"
        web = "http://{east}"
        """


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def page(browser: Browser) -> AsyncIterator[Page]:
    context = await browser.new_context()
    yield await context.new_page()
    await context.close()


@pytest_asyncio.fixture(loop_scope="module")
async def program(world: World) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=world.heddle.url, trust_env=False) as client:
        yield client


async def log_in(page: Page, user: str) -> None:
    """What somebody does on the provider's pages."""
    await page.fill("input[name=login]", user)
    await page.fill("input[name=password]", "any")
    await page.click("button[type=submit]")
    await page.click("button[type=submit]")  # yes, Heddle may know who it is


async def cookie_of(page: Page, url: str, name: str) -> dict[str, Any] | None:
    """A cookie that a browser would send to an address."""
    found: Any = await page.context.cookies(url)
    return next((each for each in found if each["name"] == name), None)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_a_browser_logs_in_and_gets_the_role_of_its_groups(world: World, page: Page) -> None:
    await page.goto(f"{world.heddle.url}/console/")
    assert page.url.startswith(world.provider.issuer), "whoever is not logged in is sent to the provider"
    await log_in(page, "olga")
    await page.wait_for_url(f"{world.heddle.url}/console/**")
    await page.wait_for_selector(".who:has-text('olga, operator')")
    cookie = await cookie_of(page, world.heddle.url, "heddle.session")
    assert cookie is not None
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Lax", "/")
    assert "olga" not in cookie["value"]
    assert await cookie_of(page, world.heddle.url, "hadoop.auth") is None


async def test_a_browser_comes_back_to_where_it_was_going_as_a_viewer(world: World, page: Page) -> None:
    await page.goto(f"{world.heddle.url}/cluster/nodes?x=1")
    await log_in(page, "vera")
    await page.wait_for_url(f"{world.heddle.url}/cluster/nodes?x=1")
    await page.goto(f"{world.heddle.url}/console/")
    await page.wait_for_selector(".who:has-text('vera, viewer')")
    answer = await page.request.post(f"{world.heddle.url}/heddle/v1/clusters/east/drain?dryRun=true")
    assert answer.status == 403


async def test_a_logout_ends_the_session_also_for_a_copy_of_its_cookie(
    world: World, page: Page, program: httpx.AsyncClient
) -> None:
    await page.goto(f"{world.heddle.url}/console/")
    await log_in(page, "olga")
    await page.wait_for_selector(".who:has-text('olga, operator')")
    copied = await cookie_of(page, world.heddle.url, "heddle.session")
    assert copied is not None
    kept = {"Cookie": f"heddle.session={copied['value']}"}
    assert (await program.get(WHO, headers=kept)).json()["user"] == "olga"
    await page.click("button:text-is('Log out')")
    await page.wait_for_url(f"{world.provider.issuer}/**")
    assert await cookie_of(page, world.heddle.url, "heddle.session") is None
    assert (await program.get(WHO, headers=kept)).status_code == 401


@pytest.mark.parametrize("path", [WHO, APPS, f"{APPS}?user.name=olga", "/metrics", "/heddle/v1/clusters"])
async def test_a_name_alone_is_not_believed(program: httpx.AsyncClient, path: str) -> None:
    refused = await program.get(path)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert "set-cookie" not in refused.headers


async def test_probes_need_no_login(program: httpx.AsyncClient) -> None:
    assert (await program.get("/healthz")).status_code == 200


async def test_a_program_shows_its_token(world: World, program: httpx.AsyncClient) -> None:
    shown = bearer(world.provider.access_token("robot"))
    told = (await program.get(WHO, headers=shown)).json()
    assert (told["user"], told["role"]) == ("robot", "user")
    other = bearer(world.provider.access_token("other-robot"))
    assert (await program.get(WHO, headers=other)).json()["role"] == "viewer"
    assert (await program.get(f"{WHO}?doAs=olga", headers=shown)).status_code == 403
    assert (await program.get(f"{WHO}?user.name=olga", headers=shown)).status_code == 401


async def test_a_token_for_another_service_is_refused(world: World, program: httpx.AsyncClient) -> None:
    shown = bearer(world.provider.access_token("robot", "https://other.example.com"))
    refused = await program.get(WHO, headers=shown)
    assert (refused.status_code, "InvalidAudienceError" in refused.text) == (401, True)


async def test_neither_tokens_nor_cookies_go_to_a_cluster(world: World, program: httpx.AsyncClient) -> None:
    token = world.provider.access_token("robot")
    before = len(world.heard)
    await program.get("/ws/v1/cluster/scheduler-conf?cluster=east", headers=bearer(token))
    assert [path for path, _ in world.heard[before:] if path.endswith("/scheduler-conf")], "the cluster was asked"
    for _, headers in world.heard:
        assert not {name.lower() for name in headers} & {"authorization", "cookie"}
        assert token not in str(headers)


async def test_a_code_that_was_used_is_good_no_more(world: World, page: Page, program: httpx.AsyncClient) -> None:
    seen: list[Any] = []
    page.on("request", lambda request: seen.append(request) if "/oidc/callback" in request.url else None)
    await page.goto(f"{world.heddle.url}/oidc/login")
    kept = await cookie_of(page, f"{world.heddle.url}/oidc/", "heddle.login")
    assert kept is not None
    await log_in(page, "vera")
    await page.wait_for_url(f"{world.heddle.url}/console/**")
    again = await program.get(
        seen[0].url.removeprefix(world.heddle.url), headers={"Cookie": f"heddle.login={kept['value']}"}
    )
    assert again.status_code == 403
    assert "this browser has begun no login here" in again.text, "a login that was begun is good once"
    assert "heddle.session=" not in str(again.headers.get_list("set-cookie"))


async def test_a_login_asks_with_a_challenge_a_state_and_a_nonce_that_are_never_the_same(
    program: httpx.AsyncClient,
) -> None:
    asked = [parse_qs(urlsplit((await program.get("/oidc/login")).headers["location"]).query) for _ in range(2)]
    for name in ("state", "nonce", "code_challenge"):
        assert len({each[name][0] for each in asked}) == 2
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", each[name][0]) for each in asked)
    assert asked[0]["code_challenge_method"] == ["S256"]


async def test_an_api_token_still_counts_beside_tokens_of_the_provider(
    world: World, program: httpx.AsyncClient
) -> None:
    shown = bearer(world.provider.access_token("robot"))
    made = await program.post("/heddle/v1/tokens", headers=shown, json={"name": "ci", "scopes": ["submit"]})
    told = (await program.get(WHO, headers=bearer(made.json()["token"]))).json()
    assert (told["user"], told["role"]) == ("robot", "user")


async def test_after_a_change_of_keys_new_tokens_count_and_old_ones_do_not(
    world: World, program: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.oidc.keys._PAUSE_S", 0.0)
    old = bearer(world.provider.access_token("robot"))
    assert (await program.get(WHO, headers=old)).status_code == 200
    world.provider.stop()
    world.provider.start(a_key())
    new = bearer(world.provider.access_token("robot"))
    assert (await program.get(WHO, headers=new)).status_code == 200
    refused = await program.get(WHO, headers=old)
    assert (refused.status_code, "not signed by a key" in refused.text) == (401, True)
