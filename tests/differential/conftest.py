"""A real ResourceManager with a history, and Heddle over that one ResourceManager."""

import asyncio
import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from shim.app.bootstrap import Heddle
from shim.config.loader import parse
from shim.lab import DEFAULT_VERSION, SUPPORTED_VERSIONS, Cluster, Lab, LabSpec
from tests.support.raw_http import RawAnswer, RawRequest, exchange

APPS = "/ws/v1/cluster/apps"


@dataclass(frozen=True, slots=True)
class Pair:
    """The same clusters asked twice: directly and through Heddle.

    Attributes:
        managers: Addresses of the ResourceManagers.
        heddle: Address of Heddle.
        applications: Ids of the applications that were submitted beforehand.
    """

    managers: tuple[str, ...]
    heddle: str
    applications: tuple[str, ...]

    def ask_both(self, request: RawRequest) -> tuple[RawAnswer, RawAnswer]:
        """The answers of the first ResourceManager and of Heddle."""
        return exchange(self.managers[0], request), exchange(self.heddle, request)


class HeddleInAThread:
    """Heddle over some ResourceManagers, on a loop of its own, so that tests may block."""

    def __init__(
        self,
        folder: os.PathLike[str],
        managers: dict[str, str],
        *,
        text: str = "[security]\nallow_anonymous = true\n",
        rpcs: Mapping[str, str] | None = None,
    ) -> None:
        subclusters = "".join(f'[[subcluster]]\nid = "{name}"\nweb = "{url}"\n' for name, url in managers.items())
        for name, address in (rpcs or {}).items():
            subclusters = subclusters.replace(f'id = "{name}"\n', f'id = "{name}"\nclient_rpc = "{address}"\n')
        configuration = (
            '[server]\nrest = "127.0.0.1:0"\nclient_rpc = "127.0.0.1:0"\nstaleness_s = 0\nanswer_within_s = 60\n'
            f'[store]\nurl = "sqlite:///{os.fspath(folder)}/heddle.db"\n'
            f"{text}"
            "[poll]\ninterval_s = 0.3\ntimeout_s = 60\n"
            f"{subclusters}"
        )
        self._config = parse(configuration, source="test.toml", environment={})
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._heddle = Heddle(self._config)

    def __enter__(self) -> str:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._heddle.__aenter__(), self._loop).result(180)
        return self._heddle.url

    @property
    def client_rpc(self) -> str | None:
        """Where it serves Hadoop clients."""
        return self._heddle.client_rpc

    def __exit__(self, *exc: object) -> None:
        asyncio.run_coroutine_threadsafe(self._heddle.__aexit__(None, None, None), self._loop).result(180)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


def json_of(url: str, target: str) -> dict[str, object]:
    """A JSON answer."""
    found: dict[str, object] = json.loads(exchange(url, RawRequest("GET", target)).body)
    return found


def submit(url: str, user: str, **context: object) -> str:
    """Submit a sleeping application straight to a ResourceManager; return its id."""
    made = exchange(url, RawRequest("POST", f"{APPS}/new-application?user.name={user}"))
    application_id = str(json.loads(made.body)["application-id"])
    body = {
        "application-id": application_id,
        "application-name": "sleeper",
        "queue": "default",
        "am-container-spec": {"commands": {"command": "sleep 600"}},
        "resource": {"memory": 256, "vCores": 1},
        "max-app-attempts": 1,
        "application-type": "YARN",
        **context,
    }
    headers = (("Accept", "*/*"), ("Content-Type", "application/json"))
    answer = exchange(url, RawRequest("POST", f"{APPS}?user.name={user}", headers, json.dumps(body).encode()))
    assert answer.status == 202, answer.body
    return application_id


def wait_until(is_true: Callable[[], bool], what: str, within_s: float = 300.0) -> None:
    """Poll a real cluster until it is as wanted."""
    deadline = time.monotonic() + within_s
    while not is_true():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.2)


