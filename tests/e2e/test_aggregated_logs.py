"""Logs that real NodeManagers aggregated, through Heddle: as `yarn logs` reads them."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from typer.testing import CliRunner

from shim.app.bootstrap import Heddle
from shim.cli.main import app
from tests.e2e.conftest import HeddleThread, config_text
from tests.support.stock_client import StockClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_SHELL = "org.apache.hadoop.yarn.applications.distributedshell.Client"
_OWNER = "lois"
_MOST_S = 240
_PRINTED = re.compile(
    r"^(?:Container: (?P<container>container_\w+)|LogType:(?P<file>\S+)|LogLength:(?P<length>\d+)|Log ?Contents:\n)",
    re.MULTILINE,
)


class Ended(NamedTuple):
    """An application that has ended, in front of whose cluster a Heddle stands."""

    heddle: Heddle
    client: StockClient
    application: str


@pytest.fixture(autouse=True, scope="module")
def _left_as_found() -> None:
    """Instead of all tests' own: the shared lab is not needed here."""


@pytest.fixture(params=["none", "gz"])
def ended(request, fresh_lab, tmp_path: Path) -> Iterator[Ended]:
    """A DistributedShell of two containers, whose logs are aggregated by a compression."""
    folder = tmp_path / "aggregated"
    folder.mkdir()
    site = {
        "yarn.log-aggregation-enable": "true",
        "yarn.nodemanager.remote-app-log-dir": f"file://{folder}",
        "yarn.nodemanager.log-aggregation.compression-type": request.param,
    }
    lab = fresh_lab(clusters=1, nodes=2, overrides={"yarn-site.xml": site})
    with HeddleThread(f'{config_text(lab, tmp_path)}aggregated_logs = "{folder}"\n') as heddle:
        client = StockClient(lab, tmp_path / "client", heddle, admin_address=heddle.admin_rpc, more=site)
        jar = client.jar("hadoop-yarn-applications-distributedshell")
        what = ["-shell_command", "seq", "-shell_args", "20000", "-num_containers", "2"]
        printed = client.run(_SHELL, "-jar", jar, *what, user=_OWNER)
        found = re.search(r"application_\d+_\d+", printed)
        assert found, printed
        yield Ended(heddle, client, found[0])


def files_of(ended: Ended) -> dict[tuple[str, str], int]:
    """Sizes of all aggregated files, as soon as the logs of three containers are there."""
    ends_s = time.monotonic() + _MOST_S
    address = f"{ended.heddle.url}/heddle/v1/apps/{ended.application}/logs?user.name={_OWNER}"
    while True:
        answer = httpx.get(address, trust_env=False, timeout=30)
        nodes = answer.json()["nodes"] if answer.status_code == 200 else []
        found = {(each["container"], each["file"]): each["bytes"] for node in nodes for each in node["files"]}
        if len({container for container, _ in found}) == 3 and not any(node["wrong"] for node in nodes):
            return found
        assert time.monotonic() < ends_s, answer.text
        time.sleep(0.5)


def printed_by_yarn(printed: str) -> dict[tuple[str, str], str]:
    """Texts by container and file: old Hadoops head each container, new ones each file."""
    container, file, length, at = "", "", 0, 0
    texts = {}
    while found := _PRINTED.search(printed, at):
        container, file = found["container"] or container, found["file"] or file
        length, at = int(found["length"] or length), found.end()
        if found[0].endswith("\n"):
            texts[container, file] = printed[at : at + length]
            at += length
    return texts


def test_heddle_reads_what_yarn_logs_prints(ended: Ended):
    files = files_of(ended)
    printed = ended.client.yarn("logs", "-applicationId", ended.application, "-appOwner", _OWNER, user=_OWNER)
    by_yarn = printed_by_yarn(printed)
    named = {each for each, size in files.items() if size} if len(by_yarn) < len(files) else set(files)
    assert set(by_yarn) == named, printed[:4000]

    asked = f"{ended.heddle.url}/heddle/v1/apps/{ended.application}/logs"
    for (container, file), text in by_yarn.items():
        told = httpx.get(
            f"{asked}/{container}/{file}?tail=1048576&user.name={_OWNER}", trust_env=False, timeout=30
        ).json()
        assert told["text"] == text
    numbers = "".join(f"{number}\n" for number in range(1, 20001))
    assert sum(text == numbers for text in by_yarn.values()) == 2

    arguments = ["app", "logs", ended.application, "--server", ended.heddle.url, "--user", _OWNER, "--file", "stdout"]
    done = CliRunner().invoke(app, [*arguments, "--tail", "6"])
    assert done.exit_code == 0, done.output
    lines = re.findall(r"^(== \S+ on \S+ of east, aggregated|-- stdout|20000)$", done.output, re.MULTILINE)
    assert [line[:3] for line in lines] == ["== ", "-- ", "200"] * 2, done.output  # the master's has another name
    done = CliRunner().invoke(app, [*arguments, "--follow", "--grep", "9999"])
    found = re.findall(r"^(?:== \S+ stdout|\d+)$", done.output, re.MULTILINE)
    assert found == [found[0], "19999", found[2], "19999"], done.output  # of the last 4,096 bytes
    done = CliRunner().invoke(app, [*arguments, "--grep", "9999"])
    assert re.findall(r"^\d+$", done.output, re.MULTILINE) == ["9999", "19999"] * 2, done.output
