"""Spark, unmodified, with Heddle's addresses: driver at the client and in the cluster, executors that come and go."""

import re
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

from shim.lab.word_count import find_texts
from tests.support.client_jars import compile_program, spark_jars
from tests.support.engines import SPARK_OPENS, SPARK_SUBMIT, spark_settings
from tests.support.scheduler_calls import calls_of_masters
from tests.support.stock_client import StockClient

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_program("SparkWordCount", [spark_jars()], tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="module")
def spark(lab, heddle, tmp_path_factory):
    """A client with Spark's jars alone, that knows no address but Heddle's."""
    folder = tmp_path_factory.mktemp("spark")
    return StockClient(
        lab,
        folder,
        jars=spark_jars(),
        options=("-Xmx512m", *SPARK_OPENS),
        environment={"HADOOP_CONF_DIR": str(folder), "SPARK_LOCAL_IP": "127.0.0.1"},
        address=heddle.client_rpc,
        scheduler_address=heddle.scheduler_rpc,
        webapp_address=heddle.url.removeprefix("http://"),
    )


def words(text: Path) -> Counter[str]:
    return Counter(re.findall("[a-z]+", text.read_text("utf-8").lower()))


def counted(folder: Path) -> dict[str, int]:
    lines = (part.read_text().splitlines() for part in folder.glob("part-*"))
    return {word: int(count) for word, _, count in (line.partition("\t") for line in chain.from_iterable(lines))}


@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_spark_counts_words_with_executors_that_come_and_go(heddle, spark, program, tmp_path, mode):
    (text,) = find_texts(1)
    settings = spark_settings(spark.jars, tmp_path)
    options = chain.from_iterable(("--conf", f"{name}={value}") for name, value in settings.items())
    if mode == "client":
        options = chain(options, ("--conf", "spark.driver.host=127.0.0.1"))
    where = ("--master", "yarn", "--deploy-mode", mode, "--class", "SparkWordCount")
    before = calls_of_masters(heddle)

    printed = spark.run(SPARK_SUBMIT, *where, *options, str(program), text.as_uri(), (tmp_path / "out").as_uri(), "4")

    assert counted(tmp_path / "out") == words(text), printed
    assert re.search(r"application_\d+_\d+", printed)
    during = calls_of_masters(heddle) - before
    assert {method for method, _ in during} >= {"registerApplicationMaster", "allocate"}  # it finishes after its client
