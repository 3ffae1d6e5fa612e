"""The configuration read anew by a started process: all of it or nothing, with nobody refused meanwhile."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from shim.concurrency import listening_sockets
from tests.doubles.postgresql import free_addresses
from tests.support.heddle_process import until
from tests.support.started import Started, configuration

INFO, CLUSTERS, RELOAD = "/ws/v1/cluster/info", "/heddle/v1/clusters", "/heddle/v1/reload"
WEST = '[[subcluster]]\nid = "west"\nweb = "http://127.0.0.1:19"\n'
ALLOWED = "[security]\nallow_anonymous = true\nadmins = ['ops']\n"


@contextmanager
def serving(folder: Path) -> Iterator[tuple[Started, str, dict[str, str]]]:
    text, doors = configuration(folder, more=ALLOWED)
    with Started(folder, text) as heddle:
        yield heddle, f"http://{doors['rest']}", doors


def clusters(url: str) -> list[str]:
    return [each["id"] for each in httpx.get(url + CLUSTERS, timeout=60).json()["clusters"]]


def reload(url: str, **query: str) -> httpx.Response:
    return httpx.post(url + RELOAD, params={"user.name": "ops", **query}, timeout=180)


def wrote(heddle: Started, *, before: str = "", after: str = "") -> None:
    text = heddle.config.read_text()
    heddle.config.write_text(text.replace(before, after) if before else text + after)


def test_a_cluster_comes_and_goes_and_the_process_stays(tmp_path):
    with serving(tmp_path) as (heddle, url, _):
        wrote(heddle, after=WEST)
        planned = reload(url, dryRun="true").json()
        assert (planned["added"], planned["changed"]) == (["west"], ["subcluster west"])
        assert clusters(url) == ["east"]
        assert reload(url).json()["added"] == ["west"]
        until(lambda: clusters(url) == ["east", "west"], "the second cluster is there")
        wrote(heddle, before=WEST)
        heddle.process.send_signal(signal.SIGHUP)
        until(lambda: clusters(url) == ["east"], "the second cluster is gone")
        assert heddle.process.poll() is None
        assert not heddle.troubles()
        assert heddle.ended(by=signal.SIGTERM) == 0


def test_nobody_is_refused_meanwhile(tmp_path):
    with serving(tmp_path) as (heddle, url, doors):
        answers: list[object] = []
        done = threading.Event()

        def ask() -> None:
            while not done.is_set():
                try:
                    answers.append(httpx.get(url + INFO, timeout=120).status_code)
                    with socket.create_connection(tuple_of(doors["client_rpc"]), timeout=120):
                        answers.append(200)
                except (httpx.HTTPError, OSError) as exc:
                    answers.append(exc)

        asking = [threading.Thread(target=ask) for _ in range(4)]
        for each in asking:
            each.start()
        for times in (1, 2):
            wrote(heddle, after=f'[[subcluster]]\nid = "more{times}"\nweb = "http://127.0.0.1:2{times}"\n')
            reload(url).raise_for_status()
            until(lambda wanted=times + 1: len(clusters(url)) == wanted, "the new one serves")
        done.set()
        for each in asking:
            each.join()
        assert len(answers) > 20
        assert set(answers) == {200}
        assert heddle.told().count(" serves ") == 3


def test_what_cannot_be_used_changes_nothing(tmp_path):
    with serving(tmp_path) as (heddle, url, _):
        sound = heddle.config.read_text()
        for wrong, word in (
            (sound + '[poll]\ninterval_s = "soon"\n', "poll.interval_s"),
            (sound + '[[subcluster]]\nid = "west"\nconf = "/no/such/folder"\n', "/no/such/folder"),
            ("not [ TOML", "TOML"),
        ):
            heddle.config.write_text(wrong)
            refused = reload(url)
            assert refused.status_code == 409
            assert word in refused.text
        heddle.process.send_signal(signal.SIGHUP)
        until(lambda: "was not read anew" in heddle.told(), "the log says so")
        assert clusters(url) == ["east"]
        assert heddle.told().count(" serves ") == 1


def test_only_an_operator_may(tmp_path):
    with serving(tmp_path) as (heddle, url, _):
        assert reload(url, **{"user.name": "ada"}).status_code == 403
        assert heddle.told().count(" serves ") == 1


def test_what_is_handed_on_is_each_listening_socket_once_and_nothing_else_is_left_open():
    with socket.create_server(("127.0.0.1", 0)) as listening, Path(__file__).open("rb"):
        before = set(Path("/proc/self/fd").iterdir())
        doors = listening_sockets.copies()
        try:
            held = [socket.socket(fileno=os.dup(number)) for number in doors]
            assert [each.getsockname() for each in held].count(listening.getsockname()) == 1
            for each in held:
                each.close()
        finally:
            for number in doors:
                os.close(number)
        assert set(Path("/proc/self/fd").iterdir()) == before


def test_an_address_moves_with_it(tmp_path):
    with serving(tmp_path) as (heddle, url, doors):
        (other,) = free_addresses(1)
        wrote(heddle, before=f'rest = "{doors["rest"]}"', after=f'rest = "{other}"')
        assert reload(url).json()["changed"] == ["server.rest"]
        until(lambda: f"at http://{other}" in heddle.told(), "it serves at the other address")
        assert clusters(f"http://{other}") == ["east"]
        with pytest.raises(httpx.ConnectError):
            httpx.get(url + INFO)


def test_the_command_says_what_changes_and_waits_until_it_counts(tmp_path):
    with serving(tmp_path) as (heddle, url, _):
        wrote(heddle, after=WEST)

        def heddle_reload(*options: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "shim", "reload", "--server", url, "--user", "ops", "-o", "json", *options]
            return subprocess.run(command, capture_output=True, text=True, check=False)

        assert json.loads(heddle_reload("--dry-run").stdout)["added"] == ["west"]
        assert clusters(url) == ["east"]
        done = heddle_reload()
        assert (done.returncode, json.loads(done.stdout)["added"]) == (0, ["west"])
        assert clusters(url) == ["east", "west"]
        heddle.config.write_text("nothing = 1")
        refused = heddle_reload()
        assert refused.returncode == 1
        assert "nothing" in refused.stderr


def tuple_of(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)
