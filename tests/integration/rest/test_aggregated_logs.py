"""Aggregated logs over the web services: who reads whose, and what a user puts in his own folder."""

import asyncio
import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.yarn.log_folder import LogFolder
from shim.calls.aggregated_logs import AggregatedLogs
from shim.domain.ids import ApplicationId, SubClusterId
from shim.identity.service import Caller, IdentityRules
from shim.ports.log_archive import NodeLogs
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer, body_of

APPLICATION = "application_1700000000000_0006"
CONTAINER = "container_1700000000000_0006_01_000001"
LOGS = f"/heddle/v1/apps/{APPLICATION}/logs"
WRITTEN = Path(__file__).parents[2] / "unit" / "protocol" / "yarn" / "written_by_hadoop"
NEW, OLD = f"ada/bucket-logs-tfile/0006/{APPLICATION}", f"ada/logs/{APPLICATION}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder, form in ((NEW, "none"), (OLD, "gz")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / f"{form}.west_45454").write_bytes((WRITTEN / form).read_bytes())
    return tmp_path


@pytest.fixture
async def server(root: Path) -> ScriptedServer:
    folder = LogFolder(root)
    opened = ScriptedServer(
        rules=usual(IdentityRules, allow_anonymous=True, admins=("queen",)),
        archives={SubClusterId("west"): folder, SubClusterId("east"): LogFolder(root)},
    )
    await opened.poll()
    return opened


async def test_what_nodes_aggregated_is_listed_once_wherever_a_hadoop_puts_it(server):
    told = body_of(await server.ask("GET", f"{LOGS}?user.name=ada"))
    assert [(each["cluster"], each["node"], len(each["files"])) for each in told["nodes"]] == [
        ("west", "none.west_45454", 6),
        ("west", "gz.west_45454", 6),
    ]
    assert told["nodes"][0]["files"][0] == {"container": CONTAINER, "file": "stderr", "bytes": 12}


async def test_the_end_of_a_file_is_told(server):
    told = body_of(await server.ask("GET", f"{LOGS}/{CONTAINER}/stderr?tail=5&user.name=ada"))
    assert told == {"container": CONTAINER, "file": "stderr", "text": "\noh d", "start": 7, "size": 12}


async def test_lines_that_hold_a_text_are_told(server):
    told = body_of(await server.ask("GET", f"{LOGS}/{CONTAINER}/stderr?grep=oh&user.name=ada"))
    whole = body_of(await server.ask("GET", f"{LOGS}/{CONTAINER}/stderr?user.name=ada"))["text"]
    held = [line for line in whole.split("\n") if "oh" in line]
    assert told["text"].splitlines() == held
    assert (told["matches"], told["searched"], told["more"]) == (len(held), 12, False)


@pytest.mark.parametrize("path", [LOGS, f"{LOGS}/{CONTAINER}/stderr"])
@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("user.name=ada", 200),
        ("user.name=queen&of=ada", 200),
        ("user.name=queen", 404),
        ("user.name=bob", 404),
        ("user.name=bob&of=ada", 200),
        ("user.name=eve&of=ada", 403),
        ("user.name=eve&of=nobody", 403),
        ("of=ada", 403),
        ("user.name=queen&of=../ada", 404),
        ("user.name=queen&of=..", 404),
        ("user.name=queen&of=", 404),
    ],
)
async def test_everybody_reads_his_own_and_what_names_him_and_operators_all(server, path, query, status):
    assert (await server.ask("GET", f"{path}?{query}")).status == status


async def test_a_link_to_anothers_logs_is_not_followed(server, root):
    (root / "bob" / "logs").mkdir(parents=True)
    (root / "bob" / "logs" / APPLICATION).symlink_to(root / NEW)
    assert (await server.ask("GET", f"{LOGS}?user.name=bob")).status in (404, 503)
    (root / "bob" / "logs" / APPLICATION).unlink()
    (root / "bob" / "logs" / APPLICATION).mkdir()
    (root / "bob" / "logs" / APPLICATION / "west_1").symlink_to(root / NEW / "none.west_45454")
    os.mkfifo(root / "bob" / "logs" / APPLICATION / "west_2")
    assert (await server.ask("GET", f"{LOGS}?user.name=bob")).status == 404


async def test_a_second_name_of_anothers_file_tells_nothing(server, root):
    (root / "bob" / "logs" / APPLICATION).mkdir(parents=True)
    (root / "bob" / "logs" / APPLICATION / "west_1").hardlink_to(root / NEW / "none.west_45454")
    (node,) = body_of(await server.ask("GET", f"{LOGS}?user.name=bob"))["nodes"]
    assert (node["files"], node["wrong"]) == ([], "these are the logs of another user")
    assert (await server.ask("GET", f"{LOGS}/{CONTAINER}/stderr?user.name=bob")).status == 404


