"""Spark and Tez whose queue spans: one application with containers in two clusters, the result as on one."""

from collections.abc import Iterator

import pytest

from shim.lab import Lab
from shim.lab.word_count import find_texts
from tests.support.client_jars import compile_program, spark_jars
from tests.support.engines import Spark, Tez, output_lines
from tests.support.heddle_process import HeddleProcess
from tests.support.spanning import PATIENT, SpanningApplication, spanning_heddle

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def heddle(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeddleProcess]:
    """A Heddle over the shared lab whose default queue spans."""
    folder = tmp_path_factory.mktemp("spanning-engines")
    with spanning_heddle(lab, folder, PATIENT) as running:
        yield running


def test_spark_has_executors_in_two_clusters_that_read_from_each_other(lab, heddle, tmp_path):
    (text,) = find_texts(1)
    program = compile_program("SparkWordCount", [spark_jars()], tmp_path)
    spark = Spark(lab, tmp_path / "client", heddle)
    four = {
        f"spark.dynamicAllocation.{which}": "4" for which in ("minExecutors", "initialExecutors", "maxExecutors")
    } | {"spark.scheduler.minRegisteredResourcesRatio": "1.0"}

    printed = spark.submit(
        "cluster", program, text.as_uri(), (tmp_path / "out").as_uri(), "8", staging=tmp_path, more=four
    )

    assert spark.counted(tmp_path / "out") == spark.words(text), printed
    spanned = SpanningApplication.printed(lab, heddle, printed)
    spanned.has_succeeded()
    assert len(spanned.places()) == 2, printed
    spanned.has_ended_everywhere()


def test_tez_has_tasks_in_two_clusters_that_read_from_each_other(lab, heddle, tmp_path):
    texts = find_texts(6)
    (tmp_path / "in").mkdir()
    for number, text in enumerate(texts):
        (tmp_path / "in" / str(number)).write_bytes(text.read_bytes())
    tez = Tez(lab, tmp_path / "client", heddle)

    printed = tez.run("orderedwordcount", "-Dtez.grouping.split-count=6", tmp_path / "in", tmp_path / "out", 3)

    told = {word: int(count) for word, _, count in (line.rpartition("\t") for line in output_lines(tmp_path / "out"))}
    assert told == tez.words(*texts), printed
    spanned = SpanningApplication.printed(lab, heddle, printed)
    spanned.has_succeeded()
    assert len(spanned.places()) == 2, printed
    spanned.has_ended_everywhere()
