"""Unmodified clients whose queue spans: one application with containers in two clusters, the result as on one."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from shim.lab import Lab
from shim.lab.word_count import find_texts
from tests.support.heddle_process import HeddleProcess, until
from tests.support.spanning import PATIENT, SpanningApplication, spanning_heddle
from tests.support.stock_client import StockClient

pytestmark = pytest.mark.lab

_RUN_JAR = "org.apache.hadoop.util.RunJar"
_SHELL = "org.apache.hadoop.yarn.applications.distributedshell.Client"


@pytest.fixture(scope="module")
def heddle(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeddleProcess]:
    """A Heddle over the shared lab whose default queue spans."""
    folder = tmp_path_factory.mktemp("spanning")
    with spanning_heddle(lab, folder, PATIENT) as running:
        yield running


@pytest.fixture
def client(lab: Lab, heddle: HeddleProcess, tmp_path: Path) -> StockClient:
    return StockClient(lab, tmp_path / "client", heddle)


@pytest.mark.main_promise
def test_map_reduce_computes_pi_with_maps_in_two_clusters(lab, heddle, client):
    jar = client.jar("hadoop-mapreduce-examples")
    done = client.try_run(_RUN_JAR, jar, "pi", "8", "10", user="leonhard")

    spanned = SpanningApplication.printed(lab, heddle, done.stdout)
    spanned.has_succeeded()
    assert len(spanned.places()) == 2, done.stdout
    spanned.has_ended_everywhere()
    spanned.is_listed_once()


def test_map_reduce_counts_the_words_of_real_texts_in_two_clusters(lab, heddle, client, tmp_path):
    texts = find_texts(6)
    folder = tmp_path / "in"
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / str(number)).write_bytes(text.read_bytes())
    jar = client.jar("hadoop-mapreduce-examples")
    done = client.try_run(_RUN_JAR, jar, "wordcount", f"file://{folder}", f"file://{tmp_path}/out", user="donald")

    spanned = SpanningApplication.printed(lab, heddle, done.stdout)
    spanned.has_succeeded()
    lines = [line for part in Path(tmp_path, "out").glob("part-r-*") for line in part.read_text().splitlines()]
    counted = {word: int(count) for word, _, count in (line.rpartition("\t") for line in lines)}
    assert counted == Counter(word for text in texts for word in re.split(r"[ \t\n\r\f]+", text.read_text()) if word)
    assert len(spanned.places()) == 2, done.stdout
    spanned.has_ended_everywhere()


def test_a_distributed_shell_runs_its_commands_in_two_clusters(lab, heddle, client):
    site = client.folder / "yarn-site.xml"
    site.write_text(site.read_text().replace("<value>$HADOOP_CONF_DIR,", f"<value>{client.folder},"))
    jar = client.jar("hadoop-yarn-applications-distributedshell")
    printed = client.run(
        _SHELL, "-jar", jar, "-shell_command", "sleep", "-shell_args", "3", "-num_containers", "6", user="barbara"
    )

    assert "Application completed successfully" in printed
    spanned = SpanningApplication.printed(lab, heddle, printed)
    places = spanned.places()
    assert len(places) == 2, printed
    assert sum(places.values()) == 7, "six commands and their master, no container more"
    spanned.has_ended_everywhere()


@pytest.mark.main_promise
def test_a_kill_ends_what_the_application_has_everywhere(lab, heddle, client):
    jar = client.jar("hadoop-mapreduce-examples")
    with client.running(_RUN_JAR, jar, "pi", "24", "10", user="ada") as running:
        spanned = SpanningApplication.of(lab, heddle, running.stdout)
        spanned.waits_for_places(2)
        kill(heddle, spanned, user="ada")
        spanned.has_ended_everywhere()


def test_containers_are_listed_and_signalled_wherever_they_run(lab, heddle, client):
    site = client.folder / "yarn-site.xml"
    site.write_text(site.read_text().replace("<value>$HADOOP_CONF_DIR,", f"<value>{client.folder},"))
    jar = client.jar("hadoop-yarn-applications-distributedshell")
    command = [_SHELL, "-jar", jar, "-shell_command", "sleep", "-shell_args", "600", "-num_containers", "6"]
    with client.running(*command, user="grace") as running:
        spanned = SpanningApplication.of(lab, heddle, running.stdout)
        spanned.waits_for_places(2)
        attempt = spanned.attempts()[-1]["appAttemptId"]
        path = f"apps/{spanned.application}/appattempts/{attempt}/containers"
        rows: list[dict[str, Any]] = []

        def are_listed() -> bool:
            rows[:] = heddle.ask(path).get("container", [])
            return len(rows) == 7

        until(are_listed, "the master and its six commands are listed")
        listed = {each["containerId"]: each["nodeId"].rpartition(":")[0] for each in rows}
        of_clusters = {node.host: id_ for id_, each in lab.clusters.items() for node in each.record.layout.nodes}
        assert {of_clusters[host] for host in listed.values()} == set(lab.clusters), "nodes of both clusters"
        until(lambda: as_xml(f"{heddle.url}/ws/v1/cluster/{path}").count("<containerId>") == 7, "the same in XML")
        printed = client.yarn("container", "-list", attempt)
        assert "Total number of containers :7" in printed
        assert all(id_ in printed for id_ in listed)
        elsewhere = [id_ for id_ in listed if lab.cluster(spanned.home).record.layout.epoch != epoch_of(id_)]
        until(
            lambda: heddle.ask(f"{path}/{elsewhere[0]}").get("containerId") == elsewhere[0], "it is told of by itself"
        )
        assert f"Container-Id : {elsewhere[0]}" in client.yarn("container", "-status", elsewhere[0])
        client.yarn("container", "-signal", elsewhere[0], "FORCEFUL_SHUTDOWN", user="grace")
        until(lambda: elsewhere[0] not in ids_in(heddle.ask(path)), "the container that was signalled has ended")
        kill(heddle, spanned, user="grace")
        spanned.has_ended_everywhere()


def test_the_account_of_an_application_is_that_of_all_clusters_while_it_runs_and_afterwards(lab, heddle, client):
    site = client.folder / "yarn-site.xml"
    site.write_text(site.read_text().replace("<value>$HADOOP_CONF_DIR,", f"<value>{client.folder},"))
    jar = client.jar("hadoop-yarn-applications-distributedshell")
    command = [_SHELL, "-jar", jar, "-shell_command", "sleep", "-shell_args", "600", "-num_containers", "6"]
    with client.running(*command, user="grete") as running:
        spanned = SpanningApplication.of(lab, heddle, running.stdout)
        spanned.waits_for_places(2)
        for name in ("runningContainers", "allocatedMB", "allocatedVCores"):
            until(lambda name=name: told(heddle, spanned)[name] == at_all(lab, spanned, name) > 1, name)
        until(lambda: told(heddle, spanned)["runningContainers"] == 7, "the master and its six commands")
        seen = [told(heddle, spanned)["memorySeconds"] for _ in range(20)]
        assert seen == sorted(seen)
        assert "Aggregate Resource Allocation" in client.yarn("application", "-status", spanned.application)
        kill(heddle, spanned, user="grete")
        spanned.has_ended_everywhere()
    until(lambda: account(told(heddle, spanned)) == everywhere(lab, spanned), "the sum of what both say")
    both = everywhere(lab, spanned)
    assert min(spent_at(lab, spanned, name)["memorySeconds"] for name in lab.clusters) > 0
    (listed,) = [app for app in heddle.ask("apps?user=grete")["apps"]["app"] if app["id"] == spanned.application]
    assert account(listed) == both
    assert listed["runningContainers"] == -1
    aggregate = (
        f"Aggregate Resource Allocation : {both['memorySeconds']} MB-seconds, {both['vcoreSeconds']} vcore-seconds"
    )
    assert aggregate in client.yarn("application", "-status", spanned.application)

    def used() -> dict[str, int]:
        url = f"{heddle.url}/heddle/v1/usage?by=user,cluster&user.name=grete"
        rows = httpx.get(url, trust_env=False, timeout=30).json()["usage"]
        assert {row["user"] for row in rows} <= {"grete"}
        return {row["cluster"]: row["memory_mib_s"] for row in rows}

    by_cluster = {name: spent_at(lab, spanned, name)["memorySeconds"] for name in lab.clusters}
    until(lambda: used() == by_cluster, "usage by cluster is what each of them says")
    heddle.kill()
    heddle.start()
    assert account(told(heddle, spanned)) == both
    assert used() == by_cluster


def told(heddle: HeddleProcess, spanned: SpanningApplication) -> dict[str, Any]:
    """What Heddle says of an application."""
    app: dict[str, Any] = heddle.ask(f"apps/{spanned.application}")["app"]
    return app


def account(app: Mapping[str, Any]) -> dict[str, Any]:
    """What an application has used."""
    return {name: int(app[name]) for name in ("memorySeconds", "vcoreSeconds", "preemptedMemorySeconds")}


def spent_at(lab: Lab, spanned: SpanningApplication, cluster: str) -> Mapping[str, Any]:
    """What a cluster's own ResourceManager says of it; nothing if it does not know it."""
    return spanned.at(cluster) or {"memorySeconds": 0, "vcoreSeconds": 0, "preemptedMemorySeconds": 0}


