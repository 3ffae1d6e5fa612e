"""What a browser waits for: first paint and first rows of the console, jumps in a long list, and its longest task."""

import asyncio
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, async_playwright

from scripts.bench.report import figure_table
from scripts.bench.targets import HeddleProcess

_CLUSTERS, _NODES = 10, 100
_SIZES = ((10_000, 0), (10_000, 90_000))
"""Applications that live, and that have ended."""
_OPENED = 5
_VIEWS = {"overview": "main .card", "applications": ".rows tbody td a"}
_JUMPS = (0.5, 0.9, 0.1, 0.999)
_WITHIN_MS = 30_000

_WATCH = """
window.seen = { longest: 0 };
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) window.seen.longest = Math.max(window.seen.longest, task.duration);
}).observe({ type: "longtask", buffered: true });
window.firstShown = (selector) => new Promise((found) => {
  const look = () => document.querySelector(selector) ? found(performance.now()) : requestAnimationFrame(look);
  look();
});
"""
_PAINT = """async () => {
  const painted = () => performance.getEntriesByName("first-contentful-paint")[0];
  while (!painted()) await new Promise(requestAnimationFrame);
  return painted().startTime;
}"""
_JUMP = """async (part) => {
  const rows = document.querySelector(".rows");
  const began = performance.now();
  rows.scrollTo(0, part * rows.scrollHeight);
  const isThere = () => [...rows.querySelectorAll("tbody tr:not(.gap)")].some((row) => {
    const { top, bottom } = row.getBoundingClientRect(), box = rows.getBoundingClientRect();
    return bottom > box.top + 60 && top < box.bottom - 60;
  });
  while (!isThere()) await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""


def first_paint(folder: Path, *, base_port: int, say: Callable[[str], None]) -> Iterator[str]:
    """Rows for federations of each size: medians of fresh browsers, in milliseconds."""
    rows: dict[str, tuple[str, ...]] = {}
    for number, (live, ended) in enumerate(_SIZES):
        size = live + ended
        say(f"first paint: {size} applications")
        command = [sys.executable, "-m", "scripts.bench.scripted_managers"]
        port = base_port + 100 * number
        command += map(str, (port, _CLUSTERS, _NODES, live // _CLUSTERS, ended // _CLUSTERS))
        managers = subprocess.Popen(command, stdout=subprocess.PIPE)
        try:
            assert managers.stdout is not None  # noqa: S101 - a pipe was asked for
            managers.stdout.readline()
            webs = {f"c{index}": f"http://127.0.0.1:{port + index}" for index in range(_CLUSTERS)}
            kept = {"HEDDLE_HISTORY_FINAL_DOCUMENTS": str(max(100, ended))}
            with HeddleProcess(folder / str(size), port=port + 50, subclusters=webs, settings=kept) as heddle:
                rows |= {f"{size}: {view}": told for view, told in asyncio.run(_measured(heddle.url)).items()}
        finally:
            managers.kill()
            managers.wait()
    columns = ("first paint ms", "first content ms", "its processor time ms", "slowest jump ms", "longest task ms")
    yield from figure_table("Applications, up to 10,000 of them live: view", columns, rows)


async def _measured(url: str) -> dict[str, tuple[str, ...]]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        try:
            found = {}
            for view, selector in _VIEWS.items():
                await _opened(browser, url, view, selector)  # the server's first list of this kind
                opened = [await _opened(browser, url, view, selector) for _ in range(_OPENED)]
                found[view] = tuple(_median(each) for each in zip(*opened, strict=True))
            return found
        finally:
            await browser.close()


async def _opened(browser: Browser, url: str, view: str, selector: str) -> tuple[float | None, ...]:
    """One fresh browser: first paint, first content and its processor time, the slowest jump, and the longest task."""
    context = await browser.new_context(viewport={"width": 1400, "height": 900})
    try:
        page = await context.new_page()
        page.set_default_timeout(_WITHIN_MS)
        await page.add_init_script(_WATCH)
        session = await context.new_cdp_session(page)
        await session.send("Performance.enable", {"timeDomain": "threadTicks"})
        await page.goto(f"{url}/console/#/{view}", wait_until="commit")
        content: Any = await page.evaluate("(selector) => window.firstShown(selector)", selector)
        used_s = {each["name"]: each["value"] for each in (await session.send("Performance.getMetrics"))["metrics"]}
        paint: Any = await page.evaluate(_PAINT)
        is_list = view == "applications"
        jump = max([await page.evaluate(_JUMP, part) for part in _JUMPS]) if is_list else None
        longest: Any = await page.evaluate("window.seen.longest")
        return paint, content, 1000.0 * used_s["TaskDuration"], jump, longest
    finally:
        await context.close()


def _median(values: tuple[float | None, ...]) -> str:
    told = [each for each in values if each is not None]
    return f"{statistics.median(told):.0f}" if told else "-"
