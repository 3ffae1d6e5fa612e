"""Spark, unmodified, with Heddle's addresses: driver at the client and in the cluster, executors that come and go."""

import re

import pytest

from shim.lab.word_count import find_texts
from tests.support.client_jars import compile_program, spark_jars
from tests.support.engines import Spark
from tests.support.scheduler_calls import calls_of_masters

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_program("SparkWordCount", [spark_jars()], tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="module")
def spark(lab, heddle, tmp_path_factory):
    """A client that knows no address but Heddle's."""
    return Spark(lab, tmp_path_factory.mktemp("spark"), heddle)


@pytest.mark.parametrize("mode", ["client", pytest.param("cluster", marks=pytest.mark.main_promise)])
def test_spark_counts_words_with_executors_that_come_and_go(heddle, spark, program, tmp_path, mode):
    (text,) = find_texts(1)
    before = calls_of_masters(heddle)

    printed = spark.submit(mode, program, text.as_uri(), (tmp_path / "out").as_uri(), "4", staging=tmp_path)

    assert spark.counted(tmp_path / "out") == spark.words(text), printed
    assert re.search(r"application_\d+_\d+", printed)
    during = calls_of_masters(heddle) - before
    assert {method for method, _ in during} >= {"registerApplicationMaster", "allocate"}  # it finishes after its client