def everywhere(lab: Lab, spanned: SpanningApplication) -> dict[str, int]:
    """The sum of what all ResourceManagers say."""
    parts = [account(spent_at(lab, spanned, cluster)) for cluster in lab.clusters]
    return {name: sum(int(part.get(name, 0)) for part in parts) for name in parts[0]}


def at_all(lab: Lab, spanned: SpanningApplication, name: str) -> int:
    """The sum of what all ResourceManagers say that it holds."""
    return sum(int(app[name]) for cluster in lab.clusters if (app := spanned.at(cluster)))


def kill(heddle: HeddleProcess, spanned: SpanningApplication, *, user: str) -> None:
    url = f"{heddle.url}/ws/v1/cluster/apps/{spanned.application}/state?user.name={user}"
    answer = httpx.put(url, json={"state": "KILLED"}, trust_env=False, timeout=30)
    assert answer.status_code in {200, 202}, answer.text


def as_xml(url: str) -> str:
    return httpx.get(url, headers={"Accept": "application/xml"}, trust_env=False, timeout=30).text


def epoch_of(container: str) -> int:
    found = re.match(r"container_e(\d+)_", container)
    return int(found[1]) if found else 0


def ids_in(listed: Mapping[str, Any]) -> set[str]:
    return {each["containerId"] for each in listed.get("container", [])}