def make_history(url: str) -> tuple[str, ...]:
    """Applications of several users, queues, types and tags: killed, failed and accepted."""
    made = [
        submit(url, "alice"),
        submit(url, "bob", **{"application-name": "bobapp", "application-tags": {"tag": ["T1", "x"]}}),
        submit(url, "carol", **{"application-type": "MAPREDUCE", "queue": "prod", "priority": 2}),
        submit(url, "alice", queue="nosuch"),
        submit(url, "dave", **{"application-name": 'a<b>&"c"', "application-type": "Spark", "queue": "dev"}),
        submit(url, "alice", **{"unmanaged-AM": True, "application-name": "unmanaged"}),
    ]
    body = b'{"state":"KILLED"}'
    headers = (("Accept", "*/*"), ("Content-Type", "application/json"))
    for application_id, user in ((made[0], "alice"), (made[1], "bob")):
        exchange(url, RawRequest("PUT", f"{APPS}/{application_id}/state?user.name={user}", headers, body))
    settled = {made[0]: "KILLED", made[1]: "KILLED", made[3]: "FAILED", made[5]: "ACCEPTED"}
    launched = (made[2], made[4])  # and never register: nothing that is told of them changes any more

    def is_settled() -> bool:
        listed = json_of(url, APPS)["apps"]
        assert isinstance(listed, dict)
        states = {app["id"]: app for app in listed["app"]}
        return all(states[key]["state"] == state for key, state in settled.items()) and all(
            "AM container is launched" in states[key]["diagnostics"] for key in launched
        )

    wait_until(is_settled, "the applications have settled", within_s=180.0)
    return tuple(made)


@contextlib.contextmanager
def clusters(tmp_path_factory: pytest.TempPathFactory, *, count: int) -> Iterator[dict[str, str]]:
    """Addresses of ResourceManagers by cluster: of a lab that is started, or those in `HEDDLE_TEST_MANAGERS`."""
    running = os.environ.get("HEDDLE_TEST_MANAGERS", "").split(",")
    if len(running) >= count and all(running):
        yield dict(zip(("east", "west"), running[:count], strict=False))
        return
    with Lab(tmp_path_factory.mktemp("differential")) as started:
        started.up(LabSpec.of(clusters=count, nodes=1, hosts="loopback"))
        yield {name: started.cluster(name).url for name in ("east", "west")[:count]}


def _pair(tmp_path_factory: pytest.TempPathFactory, *, count: int) -> Iterator[Pair]:
    with clusters(tmp_path_factory, count=count) as managers:
        made = tuple(item for url in managers.values() for item in make_history(url))
        with pair_over(tmp_path_factory, managers, made) as pair:
            yield pair


@contextlib.contextmanager
def pair_over(
    tmp_path_factory: pytest.TempPathFactory, managers: dict[str, str], made: tuple[str, ...]
) -> Iterator[Pair]:
    """Heddle over clusters that run, once it knows every application there."""
    with HeddleInAThread(tmp_path_factory.mktemp("heddle"), managers) as url:
        pair = Pair(tuple(managers.values()), url, made)
        wait_until(lambda: _is_known(pair), "Heddle knows every application")
        yield pair


def _is_known(pair: Pair) -> bool:
    listed = json_of(pair.heddle, APPS)["apps"]
    return isinstance(listed, dict) and {app["id"] for app in listed.get("app", [])} >= set(pair.applications)


@pytest.fixture(scope="module")
def federation_of_one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Heddle over one ResourceManager of Hadoop 3.4.2."""
    yield from _pair(tmp_path_factory, count=1)


@pytest.fixture(scope="module")
def federation_of_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Heddle over two ResourceManagers."""
    yield from _pair(tmp_path_factory, count=2)


@pytest.fixture(scope="session")
def history_of_version(cluster_of_version: Mapping[str, Cluster]) -> Mapping[str, tuple[str, ...]]:
    """The applications of each version's cluster; they settle side by side."""
    with ThreadPoolExecutor(len(cluster_of_version)) as workers:
        made = workers.map(make_history, [cluster.url for cluster in cluster_of_version.values()])
        return dict(zip(cluster_of_version, made, strict=True))


@pytest.fixture(scope="module", params=[version for version in SUPPORTED_VERSIONS if version != DEFAULT_VERSION])
def federation_of_a_version(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    cluster_of_version: Mapping[str, Cluster],
    history_of_version: Mapping[str, tuple[str, ...]],
) -> Iterator[Pair]:
    """Heddle over one ResourceManager of each other Hadoop."""
    version: str = request.param
    managers = {"east": cluster_of_version[version].url}
    with pair_over(tmp_path_factory, managers, history_of_version[version]) as pair:
        yield pair
