"""The console before real clusters: what the `yarn` command submits, and what operators say."""

import asyncio
import re
import subprocess
import time

import pytest
from typer.testing import CliRunner

from shim.cli.main import app
from tests.support.console_pages import Looker, chromium, looking
from tests.support.stock_client import StockClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_SHELL = "org.apache.hadoop.yarn.applications.distributedshell.Client"
_SEEN_MS = """async (text) => {
  while (!document.querySelector(".rows")?.innerText.includes(text)) await new Promise(requestAnimationFrame);
  return Date.now();
}"""
_SOON_S = 2.0
_TRIES = 10


def submitted(process: subprocess.Popen[str]) -> tuple[str, float]:
    """The id that a client prints as soon as its application is taken, and when that was; seconds since the epoch."""
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"Submitted application (application_\d+_\d+)", line):
            return found[1], time.time()
    raise AssertionError("the client has submitted nothing")


async def appears_after_s(client: StockClient, looker: Looker, name: str) -> float:
    """Seconds from when `yarn` is told that its job is taken to when the browser shows it."""
    jar = client.jar("hadoop-yarn-applications-distributedshell")
    seen: asyncio.Task[float] = asyncio.create_task(looker.page.evaluate(_SEEN_MS, name))
    with client.running(_SHELL, "-jar", jar, "-shell_command", "true", "-appname", name) as process:
        application, taken_s = await asyncio.to_thread(submitted, process)
        async with asyncio.timeout(30):
            seen_s = await seen / 1000
        await asyncio.to_thread(client.yarn, "application", "-kill", application)
    return seen_s - taken_s


async def test_a_job_of_the_yarn_command_appears_within_two_seconds(lab, heddle, tmp_path):
    client = StockClient(lab, tmp_path, heddle)
    async with chromium() as browser, looking(browser, heddle.url) as looker:
        await looker.go("applications")
        await looker.until("document.querySelector('.rows')")
        waits = []
        while not waits or (min(waits) > _SOON_S and len(waits) < _TRIES):  # a busy machine may be late once
            waits.append(await appears_after_s(client, looker, f"appears-{len(waits)}"))
        assert min(waits) <= _SOON_S


async def test_a_cluster_that_is_drained_shows_it_until_it_is_undrained(heddle):
    async def say(word: str) -> None:
        told = await asyncio.to_thread(CliRunner().invoke, app, ["cluster", word, "west", "--server", heddle.url])
        assert told.exit_code == 0, told.output

    west = "[...document.querySelectorAll('.card')].find((each) => each.innerText.includes('west'))?.innerText"
    async with chromium() as browser, looking(browser, heddle.url) as looker:
        await looker.go("overview")
        await looker.until(f"/RUNNING/.test({west})")
        await say("drain")
        try:
            await looker.until(f"/DRAINING/.test({west})")
        finally:
            await say("undrain")
        await looker.until(f"/RUNNING/.test({west})")
