"""The console before real clusters: what the `yarn` command submits, and what operators say."""

import asyncio
import re
import subprocess

import pytest
from typer.testing import CliRunner

from shim.cli.main import app
from tests.support.console_pages import chromium, looking
from tests.support.stock_client import StockClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_SHELL = "org.apache.hadoop.yarn.applications.distributedshell.Client"
_SEEN = """async (text) => {
  while (!document.querySelector(".rows")?.innerText.includes(text)) await new Promise(requestAnimationFrame);
}"""


def submitted(process: subprocess.Popen[str]) -> str:
    """The id that a client prints as soon as its application is taken."""
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"Submitted application (application_\d+_\d+)", line):
            return found[1]
    raise AssertionError("the client has submitted nothing")


async def test_a_job_of_the_yarn_command_appears_by_itself(lab, heddle, tmp_path):
    client = StockClient(lab, tmp_path, heddle)
    async with chromium() as browser, looking(browser, heddle.url) as looker:
        await looker.go("applications")
        await looker.until("document.querySelector('.rows')")
        seen = asyncio.create_task(looker.page.evaluate(_SEEN, "appears"))
        jar = client.jar("hadoop-yarn-applications-distributedshell")
        with client.running(_SHELL, "-jar", jar, "-shell_command", "true", "-appname", "appears") as process:
            application = await asyncio.to_thread(submitted, process)
            async with asyncio.timeout(120):
                await seen
            await asyncio.to_thread(client.yarn, "application", "-kill", application)


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
