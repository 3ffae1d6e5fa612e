"""Spark in an altruistic queue of real clusters: executors of which nothing is known are never held back."""

import getpass
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import httpx
import pytest

from shim.lab import Lab
from shim.lab.word_count import find_texts
from tests.support.altruism_jobs import policy_of
from tests.support.client_jars import compile_program, spark_jars
from tests.support.engines import Spark
from tests.support.heddle_process import HeddleProcess
from tests.support.spanning import SpanningApplication, spanning_secret

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

EXECUTORS = 3
PLAIN: Mapping[str, str] = {
    "spark.yarn.queue": "dev",
    "spark.ui.enabled": "false",  # no driver that could be asked, and no event log
    "spark.dynamicAllocation.enabled": "false",
    "spark.executor.instances": str(EXECUTORS),
}


def test_executors_of_which_nothing_is_known_are_all_asked_for(lab: Lab, tmp_path: Path) -> None:
    (text,) = find_texts(1)
    out, seen = tmp_path / "out", list[dict[str, Any]]()
    more = policy_of(tmp_path, altruism=1.0, span=False)
    user = {"user.name": getpass.getuser()}
    with (
        spanning_secret(tmp_path),
        HeddleProcess(lab, tmp_path, more=more) as heddle,
        httpx.Client(base_url=heddle.url, params=user, timeout=30, trust_env=False) as http,
        ThreadPoolExecutor(1) as pool,
    ):
        spark = Spark(lab, tmp_path / "client", heddle)
        program = compile_program("SparkWordCount", [spark_jars()], tmp_path)
        words = (program, text.as_uri(), out.as_uri(), "4")
        running = pool.submit(spark.submit, "cluster", *words, staging=tmp_path, more=PLAIN)
        while wait([running], timeout=0.3).not_done:
            for app in http.get("/heddle/v1/apps").json()["apps"]:
                why = http.get(f"/heddle/v1/apps/{app['id']}/why").json()
                seen += [why["altruism"]] if "altruism" in why else []
        application = SpanningApplication.printed(lab, heddle, running.result())

    assert spark.counted(out) == dict(spark.words(text))
    assert seen, "no look saw it"
    assert all("not known" in told["unknown"] for told in seen), {told["unknown"] for told in seen}
    assert [told["puts_off"] for told in seen if told["puts_off"]] == []
    assert all(told["given_s"] == 0 for told in seen)
    assert sum(application.places().values()) == 1 + EXECUTORS
