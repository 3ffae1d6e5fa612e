"""Watching a lab that starts, where nothing answers yet."""

import json
import os
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from shim.errors import LabError
from shim.lab.boot import BootProgress, BootWatch, await_daemon
from shim.lab.daemons import NODE_MANAGER, RESOURCE_MANAGER
from shim.lab.handles import Cluster
from shim.lab.layout import lay_out
from shim.lab.processes import identity_of, spawn
from shim.lab.spec import LabSpec
from shim.lab.state import ClusterRecord, DaemonRecord
from tests.doubles.postgresql import free_addresses


class EnoughError(Exception):
    """What the caller does meanwhile may fail."""


@pytest.fixture
def watched(tmp_path):
    """Watches a cluster whose one daemon, this process, answers nothing; with the messages of its steps."""
    spec = LabSpec.of(clusters=1, nodes=1)
    (layout,) = lay_out(spec, base_port=1, first_octet=10)
    cluster = Cluster("east", ClusterRecord(spec.clusters[0], layout, str(tmp_path)), tmp_path)
    (nobody,) = free_addresses(1)
    daemon = DaemonRecord("east-rm", "east", "Main", str(tmp_path), nobody, identity_of(os.getpid()))
    told: list[str] = []
    progress = BootProgress(lambda step: told.append(step.message), total=1)
    return BootWatch({"east": cluster}, (daemon,), progress, lambda _: None), told


def test_the_caller_has_its_turn_again_and_again_before_anything_is_ready(watched):
    watch, told = watched
    turns = iter(range(3))

    def meanwhile(say):
        turn = next(turns)
        say(f"turn {turn}")
        if turn == 2:
            raise EnoughError

    with pytest.raises(EnoughError):
        watch.wait(meanwhile, timeout_s=60)
    assert told == ["turn 0", "turn 1", "turn 2"]


def test_a_lab_that_is_not_ready_in_time_is_named(watched, tmp_path):
    watch, _ = watched
    Path(tmp_path / "daemon.log").write_text("still thinking")
    with pytest.raises(LabError, match=r"east has no active ResourceManager(.|\n)*still thinking"):
        watch.wait(lambda _: None, timeout_s=0)


def started(tmp_path, program, web, main_class=NODE_MANAGER):
    """The record of a daemon that is a Python program."""
    process = spawn([sys.executable, "-c", program], environment={}, log=tmp_path / "daemon.log")
    return DaemonRecord("east-nm1", "east", main_class, str(tmp_path), web, process)


def test_a_daemon_that_ends_while_it_starts_is_named_with_its_last_words(tmp_path):
    (nobody,) = free_addresses(1)
    daemon = started(tmp_path, "import sys; sys.exit('the port is taken')", nobody)
    with pytest.raises(LabError, match=r"east-nm1 ended(.|\n)*the port is taken"):
        await_daemon(daemon, timeout_s=60)


def test_a_daemon_that_serves_nobody_in_time_is_named():
    (nobody,) = free_addresses(1)
    daemon = DaemonRecord("east-rm", "east", RESOURCE_MANAGER, "/nowhere", nobody, identity_of(os.getpid()))
    with pytest.raises(LabError, match="east-rm runs, and serves nobody at"):
        await_daemon(daemon, timeout_s=0)


@contextmanager
def answering(body):
    """The address of a web server that answers all alike."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Nothing is logged."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("main_class", "state", "serves"),
    [
        (RESOURCE_MANAGER, "ACTIVE", True),
        (RESOURCE_MANAGER, "STANDBY", True),
        (RESOURCE_MANAGER, "INITIALIZING", False),
        (NODE_MANAGER, "INITIALIZING", True),
    ],
)
def test_a_daemon_that_takes_requests_has_started(main_class, state, serves):
    told = {"clusterInfo": {"haState": state, "resourceManagerVersion": "3.4.2"}, "nodes": None}
    with answering(json.dumps(told).encode()) as web:
        daemon = DaemonRecord("east", "east", main_class, "/nowhere", web, identity_of(os.getpid()))
        if serves:
            await_daemon(daemon, timeout_s=60)
        else:
            with pytest.raises(LabError):
                await_daemon(daemon, timeout_s=0)
