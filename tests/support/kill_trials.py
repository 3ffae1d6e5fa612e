"""Kill Heddle again and again while it takes submissions, then compare what it acknowledged with what runs.

One trial: start a Heddle, submit several applications at once, let the process die by SIGKILL at a step. What the trial
before left behind is repaired by the Heddle of the next one, which dies in turn, sometimes while it repairs. After the
last trial a Heddle is left alone until nothing is open, and the history is checked against the ResourceManagers.
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import aiohttp

from shim.submission.crash_points import CrashPoint

_REPOSITORY = Path(__file__).resolve().parent.parent.parent
_ANSWERED = (200, 202)
_TIMEOUT = aiohttp.ClientTimeout(total=120)
_LONGEST_DELAY_S = 0.008


@dataclass(frozen=True, slots=True)
class TrialSettings:
    """How hard it is tried.

    Attributes:
        kills: How many processes die.
        at_once: Applications that are submitted at the same time in each trial.
        settle_s: How long a healthy Heddle gets to close everything.
    """

    kills: int = 200
    at_once: int = 6
    seed: int = 1
    settle_s: float = 300.0


@dataclass(slots=True)
class History:
    """What clients heard and what the clusters have.

    Attributes:
        acknowledged: Ids with a 202.
        unanswered: Ids whose client heard nothing, or an error.
        deaths: How many processes died at each step; `after` means that the step was not reached.
        homes: The sub-clusters that have an id, by id.
        attempts: Attempts that the home started, by id.
    """

    acknowledged: set[str] = field(default_factory=set)
    unanswered: set[str] = field(default_factory=set)
    deaths: Counter[str] = field(default_factory=Counter)
    homes: dict[str, list[str]] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)

    def lost(self) -> list[str]:
        """Acknowledged, and nowhere."""
        return sorted(an_id for an_id in self.acknowledged if not self.homes.get(an_id))

    def doubled(self) -> list[str]:
        """On more than one sub-cluster, or started more than once."""
        twice = {an_id for an_id, homes in self.homes.items() if len(homes) > 1}
        return sorted(twice | {an_id for an_id, count in self.attempts.items() if count > 1})

    def summary(self) -> str:
        """One line for people."""
        deaths = ", ".join(f"{count} {name}" for name, count in sorted(self.deaths.items()))
        return (
            f"{sum(self.deaths.values())} kills ({deaths}); {len(self.acknowledged)} acknowledged, "
            f"{len(self.unanswered)} not, of which {sum(an_id in self.homes for an_id in self.unanswered)} run; "
            f"lost {len(self.lost())}, doubled {len(self.doubled())}"
        )


def federation_toml(folder: Path, webs: dict[str, str], *, rest: str) -> Path:
    """Write the configuration of a Heddle over these ResourceManagers; return the file."""
    subclusters = "\n".join(f'[[subcluster]]\nid = "{name}"\nweb = "{web}"' for name, web in webs.items())
    file = folder / "heddle.toml"
    file.write_text(
        f'[server]\nrest = "{rest}"\nclient_rpc = "127.0.0.1:0"\n'
        f'[store]\nurl = "sqlite:///{folder}/heddle.db"\n'
        "[security]\nallow_anonymous = true\n[poll]\ninterval_s = 0.5\n"
        "[scheduling]\nautomatic = false\n"  # masters that nobody starts never make room for others
        f'[log]\nlevel = "warning"\n{subclusters}\n',
        "utf-8",
    )
    return file


class KillTrials:
    """A nursery of Heddles over real ResourceManagers.

    Args:
        config: Of the Heddle.
        url: Where it will serve.
        webs: Web addresses of the ResourceManagers, by sub-cluster.
    """

    def __init__(self, config: Path, url: str, webs: dict[str, str], settings: TrialSettings) -> None:
        self._config = config
        self._url = url
        self._webs = webs
        self._settings = settings
        self._random = Random(settings.seed)  # noqa: S311 - which step is next is no secret
        self.history = History()

    async def run(self) -> History:
        """All trials, then the check."""
        async with self._nursery() as nursery, aiohttp.ClientSession(timeout=_TIMEOUT) as session:
            points = list(CrashPoint)
            for number in range(self._settings.kills):
                await self._trial(nursery, session, points[number % len(points)])
            await self._settle(nursery, session)
            await self.look(session)
        return self.history

    @asynccontextmanager
    async def _nursery(self) -> AsyncIterator[asyncio.subprocess.Process]:
        command = (sys.executable, "-m", "tests.support.crashing_heddle", str(self._config))
        environment = {**os.environ, "PYTHONPATH": str(_REPOSITORY)}
        with (self._config.parent / "heddle.log").open("ab") as log:
            nursery = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                cwd=_REPOSITORY,
                env=environment,
            )
            try:
                yield nursery
            finally:
                with suppress(ProcessLookupError):
                    nursery.kill()
                await nursery.wait()

    async def _trial(
        self, nursery: asyncio.subprocess.Process, session: aiohttp.ClientSession, point: CrashPoint
    ) -> None:
        nth = self._random.randint(1, self._settings.at_once)
        delay_s = self._random.uniform(0.0005, _LONGEST_DELAY_S) if point is CrashPoint.SENDING else 0.0
        child = await self._start(nursery, {"point": point.value, "nth": nth, "delay_s": delay_s})
        if child is None:
            self.history.deaths[f"{point.value}, in repair"] += 1
            return
        submissions = [asyncio.create_task(self.submit(session)) for _ in range(self._settings.at_once)]
        ended = asyncio.create_task(_line(nursery))
        await asyncio.wait([*submissions])
        reached, _ = await asyncio.wait({ended}, timeout=0.1)
        if not reached:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        await ended
        self.history.deaths[point.value if reached else "after"] += 1

    async def _start(self, nursery: asyncio.subprocess.Process, order: dict[str, object]) -> int | None:
        """Have a Heddle forked and wait until it serves; None if it died before."""
        assert nursery.stdin is not None
        nursery.stdin.write(json.dumps(order).encode() + b"\n")
        lines = [await _line(nursery), await _line(nursery)]  # in any order: parent and child both write
        if "ended" in lines:
            return None
        return next(int(line.split()[1]) for line in lines if line.startswith("pid "))

    async def submit(self, session: aiohttp.ClientSession) -> None:
        """One client: an id, a submission; no second try."""
        base = f"{self._url}/ws/v1/cluster/apps"
        try:
            async with session.post(f"{base}/new-application?user.name=alice") as answer:
                application_id = (await answer.json())["application-id"]
        except (aiohttp.ClientError, OSError):
            return
        try:
            async with session.post(f"{base}?user.name=alice", json=_context(application_id)) as answer:
                is_acknowledged = answer.status in _ANSWERED
        except (aiohttp.ClientError, OSError):
            is_acknowledged = False
        (self.history.acknowledged if is_acknowledged else self.history.unanswered).add(application_id)

    async def _settle(self, nursery: asyncio.subprocess.Process, session: aiohttp.ClientSession) -> None:
        """Let a healthy Heddle close what is open."""
        child = await self._start(nursery, {})
        assert child is not None, "a Heddle that should live died"
        deadline_s = time.monotonic() + self._settings.settle_s
        left = await self.undelivered(session)
        while left and time.monotonic() < deadline_s:
            await asyncio.sleep(0.2)
            left = await self.undelivered(session)
        assert not left, f"not delivered after {self._settings.settle_s} s: {left[:5]}"
        os.kill(child, signal.SIGTERM)
        assert await _line(nursery) in ("ended", "ending: requests under way are answered first")

    async def undelivered(self, session: aiohttp.ClientSession) -> Sequence[str]:
        """Ids that were acknowledged and that no ResourceManager lists yet."""
        listed = await self._listed(session)
        return [an_id for an_id in self.history.acknowledged if an_id not in listed]

    async def _listed(self, session: aiohttp.ClientSession) -> dict[str, list[str]]:
        homes: dict[str, list[str]] = {}
        for name, web in self._webs.items():
            async with session.get(f"{web}/ws/v1/cluster/apps?deSelects=resourceRequests") as answer:
                apps = (await answer.json())["apps"] or {}
            for app in apps.get("app", []):
                homes.setdefault(app["id"], []).append(name)
        return homes

    async def look(self, session: aiohttp.ClientSession) -> None:
        """Who has what, and how often it was started."""
        listed = await self._listed(session)
        known = self.history.acknowledged | self.history.unanswered
        self.history.homes = {an_id: homes for an_id, homes in listed.items() if an_id in known}
        for an_id, homes in self.history.homes.items():
            for name in homes:
                url = f"{self._webs[name]}/ws/v1/cluster/apps/{an_id}/appattempts"
                async with session.get(url) as answer:
                    attempts = (await answer.json())["appAttempts"].get("appAttempt", [])
                self.history.attempts[an_id] = self.history.attempts.get(an_id, 0) + len(attempts)


def _context(application_id: str) -> dict[str, object]:
    """An application whose master is not started by YARN: it costs a cluster nothing."""
    return {
        "application-id": application_id,
        "application-name": "kill trial",
        "application-type": "TRIAL",
        "unmanaged-AM": True,
        "am-container-spec": {"commands": {"command": "true"}},
        "resource": {"memory": 128, "vCores": 1},
    }


async def _line(nursery: asyncio.subprocess.Process) -> str:
    assert nursery.stdout is not None
    line = (await nursery.stdout.readline()).decode().strip()
    assert line, "the nursery is gone; see heddle.log"
    return line
