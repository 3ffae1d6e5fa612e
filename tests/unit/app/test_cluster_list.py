"""The list of sub-clusters in the store: changes that are refused, drains that all have heard of, and following."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from heddle import cluster_lists
from shim.app.cluster_list import ClusterFollower, ClusterList
from shim.app.reloading import Reloading
from shim.config.loader import Config, StoredClusters, parse
from shim.domain.ids import SubClusterId
from shim.errors import BadRequestError, ConfigError, ConflictError, NotFoundError
from shim.simulation.stores import InMemoryPolicyStore
from tests.doubles.clock import FakeClock
from tests.doubles.federation import ScriptedFederation, ScriptedHeddle

EAST = '[[subcluster]]\nid = "east"\nweb = "http://a:1"\n'
WEST = '[[subcluster]]\nid = "west"\nweb = "http://b:1"\n'
FILE = '[clusters]\nmanaged = "store"\n'


async def in_order() -> tuple[str, ...]:
    return ()


class Served:
    """A process that serves a list, and a store that may have another one.

    Attributes:
        stands: The list in the store.
        refusal: Why what stands there cannot be used; empty if it can.
        checks: How often that was looked at.
    """

    def __init__(self, lists: InMemoryPolicyStore, clock: FakeClock, serves: str, file: str = FILE) -> None:
        self.lists, self.clock, self.file = lists, clock, file
        self.refusal, self.checks = "", 0
        self.stands = serves
        self.config = parse(file, source="heddle.toml", environment={}, stored=lambda _: serves)
        self.reloading = Reloading(self.config, self.read, check=in_order)
        self.follower = ClusterFollower(self.config, lists, self.read, self.reloading, clock)

    def read(self, *, stored: StoredClusters | None = None) -> Config:
        self.checks += 1
        if self.refusal:
            raise ConfigError("heddle.toml", "poll.interval_s", self.refusal)
        return parse(self.file, source="heddle.toml", environment={}, stored=stored or (lambda _: self.stands))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def lists(clock: FakeClock) -> InMemoryPolicyStore:
    made = InMemoryPolicyStore(now_s=clock.now_s)
    await made.apply(1, EAST + WEST, by="ops", note="")
    return made


async def test_what_is_served_already_begins_nothing_anew(lists, clock):
    served = Served(lists, clock, EAST + WEST)
    await served.follower.look()
    assert (served.follower.serves, served.reloading.agreed.is_set()) == (1, False)
    await lists.apply(2, f"# the same\n{EAST}{WEST}", by="ops", note="")
    await served.follower.look()
    assert (served.follower.serves, served.reloading.agreed.is_set()) == (2, False)


async def test_another_list_is_followed_within_a_second(lists, clock):
    served = Served(lists, clock, EAST)
    served.stands = EAST + WEST
    running = asyncio.create_task(served.follower.run())
    try:
        while not served.reloading.agreed.is_set():  # files are read on a thread, which held time does not see
            await clock.advance(1.0)
    finally:
        running.cancel()
    assert served.reloading.agreed.is_set()


async def test_a_refusal_is_told_and_tried_again_ever_more_rarely(lists, clock):
    served = Served(lists, clock, EAST)
    served.refusal = "is not a number"
    for _ in range(64):
        await served.follower.look()
        await clock.advance(1.0)
    assert "is not a number" in served.follower.trouble
    assert served.checks == 7  # after 1, 2, 4, ... 32 s
    assert not served.reloading.agreed.is_set()
    served.refusal, served.stands = "", WEST
    await lists.apply(2, WEST, by="ops", note="")
    await served.follower.look()
    assert served.reloading.agreed.is_set()


async def test_where_the_file_has_the_list_the_store_is_not_asked(lists, clock):
    served = Served(lists, clock, "", file=EAST)
    running = asyncio.create_task(served.follower.run())
    await clock.advance(10.0)
    assert (served.checks, served.follower.serves, running.done()) == (0, -1, False)  # one that ends is begun again
    running.cancel()


class PassesAtOnce:
    """A clock whose pauses are over at once, and noted.

    Attributes:
        meanwhile: Done in the next pause.
    """

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.slept: list[float] = []
        self.meanwhile: Callable[[], Awaitable[object]] | None = None
        self.now_s, self.monotonic_s = clock.now_s, clock.monotonic_s

    async def sleep(self, duration_s: float) -> None:
        self.slept.append(duration_s)
        await self._clock.advance(duration_s)
        if self.meanwhile is not None:
            await self.meanwhile()


class Front:
    """The use cases beside a scripted federation of east and west."""

    def __init__(self, federation: ScriptedFederation, heddle: ScriptedHeddle, served: Served) -> None:
        self.federation, self.heddle, self.served = federation, heddle, served
        self.intended: set[SubClusterId] = set()
        self.clock = PassesAtOnce(federation.clock)
        self.administration = heddle.administration
        self.list = ClusterList(
            served.config,
            served.lists,
            served.read,
            served.reloading,
            served.follower,
            administration=self.administration,
            intended=self._intended,
            clock=self.clock,
        )

    async def _intended(self) -> set[SubClusterId]:
        return self.intended

    async def remove_west(self, *, is_dry_run: bool = False) -> cluster_lists.ClusterListChange:
        return await self.list.remove("west", cluster_lists.ClusterKeys(), by="ops", is_dry_run=is_dry_run)


@pytest.fixture
async def front() -> Front:
    federation = ScriptedFederation()
    lists = InMemoryPolicyStore(now_s=federation.clock.now_s)
    await lists.apply(1, EAST + WEST, by="ops", note="")
    return Front(federation, await federation.start(), Served(lists, federation.clock, EAST + WEST))


async def test_a_cluster_that_takes_applications_stays(front):
    with pytest.raises(ConflictError, match="drain west --wait"):
        await front.remove_west()


async def test_it_goes_when_every_heddle_has_heard_of_the_drain(front):
    await front.administration.drain(SubClusterId("west"), by="ops")
    await front.federation.clock.advance(3.0)
    assert (await front.remove_west(is_dry_run=True)).removed == ["west"]
    assert front.clock.slept == []
    change = await front.remove_west()
    assert (change.version, change.text.strip(), front.clock.slept) == (2, EAST.strip(), [7.0])


async def test_it_stays_while_something_is_on_its_way_there(front):
    await front.administration.drain(SubClusterId("west"), by="ops")
    front.intended = {SubClusterId("west")}
    with pytest.raises(ConflictError, match="on their way to west"):
        await front.remove_west()


async def test_it_stays_where_another_has_ended_the_drain_meanwhile(front):
    west = SubClusterId("west")
    await front.administration.drain(west, by="ops")
    front.clock.meanwhile = lambda: front.administration.undrain(west, by="else")
    with pytest.raises(ConflictError, match="takes applications again"):
        await front.remove_west()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Heddle serves none without"),
        ("not [ TOML", "TOML"),
        (EAST + EAST, "twice"),
        (f'{EAST}[server]\nrest = "127.0.0.1:1"\n', "alone"),
        ('subcluster = "east"', "is not written"),
        (f"{EAST}[[subcluster]]\n{'a.' * 5000}b = 1\n", "parts"),
        ("#" * 300_000, "bytes"),
    ],
)
async def test_a_list_that_cannot_be_used_is_refused_whole(front, text, message):
    with pytest.raises(BadRequestError, match=message):
        await front.list.apply(cluster_lists.ClusterListText(text), by="ops", is_dry_run=False)
    assert len((await front.list.versions()).versions) == 1


async def test_another_version_than_the_expected_one_and_another_id_than_any_are_refused(front):
    with pytest.raises(ConflictError, match="version 1 holds"):
        await front.list.edit("west", cluster_lists.ClusterKeys({"user": "h"}, expected=7), by="ops", is_dry_run=False)
    with pytest.raises(NotFoundError, match="north"):
        await front.list.edit("north", cluster_lists.ClusterKeys({"user": "h"}), by="ops", is_dry_run=False)


async def test_where_the_file_has_the_list_nothing_is_changed(front):
    front = Front(front.federation, front.heddle, Served(front.served.lists, front.federation.clock, "", file=EAST))
    with pytest.raises(ConflictError, match="reload"):
        await front.list.add("west", cluster_lists.ClusterKeys({"web": "http://b:1"}), by="ops", is_dry_run=False)


def test_a_file_with_clusters_beside_the_stores_is_refused_and_variables_count(tmp_path: Path):
    with pytest.raises(ConfigError, match="in the store"):
        parse(FILE + EAST, source="heddle.toml", environment={})
    variables = {"HEDDLE_CLUSTERS_MANAGED": "store", "HEDDLE_SUBCLUSTER_EAST_WEB": "http://c:1"}
    asked: list[str] = []

    def stored(url: str) -> str:
        asked.append(url)
        return EAST

    url = f"sqlite:///{tmp_path}/x.db"
    read = parse(f'[store]\nurl = "{url}"\n', source="heddle.toml", environment=variables, stored=stored)
    assert ([each.web for each in read.subclusters], asked) == ([("http://c:1",)], [url])
