"""Unmodified clients that ask by `SchedulingRequest` in a queue that spans: containers apart, over two clusters."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from shim.lab import Lab
from tests.support.client_jars import compile_program, unmanaged_am_jars
from tests.support.constrained import CLUSTERS, NODES, constrained_client, constrained_lab, gated_shell, hosts_of
from tests.support.heddle_process import HeddleProcess, until
from tests.support.spanning import SpanningApplication, spanning_heddle
from tests.support.stock_client import StockClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_LAUNCHER = "org.apache.hadoop.yarn.applications.unmanagedamlauncher.UnmanagedAMLauncher"


@pytest.fixture(scope="module", params=["scheduler", "placement-processor"])
def handler(request: pytest.FixtureRequest) -> str:
    """What judges constraints on both clusters."""
    return str(request.param)


@pytest.fixture(scope="module")
def lab(handler: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with constrained_lab(tmp_path_factory.mktemp("constraints"), handler) as own:
        yield own


@pytest.fixture(scope="module")
def heddle(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeddleProcess]:
    """A Heddle over the clusters whose default queue spans."""
    with spanning_heddle(lab, tmp_path_factory.mktemp("spanning")) as running:
        yield running


@pytest.fixture
def client(lab: Lab, heddle: HeddleProcess, tmp_path: Path) -> StockClient:
    return constrained_client(lab, heddle, tmp_path / "client")


@pytest.mark.parametrize("count", [NODES, NODES * CLUSTERS])
def test_a_distributed_shell_has_its_containers_apart(lab, heddle, client, tmp_path, count):
    """As many as its home has nodes, and as many as both clusters have."""
    gate = tmp_path / "go"
    command = gated_shell(client, gate, "-placement_spec", f"foo({count}),NOTIN,NODE,foo")
    with client.running(*command, user="barbara") as running:
        spanned = SpanningApplication.of(lab, heddle, running.stdout)
        until(lambda: len(hosts_of(heddle, spanned)) == count, f"{count} containers run")
        assert len(set(hosts_of(heddle, spanned))) == count, "no two on one node"
        gate.touch()
        spanned.has_succeeded()
    places = spanned.places()
    assert sum(places.values()) == count + 1, "those and their master, no container more"
    assert len(places) == (1 if count == NODES else CLUSTERS)
    spanned.has_ended_everywhere()


def constrained(client: StockClient, folder: Path, count: int, beats: int) -> list[str]:
    """The launcher of an unmanaged ApplicationMaster, with its arguments."""
    program = compile_program("ConstrainedMaster", [client.jars], folder)
    master = " ".join(client.command("ConstrainedMaster", class_path=str(program)))
    command = f"{master} {count} {beats} {folder / 'go'}"
    return [_LAUNCHER, "-appname", "constrained", "-cmd", command]


def test_what_no_cluster_can_hold_waits_or_is_rejected_as_at_one_resource_manager(handler, client, tmp_path):
    one_more = NODES * CLUSTERS + 1
    command = constrained(client, tmp_path, one_more, 300)
    printed = client.run(*command, class_path=f"{unmanaged_am_jars()}/*", user="grace")
    granted = re.findall(r"granted (container_\S+) on (\S+) tags \[web\]", printed)
    assert len({node for _, node in granted}) == len(granted) == one_more - 1, printed
    rejected = 1 if handler == "placement-processor" else 0
    assert f"granted in all {one_more - 1} rejected in all {rejected}" in printed


@pytest.mark.parametrize("handler", ["scheduler"], indirect=True, scope="module")  # the other one lets nothing wait
@pytest.mark.parametrize("killed", ["Heddle", "home"])
def test_after_heddle_or_the_home_is_killed_what_waits_is_asked_for_again(lab, heddle, client, tmp_path, killed):
    one_more = NODES * CLUSTERS + 1
    command = constrained(client, tmp_path, one_more, 900)
    seen: list[str] = []
    with client.running(*command, class_path=f"{unmanaged_am_jars()}/*", user="grace") as running:
        for line in running.stdout or ():
            seen.append(line)
            if sum("granted container" in each for each in seen) == one_more - 1:
                break
        if killed == "Heddle":
            heddle.kill()
            heddle.start()
        else:
            spanned = SpanningApplication.of(lab, heddle, seen)
            found = {name: spanned.at(name) or {} for name in lab.clusters}
            (home,) = [name for name, app in found.items() if app.get("applicationType", "HEDDLE") != "HEDDLE"]
            lab.kill(f"{home}-rm")
            lab.start(f"{home}-rm")
        (tmp_path / "go").touch()
        seen.extend(running.stdout or ())
    printed = "".join(seen)
    nodes = re.findall(r"granted container_\S+ on (\S+)", printed)
    assert len(nodes) == one_more, printed
    assert len(set(nodes)) == one_more - 1
    assert f"granted in all {one_more} rejected in all 0" in printed