def test_of_many_nodes_one_file_is_open_at_a_time(root):
    for number in range(200):
        (root / OLD / f"node{number}_1").write_bytes(b"")
    with LogFolder(root).opened("ada", ApplicationId.parse(APPLICATION)) as logs:
        opened = [len(list(Path("/proc/self/fd").iterdir())) for _ in logs]
    assert (len(opened), len(set(opened))) == (202, 1)


@pytest.mark.parametrize("user", ["a" * 256, "\udcff", "ada/../ada", "."])
def test_a_user_that_is_no_name_of_a_folder_has_no_logs(root, user):
    with LogFolder(root).opened(user, ApplicationId.parse(APPLICATION)) as logs:
        assert list(logs) == []


async def test_a_folder_that_is_away_is_said(server, root):
    root.rename(root.with_name("away"))
    assert (await server.ask("GET", f"{LOGS}?user.name=ada")).status == 503


class Away:
    """A folder whose gateway does not answer, or only until a file is read."""

    def __init__(self, *, lists: bool) -> None:
        self._lists = lists

    @contextmanager
    def opened(self, user: str, application: ApplicationId) -> Iterator[Iterator[NodeLogs]]:
        """See `LogArchive`."""
        del user, application
        if not self._lists:
            self._fail(0, 0)
        yield iter([NodeLogs("n1_45454", self._fail, 100)])

    @staticmethod
    def _fail(offset: int, count: int) -> bytes:
        raise OSError(errno.ETIMEDOUT, f"nothing at {offset} within 8 s, not {count} bytes")


@pytest.mark.parametrize("lists", [False, True])
async def test_a_folder_that_cannot_be_read_keeps_no_other_cluster_s_logs_back(root, lists):
    archives = {SubClusterId("east"): Away(lists=lists), SubClusterId("west"): LogFolder(root)}
    server = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True), archives=archives)
    await server.poll()
    nodes = body_of(await server.ask("GET", f"{LOGS}?user.name=ada"))["nodes"]
    assert [(each["cluster"], len(each["files"]), bool(each["wrong"])) for each in nodes] == [
        ("west", 6, False),
        ("west", 6, False),
        ("east", 0, True),
    ]
    assert "aggregated logs of east cannot be read: nothing at" in nodes[-1]["wrong"]
    assert (await server.ask("GET", f"{LOGS}/{CONTAINER}/stderr?user.name=ada")).status == 200
    assert (await server.ask("GET", f"{LOGS}/{CONTAINER}/nowhere?user.name=ada")).status == 503


class Hangs:
    """A folder of which nobody tells anything until it is told to."""

    def __init__(self):
        self.goes_on = threading.Event()

    @contextmanager
    def opened(self, user, application):  # noqa: ARG002 - the port
        assert self.goes_on.wait(60)
        yield iter(())


async def test_a_folder_that_hangs_holds_up_no_other_folder(root):
    """Callers of one cluster's logs waited behind those of another's: there was one thread for all."""
    hangs = Hangs()
    archives = {SubClusterId("east"): hangs, SubClusterId("west"): LogFolder(root)}
    identity = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True)).identity
    logs = AggregatedLogs(archives, identity)
    waits = [
        asyncio.create_task(logs.files(ApplicationId.parse(APPLICATION), Caller(user, user))) for user in ("x", "ada")
    ]
    west = logs.threads
    async with asyncio.timeout(30):
        while SubClusterId("west") not in west or len(west[SubClusterId("west")]):  # noqa: ASYNC110 - in a thread
            await asyncio.sleep(0.01)
    assert len(west[SubClusterId("east")]) == 2
    hangs.goes_on.set()
    _, found = await asyncio.gather(*waits, return_exceptions=True)
    assert len(found) == 2


async def test_without_a_folder_yarn_logs_is_named():
    server = ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True))
    answer = await server.ask("GET", f"{LOGS}?user.name=ada")
    assert answer.status == 404
    assert "yarn logs" in body_of(answer)["RemoteException"]["message"]


@pytest.mark.parametrize(("groups", "status"), [({"staff"}, 200), ({"bob", "users"}, 403), (set(), 403)])
async def test_a_group_of_the_view_acl_reads(root, groups, status):
    server = ScriptedServer(
        rules=usual(IdentityRules, allow_anonymous=True),
        archives={SubClusterId("west"): LogFolder(root)},
        groups_of=lambda _: frozenset(groups),
    )
    assert (await server.ask("GET", f"{LOGS}?user.name=eve&of=ada")).status == status


async def test_a_file_of_a_node_is_told_where_several_have_it(server):
    path = f"{LOGS}/{CONTAINER}/stderr?user.name=ada"
    assert (await server.ask("GET", f"{path}&node=gz.west_45454")).status == 200
    assert (await server.ask("GET", f"{path}&node=other_1")).status == 404


async def test_a_container_of_another_application_is_not_looked_for(server):
    other = CONTAINER.replace("_0006_", "_0007_")
    assert (await server.ask("GET", f"{LOGS}/{other}/stderr?user.name=ada")).status == 404
