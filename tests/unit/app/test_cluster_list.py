"""The list of sub-clusters: changes that are refused, drains that all have heard of, following; in store and file."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from heddle import cluster_lists
from shim.app.cluster_list import ClusterFollower, ClusterList, InFile, InStore, ListPlace
from shim.app.reloading import Reloading
from shim.config.loader import Config, ConfigFile, StoredClusters, parse
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
    """The use cases beside a scripted federation of east and west; the store has the list unless a place is given."""

    def __init__(
        self, federation: ScriptedFederation, heddle: ScriptedHeddle, served: Served, place: ListPlace | None = None
    ) -> None:
        self.federation, self.heddle, self.served = federation, heddle, served
        self.intended: set[SubClusterId] = set()
        self.clock = PassesAtOnce(federation.clock)
        self.administration = heddle.administration
        self.list = ClusterList(
            served.config,
            place or InStore(served.lists, served.read, served.follower),
            served.reloading,
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


PORT = '[server]\nrest = "127.0.0.1:8188" # ours\n'
REST = "\n[poll]\ninterval_s = 2.0\n"


class FromFile:
    """The use cases where a file has the list, with other tables around it."""

    def __init__(self, federation: ScriptedFederation, heddle: ScriptedHeddle, path: Path) -> None:
        self.path = path
        path.write_text(f"{PORT}\n{EAST}\n{WEST}{REST}")
        path.chmod(0o640)
        self.refusal = ""
        file = ConfigFile(path, {})
        served = Served(InMemoryPolicyStore(now_s=federation.clock.now_s), federation.clock, "", file=path.read_text())
        served.config = file()
        served.reloading = self.reloading = Reloading(served.config, file, check=self.check)
        self.front = Front(federation, heddle, served, InFile(served.config, file, served.reloading))
        self.list = self.front.list

    async def check(self) -> tuple[str, ...]:
        if self.refusal:
            raise ConflictError(self.refusal)
        return ()


@pytest.fixture
async def from_file(tmp_path: Path) -> FromFile:
    federation = ScriptedFederation()
    return FromFile(federation, await federation.start(), tmp_path / "heddle.toml")


async def test_a_file_is_written_and_counts_and_what_else_is_in_it_stays_and_is_told_to_nobody(from_file):
    shown = await from_file.list.versions()
    (stands,) = shown.versions
    assert (shown.managed, shown.serves, stands.clusters) == ("file", stands.version, ["east", "west"])
    asked = cluster_lists.ClusterKeys({"web": "http://c:1", "user": "h"}, expected=stands.version)
    before = from_file.path.read_text()
    tried = await from_file.list.add("north", asked, by="ops", is_dry_run=True)
    assert (tried.added, tried.version, from_file.path.read_text()) == (["north"], stands.version, before)
    done = await from_file.list.add("north", asked, by="ops", is_dry_run=False)
    written = from_file.path.read_text()
    assert written.startswith(PORT)
    assert written.endswith(REST)
    assert (from_file.path.stat().st_mode & 0o777, from_file.reloading.agreed.is_set()) == (0o640, True)
    assert [each.id for each in ConfigFile(from_file.path, {})().subclusters] == ["east", "west", "north"]
    for told in (stands.text, tried.text, done.before, done.text):
        assert "server" not in told
        assert "poll" not in told
    assert 'id = "north"' in done.text
    later = await from_file.list.versions()
    assert (later.versions[0].version, later.serves) == (done.version, 0)


async def test_a_whole_list_takes_the_place_of_the_files(from_file):
    list_ = f"# two\n{EAST}user = 'h'\n\n{WEST}"
    done = await from_file.list.apply(cluster_lists.ClusterListText(list_), by="ops", is_dry_run=False)
    written = from_file.path.read_text()
    assert (done.changed, written.startswith(PORT), written.endswith(REST)) == (["subcluster east"], True, True)
    assert ConfigFile(from_file.path, {})().subclusters[0].user == "h"


@pytest.mark.parametrize("text", ["", f'{EAST}[server]\nrest = "127.0.0.1:1"\n', "not [ TOML", EAST + EAST])
async def test_a_list_that_cannot_be_used_leaves_the_file_as_it_is(from_file, text):
    before = from_file.path.read_text()
    with pytest.raises(BadRequestError):
        await from_file.list.apply(cluster_lists.ClusterListText(text), by="ops", is_dry_run=False)
    assert from_file.path.read_text() == before


async def test_a_file_that_somebody_has_changed_meanwhile_is_not_written(from_file):
    (stands,) = (await from_file.list.versions()).versions
    from_file.path.write_text(f"# mine\n{from_file.path.read_text()}")
    edit = cluster_lists.ClusterKeys({"user": "h"}, expected=stands.version)
    with pytest.raises(ConflictError, match="look at it first"):
        await from_file.list.edit("west", edit, by="ops", is_dry_run=False)
    assert "user" not in from_file.path.read_text()


async def test_what_the_program_refuses_after_all_is_taken_back(from_file):
    before = from_file.path.read_text()
    before = before.replace("2.0", "3.0")  # somebody else's, which counts then, too, and is checked by the program
    from_file.path.write_text(before)
    from_file.refusal = "what stands there cannot be used: no such folder"
    with pytest.raises(ConflictError, match="no such folder"):
        await from_file.list.edit("west", cluster_lists.ClusterKeys({"user": "h"}), by="ops", is_dry_run=False)
    assert (from_file.path.read_text(), from_file.reloading.agreed.is_set()) == (before, False)
    assert [each.name for each in from_file.path.parent.iterdir()] == ["heddle.toml"]


async def test_a_cluster_of_a_file_that_takes_applications_stays(from_file):
    with pytest.raises(ConflictError, match="drain west --wait"):
        await from_file.list.remove("west", cluster_lists.ClusterKeys(), by="ops", is_dry_run=True)
    await from_file.front.administration.drain(SubClusterId("west"), by="ops")
    await from_file.list.remove("west", cluster_lists.ClusterKeys(), by="ops", is_dry_run=False)
    assert from_file.path.read_text() == f"{PORT}\n{EAST}{REST}"


async def test_a_file_that_may_not_be_written_is_told_before_anything_is_tried(from_file):
    elsewhere = ConfigFile(from_file.path.parent / "gone" / "heddle.toml", {})
    place = InFile(ConfigFile(from_file.path, {})(), elsewhere, from_file.reloading)
    with pytest.raises(ConflictError, match=r"may not write it.*--write"):
        await place.newest()


async def test_a_file_that_is_broken_is_told(from_file):
    from_file.path.write_text("not [ TOML")
    shown = await from_file.list.versions()
    assert (shown.versions, "TOML" in shown.trouble) == ([], True)


async def test_without_a_file_nothing_is_changed(front):
    served = Served(front.served.lists, front.federation.clock, "", file=EAST)
    front = Front(front.federation, front.heddle, served, InFile(served.config, None, served.reloading))
    with pytest.raises(ConflictError, match="no configuration file"):
        await front.list.add("west", cluster_lists.ClusterKeys({"web": "http://b:1"}), by="ops", is_dry_run=False)
    assert (await front.list.versions()).versions == []


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
