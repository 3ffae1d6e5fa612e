"""Hosts of their own: network namespaces, which only root can make."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from shim.lab.allocation import claim_slot, release_slot
from shim.lab.host_networks import HostNetworks, HostsMissingError, on_host
from shim.lab.layout import front_host
from shim.lab.spec import LabSpec
from shim.lab.state import STATE_FILE

pytestmark = pytest.mark.lab

SPEC = LabSpec.of(clusters=1, nodes=1)
HERE = 230
"""Networks of tests begin here: those of labs are at most as many as there are slots."""


class NetworksOfTests(HostNetworks):
    """The same, beside those of labs."""

    def network(self, number: int) -> str:
        return super().network(HERE + number)

    def number_of(self, network: str) -> int:
        return super().number_of(network) - HERE

    def raised(self) -> set[str]:
        return {each for each in super().raised() if self.number_of(each) >= 0}

    def unused(self) -> dict[str, bool]:
        return {each: old for each, old in super().unused().items() if self.number_of(each) >= 0}


@pytest.fixture
def networks() -> Iterator[NetworksOfTests]:
    """Networks, or a reason why this machine has none."""
    made = NetworksOfTests()
    try:
        made.up(made.network(20), ())
    except HostsMissingError as missing:
        pytest.skip(str(missing))
    yield made
    for network in made.raised():
        made.lower(network)


def run_at(address: str, name: str, hosts: Path, *command: str) -> str:
    words = on_host(address, name, hosts, [shutil.which(command[0]) or command[0], *command[1:]])
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=30).stdout.strip()


def test_each_daemon_is_on_a_host_that_knows_the_others_by_name_and_leads_nowhere_else(networks, tmp_path):
    (layout,) = claim_slot(SPEC, tmp_path / "lab", tmp_path / "slots", networks)
    hosts = tmp_path / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n{layout.nodes[0].host} east-nm1\n")
    before = os.uname().nodename
    shown = run_at(layout.primary.web, "east-rm", hosts, "sh", "-c", "hostname; cat /etc/hosts; ip -br addr; ip route")
    assert shown.splitlines()[0] == "east-rm"
    assert f"{layout.primary.host}/24" in shown
    assert "east-nm1" in shown
    assert "default" not in shown
    assert os.uname().nodename == before
    assert "east-nm1" not in Path("/etc/hosts").read_text()
    # the node reaches this machine, and sees it as the address where Heddle is
    talk = "import socket; s = socket.create_connection(('%s', %d), 5); print(s.getsockname()[0])"
    with socket.create_server((front_host([layout]), 0)) as server:
        words = ("python3", "-c", talk % server.getsockname())
        told = run_at(layout.nodes[0].rpc, "east-nm1", hosts, *words)
        connection, (peer, _) = server.accept()
        connection.close()
        assert told == layout.nodes[0].host == peer
    release_slot(tmp_path / "lab", tmp_path / "slots", networks)
    assert networks.network(0) not in networks.raised()
    assert not any(f"heddle{HERE} " in line for line in links())


def test_what_a_lab_that_died_has_left_is_taken_away_by_the_next_one(networks, tmp_path):
    (dead,) = claim_slot(SPEC, tmp_path / "dead", tmp_path / "slots", networks)
    (tmp_path / "dead").mkdir()
    (tmp_path / "dead" / STATE_FILE).touch()
    (tmp_path / "slots" / "slot-0").write_text(f"{1 << 30}\n{tmp_path / 'dead'}\n")  # whoever claimed it has ended
    (mine,) = claim_slot(SPEC, tmp_path / "next", tmp_path / "slots", networks)
    assert dead.primary.host not in on_host(dead.primary.web, "x", tmp_path, ["true"])
    assert networks.network(0) not in networks.raised()
    assert mine.primary.host.startswith(f"{networks.network(1)}.")


def test_a_lab_that_runs_or_is_being_made_keeps_its_hosts(networks, tmp_path):
    (one,) = claim_slot(SPEC, tmp_path / "one", tmp_path / "slots", networks)
    (other,) = claim_slot(SPEC, tmp_path / "other", tmp_path / "elsewhere", networks)  # another user's registry
    (third,) = claim_slot(SPEC, tmp_path / "third", tmp_path / "slots", networks)
    assert len({each.primary.host.rpartition(".")[0] for each in (one, other, third)}) == 3
    sleeper = subprocess.Popen(on_host(one.primary.web, "east-rm", Path("/etc/hosts"), [shutil.which("sleep"), "60"]))
    try:
        (tmp_path / "slots" / "slot-0").write_text(f"{1 << 30}\n{tmp_path / 'one'}\n")
        claim_slot(SPEC, tmp_path / "fourth", tmp_path / "slots", networks)
        assert networks.network(0) in networks.raised()
    finally:
        sleeper.kill()
        sleeper.wait()


def test_a_machine_that_makes_no_hosts_says_why_and_is_left_as_it_was(networks, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(HostsMissingError, match="only root"):
        claim_slot(SPEC, tmp_path / "lab", tmp_path / "slots", networks)
    assert not list((tmp_path / "slots").glob("slot-*"))


def links() -> list[str]:
    return subprocess.run(["ip", "-br", "link"], capture_output=True, text=True, check=True).stdout.splitlines()
