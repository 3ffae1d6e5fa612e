"""The ten steps of the page for operators, and back, by Hadoop's own clients: from one cluster, and from its Router."""

import getpass
import re
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts.bench.java_router import JavaRouter
from shim.lab import Lab
from tests.support.heddle_process import until
from tests.support.started import Started
from tests.support.stock_client import StockClient

USER = getpass.getuser()
"""Who submits: a client refuses a staging folder that another user has made, and all files here are of this one."""

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]


@dataclass(frozen=True, slots=True)
class Doors:
    """Where Heddle will serve."""

    url: str
    client_rpc: str
    scheduler_rpc: str
    admin_rpc: str

    @classmethod
    def of(cls, lab: Lab) -> "Doors":
        rest, *others = (f"{lab.host}:{port}" for port in free_ports(lab.host, 4))
        return cls(f"http://{rest}", *others)

    def configuration(self, folder: Path, lab: Lab, *clusters: str) -> str:
        """As step 2 has it, with ports of its own."""
        return f"""
[server]
allow_remote = true
rest = "{self.url.removeprefix("http://")}"
client_rpc = "{self.client_rpc}"
scheduler_rpc = "{self.scheduler_rpc}"
admin_rpc = "{self.admin_rpc}"
[store]
url = "sqlite:///{folder}/heddle.db"
[security]
admins = ["ada"]
[poll]
interval_s = 0.5
""" + "".join(f'[[subcluster]]\nid = "{id_}"\nconf = "{lab.cluster(id_).conf_dir}"\n' for id_ in clusters)


def free_ports(host: str, count: int) -> list[int]:
    with ExitStack() as opened:
        return [opened.enter_context(socket.create_server((host, 0))).getsockname()[1] for _ in range(count)]


def heddle(*words: str, code: int = 0) -> str:
    """What a verb prints, as ada."""
    command = (sys.executable, "-m", "shim", *words)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == code, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def pi(client: StockClient) -> str:
    """A MapReduce job that ends well; its id."""
    said = client.run(
        "org.apache.hadoop.util.RunJar", client.jar("hadoop-mapreduce-examples"), "pi", "1", "10", user=USER
    )
    assert "Estimated value of Pi" in said, said[-6000:]
    found = re.search(r"application_\d+_\d+", said)
    assert found is not None, said
    return found[0]


def finished(client: StockClient) -> str:
    return client.yarn("application", "-list", "-appStates", "FINISHED")


def nodes(client: StockClient) -> int:
    found = re.search(r"Total Nodes:(\d+)", client.yarn("node", "-list"))
    return int(found[1]) if found else 0


def home(url: str, application: str) -> str:
    return heddle("app", "status", application, "--server", url, "--user", "ada")


def test_from_one_cluster_to_heddle_and_back(lab, tmp_path):
    first, second = lab.clusters
    as_before = StockClient(lab, tmp_path / "before", lab.cluster(first))
    of_one = nodes(as_before)
    before = pi(as_before)
    doors = Doors.of(lab)
    (tmp_path / "heddle").mkdir()
    with Started(tmp_path / "heddle", doors.configuration(tmp_path, lab, first)) as served:
        file, asked = str(served.config), ("--server", doors.url, "--user", "ada")
        heddle("serve", "-c", file, "--check")
        client = StockClient(lab, tmp_path / "client", doors, admin_address=doors.admin_rpc)
        assert before in finished(client)
        assert nodes(client) == of_one
        through = pi(client)
        heddle("cluster", "add", second, "--conf", str(lab.cluster(second).conf_dir), "--write", "-c", file)
        arguments = ("org.apache.hadoop.util.RunJar", client.jar("hadoop-mapreduce-examples"), "pi", "2", "10")
        with client.running(*arguments, user=USER) as during:  # which is under way while the second one comes
            heddle("reload", *asked)
            until(lambda: second in heddle("cluster", "list", *asked), "it serves both")
            said, _ = during.communicate()
        assert "Estimated value of Pi" in said, said[-6000:]
        until(lambda: nodes(client) > of_one, "nodes of both are listed")
        heddle("cluster", "cordon", first, *asked)
        elsewhere = pi(client)
        assert second in home(doors.url, elsewhere)
        heddle("cluster", "undrain", first, *asked)
        heddle("cluster", "drain", second, "--wait", *asked)
        heddle("cluster", "remove", second, "--write", "-c", file)
        heddle("reload", *asked)
        until(lambda: second not in heddle("cluster", "list", *asked), "it serves the first one")
        last = pi(client)
        assert served.ended(by=signal.SIGTERM) == 0
        assert not served.troubles()
    listed = finished(as_before)
    assert {before, through, last} <= set(re.findall(r"application_\d+_\d+", listed))
    assert elsewhere in finished(StockClient(lab, tmp_path / "second", lab.cluster(second)))


def test_from_the_router_to_heddle_and_back(fresh_lab, tmp_path):
    lab = fresh_lab(clusters=2, hosts="loopback")  # the Router keeps its table at localhost
    doors = Doors.of(lab)
    (tmp_path / "router").mkdir()
    (tmp_path / "heddle").mkdir()
    with JavaRouter(lab, tmp_path / "router", base_port=free_ports("127.0.0.1", 1)[0]) as router:
        by_router = StockClient(lab, tmp_path / "before")
        for file in router.client_conf().iterdir():
            (tmp_path / "before" / file.name).write_bytes(file.read_bytes())
        before = pi(by_router)
        with Started(tmp_path / "heddle", doors.configuration(tmp_path, lab, *lab.clusters)) as served:
            client = StockClient(lab, tmp_path / "client", doors)
            assert before in finished(client)
            through = pi(client)
            assert nodes(client) == len(lab.clusters)
            assert served.ended(by=signal.SIGTERM) == 0
        after = pi(by_router)
        assert {before, through, after} <= set(re.findall(r"application_\d+_\d+", finished(by_router)))
