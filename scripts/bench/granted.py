"""Containers that ResourceManagers grant for each one that is used: spanning, at home through Heddle, and without it.

YARN itself grants more than is asked for: a count is absolute, and one that is said while containers are on their way
asks for these once more. An ApplicationMaster whose wants grow shows it.
"""

import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx

from scripts.bench.cells import Effort, Say
from scripts.bench.report import figure_table
from shim.lab import Lab, LabSpec
from tests.support.client_jars import compile_program, unmanaged_am_jars
from tests.support.heddle_process import HeddleProcess
from tests.support.spanning import SPANNING, spanning_secret
from tests.support.stock_client import Server, StockClient

_LAUNCHER = "org.apache.hadoop.yarn.applications.unmanagedamlauncher.UnmanagedAMLauncher"
_QUEUES = "/jmx?qry=Hadoop:service=ResourceManager,name=QueueMetrics,q0=root"
_UNREAD = "[scheduling]\nautomatic = false\n"
_WANTED = 6
"""One cluster of the lab has room for them."""
_GROWS: Mapping[str, tuple[int, int]] = {
    "all at once, a beat of 1 s": (_WANTED, 1000),
    "2 more each beat of 0.3 s": (2, 300),
}
"""How much more is wanted in each beat, and how long that is in milliseconds."""


def granted(folder: Path, effort: Effort, say: Say) -> Iterator[str]:
    """The lines of the section."""
    folder.mkdir(parents=True)
    ratios: dict[str, dict[str, list[float]]] = {grows: {} for grows in _GROWS}
    with Lab(folder / "lab") as lab:
        lab.up(LabSpec.of(hosts="loopback"))
        for name, more in (("RM", None), ("Heddle, at home", _UNREAD), ("Heddle, spanning", SPANNING)):
            place = folder / name.replace(", ", "-").replace(" ", "-")
            place.mkdir()
            with spanning_secret(place):
                if more is None:
                    _measure(lab, place, next(iter(lab.clusters.values())), name, ratios, effort, say)
                    continue
                with HeddleProcess(lab, place, more=more) as heddle:
                    _measure(lab, place, heddle, name, ratios, effort, say)
    columns = tuple(f"{name} (largest)" for name in next(iter(ratios.values())))
    rows = {grows: tuple(map(_shown, of.values())) for grows, of in ratios.items()}
    yield from figure_table(f"containers granted for each of {_WANTED} used", columns, rows)


def _measure(
    lab: Lab,
    folder: Path,
    server: Server,
    name: str,
    ratios: Mapping[str, dict[str, list[float]]],
    effort: Effort,
    say: Say,
) -> None:
    client = StockClient(lab, folder / "client", server)
    program = compile_program("GrowingMaster", [client.jars], folder)
    for grows, (step, beat_ms) in _GROWS.items():
        found = ratios[grows].setdefault(name, [])
        for _ in range(effort.rounds):
            before = _granted(lab)
            master = " ".join(client.command("GrowingMaster", class_path=str(program)))
            command = f"{master} {_WANTED} {beat_ms} {step}"
            jars = f"{unmanaged_am_jars()}/*"
            client.run(_LAUNCHER, "-appname", "grows", "-cmd", command, class_path=jars, user="grace")
            found.append((_granted(lab) - before) / _WANTED)
        say(f"granted: {name}, {grows}: {_shown(found)}")


def _granted(lab: Lab) -> int:
    """What all ResourceManagers have granted since they started."""
    total = 0
    for cluster in lab.clusters.values():
        beans = httpx.get(cluster.url + _QUEUES, trust_env=False, timeout=30).json()["beans"]
        total += sum(bean["AggregateContainersAllocated"] for bean in beans if bean["name"].endswith("q0=root"))
    return total


def _shown(ratios: list[float]) -> str:
    return f"{statistics.mean(ratios):.2f} ({max(ratios):.2f})"
