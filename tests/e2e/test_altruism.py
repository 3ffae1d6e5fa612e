"""Altruism on a real cluster: reduces of an unmodified MapReduce job wait in Heddle, and its output is what it was."""

import getpass
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

import httpx
import pytest

from shim.lab import Lab
from tests.support.heddle_process import HeddleProcess, until
from tests.support.spanning import spanning_secret
from tests.support.stock_client import StockClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

MAPS = 40
"""Twenty waves: reduces, asked for when half have ended, are put off while more than the lead of 5 s is left."""
MIB, MASTER_MIB = 3072, 1024
"""Of every task and of the master: both fill a node, so that there are waves of two maps."""
POLICY = """
[shares]
interval_s = 0.5
[[queue]]
name = "root.dev"
altruism = 1.0
"""
SETTINGS = {
    "mapreduce.job.queuename": "dev",
    "mapreduce.job.reduces": 2,
    # reduces are asked for when three tenths of the waves have ended: by then it is known how long maps run, however
    # busy the machine; before that the job is unknown, and nothing of it is put off
    "mapreduce.job.reduce.slowstart.completedmaps": 0.3,
    "yarn.app.mapreduce.am.resource.mb": MASTER_MIB,
    "mapreduce.map.memory.mb": MIB,
    "mapreduce.reduce.memory.mb": MIB,
}


def apps_since(http: httpx.Client, heddle: HeddleProcess, began_ms: float) -> list[dict[str, Any]]:
    """Applications that were not in the clusters before: other tests have left some of theirs."""
    apps = http.get(f"{heddle.url}/heddle/v1/apps", params={"user.name": getpass.getuser()}).json()["apps"]
    return [app for app in apps if app["startedTime"] >= began_ms]


def told_of_altruism(http: httpx.Client, heddle: HeddleProcess, began_ms: float) -> list[dict[str, Any]]:
    user, apps = {"user.name": getpass.getuser()}, apps_since(http, heddle, began_ms)
    why = (http.get(f"{heddle.url}/heddle/v1/apps/{app['id']}/why", params=user).json() for app in apps)
    return [each["altruism"] for each in why if "altruism" in each]


def has_succeeded(apps: list[dict[str, Any]]) -> bool:
    return [app["finalStatus"] for app in apps] == ["SUCCEEDED"]


def test_reduces_wait_in_heddle_while_maps_run_and_words_are_counted_as_ever(lab: Lab, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(MAPS):
        (texts / f"text-{number}").write_text(f"one word of text {number}\n" * 200)
    with spanning_secret(tmp_path), HeddleProcess(lab, tmp_path, more=POLICY) as heddle:
        client = StockClient(
            lab,
            tmp_path / "client",
            address=heddle.client_rpc,
            scheduler_address=heddle.scheduler_rpc,
            webapp_address=heddle.rest,
        )
        options = [f"-D{name}={value}" for name, value in SETTINGS.items()]
        jar = client.jar("hadoop-mapreduce-examples")
        words = ("org.apache.hadoop.util.RunJar", jar, "wordcount", *options, str(texts), str(tmp_path / "out"))
        seen: list[dict[str, Any]] = []
        began_ms = time.time() * 1000
        with (
            httpx.Client(timeout=30, trust_env=False) as http,
            client.running(*words, user=getpass.getuser()) as job,
        ):
            while job.poll() is None:
                seen += told_of_altruism(http, heddle, began_ms)
                with suppress(TimeoutExpired):
                    job.wait(0.5)
            # a client that asks after its master has gone needs a history server: Heddle tells the end instead
            until(lambda: has_succeeded(apps_since(http, heddle, began_ms)), "the job has succeeded")
            seen += told_of_altruism(http, heddle, began_ms)

    counted = Counter[str]()
    for part in (tmp_path / "out").glob("part-r-*"):
        counted.update(
            {word: int(count) for word, count in (line.split("\t") for line in part.read_text().splitlines())}
        )
    assert counted == Counter(
        dict.fromkeys(("one", "word", "of", "text"), 200 * MAPS) | {str(n): 200 for n in range(MAPS)}
    )

    put_off = [row for told in seen for row in told["puts_off"]]
    told = [
        (each["unknown"], [(row["stage"], row["waiting"], row["running"]) for row in each["stages"]]) for each in seen
    ]
    of_reduces = {(row["stage"], *row["waits_for"]) for row in put_off if row["stage"] == "reduce"}
    assert of_reduces == {("reduce", "map")}, "\n".join(dict.fromkeys(map(str, told)))
