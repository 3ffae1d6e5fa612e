"""Real Tez jobs: their vertices are named while they run."""

import getpass
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import httpx
import pytest

from shim.lab import Lab
from shim.lab.word_count import find_texts
from tests.support.engines import Tez, output_lines
from tests.support.heddle_process import HeddleProcess
from tests.support.spanning import spanning_secret

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

POLICY = """
[shares]
interval_s = 0.5
[tez]
staging = ["{folder}/staging"]
[[queue]]
name = "root.dev"
altruism = 1.0
"""
SUMMATIONS = 8
SETTINGS = {"tez.queue.name": "dev", "tez.am.container.reuse.enabled": "false"}
"""Every task begins a container: the job takes long enough to be counted."""


def told_meanwhile(heddle: HeddleProcess, work: Callable[[], object]) -> list[dict[str, Any]]:
    """What `heddle app why` was told of the altruism of every application while some work went on."""
    seen: list[dict[str, Any]] = []
    with (
        ThreadPoolExecutor(1) as pool,
        httpx.Client(base_url=heddle.url, params={"user.name": getpass.getuser()}, timeout=30, trust_env=False) as http,
    ):
        running = pool.submit(work)
        while wait([running], timeout=0.5).not_done:
            for app in http.get("/heddle/v1/apps").json()["apps"]:
                why = http.get(f"/heddle/v1/apps/{app['id']}/why").json()
                seen += [why["altruism"]] if "altruism" in why else []
        running.result()
    return seen


def test_the_vertices_of_a_running_job_are_named_with_what_each_waits_for(lab: Lab, tmp_path: Path) -> None:
    (text,) = find_texts(1)
    client = tmp_path / "client"
    with spanning_secret(tmp_path), HeddleProcess(lab, tmp_path, more=POLICY.format(folder=client)) as heddle:
        tez = Tez(lab, client, heddle, more=SETTINGS)
        seen = told_meanwhile(heddle, lambda: tez.run("orderedwordcount", text, tmp_path / "out", SUMMATIONS))

    counts = dict((line.rpartition("\t")[::2]) for line in output_lines(tmp_path / "out"))
    assert {word: int(count) for word, count in counts.items()} == tez.words(text)

    known = [told for told in seen if told["stages"]]
    assert known, "no look saw the job's stages"
    assert {told["graph_from"] for told in known} == {"the job's plan file"}
    assert [(row["stage"], row["waits_for"]) for row in known[-1]["stages"]] == [
        ("Tokenizer", []),
        ("Summation", ["Tokenizer"]),
        ("Sorter", ["Summation"]),
    ]
    assert known[-1]["stages"][1]["tasks"] == SUMMATIONS
    assert any("counted by its ApplicationMaster" in row["sure"] for told in known for row in told["stages"])
    assert max(row["running"] for told in known for row in told["stages"]) > 0
