"""Command lines of engines: what goes to whom, and what a project may say otherwise."""

from pathlib import Path

import pytest

from heddle.testing import hadoop_jar, spark_submit, tez_program
from tests.support.made_up_clusters import MadeUp


@pytest.fixture
def federation(tmp_path):
    made_up = MadeUp(tmp_path)
    made_up.jars = Path("/hadoop")
    return made_up


def options(words):
    return dict(word.split("=", 1) for at, word in enumerate(words) if words[at - 1] == "--conf")


def test_hadoop_jar_is_run_jar(federation):
    words = hadoop_jar(federation, federation.examples, "wordcount", "in", "out")
    assert words[-5:] == [
        "org.apache.hadoop.util.RunJar",
        "/hadoop/hadoop-mapreduce-examples-3.4.2.jar",
        *("wordcount", "in", "out"),
    ]


def test_spark_has_its_own_hadoop_and_its_jars_on_the_nodes(federation, tmp_path):
    words = spark_submit(federation, Path("/spark"), "--class", "Main", "main.jar")
    assert words[words.index("-cp") + 1] == f"/spark/*:{tmp_path}"
    assert words[-3:] == ["--class", "Main", "main.jar"]
    assert words[words.index("--master") + 1] == "yarn"
    found = options(words)
    assert found["spark.yarn.jars"] == "local:/spark/*"
    assert found["spark.submit.deployMode"] == "cluster"
    assert not [name for name in found if name.endswith("SPARK_LOCAL_IP")]


def test_spark_is_told_of_an_address_that_all_nodes_share(federation):
    federation.node_address = "127.0.0.1"
    found = options(spark_submit(federation, Path("/spark")))
    assert found["spark.executorEnv.SPARK_LOCAL_IP"] == "127.0.0.1"


def test_a_projects_settings_of_spark_go_before(federation):
    found = options(spark_submit(federation, Path("/spark"), settings={"spark.executor.memory": "1g"}))
    assert found["spark.executor.memory"] == "1g"


def test_tez_finds_its_settings_before_all_jars(federation, tmp_path):
    words = tez_program(
        federation, Path("/tez"), "Main", "in", class_path=("mine.jar",), settings={"tez.am.resource.memory.mb": "1024"}
    )
    conf = tmp_path / "conf" / "tez"
    assert words[words.index("-cp") + 1] == f"mine.jar:{conf}:/tez/*:/hadoop/*:{tmp_path}"
    assert words[-2:] == ["Main", "in"]
    site = (conf / "tez-site.xml").read_text()
    assert "<name>tez.cluster.additional.classpath.prefix</name><value>/tez/*</value>" in site
    assert "<name>tez.am.resource.memory.mb</name><value>1024</value>" in site
    tez_program(federation, Path("/tez"), "Main")
    assert (conf / "tez-site.xml").read_text().count("tez.staging-dir") == 1
