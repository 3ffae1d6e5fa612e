"""Jobs of three engines, as their own clients submit them, through Heddle."""

from collections import Counter

import pytest

from heddle.testing import FederationError, hadoop_jar, spark_submit, tez_program

EXPECTED = {"to": 2, "be": 2, "or": 1, "not": 1}


def counted(folder):
    lines = [line for part in folder.glob("part-*") for line in part.read_text().splitlines()]
    return {word: int(count) for word, _, count in (line.partition("\t") for line in lines)}


def test_mapreduce(federation, work):
    job = federation.submit(
        hadoop_jar(federation, federation.examples, "wordcount", (work / "in").as_uri(), (work / "out").as_uri())
    )
    job.wait()
    assert counted(work / "out") == EXPECTED
    assert job.cluster in federation.clusters


def test_spark(federation, spark_jars, word_count_jar, work):
    places = [(work / name).as_uri() for name in ("in/text", "out")]
    job = federation.submit(
        spark_submit(federation, spark_jars, "--class", "WordCount", word_count_jar.as_uri(), *places)
    )
    job.wait()
    assert counted(work / "out") == EXPECTED


def test_tez(federation, tez_jars, work):
    main = "org.apache.tez.examples.ExampleDriver"
    places = [(work / "in" / "text").as_uri(), (work / "out").as_uri()]
    printed = federation.run(tez_program(federation, tez_jars, main, "orderedwordcount", *places, "1"))
    assert counted(work / "out") == EXPECTED, printed


def test_a_job_that_fails_shows_why(federation, work):
    job = federation.submit(
        hadoop_jar(
            federation,
            federation.examples,
            *("wordcount", "-D", "mapreduce.map.java.opts=-Xmx1k", "-D", "mapreduce.map.maxattempts=1"),
            *((work / "in").as_uri(), (work / "out").as_uri()),
        )
    )
    with pytest.raises(FederationError, match="ended FAILED, not SUCCEEDED"):
        job.wait()
    assert "Too small maximum heap" in job.logs()


def test_work_goes_to_the_other_cluster_while_one_is_down(federation, work):
    with federation.without("east-rm"):
        jobs = Counter()
        for number in range(2):
            places = [(work / "in").as_uri(), (work / f"out{number}").as_uri()]
            job = federation.submit(hadoop_jar(federation, federation.examples, "wordcount", *places))
            job.wait()
            jobs[job.cluster] += 1
        assert jobs == {"west": 2}
