"""Real Tez jobs: their vertices are named while they run, and one puts off what it can for another."""

import getpass
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from shim.lab import Lab
from shim.lab.word_count import find_texts
from tests.support.altruism_jobs import AltruismJobs, SleepingDag, policy_of
from tests.support.engines import Tez, output_lines
from tests.support.heddle_process import HeddleProcess, until
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


ONE_SMALL_NODE = {
    "yarn-site.xml": {
        "yarn.nodemanager.resource.memory-mb": "4096",
        "yarn.nodemanager.resource.cpu-vcores": "16",  # else it has four: room for two tasks, and nothing to give
    }
}
"""Room for a dozen tasks beside two ApplicationMasters."""
LARGE = SleepingDag("large", {"wide": (12, 3000), "long": (1, 30000), "end": (1, 1000)}, {"end": ("wide", "long")})
"""Its short tasks can wait until the long one is about to end; Tez serves them last."""
SMALL = SleepingDag("small", {"all": (16, 3000), "end": (1, 1000)}, {"end": ("all",)})


_TRIES = 4
_SHOWN_S = 0.1
"""Less than this is shown as nothing."""


def kept_s(heddle: HeddleProcess) -> float:
    """Seconds that all jobs gave, as the store has them."""
    with closing(sqlite3.connect(heddle.store)) as store:
        return float(store.execute("SELECT coalesce(sum(given_s), 0) FROM altruism_credits").fetchone()[0])


@pytest.mark.timeout(1800)  # a try takes two minutes on a busy machine
def test_a_real_job_puts_off_what_another_can_have_and_what_it_gave_outlives_heddle(
    fresh_lab: Callable[..., Lab], tmp_path: Path
) -> None:
    lab = fresh_lab(clusters=1, nodes=1, overrides=ONE_SMALL_NODE)
    more = policy_of(tmp_path, altruism=1.0, span=False)
    with spanning_secret(tmp_path), HeddleProcess(lab, tmp_path, more=more) as heddle:
        jobs = AltruismJobs(lab, tmp_path, heddle)
        # How long the long one runs is known after one run. Nothing is given by a job part of whose short tasks had
        # begun before its plan was read, as happens on a machine that is busy: then it is tried again.
        assert any(_puts_off(jobs) and _is_kept(heddle) for _ in range(_TRIES)), "nothing was put off and given"

        with jobs.asking() as http:
            ids = [app["id"] for app in http.get("/heddle/v1/apps").json()["apps"] if app["name"] == "large"]
        heddle.kill()
        heddle.start()
        with jobs.asking() as http:
            told_after = [http.get(f"/heddle/v1/apps/{id_}/why").json().get("altruism") for id_ in ids]
            (used,) = http.get("/heddle/v1/usage", params={"by": "user"}).json()["usage"]
        assert any(each["given_s"] > 0 for each in told_after if each is not None)
        until(lambda: _given_s(jobs) > 0, "the sums of queues are read again", within_s=30)
        assert used["given_mib_s"] > 0


def _puts_off(jobs: AltruismJobs) -> bool:
    """Run both jobs to their ends; tell whether the large one put its short tasks off meanwhile."""
    seen: set[tuple[str, str]] = set()
    with jobs.asking() as http, ThreadPoolExecutor(2) as pool:
        running = [pool.submit(jobs.dag, dag, dag.name) for dag in (LARGE, SMALL)]
        while wait(running, timeout=0.5).not_done:
            told = jobs.told_of_altruism(http)
            seen |= {(name, row["stage"]) for name, each in told for row in each["puts_off"]}
        for each in running:
            each.result()
    return ("large", "wide") in seen


def _is_kept(heddle: HeddleProcess) -> bool:
    """Whether what was given comes into the store, which is written every ten seconds."""
    with suppress(AssertionError):
        until(lambda: kept_s(heddle) > _SHOWN_S, "what was given is in the store", within_s=15)
    return kept_s(heddle) > _SHOWN_S


def _given_s(jobs: AltruismJobs) -> float:
    with jobs.asking() as http:
        return jobs.credits(http)[0]
