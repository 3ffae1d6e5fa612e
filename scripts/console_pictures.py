"""Take the pictures of the console that are in the documentation: `python -m scripts.console_pictures`.

A browser looks at made-up clusters, the same each time, in the middle of a night of January 2027. Needs Chromium. With
`--all FOLDER` every view is taken wide and narrow, light and dark, for whoever changes how they look.
"""

import argparse
import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from playwright.async_api import Browser

from tests.support.console_pages import Looker, chromium, looking, serving
from tests.support.made_up_federation import NOW_MS, SPANNING, made_up, some_containers
from tests.support.scripted_server import ScriptedServer

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
VIEWS = {
    "overview": "overview",
    "applications": "applications?sort=id&group=queue",
    "application": f"application/{SPANNING.application}",
    "queues": "queues?hours=6",
    "policies": "policies",
    "clusters": "clusters",
    "decisions": "decisions",
    "masters": "masters",
    "simulate": "simulate",
    "audit": "audit",
}
_LOOK_S = 2.0
_POLL_S = 1.0
_WIDE, _NARROW = (1400, 900), (400, 800)
_RUN = (
    "simulate --compare random,sparrow,heddle --load 0.9 --jobs 40 --tasks 40 --task-s 2 --workers 60 --lms 3 --gms 2"
)


def _figures(folder: Path) -> Path:
    """A small run of three schedulers, for the view of simulations."""
    figures = folder / "run.json"
    subprocess.run(
        [sys.executable, "-m", "shim", *_RUN.split(), "--plot", str(figures)], check=True, stdout=subprocess.DEVNULL
    )
    return figures


async def _see(looker: Looker, name: str, figures: Path) -> None:
    """Open a view, and do what somebody would do there."""
    page = looker.page
    attempts = {"appAttempts": {"appAttempt": [{"appAttemptId": str(SPANNING)}]}}
    await page.clock.set_fixed_time(NOW_MS / 1000)
    await page.route("**/appattempts", lambda route: route.fulfill(json=attempts))
    await page.route("**/appattempts/*/containers", lambda route: route.fulfill(json={"container": some_containers()}))
    await looker.go(VIEWS[name], user="oona")
    await asyncio.sleep(_LOOK_S)
    if name == "policies":
        typed = await page.input_value("textarea")
        await page.fill("textarea", typed.replace("weight = 2\nmax_running", "weight = 5\nmax_running"))
        await page.click("button:text('Compare with what holds')")
    if name == "simulate":
        await page.set_input_files("input[type=file]", str(figures))
    await asyncio.sleep(_LOOK_S)


async def _picture(
    browser: Browser, url: str, name: str, path: Path, figures: Path, *, is_narrow: bool, is_dark: bool
) -> None:
    width, height = _NARROW if is_narrow else _WIDE
    async with looking(browser, url, width=width, height=height, is_dark=is_dark) as looker:
        await _see(looker, name, figures)
        await looker.page.screenshot(path=str(path), full_page=is_narrow)


@contextlib.asynccontextmanager
async def _polled(server: ScriptedServer) -> AsyncIterator[None]:
    """The clusters answer all the while; nothing else moves, so that pictures stay the same."""

    async def poll() -> None:
        while True:
            await server.poll()
            await asyncio.sleep(_POLL_S)

    polling = asyncio.create_task(poll())
    try:
        yield
    finally:
        polling.cancel()


async def _take(folder: Path, *, is_everything: bool) -> None:
    server = await made_up()
    with tempfile.TemporaryDirectory() as scratch:
        figures = _figures(Path(scratch))
        async with serving(server) as url, _polled(server), chromium() as browser:
            for name in VIEWS:
                if not is_everything:
                    path = folder / f"console-{name}.png"
                    await _picture(browser, url, name, path, figures, is_narrow=False, is_dark=False)
                    continue
                for is_narrow in (False, True):
                    for is_dark in (False, True):
                        kind = f"{'narrow' if is_narrow else 'wide'}-{'dark' if is_dark else 'light'}"
                        path = folder / f"{name}-{kind}.png"
                        await _picture(browser, url, name, path, figures, is_narrow=is_narrow, is_dark=is_dark)


def main() -> None:
    """Take them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="every view in every form, into a folder")
    everything = parser.parse_args().all
    if everything is not None:
        everything.mkdir(parents=True, exist_ok=True)
    os.environ["TZ"] = "UTC"
    asyncio.run(_take(everything or PICTURES, is_everything=everything is not None))


if __name__ == "__main__":
    main()
