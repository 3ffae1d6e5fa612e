"""The stock MapReduce job of the showcase: its input, its command, its output, and clients that go wrong."""

from collections import Counter
from dataclasses import dataclass

import pytest

from shim.errors import LabError
from shim.lab.map_reduce import MapReduceWordCount, StockJob, containers_by_cluster, readable
from shim.lab.showcase import finish_stock_job

APPLICATION = "application_7_0001"


@pytest.fixture
def job(tmp_path):
    texts = []
    for name, text in (("one", "to be\x0bor not\n"), ("two", "to\tbe\r\nagain\n")):
        (tmp_path / name).write_bytes(text.encode())
        texts.append(tmp_path / name)
    job = MapReduceWordCount("mapreduce-1", tuple(texts), tmp_path / "job")
    job.prepare()
    return job


def test_its_client_runs_by_the_java_that_daemons_run_by(job, tmp_path, monkeypatch):
    java = tmp_path / "jre" / "bin" / "java"
    jars = tmp_path / "jars"
    for file in (java, jars / "hadoop-mapreduce-examples-3.4.2.jar"):
        file.parent.mkdir(parents=True)
        file.touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jre"))
    assert job.command(conf=tmp_path, jars=jars, queue="prod")[0] == str(java)


def told(job, counts):
    (job.folder / "out").mkdir()
    lines = "".join(f"{word}\t{count}\n" for word, count in counts.items())
    (job.folder / "out" / "part-r-00000").write_bytes(lines.encode())


def a_client(job, script):
    return StockJob(job, ["/bin/bash", "-c", script])


@dataclass
class TellsStates:
    """A front that tells one state after the other, the last for ever."""

    states: list[str]

    def ask(self, call):
        return self.get(call.path) if call.method == "GET" else self.post(call.path, call.body)

    def get(self, path):
        if path.endswith("/why"):
            return {"reason": "it was the only one"}
        return {"app": {"state": self.states.pop(0) if len(self.states) > 1 else self.states[0], "cluster": "east"}}

    def post(self, path, body=None):
        raise AssertionError(path, body)


def test_words_are_told_apart_as_java_tells_them_apart(job):
    assert job.expected() == Counter({"to": 2, "be\x0bor": 1, "not": 1, "be": 1, "again": 1})


def test_what_the_job_wrote_is_read_back(job):
    told(job, job.expected())

    assert job.counted() == job.expected()


def test_the_command_names_queue_input_and_output(job, tmp_path):
    (tmp_path / "hadoop-mapreduce-examples-3.4.2.jar").touch()

    command = job.command(conf=tmp_path / "conf", jars=tmp_path, queue="prod")

    assert "mapreduce.job.queuename=prod" in command
    assert command[-2:] == [(job.folder / "in").as_uri(), (job.folder / "out").as_uri()]


def test_a_hadoop_without_examples_is_named(job, tmp_path):
    with pytest.raises(LabError, match="no hadoop-mapreduce-examples"):
        job.command(conf=tmp_path, jars=tmp_path, queue="default")


def test_texts_that_are_not_utf8_are_left_out(tmp_path):
    for name, text in (("good", "ä"), ("bad", "")):
        (tmp_path / name).write_bytes(text.encode() or b"\xff\xfe\xfa")

    assert readable([tmp_path / "good", tmp_path / "bad"]) == [tmp_path / "good"]


def test_a_job_whose_client_ends_badly_is_good_if_its_output_is(job, tmp_path):
    told(job, job.expected())
    for node, count in (("east/nm1", 2), ("east/nm2", 1), ("west/nm1", 1)):
        for number in range(count):
            (tmp_path / node / "containers" / APPLICATION / f"container_{node[-1]}{number}").mkdir(parents=True)
    running = a_client(job, f"echo Submitted application {APPLICATION}; exit 1")
    folders = {"east": tmp_path / "east", "west": tmp_path / "west"}

    row = finish_stock_job(TellsStates(["RUNNING", "FINISHED"]), running, "default", folders=folders, timeout_s=30)

    assert (row.id, row.state, row.cluster, row.containers) == (APPLICATION, "FINISHED", "east 3, west 1", 4)
    assert row.words == 6


@pytest.mark.parametrize(("state", "wrong"), [("FAILED", {}), ("FINISHED", {"to": 1})])
def test_a_job_that_failed_or_counted_wrongly_is_named(job, state, wrong):
    told(job, job.expected() | wrong)
    running = a_client(job, f"echo {APPLICATION}")

    with pytest.raises(LabError, match=rf"{APPLICATION} \(mapreduce-1\) is {state}"):
        finish_stock_job(TellsStates([state]), running, "default", folders={}, timeout_s=30)


def test_a_client_that_submits_nothing_is_quoted(job):
    with pytest.raises(LabError, match="submitted nothing:\nno configuration"):
        a_client(job, "echo no configuration >&2; exit 1").wait(timeout_s=30)


def test_a_client_that_does_not_end_is_ended(job):
    running = a_client(job, "sleep 600")

    with pytest.raises(LabError, match="has not ended in 0 s"):
        running.wait(timeout_s=0.1)
    assert running._client.returncode is not None


def test_containers_are_counted_where_their_folders_are(tmp_path):
    (tmp_path / "west/nm1/containers" / APPLICATION / "container_1").mkdir(parents=True)

    folders = {"east": tmp_path / "east", "west": tmp_path / "west"}

    assert containers_by_cluster(folders, APPLICATION) == {"west": 1}
