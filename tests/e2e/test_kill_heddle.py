"""Heddle dies by SIGKILL at every step of a submission, a hundred times: nothing acknowledged is lost or doubled.

Nor is it, or anybody refused, when clusters come and go by a configuration that is read anew.
"""

import asyncio
import getpass
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest

from shim.lab import Lab
from shim.submission.crash_points import CrashPoint
from tests.doubles.postgresql import free_port
from tests.support.kill_trials import KillTrials, TrialSettings, federation_toml
from tests.support.masters import until
from tests.support.started import Started

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("kills", [pytest.param(17, marks=pytest.mark.main_promise), 102])
async def test_what_was_acknowledged_runs_exactly_once_whatever_step_heddle_died_at(
    lab: Lab, tmp_path: Path, kills: int
) -> None:
    webs = {name: cluster.url for name, cluster in lab.clusters.items()}
    rest = f"127.0.0.1:{free_port()}"
    config = federation_toml(tmp_path, webs, rest=rest)
    history = await KillTrials(config, f"http://{rest}", webs, TrialSettings(kills=kills)).run()
    print(history.summary())  # noqa: T201 - the figures of the run
    assert history.lost() == []
    assert history.doubled() == []
    assert sum(history.deaths.values()) == kills
    assert {point.value for point in CrashPoint} - {CrashPoint.REHOMED.value} <= set(history.deaths)
    assert len(history.acknowledged) > kills


class Site:
    """A started Heddle that clients submit to without a pause, each call by a connection of its own.

    One that is kept open may be closed just as the next call is written to it: those are for clients to try again.
    """

    def __init__(self, heddle: Started, url: str, trials: KillTrials, session: aiohttp.ClientSession) -> None:
        self.heddle = heddle
        self.url = url
        self.trials = trials
        self.session = session
        self.history = trials.history
        self._enough = asyncio.Event()
        self._clients = [asyncio.create_task(self._client()) for _ in range(3)]

    async def _client(self) -> None:
        while not self._enough.is_set():
            await self.trials.submit(self.session)
            await asyncio.sleep(0.25)  # a ResourceManager forgets of what has ended all but the last thousand

    async def counts(self, text: str) -> None:
        """Have a configuration read anew, and wait until clients have submitted by it."""
        self.heddle.config.write_text(text)
        before = await self._since()
        self.heddle.process.send_signal(signal.SIGHUP)
        await until(self._changed(before))
        wanted = len(self.history.acknowledged) + 10
        await until(self.has(lambda: len(self.history.acknowledged) >= wanted))

    async def drain(self, cluster: str) -> None:
        """Send nothing new to a cluster, and end what is there."""
        operator = {"user.name": getpass.getuser()}
        place = f"{self.url}/heddle/v1/clusters/{cluster}"
        async with self.session.post(f"{place}/drain", params=operator) as answer:
            assert answer.status == 200, await answer.text()

        async def is_empty() -> bool:
            async with self.session.get(f"{place}/drainage", params=operator) as answer:
                left = (await answer.json())["still_running"]
            for each in left:
                state = f"{self.url}/ws/v1/cluster/apps/{each}/state?user.name=alice"
                async with self.session.put(state, json={"state": "KILLED"}) as answer:
                    assert answer.status in (200, 202), await answer.text()
            return not left

        await until(is_empty)

    async def end(self) -> None:
        """Let clients end, and everything arrive."""
        self._enough.set()
        await asyncio.gather(*self._clients)

        async def has_arrived() -> bool:
            left = await self.trials.undelivered(self.session)
            print(len(self.history.acknowledged), "acknowledged,", len(left), "not there yet")  # noqa: T201 - on its way
            return not left

        await until(has_arrived)
        await self.trials.look(self.session)

    @staticmethod
    def has(condition: Callable[[], bool]) -> Callable[[], Awaitable[bool]]:
        async def now() -> bool:
            return condition()

        return now

    async def _since(self) -> object:
        async with self.session.get(f"{self.url}/heddle/v1/reload", params={"user.name": getpass.getuser()}) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    def _changed(self, before: object) -> Callable[[], Awaitable[bool]]:
        async def has_changed() -> bool:
            return await self._since() != before

        return has_changed


async def test_clusters_come_change_and_go_under_load_and_nobody_is_refused(lab: Lab, tmp_path: Path) -> None:
    webs = {name: cluster.url for name, cluster in lab.clusters.items()}
    first, second = webs
    rest = f"127.0.0.1:{free_port()}"
    url = f"http://{rest}"
    one, other = (federation_toml(tmp_path, {name: webs[name]}, rest=rest).read_text() for name in webs)
    both = federation_toml(tmp_path, webs, rest=rest).read_text()
    trials = KillTrials(tmp_path / "serve.toml", url, webs, TrialSettings())
    connections = aiohttp.TCPConnector(force_close=True)
    with Started(tmp_path, one) as heddle:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120), connector=connections) as session:
            site = Site(heddle, url, trials, session)
            await site.counts(both)
            await site.counts(both.replace("interval_s = 0.5", "interval_s = 0.7"))
            await site.drain(first)
            await site.counts(other)
            assert trials.history.unanswered == set()
            heddle.process.kill()
            heddle.process.wait()
            heddle.begin()
            await until(site.has(lambda: heddle.told().count(" serves ") == 5))
            await site.counts(both)
            await site.end()
    assert trials.history.lost() == []
    assert trials.history.doubled() == []
    assert {home for homes in trials.history.homes.values() for home in homes} == {first, second}
