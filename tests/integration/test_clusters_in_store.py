"""Sub-clusters that the store has, or a file: changed through the web services, followed by every Heddle of a store."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import httpx
import pytest

from shim.domain.ids import ApplicationId
from tests.doubles.postgresql import free_addresses
from tests.support.databases import an_empty_database
from tests.support.heddle_process import until
from tests.support.served_manager import ServedManager
from tests.support.started import Started

OPS = {"user.name": "ops"}
APPS, NEW_ID = "/ws/v1/cluster/apps", "/ws/v1/cluster/apps/new-application"


class Front:
    """A started Heddle of a store; its file has the sub-clusters that are given, else none."""

    def __init__(self, folder: Path, store: str, stack: ExitStack, clusters: str = "") -> None:
        folder.mkdir()
        (rest,) = free_addresses(1)
        self.url = f"http://{rest}"
        managed = "file" if clusters else "store"
        doors = 'client_rpc = ""\nscheduler_rpc = ""\nadmin_rpc = ""\nshutdown_s = 30'
        self.heddle = Started(
            folder,
            f'[server]\nrest = "{rest}"\n{doors}\n[store]\nurl = "{store}"\n[clusters]\nmanaged = "{managed}"\n'
            f'[security]\nallow_anonymous = true\nadmins = ["ops"]\n[poll]\ninterval_s = 0.5\n{clusters}',
        )
        stack.enter_context(self.heddle)

    def ask(self, path: str) -> Any:
        """What a path answers; asked again while the process is away."""
        found: list[Any] = []

        def is_there() -> bool:
            try:
                found.append(httpx.get(f"{self.url}{path}", params=OPS, timeout=60).raise_for_status().json())
            except httpx.TransportError:
                return False
            return True

        until(is_there, f"{path} is answered")
        return found[-1]

    def change(self, verb: str, cluster: str, body: object = None, **query: str) -> httpx.Response:
        where = f"{self.url}/heddle/v1/clusters/{cluster}/{verb}"
        return httpx.post(where, params=OPS | query, json=body or {}, timeout=180)

    def order(self, verb: str, cluster: str) -> None:
        httpx.post(f"{self.url}/heddle/v1/clusters/{cluster}/{verb}", params=OPS, timeout=60).raise_for_status()

    @property
    def clusters(self) -> list[str]:
        return [each["id"] for each in self.ask("/heddle/v1/clusters")["clusters"]]

    def serves(self, *clusters: str) -> None:
        until(lambda: self.clusters == [*clusters], f"{self.url} serves {clusters}; {self.heddle.log}")


@contextmanager
def fronts(folder: Path, store: str, count: int) -> Iterator[list[Front]]:
    with ExitStack() as stack:
        yield [Front(folder / str(number), store, stack) for number in range(count)]


def test_clusters_come_change_and_go_by_the_command_and_each_version_is_kept(tmp_path):
    with ServedManager("east") as east, fronts(tmp_path, f"sqlite:///{tmp_path}/heddle.db", 1) as (front,):

        def cluster(*words: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "shim", "cluster", *words, "--server", front.url, "--user", "ops"]
            return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

        assert front.clusters == []
        refused = httpx.post(f"{front.url}{APPS}", params=OPS, json={"application-id": "application_1_1"}, timeout=60)
        assert refused.status_code in {400, 503}
        shown = cluster("add", "east", "--web", east.url)
        assert (shown.returncode, front.clusters) == (0, [])
        assert f'+web = "{east.url}"' in shown.stdout
        old = f'[server]\nrest = "x"\n# ours\n[[subcluster]]\nid = "east"\nweb = "{east.url}"\n'
        (tmp_path / "old.toml").write_text(old)
        for words in (
            ("apply", "old.toml", "--write", "-m", "the first"),
            ("add", "west", "--web", "http://127.0.0.1:9", "--write"),
            ("edit", "west", "--set", 'page_hosts=["n1.example.org"]', "--write"),
        ):
            done = cluster(*words)
            assert done.returncode == 0, done.stderr
        assert front.clusters == ["east", "west"]
        open_yet = cluster("remove", "west", "--write")
        assert (open_yet.returncode, "drain" in open_yet.stderr) == (1, True)
        assert cluster("drain", "west").returncode == 0
        assert cluster("remove", "west", "--write").returncode == 0
        assert front.clusters == ["east"]
        assert cluster("rollback", "2", "--write").returncode == 0
        assert front.clusters == ["east", "west"]
        kept = json.loads(cluster("history", "-o", "json").stdout)
        assert [(each["version"], each["note"], each["clusters"]) for each in kept["versions"]] == [
            (5, "version 2 again", ["east", "west"]),
            (4, "remove west", ["east"]),
            (3, "edit west", ["east", "west"]),
            (2, "add west", ["east", "west"]),
            (1, "the first", ["east"]),
        ]
        assert {each["applied_by"] for each in kept["versions"]} == {"ops"}
        assert (kept["managed"], kept["serves"], kept["trouble"]) == ("store", 5, "")
        assert front.heddle.process.poll() is None
        audit = [line for line in front.heddle.told().splitlines() if "cluster.remove" in line]
        assert audit, front.heddle.log
        assert not front.heddle.troubles()


def test_a_file_is_written_and_read_anew_and_put_back_if_it_cannot_count(tmp_path):
    with ServedManager("east") as east, ServedManager("west") as west, ExitStack() as stack:
        only = f'\n# ours\n[[subcluster]]\nid = "east"\nweb = "{east.url}"\n'
        front = Front(tmp_path / "0", f"sqlite:///{tmp_path}/heddle.db", stack, only)
        file, pid = front.heddle.config, front.heddle.process.pid
        before = file.read_text()
        refused = front.change("add", "west", {"keys": {"conf": "/no/such/folder"}})
        assert (refused.status_code, file.read_text()) == (400, before)
        tried = front.change("add", "west", {"keys": {"web": west.url}}, dryRun="true")
        assert (tried.status_code, tried.json()["added"], file.read_text()) == (200, ["west"], before)
        front.change("add", "west", {"keys": {"web": west.url}}).raise_for_status()
        front.serves("east", "west")
        assert file.read_text().startswith(before)
        assert front.change("remove", "west").status_code == 409
        front.order("drain", "west")
        front.change("remove", "west").raise_for_status()
        front.serves("east")
        assert (file.read_text().strip(), front.heddle.process.pid) == (before.strip(), pid)
        assert front.heddle.process.poll() is None
        assert not front.heddle.troubles()


@pytest.mark.parametrize(
    ("verb", "cluster", "body", "status", "word"),
    [
        ("add", "west", {"keys": {"conf": "/no/such/folder"}}, 400, "/no/such/folder"),
        ("add", "west", {"keys": {"web": "ftp://x"}}, 400, "web"),
        ("add", "west", {"keys": {"webb": "http://x:1"}}, 400, "webb"),
        ("add", "We st", {"keys": {"web": "http://x:1"}}, 400, "id"),
        ("add", "west", {"keys": {"web": "http://x:1", "id": "north"}}, 400, "id"),
        ("add", "west", {"keys": {"web": ["http://x:1", 7]}}, 400, "keys"),
        ("add", "west", {"keys": {"web": None}}, 400, "keys"),
        ("add", "east", {"keys": {"web": "http://x:1"}}, 409, "already"),
        ("add", "west", {"keys": {"web": "http://x:1"}, "expected": 7}, 409, "version 1 holds"),
        ("add", "west", {"keyz": {}}, 400, "keyz"),
        ("edit", "north", {"keys": {"web": "http://x:1"}}, 404, "north"),
        ("edit", "east", {"keys": {"id": "west"}}, 400, "for ever"),
        ("edit", "east", {"unset": ["conf"]}, 404, "conf"),
        ("remove", "east", {}, 409, "only"),
        ("remove", "east", {"keys": {"web": "http://x:1"}}, 400, "neither"),
    ],
)
def test_what_cannot_be_used_is_refused_and_changes_nothing(one, verb, cluster, body, status, word):
    answer = one.change(verb, cluster, body)
    assert (answer.status_code, word in answer.text) == (status, True), answer.text
    assert [each["version"] for each in one.ask("/heddle/v1/cluster-versions")["versions"]] == [1]


def test_only_an_administrator_may(one):
    answer = one.change("add", "west", {"keys": {"web": "http://x:1"}}, **{"user.name": "ada"})
    assert answer.status_code == 403
    looks = httpx.get(f"{one.url}/heddle/v1/cluster-versions", params={"user.name": "ada"}, timeout=60)
    assert looks.status_code == 403


@pytest.fixture(scope="module")
def one(tmp_path_factory) -> Iterator[Front]:
    folder = tmp_path_factory.mktemp("one")
    with ServedManager("east") as east, fronts(folder, f"sqlite:///{folder}/heddle.db", 1) as (front,):
        front.change("add", "east", {"keys": {"web": east.url}}).raise_for_status()
        front.serves("east")
        yield front


_PAUSE_S = 0.1
"""Between two submissions of a client: load, and not all that the machine has."""


class Load:
    """Clients that submit at every Heddle in turn, patiently, each application once."""

    def __init__(self, urls: list[str]) -> None:
        self.urls = urls
        self.taken: set[ApplicationId] = set()
        self.refused: list[str] = []
        self._done = threading.Event()
        self._clients = [threading.Thread(target=self._submit, args=(number,)) for number in range(2)]

    def __enter__(self) -> Self:
        for each in self._clients:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        for each in self._clients:
            each.join()

    def _submit(self, number: int) -> None:
        turn = number
        while not self._done.wait(_PAUSE_S):
            turn += 1
            answer = self._patient(turn, NEW_ID, {})
            context = {
                "application-id": answer.json()["application-id"],
                "application-name": f"job {number}",
                "queue": "default",
                "am-container-spec": {"commands": {"command": "true"}},
                "resource": {"memory": 256, "vCores": 1},
            }
            answer = self._patient(turn, APPS, context)
            if answer.status_code == 202:
                self.taken.add(ApplicationId.parse(context["application-id"]))
            else:
                self.refused.append(answer.text)

    def _patient(self, turn: int, path: str, body: object) -> httpx.Response:
        """Ask, and go to the next Heddle when one is away or not ready."""
        while True:
            turn += 1
            try:
                where = self.urls[turn % len(self.urls)] + path
                answer = httpx.post(where, params={"user.name": "ada"}, json=body, timeout=120)
            except httpx.TransportError:
                continue
            if answer.status_code != 503:
                return answer


async def test_two_heddles_follow_under_load_while_one_is_killed(tmp_path, request):
    store = await an_empty_database("postgresql", request)
    with ServedManager("east") as east, ServedManager("west") as west, fronts(tmp_path, store, 2) as (first, second):
        first.change("add", "east", {"keys": {"web": east.url}}).raise_for_status()
        for each in (first, second):
            each.serves("east")
        with Load([first.url, second.url]) as load:
            until(lambda: len(load.taken) > 10, "submissions run")
            second.change("add", "west", {"keys": {"web": west.url}}).raise_for_status()
            second.heddle.process.kill()  # whatever it has done of it, the version is in the store
            second.heddle.process.wait()
            first.serves("east", "west")
            second.heddle.begin()
            second.serves("east", "west")
            until(lambda: len(west.applications()) > 5, "the new one gets its part")
            assert first.change("remove", "west").status_code == 409
            first.order("drain", "west")
            answers: list[httpx.Response] = []
            going = threading.Thread(target=lambda: answers.append(first.change("remove", "west")))
            west.finish_all()

            def is_empty() -> bool:
                west.finish_all()
                told = [each.ask("/heddle/v1/clusters/west/drainage") for each in (first, second)]
                return all(each["is_drained"] for each in told)

            until(is_empty, "both see it drained")
            going.start()
            going.join()
            answers[0].raise_for_status()
            for each in (first, second):
                each.serves("east")
            count = len(load.taken)
            until(lambda: len(load.taken) > count + 10, "submissions go on")
        assert load.refused == []
        known = east.applications(), west.applications()
        assert not known[0] & known[1]
        assert load.taken <= known[0] | known[1]
        for each in (first, second):
            assert not each.heddle.troubles()
            assert each.heddle.ended(by=signal.SIGTERM) == 0
