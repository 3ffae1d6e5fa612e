"""A browser that looks at the console of a scripted federation, on a real socket."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from playwright.async_api import Browser, ConsoleMessage, Error, Page, async_playwright

from shim.server.rest.connection import ConnectionLimits
from shim.server.rest.messages import Answer, Request
from shim.server.rest.server import RestServer
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer

_LIMITS = usual(ConnectionLimits, request_timeout_s=10.0, max_connections=64, max_of_address=64)


_TICK_S = 0.02
_GIVEN_UP = "net::ERR_NETWORK_CHANGED"
PATIENCE_S = 120.0
"""Seconds after which something is taken never to come: a busy machine is slow."""


class _ByTasks:
    """Answers requests of a socket, none of them at once."""

    def __init__(self, server: ScriptedServer) -> None:
        self._server = server

    def answer_at_once(self, request: Request) -> Sequence[bytes] | None:
        del request
        return None

    async def answer(self, request: Request) -> Answer:
        return await self._server.server.answer(request)


async def _move_time(server: ScriptedServer) -> None:
    while True:
        await asyncio.sleep(_TICK_S)
        await server.federation.clock.advance(_TICK_S)


@contextlib.asynccontextmanager
async def serving(server: ScriptedServer) -> AsyncIterator[str]:
    """Listen for a while, in which the server's clock moves as the machine's does; gives the address."""
    front = RestServer(_ByTasks(server), host="127.0.0.1", port=0, limits=_LIMITS)
    await front.start()
    moving = asyncio.create_task(_move_time(server))
    try:
        yield front.url
    finally:
        moving.cancel()
        await front.stop(grace_s=0.1)


@dataclass
class Looker:
    """A browser's page, and all that went wrong in it.

    Attributes:
        page: Of Playwright.
        url: Where the server is.
        complaints: Errors of scripts, refusals by the security policy, and requests that left for another host.
        is_given_up: The browser has given up a request since the page began, as this machine's network changed.
    """

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)
    is_given_up: bool = False

    def __post_init__(self) -> None:
        """Listen to the page."""
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._said)
        self.page.on("request", lambda request: self._asked(request.url))
        self.page.on("requestfailed", lambda request: self._failed(request.failure or ""))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def _asked(self, url: str) -> None:
        if not url.startswith((self.url, "data:")):
            self.complaints.append(f"asked {url}")

    def _failed(self, reason: str) -> None:
        self.is_given_up |= reason == _GIVEN_UP

    async def go(self, view: str = "", *, user: str = "") -> None:
        """Open a view by its address behind `#`, as a user if one is named.

        It is loaded again where Chromium gave something up, which it does for every address that anybody adds to this
        machine or takes from it, as labs with hosts of their own do.
        """
        name = f"?user.name={user}" if user else ""
        async with asyncio.timeout(PATIENCE_S):
            await self._load(self.page.goto(f"{self.url}/console/{name}#/{view}"))
            while not await self.page.query_selector("h1"):
                if self.is_given_up:
                    await self._load(self.page.reload())
                await asyncio.sleep(_TICK_S)

    async def _load(self, loading: Awaitable[object]) -> None:
        self.is_given_up = False
        try:
            await loading
        except Error as exc:
            if _GIVEN_UP not in exc.message:
                raise
            self.is_given_up = True

    async def until(self, script: str, *, most_s: float = PATIENCE_S) -> None:
        """Wait for an expression to be true: asked from outside, as the security policy lets no page evaluate texts.

        Raises:
            TimeoutError: It never is.
        """
        async with asyncio.timeout(most_s):
            while not await self.page.evaluate(script):  # noqa: ASYNC110 - the page has no event for it
                await asyncio.sleep(_TICK_S)

    async def text(self, selector: str = "main") -> str:
        """What is read there."""
        return await self.page.inner_text(selector)


@contextlib.asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Debian's Chromium, without a window."""
    async with async_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        try:
            yield browser
        finally:
            await browser.close()


@contextlib.asynccontextmanager
async def looking(
    browser: Browser, url: str, *, width: int = 1400, height: int = 900, is_dark: bool = False
) -> AsyncIterator[Looker]:
    """Whoever has no cookies looks at an address; at the end nothing may have gone wrong in the page."""
    scheme: Literal["dark", "light"] = "dark" if is_dark else "light"
    context = await browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    context.set_default_timeout(PATIENCE_S * 1000)
    try:
        looker = Looker(await context.new_page(), url)
        yield looker
        assert looker.complaints == []
    finally:
        await context.close()
