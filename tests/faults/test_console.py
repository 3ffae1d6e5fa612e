"""The console before real clusters, in a headless browser."""

import asyncio

import pytest

from tests.faults.conftest import Federation
from tests.faults.observing import until
from tests.support.console_pages import chromium, looking

pytestmark = pytest.mark.lab


async def test_what_is_submitted_appears_and_is_explained_and_a_frozen_cluster_shows_its_age(federation: Federation):
    async with chromium() as browser, looking(browser, federation.heddle.url) as looker:
        await looker.go("applications?search=fault")
        await looker.until("document.querySelector('main').innerText.includes(' of ')")
        application_id = await federation.heddle.new_id()
        await federation.heddle.submit(application_id)
        await looker.until(f"document.querySelector('.rows')?.innerText.includes('{application_id}')")

        async def is_at_home() -> bool:
            return bool(await federation.homes(application_id))

        await until(is_at_home)
        (home,) = await federation.homes(application_id)
        await looker.go(f"application/{application_id}")
        await looker.until(f"document.querySelector('main').innerText.includes('{home} (its home)')")
        await looker.until("document.querySelector('.facts')?.innerText.includes('ACCEPTED')")

        await asyncio.to_thread(federation.lab.pause, "west-rm")
        try:
            await looker.go("overview")
            west = "[...document.querySelectorAll('.card')].find((each) => each.innerText.includes('west'))?.innerText"
            await looker.until(
                f"/LOST/.test({west}) && /Heard of\\s+[0-9]{{1,2}}\\.[0-9] s ago/.test({west})", most_s=40
            )
            await looker.until("/error\\s+west/.test(document.querySelector('main').innerText)", most_s=40)
        finally:
            await asyncio.to_thread(federation.lab.resume, "west-rm")
        await looker.until(f"/RUNNING/.test({west})", most_s=60)
