"""Stock clients with both addresses naming Heddle: their ApplicationMasters speak through its scheduler server."""

import re
from collections import Counter
from pathlib import Path

import httpx
import pytest

from shim.lab.word_count import find_texts
from tests.support.stock_client import StockClient

pytestmark = pytest.mark.lab

_CLI = "org.apache.hadoop.yarn.client.cli"
_RUN_JAR = "org.apache.hadoop.util.RunJar"
_SHELL = "org.apache.hadoop.yarn.applications.distributedshell.Client"
_CALLS = re.compile(r'heddle_am_calls_total\{method="(\w+)",subcluster="(\w+)"\} ([0-9.e+]+)')


# each job as a user of its own: a second one would find its staging folder owned by whoever runs the tests
@pytest.fixture
def client(lab, heddle, tmp_path):
    """A client that knows no address but Heddle's."""
    return StockClient(lab, tmp_path / "client", heddle)


def calls(heddle) -> Counter[tuple[str, str]]:
    """What ApplicationMasters have called, by method and sub-cluster; a scrape may be a second old."""
    text = httpx.get(f"{heddle.url}/metrics", trust_env=False, timeout=30).text
    return Counter({(method, home): int(float(count)) for method, home, count in _CALLS.findall(text)})


def application_in(printed: str) -> str:
    found = re.search(r"application_\d+_\d+", printed)
    assert found is not None, printed
    return found[0]


def assert_succeeded(client: StockClient, application: str) -> None:
    status = client.run(f"{_CLI}.ApplicationCLI", "application", "-status", application)
    assert "Final-State : SUCCEEDED" in status, status


@pytest.mark.main_promise
def test_map_reduce_computes_pi_and_its_master_speaks_through_heddle(heddle, client):
    before = calls(heddle)
    done = client.try_run(_RUN_JAR, client.jar("hadoop-mapreduce-examples"), "pi", "2", "10", user="edsger")

    # a client that asks after its ApplicationMaster has gone needs a history server: Heddle tells the end instead
    assert "Estimated value of Pi is 3.8" in done.stdout or "ClientServiceDelegate" in done.stdout, done.stdout
    assert_succeeded(client, application_in(done.stdout))
    during = calls(heddle) - before
    assert sum(count for (method, _), count in during.items() if method == "allocate") >= 3
    assert {method for method, _ in during} == {
        "registerApplicationMaster",
        "allocate",
        "finishApplicationMaster",
    }


def test_map_reduce_counts_the_words_of_real_texts(lab, client, tmp_path):
    texts = find_texts(3)
    folder = tmp_path / "in"
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / str(number)).write_bytes(text.read_bytes())
    jar = client.jar("hadoop-mapreduce-examples")
    done = client.try_run(_RUN_JAR, jar, "wordcount", f"file://{folder}", f"file://{tmp_path}/out", user="grace")

    assert_succeeded(client, application_in(done.stdout))
    lines = [line for part in Path(tmp_path, "out").glob("part-r-*") for line in part.read_text().splitlines()]
    counted = {word: int(count) for word, _, count in (line.rpartition("\t") for line in lines)}
    assert counted == Counter(word for text in texts for word in re.split(r"[ \t\n\r\f]+", text.read_text()) if word)


def test_the_master_of_a_distributed_shell_whose_class_path_begins_with_the_clients_folder_speaks_through_heddle(
    heddle, client
):
    site = client._folder / "yarn-site.xml"
    site.write_text(site.read_text().replace("<value>$HADOOP_CONF_DIR,", f"<value>{client._folder},"))
    jar = client.jar("hadoop-yarn-applications-distributedshell")
    before = calls(heddle)
    printed = client.run(_SHELL, "-jar", jar, "-shell_command", "true", "-num_containers", "2")

    assert "Application completed successfully" in printed
    assert_succeeded(client, application_in(printed))
    assert {method for method, _ in calls(heddle) - before} >= {"registerApplicationMaster", "finishApplicationMaster"}
